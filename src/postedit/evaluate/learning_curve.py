"""Forecasts of what a learning editor would gain from more triplets than have been assessed.

The gain is assumed to grow by the same amount whenever the number of triplets doubles. A few hundred triplets say
little about this amount: the difference between the gains with all of them and with half of them measures one doubling,
but its error exceeds the difference itself. So it is combined with the growth on public data sets (a normal prior),
each weighted by its precision.
"""

from math import log2, sqrt
from statistics import NormalDist
from typing import Final, NamedTuple

from postedit.evaluate.gain import Gain, SentenceGains
from postedit.evaluate.significance import CONFIDENCE

SIZES: Final = (1_000, 5_000, 25_000)
"""Numbers of triplets for which a gain is forecast."""

FAR: Final = 20
"""A forecast is rough beyond this multiple of the assessed triplets. With samples of 300 triplets, the intervals for
1,000 and 5,000 covered the real gain in at least 95 % of the samples of each of six tasks; those for 20,000 covered it
in only 60 % (French) and 75 % (German) of the samples of product help, see `benchmarks/RESULTS.md`."""

ROUGH: Final = (
    f"A forecast for more than {FAR} times the triplets assessed is rough: on product help, the intervals for 20,000 "
    "triplets covered what was really gained in only 60 % (French) and 75 % (German) of samples of 300."
)
"""The note for readers of a rough forecast."""

GROWTH: Final = 0.4
SPREAD: Final = 1.0
"""Mean and standard deviation of the prior for the growth of a gain when triplets double, in per cent of the edits that
the unedited MT needs. On the training sets of six tasks it was between -0.1 (WMT18 NMT) and 1.6 (product help in
French), see `benchmarks/RESULTS.md`; the deviation used here is larger, because six tasks are few."""


class Growth(NamedTuple):
    """Growth of a gain when triplets double, in TER points, and its standard deviation."""

    points: float
    deviation: float


class Forecast(NamedTuple):
    """The gain that is expected from a number of triplets, with its interval."""

    triplets: int
    gain: Gain
    is_rough: bool  # whether it is for more than `FAR` times the assessed triplets
    is_given: bool  # whether it is for all triplets at hand, of which only some were assessed

    @property
    def number(self) -> str:
        """The number of triplets as text, such as "5,000" or "all 12,345 given"."""
        return f"all {self.triplets:,} given" if self.is_given else f"{self.triplets:,}"


def growth(whole: SentenceGains, half: SentenceGains, ter: float) -> Growth:
    """Return the growth of a gain, from its values with all triplets and with half of them and from the prior."""
    difference = SentenceGains(whole.saved - half.saved, whole.words, whole.changed | half.changed, whole.folds)
    points, low, high = difference.gain()
    error = (high - low) / 2.0 / _normal(CONFIDENCE)
    mean, deviation = (share / 100.0 * ter for share in (GROWTH, SPREAD))
    weights = 1.0 / max(error, 1e-9) ** 2, 1.0 / max(deviation, 1e-9) ** 2
    middle = (weights[0] * points + weights[1] * mean) / sum(weights)
    return Growth(middle, 1.0 / sqrt(sum(weights)))


def forecast(
    whole: SentenceGains, half: SentenceGains, ter: float, confidence: float = CONFIDENCE, available: int = 0
) -> list[Forecast]:
    """Return the gains expected with all triplets at hand, and with each of `SIZES` that is larger.

    There are no forecasts for numbers of triplets that do not exceed those assessed.

    Args:
        whole: gains of an editor that was trained on nearly all assessed triplets.
        half: gains of one that was trained on half of them.
        ter: TER of the unedited MT, which no gain can exceed.
        confidence: confidence of the intervals.
        available: number of triplets at hand, if only some of them were assessed.
    """
    now, found = whole.gain(confidence), growth(whole, half, ter)
    forecasts = []
    for size in (available, *(size for size in SIZES if size > available)):
        if size <= len(whole.words):
            continue
        doublings = log2(size / max(1, len(whole.words)))
        middle, reach = now.points + doublings * found.points, doublings * found.deviation * _normal(confidence)
        below, above = (sqrt(side**2 + reach**2) for side in (now.points - now.low, now.high - now.points))
        gain = Gain(middle, middle - below, middle + above).at_most(ter)
        forecasts.append(Forecast(size, gain, is_rough=size > FAR * len(whole.words), is_given=size == available))
    return forecasts


def _normal(confidence: float) -> float:
    return NormalDist().inv_cdf(0.5 + confidence / 2.0)
