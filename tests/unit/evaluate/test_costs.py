import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.ter import TER

from postedit.evaluate.costs import COSTS, bleu_costs, ter_costs

HYPOTHESES = ["das Haus ist groß .", "ein", "", "", "a b c d e f g", "Das haus"]
REFERENCES = ["das Haus ist sehr groß .", "ein", "", "x y", "a", "das Haus"]


def test_ter_is_that_of_sacrebleu_sentence_by_sentence() -> None:
    metric = TER(case_sensitive=True)
    expected = [metric.sentence_score(h, [r]).score / 100.0 for h, r in zip(HYPOTHESES, REFERENCES)]
    assert ter_costs(HYPOTHESES, REFERENCES) == pytest.approx(expected)
    assert ter_costs(HYPOTHESES, REFERENCES)[4] == 6.0  # more edits than words


def test_bleu_is_that_of_sacrebleu_where_texts_differ_and_nothing_where_they_do_not() -> None:
    metric = BLEU(tokenize="none", effective_order=True)
    for cost, hypothesis, reference in zip(bleu_costs(HYPOTHESES, REFERENCES), HYPOTHESES, REFERENCES):
        expected = (
            0.0 if hypothesis == reference else 1.0 - metric.sentence_score(hypothesis, [reference]).score / 100.0
        )
        assert cost == pytest.approx(expected)
        assert 0.0 <= cost <= 1.0


@pytest.mark.parametrize("name", COSTS)
def test_as_many_references_as_hypotheses_are_needed(name: str) -> None:
    with pytest.raises(ValueError, match=r"longer|shorter|equally many"):
        COSTS[name](["a", "b"], ["a"])
