import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from postedit.evaluate.summarisation import _Tokenizer, lead, rouge_by_text, rouge_signature, sentences, summary_scores

ASCII = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40)


@given(ASCII, ASCII)
def test_rouge_of_english_is_the_packages(output: str, reference: str) -> None:
    theirs = RougeScorer(["rouge1", "rouge2", "rougeL"]).score(reference, output)
    found = summary_scores([output], [""], [reference]).rouge
    assert found[:3] == pytest.approx([100 * score.fmeasure for score in theirs.values()])


@given(ASCII, ASCII)
def test_rouge_with_stems_is_the_packages(output: str, reference: str) -> None:
    theirs = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True).score(reference, output)
    found = rouge_by_text([output], [reference], stem=True)[0]
    assert found[:3] == pytest.approx([100 * score.fmeasure for score in theirs.values()])


def test_stems_make_inflected_words_equal() -> None:
    assert rouge_by_text(["cats sleeping"], ["cat sleeps"])[0, 0] == 0.0
    assert rouge_by_text(["sleeping cats"], ["sleeps cat"], stem=True)[0, 0] == pytest.approx(100.0)
    assert "stem:porter" in rouge_signature(stem=True)


def test_summary_level_rouge_unites_subsequences_of_sentences() -> None:
    """The example of Lin 2004, 3.2: w1 w2 of one sentence and w1 w3 w5 of the other cover 4 of 5 words."""
    reference, output = "w1 w2 w3 w4 w5 .", "w1 w2 w6 w7 w8 . w1 w3 w8 w9 w5 ."
    precision, recall = 4 / 10, 4 / 5
    expected = 100 * 2 * precision * recall / (precision + recall)
    one, _, _, summary_level = rouge_by_text([output], [reference])[0]
    assert summary_level == pytest.approx(expected)
    assert one == pytest.approx(expected)
    longest, summary_level = rouge_by_text(["w4 w5 . w1 w2 ."], ["w1 w2 . w4 w5 ."])[0, 2:]
    assert (longest, summary_level) == pytest.approx((50.0, 100.0))


def test_novel_and_repeated_sentences_and_the_first_three() -> None:
    source = "One is here . Two is there ! Three ? Four is 3.14 far ."
    assert sentences(source) == ["One is here .", "Two is there !", "Three ?", "Four is 3.14 far ."]
    assert lead(source) == "One is here . Two is there ! Three ?"
    found = summary_scores(["Two is there ! Five . Five ."], [source], ["x"])
    assert found.novel_sentences == pytest.approx(100 * 2 / 3)
    assert found.repeated_sentences == pytest.approx(100 / 3)
    assert summary_scores([""], [source], ["x"]).novel_sentences is None


def test_sentences_without_spaces_between_them() -> None:
    assert sentences("کتاب یہاں ہے۔ کیا؟ ہاں") == ["کتاب یہاں ہے۔", "کیا؟", "ہاں"]
    assert lead("ቤት ነው። ቤት ነው። ቤት ነው። ቤት ነው።") == "ቤት ነው። ቤት ነው። ቤት ነው።"
    assert sentences("今天下雨。你来吗？！ 来！") == ["今天下雨。", "你来吗？！", "来！"]
    assert sentences("他说：“走吧。”我走了。") == ["他说：“走吧。”我走了。"]
    assert lead("一。二。三。四。") == "一。二。三。"


def test_rouge_of_other_scripts() -> None:
    assert summary_scores(["кот спит"], [""], ["Кот спит"]).rouge[0] == 100.0


def test_signature() -> None:
    assert "rouge-score-" in rouge_signature()


def test_punctuation_makes_no_word_new_in_raw_text() -> None:
    assert summary_scores(["it is"], ["it is, so"], ["x"]).novel[0] == pytest.approx(50.0)
    assert summary_scores(["it is"], ["it is, so"], ["x"], normalise=True).novel[0] == 0.0


def test_marks_are_parts_of_words() -> None:
    tokens = _Tokenizer(stem=False).tokenize
    assert tokens("हिन्दी, दिन_दीन") == ["हिन्दी", "दिन", "दीन"]
    assert tokens("Cafe\u0301 noir 2x") == tokens("café noir 2x") == ["café", "noir", "2x"]
