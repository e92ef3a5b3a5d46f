"""chrF from sums over sentences is that of sacrebleu."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from postedit.evaluate import chrf
from postedit.evaluate.chrf import AdditiveCHRF

LETTERS = "ab c\u00a0ß字🙂e\u0301ع\u2003"
texts = st.text(st.sampled_from(LETTERS), max_size=25) | st.text(max_size=12)
corpora = st.lists(st.tuples(texts, texts), min_size=1, max_size=7)


def scored(hyp: list[str], ref: list[str]) -> float:
    metric = AdditiveCHRF()
    return metric.score(float(metric.loss(metric.statistics(hyp, ref).sum(0))))


@settings(max_examples=120, derandomize=True)
@given(corpora)
def test_chrf_of_any_sums_is_that_of_sacrebleu(corpus: list[tuple[str, str]]) -> None:
    hyp, ref = (list(side) for side in zip(*corpus))
    assert scored(hyp, ref) == pytest.approx(CHRF().corpus_score(hyp, [ref]).score, abs=1e-9)


@settings(max_examples=60, derandomize=True)
@given(corpora)
def test_each_sentence_is_counted_alone(corpus: list[tuple[str, str]]) -> None:
    hyp, ref = (list(side) for side in zip(*corpus))
    metric = AdditiveCHRF()
    counted = metric.statistics(hyp, ref)
    for row, (one, other) in enumerate(corpus):
        assert counted[row].tolist() == metric.statistics([one], [other])[0].tolist()
        assert metric.score(float(metric.loss(counted[row]))) == pytest.approx(
            CHRF().sentence_score(one, [other]).score, abs=1e-9
        )


@pytest.mark.parametrize("size", [70, 1500])
def test_many_different_letters_are_counted_in_smaller_parts(size: int) -> None:
    letters = [chr(0x4E00 + number) for number in range(size)]
    ref = ["".join(letters), "".join(letters[::-1]), "".join(letters[: size // 2] * 2), "a b"]
    hyp = ["".join(letters[3:]), "".join(letters), "".join(letters), "a c"]
    assert scored(hyp, ref) == pytest.approx(CHRF().corpus_score(hyp, [ref]).score, abs=1e-9)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    hyp, ref = ["das Haus", "", "ein Hund bellt"] * 3, ["das alte Haus", "x", "der Hund bellt"] * 3
    whole = AdditiveCHRF().statistics(hyp, ref)
    monkeypatch.setattr(chrf, "_BLOCK", 2)
    assert np.array_equal(AdditiveCHRF().statistics(hyp, ref), whole)
    assert whole[:, -1].tolist() == [3, 1, 3] * 3
    assert AdditiveCHRF().statistics([], []).shape == (0, whole.shape[1])


def test_the_signature_is_that_of_sacrebleu() -> None:
    metric = CHRF()
    metric.corpus_score(["a"], [["a"]])
    assert AdditiveCHRF().signature == str(metric.get_signature())
