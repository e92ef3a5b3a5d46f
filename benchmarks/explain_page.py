"""Measure the size of the page that `postedit explain` writes, and the time to open it with thousands of sentences.

Sentences are generated: 20 words per text, with attention like that of trained models (mostly on one word). The time to
open the page is measured in Chromium, and left out where that is not installed.

python benchmarks/explain_page.py --sentences 1000 10000
"""

import argparse
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from postedit.core.editor import Edit
from postedit.core.evidence import Alternative, Evidence
from postedit.core.types import AttentionKey
from postedit.explain.explained_sentence import OUTPUT, ExplainedSentence, Span
from postedit.explain.explanation_page import explanation_page

WORDS = 20


def sentence(generator: np.random.Generator) -> ExplainedSentence:
    words = tuple(f"word{number:02d}" for number in generator.integers(0, 100, WORDS))
    text = " ".join(words)
    places = (*(Span(7 * place, 7 * place + 6) for place in range(WORDS)), None)
    size = WORDS + 1
    attention = {
        AttentionKey(stream, "soft"): generator.dirichlet(np.full(size, 0.1), size) for stream in ("src", "mt")
    }
    evidence = Evidence(
        streams={"src": (*words, "</s>"), "mt": (*words, "</s>")},
        output=(*words, "</s>"),
        log_probs=tuple(np.log(generator.uniform(0.3, 1, size)).tolist()),
        attention=attention,
        runners_up=(tuple(Alternative(word, -3.0) for word in words[:5]),) * size,
    )
    edit = Edit("replace", (7, 13), (7, 13))
    sides = ("src", "mt", OUTPUT)
    ends = dict.fromkeys(sides, frozenset({WORDS}))
    return ExplainedSentence(text, text, text, (edit,), (0.5,), evidence, dict.fromkeys(sides, places), ends, text)


def seconds_to_open(path: Path) -> float:
    """Return the seconds from navigation to the `load` event, as reported by the browser."""
    with tempfile.TemporaryDirectory() as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom"]
        done = subprocess.run(["chromium", *options, path.as_uri()], capture_output=True, check=True, text=True)
    found = re.search(r"<title>(\d+)</title>", done.stdout)
    assert found, "the page was not opened"
    return int(found[1]) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    generator = np.random.default_rng(1)
    made = [sentence(generator) for _ in range(200)]
    print("| sentences | page MB | write s | open s |\n| ---: | ---: | ---: | ---: |")
    for count in options.sentences:
        start = time.perf_counter()
        html = explanation_page("page", (made * (count // len(made) + 1))[:count])
        written = time.perf_counter() - start
        opened = "–"
        if shutil.which("chromium"):
            # The policy of the page allows only its own script; remove it here, to read the clock.
            timed = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
            clock = "<script>addEventListener('load', () => {document.title = Math.round(performance.now())})</script>"
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "page.html"
                path.write_text(timed.replace("</body>", f"{clock}</body>"), encoding="utf-8")
                opened = f"{statistics.median(seconds_to_open(path) for _ in range(options.rounds)):.2f}"
        print(f"| {count:,} | {len(html.encode()) / 1e6:.1f} | {written:.1f} | {opened} |", flush=True)


if __name__ == "__main__":
    main()
