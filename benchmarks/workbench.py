"""Measure the workbench in a real browser with one large file: first paint, jumps and scrolling.

    python benchmarks/workbench.py [--segments 100000]

It starts `postedit serve none`, imports an XLIFF file of that many segments, opens it in the Chromium installed on the
machine, and prints: the time until the first paint and until rows are shown; the time of jumps to a segment by its
number (Alt+G), until its row and its text are shown; the frame times while the list scrolls by half a screen per frame;
and the largest number of rows that the page held while scrolling.
"""

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import sync_playwright

from postedit.serve.example_project import example_xliff

SCROLL = """async () => {
  const list = document.querySelector(".rows"), times = [];
  list.scrollTop = 0;
  let last = performance.now(), most = 0;
  for (let frame = 0; frame < 300; frame++) {
    list.scrollTop += list.clientHeight / 2;
    await new Promise((done) => requestAnimationFrame(done));
    const now = performance.now();
    times.push(now - last);
    last = now;
    most = Math.max(most, document.querySelectorAll(".row").length);
  }
  return { times, most };
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segments", type=int, default=100_000)
    count = parser.parse_args().segments
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "postedit", "serve", "none", "--port", "0", "--data", folder]
        service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert service.stdout is not None
            found = (re.search(r"http://[\d.:]+", line) for line in service.stdout)
            address = next(match.group() for match in found if match)
            file = imported(address, Path(folder), count)
            measure(f"{address}/#/project/default/file/{file}/1", count)
        finally:
            service.terminate()
            service.wait()


def imported(address: str, folder: Path, count: int) -> str:
    """Add a file, wait until its segments can be opened, and return its id."""
    path = folder / "large.xlf"
    path.write_text(example_xliff((f"Source {row}", f"Ziel {row}") for row in range(1, count + 1)), encoding="utf-8")
    start = time.perf_counter()
    with path.open("rb") as stream:
        answer = httpx.post(f"{address}/v1/projects/default/files", files={"file": stream}, timeout=600)
    answer.raise_for_status()
    file = str(answer.json()["file"]["id"])
    while httpx.get(f"{address}/v1/files/{file}", timeout=60).json()["state"] != "ready":
        time.sleep(0.2)
    print(f"{count:,} segments can be opened after {time.perf_counter() - start:.1f} s")
    httpx.delete(f"{address}/v1/jobs/{answer.json()['job']['id']}", timeout=60)  # stops proposals, which would disturb
    return file


def measure(address: str, count: int) -> None:
    """Open the page, and print the times of painting, jumping and scrolling."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        start = time.perf_counter()
        page.goto(address)
        page.locator(".row-src").first.wait_for()
        rows = time.perf_counter() - start
        paints = page.evaluate("performance.getEntriesByType('paint').map((one) => [one.name, one.startTime])")
        print(", ".join(f"{name} {value:.0f} ms" for name, value in paints) + f", rows {1000 * rows:.0f} ms")
        jumps = [jump(page, row) for row in (count // 2, count - 7, 3, count // 3, 2 * count // 3)]
        print(f"jump: median {1000 * statistics.median(jumps):.0f} ms, longest {1000 * max(jumps):.0f} ms")
        page.wait_for_timeout(500)
        scrolled: dict[str, Any] = page.evaluate(SCROLL)
        times = sorted(scrolled["times"])
        shares = [f"p{share} {times[len(times) * share // 100]:.0f} ms" for share in (50, 95, 99)]
        print(f"frames while scrolling: {', '.join(shares)}; at most {scrolled['most']} rows")
        chromium.close()


def jump(page: Any, number: int) -> float:
    """Jump to a segment by its number, and return the seconds until the segment and its row are shown."""
    page.keyboard.press("Alt+g")
    page.get_by_label("Number").fill(str(number))
    start = time.perf_counter()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=f"Segment {number:,}", exact=True).wait_for()
    page.locator(".row[aria-selected=true]", has_text=f"Source {number}").wait_for()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
