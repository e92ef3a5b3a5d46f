import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from postedit.evaluate.summarisation import rouge_signature, summary_scores

ASCII = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40)


@given(ASCII, ASCII)
def test_rouge_of_english_is_the_packages(output: str, reference: str) -> None:
    theirs = RougeScorer(["rouge1", "rouge2", "rougeL"]).score(reference, output)
    found = summary_scores([output], [""], [reference]).rouge
    assert found == pytest.approx([100 * score.fmeasure for score in theirs.values()])


def test_rouge_of_other_scripts() -> None:
    assert summary_scores(["кот спит"], [""], ["Кот спит"]).rouge[0] == 100.0


def test_signature() -> None:
    assert "rouge-score-" in rouge_signature()


def test_punctuation_makes_no_word_new_in_raw_text() -> None:
    assert summary_scores(["it is"], ["it is, so"], ["x"]).novel[0] == pytest.approx(50.0)
    assert summary_scores(["it is"], ["it is, so"], ["x"], normalise=True).novel[0] == 0.0
