"""Costs of single sentences, of which training may minimise the expectation: 0 is perfect."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sacrebleu.metrics.bleu import BLEU

from postedit.evaluate.ter import count_edits, edit_rate

Cost = Callable[[Sequence[str], Sequence[str]], list[float]]
"""Takes hypotheses and references, line by line, as words divided by spaces."""


def ter_costs(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """Return the edits of each sentence per word of its reference, as TER counts them; case matters.

    Raises:
        ValueError: if the numbers of lines differ.
    """
    return [edit_rate([count]) / 100.0 for count in count_edits(hypotheses, references)]


def bleu_costs(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """Return 1 - BLEU of each sentence, with sacrebleu's exponential smoothing and effective order.

    The words are taken as they stand. An empty text costs nothing where the reference is empty too.

    Raises:
        ValueError: if the numbers of lines differ.
    """
    metric = BLEU(tokenize="none", effective_order=True)
    return [
        0.0 if text == reference else 1.0 - metric.sentence_score(text, [reference]).score / 100.0
        for text, reference in zip(hypotheses, references, strict=True)
    ]


COSTS: Final[Mapping[str, Cost]] = {"ter": ter_costs, "bleu": bleu_costs}
"""By the name that a recipe gives them."""
