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
        self.api = httpx.Client(base_url=shared.address, timeout=300)
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
    for _ in range(12_000):
        jobs = anna.ask("GET", f"/v1/projects/{project}/jobs")["jobs"]
        if all(job["state"] == "done" for job in jobs):
            return str(file)
        time.sleep(0.05)
    raise AssertionError(jobs)


def wait_for_title(page: Any, title: str) -> None:
    """Wait until a page has a title, which it gets some moments after its content."""
    page.wait_for_function("(title) => document.title === title", arg=title)


@pytest.mark.slow
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
    page.locator(".toast", has_text="0 corrections imported; 1 already known.").wait_for()


@pytest.mark.slow
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
    with page.expect_response("**/jobs"):
        page.reload()
    page.get_by_role("link", name="Open: work.xlf").wait_for()
    assert page.get_by_text("Editing failed").count() == 0, "a later one went well"


@pytest.mark.slow
def test_unsaved_terms_outlive_the_session_and_ask_before_leaving(anna: Person) -> None:
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
    page.get_by_text("Figures appear with the first segment").wait_for()
    page.get_by_role("link", name="Glossary").click()
    page.get_by_text("This browser keeps your changes").wait_for()
    assert page.get_by_label("Translation 1").input_value() == "Heim"
    for answer, view in (("Stay", "glossary"), ("Leave", "progress")):
        page.go_back()
        page.get_by_role("button", name=answer).click()
        page.wait_for_url(f"**/{view}")
    page.go_back()  # as far back as before the question
    page.get_by_text("This browser keeps your changes").wait_for()

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
    page.get_by_text("Figures appear with the first segment").wait_for()


@pytest.mark.slow
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


@pytest.mark.slow
def test_terms_are_searched_and_incomplete_ones_told_on_saving(anna: Person) -> None:
    project = new_project(anna)
    path = f"/v1/projects/{project}/glossary"
    terms = [f"term {number}\tWort {number}\n" for number in range(1, 251)]
    anna.ask("PUT", path, content="".join(terms).encode())
    page = anna.page(f"project/{project}/glossary")
    rows = page.locator(".terms-table tbody tr")
    for count in (100, 200, 250):
        rows.nth(count - 1).wait_for()
        assert rows.count() == count
        if count < 250:
            page.get_by_role("button", name="Show more").click()
    page.get_by_label("Search terms").fill("WORT 24")
    page.get_by_role("status").get_by_text("11 terms", exact=True).wait_for()
    page.get_by_label("Search terms").press("Enter")
    page.get_by_label("Translation 240").fill("other")
    page.get_by_role("button", name="Remove term 241").press("Enter")
    page.get_by_role("button", name="Remove term 242").and_(page.locator(":focus")).wait_for()
    page.get_by_role("button", name="Remove term 249").press("Enter")
    page.get_by_role("button", name="Add a term").and_(page.locator(":focus")).press("Enter")
    page.get_by_label("Term 1", exact=True).and_(page.locator(":focus")).wait_for()
    page.keyboard.type("house")
    page.get_by_text("This browser keeps your changes").wait_for()
    assert page.get_by_role("alert").count() == 0, "a term that is being written is no mistake"
    page.keyboard.press("Enter")
    page.get_by_role("alert").get_by_text("“house” needs both a term and a translation").wait_for()
    assert not browser.serious_violations(page, browser.axe_source())
    page.get_by_label("Translation 1", exact=True).fill("Haus")
    page.get_by_role("alert").wait_for(state="detached")
    page.get_by_role("button", name="Add a term").press("Enter")
    page.keyboard.type("tree")
    page.get_by_role("button", name="Remove tree").wait_for()
    assert page.get_by_role("alert").count() == 0, "it was the former term that was refused"
    page.get_by_role("button", name="Remove tree").press("Enter")
    page.get_by_role("button", name="Save glossary").press("Enter")
    page.locator(".toast", has_text="Glossary saved: 249 terms.").wait_for()
    terms[239] = "term 240\tother\n"
    kept = [term for term in terms if term not in ("term 241\tWort 241\n", "term 249\tWort 249\n")]
    assert anna.ask("GET", path) == "".join(["house\tHaus\n", *kept])
    page.get_by_role("button", name="Edit as text").click()
    page.locator("textarea").fill("house\n")
    page.get_by_role("button", name="Save glossary").click()
    page.get_by_role("alert").get_by_text("line 1 needs a term, a tab and a translation").wait_for()


@pytest.mark.slow
@pytest.mark.parametrize(("view", "request_of"), [("audit", "**/audit?*"), ("learnt", "**/corrections?*")])
def test_list_that_cannot_be_read_says_why(view: str, request_of: str, anna: Person) -> None:
    page = anna.page()
    answer = {"error": {"code": "internal", "message": "the database is away", "request_id": "1"}}
    refused: list[Any] = []
    page.route(request_of, lambda one: (refused.append(one), one.fulfill(status=500, json=answer)))
    page.goto(f"{anna.service.address}/#/project/{new_project(anna)}/{view}")
    alert = page.get_by_role("alert").filter(has_text="the database is away")
    alert.wait_for()
    while len(refused) < 2:  # the view asks again by itself once it follows the events of the project
        page.wait_for_timeout(50)
    page.unroute(request_of)
    alert.get_by_role("button", name="Try again").click()
    page.get_by_text("project created" if view == "audit" else "Nothing has been learnt yet").wait_for()


@pytest.mark.slow
def test_who_gives_up_a_role_sees_what_is_left(anna: Person, ben: Person) -> None:
    page = ben.page(f"project/{new_project(anna, ben='manager')}/settings")
    page.locator(".member", has_text="ben").locator("select").select_option("translator")
    page.get_by_role("link", name="Audit").wait_for(state="detached")
    assert page.get_by_role("button", name="Delete the project").count() == 0


@pytest.mark.slow
def test_who_leaves_a_project_is_told_that_it_is_not_there(anna: Person, ben: Person) -> None:
    page = ben.page(f"project/{new_project(anna, ben='manager')}/settings")
    page.locator(".member", has_text="ben").locator("select").select_option("")
    page.get_by_role("alert").wait_for()
    assert page.get_by_role("button", name="Save settings").count() == 0
    wait_for_title(page, "postedit")
    page.goto(f"{ben.service.address}/#/nowhere")
    page.get_by_role("heading", name="There is nothing at this address").wait_for()
    wait_for_title(page, "There is nothing at this address. · postedit")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in").wait_for()
    wait_for_title(page, "postedit")


@pytest.mark.slow
def test_long_names_leave_room_for_controls(anna: Person, chromium: Any) -> None:
    anna.ask("POST", "/v1/users", json={"name": "w" * 100, "password": word_server.PASSWORD})
    somebody = Person(anna.service, chromium, "w" * 100)
    first = somebody.page()
    first.get_by_role("button", name="Sign out").wait_for()
    assert first.evaluate("document.documentElement.scrollWidth <= innerWidth")
    somebody.close()
    named = {"name": "p" * 200, "source_language": "en", "target_language": "de"}
    project = anna.ask("POST", "/v1/projects", json=named)["id"]
    page = anna.page(f"project/{project}/settings")

    def fits(selector: str) -> bool:
        page.locator(selector).last.wait_for()
        parts = page.locator(selector).evaluate_all("(all) => all.map((one) => one.scrollWidth <= one.clientWidth)")
        return all(parts)

    assert fits(".member")
    page.get_by_role("button", name="Delete the project").click()
    assert fits(".dialog-body")
    page.goto(f"{anna.service.address}/#/people")
    assert fits(".scroll")


@pytest.mark.slow
def test_focus_and_title_follow_to_another_view(anna: Person) -> None:
    project = new_project(anna)
    new_file(anna, project)
    page = anna.page()

    def is_at(heading: str, title: str) -> None:
        page.locator("h1:focus", has_text=heading).wait_for()
        wait_for_title(page, title)

    page.locator(f"a[href='#/project/{project}']").press("Enter")
    is_at("Work", "Files · Work · postedit")
    page.get_by_role("link", name="Open: work.xlf").press("Enter")
    page.locator(".field:focus").wait_for()
    wait_for_title(page, "work.xlf · Work · postedit")
    page.go_back()
    is_at("Work", "Files · Work · postedit")
    page.get_by_role("link", name="Progress").press("Enter")
    page.get_by_text("Figures appear with").wait_for()
    page.locator("a:focus", has_text="Progress").wait_for()
    wait_for_title(page, "Progress · Work · postedit")
    page.go_back()
    page.go_back()
    is_at("Projects", "postedit")


@pytest.mark.slow
def test_undoing_a_correction_says_so_and_keeps_the_place(anna: Person) -> None:
    project = new_project(anna)
    lines = "".join(f"a\tb{number}\tc{number}\n" for number in range(3)).encode()
    headers = {"Content-Type": "text/tab-separated-values"}
    path = f"/v1/projects/{project}/corrections/import"
    first = anna.ask("POST", path, content=lines, headers=headers)["first"]
    page = anna.page(f"project/{project}/learnt")
    page.get_by_role("button", name=f"Undo correction {first + 1}").press("Enter")
    page.locator(".toast", has_text=f"Correction {first + 1} is undone.").wait_for()  # which stays some seconds
    page.locator("li.undone:focus", has_text=f"correction {first + 1}").wait_for()
    page.keyboard.press("Tab")
    page.locator(f"button:focus[aria-label='Undo correction {first}']").wait_for()


@pytest.mark.slow
def test_files_may_be_dropped_beside_the_zone(anna: Person) -> None:
    page = anna.page(f"project/{new_project(anna)}")
    page.get_by_text("No files yet").wait_for()
    content = example_xliff(((f"Row {row} .", f"Zeile {row} .") for row in range(2)), ("en", "de"))
    drop = """(heading, content) => { const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([content], "dropped.xlf"));
      const options = { dataTransfer, bubbles: true, cancelable: true };
      const drag = (name) => !heading.dispatchEvent(new DragEvent(name, options));
      return [drag("dragover"), drag("drop")]; }"""
    assert page.locator("h1").evaluate(drop, content) == [True, True]
    page.get_by_role("link", name="Open: dropped.xlf").wait_for()
    assert page.locator("h1").evaluate(drop, "none") == [True, True]
    refusal = page.get_by_role("alert").filter(has_text="dropped.xlf: is not a translation file")
    refusal.wait_for()
    assert not browser.serious_violations(page, browser.axe_source())
    page.get_by_role("button", name="Close the message about dropped.xlf").press("Enter")
    refusal.wait_for(state="detached")
    page.locator("#upload:focus").wait_for()


@pytest.mark.slow
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
    page.get_by_role("heading", name="Texts that could not be saved").wait_for(state="detached")


def refuse(page: Any, pattern: str, method: str) -> None:
    """Let the service refuse some requests of a page."""
    answer = {"error": {"code": "forbidden", "message": "not today", "request_id": "1"}}
    page.route(
        pattern, lambda one: one.fulfill(status=403, json=answer) if one.request.method == method else one.fallback()
    )


@pytest.mark.slow
def test_a_refused_change_does_not_hide_that_others_wait(anna: Person, ben: Person) -> None:
    project = new_project(anna, ben="translator")
    page = ben.page(f"project/{project}/file/{new_file(anna, project)}/2")
    page.locator(".field").wait_for()
    refuse(page, "**/segments/2", "PUT")
    page.keyboard.press("F2")
    page.keyboard.type("refused ")
    refused = page.locator("a.save-state", has_text="1 change refused")
    refused.wait_for()
    page.keyboard.press("Alt+ArrowDown")
    page.get_by_role("heading", name="Segment 3").wait_for()
    ben.context.set_offline(True)
    page.keyboard.press("F2")
    page.keyboard.type("waiting ")
    page.locator("span.save-state", has_text="Offline: 1 change").wait_for()
    assert refused.count() == 1
    assert not browser.serious_violations(page, browser.axe_source())


@pytest.mark.slow
def test_controls_show_what_is_after_a_refusal(anna: Person) -> None:
    project = new_project(anna, ben="translator")
    page = anna.page("people")
    box = page.get_by_label("Administrator: anna")
    box.click()
    page.locator(".toast.bad", has_text="at least one administrator").wait_for()
    page.locator("input:checked[aria-label='Administrator: anna']").wait_for()
    page.goto(f"{anna.service.address}/#/project/{project}/settings")
    refuse(page, "**/members/*", "PUT")
    role = page.locator(".member", has_text="ben").locator("select")
    role.select_option("manager")
    page.locator(".toast.bad", has_text="not today").wait_for()
    role.locator("option:checked", has_text="translator").wait_for(state="attached")


@pytest.mark.slow
def test_keys_have_owners_and_are_revoked_after_a_question(anna: Person, ben: Person) -> None:
    project = new_project(anna, ben="translator")
    given = {"name": "of ben", "scopes": ["edit"]}
    ben.ask("POST", "/v1/keys", json={**given, "projects": [project]})
    anna.ask("POST", "/v1/keys", json={"name": "a key with a rather long name", "scopes": ["edit", "learn", "files"]})
    page = anna.page("people")
    row = page.locator("tr", has_text="of ben")
    row.wait_for()
    page.locator("tr", has_text="of ben").filter(has_text="Work").wait_for()
    assert row.locator("td").all_inner_texts()[:3] == ["ben", "edit", "Work"]
    page.get_by_role("button", name="Disable: eva").wait_for()
    source = browser.axe_source()
    for width in (1440, 390, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert not browser.serious_violations(page, source)
    revoke = page.get_by_role("button", name="Revoke: of ben")
    for answer in ("Cancel", "Revoke"):
        revoke.click()
        page.get_by_role("heading", name="Revoke the key “of ben”?").wait_for()
        assert not browser.serious_violations(page, source)
        page.locator("dialog").get_by_role("button", name=answer, exact=True).click()
        page.locator("dialog").wait_for(state="detached")
        kept = [one["name"] for one in ben.ask("GET", "/v1/keys")["keys"]]
        assert kept == (["of ben"] if answer == "Cancel" else [])
    row.wait_for(state="detached")


@pytest.mark.slow
def test_double_click_makes_one_key(ben: Person) -> None:
    page = ben.page("people")
    page.get_by_role("form", name="Create a key").get_by_label("Name").fill("once")
    page.get_by_label("edit", exact=True).check()
    page.get_by_role("button", name="Create a key").dblclick()
    page.locator("tr", has_text="once").first.wait_for()
    assert len([one for one in ben.ask("GET", "/v1/keys")["keys"] if one["name"] == "once"]) == 1


def fill_in_password(page: Any, password: str, again: str) -> None:
    page.get_by_label("New password", exact=True).fill(password)
    page.get_by_label("New password again").fill(again)
    page.locator("dialog").get_by_role("button", name="Change password").click()


@pytest.mark.slow
def test_people_change_their_password_and_administrators_set_one(anna: Person, shared: Service, chromium: Any) -> None:
    eva = Person(shared, chromium, "eva")
    page = eva.page()
    page.get_by_role("button", name="eva: Change password").click()
    fill_in_password(page, "another password", "another pasword")
    page.get_by_role("alert").get_by_text("The two passwords differ.").wait_for()
    assert not browser.serious_violations(page, browser.axe_source())
    fill_in_password(page, "short", "short")
    page.get_by_role("alert").get_by_text("at least 10 characters, not 5").wait_for()
    fill_in_password(page, "another password", "another password")
    page.locator(".toast", has_text="The password of eva is changed.").wait_for()
    page.reload()
    page.get_by_text("You are in no project yet.").wait_for()

    page = anna.page("people")
    page.get_by_role("button", name="Set password: eva").click()
    fill_in_password(page, word_server.PASSWORD, word_server.PASSWORD)
    page.locator(".toast", has_text="The password of eva is changed.").wait_for()
    eva.sign_in(eva.api)
    eva.close()


@pytest.mark.slow
def test_refused_deletion_is_told_in_its_dialog(anna: Person) -> None:
    project = new_project(anna)
    new_file(anna, project)
    page = anna.page(f"project/{project}")
    refuse(page, "**/v1/files/*", "DELETE")
    page.get_by_role("button", name="Delete: work.xlf").click()
    page.get_by_label("Type the name of the file").fill("work.xlf")
    confirm = page.locator("dialog").get_by_role("button", name="Delete", exact=True)
    confirm.click()
    page.locator("dialog").get_by_role("alert").get_by_text("not today").wait_for()
    assert page.locator(".toast").count() == 0
    page.unroute("**/v1/files/*")
    confirm.click()
    page.locator("h1:focus", has_text="Work").wait_for()
    page.get_by_text("No files yet").wait_for()
    page.get_by_role("link", name="Settings").click()
    refuse(page, "**/v1/projects/*", "DELETE")
    page.get_by_role("button", name="Delete the project").click()
    page.get_by_label("Type the name of the project").fill("Work")
    confirm = page.locator("dialog").get_by_role("button", name="Delete the project")
    confirm.click()
    page.locator("dialog").get_by_role("alert").get_by_text("not today").wait_for()
    page.unroute("**/v1/projects/*")
    confirm.click()
    page.locator("h1:focus", has_text="Projects").wait_for()


def test_sign_in_leads_to_the_heading_and_to_what_one_may_do(ben: Person, anna: Person) -> None:
    page = ben.context.new_page()
    page.goto(ben.service.address)
    page.get_by_label("Name").fill("ben")
    page.get_by_label("Password").fill("another password")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").get_by_text("no active user has this name and password").wait_for()
    page.locator("button:focus", has_text="Sign in").wait_for()
    page.get_by_label("Password").fill(word_server.PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.locator("h1:focus", has_text="Projects").wait_for()
    assert page.get_by_role("button", name="New project").count() == 0
    anna.page().get_by_role("button", name="New project").wait_for()


@pytest.mark.slow
def test_signing_out_without_a_connection_says_that_it_failed(ben: Person) -> None:
    page = ben.page()
    button = page.get_by_role("button", name="Sign out")
    button.wait_for()
    page.context.set_offline(True)
    button.click()
    page.locator(".toast.bad", has_text="No connection to the service").wait_for()
    assert button.is_visible(), "the session goes on, and the page does not hide that"
    assert ben.api.get("/v1/session").status_code == 200
    page.context.set_offline(False)
    page.reload()
    button.click()
    page.get_by_role("button", name="Sign in").wait_for()
    assert ben.api.get("/v1/session").status_code == 401
