"""Sums over sentences give the scores that sacrebleu gives to the corpus."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from postedit.evaluate.scores import score_system
from postedit.evaluate.sufficient_statistics import AdditiveBLEU, additive

words = st.lists(st.sampled_from(["a", "b", "c", "d", "Haus", "."]), max_size=9).map(" ".join)
corpora = st.lists(st.tuples(words, words), min_size=1, max_size=6)


@settings(max_examples=150, derandomize=True)
@given(corpora)
def test_bleu_of_any_sums_is_that_of_sacrebleu(corpus: list[tuple[str, str]]) -> None:
    hyp, ref = (list(side) for side in zip(*corpus))
    metric = AdditiveBLEU()
    found = metric.score(float(metric.loss(metric.statistics(hyp, ref).sum(0))))
    expected = BLEU(tokenize="none", force=True).corpus_score(hyp, [ref]).score
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["ter", "bleu"])
@pytest.mark.parametrize("tokenize", ["none", "13a"])
def test_scores_and_signatures_are_those_of_the_table(name: str, tokenize: str) -> None:
    hyp = ["das Haus ist alt.", "es geht, oder nicht ?", "", "ein kleines Haus steht da ."]
    ref = ["das Haus ist neu.", "es geht oder nicht?", "so", "ein Haus steht da drüben ."]
    metric = additive(name, tokenize)
    table = score_system("x", hyp, ref, None, tokenize)
    found = metric.score(float(metric.loss(metric.statistics(hyp, ref).sum(0))))
    assert found == pytest.approx({"ter": table.ter, "bleu": table.bleu}[name])
    assert metric.signature == table.signatures[{"ter": "TER", "bleu": "BLEU"}[name]]


@pytest.mark.parametrize("name", ["ter", "bleu"])
def test_many_sums_at_once_are_scored_like_each_alone(name: str) -> None:
    metric = additive(name)
    counts = metric.statistics(["a b c d e", "a x", ""], ["a b c d f", "a b", ""])
    together = metric.loss(np.cumsum(counts, 0)[None])
    alone = [float(metric.loss(counts[: n + 1].sum(0))) for n in range(3)]
    assert together.tolist() == [alone]
    assert metric.statistics([], []).shape == (0, counts.shape[1])


def test_ter_where_there_is_nothing_to_write() -> None:
    metric = additive("ter")
    assert metric.loss(metric.statistics([""], [""]).sum(0)) == 0.0
    assert metric.loss(metric.statistics(["a b"], [""]).sum(0)) == 100.0
