"""Log-linear combinations: features of finished outputs, and the ranking of n-best lists by a weighted sum of features.

An example is the system of Junczys-Dowmunt and Grundkiewicz (2016), whose features are the scores of its members and a
penalty for each word of the output that mt does not have.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from postedit.core.model import Seq2Seq
from postedit.core.types import Batch
from postedit.search.ensemble import device_of
from postedit.search.forced import force_lists
from postedit.search.hypothesis import Hypothesis

LENGTH: Final = "length"  # the feature that counts the words of an output

PENALTY: Final = "post_edit_penalty"
"""The post-editing penalty: the feature that counts the words of an output that are not in its inputs."""

LEAST: Final = -1e4  # stands for log 0 in features, because weighted sums with -inf would be infinite or undefined


@dataclass(frozen=True, slots=True)
class LogLinear:
    """A log-linear model of finished outputs."""

    weights: Mapping[str, float]  # by feature; features without a weight do not count
    known: tuple[str, ...] = ("mt",)  # input texts whose words the post-editing penalty does not count


def member_name(number: int) -> str:
    """Return the name of the feature for the natural-log probability under member `number`, from 1."""
    return f"model {number}"


def member_features(
    model: Seq2Seq, batch: Batch, lists: Sequence[Sequence[Hypothesis]]
) -> list[list[dict[str, float]]]:
    """Return the features of each output of each sentence that are its scores under each member of the model.

    A model without members, which has written the outputs, counts as one; its scores are those of the hypotheses.
    """
    parts = model.parts()
    if len(parts) == 1:
        scored = [[list(hypotheses) for hypotheses in lists]]
    else:
        tokens = [[hypothesis.tokens for hypothesis in hypotheses] for hypotheses in lists]
        scored = [force_lists(part, batch.to(device_of(part, batch)), tokens) for part in parts]
    return [
        [
            {member_name(number): max(one.score, LEAST) for number, one in enumerate(outputs, start=1)}
            for outputs in zip(*sentence, strict=True)
        ]
        for sentence in zip(*scored, strict=True)
    ]


def word_features(words: Sequence[str], known: Collection[str]) -> dict[str, float]:
    """Return the length of an output and its post-editing penalty, in words; words in `known` cost nothing."""
    return {LENGTH: float(len(words)), PENALTY: float(sum(word not in known for word in words))}


def weighted_sum(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the log-linear score of an output."""
    return sum(weight * features.get(name, 0.0) for name, weight in weights.items())


def rank(hypotheses: Sequence[Hypothesis], weights: Mapping[str, float]) -> list[Hypothesis]:
    """Return the hypotheses of a sentence, best first; those with equal sums keep their order."""
    return sorted(hypotheses, key=lambda one: weighted_sum(one.features or {}, weights), reverse=True)
