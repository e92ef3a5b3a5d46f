"""The workbench in a real browser, with a real service; only the editor is a simple one."""

import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import pytest
import word_server

pytest.importorskip("fastapi")
import httpx

from postedit.files.formats import format_of_head
from postedit.serve.example_project import example_xliff

pytestmark = browser.needs_browser()

HERE = Path(__file__).resolve().parent
REAL = HERE.parents[2] / "shared/files/matecat/inglese-con-newlines-e-doctype.po.sdlxliff"
TAUGHT = {"para": "por", "archivo": "fichero", "el": "este", "your": "the", "for": "because", "rojo": "azul"}
"""Words that corrections teach the editor to replace."""

WIDE, SMALL = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


class Service:
    """A service in a process of its own, which can be killed and started again."""

    def __init__(self, data: Path, *people: str) -> None:
        self.people = people
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.data, self.address = data, f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        command = [sys.executable, str(HERE / "word_server.py"), str(self.data), str(self.port), *self.people]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith("http")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def get(self, path: str) -> Any:
        return httpx.get(f"{self.address}{path}", timeout=60).json()

    def post(self, path: str, **options: Any) -> Any:
        return httpx.post(f"{self.address}{path}", timeout=60, **options).json()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    started = Service(tmp_path_factory.mktemp("service"))
    yield started
    started.kill()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser.launched() as launched:
        yield launched


class Watch:
    """What a page must never do: break, ask another host, break its own policy."""

    def __init__(self, page: Any, address: str) -> None:
        self.wrong: list[str] = []
        page.on("pageerror", lambda error: self.wrong.append(f"{error}\n{error.stack}"))
        page.on("console", self._said)
        page.on("request", lambda one: one.url.startswith(address) or self.wrong.append(f"asked {one.url}"))

    def _said(self, message: Any) -> None:
        if "Content Security Policy" in message.text or "TrustedHTML" in message.text:
            self.wrong.append(message.text)


@pytest.fixture
def page(chromium: Any, service: Service) -> Iterator[Any]:
    context = chromium.new_context(viewport=WIDE, accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(60_000)
    watch = Watch(page, service.address)
    yield page
    context.close()
    assert not watch.wrong, "\n".join(watch.wrong)


@pytest.fixture(scope="module")
def project(service: Service) -> dict[str, Any]:
    """Return a project with a file, a glossary and some corrections."""
    made = service.post("/v1/projects", json={"name": "Views", "source_language": "en", "target_language": "de"})
    teach(service, made["id"])
    pairs = [(f"Line {number}: the door is red .", f"Zeile {number} : die Tür ist rojo .") for number in range(1, 61)]
    content = tagged(example_xliff(pairs, ("en", "de")))
    job = service.post(f"/v1/projects/{made['id']}/files", files={"file": ("views.xlf", content.encode())})
    file = job["file"]["id"]
    wait_for_proposals(service, file)
    path = f"/v1/files/{file}/segments/1"
    segment = service.get(path)
    body = {
        "target": segment["proposal"]["text"],
        "codes": segment["proposal_codes"],
        "state": "confirmed",
        "version": 0,
        "edit_id": "1",
        "decisions": [{"edit": 0, "accepted": True}],
        "seconds": 4,
    }
    assert httpx.put(f"{service.address}{path}", json=body).status_code == 200
    return {**made, "file": file}


def tagged(xliff: str) -> str:
    """Return a file with codes: a pair around the word "door" and its translation, and one alone at the end."""
    for word in ("door", "Tür"):
        xliff = xliff.replace(f"{word} ", f'<g id="1">{word}</g> ')
    return xliff.replace(" .</", ' .<x id="2"/></')


def teach(service: Service, project: str) -> None:
    lines = "".join(f"a\t{word}\t{other}\n" for word, other in TAUGHT.items())
    headers = {"Content-Type": "text/tab-separated-values"}
    answer = service.post(f"/v1/projects/{project}/corrections/import", content=lines.encode(), headers=headers)
    assert answer["added"] == len(TAUGHT)


def wait_for_proposals(service: Service, file: str) -> None:
    for _ in range(2400):
        project = service.get(f"/v1/files/{file}")["project"]
        jobs = service.get(f"/v1/projects/{project}/jobs")["jobs"]
        if all(job["state"] == "done" for job in jobs if job["file"] == file):
            return
        browser.time.sleep(0.05)
    raise AssertionError(jobs)


def shoot(page: Any, name: str) -> None:
    """Take a picture, to be looked at, where the variable SCREENSHOTS names a folder."""
    if os.environ.get("SCREENSHOTS"):
        page.screenshot(path=str(Path(os.environ["SCREENSHOTS"]) / f"{name}.png"))


def field_text(page: Any) -> str:
    """Return the text in the field, without its codes."""
    nodes = "[...document.querySelector('.field').childNodes].filter((one) => one.nodeType === 3)"
    return str(page.evaluate(f"{nodes}.map((one) => one.data).join('')"))


def present(page: Any) -> int:
    return int(page.locator(".segment-head h2").inner_text().removeprefix("Segment ").replace(",", ""))


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


@pytest.mark.parametrize("source", ["made", pytest.param("real", marks=pytest.mark.slow)])
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
            assert "Offline" in page.locator(".save-state").inner_text()
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


VIEWS = ["", "project/P", "project/P/progress", "project/P/learnt", "project/P/glossary", "project/P/audit"]
VIEWS += ["project/P/settings", "project/P/file/F/2", "nothing"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.slow
def test_axe_finds_nothing_serious_in_any_view(scheme: str, chromium: Any, service: Service, project: Any) -> None:
    source = browser.axe_source()
    context = chromium.new_context(color_scheme=scheme, viewport=WIDE)
    page = context.new_page()
    found = []
    for view in VIEWS:
        page.goto(f"{service.address}/#/{view.replace('P', project['id']).replace('F', project['file'])}")
        page.wait_for_load_state("networkidle") if "file" not in view else page.locator(".field").wait_for()
        for size in (WIDE, SMALL):
            page.set_viewport_size(size)
            page.wait_for_timeout(100)
            found += [f"{view} {scheme} {size['width']}: {one}" for one in browser.serious_violations(page, source)]
    context.close()
    assert not found, "\n".join(found)


def sign_in(page: Any, address: str, name: str) -> None:
    page.goto(address)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(word_server.PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Projects").wait_for()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Yield a service that people sign in to."""
    started = Service(tmp_path_factory.mktemp("shared"), "anna", "ben")
    yield started
    started.kill()


@pytest.mark.slow
def test_two_people_see_each_other_and_settle_a_conflict(shared: Service, chromium: Any) -> None:
    pages = []
    for name in ("anna", "ben"):
        page = chromium.new_context(viewport=WIDE).new_page()
        page.set_default_timeout(60_000)
        if name == "anna":
            page.goto(shared.address)
            page.get_by_role("button", name="Sign in").wait_for()
            assert not browser.serious_violations(page, browser.axe_source())
        sign_in(page, shared.address, name)
        pages.append(page)
    anna, ben = pages
    file = as_anna(anna)
    assert not browser.serious_violations(anna, browser.axe_source())
    for page in pages:
        page.goto(f"{shared.address}/#/{file}/2")
        page.locator(".field").wait_for()
        page.keyboard.press("F2")
    anna.locator(".badge.person", has_text="ben").wait_for()

    ben.keyboard.press("Alt+ArrowDown")
    ben.get_by_role("heading", name="Segment 3").wait_for()
    anna.keyboard.press("Control+End")
    anna.keyboard.type(" of anna")
    ben.locator(".row", has_text="of anna").wait_for()

    ben.context.set_offline(True)
    ben.keyboard.type("ben ")
    ben.locator(".save-state", has_text="Offline: 1 change").wait_for()
    anna.keyboard.press("Alt+ArrowDown")
    anna.get_by_role("heading", name="Segment 3").wait_for()
    anna.keyboard.press("F2")
    anna.keyboard.type("anna ")
    anna.locator(".save-state", has_text="Saved").wait_for()
    anna.wait_for_timeout(1200)
    ben.context.set_offline(False)
    conflict = ben.get_by_role("alert", name="Another person saved")
    conflict.wait_for()
    assert "anna" in conflict.inner_text()
    assert "ben" in conflict.inner_text()
    assert not browser.serious_violations(ben, browser.axe_source())
    shoot(ben, "conflict")
    ben.get_by_role("button", name="Take theirs").click()
    assert "anna" in field_text(ben)
    ben.keyboard.press("F2")
    ben.keyboard.press("Control+z")
    assert "ben" in field_text(ben), "the text that was given up is a step back"
    ben.locator(".save-state", has_text="Saved").wait_for()
    anna.locator(".row[aria-selected=true]", has_text="ben").wait_for()
    ben.close()
    anna.locator(".badge.person").wait_for(state="detached")
    for page in pages:
        page.context.close()


@pytest.mark.slow
def test_reader_sees_a_file_and_sends_nothing(shared: Service, chromium: Any) -> None:
    anna, ben = (chromium.new_context(viewport=WIDE).new_page() for _ in range(2))
    sign_in(anna, shared.address, "anna")
    file = as_anna(anna, "reader")
    sign_in(ben, shared.address, "ben")
    sent: list[str] = []
    ben.on("request", lambda one: sent.append(one.url) if one.method != "GET" else None)
    ben.on("pageerror", lambda error: sent.append(str(error)))
    ben.goto(f"{shared.address}/#/{file}/2")
    ben.get_by_text("You may read this project").wait_for()
    shoot(ben, "reader")
    ben.keyboard.press("Alt+ArrowDown")
    ben.get_by_role("heading", name="Segment 3").wait_for()
    ben.keyboard.press("F2")
    ben.keyboard.type("x")
    ben.keyboard.press("Control+Enter")
    ben.get_by_role("heading", name="Segment 4").wait_for()
    ben.goto(f"{shared.address}/#/{file.split('/file/')[0]}")
    ben.get_by_role("link", name="Open").wait_for()
    assert ben.locator(".drop").count() == 0
    assert not sent
    for page in (anna, ben):
        page.context.close()


def as_anna(page: Any, role: str = "translator") -> str:
    """Make a project with a file and ben as its translator or reader; return the address of the file."""
    pairs = [[f"Line {row} .", f"Zeile {row} ."] for row in range(20)]
    content = example_xliff(((src, mt) for src, mt in pairs), ("en", "de"))
    script = """async ([content, role]) => {
      const { csrf } = await (await fetch("/v1/session")).json();
      const ask = async (method, path, body) => (await fetch(path, { method, headers: { "X-CSRF-Token": csrf,
        ...(body instanceof FormData ? {} : { "Content-Type": "application/json" }) },
        body: body instanceof FormData ? body : JSON.stringify(body) }));
      const project = await (await ask("POST", "/v1/projects",
        { name: "Shared", source_language: "en", target_language: "de" })).json();
      const form = new FormData();
      form.append("file", new Blob([content]), "shared.xlf");
      const { file } = await (await ask("POST", `/v1/projects/${project.id}/files`, form)).json();
      const { users } = await (await fetch("/v1/users")).json();
      const ben = users.find((one) => one.name === "ben");
      await ask("PUT", `/v1/projects/${project.id}/members/${ben.id}`, { role });
      const state = async () => (await (await fetch(`/v1/files/${file.id}`)).json()).state;
      while (await state() !== "ready") await new Promise((done) => setTimeout(done, 50));
      return `project/${project.id}/file/${file.id}`; }"""
    made = str(page.evaluate(script, [content, role]))
    page.goto(page.url.split("#")[0] + "#/people")
    page.get_by_role("heading", name="Keys for programs").wait_for()
    return made


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


def project_of(service: Service, name: str, pairs: list[tuple[str, str]], languages: tuple[str, str]) -> str:
    """Make a project with a file that has codes; return the address of the file."""
    source, target = languages
    made = service.post("/v1/projects", json={"name": name, "source_language": source, "target_language": target})
    content = tagged(example_xliff(iter(pairs), languages)).encode()
    job = service.post(f"/v1/projects/{made['id']}/files", files={"file": (f"{name}.xlf", content)})
    wait_for_proposals(service, job["file"]["id"])
    return f"project/{made['id']}/file/{job['file']['id']}"


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
    target = service.get(f"/v1/files/{job['file']['id']}/segments/1")
    assert target["target"].endswith("!")
    assert [code["kind"] for code in target["target_codes"]] == ["open", "close"]


@pytest.mark.slow
def test_dialogs_and_help_are_accessible_and_give_the_focus_back(service: Service, project: Any, page: Any) -> None:
    source = browser.axe_source()
    address = f"{service.address}/#/project/{project['id']}"
    page.goto(address)
    opener = page.get_by_role("button", name="Delete: views.xlf")
    opener.click()
    assert not browser.serious_violations(page, source)
    page.get_by_role("button", name="Close").click()
    assert opener.evaluate("el => el === document.activeElement")
    page.goto(f"{service.address}/#/")
    page.get_by_role("button", name="New project").click()
    page.get_by_label("Name").wait_for()
    assert not browser.serious_violations(page, source)
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.textContent") == "New project"
    page.goto(f"{address}/file/{project['file']}/1")
    page.locator(".field").wait_for()
    page.keyboard.press("F2")
    for keys, heading in (("Control+/", "Keys"), ("Alt+h", "History of segment 1"), ("Alt+g", "Go to segment")):
        page.keyboard.press(keys)
        page.get_by_role("heading", name=heading).wait_for()
        page.wait_for_timeout(150)
        assert not browser.serious_violations(page, source), heading
        page.get_by_role("button", name="Close").click()
        page.locator("dialog").wait_for(state="detached")
        page.locator(".field:focus").wait_for()


@pytest.mark.slow
def test_many_tabs_of_one_browser_share_a_stream(service: Service, chromium: Any) -> None:
    """A browser has six connections to a host: with a stream each, the seventh tab would wait for ever."""
    file = project_of(service, "Tabs", [(f"Row {row}", f"Zeile {row}") for row in range(9)], ("en", "de"))
    context = chromium.new_context(viewport=WIDE)
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
            page.keyboard.type(word)
        page.locator(".save-state", has_text="Saved").wait_for()
        texts.append(field_text(page))
        page.wait_for_timeout(2100)  # what is written in one go is one state
        page.reload()
        page.locator(".field").wait_for()
    page.keyboard.press("F2")
    for text in reversed(texts[:-1]):
        page.keyboard.press("Control+z")
        for _ in range(100):
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


@pytest.mark.slow
def test_the_model_that_comes_with_postedit_proposes_and_is_corrected(chromium: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "postedit", "demo", "--serve", "--port", "0", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = next(line for line in process.stdout if "The example is at " in line).split()[4]
            page = chromium.new_context(viewport=WIDE).new_page()
            page.set_default_timeout(60_000)
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
