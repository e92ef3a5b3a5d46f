"""The workbench while the network is lost, and when it is there again."""

from typing import Any

import browser
import pytest
from workbench_service import Service, present, project_of

pytestmark = browser.needs_browser()


@pytest.mark.slow
def test_what_was_missing_without_a_network_is_fetched_later(service: Service, page: Any) -> None:
    file = project_of(service, "Away", [(f"Row {row} .", f"Zeile {row} .") for row in range(400)], ("en", "de"))
    page.goto(f"{service.address}/#/{file}/1")
    page.locator(".row", has_text="Row 5 ").wait_for()
    page.context.set_offline(True)
    problems = page.get_by_role("alert").filter(has_text="No connection to the service")
    page.evaluate("document.getElementById('segments').scrollTop = 300 * 68")
    problems.wait_for()
    page.keyboard.press("Alt+g")
    page.get_by_label("Number").fill("390")
    page.keyboard.press("Enter")
    problems.nth(1).wait_for()  # above the segment
    page.context.set_offline(False)
    page.locator(".row", has_text="Row 300 ").wait_for()
    problems.first.wait_for(state="detached")
    assert present(page) == 1
    page.locator("#search").fill("Row 7 ")
    page.get_by_text("1 segment", exact=True).wait_for()
