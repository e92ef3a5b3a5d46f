"""Charts of bars, of values with their intervals, and of curves, as SVG without libraries or scripts."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Final

_COLOURS: Final = ("#2b6cb0", "#d97b29", "#2f8f5b", "#8a4fb0", "#b3362d")
_GREY: Final = "#767676"
"""Colours that can be told apart on a light and on a dark background."""

_WIDTH: Final = 360
_MARGIN: Final = 14
_LEFT: Final = 44  # width of the labels of the vertical axis
_PLOT: Final = 150  # height between the lowest and the highest tick
_ROW: Final = 40  # height of an interval with its name
_BELOW: Final = 34  # height of the labels below an axis
_LABEL: Final = 36  # width of a label below an axis
"""Sizes in pixels on a telephone; wider screens enlarge a chart."""

_STEPS: Final = 5  # steps into which the range of the values is divided at most


@dataclass(frozen=True, slots=True)
class Series:
    """Bars of one colour, given by its number (0 is grey): a value of at least 0 for each label of the chart."""

    name: str
    values: Sequence[float]
    colour: int


@dataclass(frozen=True, slots=True)
class Ranged:
    """A value and the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Values at places of the horizontal axis, in ascending order of the places."""

    name: str
    places: Sequence[float]
    values: Sequence[Ranged]


def bar_chart(title: str, labels: Sequence[str], series: Sequence[Series], unit: str) -> str:
    """Return a figure with a group of bars above each label, one bar for each series."""
    ticks = even_ticks([0.0, *(value for one in series for value in one.values)], smallest=1.0)
    step = (_WIDTH - _LEFT) / max(1, len(labels))
    width = 0.8 * step / max(1, len(series))
    colours = [_COLOURS[(one.colour - 1) % len(_COLOURS)] if one.colour else _GREY for one in series]
    bottom = _height(0.0, ticks)
    parts = _levels(ticks, " %" if unit == "%" else "")
    for group, label in enumerate(labels):
        middle = _LEFT + (group + 0.5) * step
        parts.append(f'<text x="{middle:.1f}" y="{bottom + 14}" text-anchor="middle">{escape(label)}</text>')
        for place, (one, colour) in enumerate(zip(series, colours, strict=True)):
            top = _height(one.values[group], ticks)
            left = middle - 0.4 * step + place * width
            hint = escape(f"{one.name}, {label}: {one.values[group]:,.{int(unit == '%')}f} {unit}")
            parts.append(
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(width - 1, 0.5):.1f}" '
                f'height="{bottom - top:.1f}" fill="{colour}"><title>{hint}</title></rect>'
            )
    return _figure(title, bottom + 22, parts, [(one.name, colour) for one, colour in zip(series, colours, strict=True)])


def interval_chart(title: str, values: Sequence[tuple[str, Ranged]], unit: str) -> str:
    """Return a figure with, for each label, a line from the low to the high end and a dot at the value."""
    ticks = even_ticks([0.0, *(end for _, one in values for end in (one.low, one.high))])
    height = _ROW * len(values)

    def x(value: float) -> float:
        return _MARGIN + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (_WIDTH - 2 * _MARGIN)

    parts = [
        f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="0" y2="{height}"{_tick_class(tick)}/>'
        f'<text x="{x(tick):.1f}" y="{height + 14}" text-anchor="middle">{_number(tick)}</text>'
        for tick in ticks
    ]
    for row, (label, one) in enumerate(values):
        middle = row * _ROW + 28
        colour = "var(--good)" if one.low > 0.0 else "var(--bad)" if one.high < 0.0 else "var(--soft)"
        hint = f"{escape(label)}: {_interval_in_words(one, unit)}"
        parts.append(
            f'<g><title>{hint}</title><text x="{_MARGIN}" y="{middle - 10}" class="name">{escape(label)}</text>'
            f'<path d="M{x(one.low):.1f} {middle}H{x(one.high):.1f}" stroke="{colour}" stroke-width="3"/>'
            f'<circle cx="{x(one.value):.1f}" cy="{middle}" r="4.5" fill="{colour}"/></g>'
        )
    parts.append(f'<text x="{_WIDTH - _MARGIN}" y="{height + 28}" text-anchor="end">{escape(unit)}</text>')
    return _figure(title, height + _BELOW, parts)


def curve_chart(title: str, curves: Sequence[Curve], unit: str, below: str) -> str:
    """Return a figure with a line through each curve's values and a band for their intervals, on a logarithmic axis."""
    ticks = even_ticks([0.0, *(end for curve in curves for one in curve.values for end in (one.low, one.high))])
    places = sorted({place for curve in curves for place in curve.places})
    first, last = log10(places[0]), log10(places[-1])
    colours = [_COLOURS[number % len(_COLOURS)] for number in range(len(curves))]
    bottom = _height(ticks[0], ticks)

    def x(place: float) -> float:
        return _LEFT + (log10(place) - first) / max(last - first, 1e-9) * (_WIDTH - _LEFT - _MARGIN)

    def y(value: float) -> float:
        return _height(value, ticks)

    parts = _levels(ticks)
    # A place that is close to another has no label, which would be written over that of the other.
    middles = {places[0]: x(places[0]), places[-1]: x(places[-1]) - _LABEL / 2}
    for place in places[1:-1]:
        if all(abs(x(place) - other) >= _LABEL for other in middles.values()):
            middles[place] = x(place)
    for place, middle in middles.items():
        parts.append(f'<text x="{middle:.1f}" y="{bottom + 18}" text-anchor="middle">{place:,.0f}</text>')
    parts.append(f'<text x="{_WIDTH}" y="{bottom + _BELOW}" text-anchor="end">{escape(below)}</text>')
    for curve, colour in zip(curves, colours, strict=True):
        pairs = list(zip(curve.places, curve.values, strict=True))
        upper = " ".join(f"{x(place):.1f},{y(one.high):.1f}" for place, one in pairs)
        lower = " ".join(f"{x(place):.1f},{y(one.low):.1f}" for place, one in reversed(pairs))
        line = " ".join(f"{x(place):.1f},{y(one.value):.1f}" for place, one in pairs)
        parts.append(f'<polygon points="{upper} {lower}" fill="{colour}" opacity=".16"/>')
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for place, one in pairs:
            hint = f"<title>{escape(curve.name)}, {place:,.0f}: {_interval_in_words(one, unit)}</title>"
            parts.append(f'<circle cx="{x(place):.1f}" cy="{y(one.value):.1f}" r="3.5" fill="{colour}">{hint}</circle>')
    keys = [(curve.name, colour) for curve, colour in zip(curves, colours, strict=True)]
    return _figure(f"{title}, {unit}", bottom + _BELOW + 4, parts, keys)


def even_ticks(values: Sequence[float], smallest: float = 1e-6 / _STEPS) -> list[float]:
    """Return ticks that span all values, at steps of 1, 2 or 5 times a power of ten and of at least `smallest`."""
    low, high = min(values), max(values)
    wanted = max((high - low) / _STEPS, smallest)
    power = 10.0 ** floor(log10(wanted))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= wanted)
    first, last = floor(low / step + 1e-9), max(ceil(high / step - 1e-9), floor(low / step + 1e-9) + 1)
    return [round(number * step, 10) for number in range(first, last + 1)]


def _height(value: float, ticks: Sequence[float]) -> float:
    """Return the vertical position of a value between the lowest and the highest tick, in pixels from the top."""
    return _MARGIN + (ticks[-1] - value) / (ticks[-1] - ticks[0]) * _PLOT


def _levels(ticks: Sequence[float], sign: str = "") -> list[str]:
    """Return a line across the chart for each tick, labelled with its number followed by `sign`."""
    return [
        f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{_height(tick, ticks):.1f}" y2="{_height(tick, ticks):.1f}"'
        f"{_tick_class(tick)}/>"
        f'<text x="{_LEFT - 6}" y="{_height(tick, ticks) + 3.5:.1f}" text-anchor="end">{_number(tick)}{sign}</text>'
        for tick in ticks
    ]


def _number(tick: float) -> str:
    return f"{tick:,.10g}"


def _interval_in_words(one: Ranged, unit: str) -> str:
    return f"{one.value:z.2f}, {one.low:z.2f} to {one.high:z.2f} {escape(unit)}"


def _tick_class(tick: float) -> str:
    return ' class="zero"' if tick == 0.0 else ""


def _figure(title: str, height: float, parts: Sequence[str], keys: Sequence[tuple[str, str]] = ()) -> str:
    """Return the figure with a title and a legend, made of pairs of a name and its colour."""
    items = "".join(
        f'<li><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill="{colour}"/></svg> '
        f"{escape(name)}</li>"
        for name, colour in keys
    )
    listed = f"<ul>{items}</ul>" if items else ""
    return (
        f'<figure class="chart"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {_WIDTH} {height:g}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
        f"{listed}</figure>"
    )
