"""Calibration of a gate on a dev set, with a statistical guarantee.

With a confidence of 95 % over the draw of the dev set, TER behind the gate is not above that of the unedited MT, for
text from the same distribution as the dev set. One part of the dev set is for learning: a logistic regression, and the
order in which gates are tested. On the other part, gates are tested in that order, until one cannot be shown to be
better than mt (fixed sequence testing, as in "Learn then test", Angelopoulos et al. 2021). The probability that a
harmful gate passes is at most 5 %, however many are tested, so the best of those that passed may be chosen. The test,
`e_value`, makes no assumption about the distribution, except that no loss exceeds the number of words that may change.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from postedit.core.errors import library
from postedit.editing.results import keep_edits
from postedit.evaluate.ter import count_edits
from postedit.evaluate.tokenisation import Tokenize
from postedit.explain.figure import save_figure
from postedit.gate.edit_features import CorrectionFeatures, Features, words_changed
from postedit.gate.gate import Calibrator, Level, Rule

Floats = NDArray[np.float64]
Kept = tuple[bool, ...]  # for each edit of a segment, whether it is kept
Levels = Literal["auto", "sentence", "edit"]

CONFIDENCE: Final = 0.95

ENOUGH_LINES: Final = 400  # dev lines that suffice; with fewer, the gate of a model that gains little may stay closed

_FOLDS: Final = 5  # folds of the learning part: gates are ranked on segments from which their calibrator did not learn
_THRESHOLDS: Final = 12  # thresholds tried for each level: quantiles of the probabilities

_LONGEST: Final = 0.9
"""Share of corrections that a gate considers; the rest change more words than these, and can do the most harm."""

_FEWEST: Final = 10
"""Least number of changes that improve mt, and of others, to learn from. With fewer, all get the same probability: the
only gate keeps all of them in lines where they change few enough words, and the test decides whether it may be used."""

_LOOSENESS: Final = 0.1
"""scikit-learn's C: strong regularisation, because there may be only a few dozen changes to learn from."""
_MOST_BINS: Final = 10  # most bins of changes in which probabilities are compared with the share that was better

_FEWEST_IN_BIN: Final = 25
"""Least number of changes in a bin: with fewer, the share that was better is off by more than 0.1 by chance alone."""

_ORDERS: Final = 50  # number of random orders of betting; the mean capital over them hardly depends on the order
_BOLDEST: Final = 0.5  # the largest bet, as a share of the bet that can lose everything
_RICHEST: Final = 700.0  # upper bound of the logarithm of capital, against overflow; it can only reduce the evidence


@dataclass(frozen=True, slots=True)
class GateOptions:
    """Options of making a gate."""

    levels: Levels = "auto"  # the gate decides on sentences or edits; "auto": the better of the two
    confidence: float = CONFIDENCE  # confidence of the guarantee
    fit_share: float = 0.4  # share of the dev set to learn from; the rest is for the test
    seed: int = 1  # seed of the division, and of the orders of betting


class Outcomes:
    """The gain of each segment for the edits that are kept; each gain is computed once.

    The gain is the number of TER edits between mt and pe, minus the number between the returned text and pe.
    """

    def __init__(
        self,
        mt: Sequence[str],
        pe: Sequence[str],
        judged: Sequence[CorrectionFeatures],
        tokenize: Tokenize = "none",
    ) -> None:
        self.mt, self.pe, self.judged, self.tokenize = mt, pe, judged, tokenize
        self._before = [count.edits for count in count_edits(mt, pe, tokenize)]
        self._gains: dict[tuple[int, Kept], float] = {}
        self._words: dict[tuple[int, Kept], int] = {}

    def __len__(self) -> int:
        return len(self.mt)

    def gains(self, rows: Sequence[int], kept: Sequence[Kept]) -> Floats:
        """Return Float[n]: the gain of each segment with the given edits kept."""
        self._count(rows, kept)
        return np.array([self._gains[row, mask] if any(mask) else 0.0 for row, mask in zip(rows, kept)])

    def words(self, rows: Sequence[int], kept: Sequence[Kept]) -> list[int]:
        """Return the number of changed words of each segment."""
        self._count(rows, kept)
        return [self._words[row, mask] if any(mask) else 0 for row, mask in zip(rows, kept)]

    def _count(self, rows: Sequence[int], kept: Sequence[Kept]) -> None:
        new = [one for one in dict.fromkeys(zip(rows, kept)) if any(one[1]) and one not in self._gains]
        texts = [keep_edits(self.mt[row], self.judged[row].result, mask).text for row, mask in new]
        counts = count_edits(texts, [self.pe[row] for row, _ in new], self.tokenize)
        for (row, mask), text, count in zip(new, texts, counts):
            self._gains[row, mask] = float(self._before[row] - count.edits)
            self._words[row, mask] = words_changed(self.mt[row], text, self.tokenize)


def everything(outcomes: Outcomes, rows: Sequence[int]) -> list[Kept]:
    """Return masks that keep all edits of these segments."""
    return [(True,) * len(outcomes.judged[row].result.edits) for row in rows]


@dataclass(frozen=True, eq=False, slots=True)
class Forecasts:
    """Probabilities of changes from which the calibrator did not learn, and their outcomes."""

    probabilities: Floats  # Float[n], that a change makes mt better
    better: Floats  # Float[n], 1 if it did


@dataclass(frozen=True, eq=False, slots=True)
class Calibrated:
    """A rule, and its results on the test part of the dev set."""

    rule: Rule  # closed if no gate passed the test
    evidence: float  # e-value of the rule; if closed, of the first that failed, or 1 if none was worth testing
    gain: float  # TER edits saved per segment by the rule
    ungated: float  # the same for the model without a gate
    forecasts: Forecasts
    lines: int  # segments of the test part
    tested: bool  # whether a rule was worth testing


def calibrate(outcomes: Outcomes, options: GateOptions, rows: Sequence[int] | None = None) -> Calibrated:
    """Return the best rule that passes the test on a dev set, or on its segments `rows`; a closed one if none passes.

    Raises:
        RecipeError: if scikit-learn is not installed.
    """
    chosen = np.arange(len(outcomes)) if rows is None else np.asarray(rows)
    chosen = np.random.default_rng(options.seed).permutation(chosen)
    cut = round(options.fit_share * len(chosen))
    fit, test = chosen[:cut].tolist(), chosen[cut:].tolist()
    words = [count for count in outcomes.words(fit, everything(outcomes, fit)) if count]
    longest = int(np.quantile(words, _LONGEST, method="higher")) if words else 1
    levels: tuple[Level, ...] = ("sentence", "edit") if options.levels == "auto" else (options.levels,)
    tried = [one for level in levels for one in _rules(outcomes, fit, level, longest)]
    tried.sort(key=lambda one: one.promise, reverse=True)
    rules = {one.rule.level: one.rule for one in tried}  # rules of one level differ in their thresholds only
    probabilities = {level: _probabilities(outcomes, test, rule) for level, rule in rules.items()}
    passed, last = [], 1.0
    for one in tried:
        gains = _gains(outcomes, test, probabilities[one.rule.level], one.rule.threshold or 0.0, longest)
        last = e_value(np.maximum(gains, -longest), longest, one.gains, options.seed)
        if last < 1.0 / (1.0 - options.confidence):
            break
        passed.append((float(gains.mean()), last, one.rule))
    # A closed rule keeps the calibrator of the most promising one: its probabilities are useful.
    level = levels[0]
    failed = tried[0].rule if tried else Rule(level, _fitted(outcomes, fit, level), None, longest, outcomes.tokenize)
    gain, value, rule = max(passed, key=lambda one: one[0]) if passed else (0.0, last, replace(failed, threshold=None))
    ungated = float(outcomes.gains(test, everything(outcomes, test)).mean()) if test else 0.0
    return Calibrated(rule, value, gain, ungated, forecasts(outcomes, test, rule), len(test), bool(tried))


def forecasts(outcomes: Outcomes, rows: Sequence[int], rule: Rule) -> Forecasts:
    """Return the probability of each change in some segments, and whether this change alone makes mt better."""
    changes = [one for row in rows for one in _changes(outcomes, row, rule.level)]
    probabilities = np.array([rule.calibrator(features) for _, features in changes])
    return Forecasts(probabilities, (_change_gains(outcomes, rows, rule.level) > 0.0).astype(np.float64))


def expected_calibration_error(forecast: Forecasts) -> float:
    """Return the mean distance of probabilities and frequencies, over the bins of `binned`."""
    if not forecast.probabilities.size:
        return 0.0
    return float(sum(len(p) * abs(p.mean() - b.mean()) for p, b in binned(forecast)) / len(forecast.better))


def binned(forecast: Forecasts) -> list[tuple[Floats, Floats]]:
    """Return probabilities and outcomes in bins with about equal numbers of changes, by rising probability.

    Changes with equal probabilities share a bin, so that their order does not matter.
    """
    order = np.argsort(forecast.probabilities, kind="stable")
    ordered = forecast.probabilities[order]
    bins = min(_MOST_BINS, max(1, len(order) // _FEWEST_IN_BIN))
    ends = ordered[[len(order) * place // bins for place in range(1, bins)]]
    parts = np.split(order, np.searchsorted(ordered, ends))
    return [(forecast.probabilities[part], forecast.better[part]) for part in parts if part.size]


def e_value(gains: Floats, worst: float, expected: Floats | None = None, seed: int = 1) -> float:
    """Return the evidence of gains against a mean of at most 0, as an e-value.

    This tests by betting (Waudby-Smith and Ramdas 2024). A bettor who believes that the mean is above 0 bets a share of
    his capital, at first 1, on each gain before he sees it. If gains are independent draws from a distribution with a
    mean of at most 0, his expected capital does not grow, whatever he bets, so it reaches 20 with a probability of at
    most 1/20 (Markov), for any number of gains. The e-value is the mean of the final capital over orders of the gains.

    The first bets are based on `expected` Float[m], similar gains that are independent of `gains` Float[n].

    Raises:
        ValueError: if a gain is below -`worst`.
    """
    if gains.size and gains.min() < -worst:
        raise ValueError(f"a gain of {gains.min()} is below {-worst}")
    known = np.zeros(0) if expected is None else expected
    ordered = np.random.default_rng(seed).permuted(np.tile(gains, (_ORDERS, 1)), axis=1)
    before = np.concatenate([np.zeros((_ORDERS, 1)), ordered[:, :-1]], 1)[:, : gains.size]
    sums = known.sum() + np.cumsum(before, 1)
    squares = worst + (known**2).sum() + np.cumsum(before**2, 1)
    # Growth of the logarithm of the capital is bet * sum - bet ** 2 * squares / 2, to the second order.
    bets = np.clip(sums / squares, 0.0, _BOLDEST / worst)
    return float(np.exp(np.minimum(np.log1p(bets * ordered).sum(1), _RICHEST)).mean())


def draw_reliability(forecasts: Forecasts, path: Path) -> None:
    """Write the reliability diagram: the frequency of improvement by predicted probability.

    Args:
        forecasts: the probabilities and outcomes to draw.
        path: output file; its suffix is a format of matplotlib, such as `.png`.

    Raises:
        OutputError: if the file cannot be written.
    """
    from matplotlib.figure import Figure

    bins = binned(forecasts)
    figure = Figure(figsize=(4.5, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1, label="calibrated")
    axes.plot([p.mean() for p, _ in bins], [b.mean() for _, b in bins], marker="o", label="gate")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="probability of being better", ylabel="share that was better")
    error = expected_calibration_error(forecasts)
    axes.set_title(f"{len(forecasts.better):,} changes, expected calibration error {error:.3f}", fontsize=10)
    axes.legend(loc="upper left")
    save_figure(figure, path, dpi=150)


@dataclass(frozen=True, eq=False, slots=True)
class _Tried:
    """A rule worth testing; `gains` are those of the rules of folds, on segments from which they did not learn."""

    rule: Rule
    gains: Floats

    @property
    def promise(self) -> float:
        """Mean gain over its root mean square; the larger it is, the fewer segments would prove the gain."""
        return float(self.gains.mean() / max(1e-9, np.sqrt((self.gains**2).mean())))


def is_learnt(rule: Rule) -> bool:
    """Return whether the calibrator had enough changes to learn which are better than others."""
    return any(rule.calibrator.weights)


def _rules(outcomes: Outcomes, rows: Sequence[int], level: Level, longest: int) -> Iterator[_Tried]:
    """Yield rules of one level, with gains from calibrators that did not learn from the segment they decide on."""
    whole = _fitted(outcomes, rows, level)
    order: list[int] = []
    probabilities: list[tuple[float, ...]] = []
    for part in (rows[index::_FOLDS] for index in range(_FOLDS)):
        held_out = set(part)
        others = _fitted(outcomes, [row for row in rows if row not in held_out], level)
        calibrator = others if any(others.weights) else whole
        order += part
        probabilities += _probabilities(outcomes, part, Rule(level, calibrator, 0.0, longest, outcomes.tokenize))
    every = np.array([probability for line in probabilities for probability in line])
    if not every.size:
        return
    thresholds = np.unique(np.quantile(every, np.linspace(0.0, 0.95, _THRESHOLDS)))
    for threshold in thresholds.tolist():
        gains = _gains(outcomes, order, probabilities, threshold, longest)
        if gains.mean() > 0.0:
            yield _Tried(Rule(level, whole, threshold, longest, outcomes.tokenize), gains)


def _probabilities(outcomes: Outcomes, rows: Sequence[int], rule: Rule) -> list[tuple[float, ...]]:
    return [rule.confidences(outcomes.judged[row]) for row in rows]


def _gains(
    outcomes: Outcomes, rows: Sequence[int], probabilities: Sequence[tuple[float, ...]], threshold: float, longest: int
) -> Floats:
    kept: list[Kept] = [tuple(probability >= threshold for probability in line) for line in probabilities]
    short = [count <= longest for count in outcomes.words(rows, kept)]
    return np.where(short, outcomes.gains(rows, kept), 0.0)


def _changes(outcomes: Outcomes, row: int, level: Level) -> list[tuple[Kept, Features]]:
    """Return the changes of a segment that a gate decides on: the mask of each change alone, and its features."""
    judged = outcomes.judged[row]
    if judged.whole is None:
        return []
    count = len(judged.parts)
    if level == "sentence":
        return [((True,) * count, judged.whole)]
    return [(tuple(other == index for other in range(count)), one) for index, one in enumerate(judged.parts)]


def _change_gains(outcomes: Outcomes, rows: Sequence[int], level: Level) -> Floats:
    pairs = [(row, kept) for row in rows for kept, _ in _changes(outcomes, row, level)]
    return outcomes.gains([row for row, _ in pairs], [kept for _, kept in pairs])


def _fitted(outcomes: Outcomes, rows: Sequence[int], level: Level) -> Calibrator:
    """Return a logistic regression that tells changes for the better from others; with too few, a constant."""
    features = [one.values() for row in rows for _, one in _changes(outcomes, row, level)]
    better = _change_gains(outcomes, rows, level) > 0.0
    if min(better.sum(), (~better).sum()) < _FEWEST:
        count = len(Features.names())
        odds = (better.sum() + 1.0) / ((~better).sum() + 1.0)  # Laplace's rule of succession
        return Calibrator((0.0,) * count, (1.0,) * count, (0.0,) * count, float(np.log(odds)))
    linear = library("sklearn.linear_model", "making a gate", "gate")
    values = np.array(features)
    means, scales = values.mean(0), values.std(0)
    scales = np.where(scales > 1e-9, scales, 1.0)
    model = linear.LogisticRegression(C=_LOOSENESS, max_iter=1000).fit((values - means) / scales, better)
    weights = tuple(float(weight) for weight in model.coef_[0])
    return Calibrator(tuple(means.tolist()), tuple(scales.tolist()), weights, float(model.intercept_[0]))
