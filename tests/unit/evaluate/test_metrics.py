"""Sums over sentences give the corpus scores of sacrebleu; costs are its sentence scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.ter import TER

from postedit.evaluate.metrics import COSTS, AdditiveBLEU, AdditiveTER, additive_metric, bleu_costs, ter_costs
from postedit.evaluate.scores import score_system

words = st.lists(st.sampled_from(["a", "b", "c", "d", "Haus", "."]), max_size=9).map(" ".join)
corpora = st.lists(st.tuples(words, words), min_size=1, max_size=6)


@settings(max_examples=150, derandomize=True)
@given(corpora)
def test_bleu_of_any_corpus_equals_sacrebleu(corpus: list[tuple[str, str]]) -> None:
    hyp, ref = (list(side) for side in zip(*corpus))
    metric = AdditiveBLEU()
    found = metric.score(float(metric.loss(metric.statistics(hyp, ref).sum(0))))
    expected = BLEU(tokenize="none", force=True).corpus_score(hyp, [ref]).score
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["ter", "bleu"])
@pytest.mark.parametrize("tokenize", ["none", "13a", "characters"])
def test_scores_and_signatures_equal_those_of_score_system(name: str, tokenize: str) -> None:
    hyp = ["das Haus ist alt.", "es geht, oder nicht ?", "", "ein kleines Haus steht da ."]
    ref = ["das Haus ist neu.", "es geht oder nicht?", "so", "ein Haus steht da drüben ."]
    metric = additive_metric(name, tokenize)
    table = score_system("x", hyp, ref, None, tokenize)
    found = metric.score(float(metric.loss(metric.statistics(hyp, ref).sum(0))))
    assert found == pytest.approx({"ter": table.ter, "bleu": table.bleu}[name])
    assert metric.signature == table.signatures[{"ter": "TER", "bleu": "BLEU"}[name]]


def test_characters_count_where_there_are_no_words() -> None:
    hyp, ref = ["我们在 那里保存文件。", "ข้าวผัด"], ["我们 在这里保存文件。", "ข้าวต้ม"]
    apart = [[" ".join(text.replace(" ", "")) for text in side] for side in (hyp, ref)]
    ter, bleu = AdditiveTER("characters"), AdditiveBLEU("characters")
    assert ter.statistics(hyp, ref).tolist() == AdditiveTER().statistics(*apart).tolist() == [[1, 10], [3, 7]]
    assert ter.signature == f"{AdditiveTER().signature}, of characters"
    expected = BLEU(tokenize="char", force=True).corpus_score(hyp, [ref]).score
    assert bleu.score(float(bleu.loss(bleu.statistics(hyp, ref).sum(0)))) == pytest.approx(expected)
    assert "tok:char|" in bleu.signature


@pytest.mark.parametrize("name", ["ter", "bleu"])
def test_loss_of_many_sums_equals_the_loss_of_each(name: str) -> None:
    metric = additive_metric(name)
    counts = metric.statistics(["a b c d e", "a x", ""], ["a b c d f", "a b", ""])
    together = metric.loss(np.cumsum(counts, 0)[None])
    alone = [float(metric.loss(counts[: n + 1].sum(0))) for n in range(3)]
    assert together.tolist() == [alone]
    assert metric.statistics([], []).shape == (0, counts.shape[1])


def test_ter_of_empty_references() -> None:
    metric = additive_metric("ter")
    assert metric.loss(metric.statistics([""], [""]).sum(0)) == 0.0
    assert metric.loss(metric.statistics(["a b"], [""]).sum(0)) == 100.0


HYPOTHESES = ["das Haus ist groß .", "ein", "", "", "a b c d e f g", "Das haus"]
REFERENCES = ["das Haus ist sehr groß .", "ein", "", "x y", "a", "das Haus"]


def test_ter_costs_equal_the_sentence_scores_of_sacrebleu() -> None:
    metric = TER(case_sensitive=True)
    expected = [metric.sentence_score(h, [r]).score / 100.0 for h, r in zip(HYPOTHESES, REFERENCES)]
    assert ter_costs(HYPOTHESES, REFERENCES) == pytest.approx(expected)
    assert ter_costs(HYPOTHESES, REFERENCES)[4] == 6.0  # more edits than words


def test_bleu_costs_equal_sacrebleu_and_are_0_for_equal_texts() -> None:
    metric = BLEU(tokenize="none", effective_order=True)
    for cost, hypothesis, reference in zip(bleu_costs(HYPOTHESES, REFERENCES), HYPOTHESES, REFERENCES):
        expected = (
            0.0 if hypothesis == reference else 1.0 - metric.sentence_score(hypothesis, [reference]).score / 100.0
        )
        assert cost == pytest.approx(expected)
        assert 0.0 <= cost <= 1.0


@pytest.mark.parametrize("name", COSTS)
def test_costs_need_as_many_references_as_hypotheses(name: str) -> None:
    with pytest.raises(ValueError, match=r"longer|shorter|the same number"):
        COSTS[name](["a", "b"], ["a"])
