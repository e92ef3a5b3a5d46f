"""HTML page about systems on a test set: all tables, histograms, and sentences to sort and filter.

The page holds the sentences as JSON. Its script shows them page by page, and inserts texts only through `textContent`.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

from postedit.evaluate.counts import KINDS
from postedit.evaluate.table import Table
from postedit.evaluate.test_set import LISTED, MOST_GAIN, RATE_BIN, RATE_BINS, EvaluatedSystem, TestSet
from postedit.explain.charts import Series, bar_chart
from postedit.explain.document import analysis, asset, data_element, document


def score_page(
    title: str,
    test: TestSet,
    systems: Sequence[EvaluatedSystem],
    tables: Sequence[Table],
    warnings: Sequence[str] = (),
    verdicts: Sequence[str] = (),
) -> str:
    """Return a self-contained HTML document about systems.

    Args:
        title: heading of the page.
        test: test set that the systems were evaluated on.
        systems: systems with their scores; the unedited MT comes first, if mt is known.
        tables: analyses of the systems.
        warnings: sentences about the texts that a reader must know.
        verdicts: sentences that say which system is better.
    """
    if len(test.pe) > LISTED:
        shown = f"only the first {LISTED:,} of {len(test.pe):,} sentences are listed here, as browsers cannot hold more"
        warnings = [*warnings, f"{shown}; the tables and charts count all"]
    body = [
        *(f'<p class="conclusion">{escape(verdict)}</p>' for verdict in verdicts),
        *(f'<p class="warning" role="note">{escape(warning)}.</p>' for warning in warnings),
        *(analysis(table, is_open=number == 0) for number, table in enumerate(tables)),
        _charts(systems, has_mt=test.mt is not None),
        asset("score_page.html"),
        data_element(_data(test, systems)),
    ]
    scripts = ["paging.js", "differences.js", "score_page.js"]
    return document(title, body, styles=["page.css", "score_page.css"], scripts=scripts)


def _charts(systems: Sequence[EvaluatedSystem], *, has_mt: bool) -> str:
    names = [*(str(RATE_BIN * place) for place in range(RATE_BINS)), f">{RATE_BIN * (RATE_BINS - 1)}"]
    rates = [
        Series(system.name, list(100.0 * system.rates / system.scores.lines), colour)
        for colour, system in enumerate(systems)
    ]
    kinds = [Series(system.name, system.total.left.kinds.tolist(), colour) for colour, system in enumerate(systems)]
    charts = [
        bar_chart("Sentences by TER against the post-edit (up to)", names, rates, "%"),
        bar_chart("Edits left to do, by kind", KINDS, kinds, "edits"),
    ]
    if has_mt:
        changed = enumerate(systems[1:], start=1)
        gains = [Series(system.name, list(system.gains), colour) for colour, system in changed]
        inner = [f"{place:+d}" if place else "0" for place in range(1 - MOST_GAIN, MOST_GAIN)]
        labels = [f"≤-{MOST_GAIN}", *inner, f"≥+{MOST_GAIN}"]
        title = "Changed sentences by edits saved (right: better than mt; left: worse)"
        charts.insert(1, bar_chart(title, labels, gains, "sentences"))
    heading = '<section aria-labelledby="charts"><h2 id="charts">Distributions</h2>'
    return f'{heading}<div class="charts">{"".join(charts)}</div></section>'


def _data(test: TestSet, systems: Sequence[EvaluatedSystem]) -> dict[str, Any]:
    """Return the first `LISTED` sentences, column by column."""
    labels = test.labels
    place = {label: number for number, label in enumerate(labels)}
    return {
        "kinds": KINDS,
        "src": test.src and test.src[:LISTED],
        "mt": test.mt and test.mt[:LISTED],
        "pe": test.pe[:LISTED],
        "length": systems[0].listed[:, 2].tolist(),
        "labels": labels,
        "groups": [place[label] for label in (test.groups or ())[:LISTED]],
        "systems": [
            {
                "name": system.name,
                "outputs": None if system.outputs is test.mt else system.outputs[:LISTED],
                "edits": system.listed[:, 0].tolist(),
                "needs": system.listed[:, 1].tolist(),
            }
            for system in systems
        ],
    }
