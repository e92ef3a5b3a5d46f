"""Several people in the workbench: they see each other, settle conflicts, and may do what they may."""

from collections.abc import Iterator
from typing import Any

import browser
import pytest
import word_server
from workbench_service import WIDE, Service, field_text, new_context, shoot

from postedit.serve.example_project import example_xliff

pytestmark = browser.needs_browser()


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
        page = new_context(chromium, viewport=WIDE).new_page()
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
    ben.context.set_offline(False)
    conflict = ben.get_by_role("alert", name="Another person saved")
    conflict.wait_for()
    assert "anna" in conflict.inner_text()
    assert "ben" in conflict.inner_text()
    assert not browser.serious_violations(ben, browser.axe_source())
    shoot(ben, "conflict")
    ben.get_by_role("button", name="Take theirs").click()
    ben.locator(".field", has_text="anna").wait_for()
    ben.keyboard.press("F2")
    ben.keyboard.press("Control+z")
    assert "ben" in field_text(ben), "the text that was given up is a step back"
    ben.locator(".save-state", has_text="Saved").wait_for()
    anna.locator(".row[aria-selected=true]", has_text="ben").wait_for()
    ben.close()
    anna.locator(".badge.person").wait_for(state="detached", timeout=180_000)  # if the farewell got lost, in a minute
    for page in pages:
        page.context.close()


@pytest.mark.slow
def test_reader_sees_a_file_and_sends_nothing(shared: Service, chromium: Any) -> None:
    anna, ben = (new_context(chromium, viewport=WIDE).new_page() for _ in range(2))
    sign_in(anna, shared.address, "anna")
    file = as_anna(anna, "reader")
    sign_in(ben, shared.address, "ben")
    sent: list[str] = []
    ben.on("request", lambda one: sent.append(one.url) if one.method != "GET" else None)
    ben.on("pageerror", lambda error: sent.append(str(error)))
    ben.goto(f"{shared.address}/#/{file}/2")
    ben.get_by_text("You can read this project").wait_for()
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
