"""One HTML page about systems over a test set: all tables, histograms, and every sentence to sort and filter.

The page holds the sentences as JSON. Its script shows them page by page, and inserts texts by `textContent` alone.
"""

from collections.abc import Sequence
from html import escape
from typing import Any, Final

import numpy as np

from postedit.evaluate.table import Table
from postedit.evaluate.test_set import KINDS, EvaluatedSystem, TestSet
from postedit.explain.charts import Series, bar_chart
from postedit.explain.document import analysis, asset, data_element, document

_BIN: Final = 10
_BINS: Final = 11
"""Bars of the histogram of TER: none, ten of ten per cent each, the last one without an end."""

_MOST: Final = 6  # edits more or fewer, beyond which the histogram of gains puts all together


def score_page(
    title: str,
    test: TestSet,
    systems: Sequence[EvaluatedSystem],
    tables: Sequence[Table],
    warnings: Sequence[str] = (),
    verdicts: Sequence[str] = (),
) -> str:
    """Return a self-contained HTML document.

    Args:
        title: heading of the page.
        test: the texts.
        systems: the unedited MT first, if mt is known.
        tables: the analyses.
        warnings: sentences about the texts that a reader must know.
        verdicts: sentences that say which system is better.
    """
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
    names = [*(str(_BIN * place) for place in range(_BINS)), f">{_BIN * (_BINS - 1)}"]
    rates = []
    for colour, system in enumerate(systems):
        columns = np.minimum(np.ceil(system.left.rates / _BIN), _BINS).astype(np.int64)
        shares = 100.0 * np.bincount(columns, minlength=_BINS + 1) / max(1, len(columns))
        rates.append(Series(system.name, list(shares), colour))
    kinds = [Series(system.name, system.left.kinds.sum(0).tolist(), colour) for colour, system in enumerate(systems)]
    charts = [
        bar_chart("Sentences by TER against the post-edit (up to)", names, rates, "%"),
        bar_chart("Edits left to do, by kind", KINDS, kinds, "edits"),
    ]
    if has_mt:
        changed = enumerate(systems[1:], start=1)
        gains = [Series(system.name, _gains(systems[0], system), colour) for colour, system in changed]
        inner = [f"{place:+d}" if place else "0" for place in range(1 - _MOST, _MOST)]
        labels = [f"≤-{_MOST}", *inner, f"≥+{_MOST}"]
        title = "Changed sentences by edits spared (right: better than mt; left: worse)"
        charts.insert(1, bar_chart(title, labels, gains, "sentences"))
    heading = '<section aria-labelledby="charts"><h2 id="charts">Distributions</h2>'
    return f'{heading}<div class="charts">{"".join(charts)}</div></section>'


def _gains(base: EvaluatedSystem, system: EvaluatedSystem) -> list[float]:
    """Return how many changed sentences gained -6 or less, -5, ..., 6 or more edits."""
    changed = np.array([old != new for old, new in zip(base.outputs, system.outputs)])
    gains = np.clip(base.left.total - system.left.total, -_MOST, _MOST)[changed]
    return list(np.bincount(gains + _MOST, minlength=2 * _MOST + 1))


def _data(test: TestSet, systems: Sequence[EvaluatedSystem]) -> dict[str, Any]:
    """Return all sentences, column by column."""
    labels = list(dict.fromkeys(test.groups or ()))
    place = {label: number for number, label in enumerate(labels)}
    flags = 1 << np.arange(len(KINDS))
    return {
        "kinds": KINDS,
        "src": test.src,
        "mt": test.mt,
        "pe": test.pe,
        "length": systems[0].left.length.tolist(),
        "labels": labels,
        "groups": [place[label] for label in test.groups or ()],
        "systems": [
            {
                "name": system.name,
                "outputs": None if system.outputs is test.mt else system.outputs,
                "edits": system.left.total.tolist(),
                "needs": ((system.left.kinds > 0) @ flags).tolist(),
            }
            for system in systems
        ],
    }
