"""A real browser for the tests of pages: the Chromium of the distribution; and axe-core, which judges accessibility."""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def needs_browser() -> pytest.MarkDecorator:
    """Return the mark of tests that need a browser; without one they say why they skip."""
    missing = [name for name, found in (("playwright", find_spec("playwright")), ("Chromium", CHROMIUM)) if not found]
    return pytest.mark.skipif(bool(missing), reason=f"needs {' and '.join(missing)}, which is not installed")


@contextmanager
def launched() -> Iterator[Any]:
    """Yield a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=120_000)
        yield browser
        browser.close()


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an application in a thread, and yield its address."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 300
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


@contextmanager
def blank_page() -> Iterator[Any]:
    """Yield an empty page that can import the modules of the workbench from `base`."""
    pytest.importorskip("fastapi")
    from fastapi import FastAPI
    from fastapi.responses import HTMLResponse

    from postedit.serve import routes_workbench

    app = FastAPI()
    app.include_router(routes_workbench.router)
    page_text = "<!doctype html><html lang=en><title>blank</title><body></body></html>"
    app.add_api_route("/blank", lambda: HTMLResponse(page_text))
    with served(app) as address, launched() as chromium:
        page = chromium.new_page()
        page.set_default_timeout(120_000)
        page.goto(f"{address}/blank")
        page.evaluate(f"globalThis.base = '/assets/{routes_workbench.pages().version}'")
        yield page


def axe_source() -> str:
    """Return the script of axe-core, from a Python package that carries it or from node_modules; or skip the test."""
    package = find_spec("axe_playwright_python")
    folders = [Path(package.origin).parent] if package and package.origin else []
    folders += [Path(name) / "axe-core" for name in os.environ.get("NODE_PATH", "").split(os.pathsep) if name]
    folders += [parent / "node_modules/axe-core" for parent in Path(__file__).resolve().parents]
    for folder in folders:
        if (folder / "axe.min.js").is_file():
            return (folder / "axe.min.js").read_text(encoding="utf-8")
    pytest.skip("needs axe-core: pip install axe-playwright-python")


def serious_violations(page: Any, source: str) -> list[str]:
    """Return what axe-core finds serious or critical in a page, one line for each element."""
    page.evaluate(source)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['html'][:160]} ({node['failureSummary'][:300]})"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
