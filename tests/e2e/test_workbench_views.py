"""The views of a project: accessible, with figures that follow what happens."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import browser
import pytest
import sqlalchemy as sql
from serve_tools import xliff
from workbench_service import (
    SMALL,
    WIDE,
    Service,
    new_context,
    present,
    project_of,
    shoot,
    wait_for_proposals,
    wait_until_loaded,
)

from postedit.serve.schema import decisions

pytestmark = browser.needs_browser()


VIEWS = ["", "project/P", "project/P/progress", "project/P/learnt", "project/P/glossary", "project/P/audit"]
VIEWS += ["project/P/settings", "project/P/file/F/2", "nothing"]
PARTS = {"2": ".field", "progress": ".chart text"}
"""What views that have nothing to show before their data are waited for by, by the end of their address."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.slow
def test_axe_finds_nothing_serious_in_any_view(scheme: str, chromium: Any, service: Service, project: Any) -> None:
    source = browser.axe_source()
    context = new_context(chromium, color_scheme=scheme, viewport=WIDE)
    page = context.new_page()
    found = []
    for view in VIEWS:
        page.goto(f"{service.address}/#/{view.replace('P', project['id']).replace('F', project['file'])}")
        page.locator(PARTS.get(view.rpartition("/")[2], "h1, h2")).first.wait_for()
        wait_until_loaded(page)
        for size in (WIDE, SMALL):
            page.set_viewport_size(size)
            page.wait_for_timeout(100)
            found += [f"{view} {scheme} {size['width']}: {one}" for one in browser.serious_violations(page, source)]
    context.close()
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_dialogs_and_help_are_accessible_and_give_the_focus_back(service: Service, project: Any, page: Any) -> None:
    source = browser.axe_source()
    address = f"{service.address}/#/project/{project['id']}"
    page.goto(address)
    opener = page.get_by_role("button", name="Delete: views.xlf")
    opener.click()
    assert not browser.serious_violations(page, source)
    page.get_by_role("button", name="Close").click()
    page.locator("button:focus[aria-label='Delete: views.xlf']").wait_for()
    page.goto(f"{service.address}/#/")
    page.get_by_role("button", name="New project").click()
    page.get_by_label("Name").wait_for()
    assert not browser.serious_violations(page, source)
    languages = page.get_by_label("Source")
    for code, is_valid in (("english language", False), ("en", True), ("zh-TW", True), ("pt_BR", True)):
        languages.fill(code)
        assert languages.evaluate("(field) => field.validity.valid") is is_valid, code
    page.keyboard.press("Escape")
    page.locator("button:focus", has_text="New project").wait_for()
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


DAYS = 45
SIZES = {"phone": {"width": 360, "height": 740}, "laptop": {"width": 1280, "height": 800}}
TOO_WIDE = """() => [...document.querySelectorAll("body *")].filter((one) => !one.closest(".unseen, .scroll, dialog")
  && one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.outerHTML.slice(0, 120))"""
LETTERS = """() => [...document.querySelectorAll(".chart text")].map((one) => one.getBoundingClientRect().height)"""


def spread_over_days(service: Service, project: str) -> None:
    """Let the segments of a project have been confirmed on many days, some with seconds."""
    engine = sql.create_engine(f"sqlite:///{service.data / 'postedit.db'}", connect_args={"timeout": 60})
    of_project = sql.select(decisions.c.segment).where(decisions.c.project == project)
    with engine.begin() as connection:
        numbers = list(connection.execute(of_project).scalars())
        for place, number in enumerate(numbers):
            made = datetime.now(UTC) - timedelta(days=(DAYS * place) // len(numbers))
            values = {"seconds": 4 + place % 7, "edits_of_mt": place % 5, "edits_of_proposal": place % 3}
            values |= {"made": made.isoformat(), "kinds": '{"replace": [4, 1], "insert": [2, 2]}'}
            one = (decisions.c.project == project) & (decisions.c.segment == number)
            connection.execute(sql.update(decisions).where(one).values(**values))
    engine.dispose()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.slow
def test_views_with_data_fit_their_screens(scheme: str, chromium: Any, service: Service, project: Any) -> None:
    pairs = [(f"Row {row} of a table .", f"Zeile {row} der Tabelle .") for row in range(120)]
    file = project_of(service, f"Data {scheme}", pairs, ("en", "de"))
    name = file.split("/")[1]
    for number in range(1, 101):
        path = f"/v1/files/{file.split('/')[3]}/segments/{number}"
        shown = service.get(path)
        target = {"target": shown["proposal"]["text"], "codes": shown["proposal_codes"], "state": "confirmed"}
        service.put(path, json={**target, "version": 0, "edit_id": str(number)})
    spread_over_days(service, name)
    views = [view.replace("project/P/file/F", file).replace("P", name) for view in VIEWS]
    for size, viewport in SIZES.items():
        page = new_context(chromium, color_scheme=scheme, viewport=viewport).new_page()
        for view, address in zip(VIEWS, views, strict=True):
            page.goto(f"{service.address}/#/{address}")
            page.reload()
            page.locator(PARTS.get(view.rpartition("/")[2], "h1, h2")).first.wait_for()
            wait_until_loaded(page)
            title = view.replace("project/P", "project").replace("/", "-") or "projects"
            shoot(page, f"{title}-{size}-{scheme}")
            assert page.evaluate(TOO_WIDE) == [], f"{view} on a {size}"
            if view.endswith("progress"):
                heights = page.evaluate(LETTERS)
                assert len(heights) > 10
                assert min(heights) >= 10
        page.context.close()


def confirm_slowly(page: Any, address: str, file: str) -> None:
    """Confirm the first segment of a file, and leave it for what was learnt before the service has the decision."""
    page.goto(f"{address}/#/{file}/1")
    page.locator(".field").wait_for()
    page.keyboard.press("F2")
    page.keyboard.press("Control+Enter")
    page.get_by_role("heading", name="Segment 2").wait_for()
    page.goto(f"{address}/#/{file.split('/file/')[0]}/learnt")
    page.get_by_text("Nothing has been learnt yet").wait_for()
    assert "Saved" not in page.locator(".save-state").inner_text()


@pytest.mark.slow
def test_decision_that_arrives_later_shows_in_all_views(service: Service, page: Any, chromium: Any) -> None:
    file = project_of(service, "Late", [(f"Row {row} .", f"Zeile {row} .") for row in range(4)], ("en", "de"))
    project = file.split("/file/")[0]
    others = {"": "0 of 4 confirmed", "progress": "Figures appear with the first segment", "audit": "file read"}
    watching = {view: new_context(chromium, viewport=WIDE).new_page() for view in others}
    for view, text in others.items():
        watching[view].goto(f"{service.address}/#/{project}/{view}")
        watching[view].get_by_text(text).wait_for()
    held: list[Any] = []
    page.route("**/segments/1", lambda route: held.append(route) if route.request.method == "PUT" else route.fallback())
    confirm_slowly(page, service.address, file)
    [decision] = held
    page.wait_for_timeout(1000)  # the view has been told all that had happened by then
    decision.continue_()
    page.get_by_role("button", name="Undo").wait_for()
    watching[""].get_by_text("1 of 4 confirmed").wait_for()
    watching["progress"].get_by_text("confirmed segment", exact=True).wait_for()
    watching["audit"].get_by_text("segment 1 confirmed").wait_for()
    for one in watching.values():
        one.context.close()


@pytest.mark.slow
def test_decision_that_was_kept_is_sent_from_any_view(service: Service, page: Any) -> None:
    file = project_of(service, "Kept", [(f"Row {row} .", f"Zeile {row} .") for row in range(4)], ("en", "de"))
    page.route("**/segments/1", lambda route: route.abort() if route.request.method == "PUT" else route.fallback())
    confirm_slowly(page, service.address, file)
    page.unroute("**/segments/1")
    page.reload()
    page.get_by_role("button", name="Undo").wait_for()
    page.locator(".save-state", has_text="Saved").wait_for()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_a_reviewer_rejected_has_a_badge_and_a_filter(scheme: str, chromium: Any, service: Service) -> None:
    made = service.post("/v1/projects", json={"name": f"Rejected {scheme}"})
    content = xliff(("a house", "ein Haus"), ("a tree", "ein Baum"), ("a garden", "ein Garten"))
    content = content.replace(b"<target>ein Baum", b'<target state-qualifier="rejected-grammar">ein Baum')
    job = service.post(f"/v1/projects/{made['id']}/files", files={"file": ("a.xlf", content)})
    wait_for_proposals(service, job["file"]["id"])
    context = new_context(chromium, color_scheme=scheme, viewport=WIDE)
    page = context.new_page()
    page.goto(f"{service.address}/#/project/{made['id']}/file/{job['file']['id']}/2")
    page.locator(".badge.rejected", has_text="rejected by a reviewer").wait_for()
    assert not browser.serious_violations(page, browser.axe_source())
    page.get_by_label("Show").select_option("rejected")
    page.get_by_text("1 segment", exact=True).wait_for()
    page.locator(".field").focus()
    page.keyboard.press("Control+Enter")
    page.locator(".badge.confirmed").wait_for()
    assert page.locator(".badge.rejected").count() == 0
    context.close()


@pytest.mark.slow
def test_seconds_count_from_consent_alone(service: Service, page: Any) -> None:
    file = project_of(service, "Timer", [(f"Row {row} .", f"Zeile {row} .") for row in range(4)], ("en", "de"))
    sent: list[Any] = []
    page.on("request", lambda one: sent.append(one.post_data_json) if one.method == "PUT" else None)

    def work(times: int) -> None:
        for row in range(times):
            page.mouse.move(300 + row, 300)
            page.wait_for_timeout(100)

    def confirm(number: int) -> Any:
        with page.expect_response(f"**/segments/{number}"):
            page.keyboard.press("Control+Enter")
        page.get_by_role("heading", name=f"Segment {number + 1}").wait_for()
        return sent[-1]

    page.goto(f"{service.address}/#/{file}/1")
    page.locator(".field").wait_for()
    work(3)
    assert "seconds" not in confirm(1)
    work(12)  # longer than what is counted may take
    agreed = time.monotonic()
    page.get_by_role("button", name="Count", exact=True).click()
    work(3)
    seconds = confirm(2)["seconds"]
    assert 0.2 <= seconds <= time.monotonic() - agreed + 0.1
    days = service.get(f"/v1/projects/{file.split('/')[1]}/progress")["days"]  # two of them about midnight
    assert (sum(day["timed"] for day in days), sum(day["seconds"] for day in days)) == (1, seconds)
    assert "seconds" in confirm(3)


@pytest.mark.slow
def test_key_held_down_confirms_one_segment(service: Service, page: Any) -> None:
    pairs = [(f"Line {number} .", f"Zeile {number} .") for number in range(1, 9)]
    page.goto(f"{service.address}/#/{project_of(service, 'Held', pairs, ('en', 'de'))}/1")
    page.get_by_role("textbox", name="Target of segment 1").wait_for()
    page.keyboard.down("Control")
    for _ in range(6):  # the browser repeats a key that is not released
        page.keyboard.down("Enter")
        page.wait_for_timeout(100)
    page.keyboard.up("Enter")
    page.get_by_role("textbox", name="Target of segment 2").wait_for()
    assert present(page) == 2
    page.keyboard.press("Enter")
    page.get_by_role("textbox", name="Target of segment 3").wait_for()
    page.keyboard.up("Control")


@pytest.mark.slow
def test_copies_of_texts_have_no_tags_and_no_notes(service: Service, project: Any, page: Any) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{service.address}/#/project/{project['id']}/file/{project['file']}/2")
    page.locator(".proposal .edit.accepted").first.wait_for()

    def is_copied(name: str, text: str) -> bool:
        """Return whether a selected element is copied as this text.

        The field of the target may get its caret, and with it the selection, at any moment: then select again.
        """
        for _ in range(600):
            page.evaluate("(name) => getSelection().selectAllChildren(document.querySelector(name))", name)
            page.keyboard.press("Control+c")
            if page.evaluate("navigator.clipboard.readText()") == text:
                return True
            page.wait_for_timeout(100)
        return False

    assert is_copied(".source", "Line 2: the door is red .")
    assert is_copied(".text.mt", "Zeile 2 : die Tür ist rojo .")
    assert is_copied(".proposal", "Zeile 2 : das Tür ist azul .")
    page.keyboard.press("Alt+r")
    page.locator(".proposal .edit.rejected").first.wait_for()
    assert is_copied(".source", "Line 2: the door is red .")  # another text, so that what follows is copied anew
    assert is_copied(".proposal", "Zeile 2 : die Tür ist rojo .")


@pytest.mark.slow
def test_keys_open_the_list_on_a_small_screen(service: Service, project: Any, page: Any) -> None:
    page.set_viewport_size(SMALL)
    page.goto(f"{service.address}/#/project/{project['id']}/file/{project['file']}/3")
    page.locator(".field").wait_for()
    for key, place in (("F3", "#search"), ("F2", ".field"), ("Shift+F3", "#filter"), ("F2", ".field")):
        page.keyboard.press(key)
        page.locator(f"{place}:focus").wait_for()
        assert page.locator(".list").is_visible() == (place != ".field")


@pytest.mark.slow
def test_double_click_makes_one_project(service: Service, page: Any) -> None:
    page.goto(service.address)
    page.get_by_role("button", name="New project").click()
    page.get_by_label("Name").fill("Once")
    page.get_by_label("Source language").fill("en")
    page.get_by_label("Target language").fill("de")
    page.get_by_role("button", name="Create project").dblclick()
    page.get_by_role("heading", name="Once").wait_for()
    assert [one["name"] for one in service.get("/v1/projects")["projects"]].count("Once") == 1


def open_new_file(service: Service, page: Any, *units: tuple[str, str]) -> str:
    """Open the first segment of a new file in a project of its own, and return the id of the file."""
    made = service.post("/v1/projects", json={"name": units[0][0]})
    sent = service.post(f"/v1/projects/{made['id']}/files", files={"file": ("a.xlf", xliff(*units))})
    file: str = sent["file"]["id"]
    wait_for_proposals(service, file)
    page.goto(f"{service.address}/#/project/{made['id']}/file/{file}/1")
    page.locator(".field:focus").wait_for()
    return file


@pytest.mark.slow
def test_refused_confirmation_is_not_shown_as_confirmed(service: Service, page: Any) -> None:
    file = open_new_file(service, page, ("a house", ""), ("a tree", "ein Baum"), ("a garden", "ein Garten"))
    page.keyboard.press("Control+Enter")  # without a target
    page.get_by_role("link", name="1 change refused").wait_for()
    page.locator(".row", has_text="a house").get_by_role("img", name="draft").wait_for()
    assert present(page) == 2
    page.keyboard.press("Alt+Shift+ArrowUp")  # the unconfirmed one before
    page.get_by_role("alert").filter(has_text="a confirmed target needs text").wait_for()
    page.keyboard.type("ein Haus")
    page.keyboard.press("Control+Enter")
    page.locator(".row", has_text="ein Haus").get_by_role("img", name="confirmed").wait_for()
    page.locator(".save-state", has_text="Saved").wait_for()
    assert service.get(f"/v1/files/{file}/segments/1")["state"] == "confirmed"


@pytest.mark.slow
def test_refused_confirmation_of_the_only_segment_is_a_draft(service: Service, page: Any) -> None:
    open_new_file(service, page, ("a house", ""))
    page.keyboard.press("Control+Enter")  # without a target
    page.get_by_role("link", name="1 change refused").wait_for()
    page.locator(".badge.draft").wait_for()
    assert page.get_by_role("button", name="Unconfirm").count() == 0


@pytest.mark.slow
def test_addresses_lead_to_no_other_part_of_the_service(service: Service, project: Any, page: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url.removeprefix(service.address)))
    file = f"project/{project['id']}/file"
    views = ["project/..%2Fsession", "project/.", "project/%2E%2E", "project/%00", f"{file}/..%2Fmodels", f"{file}/."]
    for view in views:
        page.goto(f"{service.address}/#/{view}")
        page.reload()
        page.get_by_role("heading", name="There is nothing at this address.").wait_for()
    known = {"/v1/session", f"/v1/projects/{project['id']}"}
    assert {path for path in asked if path.startswith("/v1/")} == known


@pytest.mark.slow
def test_file_is_not_shown_in_another_project(service: Service, project: Any, page: Any) -> None:
    other = service.post("/v1/projects", json={"name": "Other", "source_language": "en", "target_language": "de"})
    page.goto(f"{service.address}/#/project/{other['id']}/file/{project['file']}/1")
    page.get_by_role("alert").get_by_text("There is nothing at this address.").wait_for()
    assert page.locator(".segment").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", ["-1", "0", "1.5", "99999999999", "abc"])
def test_what_is_no_number_leads_to_the_first_open_segment(
    number: str, service: Service, project: Any, page: Any
) -> None:
    page.goto(f"{service.address}/#/project/{project['id']}/file/{project['file']}/{number}")
    page.get_by_role("heading", name="Segment 2", exact=True).wait_for()
