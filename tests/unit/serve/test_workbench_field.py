"""The field of the workbench under real keys: no key, paste, drop or input method breaks a code."""

import random
from collections.abc import Iterator
from typing import Any

import browser
import pytest

pytestmark = browser.needs_browser()

MT = "Press the green 🎉 button now"
CODES = [
    {"id": "1", "kind": "open", "label": "<b>", "at": 6},
    {"id": "2", "kind": "alone", "label": "<br/>", "at": 10},
    {"id": "1", "kind": "close", "label": "</b>", "at": 15},
    {"id": "3", "kind": "alone", "label": "{0}", "at": 15},
    {"id": "4", "kind": "alone", "label": "{1}", "at": len(MT) + 1},
]
LENGTH = len(MT) + 1  # in UTF-16
EDITS = [
    {"before": "green", "after": "red", "mt_span": [10, 15], "pe_span": [10, 13]},
    {"before": " now", "after": "", "mt_span": [LENGTH - 4, LENGTH], "pe_span": [LENGTH - 6, LENGTH - 6]},
]
PROPOSAL = {
    "mt": MT,
    "text": "Press the red 🎉 button",
    "mt_codes": CODES,
    "codes": [{**code, "at": at} for code, at in zip(CODES, (6, 10, 13, 13, LENGTH - 6), strict=True)],
    "edits": EDITS,
}
SETUP = """async (proposal) => {
  const { Draft } = await import(`${base}/core/draft.js`);
  const { TargetField } = await import(`${base}/editor/target_field.js`);
  const dom = await import(`${base}/editor/field_dom.js`);
  const flat = await import(`${base}/core/flat_text.js`);
  const shortcuts = await import(`${base}/editor/shortcuts.js`);
  globalThis.bench?.field.close();
  document.body.innerHTML = "<div id=field contenteditable=true></div><p id=other>other</p>";
  const element = document.getElementById("field");
  Object.assign(element.style, { whiteSpace: "pre-wrap", width: "20em" });
  const draft = new Draft(proposal, null);
  const refused = [], composed = [], held = [];
  const owner = { draft, breaksLines: false, changed: () => field.show(), undo: () => { draft.undo(); field.show(); },
    composing: (isComposing) => composed.push([isComposing, draft.marked.text]),
    redo: () => { draft.redo(); field.show(); }, refuses: () => false, refused: (why) => refused.push(why),
    held: () => held.push(draft.marked.text) };
  const field = new TargetField(element, owner);
  element.addEventListener("keydown", (event) => {
    const command = owner[shortcuts.shortcutOf(event)?.id];
    if (command) { event.preventDefault(); command(); } });
  const caret = () => { field.readSelection(); return draft.state.start; };
  globalThis.bench = { replace: (other) => { owner.draft = new Draft(other, null); },
    caret, draft, field, element, refused, composed, held, owner,
    spot: (at) => {
      const range = document.createRange();
      range.setStart(...dom.placeOf(element, at));
      const { left, top, height } = range.getBoundingClientRect();
      return [left, top + height / 2]; },
    state: () => ({ ...flat.toMarked(draft.content), shown: dom.read(element), flat: draft.content.flat,
      nested: flat.disorder(draft.content.codes) === 0,
      chips: [...element.querySelectorAll(".chip")].map((chip) => chip.textContent) }) };
  field.show(); field.focus(); }"""


@pytest.fixture(scope="module")
def blank() -> Iterator[Any]:
    with browser.blank_page() as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield page


@pytest.fixture
def page(blank: Any) -> Any:
    blank.evaluate(SETUP, PROPOSAL)
    return blank


def state(page: Any) -> dict[str, Any]:
    return page.evaluate("bench.state()")


def check(page: Any) -> dict[str, Any]:
    """Check that every code is there, pairs are nested, and the page shows what the draft has."""
    now = state(page)
    assert sorted(code["label"] for code in now["codes"]) == sorted(code["label"] for code in CODES)
    assert now["nested"]
    assert now["shown"]["flat"] == now["flat"]
    assert now["chips"] == [code["label"] for code in now["codes"]]
    return now


@pytest.mark.slow
def test_proposal_is_shown_and_written_into(page: Any) -> None:
    assert check(page)["text"] == PROPOSAL["text"]
    page.keyboard.type("! 你好")
    assert check(page)["text"] == PROPOSAL["text"] + "! 你好"
    page.keyboard.press("Control+Home")
    page.keyboard.type("So ")
    assert check(page)["text"] == f"So {PROPOSAL['text']}! 你好"


def test_a_long_name_of_a_chip_is_cut_between_characters(page: Any) -> None:
    label = page.evaluate(
        """async () => (await import(`${base}/editor/field_dom.js`)).chipLabel({id: "1", label: "🎉".repeat(20)})"""
    )
    assert label == "🎉" * 13 + "…"


def test_deleting_everything_leaves_the_codes(page: Any) -> None:
    for key in ("Delete", "Backspace", "x", "Control+x"):
        page.evaluate("bench.draft.history.past.length && bench.owner.undo()")
        page.keyboard.press("Control+a")
        page.keyboard.press(key)
        assert check(page)["text"] == ("x" if key == "x" else "")
        page.keyboard.type("new")
        assert "new" in check(page)["text"]


def test_field_that_refuses_changes_takes_none(page: Any) -> None:
    before = check(page)
    page.evaluate("globalThis.count = 0; bench.owner.refuses = () => { count++; return true; }")
    page.keyboard.type("x")
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+x")
    assert check(page) == before
    page.evaluate("""() => { bench.element.dispatchEvent(new CompositionEvent("compositionstart"));
      bench.element.firstChild.data += "日"; bench.element.dispatchEvent(new CompositionEvent("compositionend"));
      bench.field.moveCode(1, 0); }""")
    assert check(page) == before
    assert page.evaluate("count") >= 4


def test_backspace_at_a_code_steps_over_it(page: Any) -> None:
    page.keyboard.press("Control+End")
    page.keyboard.press("Backspace")
    assert check(page)["text"] == PROPOSAL["text"]
    assert page.evaluate("bench.refused") == ["tags"]
    page.keyboard.press("Backspace")
    assert check(page)["text"] == PROPOSAL["text"][:-1]


def test_arrows_reach_every_place_between_codes(page: Any) -> None:
    page.keyboard.press("Control+Home")
    length = page.evaluate("bench.draft.content.flat.length")
    emoji = page.evaluate("bench.draft.content.flat.indexOf('🎉')")
    seen = []
    for _ in range(length + 1):
        seen.append(page.evaluate("bench.caret()"))
        page.keyboard.press("ArrowRight")
    assert seen == [*(at for at in range(length + 1) if at != emoji + 1), length]
    for _ in range(length + 1):
        page.keyboard.press("ArrowLeft")
    assert page.evaluate("bench.caret()") == 0


def test_selection_of_a_moment_ago_outlives_showing_the_draft_again(page: Any) -> None:
    page.evaluate("getSelection().selectAllChildren(bench.element); bench.field.show()")
    page.keyboard.type("new")
    assert check(page)["text"] == "new"


def test_only_plain_text_is_pasted(page: Any) -> None:
    html = "<b>bold</b> <span class=chip data-code=0>fake</span>"
    script = """(html) => { const data = new DataTransfer(); data.setData("text/html", html);
      data.setData("text/plain", "bold\\vfa\\u0002ke\\r\\n");
      bench.element.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true,
        cancelable: true })); }"""
    page.keyboard.press("Control+Home")
    page.evaluate(script, html)
    assert check(page)["text"] == f"bold fake {PROPOSAL['text']}"


def test_copies_have_no_codes_and_cut_leaves_them(page: Any) -> None:
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+c")
    page.keyboard.press("Control+x")
    assert check(page)["text"] == ""
    page.keyboard.press("Control+v")
    assert check(page)["text"] == PROPOSAL["text"]
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    assert check(page)["codes"] == PROPOSAL["codes"]


@pytest.mark.parametrize("select", [False, True])
def test_input_methods_write_and_codes_come_back(page: Any, select: bool) -> None:
    client = page.context.new_cdp_session(page)
    page.keyboard.press("Control+a" if select else "Control+Home")
    for shown in ("に", "にほ", "日本"):
        client.send(
            "Input.imeSetComposition", {"text": shown, "selectionStart": len(shown), "selectionEnd": len(shown)}
        )
    client.send("Input.insertText", {"text": "日本"})
    now = check(page)
    assert [is_composing for is_composing, _ in page.evaluate("bench.composed")] == [True, False]
    assert page.evaluate("bench.composed")[-1][1] == now["text"], "it is told when the draft has the text"
    assert now["text"] == ("日本" if select else f"日本{PROPOSAL['text']}")
    for _ in range(1 + select):
        page.keyboard.press("Control+z")
    assert check(page)["text"] == PROPOSAL["text"]


def test_input_method_does_not_write_into_another_draft(page: Any) -> None:
    client = page.context.new_cdp_session(page)
    page.keyboard.press("Control+Home")
    client.send("Input.imeSetComposition", {"text": "に", "selectionStart": 1, "selectionEnd": 1})
    other = "(proposal) => { bench.replace(proposal); bench.field.show(); }"
    page.evaluate(other, {"mt": "other", "text": "other", "mt_codes": [], "codes": [], "edits": []})
    client.send("Input.insertText", {"text": "日本"})
    assert page.evaluate("[bench.owner.draft.marked.text, bench.element.textContent]") == ["other", "other"]


def test_keys_of_undo_belong_to_other_fields_when_these_have_the_focus(page: Any) -> None:
    script = """async () => { const { shortcutOf } = await import(`${base}/editor/shortcuts.js`);
      return ["input", "textarea", "select", "div"].map((name) => { let found;
        const element = document.body.appendChild(document.createElement(name));
        element.addEventListener("keydown", (event) => { found = shortcutOf(event)?.id ?? null; });
        element.dispatchEvent(new KeyboardEvent("keydown", { key: "z", code: "KeyZ", ctrlKey: true }));
        element.remove();
        return found; }); }"""
    assert page.evaluate(script) == [None, None, None, "undo"]


PRESSING = """async ([platform, presses]) => {
  const { shortcutOf, keysOf } = await import(`${base}/editor/shortcuts.js`);
  Object.defineProperty(navigator, "platform", { value: platform, configurable: true });
  const [element, select] = ["div", "select"].map((name) => document.body.appendChild(document.createElement(name)));
  let found; document.body.addEventListener("keydown", (event) => { found = shortcutOf(event)?.id ?? null; });
  const press = (where, how) => where.dispatchEvent(new KeyboardEvent("keydown", { ...how, bubbles: true }));
  const pressed = presses.map(({ inList, ...how }) => { press(inList ? select : element, how); return found; });
  const names = ["takeSource", "next", "moveTag"].map(keysOf);
  delete navigator.platform; element.remove(); select.remove(); return [...pressed, ...names]; }"""


def test_the_option_key_of_a_mac_writes_letters(page: Any) -> None:
    polish = {"key": "ś", "code": "KeyS", "altKey": True}
    dead, bracket = {"key": "Dead", "code": "KeyU", "altKey": True}, {"key": "[", "code": "Digit5", "altKey": True}
    presses = [polish, dead, bracket, {**polish, "ctrlKey": True}, {**bracket, "ctrlKey": True}]
    down = {"key": "ArrowDown", "code": "ArrowDown", "altKey": True}
    presses += [down, {"key": "Enter", "code": "Enter", "metaKey": True}, {"key": "z", "code": "KeyZ", "metaKey": True}]
    found = page.evaluate(PRESSING, ["MacIntel", presses])
    assert found[:-3] == [None, None, None, "takeSource", "toggle", "next", "confirm", "undo"]
    assert found[-3:] == ["Control+Option+S", "Option+↓", "Option+Shift+← →"]
    elsewhere = page.evaluate(
        PRESSING, ["Win32", [{"key": "ы", "code": "KeyS", "altKey": True}, {**down, "inList": True}]]
    )
    assert elsewhere == ["takeSource", None, "Alt+S", "Alt+↓", "Alt+Shift+← →"]


def test_a_slash_is_known_by_what_it_writes(page: Any) -> None:
    german = [{"key": "-", "code": "Slash", "ctrlKey": True}, {"key": "/", "code": "Digit7", "ctrlKey": True}]
    presses = [*german, {**german[1], "shiftKey": True}, {"key": "/", "code": "NumpadDivide", "ctrlKey": True}]
    assert page.evaluate(PRESSING, ["Win32", presses])[:-3] == [None, "help", "help", "help"]


def test_what_an_extension_writes_is_taken_and_codes_come_back(page: Any) -> None:
    page.evaluate(
        "bench.element.innerHTML = 'Click the <i>red</i> one'; bench.element.dispatchEvent(new InputEvent('input'))"
    )
    assert check(page)["text"] == "Click the red one"
    page.keyboard.press("Control+z")
    assert check(page)["codes"] == PROPOSAL["codes"]


def test_closing_code_does_not_move_before_its_opening_one(page: Any) -> None:
    page.evaluate("bench.field.moveCode(2, 0)")
    assert check(page)["codes"] == PROPOSAL["codes"]
    assert page.evaluate("bench.refused") == ["nesting"]
    page.evaluate("bench.field.moveCode(3, 0)")
    assert [code["label"] for code in check(page)["codes"]] == ["{0}", "<b>", "<br/>", "</b>", "{1}"]


def test_a_chip_that_was_double_clicked_goes_where_the_next_click_is(page: Any) -> None:
    chip = page.locator(".chip").nth(1)
    chip.dblclick()
    assert chip.get_attribute("class") == "chip alone held"
    page.mouse.click(*page.evaluate("bench.spot(2)"))
    assert [(code["label"], code["at"]) for code in check(page)["codes"]][:2] == [("<br/>", 2), ("<b>", 6)]
    assert page.evaluate("bench.held.length") == 1
    assert page.locator(".held").count() == 0
    page.mouse.click(*page.evaluate("bench.spot(4)"))
    page.keyboard.press("Control+z")
    assert check(page)["codes"] == PROPOSAL["codes"], "a later click moved nothing"


@pytest.mark.parametrize("away", ["Escape", "x", "click"])
def test_a_chip_that_is_held_can_be_left(page: Any, away: str) -> None:
    chip = page.locator(".chip").nth(1)
    page.mouse.click(*page.evaluate("bench.spot(2)"))
    chip.dblclick()
    if away == "click":
        chip.click()
        assert not page.evaluate("bench.draft.history.canUndo")
    else:
        page.evaluate("bench.draft.select(2, 2); bench.field.focus()")
        page.keyboard.press(away)
    assert page.locator(".held").count() == 0
    page.mouse.click(*page.evaluate("bench.spot(2)"))
    labels = [code["label"] for code in check(page)["codes"]]
    assert labels == [code["label"] for code in PROPOSAL["codes"]]


def test_a_field_that_cannot_be_edited_holds_no_chip(page: Any) -> None:
    page.evaluate("bench.owner.refuses = () => true")
    page.locator(".chip").nth(1).dblclick()
    assert (page.locator(".held").count(), page.evaluate("bench.held")) == (0, [])


PAIR = [{"id": "1", "kind": "open", "label": "<b>", "at": 0}, {"id": "1", "kind": "close", "label": "</b>", "at": 3}]
INNER = [{"id": "2", "kind": "open", "label": "<i>", "at": 1}, {"id": "2", "kind": "close", "label": "</i>", "at": 2}]
ALONE = {"id": "3", "kind": "open", "label": "<u>", "at": 0}  # it closes in another segment


def test_pairs_do_not_overlap_beside_a_code_without_partner(page: Any) -> None:
    codes = [ALONE, PAIR[0], *INNER, PAIR[1]]
    page.evaluate("bench.replace", {"mt": "abc", "text": "abc", "mt_codes": codes, "codes": codes, "edits": []})
    labels = "bench.owner.draft.marked.codes.map((code) => code.label)"
    for index, place in ((4, 5), (1, 4)):  # </b> before </i>, and <b> behind <i>
        page.evaluate(f"bench.field.moveCode({index}, {place})")
        assert page.evaluate(labels) == ["<u>", "<b>", "<i>", "</i>", "</b>"]
    assert page.evaluate("bench.refused") == ["nesting"] * 2
    page.evaluate("bench.field.moveCode(0, 8)")
    assert page.evaluate(labels) == ["<b>", "<i>", "</i>", "</b>", "<u>"]


KEYS = [
    *("a", "Z", "1", "Space", "Enter", "Shift+Enter", "Backspace", "Delete", "Control+Backspace", "Control+Delete"),
    *("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "Control+ArrowLeft", "Control+ArrowRight"),
    *("Shift+ArrowLeft", "Shift+ArrowRight", "Shift+Home", "Shift+End", "Control+Shift+ArrowRight", "Control+a"),
    *("Control+x", "Control+c", "Control+v", "Control+b", "Control+i", "Control+u", "Control+z", "Control+y"),
]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_no_sequence_of_keys_breaks_a_code(page: Any, seed: int) -> None:
    random_ = random.Random(seed)
    for step in range(120):
        key = random_.choice(KEYS)
        page.keyboard.press(key)
        if random_.random() < 0.1:
            page.evaluate(f"bench.draft.toggle({step % 2}); bench.field.show()")
        check(page)
    page.evaluate("while (bench.draft.undo()); bench.field.show()")
    assert check(page)["text"] == PROPOSAL["text"]
