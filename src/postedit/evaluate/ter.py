"""Translation edit rate, the one door to its implementation.

Everything that needs TER asks here for counts of edits, sentence by sentence; corpus TER is their ratio.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from sacrebleu.metrics.ter import TER

_NOT_EMPTY: Final = 100.0
"""TER, in per cent, of words where the reference has none: sacrebleu's convention."""


@dataclass(frozen=True, slots=True)
class EditCount:
    """The edits (insertions, deletions, substitutions, shifts) that turn a hypothesis into its reference.

    Args:
        edits: how many.
        length: words in the reference.
    """

    edits: int
    length: int


def count_edits(
    hypotheses: Sequence[str], references: Sequence[str], *, case_sensitive: bool = True, normalise: bool = False
) -> list[EditCount]:
    """Return the edits of each sentence.

    Args:
        hypotheses: one a line.
        references: as many.
        case_sensitive: whether a difference of case alone is an edit.
        normalise: divide the text into words by Tercom's own rules, for text that is not tokenised.

    Raises:
        ValueError: if the numbers of lines differ.
    """
    metric = _metric(case_sensitive, normalise)
    scores = (metric.sentence_score(hyp, [ref]) for hyp, ref in zip(hypotheses, references, strict=True))
    return [EditCount(int(score.num_edits), int(score.ref_length)) for score in scores]


def edit_rate(counts: Iterable[EditCount]) -> float:
    """Return TER in per cent over all sentences together."""
    edits = length = 0
    for count in counts:
        edits += count.edits
        length += count.length
    if length == 0:
        return _NOT_EMPTY if edits else 0.0
    return 100.0 * edits / length


def ter_signature(*, case_sensitive: bool = True, normalise: bool = False) -> str:
    """Return the signature, in sacrebleu's form, of TER counted with these options."""
    metric = _metric(case_sensitive, normalise)
    metric.sentence_score("", [""])  # sacrebleu knows the number of references only after a score
    return str(metric.get_signature())


@lru_cache
def _metric(case_sensitive: bool, normalise: bool) -> TER:
    return TER(case_sensitive=case_sensitive, normalized=normalise)
