"""What managers and administrators do in the workbench, where it can fail: refusals, other people, lost sessions."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import httpx
import pytest
import word_server
from workbench_service import WIDE, Service, Watch, new_context

from postedit.serve.example_project import example_xliff

pytestmark = browser.needs_browser()


class Person:
    """A person who has signed in: requests in their name, and pages."""

    def __init__(self, shared: Service, chromium: Any, name: str) -> None:
        self.service, self.name = shared, name
        self.api = httpx.Client(base_url=shared.address, timeout=60)
        self.sign_in(self.api)
        self.context = new_context(chromium, viewport=WIDE)
        self.watches: list[Watch] = []

    def sign_in(self, client: httpx.Client) -> None:
        given = {"name": self.name, "password": word_server.PASSWORD}
        client.headers["X-CSRF-Token"] = client.post("/v1/session", json=given).raise_for_status().json()["csrf"]

    def page(self, view: str = "") -> Any:
        """Return a page of the workbench, signed in."""
        cookies = [{"name": one.name, "value": one.value, "url": self.service.address} for one in self.api.cookies.jar]
        self.context.add_cookies(cookies)
        page = self.context.new_page()
        self.watches.append(Watch(page, self.service.address))
        page.goto(f"{self.service.address}/#/{view}")
        return page

    def ask(self, method: str, path: str, **options: Any) -> Any:
        answer = self.api.request(method, path, **options).raise_for_status()
        return answer.json() if answer.text[:1] in ("{", "[") else answer.text

    def close(self) -> None:
        self.context.close()
        self.api.close()
        assert not [one for watch in self.watches for one in watch.wrong]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Yield a service that people sign in to."""
    started = Service(tmp_path_factory.mktemp("shared"), "anna", "ben", "eva")
    yield started
    started.kill()


@pytest.fixture
def anna(shared: Service, chromium: Any) -> Iterator[Person]:
    """Yield the administrator."""
    person = Person(shared, chromium, "anna")
    yield person
    person.close()


@pytest.fixture
def ben(shared: Service, chromium: Any) -> Iterator[Person]:
    """Yield somebody who may do what a role in a project allows."""
    person = Person(shared, chromium, "ben")
    yield person
    person.close()


def new_project(anna: Person, **roles: str) -> str:
    """Make a project in which some people have roles; return its id."""
    made = anna.ask("POST", "/v1/projects", json={"name": "Work", "source_language": "en", "target_language": "de"})
    users = {one["name"]: one["id"] for one in anna.ask("GET", "/v1/users")["users"]}
    for name, role in roles.items():
        anna.ask("PUT", f"/v1/projects/{made['id']}/members/{users[name]}", json={"role": role})
    return str(made["id"])


def new_file(anna: Person, project: str) -> str:
    """Add a file to a project, wait for its proposals, and return its id."""
    content = example_xliff(((f"Row {row} .", f"Zeile {row} .") for row in range(4)), ("en", "de")).encode()
    file = anna.ask("POST", f"/v1/projects/{project}/files", files={"file": ("work.xlf", content)})["file"]["id"]
    for _ in range(2400):
        jobs = anna.ask("GET", f"/v1/projects/{project}/jobs")["jobs"]
        if all(job["state"] == "done" for job in jobs):
            return str(file)
        time.sleep(0.05)
    raise AssertionError(jobs)


def test_import_sends_a_file_as_it_is_and_says_what_was_added(anna: Person, tmp_path: Path) -> None:
    project = new_project(anna)
    page = anna.page(f"project/{project}/learnt")
    page.get_by_text("Nothing has been learnt yet").wait_for()
    latin, lines = tmp_path / "latin.tsv", tmp_path / "lines.jsonl"
    latin.write_bytes("a\tT\xfcr\tT\xfcren\n".encode("latin-1"))
    page.locator("#import").set_input_files(latin)
    page.locator(".toast.bad", has_text="not UTF-8").wait_for()
    assert anna.ask("GET", f"/v1/projects/{project}/corrections")["corrections"] == []
    made = '"made": "2026-01-01T00:00:00Z"'
    lines.write_text(f'{{"src": "a", "mt": "b", "pe": "c", {made}}}\n', encoding="utf-8")
    page.locator("#import").set_input_files(lines)
    page.locator(".toast", has_text="1 correction imported.").wait_for()
    page.locator("#import").set_input_files(lines)
    page.locator(".toast", has_text="0 corrections imported; 1 known before.").wait_for()


def test_file_shows_why_a_job_of_it_failed(anna: Person) -> None:
    project = new_project(anna)
    file = new_file(anna, project)
    job = {"id": "j", "project": project, "file": file, "done": 0, "total": 4, "note": "", "created": ""}
    failed = {**job, "kind": "edit", "state": "failed", "error": "the model is away"}
    jobs = [failed]
    page = anna.page()
    page.route("**/jobs", lambda route: route.fulfill(json={"jobs": jobs}))
    page.goto(f"{anna.service.address}/#/project/{project}")
    page.get_by_text("Editing failed: the model is away").wait_for()
    jobs.insert(0, {**job, "kind": "edit", "state": "done", "error": ""})
    page.reload()
    page.get_by_role("link", name="Open: work.xlf").wait_for()
    assert page.get_by_text("Editing failed").count() == 0, "a later one went well"


def test_terms_that_are_not_saved_outlive_the_session_and_ask_before_they_are_left(anna: Person) -> None:
    project = new_project(anna)
    anna.ask("PUT", f"/v1/projects/{project}/glossary", content=b"house\tHaus\n")
    page = anna.page(f"project/{project}/glossary")
    page.get_by_label("Translation 1").fill("Heim")
    page.get_by_text("This browser keeps your changes").wait_for()
    page.get_by_role("link", name="Progress").click()
    page.get_by_role("heading", name="Leave without saving the glossary?").wait_for()
    page.get_by_role("button", name="Stay").click()
    page.locator("dialog").wait_for(state="detached")
    assert page.url.endswith("/glossary")
    page.get_by_role("link", name="Progress").click()
    page.get_by_role("button", name="Leave").click()
    page.get_by_text("Nothing is confirmed yet").wait_for()
    page.get_by_role("link", name="Glossary").click()
    page.get_by_text("This browser keeps your changes").wait_for()
    assert page.get_by_label("Translation 1").input_value() == "Heim"

    anna.context.clear_cookies()
    page.get_by_role("button", name="Save glossary").click()
    page.get_by_label("Name").fill("anna")
    page.get_by_label("Password").fill(word_server.PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("This browser keeps your changes").wait_for()
    assert page.get_by_label("Translation 1").input_value() == "Heim"
    page.get_by_role("button", name="Save glossary").click()
    page.get_by_text("This browser keeps your changes").wait_for(state="detached")
    assert anna.ask("GET", f"/v1/projects/{project}/glossary") == "house\tHeim\n"
    page.reload()
    assert page.get_by_label("Translation 1").input_value() == "Heim"
    page.get_by_role("link", name="Progress").click()
    page.get_by_text("Nothing is confirmed yet").wait_for()


def test_two_managers_do_not_overwrite_the_glossary_of_each_other(anna: Person, ben: Person) -> None:
    project = new_project(anna, ben="manager")
    path = f"/v1/projects/{project}/glossary"
    page = ben.page(f"project/{project}/glossary")
    conflict = page.get_by_role("alert", name="The glossary was saved by another person")
    for choice, expected in (("Save mine", "house\tHeim\n"), ("Take theirs", "house\tHaus\ntree\tBaum\n")):
        anna.ask("PUT", path, content=b"house\tHaus\n")
        page.reload()
        page.get_by_label("Translation 1").fill("Heim")
        anna.ask("PUT", path, content=b"house\tHaus\ntree\tBaum\n")
        page.get_by_role("button", name="Save glossary").click()
        conflict.wait_for()
        assert anna.ask("GET", path) == "house\tHaus\ntree\tBaum\n"
        assert "Baum" in conflict.text_content()
        assert not browser.serious_violations(page, browser.axe_source())
        page.get_by_role("button", name=choice).click()
        conflict.wait_for(state="detached")
        assert page.get_by_label("Translation 1").input_value() == expected.split()[1]
        assert anna.ask("GET", path) == expected
    page.get_by_label("Translation 2").fill("Bäume")
    page.get_by_role("button", name="Save glossary").click()
    page.locator(".toast", has_text="Glossary saved: 2 terms.").wait_for()
    assert anna.ask("GET", path) == "house\tHaus\ntree\tBäume\n"


@pytest.mark.parametrize("gone", ["files", "projects"])
def test_text_whose_file_is_gone_can_be_copied_and_discarded(gone: str, anna: Person, ben: Person) -> None:
    project = new_project(anna, ben="translator")
    file = new_file(anna, project)
    ben.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = ben.page(f"project/{project}/file/{file}/2")
    page.locator(".field").wait_for()
    anna.ask("DELETE", f"/v1/{gone}/{file if gone == 'files' else project}")
    page.keyboard.press("F2")
    page.keyboard.press("Control+End")
    page.keyboard.type(" by ben")
    page.locator(".save-state", has_text="1 change refused").wait_for()
    page.keyboard.press("Alt+ArrowDown")
    page.reload()
    page.get_by_role("heading", name="Texts that could not be saved").wait_for()
    text = page.get_by_label("Segment 2").first.input_value()
    assert text.endswith(" by ben")
    assert not browser.serious_violations(page, browser.axe_source())
    page.get_by_role("button", name="Copy").click()
    page.get_by_text("Text of segment 2 copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == text
    page.get_by_role("button", name="Discard").click()
    page.locator(".save-state", has_text="Saved").wait_for()
    assert page.get_by_role("heading", name="Texts that could not be saved").count() == 0
