"""The workbench in a real browser, with a real service; only the editor is a simple one."""

import json
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

pytest.importorskip("fastapi")
import httpx  # noqa: E402

from postedit.files.formats import format_of_head  # noqa: E402
from postedit.serve.example_project import example_xliff  # noqa: E402

pytestmark = browser.needs_browser()

HERE = Path(__file__).resolve().parent
REAL = HERE.parents[2] / "shared/files/matecat/inglese-con-newlines-e-doctype.po.sdlxliff"
TAUGHT = {"para": "por", "archivo": "fichero", "el": "este", "your": "the", "for": "because", "rojo": "azul"}
"""Words that corrections teach the editor to replace."""

WIDE, SMALL = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


class Service:
    """A service in a process of its own, which can be killed and started again."""

    def __init__(self, data: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.data, self.address = data, f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        command = [sys.executable, str(HERE / "word_server.py"), str(self.data), str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith("http")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def get(self, path: str) -> Any:
        return httpx.get(f"{self.address}{path}", timeout=30).json()

    def post(self, path: str, **options: Any) -> Any:
        return httpx.post(f"{self.address}{path}", timeout=30, **options).json()


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
    page.set_default_timeout(20_000)
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
    for _ in range(400):
        project = service.get(f"/v1/files/{file}")["project"]
        jobs = service.get(f"/v1/projects/{project}/jobs")["jobs"]
        if all(job["state"] == "done" for job in jobs if job["file"] == file):
            return
        browser.time.sleep(0.05)
    raise AssertionError(jobs)


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
