"""Charts of values with their intervals as SVG, with no library and no script."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Final

_COLOURS: Final = ("#2b6cb0", "#d97b29", "#2f8f5b", "#8a4fb0", "#b3362d", "#767676")
"""Of curves, in their order; they can be told apart on light and dark paper."""

_WIDTH: Final = 360
_ROW: Final = 40
_MARGIN: Final = 14
_HEIGHT: Final = 170
_LEFT: Final = 44
_BOTTOM: Final = 34
"""Pixels on a telephone; wider screens enlarge a chart."""

_STEPS: Final = 5  # most steps of an axis


@dataclass(frozen=True, slots=True)
class Ranged:
    """A value with the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Values at places of the axis below, by rising place."""

    name: str
    places: Sequence[float]
    values: Sequence[Ranged]


def interval_chart(title: str, values: Sequence[tuple[str, Ranged]], unit: str) -> str:
    """Return a figure with a line from low to high, and a dot at the value, for each label."""
    ticks = even_ticks([0.0, *(end for _, one in values for end in (one.low, one.high))])
    height = _ROW * len(values)

    def x(value: float) -> float:
        return _MARGIN + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (_WIDTH - 2 * _MARGIN)

    parts = [_vertical(x(tick), height, f"{tick:g}", strong=tick == 0.0) for tick in ticks]
    for row, (label, one) in enumerate(values):
        middle = row * _ROW + 28
        colour = "var(--good)" if one.low > 0.0 else "var(--bad)" if one.high < 0.0 else "var(--soft)"
        hint = f"{escape(label)}: {_told(one, unit)}"
        parts.append(
            f'<g><title>{hint}</title><text x="{_MARGIN}" y="{middle - 10}" class="name">{escape(label)}</text>'
            f'<path d="M{x(one.low):.1f} {middle}H{x(one.high):.1f}" stroke="{colour}" stroke-width="3"/>'
            f'<circle cx="{x(one.value):.1f}" cy="{middle}" r="4.5" fill="{colour}"/></g>'
        )
    parts.append(f'<text x="{_WIDTH - _MARGIN}" y="{height + 28}" text-anchor="end">{escape(unit)}</text>')
    return _figure(title, height + _BOTTOM, parts)


def curve_chart(title: str, curves: Sequence[Curve], unit: str, below: str) -> str:
    """Return a figure with a line through the values of each curve and a band between their ends, over a log axis."""
    ends = [end for curve in curves for one in curve.values for end in (one.low, one.high)]
    ticks = even_ticks([0.0, *ends])
    places = sorted({place for curve in curves for place in curve.places})
    first, last = log10(places[0]), log10(places[-1])

    def x(place: float) -> float:
        return _LEFT + (log10(place) - first) / max(last - first, 1e-9) * (_WIDTH - _LEFT - _MARGIN)

    def y(value: float) -> float:
        return _MARGIN + (ticks[-1] - value) / (ticks[-1] - ticks[0]) * (_HEIGHT - 2 * _MARGIN)

    parts = [
        f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"{_strong(tick == 0.0)}/>'
        f'<text x="{_LEFT - 6}" y="{y(tick) + 3.5:.1f}" text-anchor="end">{tick:g}</text>'
        for tick in ticks
    ]
    for place in places:
        anchor = "end" if place == places[-1] else "middle"
        parts.append(f'<text x="{x(place):.1f}" y="{_HEIGHT + 4}" text-anchor="{anchor}">{place:,.0f}</text>')
    parts.append(f'<text x="{_WIDTH}" y="{_HEIGHT + 20}" text-anchor="end">{escape(below)}</text>')
    for curve, colour in zip(curves, _COLOURS * len(curves), strict=False):
        pairs = list(zip(curve.places, curve.values, strict=True))
        upper = " ".join(f"{x(place):.1f},{y(one.high):.1f}" for place, one in pairs)
        lower = " ".join(f"{x(place):.1f},{y(one.low):.1f}" for place, one in reversed(pairs))
        line = " ".join(f"{x(place):.1f},{y(one.value):.1f}" for place, one in pairs)
        parts.append(f'<polygon points="{upper} {lower}" fill="{colour}" opacity=".16"/>')
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for place, one in pairs:
            hint = f"<title>{escape(curve.name)}, {place:,.0f}: {_told(one, unit)}</title>"
            parts.append(f'<circle cx="{x(place):.1f}" cy="{y(one.value):.1f}" r="3.5" fill="{colour}">{hint}</circle>')
    keys = "".join(
        f'<li><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill="{colour}"/></svg> '
        f"{escape(curve.name)}</li>"
        for curve, colour in zip(curves, _COLOURS * len(curves), strict=False)
    )
    return _figure(f"{title}, {unit}", _HEIGHT + 24, parts, keys)


def even_ticks(values: Sequence[float]) -> list[float]:
    """Return numbers at steps of 1, 2 or 5 times a power of ten that include all values."""
    low, high = min(values), max(values)
    wanted = max(high - low, 1e-6) / _STEPS
    power = 10.0 ** floor(log10(wanted))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= wanted)
    first, last = floor(low / step + 1e-9), max(ceil(high / step - 1e-9), floor(low / step + 1e-9) + 1)
    return [round(number * step, 10) for number in range(first, last + 1)]


def _vertical(x: float, height: float, text: str, *, strong: bool) -> str:
    line = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}"{_strong(strong)}/>'
    return f'{line}<text x="{x:.1f}" y="{height + 14}" text-anchor="middle">{text}</text>'


def _told(one: Ranged, unit: str) -> str:
    return f"{one.value:z.2f}, {one.low:z.2f} to {one.high:z.2f} {escape(unit)}"


def _strong(strong: bool) -> str:
    return ' class="zero"' if strong else ""


def _figure(title: str, height: float, parts: Sequence[str], keys: str = "") -> str:
    listed = f"<ul>{keys}</ul>" if keys else ""
    return (
        f'<figure class="chart"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
        f"{listed}</figure>"
    )
