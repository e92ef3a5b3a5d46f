import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import browser
import numpy as np
import pytest
from rich.console import Console
from tests.unit.core.test_edit_reasons import REASONS
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
from tests.unit.explain.sentences import sentence

from postedit.cli.tables import print_explanation
from postedit.core.edit_reasons import CorrectionReason, EditReason, NamedCorrection, reasons_as_json
from postedit.core.editor import Edit
from postedit.core.evidence import Alternative
from postedit.evaluate.table import Column, Table, TableRow
from postedit.evaluate.ter import ter_signature
from postedit.explain.explained_sentence import ExplainedSentence
from postedit.explain.explanation_page import explanation_page
from postedit.explain.reasons import edit_reasons

ARABIC = "انقر فوق Foo Bar"
HEBREW = "לחץ על 3 מקשים 😀"
JAPANESE = "猫が 寝て いる"
SHARES = {"generated": np.array([0.2] * 4), "mt": np.array([0.5] * 4), "src": np.array([0.3] * 4)}


def nasty() -> list[ExplainedSentence | None]:
    return [
        sentence(src=NASTY, mt="a b c", output=f"a {NASTY} c"),
        None,
        sentence(mt=ARABIC, output=ARABIC),
        sentence(mt=HEBREW, output=HEBREW),
        sentence(src=JAPANESE, mt=JAPANESE, output="猫が 起きて いる", shares=SHARES),
    ]


def test_markup_in_text_stays_text() -> None:
    html = explanation_page(
        NASTY, nasty(), [Table(NASTY, (NASTY,), (Column(NASTY),), (TableRow((NASTY,), (1.0,)),), NASTY)]
    )
    assert_markup_in_text_stays_text(html)
    assert_nothing_is_fetched(html)
    assert data_of(html)[0]["inputs"][0]["parts"][1] == NASTY.split()[0]


def test_all_that_is_known_of_a_sentence_is_in_it() -> None:
    data = data_of(explanation_page("t", nasty()))
    assert [one["line"] for one in data] == [1, 3, 4, 5]  # the model was not asked about line 2
    last = data[-1]
    assert last["shares"] == {"generated": [20] * 4, "mt": [50] * 4, "src": [30] * 4}
    assert last["probabilities"] == [50] * 4
    assert last["runners"][0] == [["other", 14]]  # the improbable one is left out
    assert last["changes"] == [["", "猫が "], ["del", "寝て"], ["ins", "起きて"], ["", " いる"]]
    assert last["reasons"][0]["cited"] == [["src", "source", "寝て"]]  # the edited word of mt explains nothing
    assert {entry["stream"] for entry in last["attention"]} == {"src", "mt"}
    for entry in last["attention"]:
        assert len(entry["rows"]) == 4
        assert all(sum(row[1::2]) == pytest.approx(100, abs=2) for row in entry["rows"])


def test_pages_and_tables_name_the_end_of_a_sentence() -> None:
    one = sentence(runners_up=((Alternative("</s>", -2.0),),) * 4)
    out = StringIO()
    print_explanation(one, Console(file=out, width=200))
    for shown in (explanation_page("t", [one]), out.getvalue()):
        assert "end of sentence" in shown
        assert not re.search(r"(</|\\u003c/)s>", shown)
    literal = sentence(src="the </s> house")  # in a text, these are ordinary characters
    assert literal.named_words().streams["src"] == ("the", "</s>", "house", "end of sentence")


def test_no_confidence_is_shown_where_the_editor_gives_none() -> None:
    one = replace(sentence(), confidences=())
    (reason,) = data_of(explanation_page("t", [one]))[0]["reasons"]
    assert reason["confidence"] is None
    out = StringIO()
    print_explanation(one, Console(file=out, width=200))
    assert "confidence" not in out.getvalue()


def test_the_verdict_is_the_first_sentence_of_the_page() -> None:
    better = [replace(sentence(), pe="das rote Haus")] * 12
    html = explanation_page("t", better)
    (found,) = re.findall(r'<h1>t</h1>\n<p class="conclusion">(.*?)</p>', html)
    assert found.startswith("The output is better than the unedited MT: TER is lower by 33.33 (95% interval 33.33 to")
    assert f"of 12 sentences 12 are better and 0 worse. {ter_signature()}" in found
    assert "The output is worse than" in explanation_page("t", [replace(sentence(), pe="das blaue Haus")] * 12)
    assert "TER is lower by 33.33, but 1 sentence is too few to compare." in explanation_page("t", better[:1])


@pytest.mark.parametrize(
    ("mt", "pe", "lower", "signature"),
    [
        ("das blaue Haus.", "das rote Haus.", "25.00", ter_signature("13a")),
        ("睡猫在睡觉在睡觉在睡觉", "这只猫在睡觉在睡觉在睡觉", "16.67", ter_signature("characters")),
    ],
)
def test_the_verdict_counts_words_as_they_are_written(mt: str, pe: str, lower: str, signature: str) -> None:
    html = explanation_page("t", [replace(sentence(mt=mt, output=pe), pe=pe)] * 12)
    assert f"TER is lower by {lower} (" in html
    assert f"{signature}</p>" in html
    assert "The model changed 3 of 4 sentences; whether" in explanation_page(
        "t", [*[sentence()] * 3, sentence(mt="a b", output="a b")]
    )


def test_an_edit_without_outstanding_evidence_is_a_learnt_style() -> None:
    one = sentence(src="so it ends .", mt="ok .", output="ok 。", losses=np.array([[0.0, 0.1, 2.0, 0.0]] * 3))
    one = replace(one, edits=(Edit("replace", (3, 4), (3, 4)),), confidences=(0.9,))
    for count, style in ((1216, 1216), (4, 0)):
        (reason,) = data_of(explanation_page("t", [one], corrections={(".", "。"): count}))[0]["reasons"]
        assert (reason["cited"], reason["style"]) == ([], style)


def test_words_and_the_text_between_them_join_to_the_text() -> None:
    for one, kept in zip(data_of(explanation_page("t", nasty())), [row for row in nasty() if row], strict=True):
        parts = one["output"]["parts"][: 2 * one["output"]["ends"][0]]
        assert "".join(parts) == kept.output


@needs_browser
def test_a_browser_shows_a_page_of_it(tmp_path: Path) -> None:
    dom = opened(explanation_page(NASTY, nasty() * 10), tmp_path)
    assert "better than mt" not in dom, "nothing is, without post-edits"
    assert "<dt>Left to do" not in dom
    assert dom.count("<article>") == 20
    assert "1–20 of 40 sentences" in dom
    assert "<title>&lt;/script&gt;" in dom  # what the text asks for was not done
    assert "<img" not in dom.split("<script", 1)[0]
    assert '<dd dir="auto" data-stream="mt">' in dom


@pytest.mark.slow
@needs_browser
def test_the_letters_of_all_texts_decide_on_direction(tmp_path: Path) -> None:
    texts = ["Foo Bar هنا انقر", "Foo Bar", "افتح الملف ثم أغلق النافذة"]
    sentences = [replace(sentence(mt=text, output=f"{text} x"), pe=text) for text in texts]
    dom = opened(explanation_page("t", sentences), tmp_path)
    found = re.findall(r'<d(?:d|iv) dir="(\w+)"(?: class="(\w+)"| data-stream="(\w+)")?', dom)
    rtl = [("rtl", "", "mt"), ("rtl", "output", ""), ("rtl", "diff", ""), ("rtl", "", ""), ("rtl", "diff", "")]
    assert found == [("ltr", "", "src"), *rtl] * 3


@pytest.mark.slow
@needs_browser
def test_edits_without_a_visible_character_are_named(tmp_path: Path) -> None:
    one = sentence(mt="می خواهم کتاب", output="می خواهم کتاب")
    one = replace(one, output="می\u200cخواهم کتاب", edits=(Edit("replace", (2, 3), (2, 3)),), confidences=(0.5,))
    dom = opened(explanation_page("t", [one]), tmp_path)
    assert "می<del>␣</del><ins>ZWNJ</ins>خواهم" in dom


@pytest.mark.slow
@needs_browser
def test_an_edit_of_a_sentence_without_spaces_shows_what_changed_within(tmp_path: Path) -> None:
    mt, output = "请先打开文件，再读它(全部)。", "请先打开文件，再读它（全部）。"
    one = replace(sentence(mt=mt, output=output), edits=(Edit("replace", (0, len(mt)), (0, len(output))),))
    dom = opened(explanation_page("t", [replace(one, confidences=(0.5,))]), tmp_path)
    shown = "请先打开文件，再读它<del>(</del><ins>（</ins>全部<del>)</del><ins>）</ins>。"
    assert f'<dd dir="ltr" class="diff">{shown}</dd>' in dom
    assert f"<bdi>{shown}</bdi> · confidence 50 %" in dom


@pytest.mark.slow
@needs_browser
def test_search_ignores_case_and_the_encoding_of_marks(tmp_path: Path) -> None:
    search = """const field = document.querySelector("[name=text]"); field.value = "ti\u00ea\u0301ng";
      window.setTimeout = (draw) => draw(); field.dispatchEvent(new Event("input", {bubbles: true}));"""
    dom = opened(explanation_page("t", [sentence(), sentence(src="Ti\u1ebfng Vi\u1ec7t x")]), tmp_path, action=search)
    assert lines_shown(dom) == ["2"]


@pytest.mark.slow
@needs_browser
def test_pointing_at_a_word_highlights_its_attention(tmp_path: Path) -> None:
    click = 'document.querySelectorAll("article")[3].querySelectorAll(".output [role=button]")[1].click();'
    dom = opened(explanation_page("t", nasty()), tmp_path, action=click)
    reading = re.findall(r'<p class="reading" aria-live="polite">(.*?)</p>', dom)[3]
    text = re.sub(r"<[^>]+>", "", reading)
    assert text.startswith("起きて · probability 50 %")
    assert "generated 20 %, copied from mt 50 %, copied from src 30 %" in text
    assert "attention over the source: 寝て 94 %" in text
    assert "runners-up: other 14 %" in text
    assert dom.count("--weight: 0.94") == 2  # a word of src and one of mt


@needs_browser
def test_sorting_and_filtering(tmp_path: Path) -> None:
    expected = {"edits": ["1", "5", "3", "4"], "changed": ["1", "5"], "kept": ["3", "4"]}
    found = lines_chosen(explanation_page("t", nasty()), tmp_path, *expected)
    assert dict(zip(expected, found, strict=True)) == expected


def judged(pe: str, **texts: str) -> ExplainedSentence:
    return replace(sentence(**texts), pe=pe)


@pytest.mark.slow
@needs_browser
def test_with_post_edits_it_says_what_is_better(tmp_path: Path) -> None:
    sentences = [judged("das rote Haus"), judged("das grüne Haus"), judged("das blaue Haus"),
                 judged("das Haus", mt="das rote Haus")]  # fmt: skip
    html = explanation_page("t", sentences)
    assert [one["left"] for one in data_of(html)] == [[1, 0], [1, 1], [0, 1], [1, 1]]
    dom = opened(html, tmp_path)
    assert "1 edit · 0 edits from the post-edit, 1 before" in dom
    assert '<del class="deletions">rote</del>' in dom  # what is left to do in the last one
    expected = {"better": ["1"], "worse": ["3"], "same": ["2"]}
    assert dict(zip(expected, lines_chosen(html, tmp_path, *expected), strict=True)) == expected


@pytest.mark.slow
@needs_browser
def test_pages_are_turned_and_stay_when_another_attention_is_shown(tmp_path: Path) -> None:
    turn = "document.querySelectorAll(\"[data-step='1']\")[1].click();"
    other = 'document.querySelector("[name=kind]").dispatchEvent(new Event("input", {bubbles: true}));'
    dom = opened(explanation_page("t", [sentence()] * 45), tmp_path, action=turn + turn + other)
    assert "41–45 of 45 sentences" in dom
    assert lines_shown(dom) == ["41", "42", "43", "44", "45"]
    assert dom.count('data-step="1" disabled=""') == 2


def with_reasons(*reasons: EditReason) -> ExplainedSentence:
    one = sentence(log_probs=(), runners_up=(), attention={})
    return replace(one, edits=(replace(one.edits[0], reasons=reasons),))


def test_reasons_are_sentences_of_the_page_and_of_the_text_output() -> None:
    one = with_reasons(*REASONS)
    data, out = data_of(explanation_page("t", [one])), StringIO()
    print_explanation(one, Console(file=out, width=500))
    assert len(data[0]["reasons"][0]["why"]) == len(REASONS)
    for text in data[0]["reasons"][0]["why"]:
        assert text in out.getvalue()
    assert "runners-up" not in out.getvalue()  # nothing is known of words
    (reason,) = edit_reasons(1, one)
    assert reason.to_dict(one)["reasons"] == reasons_as_json(REASONS)


@pytest.mark.slow
@needs_browser
def test_a_browser_shows_reasons_as_text(tmp_path: Path) -> None:
    nasty_one = CorrectionReason(1, 0, 0, (NamedCorrection(1, "s", f"{NASTY} a", f"{NASTY} b", NASTY),))
    dom = opened(explanation_page("t", [with_reasons(nasty_one)]), tmp_path)
    assert "changed once in corrections (by " in dom
    assert "<title>t</title>" in dom
    assert "<img" not in dom
    assert 'class="guide"' not in dom


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_on_the_colour_of_all_attention(scheme: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(explanation_page("t", [replace(sentence(), pe="das rote Haus .")]), encoding="utf-8")
    source = browser.axe_source()
    with browser.launched() as chromium:
        page = chromium.new_page(color_scheme=scheme)
        page.goto(path.as_uri())
        page.locator("article").wait_for()
        page.evaluate("document.querySelectorAll('.w').forEach((one) => one.style.setProperty('--weight', 1))")
        assert browser.serious_violations(page, source) == []
        undecided = page.evaluate("axe.run(document, {runOnly: ['color-contrast'], resultTypes: ['incomplete']})")
        assert undecided["incomplete"] == [], "axe-core reads the colours of all words"
