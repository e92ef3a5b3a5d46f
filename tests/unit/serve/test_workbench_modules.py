"""The modules of the workbench, run by a real browser and compared with what Python says."""

import json
import random
from collections.abc import Iterator
from typing import Any

import browser
import pytest

pytestmark = browser.needs_browser()

LETTERS = ["a", "b", " ", "é", "中", "א", "🎉", "🏿", "\n", "e\u0301", "\U000103ff"]
"""Among them characters of two UTF-16 units, one of which ends like the mark of a code."""


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with browser.blank_page() as page:
        yield page


def run(page: Any, modules: str, body: str, argument: Any = None) -> Any:
    """Return what a function body returns, which sees the exports of some modules and `input`."""
    names = modules.split()
    imports = "".join(f"const {name.split('/')[-1]} = await import(`${{base}}/{name}.js`);" for name in names)
    return page.evaluate(f"async (input) => {{ {imports} {body} }}", argument)


def text(random_: random.Random, most: int = 12) -> str:
    return "".join(random_.choices(LETTERS, k=random_.randint(0, most)))


def utf16(value: str) -> int:
    return len(value.encode("utf-16-le")) // 2


@pytest.mark.slow
def test_offsets_convert_between_code_points_and_utf16(page: Any) -> None:
    random_ = random.Random(1)
    texts = ["", "abc", "🎉", *(text(random_, 20) for _ in range(200))]
    body = """return input.map((text) => { const map = new code_points.OffsetMap(text);
      return Array.from({length: [...text].length + 1}, (_, at) => [map.toUtf16(at),
        map.toPoint(map.toUtf16(at))]); });"""
    for value, found in zip(texts, run(page, "core/code_points", body, texts), strict=True):
        assert found == [[utf16(value[:at]), at] for at in range(len(value) + 1)]


def codes_in(random_: random.Random, value: str, count: int) -> list[dict[str, Any]]:
    """Return codes at boundaries of characters, in UTF-16."""
    places = sorted(random_.randint(0, len(value)) for _ in range(count))
    return [
        {"id": str(row), "kind": "alone", "label": f"<{row}/>", "at": utf16(value[:at])}
        for row, at in enumerate(places)
    ]


def test_text_and_codes_survive_becoming_one_string(page: Any) -> None:
    random_ = random.Random(2)
    texts = [text(random_, 20) for _ in range(300)]
    cases = [{"text": value, "codes": codes_in(random_, value, random_.randint(0, 4))} for value in texts]
    body = "return input.map(({text, codes}) => flat_text.toMarked(flat_text.fromMarked(text, codes)));"
    assert run(page, "core/flat_text", body, cases) == cases


def proposal(random_: random.Random, codes: int = 0) -> dict[str, Any]:
    """Return a random proposal in UTF-16, with codes in unchanged stretches alone."""
    mt, pe, edits, both, places = "", "", [], [], []
    for row in range(random_.randint(1, 4)):
        same = text(random_, 5)
        if codes and random_.random() < 0.7:
            inside = same[: random_.randint(0, len(same))]
            places.append((utf16(mt + inside), utf16(pe + inside)))
        mt, pe = mt + same, pe + same
        before, after = f"{row}" * random_.randint(0, 2), "x" * random_.randint(0, 3)
        if before or after:
            spans = [[utf16(mt), utf16(mt + before)], [utf16(pe), utf16(pe + after)]]
            edits.append({"mt_span": spans[0], "pe_span": spans[1], "before": before, "after": after})
            both.append((same, before, after))
            mt, pe = mt + before, pe + after
        else:
            both.append((same, "", ""))
    chips = [{"id": str(row), "kind": "alone", "label": "<x/>"} for row in range(len(places))]
    return {
        "mt": mt,
        "text": pe,
        "edits": edits,
        "mt_codes": [{**chip, "at": at} for chip, (at, _) in zip(chips, places, strict=True)],
        "codes": [{**chip, "at": at} for chip, (_, at) in zip(chips, places, strict=True)],
        "parts": both,
    }


def chosen(parts: list[Any], accepted: list[bool]) -> str:
    choices = iter(accepted)
    return "".join(
        same + ((after if next(choices) else before) if before or after else "") for same, before, after in parts
    )


@pytest.mark.slow
def test_accepted_edits_and_no_others_are_in_the_text(page: Any) -> None:
    random_ = random.Random(3)
    proposals = [proposal(random_, codes=2) for _ in range(200)]
    cases = [[one, [random_.random() < 0.5 for _ in one["edits"]]] for one in proposals]
    body = """return input.map(([proposal, accepted]) => { const {content,
      ranges} = proposal_text.compose(proposal, accepted);
      return [flat_text.toMarked(content), ranges.map(({start, end}) => flat_text.plain(content.flat.slice(start,
        end)))]; });"""
    for (one, accepted), (found, ranges) in zip(
        cases, run(page, "core/proposal_text core/flat_text", body, cases), strict=True
    ):
        assert found["text"] == chosen(one["parts"], accepted)
        expected = [edit["after" if yes else "before"] for edit, yes in zip(one["edits"], accepted, strict=True)]
        assert ranges == expected
        assert [code["id"] for code in found["codes"]] == [code["id"] for code in one["codes"]]


def test_codes_stand_where_mt_and_the_proposal_have_them(page: Any) -> None:
    random_ = random.Random(4)
    proposals = [proposal(random_, codes=3) for _ in range(200)]
    body = """return input.map((proposal) => [true, false].map((accept) => flat_text.toMarked(
      proposal_text.compose(proposal, proposal.edits.map(() => accept)).content)));"""
    for one, (accepted, rejected) in zip(
        proposals, run(page, "core/proposal_text core/flat_text", body, proposals), strict=True
    ):
        assert accepted == {"text": one["text"], "codes": one["codes"]}
        assert rejected == {"text": one["mt"], "codes": one["mt_codes"]}


def test_edits_toggle_back_and_forth_within_own_words(page: Any) -> None:
    random_ = random.Random(5)
    proposals = [one for one in (proposal(random_, codes=2) for _ in range(300)) if one["edits"]]
    script = """async (input) => { const { Draft } = await import(`${base}/core/draft.js`);
      return input.map((proposal) => {
        const draft = new Draft(proposal, null);
        draft.write(0, 0, "Hello "); draft.write(draft.content.flat.length, draft.content.flat.length, " bye");
        const before = draft.content.flat;
        const middle = proposal.edits.map((_, number) => { draft.toggle(number); return draft.statuses.join(); });
        const none = draft.marked.text;
        proposal.edits.forEach((_, number) => draft.toggle(number));
        return [before === draft.content.flat, none, middle]; }); }"""
    for one, (same, none, middle) in zip(proposals, page.evaluate(script, proposals), strict=True):
        assert none == f"Hello {one['mt']} bye"
        assert same
        count = len(one["edits"])
        assert middle == [",".join(["rejected"] * (n + 1) + ["accepted"] * (count - n - 1)) for n in range(count)]


def test_undo_and_redo_lead_through_all_states(page: Any) -> None:
    random_ = random.Random(6)
    proposals = [proposal(random_, codes=2) for _ in range(60)]
    script = """async (input) => { const { Draft } = await import(`${base}/core/draft.js`);
      return input.map((proposal, seed) => {
        const draft = new Draft(proposal, null), states = [JSON.stringify(draft.content)];
        for (let step = 0; step < 40; step++) {
          const length = draft.content.flat.length, at = (step * 7 + seed) % (length + 1);
          if (step % 3) draft.write(at, Math.min(length, at + step % 4), step % 5 ? "w" : "");
          else draft.toggle(step % Math.max(1, proposal.edits.length));
          if (draft.history.past.length === states.length) states.push(JSON.stringify(draft.content));
        }
        const back = states.map(() => { const one = JSON.stringify(draft.content); draft.undo(); return one; });
        const again = states.map(() => { const one = JSON.stringify(draft.content); draft.redo(); return one; });
        return [states, back, again]; }); }"""
    for states, back, again in page.evaluate(script, proposals):
        assert back == states[::-1]
        assert again == states


def test_differences_make_the_second_text_of_the_first(page: Any) -> None:
    random_ = random.Random(7)
    words = ["the", "house", "is", "red", ",", "🎉", "中文", "  "]
    pairs = [[" ".join(random_.choices(words, k=random_.randint(0, 9))) for _ in range(2)] for _ in range(300)]
    pairs += [["a" * 4000 + " x", "a" * 4000 + " 🎉y"], [" ".join("ab" * 2000), " ".join("ba" * 2000)]]
    body = """return input.map(([old, text]) => { let made = "", done = 0;
      for (const change of word_diff.wordChanges(old, text)) { made += old.slice(done, change.start) + change.text;
        done = change.end; }
      return made + old.slice(done); });"""
    assert run(page, "core/word_diff", body, pairs) == [text for _, text in pairs]


QUEUE = """async () => { const { SaveQueue } = await import(`${base}/data/save_queue.js`);
  const { ApiError } = await import(`${base}/data/api.js`);
  const stored = new Map();
  const storage = { getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value),
    removeItem: (key) => stored.delete(key), key: (index) => [...stored.keys()][index],
      get length() { return stored.size; } };
  const sent = [], saved = [];
  let answer = (body) => ({ segment: { version: body.version + 1 } });
  const make = (tab) => new SaveQueue("anna", { storage, tab, onSaved: (entry) => saved.push(entry.body.target),
    send: async (path, body) => { sent.push([path, body.target, body.version, body.edit_id]); return answer(body);
      } });
  const settle = () => new Promise((resolve) => setTimeout(resolve, 20));
  %s }"""


def test_unsaved_changes_survive_a_page_that_is_gone(page: Any) -> None:
    body = """answer = () => { throw new ApiError(0, "no connection"); };
      const first = make("one");
      await first.put("f", 1, 4, { target: "a" }); await first.put("f", 2, 0, { target: "b" });
        await first.put("f", 1, 4, { target: "c" });
      const offline = [first.isOffline.value, first.waiting.value.length];
      first.stop();
      answer = (body) => ({ segment: { version: body.version + 1 } });
      sent.length = 0;
      const second = make("two"); await second.start(); second.stop(); await settle();
      return { offline, sent: sent.map((one) => one.slice(0, 3)), saved, left: second.entries.value.length,
        kept: [...stored.keys()].filter((key) => key.startsWith("postedit.unsaved")) };"""
    found = page.evaluate(QUEUE % body)
    assert found["offline"] == [True, 3]
    path = "/v1/files/f/segments/"
    assert found["sent"] == [[f"{path}1", "a", 4], [f"{path}2", "b", 0], [f"{path}1", "c", 5]]
    assert found["saved"] == ["a", "b", "c"]
    assert (found["left"], found["kept"]) == (0, [])


def test_change_during_a_save_follows_with_the_new_version(page: Any) -> None:
    body = """let release;
      answer = (body) => new Promise((resolve) => {
        release = () => resolve({ segment: { version: body.version + 1 } }); });
      const queue = make("one");
      queue.put("f", 1, 0, { target: "a" }); await settle();
      queue.put("f", 1, 0, { target: "ab" }); queue.put("f", 1, 0, { target: "abc", seconds: 1 }); await settle();
      release(); await settle(); release(); await settle();
      return { sent: sent.map((one) => one.slice(1, 3)), ids: new Set(sent.map((one) => one[3])).size,
        left: queue.entries.value.length };"""
    assert page.evaluate(QUEUE % body) == {"sent": [["a", 0], ["abc", 1]], "ids": 2, "left": 0}


def test_changes_are_sent_although_the_clock_is_set_back(page: Any) -> None:
    body = """const real = Date.now;
      try {
        answer = () => { throw new ApiError(0, "no connection"); };
        const first = make("one"); await first.put("f", 1, 0, { target: "left" }); first.stop();
        stored.set("postedit.tab.one", String(Date.now()));
        let count = 0, again; const twice = new Promise((resolve) => { again = resolve; });
        answer = (body) => { if (!count++) throw new ApiError(500, "failed"); again();
          return { segment: { version: 1 } }; };
        const second = make("two"); await second.put("f", 2, 0, { target: "failed" });
        Date.now = () => real() - 3_600_000;
        await Promise.race([twice, new Promise((resolve) => setTimeout(resolve, 20_000))]);
        await settle(); await second.start(); await settle(); second.stop();
      } finally { Date.now = real; }
      return saved;"""
    assert page.evaluate(QUEUE % body) == ["failed", "left"]


def test_same_id_is_sent_again_after_a_lost_answer(page: Any) -> None:
    body = """let count = 0; answer = (body) => { if (!count++) throw new ApiError(0, "cut off");
      return { segment: { version: 1 } }; };
      const queue = make("one"); await queue.put("f", 1, 0, { target: "a" }); await queue.retry();
      return [sent.length, new Set(sent.map((one) => one[3])).size, queue.entries.value.length];"""
    assert page.evaluate(QUEUE % body) == [2, 1, 0]


def test_what_may_be_saved_already_is_sent_again_before_what_follows(page: Any) -> None:
    body = """answer = () => { throw new ApiError(0, "cut off"); };
      const first = make("one"); await first.put("f", 1, 0, { target: "a" });
      await first.put("f", 1, 0, { target: "ab" }); first.stop();
      const second = make("one"); await second.put("f", 1, 0, { target: "abc" });
      answer = (body) => ({ segment: { version: body.version + 1 } }); sent.length = 1;
      await second.retry();
      return { sent: sent.map((one) => one.slice(1, 3)), same: sent[0][3] === sent[1][3] };"""
    found = page.evaluate(QUEUE % body)
    assert found == {"sent": [["a", 0], ["a", 0], ["abc", 1]], "same": True}


def test_fault_of_the_server_with_one_change_holds_no_others(page: Any) -> None:
    """Those of the same segment wait; those of others are sent, and the failed one is tried again by itself."""
    body = """let isBroken = true;
      answer = (body) => { if (isBroken && body.target === "a") throw new ApiError(500, "broken");
        return { segment: { version: body.version + 1 } }; };
      const queue = make("one"); await queue.put("f", 1, 0, { target: "a" });
      await queue.put("f", 1, 0, { target: "ab" }); await queue.put("f", 2, 0, { target: "b" });
      const before = [sent.map((one) => one[1]), queue.delayed.map((one) => one.body.target), queue.isOffline.value];
      isBroken = false; await new Promise((resolve) => setTimeout(resolve, 1300));
      return [before, saved, queue.delayed.length, queue.delays.value.size];"""
    assert page.evaluate(QUEUE % body) == [[["a", "b"], ["a"], False], ["b", "a", "ab"], 0, 0]


def test_answer_of_a_proxy_does_not_count_as_saved(page: Any) -> None:
    """A proxy may answer with a page of its own and the status 200, for example to ask for a sign-in."""
    body = """answer = () => "<html>Sign in</html>";
      const queue = make("one"); await queue.put("f", 1, 0, { target: "a" });
      const kept = [saved.length, queue.isOffline.value, JSON.parse(stored.get(queue.prefix + "one"))[0].body.target];
      answer = (body) => ({ segment: { version: body.version + 1 } }); await queue.retry(); queue.stop();
      return [...kept, saved, new Set(sent.map((one) => one[3])).size];"""
    assert page.evaluate(QUEUE % body) == [0, True, "a", ["a"], 1]


@pytest.mark.parametrize(("ours", "expected"), [(True, [["a", 0], ["ab", 7]]), (False, [["a", 0]])])
def test_conflict_waits_for_a_choice(page: Any, ours: bool, expected: list[Any]) -> None:
    body = """answer = (body) => { if (body.version === 0) throw new ApiError(409, "changed",
      { segment: { version: 7, target: "x" } });
        return { segment: { version: body.version + 1 } }; };
      const queue = make("one"); await queue.put("f", 1, 0, { target: "a" });
      await queue.put("f", 1, 0, { target: "ab" });
      const waits = [queue.conflicts.value.length, queue.waiting.value.length];
      await queue.resolve(queue.conflicts.value[0], OURS);
      return [waits, sent.map((one) => one.slice(1, 3)), queue.entries.value.length];"""
    found = page.evaluate(QUEUE % body.replace("OURS", str(ours).lower()))
    assert found == [[1, 0], expected, 0]


def test_changes_after_a_replayed_save_keep_to_its_version(page: Any) -> None:
    """An answer to a save that was done before has the present segment, perhaps with another person's text."""
    body = """let release; answer = () => new Promise((resolve) => {
        release = () => resolve({ segment: { version: 7, target: "other" } }); });
      const queue = make("one");
      queue.put("f", 1, 4, { target: "a" }); await settle();
      queue.put("f", 1, 4, { target: "ab" }); release(); await settle();
      return sent.map((one) => one.slice(1, 3));"""
    assert page.evaluate(QUEUE % body) == [["a", 4], ["ab", 5]]


SESSION = """async (name) => { const api = await import(`${base}/data/api.js`);
  const session = await import(`${base}/data/session.js`);
  session.session.value = { user: { name: "anna" }, auth: "password", csrf: "old" }; api.csrf.value = "old";
  const asked = [], own = globalThis.fetch;
  const json = (status, value) => new Response(JSON.stringify(value), { status,
    headers: { "Content-Type": "application/json" } });
  globalThis.fetch = async (path, { method, headers }) => {
    asked.push([method, path, headers["X-CSRF-Token"] ?? ""]);
    if (method === "GET") return name ? json(200, { user: { name }, csrf: "new", auth: "password" }) : json(401, {});
    return headers["X-CSRF-Token"] === "new" ? json(200, { done: true }) : json(403, { error: { code: "csrf" } }); };
  const both = await Promise.allSettled([api.put("/one", {}), api.post("/two")]);
  globalThis.fetch = own;
  return { both: both.map((one) => one.value?.done ?? one.reason.status), asked,
    isSignedOut: session.isSignedOut.value, user: session.user.value?.name }; }"""


def test_stale_token_is_fetched_again_once(page: Any) -> None:
    found = page.evaluate(SESSION, "anna")
    assert found["both"] == [True, True]
    assert [one for one in found["asked"] if one[0] == "GET"] == [["GET", "/v1/session", ""]]
    assert found["asked"][-1][2] == "new"
    assert not found["isSignedOut"]


def test_request_is_not_repeated_for_another_person_or_nobody(page: Any) -> None:
    other, nobody = (page.evaluate(SESSION, name) for name in ("ben", ""))
    assert (other["both"], other["user"], len(other["asked"])) == ([401, 401], "ben", 3)
    assert (nobody["both"], nobody["isSignedOut"], len(nobody["asked"])) == ([401, 401], True, 3)


EDITING = """async () => { const { Editing } = await import(`${base}/editor/editing.js`);
  const { SaveQueue } = await import(`${base}/data/save_queue.js`);
  const sent = [];
  const queue = new SaveQueue("anna", { onSaved: () => {}, tab: "editing", storage: { setItem() {}, removeItem() {},
    getItem: () => null, length: 0 }, send: (path, body) => { sent.push(body); return new Promise(() => {}); } });
  const rows = new Map([1, 2].map((number) => [number, { number, unit: "", src: `s${number}`, mt: "m", target: "",
    same: String(number), state: "new", version: 1 }]));
  let gate = Promise.resolve();
  globalThis.fetch = async (path) => { await gate; const found = /segments\\/(\\d+)$/.exec(path);
    const after = Number(/after=(\\d+)/.exec(path)?.[1] ?? 0);
    const body = found ? rows.get(Number(found[1]))
      : { segments: [rows.get(after + 1)], proposals: {}, numbers: [1, 2] };
    return new Response(JSON.stringify(body), { headers: { "Content-Type": "application/json" } }); };
  const editing = new Editing("p", "f", queue);
  const wait = (time) => new Promise((resolve) => setTimeout(resolve, time));
  const type = (text) => { editing.draft.write(0, 0, text); editing.changed(); };
  try { await editing.open(1); %s }
  finally { editing.isDirty = false; editing.close(); history.replaceState(null, "", " "); } }"""


def test_text_is_saved_on_the_version_that_it_was_written_on(page: Any) -> None:
    body = """type("x"); rows.set(1, { ...rows.get(1), version: 5, target: "theirs", state: "draft" });
      await editing.news.refresh([1]); const shown = editing.draft.marked.text;
      editing.flush(); await wait(20); const first = sent[0].version;
      rows.set(1, { ...rows.get(1), version: 6 }); await editing.news.refresh([1]); type("y"); editing.flush();
      return [shown, first, queue.pending("f", 1).version, editing.cache.peek(1).version];"""
    assert page.evaluate(EDITING % body) == ["xm", 1, 1, 1]


def test_text_is_saved_while_typing_goes_on(page: Any) -> None:
    body = """for (let key = 0; key < 8; key++) { type("x"); await wait(100); }
      return sent.length;"""
    assert page.evaluate(EDITING % body) == 1


def test_what_is_typed_while_the_next_segment_is_fetched_is_saved(page: Any) -> None:
    body = """let release; gate = new Promise((resolve) => { release = resolve; });
      const opened = editing.open(2); const isReadOnly = editing.isReadOnly; type("x"); release(); await opened;
      return [isReadOnly, editing.isReadOnly, queue.pending("f", 1)?.body.target, editing.number];"""
    assert page.evaluate(EDITING % body) == [True, False, "xm", 2]


def test_key_pressed_before_the_list_is_here_takes_effect_when_it_is(page: Any) -> None:
    body = """let release; gate = new Promise((resolve) => { release = resolve; });
      editing.cache.choose({ filter: "unconfirmed" }); const went = editing.step(1);
      editing.cache.choose({ filter: "" }); await wait(20);
      const before = editing.number; release(); await went;
      return [before, editing.number];"""
    assert page.evaluate(EDITING % body) == [1, 2]


def test_field_takes_nothing_from_a_confirmation_to_the_next_segment(page: Any) -> None:
    body = """let release; gate = new Promise((resolve) => { release = resolve; });
      editing.cache.choose({ filter: "" }); const went = editing.confirm();
      const between = editing.isReadOnly; release(); await went; const after = editing.isReadOnly;
      await editing.step(1);
      return [between, after, editing.number, editing.isReadOnly];"""
    assert page.evaluate(EDITING % body) == [True, False, 2, False]


def test_text_counts_as_not_saved_from_the_first_letter(page: Any) -> None:
    body = """const before = queue.isWriting.value; type("x"); const written = queue.isWriting.value; editing.flush();
      return [before, written, queue.isWriting.value, queue.waiting.value.length];"""
    assert page.evaluate(EDITING % body) == [False, True, False, 1]


SLOW = """const own = globalThis.fetch, gates = []; globalThis.fetch = async (path) => { const found = await own(path);
      if (/%s/.test(path) && gates.length < 1) await new Promise((release) => gates.push(release)); return found; };
      const done = (value) => { globalThis.fetch = own; return value; };
      for (let number = 3; number < 9; number++) rows.set(number, { ...rows.get(2), number, src: `s${number}` });
      editing.cache.numbers.value = [1, 2, 3, 4, 5, 6, 7, 8]; """
"""Requests of one kind answer when told to."""


def test_what_was_saved_before_events_came_is_shown(page: Any) -> None:
    body = """const theirs = { version: 5, target: "theirs", state: "draft" };
      rows.set(1, { ...rows.get(1), ...theirs }); await editing.news.missed(); const shown = editing.draft.marked.text;
      const opened = editing.open(2); await wait(20); rows.set(2, { ...rows.get(2), ...theirs });
      await editing.news.missed(); gates[0](); await opened;
      for (let tries = 0; tries < 600 && editing.cache.old.size; tries++) await wait(100);
      return done([shown, editing.number, editing.draft.marked.text, editing.cache.old.size]);"""
    assert page.evaluate(EDITING % (SLOW % "segments\\/2$" + body)) == ["theirs", 2, "theirs", 0]


def test_file_that_was_left_does_not_come_back_and_writes_nothing(page: Any) -> None:
    body = """type("x"); const confirmed = editing.confirm(); await wait(20); editing.close();
      const other = new Editing("p", "g", queue); await other.open(1);
      other.draft.write(0, 0, "y"); other.changed(); gates[0](); await confirmed;
      const { isDirty } = other; const address = location.hash; other.close();
      return done([isDirty, address, queue.entries.value.map((one) => [one.file, one.body.state])]);"""
    found = page.evaluate(EDITING % (SLOW % "files\\/f\\/segments\\/2$" + body))
    assert found == [True, "#/project/p/file/g/1", [["f", "confirmed"], ["g", "draft"]]]


def test_segment_that_was_chosen_while_another_was_looked_for_stays(page: Any) -> None:
    body = """const went = editing.step(1, true); await wait(20); const looking = editing.isReadOnly;
      await editing.open(7); const isReadOnly = editing.isReadOnly; gates[0](); await went;
      const { number } = editing, next = editing.step(1); const going = editing.isReadOnly; await next;
      return done([looking, isReadOnly, number, going, editing.isReadOnly]);"""
    assert page.evaluate(EDITING % (SLOW % "unconfirmed" + body)) == [True, False, 7, True, False]


def test_second_key_starts_from_the_segment_on_its_way(page: Any) -> None:
    body = """const went = editing.step(1); await wait(20); const again = editing.step(1); await again;
      const number = editing.number; type("x"); gates[0](); await went;
      return done([number, editing.number, editing.isDirty, editing.isReadOnly]);"""
    assert page.evaluate(EDITING % (SLOW % "segments\\/2$" + body)) == [3, 3, True, False]


def test_confirmed_segment_is_changed_by_no_key(page: Any) -> None:
    body = """const { Past } = await import(`${base}/editor/past.js`);
      const confirmed = editing.confirm(); await wait(20);
      editing.putText("other"); editing.undo(); editing.redo(); editing.toggle(0); editing.chooseAll(false);
      new Past(editing).putBack({ target: "former", target_codes: [] });
      await editing.confirm(); gates[0](); await confirmed;
      return done([editing.number, queue.entries.value.map((one) => [one.number, one.body.state])]);"""
    assert page.evaluate(EDITING % (SLOW % "unconfirmed" + body)) == [2, [[1, "confirmed"]]]


def test_former_state_that_comes_late_does_not_take_a_confirmation_back(page: Any) -> None:
    body = """rows.set(1, { ...rows.get(1), version: 2, target: "later", state: "draft" }); await editing.news.missed();
      globalThis.fetch = async (path) => { const isHistory = /history/.test(path);
        const place = isHistory ? 1 : 0;
        if (place || /unconfirmed/.test(path)) await new Promise((release) => { gates[place] = release; });
        return isHistory ? new Response(JSON.stringify({ history: [{ version: 1, state: "draft", who: "a", made: "",
          target: "former", codes: [] }] }), { headers: { "Content-Type": "application/json" } }) : own(path); };
      const undone = editing.undo(); await wait(20); const confirmed = editing.confirm(); await wait(20);
      gates[1](); await undone; gates[0](); await confirmed;
      return done(queue.entries.value.map((one) => [one.number, one.body.state, one.body.target]));"""
    assert page.evaluate(EDITING % (SLOW % "none" + body)) == [[1, "confirmed", "later"]]


def test_keys_lead_on_from_a_segment_that_does_not_exist(page: Any) -> None:
    body = """const other = new Editing("p", "g", queue); other.cache.numbers.value = [1, 2];
      globalThis.fetch = async (path) => (/segments\\/9$/.test(path) ? new Response("{}", { status: 404 }) : own(path));
      await other.open(9); const problem = Boolean(other.problem.value); await other.step(1);
      const { number } = other; other.close(); return done([problem, number]);"""
    assert page.evaluate(EDITING % (SLOW % "none" + body)) == [True, 1]


@pytest.mark.parametrize(("status", "stays"), [(404, True), (503, False)])
def test_a_refusal_is_still_shown_once_the_network_is_back(page: Any, status: int, stays: bool) -> None:
    body = """const other = new Editing("p", "g", queue);
      globalThis.fetch = async (path) => (/segments\\/9$/.test(path) ? new Response("{}", { status: %d }) : own(path));
      await other.open(9); const before = other.problem.value?.status; other.news.returned(); other.close();
      return done([before, Boolean(other.problem.value)]);"""
    assert page.evaluate(EDITING % (SLOW % "none" + body % status)) == [status, stays]


def test_text_of_an_input_method_outlives_a_renewed_proposal(page: Any) -> None:
    body = """const theirs = { text: "newer", edits: [] };
      editing.composing(true); rows.set(1, { ...rows.get(1), proposal: theirs }); await editing.news.refresh([1]);
      const before = editing.draft; editing.draft.write(0, 0, "x"); editing.changed(); editing.composing(false);
      const written = [editing.draft === before, editing.draft.marked.text];
      await editing.open(2); editing.composing(true); rows.set(2, { ...rows.get(2), proposal: theirs });
      await editing.news.refresh([2]); const meanwhile = editing.draft.marked.text; editing.composing(false);
      return [...written, meanwhile, editing.draft.marked.text];"""
    assert page.evaluate(EDITING % body) == [True, "xm", "m", "newer"]


def test_caret_stays_in_a_proposal_that_is_renewed(page: Any) -> None:
    body = """const found = [];
      const renew = (text) => { rows.set(1, { ...rows.get(1), proposal: { text, edits: [] } });
        return editing.news.refresh([1]); };
      for (const [start, end] of [[0, 0], [9, 9], [13, 13], [11, 11], [4, 8], [14, 17], [17, 17]]) {
        await renew("Die Tür ist rot ."); editing.draft.select(start, end); await renew("Die Tür wäre rot .");
        found.push([editing.draft.state.start, editing.draft.state.end]); }
      await renew("Die Tür wäre rot . Ja ."); return [...found, editing.draft.state.end];"""
    expected = [[0, 0], [12, 12], [14, 14], [12, 12], [4, 8], [15, 18], [18, 18], 23]
    assert page.evaluate(EDITING % body) == expected


def test_text_that_was_taken_back_elsewhere_is_not_shown(page: Any) -> None:
    body = """type("x"); editing.flush(); await wait(20); queue.entries.value = [];
      rows.set(1, { ...rows.get(1), version: 2, state: "draft", target: "xm" }); await editing.news.refresh([1]);
      const kept = editing.draft.marked.text; rows.set(1, { ...rows.get(1), version: 3, state: "seen", target: "" });
      await editing.news.refresh([1]); return [kept, editing.draft.marked.text, editing.segment.value.state];"""
    assert page.evaluate(EDITING % body) == ["xm", "m", "seen"]


def test_a_confirmation_leads_past_its_repetitions(page: Any) -> None:
    body = """for (const number of [2, 3]) rows.set(number, { ...rows.get(1), number });
      rows.set(4, { ...rows.get(1), number: 4, STATE }); await editing.cache.fetchAllOf([2, 3, 4, 5]);
      await editing.confirm(); return done(editing.number);"""
    for state, number in (('state: "draft"', 4), ('same: "4"', 4), ('state: "seen"', 5)):
        assert page.evaluate(EDITING % (SLOW % "none" + body.replace("STATE", state))) == number


def test_the_source_keeps_its_codes_where_it_has_them(page: Any) -> None:
    body = """const code = (at) => [{ id: "1", kind: "alone", label: "<x/>", at }];
      rows.set(2, { ...rows.get(2), src: "ab", src_codes: code(1), mt_codes: code(0) }); await editing.open(2);
      editing.putSource(); const { text, codes } = editing.draft.marked; editing.undo();
      return [text, codes[0].at, editing.draft.marked.codes[0].at];"""
    assert page.evaluate(EDITING % body) == ["ab", 1, 0]


CARD = """const { SegmentCard } = await import(`${base}/editor/segment_card.js`);
  const { html, render } = await import(`${base}/lib.js`);
  const shown = async (number, selector) => { await editing.open(number);
    render(html`<${SegmentCard} editing=${editing} languages=${["en", "de"]} fieldRef=${{ current: null }} />`,
      document.body);
    return [...document.querySelectorAll(selector)].map((one) => one.textContent); };
  try { %s } finally { render(null, document.body); }"""
"""`shown` opens a segment, and returns the texts of some elements of its card."""


def test_the_language_and_not_the_first_letter_decides_on_direction(page: Any) -> None:
    body = """rows.set(2, { ...rows.get(2), src: "هاتف", mt: "WhatsApp افتح", proposal: null });
      await shown(2, ".field"); const texts = [".source", ".segment dd > .text", ".field"];
      return texts.map((one) => [document.querySelector(one).lang, document.querySelector(one).dir]);"""
    card = CARD.replace('["en", "de"]', "LANGUAGES")
    for languages, tags, dirs in (
        (["en", "he_IL"], ["en", "he-IL"], ["ltr", "rtl"]),
        (["fa", "zh-TW"], ["fa", "zh-TW"], ["rtl", "ltr"]),
        (["sr@latin", "ur_PK"], ["sr-latin", "ur-PK"], ["ltr", "rtl"]),
        (["", "-"], ["", "-"], ["auto"] * 2),
    ):
        found = page.evaluate(EDITING % (card.replace("LANGUAGES", json.dumps(languages)) % body))
        source, target = ([*pair] for pair in zip(tags, dirs, strict=True))
        assert found == [source, target, target]


@pytest.mark.slow
def test_regions_and_scripts_decide_on_direction(page: Any) -> None:
    directions = {
        "rtl": "ug yi dv ckb sd ur_PK arb az-Arab az-IR ku-Arab pa-PK ur-Aran ff-Adlm",
        "ltr": "az ku pa sd-IN ar-Latn zh-Hant-TW sr_Cyrl",
        "auto": "mul qaa zxx x-own a",
    }
    body = """delete Intl.Locale.prototype.getTextInfo; delete Intl.Locale.prototype.textInfo; // some have none
      return [...new Set(input.split(" ").map((language) => controls.inLanguage(language).dir))];"""
    for direction, languages in directions.items():
        assert run(page, "ui/controls", body, languages) == [direction]


def test_edits_without_a_visible_character_are_named(page: Any) -> None:
    texts = {" \n": "␣⏎", "\u200c": "ZWNJ", "\u00a0": "NBSP", "\u200f ": "RLM␣", "ها\u200c": "ها\u200c", "": ""}
    assert run(page, "ui/difference", "return input.map(difference.visible);", [*texts]) == [*texts.values()]


def test_tags_out_of_order_show_a_warning(page: Any) -> None:
    def codes(*labels: str) -> list[dict[str, Any]]:
        kinds = {False: "open", True: "close"}
        return [{"id": one.strip("/"), "kind": kinds[one[0] == "/"], "label": one, "at": 0} for one in labels]

    nested, crossed, reversed_ = ("b", "i", "/i", "/b"), ("b", "i", "/b", "/i"), ("/b", "b", "i", "/i")
    cases = [
        (nested, crossed),
        (("u", *nested), ("u", *crossed)),  # u closes in another segment
        (nested, nested),
        (crossed, crossed),
        (crossed, reversed_),
    ]
    body = """const warnings = [];
      for (const [at, [mt_codes, target_codes]] of CASES.entries()) {
        rows.set(2 + at, { ...rows.get(2), number: 2 + at, mt_codes, target_codes, state: "draft", target: "m" });
        warnings.push(await shown(2 + at, ".warning")); }
      return warnings.map((found) => found.length);"""
    given = json.dumps([[codes(*one) for one in pair] for pair in cases])
    assert page.evaluate(EDITING % (CARD % body.replace("CASES", given))) == [1, 1, 0, 0, 1]


def test_a_conflict_shows_the_proposal_where_a_text_was_taken_back(page: Any) -> None:
    body = """const body = { state: "STATE", target: "mine", codes: [], decisions: [] };
      const theirs = { number: 2, version: 3, target: "theirs", updated_by: "ben", updated: null };
      queue.entries.value = [{ project: "p", file: "f", number: 2, version: 1, edit_id: "1", body, theirs }];
      const texts = await shown(2, ".conflict .text"); queue.entries.value = []; return texts;"""
    for state, mine in (("draft", "mine"), ("open", "m")):
        assert page.evaluate(EDITING % (CARD % body.replace("STATE", state))) == [mine, "theirs"]
    body = body.replace("STATE", "draft").replace('target: "theirs"', "...TAKEN_BACK")
    body = body.replace("TAKEN_BACK", '{ state: "seen", target: "", mt: "n", proposal: { text: "newer", edits: [] } }')
    assert page.evaluate(EDITING % (CARD % body)) == ["mine", "newer"]


def test_a_segment_without_a_proposal_says_why(page: Any) -> None:
    body = """const nothing = { ...rows.get(2), proposal: null };
      rows.set(2, { ...nothing, prepared: false }); rows.set(3, { ...nothing, number: 3, prepared: true });
      const hints = [await shown(2, ".hint"), await shown(3, ".hint")].flat();
      rows.set(2, { ...nothing, proposal: { text: "m", edits: [] }, prepared: true }); await editing.news.refresh([2]);
      return [...hints, await shown(2, ".hint")].flat();"""
    assert page.evaluate(EDITING % (CARD % body)) == [
        "The proposal is being prepared.",
        "There is no proposal.",
        "No change is proposed.",
    ]


def test_screen_readers_hear_which_segment_was_opened(page: Any) -> None:
    body = """const { Messages } = await import(`${base}/ui/messages.js`), heard = [];
      const host = document.createElement("div"); render(html`<${Messages} />`, host);
      const listen = () => { const said = host.querySelector("[role=status]").textContent;
        if (said.startsWith("Segment 7")) heard.push(said); }; // other tests say other things
      new MutationObserver(listen).observe(host, { subtree: true, childList: true, characterData: true });
      rows.set(71, { ...rows.get(2), number: 71 });
      rows.set(72, { ...rows.get(2), number: 72, state: "draft", target: "n" });
      for (const number of [71, 72]) await shown(number, ".field");
      for (let tries = 0; tries < 600 && heard.length < 2; tries++)
        await new Promise((resolve) => setTimeout(resolve, 100));
      render(null, host); return heard;"""
    assert page.evaluate(EDITING % (CARD % body)) == ["Segment 71, not seen", "Segment 72, draft"]


@pytest.mark.slow
def test_the_last_announcement_is_of_where_one_is(page: Any) -> None:
    body = """const { html, render } = await import(`${base}/lib.js`), heard = [];
      const host = document.createElement("div"); render(html`<${messages.Messages} />`, host);
      const listen = () => { const said = host.querySelector("[role=status]").textContent;
        if (said.startsWith("Place") && said !== heard.at(-1)) heard.push(said); };
      new MutationObserver(listen).observe(host, { subtree: true, childList: true, characterData: true });
      for (const place of ["Place 5", "Place 6", "Place 6", "Place 5"]) messages.announce(place);
      for (let tries = 0; tries < 600 && heard.length < 3; tries++)
        await new Promise((resolve) => setTimeout(resolve, 100));
      render(null, host); return heard;"""
    assert run(page, "ui/messages", body) == ["Place 5", "Place 6", "Place 5"]


def test_progress_is_of_what_can_be_confirmed(page: Any) -> None:
    body = """return input.map(([segments, confirmed, locked]) => ({ segments, confirmed, locked }))
      .map((counts) => [segment.progressOf(counts), strings.t.projects.progress(counts)]);"""
    counts = [[9, 3, 6], [1000, 997, 0], [100, 29, 0], [4, 0, 4], [0, 0, 0]]
    found = run(page, "data/segment strings", body, counts)
    assert [text for _, text in found] == [f"{share}% confirmed" for share in (100, 99, 29, 100, 0)]
    assert [share for share, _ in found] == [1, 0.997, 0.29, 1, 0]


def test_a_malformed_address_is_one_without_a_view(page: Any) -> None:
    body = """const reached = []; for (const hash of ["#/project/%41", "#/project/%E0%A4%A", "#/%"]) {
        const changed = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
        location.hash = hash; await changed; reached.push(router.route.value); }
      history.replaceState(null, "", " "); return reached;"""
    assert run(page, "data/router", body) == [["project", "A"], ["project", "%E0%A4%A"], ["%"]]


def test_keys_in_an_empty_list_choose_nothing(page: Any) -> None:
    body = """const chosen = [], nothing = () => {}, { VirtualList } = virtual_list;
      const list = (count) => lib.html`<${VirtualList} id="keys" count=${count}
        rowHeight=${20} selected=${-1} label="" keyOf=${(at) => at} row=${nothing} onClick=${nothing}
        onSelect=${(at) => chosen.push(at)} onEnter=${() => chosen.push("enter")} onVisible=${nothing} />`;
      const place = document.body.appendChild(document.createElement("div"));
      for (const count of [0, 3]) { lib.render(list(count), place);
        for (const key of ["ArrowDown", "End"]) place.firstElementChild.dispatchEvent(new KeyboardEvent("keydown",
          { key, bubbles: true })); }
      lib.render(null, place); place.remove(); return chosen;"""
    assert run(page, "lib editor/virtual_list", body) == [0, 2]


def test_a_list_that_is_hidden_and_shown_again_shows_the_same_rows(page: Any) -> None:
    body = """const nothing = () => {}, { VirtualList } = virtual_list;
      const frames = async () => { for (let at = 0; at < 5; at++) await new Promise(requestAnimationFrame); };
      const place = document.body.appendChild(document.createElement("div"));
      const style = document.head.appendChild(document.createElement("style"));
      style.textContent = "#again { height: 200px; overflow-y: auto; contain: strict; position: relative; }";
      lib.render(lib.html`<${VirtualList} id="again" count=${300} rowHeight=${20} selected=${250} label=""
        keyOf=${(at) => at} row=${(at) => `row ${at}`} onClick=${nothing} onSelect=${nothing} onEnter=${nothing}
        onVisible=${nothing} />`, place);
      const seen = () => Array.from(place.querySelectorAll(".row"), (row) => row.textContent);
      await frames(); const before = seen();
      place.style.display = "none"; await frames();
      place.style.display = ""; await frames(); const after = seen();
      lib.render(null, place); place.remove(); style.remove(); return [before, after];"""
    before, after = run(page, "lib editor/virtual_list", body)
    assert "row 250" in before
    assert after == before


def test_leaving_is_asked_about_where_the_browser_keeps_nothing(page: Any) -> None:
    body = """const asked = []; for (const isFull of [false, true]) {
      const storage = { length: 0, key: () => null, getItem: () => null, removeItem() {},
        setItem() { if (isFull) throw new Error("full"); } };
      const send = () => new Promise(() => {});
      const queue = new save_queue.SaveQueue("anna", { onSaved() {}, storage, tab: "x", send });
      queue.start(); queue.put("f", 1, 0, { state: "draft" });
      const leaving = new Event("beforeunload", { cancelable: true }); dispatchEvent(leaving); queue.stop();
      asked.push(leaving.defaultPrevented); } return asked;"""
    assert run(page, "data/save_queue", body) == [False, True]


def test_segment_asked_for_twice_is_fetched_once(page: Any) -> None:
    body = """let count = 0; const slow = globalThis.fetch;
      globalThis.fetch = (path) => { count += /segments\\/3$/.test(path); return slow(path); };
      const first = editing.open(3), second = editing.open(3); await wait(20); gates[0](); await first;
      const isReadOnly = editing.isReadOnly; await second;
      return done([editing.number, isReadOnly, count]);"""
    assert page.evaluate(EDITING % (SLOW % "segments\\/3$" + body)) == [3, False, 1]


def test_field_can_be_written_in_after_an_answer_that_is_none(page: Any) -> None:
    body = """globalThis.fetch = async () => new Response("<html>", { headers: { "Content-Type": "text/html" } });
      const failed = await editing.step(1, true).then(() => false, () => true);
      return done([failed, editing.isReadOnly, editing.number]);"""
    assert page.evaluate(EDITING % (SLOW % "none" + body)) == [True, False, 1]


def test_seconds_add_up_over_visits(page: Any) -> None:
    body = """const { answerConsent } = await import(`${base}/editor/timer.js`); answerConsent("yes");
      const began = performance.now(), work = async (time) => { dispatchEvent(new Event("pointermove"));
        await wait(time); dispatchEvent(new Event("pointermove")); };
      await work(300); await editing.open(2); const seen = sent[0]; await work(300); await editing.open(1);
      await work(300); type("x"); editing.flush();
      const { body } = queue.pending("f", 1), all = (performance.now() - began) / 1000; answerConsent("no");
      return [seen.state, "seconds" in seen && seen.seconds !== undefined, body.seconds, all];"""
    state, has_seconds, seconds, all_seconds = page.evaluate(EDITING % body)
    assert (state, has_seconds) == ("seen", False)
    assert 0.5 < seconds < all_seconds - 0.2, "those on the other segment do not count"


def test_text_kept_in_a_conflict_has_its_last_letters(page: Any) -> None:
    body = """const { settle } = await import(`${base}/editor/settling.js`);
      type("x"); editing.flush(); await wait(20);
      const theirs = { ...rows.get(1), version: 5, target: "theirs" };
      const entry = { ...queue.pending("f", 1), tried: false, theirs };
      queue.entries.value = [entry]; type("y"); settle(editing, entry, true);
      return [queue.entries.value.map((one) => [one.body.target, one.version]), editing.segment.value.version];"""
    assert page.evaluate(EDITING % body) == [[["yxm", 5]], 5]


def test_text_given_up_in_a_conflict_is_a_step_back(page: Any) -> None:
    body = """const { settle } = await import(`${base}/editor/settling.js`);
      type("x"); editing.flush(); await wait(20);
      const entry = { ...queue.pending("f", 1), theirs: { ...rows.get(1), version: 5, target: "theirs",
        state: "draft" } };
      queue.entries.value = [entry]; await settle(editing, entry, false);
      const taken = [editing.draft.marked.text, editing.segment.value.version, queue.entries.value.length];
      editing.undo(); editing.flush();
      return [...taken, queue.pending("f", 1).body.target, queue.pending("f", 1).version];"""
    assert page.evaluate(EDITING % body) == ["theirs", 5, 0, "xm", 5]


def test_text_taken_in_a_conflict_is_the_newest_of_the_other_person(page: Any) -> None:
    body = """const { settle } = await import(`${base}/editor/settling.js`);
      type("x"); editing.flush(); await wait(20);
      const theirs = { ...rows.get(1), version: 5, target: "th", state: "draft" };
      rows.set(1, { ...theirs, version: 7, target: "theirs" });
      const entry = { ...queue.pending("f", 1), tried: false, theirs };
      queue.entries.value = [entry]; type("y"); await settle(editing, entry, false);
      const taken = [editing.draft.marked.text, editing.segment.value.version, queue.entries.value.length];
      editing.undo(); return [...taken, editing.draft.marked.text];"""
    assert page.evaluate(EDITING % body) == ["theirs", 7, 0, "yxm"]


def test_a_conflict_is_settled_by_the_first_of_two_clicks(page: Any) -> None:
    """A second click may come while the text of the other person is fetched."""
    body = """const { settle } = await import(`${base}/editor/settling.js`); const given = [], found = [];
      editing.timer.giveBack = (number, seconds) => given.push(seconds);
      type("x"); editing.flush(); await wait(20); queue.sent = {};
      for (const keeps of [false, true]) {
        const entry = { ...queue.pending("f", 1), body: { target: "xm", seconds: 3 }, tried: false,
          theirs: { ...rows.get(1), version: 5, target: "theirs", state: "draft" } };
        queue.entries.value = [entry]; const first = settle(editing, entry, false);
        await Promise.all([settle(editing, entry, keeps), first]);
        found.push(queue.entries.value.map((one) => one.body.target));
        queue.entries.value = [entry];
      }
      queue.entries.value = [];
      return [given, found];"""
    assert page.evaluate(EDITING % body) == [[3], [[], ["xm"]]]


CACHE = """async () => { const { SegmentCache } = await import(`${base}/data/segment_cache.js`);
  const own = globalThis.fetch, answers = [];
  globalThis.fetch = (path, { signal }) => new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
    answers.push((value) => resolve(new Response(JSON.stringify(value),
      { headers: { "Content-Type": "application/json" } }))); });
  const row = (target) => ({ number: 1, src: "s", mt: "m", target, state: "draft", version: 1 });
  const cache = new SegmentCache("f");
  try { %s } finally { globalThis.fetch = own; } }"""


def test_newest_request_for_a_segment_wins(page: Any) -> None:
    body = """const first = cache.reload(1), second = cache.reload(1);
      answers[1](row("new")); await second; answers[0](row("old")); await first;
      const after = cache.peek(1).target;
      const third = cache.reload(1); cache.stale([1]); answers[2](row("asked before the news")); await third;
      return [after, cache.peek(1).target, cache.old.has(1)];"""
    assert page.evaluate(CACHE % body) == ["new", "asked before the news", True]


def test_newest_filter_wins(page: Any) -> None:
    body = """const first = cache.choose({ filter: "", q: "a", from: "" });
      const second = cache.choose({ filter: "", q: "ab", from: "" });
      answers[1]({ numbers: [2] }); await second; answers[0]({ numbers: [1, 2] }); await first;
      return [cache.numbers.value, cache.problem.value];"""
    assert page.evaluate(CACHE % body) == [[2], ""]


def test_the_numbers_of_all_segments_are_fetched_once(page: Any) -> None:
    body = """const chosen = cache.choose({ filter: "", q: "a", from: "" });
      const first = cache.fetchNumbers(), second = cache.fetchNumbers();
      answers[0]({ numbers: [2] }); await chosen; await new Promise((resolve) => setTimeout(resolve));
      const asked = answers.length; answers[1]({ numbers: [1, 2, 3] }); await first; await second;
      await cache.fetchNumbers();
      return [asked, answers.length, cache.numbers.value, cache.all.value];"""
    assert page.evaluate(CACHE % body) == [2, 2, [2], [1, 2, 3]]
    body = """const chosen = cache.choose({ filter: "", q: "", from: "" }), all = cache.fetchNumbers();
      answers[0]({ numbers: [1, 2] }); await chosen; await all; return [answers.length, cache.all.value];"""
    assert page.evaluate(CACHE % body) == [1, [1, 2]]


def test_presence_ends_with_a_farewell_or_by_time(page: Any) -> None:
    body = """async () => { const { Presence } = await import(`${base}/editor/presence.js`);
      const told = [], own = globalThis.fetch, now = Date.now, every = globalThis.setInterval;
      let tick;
      globalThis.setInterval = (run) => { tick = run; return 0; };
      globalThis.fetch = async (path, { body, keepalive }) => { told.push([JSON.parse(body).number, keepalive]);
        return new Response(null, { status: 204 }); };
      try {
        const presence = new Presence("f", "anna", () => 7);
        const here = () => [...presence.others.value.keys()];
        presence.heard({ who: "ben", segment: 2 }); presence.heard({ who: "eva", segment: 2 });
        presence.heard({ who: "anna", segment: 7 });
        const all = here(); presence.heard({ who: "ben", segment: 0 }); const left = here();
        Date.now = () => now() + 61_000; tick(); const none = here();
        presence.heard({ who: "anna", segment: 0 }); presence.close();
        return [all, left, none, told];
      } finally { Object.assign(globalThis, { fetch: own, setInterval: every }); Date.now = now; } }"""
    assert page.evaluate(body) == [["ben", "eva"], ["eva"], [], [[7, False], [7, False], [0, True]]]


def test_uploads_go_two_at_a_time(page: Any) -> None:
    body = """async () => { const { addUploads, uploads } = await import(`${base}/data/upload_queue.js`);
      const sent = [], own = globalThis.XMLHttpRequest;
      globalThis.XMLHttpRequest = class extends EventTarget { upload = new EventTarget(); open() {}
        setRequestHeader() {} send() { sent.push(this); }
        answer(status) { Object.assign(this, { status, response: { error: { message: "no" } } });
          this.dispatchEvent(new Event("load")); } };
      const wait = () => new Promise((resolve) => setTimeout(resolve, 10));
      const files = ["a", "b", "c", "d"].map((name) => new File(["x"], name));
      addUploads("p", files.slice(0, 3), () => {}); addUploads("p", files.slice(3), () => {}); await wait();
      const isHeld = () => !dispatchEvent(new Event("beforeunload", { cancelable: true })), held = isHeld();
      const before = sent.length; sent[0].answer(202); sent[1].answer(422); await wait(); const after = sent.length;
      sent[2].answer(202); sent[3].answer(202); await wait(); globalThis.XMLHttpRequest = own;
      return [before, after, held, isHeld(), uploads.value.map((one) => [one.name, one.problem])]; }"""
    assert page.evaluate(body) == [2, 4, True, False, [["b", "no"]]]


@pytest.mark.slow
def test_events_are_polled_where_no_stream_opens_but_not_by_hidden_tabs(page: Any) -> None:
    body = """async () => { const { listen } = await import(`${base}/data/live_events.js`);
      const own = { fetch: globalThis.fetch, EventSource: globalThis.EventSource };
      const streams = [], heard = []; let last = 4, isBroken = true, asked = 0;
      globalThis.EventSource = class extends EventTarget { constructor(path) { super(); this.path = path;
          streams.push(this); setTimeout(() => this.dispatchEvent(new Event(isBroken ? "error" : "open"))); }
        close() { this.isClosed = true; } };
      globalThis.fetch = async (path) => { asked++; const after = Number(/after=(\\d+)/.exec(path)[1]);
        const events = Array.from({ length: Math.max(0, last - after) }, (_, row) => ({ id: after + row + 1,
          kind: "segment" }));
        return new Response(JSON.stringify({ events, last }), { headers: { "Content-Type": "application/json" } }); };
      Object.defineProperty(navigator, "locks", { value: undefined, configurable: true });
      const wait = (time) => new Promise((resolve) => setTimeout(resolve, time));
      const show = (state) => { Object.defineProperty(document, "visibilityState", { value: state,
        configurable: true }); document.dispatchEvent(new Event("visibilitychange")); };
      const stop = listen("p", (kind, event) => heard.push(event.id));
      const until = async (isDone) => { for (let tries = 0; tries < 1200 && !isDone(); tries++) await wait(50); };
      try { await until(() => streams.length); last = 6; await until(() => heard.length); const byQuestion = [...heard];
        show("hidden"); const before = asked; last = 8; await wait(3300); const whileHidden = asked - before;
        isBroken = false; show("visible"); await until(() => streams.at(-1).path.endsWith("after=8"));
        const open = streams.at(-1); show("hidden");
        return [byQuestion, whileHidden, heard, open.path.split("?")[1], open.isClosed];
      } finally { stop(); show("visible"); Object.assign(globalThis, own); delete navigator.locks;
        delete document.visibilityState; } }"""
    assert page.evaluate(body) == [[5, 6], 0, [5, 6, 7, 8], "after=8", True]


def test_each_tab_is_told_once_that_it_misses_nothing_from_now_on(page: Any) -> None:
    body = """async () => { const { listen } = await import(`${base}/data/live_events.js`);
      const own = { fetch: globalThis.fetch, EventSource: globalThis.EventSource }; const told = [];
      globalThis.EventSource = class extends EventTarget { constructor() { super();
          setTimeout(() => this.dispatchEvent(new Event("open"))); } close() {} };
      globalThis.fetch = async () => new Response(JSON.stringify({ events: [], last: 4 }),
        { headers: { "Content-Type": "application/json" } });
      const wait = () => new Promise((resolve) => setTimeout(resolve, 200)); const stop = [];
      for (const name of ["first", "second"]) { stop.push(listen("p", () => {}, () => told.push(name)));
        while (!told.includes(name)) await wait(); }
      await wait(); try { return told; } finally { stop.forEach((one) => one()); Object.assign(globalThis, own); } }"""
    assert page.evaluate(body) == ["first", "second"]


def test_all_tabs_begin_anew_after_the_service_was_restored(page: Any) -> None:
    body = """async () => { const { listen } = await import(`${base}/data/live_events.js`);
      const own = { fetch: globalThis.fetch, EventSource: globalThis.EventSource, setTimeout: globalThis.setTimeout };
      const later = own.setTimeout.bind(globalThis), heard = [], told = []; let last = 4;
      globalThis.setTimeout = (run, time) => later(run, time / 100);
      globalThis.EventSource = class extends EventTarget { constructor() { super();
          later(() => this.dispatchEvent(new Event("error"))); } close() {} };
      globalThis.fetch = async (path) => { const after = Number(/after=(\\d+)/.exec(path)[1]);
        const events = Array.from({ length: Math.max(0, last - after) }, (_, row) => ({ id: after + row + 1,
          kind: "segment" }));
        return new Response(JSON.stringify({ events, last }), { headers: { "Content-Type": "application/json" } }); };
      const until = async (done) => { while (!done()) await new Promise((resolve) => later(resolve, 10)); };
      const times = (name, list) => list.filter(([one]) => one === name).length;
      const stop = ["a", "b"].map((name) => listen("restored", (kind, { id }) => heard.push([name, id]),
        (isFirst) => { if (isFirst) told.push([name]); }));
      try { await until(() => told.length === 2); last = 2; await until(() => told.length === 4); last = 3;
        await until(() => heard.length === 2); return [heard.sort(), times("a", told), times("b", told)]; }
      finally { stop.forEach((one) => one()); Object.assign(globalThis, own); } }"""
    assert page.evaluate(body) == [[["a", 3], ["b", 3]], 2, 2]


def test_listening_for_long_leaves_nothing_behind(page: Any) -> None:
    body = """async () => { const { listen } = await import(`${base}/data/live_events.js`);
      const own = { fetch: globalThis.fetch, EventSource: globalThis.EventSource, setTimeout: globalThis.setTimeout };
      const later = own.setTimeout.bind(globalThis);
      const signals = AbortSignal.prototype, waiting = new Set(); let asked = 0;
      signals.addEventListener = function (kind, run) { waiting.add(run); };
      signals.removeEventListener = function (kind, run) { waiting.delete(run); };
      globalThis.EventSource = class extends EventTarget { constructor() { super();
          later(() => this.dispatchEvent(new Event("error"))); } close() {} };
      globalThis.setTimeout = (run, time) => later(run, time / 1000);
      globalThis.fetch = async () => { asked++; return new Response(JSON.stringify({ events: [], last: 4 }),
        { headers: { "Content-Type": "application/json" } }); };
      Object.defineProperty(navigator, "locks", { value: undefined, configurable: true });
      const stop = listen("p", () => {});
      try { while (asked < 50) await new Promise((resolve) => later(resolve, 10)); return waiting.size; }
      finally { stop(); Object.assign(globalThis, own); delete navigator.locks;
        delete signals.addEventListener; delete signals.removeEventListener; } }"""
    assert page.evaluate(body) <= 2


def test_former_states_that_differ_in_codes_alone_are_not_the_same(page: Any) -> None:
    body = """const code = { kind: "alone", id: "1", at: 0 }, moved = { ...code, at: 1 };
      const row = { target: "ab", state: "confirmed", who: "anna", made: "2026-01-01" };
      const rows = [[], [code], [moved], [moved]].map((target_codes) => ({ ...row, target_codes }));
      const held = new draft.Draft({ mt: "", mt_codes: [], text: "", codes: [], edits: [] },
        { text: "ab", codes: [code] });
      return [past.choices(rows).map((one) => one.target_codes.map(({ at }) => at)),
        rows.map((one) => held.holds(one))];"""
    assert run(page, "core/draft editor/past", body) == [[[1], [0], []], [False, True, False, False]]


def test_a_difference_shows_what_was_put_in_and_what_was_taken_out(page: Any) -> None:
    body = """return [true, false].map((all) => difference.difference("a b c", "a x c", all)
      .map((part) => typeof part === "string" ? part : `${part.type}:${part.props.children}`).join("|"));"""
    assert run(page, "ui/difference", body) == ["a |del:b|ins:x| c", "a |ins:x| c"]


def test_a_line_that_names_the_columns_of_a_glossary_is_no_term(page: Any) -> None:
    body = r"""return ["a\tb\n", "Source\tTarget\na\tb", "target\tcase\tsource\nb\tyes\ta", "source\tforbidden\na\tc",
      "source\ttarget\n\tb", "a\n"].map((text) => { const { head, columns, rows, bad } = glossary_view.readTerms(text);
        return [head !== null, rows.map((row) => [row[columns.term], row[columns.translation] ?? null]), bad]; });"""
    assert run(page, "manage/glossary_view", body) == [
        [False, [["a", "b"]], None],
        [True, [["a", "b"]], None],
        [True, [["a", "b"]], None],
        [True, [["a", None]], None],
        [True, [["", "b"]], 2],
        [False, [["a", None]], 1],
    ]


def test_a_tag_that_a_proxy_changed_is_that_of_the_service(page: Any) -> None:
    tags = ['"ab12"', '"ab12-gzip"', 'W/"ab12-zstd"', ""]
    assert run(page, "data/api", "return input.map(api.plainTag);", tags) == ['"ab12"'] * 3 + [""]


def test_a_place_is_not_gone_while_the_service_is_away(page: Any) -> None:
    body = "return [null, ...[0, 403, 404, 429, 500, 504].map((status) => ({ status }))].map(left_texts.isGone);"
    assert run(page, "ui/left_texts", body) == [False, False, True, True, False, False, False]


def test_a_kept_draft_of_another_tab_stays(page: Any) -> None:
    body = """const [one, other] = [1, 2].map(() => new browser_storage.KeptDraft("anna", "glossary"));
      const drafts = ["a", "b"].map((text) => ({ text, tag: "1" }));
      const written = [one.write(drafts[0]), other.write(drafts[1]), one.write(drafts[0])]; other.forget(drafts[1]);
      other.forget(null); const kept = other.read().text; const isTaken = other.write(drafts[1]);
      one.forget(drafts[0]); const stays = one.read().text; other.forget(drafts[1]);
      return [...written, kept, isTaken, stays, other.read()];"""
    found = run(page, "data/browser_storage", body)
    assert found == [True, False, True, "a", True, "b", None]


def test_a_translation_of_codes_alone_counts_as_none(page: Any) -> None:
    body = """const open = { kind: "open", id: "1", at: 3 }, close = { kind: "close", id: "1", at: 4 };
      const alone = { kind: "alone", id: "1", at: 0 };
      return ["", " ", "x"].map((mt) => { const json = { src: "a b", src_codes: [open, close], mt, mt_codes: [alone] };
        const { hasMt, proposal } = segment.readSegment({ number: 1, proposal: null, proposal_codes: [], ...json });
        return [hasMt, proposal.codes.map(({ kind, at }) => `${kind} ${at}`)]; });"""
    of_source = [False, ["open 0", "close 0"]]
    assert run(page, "data/segment", body) == [of_source, of_source, [True, ["alone 0"]]]


def test_a_rejected_target_is_said_to_be_so_until_it_is_confirmed(page: Any) -> None:
    body = """return [["new", true], ["draft", true], ["confirmed", true], ["new", false], ["new", undefined]].map(
      ([state, rejected]) => { const one = segment.readSegment({ number: 1, mt: "", state, rejected });
        return strings.t.editor.arrived(one, segment.isRejected(one)); });"""
    assert run(page, "data/segment strings", body) == [
        "Segment 1, not seen, rejected by a reviewer",
        "Segment 1, draft, rejected by a reviewer",
        "Segment 1, confirmed",
        *["Segment 1, not seen"] * 2,
    ]


def test_a_proposal_shows_each_code_where_it_is(page: Any) -> None:
    proposal = {
        "text": "a red and blue door",
        "codes": [
            {"id": "1", "kind": "open", "label": "<b>", "at": 2},
            {"id": "2", "kind": "alone", "label": "<br/>", "at": 5},
            {"id": "1", "kind": "close", "label": "</b>", "at": 14},
            {"id": "3", "kind": "alone", "label": "{0}", "at": 19},
        ],
        "edits": [
            {"before": "green", "after": "red and blue", "mt_span": [2, 7], "pe_span": [2, 14], "confidence": 0.9}
        ],
    }
    body = """const { html, render } = await import(`${base}/lib.js`);
      const host = document.createElement("div");
      const editing = { revision: { value: 0 }, isLocked: false, toggle: () => {},
        draft: { proposal: input, status: () => "accepted" } };
      render(html`<${proposal_view.ProposalView} editing=${editing} language="en" />`, host);
      for (const one of host.querySelectorAll(".edit-number, .unseen")) one.remove();
      return [host.querySelector("ins").textContent, host.textContent];"""
    inserted, all_ = run(page, "editor/proposal_view", body, proposal)
    assert inserted == "red<br/> and blue"
    assert all_.replace(" ", "") == "a<b>greenred<br/>andblue</b>door{0}"


def test_an_edit_of_a_sentence_without_spaces_shows_what_changed_within(page: Any) -> None:
    before, after = "请先打开文件，再读它(全部)。", "请先打开文档，再读它（全部）。"
    edit = {"before": before, "after": after, "mt_span": [0, 15], "pe_span": [0, 15], "confidence": 0.9}
    body = """const { html, render } = await import(`${base}/lib.js`);
      const host = document.createElement("div");
      const editing = { revision: { value: 0 }, isLocked: false, toggle: () => {},
        draft: { proposal: { text: input.after, codes: [], edits: [input] }, status: () => "accepted" } };
      render(html`<${proposal_view.ProposalView} editing=${editing} language="zh" />`, host);
      return ["del", "ins"].map((tag) => [...host.querySelectorAll(tag)].map((one) => one.textContent));"""
    assert run(page, "editor/proposal_view", body, edit) == [["文件", "(", ")"], ["文档", "（", "）"]]
    joined = {**edit, "before": "เปิดประเทศ", "after": "เปิด\u200bประเทศ"}
    assert run(page, "editor/proposal_view", body, joined) == [[], ["ZWSP"]]
    spaced = {**edit, "before": "das alte Haus", "after": "das neue Haus"}
    assert run(page, "editor/proposal_view", body, spaced) == [["das alte Haus"], ["das neue Haus"]]


@pytest.mark.slow
def test_the_edits_proposed_are_not_said_to_be_all_the_effort(page: Any) -> None:
    estimate = {"proposals": 4, "changed": 0.75, "confidence": 0.5, "expected_ter": 10.16}
    shown = run(page, "strings", "return strings.t.files.estimateText(input);", estimate)
    assert shown == "75% of segments get a proposal · mean confidence 50% · 10.2 proposed edits per 100 words"
