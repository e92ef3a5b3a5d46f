import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.unit.explain.pages import NASTY, assert_nothing_is_fetched, needs_browser, opened

from postedit.evaluate.error_profile import error_profile
from postedit.evaluate.gain import SentenceGains
from postedit.evaluate.recommendation import Assessment, EditorGain, Workload
from postedit.explain.assessment_page import assessment_page
from postedit.explain.charts import Curve, Ranged, curve_chart, even_ticks, interval_chart


def gains(saved: list[int]) -> SentenceGains:
    values = np.array(saved)
    return SentenceGains(values, np.full(len(values), 10), values != 0, np.arange(len(values)) // 10)


def assessment(saved: list[int]) -> Assessment:
    mt, pe = [["Ebene", "a", NASTY.replace(" ", "")]] * 3, [["Schicht", "a", "b"]] * 3
    profile = error_profile([["layer", "the"]] * 3, mt, pe)
    editors = (
        EditorGain(NASTY, "cross-validated", gains(saved), gains([0] * len(saved))),
        EditorGain("b", "as it is", gains(saved)),
    )
    return Assessment(profile, editors, Workload(), "none", "TER", {NASTY: 3}, {"shipped": NASTY}, (NASTY,))


@pytest.mark.parametrize(("saved", "answer"), [([2, 1, 0] * 40, "Yes."), ([0, -1] * 60, "No.")])
def test_the_answer_comes_first(saved: list[int], answer: str) -> None:
    html = assessment_page("t", assessment(saved))
    assert html.index(answer) < html.index("At a glance") < html.index("What each editor gains")


@pytest.mark.parametrize(("count", "is_rough"), [(120, True), (1_300, False)])
def test_rough_forecasts_say_so_beside_the_chart_and_in_the_table(count: int, is_rough: bool) -> None:
    html = assessment_page("t", assessment([1, 0] * (count // 2)))
    assert html.count("is rough: on product help, the intervals for 20,000 triplets") == 2 * is_rough
    assert ("25,000 (rough)" in html) == is_rough
    chart, table = html.index("Expected gain with more triplets"), html.index("What each editor gains")
    assert not is_rough or chart < html.index("is rough: on product help") < table


def test_facts_with_equal_numbers_are_all_there() -> None:
    found = assessment([1, 0] * 60)
    page = assessment_page("t", replace(found, profile=replace(found.profile, segments=2, unchanged=1, systematic=3)))
    assert found.profile.changes == 6
    assert page.count("<b>50 %</b>") == 2
    page = assessment_page("t", replace(found, profile=replace(found.profile, segments=4, unchanged=1)))
    assert "<b>25 %</b>of the segments were left as they are" in page


def test_markup_in_text_stays_text() -> None:
    html = assessment_page(NASTY, assessment([1, 0] * 60))
    assert "<img" not in html
    assert html.index("</p>") < html.index('class="warning"') < html.index('class="facts"')
    assert html.count("<script") == html.count("</script>") == 1  # the page's own, which is empty
    assert_nothing_is_fetched(html)


@pytest.mark.parametrize(
    ("values", "ticks"),
    [([0.0, 0.3], [0, 0.1, 0.2, 0.3]), ([0.0, 3.4, -1.0], [-1, 0, 1, 2, 3, 4]), ([0.0], [0, 0.0000002])],
)
def test_ticks_include_all_values(values: list[float], ticks: list[float]) -> None:
    assert even_ticks(values) == pytest.approx(ticks)


def test_intervals_are_drawn_from_end_to_end() -> None:
    chart = interval_chart("t", [("one", Ranged(0.0, -1.0, 1.0))], "points")
    assert 'd="M14.0 28H346.0"' in chart
    assert 'cx="180.0"' in chart
    assert "one: 0.00, -1.00 to 1.00 points" in chart


def test_curves_have_a_band_and_a_key() -> None:
    chart = curve_chart("t", [Curve("one", [10, 1000], [Ranged(1, 0, 2), Ranged(2, 0, 4)])], "points", "triplets")
    assert chart.count("<polygon") == chart.count("<polyline") == 1
    assert "one, 1,000: 2.00, 0.00 to 4.00 points" in chart
    assert "</svg> one</li>" in chart


@pytest.mark.slow
@needs_browser
def test_a_browser_shows_it(tmp_path: Path) -> None:
    dom = opened(assessment_page("t", assessment([2, 1, 0] * 40)), tmp_path)
    assert dom.count('<figure class="chart"') == 3
    assert dom.count("</table></div>\n<figcaption>") == dom.count("<table") > 0, "notes do not scroll with their tables"
    assert dom.count("<details") == 6
    assert "Schicht" in dom


@pytest.mark.slow
@needs_browser
def test_each_chart_stands_right_below_its_title(tmp_path: Path) -> None:
    action = """
    document.body.style.cssText = "width: 1200px; max-width: none"; // two charts side by side
    const gaps = [...document.querySelectorAll(".chart")].map((chart) => {
      const [title, drawing] = [...chart.children].map((one) => one.getBoundingClientRect());
      return Math.round(drawing.top - title.bottom);
    });
    document.body.dataset.gaps = gaps.join();
    """
    dom = opened(assessment_page("t", assessment([2, 1, 0] * 40)), tmp_path, action=action)
    (gaps,) = re.findall(r'data-gaps="([-\d,]+)"', dom)
    assert len(gaps.split(",")) == 3
    assert all(0 <= int(gap) < 20 for gap in gaps.split(",")), gaps


@pytest.mark.slow
@needs_browser
def test_no_column_is_cut_off_on_paper(tmp_path: Path) -> None:
    action = """
    document.body.style.width = "718px"; // A4 between its margins
    const tables = [...document.querySelectorAll("[open] .scroll")];
    document.body.dataset.beyond = tables.map((one) => one.scrollWidth - one.clientWidth).join();
    """
    found = assessment([2, 1, 0] * 40)
    named = replace(found.editors[0], name="the model of postedit for this language pair")
    page = assessment_page("t", replace(found, editors=(named, found.editors[1])))
    html = page.replace("@media print", "@media all")
    (beyond,) = re.findall(r'data-beyond="([\d,]+)"', opened(html, tmp_path, action=action))
    assert set(beyond.split(",")) == {"0"}
