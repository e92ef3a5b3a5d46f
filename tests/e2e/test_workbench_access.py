"""The workbench with screen readers, and with the colours that people force on pages."""

from typing import Any

import browser
import pytest
from serve_tools import xliff
from workbench_service import WIDE, Service, new_context, wait_for_proposals

pytestmark = browser.needs_browser()


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
