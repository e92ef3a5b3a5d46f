"""Scores of a corpus from sums over its sentences, for whoever tries many choices of sentences.

Both TER and BLEU are functions of such sums. So sentences are counted once, and any choice of them costs an addition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

from postedit.evaluate.ter import count_edits, ter_signature

Floats = NDArray[np.float64]
MetricName = Literal["ter", "bleu"]
Tokenize = Literal["none", "13a"]
"""How scores divide text into words: at its spaces, or, for raw text, by mteval's rules (TER: by Tercom's)."""

_ORDERS: Final = 4
"""Lengths of n-grams that BLEU counts."""


class AdditiveMetric(Protocol):
    """A score that is a function of sums; the last of the statistics is the length of the reference in words."""

    @property
    def signature(self) -> str:
        """What is needed to get the same number again."""
        ...

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> Floats:
        """Float[sentences,counts]: what to add up."""
        ...

    def loss(self, sums: Floats) -> Floats:
        """Float[...] for sums Float[...,counts]: 0 is perfect; TER itself, or 100 - BLEU."""
        ...

    def score(self, loss: float) -> float:
        """Return the score as it is printed, of which `loss` was made."""
        ...


def additive(name: MetricName, tokenize: Tokenize = "none") -> AdditiveMetric:
    """Return the metric, words being divided as `tokenize` says."""
    return AdditiveTER(tokenize) if name == "ter" else AdditiveBLEU(tokenize)


@dataclass(frozen=True, slots=True)
class AdditiveTER:
    """Case-sensitive TER; the statistics are edits and words of the reference."""

    tokenize: Tokenize = "none"

    @property
    def signature(self) -> str:
        """What is needed to get the same number again."""
        return ter_signature(normalise=self.tokenize == "13a")

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> Floats:
        """Float[sentences,2]: what to add up."""
        counts = count_edits(hypotheses, references, normalise=self.tokenize == "13a")
        return np.array([(count.edits, count.length) for count in counts], np.float64).reshape(-1, 2)

    def loss(self, sums: Floats) -> Floats:
        """Float[...] for sums Float[...,2]: TER in per cent."""
        edits, words = sums[..., 0], sums[..., 1]
        empty = np.where(edits > 0, 100.0, 0.0)  # sacrebleu's convention
        return np.where(words > 0, 100.0 * edits / np.maximum(words, 1.0), empty)

    def score(self, loss: float) -> float:
        """Return TER in per cent."""
        return loss


@dataclass(frozen=True, slots=True)
class AdditiveBLEU:
    """BLEU with sacrebleu's smoothing "exp".

    The statistics are matches of 1 to 4 words, such stretches in the output, and words of output and reference.
    """

    tokenize: Tokenize = "none"

    @property
    def signature(self) -> str:
        """What is needed to get the same number again."""
        metric = self._metric(effective_order=False)
        metric.corpus_score([""], [[""]])  # sacrebleu knows the number of references only after a score
        return str(metric.get_signature())

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> Floats:
        """Float[sentences,10]: what to add up."""
        metric = self._metric(effective_order=True)  # which changes no count, and saves a warning
        rows = []
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            found = metric.sentence_score(hypothesis, [reference])
            rows.append([*found.counts, *found.totals, found.sys_len, found.ref_len])
        return np.array(rows, np.float64).reshape(-1, 2 * _ORDERS + 2)

    def loss(self, sums: Floats) -> Floats:
        """Float[...] for sums Float[...,10]: 100 - BLEU."""
        matches, totals = sums[..., :_ORDERS], sums[..., _ORDERS : 2 * _ORDERS]
        written, words = sums[..., -2], sums[..., -1]
        missed = (matches == 0) & (totals > 0)
        halved = 2.0 ** np.cumsum(missed, -1)
        precisions = np.where(missed, 1.0 / halved, matches) / np.maximum(totals, 1.0)
        possible = (totals > 0).all(-1) & (matches[..., 0] > 0)
        logs = np.log(np.where(possible[..., None], precisions, 1.0)).mean(-1)
        brevity = np.minimum(0.0, 1.0 - words / np.maximum(written, 1.0))
        return 100.0 - 100.0 * np.where(possible, np.exp(logs + brevity), 0.0)

    def score(self, loss: float) -> float:
        """Return BLEU, 0 to 100."""
        return 100.0 - loss

    def _metric(self, *, effective_order: bool) -> BLEU:
        return BLEU(tokenize=self.tokenize, force=True, effective_order=effective_order)
