"""Minimum Bayes risk: of several outputs, choose the one with the fewest expected edits (Kumar and Byrne 2004).

An output whose words others confirm may be a better choice than the most probable one. The cost of one output, if
another is right, is the number of edits between them (TER); the probability that this one is right is in proportion
to a power of its probability under the model, as scores of whole sentences are too sure of themselves.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from postedit.text.words import compared_words

if TYPE_CHECKING:
    from postedit.evaluate.metrics import SentenceCost

SMALL: Final = 1e-9  # differences of costs that are none


def by_risk(texts: Sequence[str], scores: Sequence[float], scale: float) -> list[int]:
    """Return the positions of some texts, those with the fewest expected edits first; equal ones stay in order.

    Args:
        texts: words are what spaces divide, and single characters in scripts without spaces.
        scores: natural-log probabilities, or other scores that grow with them.
        scale: probabilities are in proportion to exp(scale * score).
    """
    weights = np.exp(scale * (np.array(scores, np.float64) - max(scores)))
    words = [" ".join(compared_words(text)) for text in texts]
    risks = expected_costs(words, words, (weights / weights.sum()).tolist(), _edits)
    return sorted(range(len(texts)), key=lambda place: round(risks[place] / SMALL))


def expected_costs(
    candidates: Sequence[str], references: Sequence[str], weights: Sequence[float], cost: "SentenceCost"
) -> list[float]:
    """Return the cost of each candidate against all references, summed by their weights."""
    costs = cost(np.repeat(candidates, len(references)).tolist(), [*references] * len(candidates))
    risks: list[float] = (np.array(costs).reshape(len(candidates), -1) @ np.array(weights, np.float64)).tolist()
    return risks


def _edits(outputs: Sequence[str], references: Sequence[str]) -> list[float]:
    from postedit.evaluate.ter import count_edits  # not needed by any other search

    return [float(count.edits) for count in count_edits(outputs, references)]
