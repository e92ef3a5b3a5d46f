"""Log-linear models over finished outputs: features of each, and n-best lists ranked by their weighted sum.

The system that won the shared task of 2016 (Junczys-Dowmunt and Grundkiewicz 2016) is such a model: the scores of its
members, and a penalty for each word of the output that mt does not have.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from postedit.core.model import Seq2Seq
from postedit.core.types import Batch
from postedit.search.ensemble import place_of
from postedit.search.forced import force_lists
from postedit.search.hypothesis import Hypothesis

LENGTH: Final = "length"
"""The feature that counts the words of an output."""

PENALTY: Final = "post_edit_penalty"
"""The post-editing penalty: the feature that counts the words of an output that its inputs do not have."""

_LEAST: Final = -1e4
"""What stands for the logarithm of probability 0 among features: with infinities there would be no weighted sum."""


@dataclass(frozen=True, slots=True)
class LogLinear:
    """How outputs are ranked.

    Args:
        weights: by feature; a feature without one does not count.
        known: names of the texts whose words the penalty does not count.
    """

    weights: Mapping[str, float]
    known: tuple[str, ...] = ("mt",)


def member_name(number: int) -> str:
    """Return the feature that is the natural-log probability of the output under member `number`, from 1."""
    return f"model {number}"


def member_features(
    model: Seq2Seq, batch: Batch, lists: Sequence[Sequence[Hypothesis]]
) -> list[list[dict[str, float]]]:
    """Return what each member of the model (itself, if it is alone) says of the outputs of each sentence."""
    parts = model.parts()
    if len(parts) == 1:
        scored = [[list(hypotheses) for hypotheses in lists]]
    else:
        tokens = [[hypothesis.tokens for hypothesis in hypotheses] for hypotheses in lists]
        scored = [force_lists(part, batch.to(place_of(part, batch)), tokens) for part in parts]
    return [
        [
            {member_name(number): max(one.score, _LEAST) for number, one in enumerate(outputs, start=1)}
            for outputs in zip(*sentence, strict=True)
        ]
        for sentence in zip(*scored, strict=True)
    ]


def word_features(words: Sequence[str], known: Collection[str]) -> dict[str, float]:
    """Return the length of an output and its post-editing penalty, in words; `known` are those that cost nothing."""
    return {LENGTH: float(len(words)), PENALTY: float(sum(word not in known for word in words))}


def weighted_sum(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the log-linear score of an output."""
    return sum(weight * features.get(name, 0.0) for name, weight in weights.items())


def rank(hypotheses: Sequence[Hypothesis], weights: Mapping[str, float]) -> list[Hypothesis]:
    """Return the hypotheses of a sentence, best first; equal ones keep their order."""
    return sorted(hypotheses, key=lambda one: weighted_sum(one.features or {}, weights), reverse=True)
