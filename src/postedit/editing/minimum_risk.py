"""Minimum Bayes risk: of several outputs, choose the one with the fewest expected edits (Kumar and Byrne 2004).

An output that agrees with many others may be a better choice than the most probable one. The cost of choosing an output
if another one is right is the number of edits between them (TER). The probability that an output is right is taken to
be proportional to a power of its model probability, because models are overconfident about whole sentences.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from postedit.text.words import compared_words

if TYPE_CHECKING:
    from postedit.evaluate.metrics import SentenceCost

SMALL: Final = 1e-9  # costs that differ by less than this count as equal


def by_risk(texts: Sequence[str], scores: Sequence[float], scale: float) -> list[int]:
    """Return the positions of the texts, those with the fewest expected edits first; ties keep their order.

    Args:
        texts: the outputs; words are separated by spaces, or, in scripts without spaces, single characters.
        scores: their natural-log probabilities, or other scores that increase with these.
        scale: probabilities are taken to be proportional to exp(scale * score).
    """
    weights = np.exp(scale * (np.array(scores, np.float64) - max(scores)))
    words = [" ".join(compared_words(text)) for text in texts]
    risks = expected_costs(words, words, (weights / weights.sum()).tolist(), _edits)
    return sorted(range(len(texts)), key=lambda place: round(risks[place] / SMALL))


def expected_costs(
    candidates: Sequence[str], references: Sequence[str], weights: Sequence[float], cost: "SentenceCost"
) -> list[float]:
    """Return, for each candidate, the weighted sum of its costs against all references."""
    costs = cost(np.repeat(candidates, len(references)).tolist(), [*references] * len(candidates))
    risks: list[float] = (np.array(costs).reshape(len(candidates), -1) @ np.array(weights, np.float64)).tolist()
    return risks


def _edits(outputs: Sequence[str], references: Sequence[str]) -> list[float]:
    from postedit.evaluate.ter import count_edits  # not needed by any other search

    return [float(count.edits) for count in count_edits(outputs, references)]
