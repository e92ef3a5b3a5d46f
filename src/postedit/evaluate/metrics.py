"""TER and BLEU as functions of summed sentence statistics, and costs of single sentences.

Statistics are counted once per sentence. The score of any selection of sentences or outputs, such as a resample, then
needs only their sum.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU

from postedit.evaluate.ter import count_edits, edit_rate, ter_signature
from postedit.evaluate.tokenisation import Tokenize

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MetricName = Literal["ter", "bleu", "ter+bleu"]

_MAX_ORDER: Final = 4  # words in the longest n-grams of BLEU


class AdditiveMetric(Protocol):
    """A metric that is a function of summed statistics; the last statistic is the length of the reference in words."""

    @property
    def signature(self) -> str:
        """The signature in sacrebleu's format."""

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> Floats:
        """Return the statistics of each sentence, Float[sentences,statistics]."""

    def loss(self, sums: Floats) -> Floats:
        """Return the loss, Float[...], from sums Float[...,statistics]: TER, or 100 - BLEU; 0 is perfect."""

    def score(self, loss: float) -> float:
        """Return the score that is reported for a loss, such as 100 - loss for BLEU."""


def metric_signature(metric: Metric) -> str:
    """Return the signature of a sacrebleu metric, which knows the number of references only after scoring a text."""
    metric.corpus_score([""], [[""]])
    return str(metric.get_signature())


@dataclass(frozen=True, slots=True)
class AdditiveTER:
    """Case-sensitive TER; its statistics are the edits and the words of the reference."""

    tokenize: Tokenize = "none"

    @property
    def signature(self) -> str:
        """The signature in sacrebleu's format."""
        return ter_signature(self.tokenize)

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> Floats:
        """Return the statistics of each sentence, Float[sentences,2]."""
        counts = count_edits(hypotheses, references, self.tokenize)
        return np.array([(count.edits, count.length) for count in counts], np.float64).reshape(-1, 2)

    def loss(self, sums: Floats) -> Floats:
        """Return TER in per cent, Float[...], from sums Float[...,2]."""
        edits, words = sums[..., 0], sums[..., 1]
        empty = np.where(edits > 0, 100.0, 0.0)  # sacrebleu's convention
        return np.where(words > 0, 100.0 * edits / np.maximum(words, 1.0), empty)

    def score(self, loss: float) -> float:
        """Return TER in per cent."""
        return loss


@dataclass(frozen=True, slots=True)
class AdditiveBLEU:
    """BLEU with sacrebleu's "exp" smoothing.

    Its statistics are the matching n-grams of orders 1 to 4, all n-grams of the output of these orders, and the numbers
    of words of output and reference.
    """

    tokenize: Tokenize = "none"
    lowercase: bool = False

    @property
    def signature(self) -> str:
        """The signature in sacrebleu's format."""
        return metric_signature(self._metric(effective_order=False))

    @property
    def width(self) -> int:
        """The number of statistics."""
        return 2 * _MAX_ORDER + 2

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> Floats:
        """Return the statistics of each sentence, Float[sentences,10]."""
        metric = self._metric(effective_order=True)  # avoids a warning; the counts are the same
        rows = []
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            found = metric.sentence_score(hypothesis, [reference])
            rows.append([*found.counts, *found.totals, found.sys_len, found.ref_len])
        return np.array(rows, np.float64).reshape(-1, self.width)

    def loss(self, sums: Floats) -> Floats:
        """Return 100 - BLEU, Float[...], from sums Float[...,10]."""
        matches, totals = sums[..., :_MAX_ORDER], sums[..., _MAX_ORDER : 2 * _MAX_ORDER]
        output_words, reference_words = sums[..., -2], sums[..., -1]
        missed = (matches == 0) & (totals > 0)
        halved = 2.0 ** np.cumsum(missed, -1)
        precisions = np.where(missed, 1.0 / halved, matches) / np.maximum(totals, 1.0)
        possible = (totals > 0).all(-1) & (matches[..., 0] > 0)
        logs = np.log(np.where(possible[..., None], precisions, 1.0)).mean(-1)
        brevity = np.minimum(0.0, 1.0 - reference_words / np.maximum(output_words, 1.0))
        return 100.0 - 100.0 * np.where(possible, np.exp(logs + brevity), 0.0)

    def score(self, loss: float) -> float:
        """Return BLEU, 0 to 100."""
        return 100.0 - loss

    def _metric(self, *, effective_order: bool) -> BLEU:
        name = "char" if self.tokenize == "characters" else self.tokenize
        return BLEU(tokenize=name, force=True, effective_order=effective_order, lowercase=self.lowercase)


@dataclass(frozen=True, slots=True)
class AdditiveMean:
    """The mean of TER and 100 - BLEU; its statistics are those of `AdditiveTER`, then those of `AdditiveBLEU`."""

    tokenize: Tokenize = "none"

    @property
    def signature(self) -> str:
        """The signatures of both metrics."""
        return f"{AdditiveTER(self.tokenize).signature} and {AdditiveBLEU(self.tokenize).signature}"

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> Floats:
        """Return the statistics of each sentence, Float[sentences,12]."""
        parts = [kind(self.tokenize).statistics(hypotheses, references) for kind in (AdditiveTER, AdditiveBLEU)]
        return np.concatenate(parts, 1)

    def loss(self, sums: Floats) -> Floats:
        """Return the mean loss, Float[...], from sums Float[...,12]."""
        ter, bleu = AdditiveTER(self.tokenize).loss(sums[..., :2]), AdditiveBLEU(self.tokenize).loss(sums[..., 2:])
        return (ter + bleu) / 2.0

    def score(self, loss: float) -> float:
        """Return the mean loss."""
        return loss


_METRICS: Final[Mapping[MetricName, Callable[[Tokenize], AdditiveMetric]]] = {
    "ter": AdditiveTER,
    "bleu": AdditiveBLEU,
    "ter+bleu": AdditiveMean,
}


def additive_metric(name: MetricName, tokenize: Tokenize = "none") -> AdditiveMetric:
    """Return the metric with this name."""
    return _METRICS[name](tokenize)


SentenceCost = Callable[[Sequence[str], Sequence[str]], list[float]]
"""Maps hypotheses and references, line by line and tokenised, to one cost per sentence; 0 is perfect."""


def ter_costs(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """Return the case-sensitive TER of each sentence as a fraction: edits per word of the reference."""
    return [edit_rate([count]) / 100.0 for count in count_edits(hypotheses, references)]


def bleu_costs(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """Return 1 - smoothed BLEU ("exp", effective order) of each sentence; equal texts, even empty ones, cost 0."""
    metric = BLEU(tokenize="none", effective_order=True)
    return [
        0.0 if text == reference else 1.0 - metric.sentence_score(text, [reference]).score / 100.0
        for text, reference in zip(hypotheses, references, strict=True)
    ]


COSTS: Final[Mapping[str, SentenceCost]] = {"ter": ter_costs, "bleu": bleu_costs}
"""Sentence costs by their names in recipes; minimum risk training minimises the expectation of one of them."""
