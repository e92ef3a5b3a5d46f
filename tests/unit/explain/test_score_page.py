import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import browser
import pytest
from tests.unit.explain.pages import (
    NASTY,
    assert_markup_in_text_stays_text,
    assert_nothing_is_fetched,
    data_of,
    lines_chosen,
    lines_shown,
    needs_browser,
    opened,
)

from postedit.evaluate import analyses
from postedit.evaluate.test_set import TestSet, evaluate_systems
from postedit.explain.charts import Series, bar_chart, even_ticks
from postedit.explain.score_page import score_page

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node to run the page's script")

ARABIC = "القط نائم"
JAPANESE = "猫が 寝て いる"


def page(lines: int = 1) -> str:
    pe = [NASTY, ARABIC, JAPANESE] * lines
    test = TestSet(pe, [f"{line} x" for line in pe], [NASTY] * len(pe), [NASTY, "b", "b"] * lines)
    systems = evaluate_systems(test, {NASTY: [f"y {line}" for line in pe]})
    tables = [analyses.overview([system.scores for system in systems]), *analyses.by_bucket(systems)]
    return score_page(NASTY, test, systems, tables, [NASTY])


def test_markup_in_text_stays_text() -> None:
    html = page()
    assert_markup_in_text_stays_text(html)
    assert_nothing_is_fetched(html)
    assert data_of(html)["pe"][0] == NASTY


def test_all_sentences_are_in_it() -> None:
    data = data_of(page(40))
    assert len(data["pe"]) == len(data["src"]) == len(data["systems"][1]["outputs"]) == 120
    assert data["systems"][0]["outputs"] is None  # those of mt, which are there
    assert data["systems"][0]["edits"][1] == 1
    assert data["labels"] == [NASTY, "b"]
    assert data["kinds"][3] == "deletions"
    assert data["systems"][0]["needs"][1] == 1 << 3


def test_verdicts_come_first() -> None:
    test = TestSet(["a b"], ["a c"])
    systems = evaluate_systems(test, {"model": ["a b"]})
    verdicts = analyses.verdicts(systems, analyses.ter_differences(systems))
    html = score_page("t", test, systems, [analyses.overview([system.scores for system in systems])], [], verdicts)
    assert (
        '<h1>t</h1>\n<p class="conclusion">model cannot be told apart from the unedited MT: TER is lower by 50' in html
    )


@pytest.mark.parametrize(
    ("most", "ticks"), [(0, [0, 1]), (1, [0, 1]), (3, [0, 1, 2, 3]), (7, [0, 2, 4, 6, 8]), (31.6, [0, 10, 20, 30, 40])]
)
def test_ticks_are_whole_numbers_up_to_the_largest_value(most: float, ticks: list[int]) -> None:
    assert even_ticks([0.0, most], smallest=1.0) == ticks


def test_grey_is_the_colour_of_the_unedited_mt_alone() -> None:
    charts = [bar_chart("t", ["a"], [Series("s", [1], colour)], "edits") for colour in range(12)]
    assert ["#767676" in chart for chart in charts] == [True] + [False] * 11
    assert charts[1] == charts[6] == charts[11]


def test_counts_are_whole_numbers() -> None:
    chart = bar_chart("t", ["a"], [Series("s", [12345], 0)], "edits")
    assert "s, a: 12,345 edits" in chart
    assert ">15,000<" in chart


def test_missing_texts_are_left_out_of_the_page() -> None:
    test = TestSet(["a b"])
    systems = evaluate_systems(test, {"model": ["a c"]})
    html = score_page("t", test, systems, [analyses.overview([system.scores for system in systems])])
    data = data_of(html)
    assert data["src"] is data["mt"] is None
    assert data["systems"][0]["outputs"] == ["a c"]
    assert "better than mt; left" not in html


@needs_node
@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a b", "a b", [["", "", "a b"]]),
        ("a b", "a c", [["", "", "a"], ["del", "substitutions", "b"], ["ins", "substitutions", "c"]]),
        ("a b", "b", [["del", "deletions", "a"], ["", "", "b"]]),
        ("", "a", [["ins", "insertions", "a"]]),
        ("a\u00a0b\x1cc", "a b\u3000c", [["", "", "a b c"]]),  # the same words to TER
        (
            "a\ufeffb",
            "a b",
            [["del", "substitutions", "a\ufeffb"], ["ins", "insertions", "a"], ["ins", "substitutions", "b"]],
        ),
        ("x a b c", "a b c x", [["del", "shifts", "x"], ["", "", "a b c"], ["ins", "shifts", "x"]]),
    ],
)
def test_differences_by_kind(before: str, after: str, expected: list[list[str]], tmp_path: Path) -> None:
    path = tmp_path / "page.js"
    path.write_text(files("postedit.explain").joinpath("differences.js").read_text(encoding="utf-8"))
    program = (
        f"const page = require({json.dumps(str(path))});"
        f"const [a, b] = {json.dumps([before, after])}.map(page.words);"
        "console.log(JSON.stringify(page.differences(a, b).map((r) => [r.tag, r.kind, r.words.join(' ')])))"
    )
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == expected


@needs_node
def test_browsers_without_a_dictionary_compare_letter_by_letter() -> None:
    script = files("postedit.explain").joinpath("differences.js")
    program = (
        "Intl.Segmenter = undefined;"
        f"const page = require({json.dumps(str(script))});"
        "console.log(JSON.stringify(['น้ำ A', '\u0301\u0301', ''].map(page.segments)))"
    )
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [["น้", "ำ", " ", "A"], ["\u0301\u0301"], []]


@needs_browser
def test_texts_without_spaces_are_compared_word_by_word(tmp_path: Path) -> None:
    mt, pe = "กรุณาเลือกไฟล์ของคุณ", "กรุณาเลือกเอกสารของคุณ"
    test = TestSet([pe], [mt], [NASTY])
    systems = evaluate_systems(test, {"model": [mt]})
    dom = opened(score_page("t", test, systems, [analyses.overview([one.scores for one in systems])]), tmp_path)
    replaced = '<del class="substitutions">ไฟล์</del><ins class="substitutions">เอกสาร</ins>'
    assert f'<dd dir="ltr" class="diff">กรุณาเลือก{replaced}ของคุณ</dd>' in dom


@needs_browser
def test_a_browser_shows_a_page_of_it(tmp_path: Path) -> None:
    dom = opened(page(40), tmp_path)
    assert dom.count("<article>") == 25
    assert "1–25 of 120 sentences" in dom
    assert "<title>&lt;/script&gt;" in dom  # what the text asks for was not done
    assert '<ins class="insertions">y</ins>' in dom
    assert f'<dd dir="auto">{ARABIC}</dd>' in dom
    assert "<img" not in dom.split("<script", 1)[0]


@pytest.mark.slow
@needs_browser
def test_the_letters_of_all_texts_decide_on_direction(tmp_path: Path) -> None:
    pe = ["Foo يفتح الملف", "Foo"]
    test = TestSet(pe, ["Foo يغلق الملف", "Foo"], ["Foo opens the file", "Foo"])
    systems = evaluate_systems(test, {"model": pe})
    dom = opened(score_page("t", test, systems, [analyses.overview([one.scores for one in systems])]), tmp_path)
    assert '<dd dir="ltr">Foo opens the file</dd>' in dom
    assert dom.count(f'<dd dir="rtl">{pe[0]}</dd>') == 2  # the output and the post-edit
    assert '<dd dir="rtl" class="diff">' in dom
    assert 'dir="auto"' not in dom


@pytest.mark.slow
@needs_browser
def test_sorting_and_filtering(tmp_path: Path) -> None:
    expected = {
        "worst": ["2", "1", "3", "4"],  # TER 200, 100, 50, 0
        "gain": ["4", "2", "3", "1"],  # edits saved 1, 0, 0, -2
        "long": ["1", "3", "4", "2"],
        "worse": ["1"],
        "better": ["4"],
        "kept": ["2", "3"],
        "changed": ["1", "4"],
    }
    test = TestSet(["a b", "c", "d e", "f g"], ["a b", "x y", "d x", "f x"])
    systems = evaluate_systems(test, {"model": ["x y", "x y", "d x", "f g"]})
    html = score_page("t", test, systems, [analyses.overview([system.scores for system in systems])])
    assert dict(zip(expected, lines_chosen(html, tmp_path, *expected), strict=True)) == expected
    assert lines_shown(opened(html, tmp_path, 'value="worst"')) == expected["worst"], "chosen from the start"


@pytest.mark.slow
@needs_browser
def test_spaces_are_shown_as_they_are(tmp_path: Path) -> None:
    test = TestSet(["a  b\tc"], ["a b c"])
    systems = evaluate_systems(test, {"model": ["a  b\tc"]})
    path = tmp_path / "page.html"
    path.write_text(score_page("t", test, systems, [analyses.overview([one.scores for one in systems])]), "utf-8")
    with browser.launched() as chromium:
        page = chromium.new_page()
        page.goto(path.as_uri())
        assert page.locator("article dd").all_inner_texts()[:3] == ["a b c", "a  b\tc", "a  b\tc"]
