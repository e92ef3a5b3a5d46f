"""Bars, intervals and curves are drawn where their values belong."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from tests.unit.explain.pages import needs_browser, opened

from postedit.explain.charts import Curve, Ranged, Series, bar_chart, curve_chart, interval_chart
from postedit.explain.document import document


def level(chart: str, value: str) -> float:
    """Return the height, in pixels from the top, of the line across a chart that has this number."""
    (height,) = re.findall(rf'y1="([\d.]+)"[^>]*/><text[^>]*>{re.escape(value)}</text>', chart)
    return float(height)


def points(chart: str, kind: str) -> list[tuple[float, float]]:
    """Return the points of a polygon or polyline."""
    (found,) = re.findall(rf'<{kind} points="([^"]+)"', chart)
    return [(float(x), float(y)) for x, y in (point.split(",") for point in found.split())]


def test_bars_stand_side_by_side_on_the_axis_and_reach_their_values() -> None:
    chart = bar_chart("t", ["a", "b"], [Series("s", [2, 4], 0), Series("t", [3, 1], 1)], "edits")
    bars = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', chart)
    found = [tuple(map(float, bar)) for bar in bars]
    for (_, top, _, height), value in zip(found, [2, 3, 4, 1], strict=True):
        assert top == pytest.approx(level(chart, str(value)), abs=0.1)
        assert top + height == pytest.approx(level(chart, "0"), abs=0.1)
    assert level(chart, "4") < level(chart, "0")
    assert all(left + width <= following for (left, _, width, _), (following, *_) in pairwise(found))


@pytest.mark.parametrize(
    ("low", "high", "colour"), [(0.5, 2.0, "good"), (-2.0, -0.5, "bad"), (-0.5, 2.0, "soft"), (-2.0, 0.5, "soft")]
)
def test_an_interval_has_the_colour_of_what_it_proves(low: float, high: float, colour: str) -> None:
    chart = interval_chart("t", [("one", Ranged((low + high) / 2, low, high))], "points")
    assert set(re.findall(r"var\(--(\w+)\)", chart)) == {colour}


def test_a_curve_runs_within_its_band_on_a_logarithmic_axis() -> None:
    values = [Ranged(1, 0, 2), Ranged(2, 1, 3), Ranged(3, 2, 4)]
    chart = curve_chart("t", [Curve("one", [10, 100, 1000], values)], "points", "triplets")
    line, band = points(chart, "polyline"), points(chart, "polygon")
    assert [y for _, y in line] == pytest.approx([level(chart, str(value)) for value in (1, 2, 3)], abs=0.1)
    assert [y for _, y in band] == pytest.approx([level(chart, str(end)) for end in (2, 3, 4, 2, 1, 0)], abs=0.1)
    x = [x for x, _ in line]
    assert [x for x, _ in band] == x + x[::-1]
    assert x[1] - x[0] == pytest.approx(x[2] - x[1], abs=0.2)


@pytest.mark.parametrize(
    ("places", "labels"),
    [
        ([300, 1_000, 5_000, 25_000], ["300", "1,000", "5,000", "25,000"]),
        ([900, 1_000, 5_000, 25_000], ["900", "5,000", "25,000"]),
        ([300, 4_900, 5_000, 25_000], ["300", "4,900", "25,000"]),
        ([300, 18_000, 25_000], ["300", "25,000"]),
    ],
)
def test_labels_below_a_curve_are_not_written_over_each_other(places: list[float], labels: list[str]) -> None:
    chart = curve_chart("t", [Curve("one", places, [Ranged(1, 0, 2)] * len(places))], "points", "triplets")
    assert sorted(re.findall(r'<text x="[\d.]+" y="182.0"[^>]*>([\d,]+)</text>', chart)) == sorted(labels)
    assert chart.count("<circle") == len(places)


@pytest.mark.slow
@needs_browser
def test_long_numbers_are_not_cut_off_and_long_names_stay_in_their_chart(tmp_path: Path) -> None:
    bars = bar_chart("t", ["a"], [Series("s", [1_234_567], 1)], "edits")
    interval = interval_chart("t", [("name" * 30, Ranged(1.0, 0.5, 1.5))], "points")
    action = """
    const shows = (text, x) => {
      const place = text.getBoundingClientRect();
      return document.elementFromPoint(x, (place.top + place.bottom) / 2) === text;
    };
    const numbers = [...document.querySelectorAll(".chart:first-of-type text[text-anchor=end]")];
    const whole = numbers.filter((number) => shows(number, number.getBoundingClientRect().left + 2));
    document.body.dataset.whole = whole.map((number) => number.textContent).join(" ");
    const [name] = document.querySelectorAll(".name");
    name.scrollIntoView();
    const edge = name.closest("svg").getBoundingClientRect().right;
    document.body.dataset.names = [-5, 5].map((from) => shows(name, edge + from)).join(" ");
    """
    html = document("t", [bars, interval], styles=["page.css", "score_page.css", "assessment_page.css"], scripts=[])
    dom = opened(html, tmp_path, action=action)
    assert 'data-whole="0 500,000 1,000,000 1,500,000"' in dom
    assert 'data-names="true false"' in dom
