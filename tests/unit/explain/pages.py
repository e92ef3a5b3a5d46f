"""Pages taken apart, and opened in a browser."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

NASTY = '</script><script>document.title="broken"</script><img/src=x/onerror="alert(1)"> "& $1'

needs_browser = pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium to open the page")


def data_of(html: str) -> Any:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(text)


def assert_markup_in_text_stays_text(html: str) -> None:
    assert "<img" not in html
    assert html.count("<script") == html.count("</script>") == 2  # the data and the page's own
    assert "script-src 'sha256-" in html
    assert "innerHTML" not in html


def assert_nothing_is_fetched(html: str) -> None:
    assert "default-src 'none'" in html
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", html)


def opened(html: str, folder: Path, choose: str = "", action: str = "") -> str:
    """Return the document that a browser makes of the page, with this option chosen, once `action` is done."""
    path = folder / "page.html"
    if choose:
        html = html.replace(f"<option {choose}", f"<option {choose} selected")
    if action:  # the policy lets no other script run, so the page goes without it here
        html = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
        html = html.replace("</body>", f"<script>{action}</script></body>")
    path.write_text(html, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}", "--dump-dom"]
    done = subprocess.run(["chromium", *options, path.as_uri()], capture_output=True, timeout=600, check=False)
    dom = done.stdout.decode()
    if "<body" not in dom:
        pytest.skip("chromium does not start here")
    return dom


def lines_chosen(html: str, folder: Path, *chosen: str) -> list[list[str]]:
    """Return the lines that a page shows for each of these options, chosen one after the other."""
    # Pages wait a moment for further changes; without the wait, each choice is drawn within its event.
    action = """
    window.setTimeout = (draw) => draw();
    const shown = CHOSEN.map((value) => {
      const option = document.querySelector(`#controls option[value=${value}]`), list = option.parentElement;
      const before = list.value;
      for (const choice of [value, before]) {
        list.value = choice;
        list.dispatchEvent(new Event("input", {bubbles: true}));
        if (choice === value) option.lines = [...document.querySelectorAll("h3")].map((one) => one.textContent);
      }
      return option.lines;
    });
    const noted = document.createElement("pre");
    noted.id = "shown";
    noted.textContent = JSON.stringify(shown);
    document.body.append(noted);
    """
    dom = opened(html, folder, action=action.replace("CHOSEN", json.dumps(chosen)))
    (text,) = re.findall(r'<pre id="shown">(.*?)</pre>', dom, re.DOTALL)
    return [[one.split()[0] for one in lines] for lines in json.loads(unescape(text))]


def lines_shown(dom: str) -> list[str]:
    return re.findall(r"<h3>(\d+) ", dom)
