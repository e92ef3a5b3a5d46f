"""Attention as a heat map: one SVG drawing, coloured by the style sheet of the page it stands in."""

from collections.abc import Sequence
from html import escape
from typing import Final

import numpy as np
from numpy.typing import NDArray

_CELL: Final = 17  # pixels; the style sheet draws squares one pixel smaller, so a grid shows between them
_LETTER: Final = 6.6  # pixels a letter takes in the labels' 12-pixel type, a little generous
_LONGEST: Final = 20  # letters of a label before it is cut short; the whole word is in the tooltip
_SLANT: Final = 0.8  # sine of the angle at which column labels rise
_FAINTEST: Final = 0.005  # weights that would round to 0 % are left out, which keeps the page small


def heat_map(rows: Sequence[str], columns: Sequence[str], weights: NDArray[np.floating], label: str) -> str:
    """Return an SVG element with one square for each pair of words, the darker the greater its weight.

    Args:
        rows: K words, from top to bottom.
        columns: S words, from left to right.
        weights: Float[K,S], 0 to 1.
        label: what it shows, for those who cannot see it.
    """
    left = _label_space(rows)
    top = _label_space(columns) * _SLANT + 8
    width, height = left + _CELL * len(columns) + _label_space(columns) * (1 - _SLANT) + 12, top + _CELL * len(rows) + 2
    parts = [
        f'<svg class="heat" role="img" aria-label="{escape(label)}" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f'<path class="grid" d="M{left:.0f} {top:.0f}h{_CELL * len(columns)}v{_CELL * len(rows)}'
        f'h-{_CELL * len(columns)}z"/>',
    ]
    for column, word in enumerate(columns):
        x, y = left + _CELL * (column + 0.5), top - 5
        parts.append(f'<text transform="translate({x:.1f} {y:.1f})rotate(-53)">{_label(word)}</text>')
    for row, word in enumerate(rows):
        y = top + _CELL * (row + 0.5)
        parts.append(f'<text class="row" x="{left - 6:.0f}" y="{y:.1f}">{_label(word)}</text>')
    for row, column in np.argwhere(weights >= _FAINTEST).tolist():
        weight = float(weights[row, column])
        parts.append(
            f'<rect x="{left + _CELL * column:.0f}" y="{top + _CELL * row:.0f}" fill-opacity="{weight:.3f}">'
            f"<title>{escape(rows[row])} → {escape(columns[column])}: {weight:.0%}</title></rect>"
        )
    return "".join([*parts, "</svg>"])


def _label_space(words: Sequence[str]) -> float:
    longest = max((min(len(word), _LONGEST) for word in words), default=0)
    return longest * _LETTER + 12


def _label(word: str) -> str:
    if len(word) <= _LONGEST:
        return escape(word)
    return f"<title>{escape(word)}</title>{escape(word[: _LONGEST - 1])}…"
