"""The workbench in a real browser, with a real service; only the editor is a simple one."""

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import browser
import pytest
from workbench_service import (
    HERE,
    WIDE,
    Service,
    Watch,
    field_text,
    new_context,
    present,
    project_of,
    shoot,
    teach,
    wait_for_proposals,
)

from postedit.files.formats import format_of_head
from postedit.serve.example_project import example_xliff

pytestmark = browser.needs_browser()

REAL = HERE.parents[2] / "shared/files/matecat/inglese-con-newlines-e-doctype.po.sdlxliff"


def correct_by_keyboard(page: Any, way: int) -> tuple[int, str]:
    """Correct the segment in hand, one of several ways, and confirm it; return its number and the target."""
    number = present(page)
    keys = page.keyboard
    if way == 0:
        keys.press("Control+End")
        keys.type(" ¡bien!")
    elif way == 1:
        keys.press("Alt+Digit1")
    elif way == 2:
        keys.press("Alt+Digit1")
        keys.press("Alt+Digit1")
        keys.press("Alt+Digit2")
    else:
        keys.press("Control+a")
        keys.type(f"Nuevo {number}")
        keys.press("Control+z")
        keys.press("Control+z")
        keys.press("Control+Shift+z")
        keys.press("Control+Shift+z")
        keys.press("Alt+r")
    target = field_text(page)
    if not target.strip():
        keys.type("Texto")
        target = field_text(page)
    keys.press("Control+Enter")
    page.locator(f".segment-head h2:not(:text-is('Segment {number:,}'))").wait_for()
    return number, target


@pytest.mark.slow
@pytest.mark.parametrize("source", ["made", "real"])
def test_twenty_segments_by_keyboard_with_a_kill_between(
    source: str, service: Service, page: Any, tmp_path: Path
) -> None:
    if source == "real" and not REAL.exists():
        pytest.skip("needs the shared translation files")
    upload = tmp_path / ("work.sdlxliff" if source == "real" else "work.xlf")
    rows = range(40)
    pairs = [(f"The file {row} is for the red {row} .", f"el archivo {row} es para rojo {row} .") for row in rows]
    upload.write_bytes(REAL.read_bytes() if source == "real" else example_xliff(pairs, ("en", "es")).encode())

    page.goto(service.address)
    page.get_by_role("button", name="New project").click()
    page.get_by_label("Name").fill(f"Story {source}")
    page.get_by_label("Source language").fill("it" if source == "real" else "en")
    page.get_by_label("Target language").fill("en" if source == "real" else "es")
    page.get_by_role("button", name="Create project").click()
    page.get_by_role("heading", name=f"Story {source}").wait_for()
    teach(service, page.url.rsplit("/", 1)[1])
    page.locator("#upload").set_input_files(upload)
    page.locator("a.primary", has_text="Open").wait_for()
    [file] = service.get(f"/v1/projects/{page.url.rsplit('/', 1)[1]}/files")["files"]
    wait_for_proposals(service, file["id"])
    page.locator("a.primary", has_text="Open").press("Enter")
    page.locator(".field").wait_for()
    page.keyboard.press("F2")

    done: dict[int, str] = {}
    for row in range(20):
        if row == 9:
            service.kill()
        if row == 13:
            page.locator(".save-state", has_text="Offline").wait_for()
            service.start()
        number, target = correct_by_keyboard(page, row % 4)
        done[number] = target
    assert len(done) == 20
    page.locator(".save-state", has_text="Saved").wait_for()
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('postedit.unsaved'))") == []

    saved = {number: service.get(f"/v1/files/{file['id']}/segments/{number}") for number in done}
    assert {number: one["target"] for number, one in saved.items()} == done
    assert {one["state"] for one in saved.values()} == {"confirmed"}
    decisions = Counter(one["accepted"] for segment in saved.values() for one in segment["decisions"])
    assert decisions[True] > 0
    assert decisions[False] > 0

    page.goto(f"{service.address}/#/project/{file['project']}")
    with page.expect_download() as download:
        page.get_by_role("link", name=f"Download: {upload.name}", exact=True).press("Enter")
    exported = Path(download.value.path()).read_bytes()
    check_export(upload.read_bytes(), exported, done)


def units(content: bytes, folder: Path) -> list[Any]:
    path = folder / "units.sdlxliff"
    path.write_bytes(content)
    with path.open("rb") as stream:
        form = format_of_head(stream.read(2**16), path)
        stream.seek(0)
        return list(form.units(stream, path))


def check_export(original: bytes, exported: bytes, done: dict[int, str]) -> None:
    """Check that a file has every decision, with all codes, and nothing else has changed."""
    from lxml import etree

    etree.fromstring(exported)
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        before, after = units(original, Path(folder)), units(exported, Path(folder))
    assert len(before) == len(after)
    for number, (old, new) in enumerate(zip(before, after, strict=True), 1):
        assert old.source == new.source
        if number not in done:
            assert old.target == new.target
            continue
        assert new.target.text == done[number]
        base = old.target if old.target is not None and old.target.text.strip() else old.source
        assert Counter(code.key for _, code in new.target.codes) == Counter(code.key for _, code in base.codes)


@pytest.mark.slow
def test_what_is_learnt_shows_in_segments_not_yet_seen(service: Service, project: dict[str, Any], page: Any) -> None:
    page.goto(f"{service.address}/#/project/{project['id']}/file/{project['file']}/5")
    page.locator(".field").wait_for()
    page.keyboard.press("F2")
    before = page.locator(".row", has_text="Zeile 9").inner_text()
    page.keyboard.press("Control+a")
    page.keyboard.type("Zeile 5 : die Tür ist grün .")
    assert field_text(page) == "Zeile 5 : die Tür ist grün ."
    page.keyboard.press("Control+Enter")
    row = page.locator(".row", has_text="Zeile 9")
    row.locator(".mark", has_text="learnt").wait_for()
    assert "grün" in row.inner_text()
    assert "grün" not in before
    page.get_by_role("heading", name="Segment 6").wait_for()
    assert "grün" in field_text(page)


ARABIC = [("The door is red .", "الباب أحمر para ."), ("The file is new .", "الملف جديد هنا .")]
JAPANESE = [
    ("The door is red .", "ドア は 赤い para です ."),
    ("The file is new .", "新しい ファイル は ここ に あります ."),
]


@pytest.mark.parametrize(("language", "pairs", "direction"), [("ar", ARABIC, "rtl"), ("ja", JAPANESE, "ltr")])
@pytest.mark.slow
def test_directions_and_languages_of_texts(
    language: str, pairs: list[tuple[str, str]], direction: str, service: Service, page: Any
) -> None:
    made = service.post("/v1/projects", json={"name": language, "source_language": "en", "target_language": language})
    teach(service, made["id"])
    content = example_xliff(iter(pairs), ("en", language))
    for word in ("door", "الباب", "ドア"):
        content = content.replace(f"{word} ", f'<g id="1">{word}</g> ')
    job = service.post(f"/v1/projects/{made['id']}/files", files={"file": ("a.xlf", content.encode())})
    wait_for_proposals(service, job["file"]["id"])
    page.goto(f"{service.address}/#/project/{made['id']}/file/{job['file']['id']}/1")
    page.locator(".field").wait_for()
    sides = [(".source", "en", "ltr")]
    sides += [(one, language, direction) for one in (".field", ".text.proposal", ".text.mt")]
    for selector, spoken, side in sides:
        assert page.locator(selector).get_attribute("lang") == spoken
        assert page.locator(selector).evaluate("el => getComputedStyle(el).direction") == side, selector
    shoot(page, f"direction-{language}")
    page.keyboard.press("F2")
    page.keyboard.press("Control+End")
    page.keyboard.type("!")
    page.keyboard.press("Control+Enter")
    page.get_by_role("heading", name="Segment 2").wait_for()
    page.locator(".save-state", has_text="Saved").wait_for()  # the next segment is shown before the answer
    target = service.get(f"/v1/files/{job['file']['id']}/segments/1")
    assert target["target"].endswith("!")
    assert [code["kind"] for code in target["target_codes"]] == ["open", "close"]


@pytest.mark.slow
def test_many_tabs_of_one_browser_share_a_stream(service: Service, chromium: Any) -> None:
    """A browser has six connections to a host: with a stream each, the seventh tab would wait for ever."""
    file = project_of(service, "Tabs", [(f"Row {row}", f"Zeile {row}") for row in range(9)], ("en", "de"))
    context = new_context(chromium, viewport=WIDE)
    streams: list[Any] = []
    context.on("request", lambda one: streams.append(one.frame.page) if "/events?" in one.url else None)
    pages = []
    for _ in range(8):
        page = context.new_page()
        page.goto(f"{service.address}/#/{file}/2")
        page.locator(".field").wait_for()
        pages.append(page)
    for writer, word in ((0, "first"), (1, "second")):
        pages[writer].bring_to_front()
        pages[writer].keyboard.press("F2")
        pages[writer].keyboard.type(f"{word} ")
        pages[-1].locator(".row", has_text=word).wait_for()
        assert len(streams) == writer + 1
        streams[writer].close()
        while len(streams) == writer + 1:
            pages[-1].wait_for_timeout(20)
    context.close()


@pytest.mark.slow
def test_undo_and_history_outlive_the_page(service: Service, page: Any) -> None:
    file = project_of(service, "Past", [("the door", "die Tür"), ("the door", "die Tür")], ("en", "de"))
    page.goto(f"{service.address}/#/{file}/1")
    page.locator(".field").wait_for()
    texts = [field_text(page)]
    for word in ("one ", "two "):
        page.keyboard.press("F2")
        page.keyboard.press("Control+Home")
        with page.expect_response("**/segments/1"):
            page.keyboard.insert_text(word)  # letter by letter, a slow machine saves it in pieces
        page.locator(".save-state", has_text="Saved").wait_for()
        texts.append(field_text(page))
        page.wait_for_timeout(2100)  # what is written in one go is one state
        page.reload()
        page.locator(".field").wait_for()
    page.keyboard.press("F2")
    for text in reversed(texts[:-1]):
        page.keyboard.press("Control+z")
        for _ in range(1200):
            if field_text(page) == text:
                break
            page.wait_for_timeout(50)
        assert field_text(page) == text
    page.locator(".save-state", has_text="Saved").wait_for()
    page.keyboard.press("Alt+h")
    page.get_by_role("heading", name="History of segment 1").wait_for()
    page.locator(".past li").nth(1).wait_for()
    page.locator(".past button:focus").wait_for()
    page.keyboard.press("Enter")
    page.locator("dialog").wait_for(state="detached")
    page.locator(".field:focus").wait_for()
    assert field_text(page) in texts[1:]
    page.keyboard.press("Control+z")
    assert field_text(page) == texts[0]
    page.keyboard.press("Control+Enter")
    page.locator(".row .mark.filled").wait_for()


@pytest.mark.slow
def test_jump_in_a_long_list_makes_few_rows(service: Service, page: Any) -> None:
    made = service.post("/v1/projects", json={"name": "Long", "source_language": "en", "target_language": "de"})
    content = example_xliff(((f"Row {row}", f"Zeile {row}") for row in range(3000)), ("en", "de"))
    file = service.post(f"/v1/projects/{made['id']}/files", files={"file": ("long.xlf", content.encode())})["file"][
        "id"
    ]
    while service.get(f"/v1/files/{file}")["state"] != "ready":
        page.wait_for_timeout(50)
    page.goto(f"{service.address}/#/project/{made['id']}/file/{file}/1")
    for number in (2990, 1500, 3):
        page.locator(".field").wait_for()
        page.keyboard.press("Alt+g")
        page.get_by_label("Number").fill(str(number))
        page.keyboard.press("Enter")
        page.get_by_role("heading", name=f"Segment {number:,}").wait_for()
        page.locator(".row[aria-selected=true]", has_text=f"Row {number - 1}").wait_for()
        assert page.locator(".row").count() < 60
    page.locator("#search").fill("row 1500")
    page.locator("#search").press("Enter")
    page.locator(".row", has_text="Row 1500").click()
    page.get_by_role("heading", name="Segment 1,501").wait_for()
    page.locator(".context", has_text="Row 1502").wait_for()
    assert page.locator(".row").count() == 1
    page.evaluate("document.documentElement.style.fontSize = '24px'")
    page.locator("#search").fill("row 150")
    page.locator("#search").press("Enter")
    page.locator(".row", has_text="Row 1505").wait_for()
    assert page.locator(".row").first.bounding_box()["height"] == 1.5 * 68
    assert page.locator(".context p").all_inner_texts()[::2] == [f"Row {row}" for row in (1498, 1499, 1501, 1502)]


@pytest.mark.slow
def test_the_model_that_comes_with_postedit_proposes_and_is_corrected(chromium: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "postedit", "demo", "--serve", "--port", "0", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = next(line for line in process.stdout if "The example is at " in line).split()[4]
            page = new_context(chromium, viewport=WIDE).new_page()
            watch = Watch(page, address.partition("#")[0])
            page.goto(address)
            page.locator('a[href*="/file/"]').first.click()
            confirmed = []
            while len(confirmed) < 3:
                number = present(page)
                page.locator(".field:focus").wait_for()
                confirmed.append(field_text(page))
                assert confirmed[-1], "the proposal is in the field"
                page.keyboard.press("Control+Enter")
                page.locator(".segment-head h2", has_text=f"Segment {number + 1}").wait_for()
            page.goto(f"{address}/learnt")
            page.get_by_role("button", name="Undo").nth(2).wait_for()
            assert page.get_by_role("button", name="Undo").count() == len(confirmed)
            assert page.get_by_text("Rowboats").count() == 1, "the source of the first segment"
            assert not watch.wrong, "\n".join(watch.wrong)
        finally:
            process.send_signal(signal.SIGTERM)
