"""Bar charts as SVG, with no library and no script."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import count
from math import ceil
from typing import Final

_COLOURS: Final = ("#767676", "#2b6cb0", "#d97b29", "#2f8f5b", "#8a4fb0", "#b3362d")
_WIDTH: Final = 360
_HEIGHT: Final = 150
_TOP: Final = 10
_LEFT: Final = 38
_BOTTOM: Final = 22
"""Pixels on a telephone; wider screens enlarge a chart."""

_TICKS: Final = 5  # most ticks above zero


@dataclass(frozen=True, slots=True)
class Series:
    """Bars of one colour, by its number: a value, 0 or more, for each label of the chart."""

    name: str
    values: Sequence[float]
    colour: int


def bar_chart(title: str, labels: Sequence[str], series: Sequence[Series], unit: str) -> str:
    """Return a figure with a group of bars, one of each series, over each label."""
    ticks = whole_ticks(max((value for one in series for value in one.values), default=0.0))
    most = ticks[-1]
    step = (_WIDTH - _LEFT) / max(1, len(labels))
    width = 0.8 * step / max(1, len(series))
    fills = [_COLOURS[one.colour % len(_COLOURS)] for one in series]
    parts = [_axis(ticks, unit)]
    for group, label in enumerate(labels):
        middle = _LEFT + (group + 0.5) * step
        parts.append(f'<text x="{middle:.1f}" y="{_TOP + _HEIGHT + 14}" text-anchor="middle">{escape(label)}</text>')
        for place, one in enumerate(series):
            height = _HEIGHT * one.values[group] / most
            left = middle - 0.4 * step + place * width
            hint = escape(f"{one.name}, {label}: {one.values[group]:,.{int(unit == '%')}f} {unit}")
            parts.append(
                f'<rect x="{left:.1f}" y="{_TOP + _HEIGHT - height:.1f}" width="{max(width - 1, 0.5):.1f}" '
                f'height="{height:.1f}" fill="{fills[place]}"><title>{hint}</title></rect>'
            )
    keys = "".join(
        f'<li><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" '
        f'fill="{fill}"/></svg> {escape(one.name)}</li>'
        for one, fill in zip(series, fills)
    )
    total = _TOP + _HEIGHT + _BOTTOM
    return (
        f'<figure class="chart"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {_WIDTH} {total}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
        f"<ul>{keys}</ul></figure>"
    )


def whole_ticks(most: float) -> range:
    """Return whole numbers from 0 to `most` or a little more, at steps of 1, 2 or 5 times a power of ten."""
    steps = (digit * 10**power for power in count() for digit in (1, 2, 5))
    step = next(step for step in steps if step * _TICKS >= most)
    return range(0, step * max(1, ceil(most / step)) + 1, step)


def _axis(ticks: range, unit: str) -> str:
    lines = []
    for tick in ticks:
        y = _TOP + _HEIGHT * (1 - tick / ticks[-1])
        lines.append(f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        text = f"{tick:,}{' %' if unit == '%' else ''}"
        lines.append(f'<text x="{_LEFT - 5}" y="{y + 3.5:.1f}" text-anchor="end">{text}</text>')
    return "".join(lines)
