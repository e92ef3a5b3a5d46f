"""What tests of the workbench share: a real service in a process of its own, a browser, and what pages must not do."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import httpx
import pytest
from free_ports import free_port

from postedit.serve.example_project import example_xliff

HERE = Path(__file__).resolve().parent
TAUGHT = {"para": "por", "archivo": "fichero", "el": "este", "your": "the", "for": "because", "rojo": "azul"}
"""Words that corrections teach the editor to replace."""

WIDE, SMALL = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


class Service:
    """A service in a process of its own, which can be killed and started again."""

    def __init__(self, data: Path, *people: str) -> None:
        self.people = people
        self.port = free_port()
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
        return httpx.get(f"{self.address}{path}", timeout=300).json()

    def post(self, path: str, **options: Any) -> Any:
        return httpx.post(f"{self.address}{path}", timeout=300, **options).json()

    def put(self, path: str, **options: Any) -> Any:
        return httpx.put(f"{self.address}{path}", timeout=300, **options).raise_for_status().json()


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


def new_context(chromium: Any, **options: Any) -> Any:
    """Return a context of a browser whose pages wait long enough for a busy machine, and do not move."""
    context = chromium.new_context(reduced_motion="reduce", **options)  # half of a transition has half of a contrast
    context.set_default_timeout(180_000)
    return context


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
    for _ in range(12_000):
        project = service.get(f"/v1/files/{file}")["project"]
        jobs = service.get(f"/v1/projects/{project}/jobs")["jobs"]
        if all(job["state"] == "done" for job in jobs if job["file"] == file):
            return
        time.sleep(0.05)
    raise AssertionError(jobs)


def project_of(service: Service, name: str, pairs: list[tuple[str, str]], languages: tuple[str, str]) -> str:
    """Make a project with a file that has codes; return the address of the file."""
    source, target = languages
    made = service.post("/v1/projects", json={"name": name, "source_language": source, "target_language": target})
    content = tagged(example_xliff(iter(pairs), languages)).encode()
    job = service.post(f"/v1/projects/{made['id']}/files", files={"file": (f"{name}.xlf", content)})
    wait_for_proposals(service, job["file"]["id"])
    return f"project/{made['id']}/file/{job['file']['id']}"


def shoot(page: Any, name: str) -> None:
    """Take a picture, to be looked at, where the variable SCREENSHOTS names a folder."""
    if os.environ.get("SCREENSHOTS"):
        page.screenshot(path=str(Path(os.environ["SCREENSHOTS"]) / f"{name}.png"), full_page=True)


def wait_until_loaded(page: Any) -> None:
    """Wait until a view says nowhere that it is loading; one part may begin when another is there."""
    for _ in range(2):
        page.get_by_text("Loading …").first.wait_for(state="detached")
        page.wait_for_timeout(200)


def field_text(page: Any) -> str:
    """Return the text in the field, without its codes."""
    nodes = "[...document.querySelector('.field').childNodes].filter((one) => one.nodeType === 3)"
    return str(page.evaluate(f"{nodes}.map((one) => one.data).join('')"))


def present(page: Any) -> int:
    return int(page.locator(".segment-head h2").inner_text().removeprefix("Segment ").replace(",", ""))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    started = Service(tmp_path_factory.mktemp("service"))
    yield started
    started.kill()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser.launched() as launched:
        yield launched


@pytest.fixture
def page(chromium: Any, service: Service) -> Iterator[Any]:
    context = new_context(chromium, viewport=WIDE, accept_downloads=True)
    page = context.new_page()
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
