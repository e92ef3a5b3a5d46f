"""The workbench with screen readers, and with the colours that people force on pages."""

from typing import Any

import browser
import pytest
from serve_tools import xliff
from workbench_service import SMALL, WIDE, Service, new_context, wait_for_proposals, wait_until_loaded

pytestmark = browser.needs_browser()

SPOKEN = """() => {
  globalThis.spoken = [];
  const isLive = (one) => one.closest("[aria-live], [role=status], [role=alert], output");
  new MutationObserver((changes) => changes.forEach(({ target, addedNodes }) => {
    const nodes = addedNodes.length ? [...addedNodes] : [target];
    for (const node of nodes) {
      const place = isLive(node.nodeType === Node.TEXT_NODE ? node.parentElement : node);
      const told = [...(place?.childNodes ?? [])].filter((one) => one.ariaHidden !== "true");
      const text = told.map((one) => one.textContent).join("");
      if (text && text !== globalThis.spoken.at(-1)) globalThis.spoken.push(text);
    }
  })).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""
"""Notes all that screen readers are told in live regions."""


OVERFULL = """() => [...document.querySelectorAll("html, main, .card, .beside section, .dialog-head, .dialog-body")]
  .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.outerHTML.slice(0, 120))"""
"""Returns the parts of a page that are wider than the room they have."""


def file_of(service: Service, name: str, content: bytes, glossary: str = "") -> str:
    """Make a project with a file; return the address of the file."""
    made = service.post("/v1/projects", json={"name": name, "source_language": "en", "target_language": "de"})
    if glossary:
        service.put(f"/v1/projects/{made['id']}/glossary", content=glossary.encode())
    job = service.post(f"/v1/projects/{made['id']}/files", files={"file": (f"{name}.xlf", content)})
    wait_for_proposals(service, job["file"]["id"])
    return f"{service.address}/#/project/{made['id']}/file/{job['file']['id']}"


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_hide_no_word_and_no_state(scheme: str, chromium: Any, service: Service) -> None:
    content = xliff(("the red door", "die rote Tür"), ("a tree", "ein Baum"))
    file = file_of(service, f"Forced {scheme}", content, "door\tTür\n")
    context = new_context(chromium, color_scheme=scheme, forced_colors="active", viewport=WIDE)
    page = context.new_page()
    page.goto(f"{file}/1")
    page.locator(".row", has_text="a tree").wait_for()
    style = "(one, name) => getComputedStyle(one)[name]"
    assert page.locator("mark.term").evaluate(style, "color") == page.locator(".source").evaluate(style, "color")
    assert page.locator(".row[aria-selected=true]").evaluate(style, "outlineStyle") == "solid"
    assert page.locator(".row[aria-selected=false]").evaluate(style, "outlineStyle") == "none"
    page.goto(file.partition("/file/")[0])
    page.locator(".tabs a[aria-current]").wait_for()
    edge = "(all) => all.map((one) => getComputedStyle(one).borderBottomColor)"
    [present], others = (
        page.locator(".tabs a[aria-current]").evaluate_all(edge),
        page.locator(".tabs a").evaluate_all(edge),
    )
    assert others.count(present) == 1
    context.close()


@pytest.mark.slow
def test_a_target_that_is_too_long_is_told_once(service: Service, page: Any) -> None:
    content = xliff(("a tree", "ein Baum")).replace(
        b'<trans-unit id="1"', b'<trans-unit id="1" maxwidth="10" size-unit="char"'
    )
    page.goto(f"{file_of(service, 'Long', content)}/1")
    page.locator(".length", has_text="8 of 10 characters").wait_for()
    page.keyboard.press("F2")
    page.keyboard.press("Control+End")
    page.evaluate(SPOKEN)
    for letter in "abcdef":
        page.keyboard.type(letter)
        page.wait_for_timeout(100)
    page.get_by_text("14 of 10 characters · 4 too long").wait_for()
    page.wait_for_timeout(1500)  # messages are told one after the other
    assert [one for one in page.evaluate("spoken") if "too long" in one] == ["11 of 10 characters · 1 too long"]


@pytest.mark.slow
def test_an_upload_is_told_once_and_not_at_each_step(service: Service, page: Any) -> None:
    made = service.post("/v1/projects", json={"name": "Upload", "source_language": "en", "target_language": "de"})
    content = xliff(*[(f"Row {row} of the table", f"Zeile {row} der Tabelle") for row in range(2000)])
    page.goto(f"{service.address}/#/project/{made['id']}")
    page.get_by_text("No files yet").wait_for()
    line = page.context.new_cdp_session(page)
    line.send("Network.enable")
    speed = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": len(content) / 3}
    line.send("Network.emulateNetworkConditions", speed)
    page.evaluate(SPOKEN)
    page.locator("#upload").set_input_files({"name": "long.xlf", "mimeType": "text/xml", "buffer": content})
    page.get_by_role("img", name="Uploading, ").wait_for()
    page.get_by_role("link", name="Open: long.xlf").wait_for()
    assert not [one for one in page.evaluate("spoken") if "%" in one]
    assert sum("Uploading" in one for one in page.evaluate("spoken")) == 1


@pytest.mark.slow
def test_a_term_that_occurs_twice_is_listed_once(service: Service, page: Any) -> None:
    file = file_of(service, "Terms", xliff(("a door and a door", "eine Tür")), "door\tTür\n")
    page.goto(f"{file}/1")
    page.locator("mark.term").nth(1).wait_for()
    assert page.locator(".terms dt").all_inner_texts() == ["door"]


@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, WIDE])
def test_words_without_end_are_broken_to_fit(size: dict[str, int], chromium: Any, service: Service) -> None:
    word = "W" * 150
    file = file_of(service, word, xliff((f"a {word}", f"die {word}")), f"{word}\t{word}\n")
    project = file.split("/")[5]
    learnt = {"src": word, "mt": f"x {word}", "pe": f"y {word}", "author": word, "file": word, "unit": word}
    service.post("/v1/learn", json={**learnt, "project": project})
    context = new_context(chromium, viewport=size)
    page = context.new_page()
    for view in ("", f"project/{project}", f"project/{project}/learnt", f"project/{project}/glossary"):
        page.goto(f"{service.address}/#/{view}")
        page.reload()
        page.get_by_role("heading").first.wait_for()
        wait_until_loaded(page)
        assert page.evaluate(OVERFULL) == [], view
    page.goto(f"{service.address}/#/project/{project}")
    page.get_by_role("button", name="Delete").click()
    page.locator("dialog").wait_for()
    assert page.evaluate(OVERFULL) == []
    page.goto(f"{file}/1")
    page.locator(".terms dt").wait_for()
    assert page.evaluate(OVERFULL) == []
    context.close()
