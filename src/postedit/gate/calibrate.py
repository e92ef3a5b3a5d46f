"""How a gate is made from a dev set, so that it keeps its promise.

The promise: with a confidence of 95 %, over the draw of the dev set, TER behind the gate is not above that of doing
nothing, on text that is drawn as the dev set was. It is kept by dividing the dev set. On one part, all is learnt and
chosen, as greedily as one likes: a logistic regression, and an order in which gates are worth trying. On the other part
the gates are tested in that order, until one cannot be shown to be better than nothing (a fixed sequence, as in "Learn
then test", Angelopoulos et al. 2021): the probability that one passes which does harm is at most 5 %, however many are
tested, and so the best of those that passed may be chosen. The test needs no normal distribution; see `betting`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from postedit.core.extras import library
from postedit.gate.betting_test import Floats, evidence
from postedit.gate.edit_features import Features
from postedit.gate.gate import Calibrator, Level, Rule
from postedit.gate.outcomes import Kept, Outcomes, everything

Levels = Literal["auto", "sentence", "edit"]

CONFIDENCE: Final = 0.95

_FOLDS: Final = 5
"""Parts of the first part of the dev set: what is learnt is judged on lines it was not learnt from."""

_THRESHOLDS: Final = 12
"""Thresholds that are tried for each level: quantiles of the probabilities."""

_LONGEST: Final = 0.9
"""The share of corrections that a gate considers: those that change more words can do the most harm."""

_FEWEST: Final = 10
"""Changes of either kind, for better and not, below which nothing is learnt."""

_LOOSENESS: Final = 0.1
"""scikit-learn's C: strong regularisation, as there may be no more than some dozens of changes to learn from."""


@dataclass(frozen=True, slots=True)
class GateOptions:
    """How a gate is made.

    Args:
        levels: what it decides on; "auto" is the better of the two.
        confidence: of the promise.
        fit_share: of the dev set, to learn from; the rest is for the test.
        seed: of the division, and of orders.
    """

    levels: Levels = "auto"
    confidence: float = CONFIDENCE
    fit_share: float = 0.4
    seed: int = 1


@dataclass(frozen=True, eq=False, slots=True)
class Forecasts:
    """Probabilities of changes the calibrator did not learn from, and what came of them.

    Args:
        probabilities: Float[n], that a change makes mt better.
        better: Float[n], 1 if it did.
    """

    probabilities: Floats
    better: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Calibrated:
    """A rule, and what the test says of it.

    Args:
        rule: closed if no gate passed the test.
        evidence: the e-value of the rule; of the first that failed, if it is closed.
        gain: TER edits saved a line by the rule, on the part for the test.
        ungated: by the model without a gate, on the same part.
        forecasts: on the same part.
        lines: of the part for the test.
    """

    rule: Rule
    evidence: float
    gain: float
    ungated: float
    forecasts: Forecasts
    lines: int


def calibrate(outcomes: Outcomes, options: GateOptions, rows: Sequence[int] | None = None) -> Calibrated:
    """Return the rule that a dev set, or those of its lines that `rows` name, supports.

    Raises:
        RecipeError: if scikit-learn is not installed.
    """
    chosen = np.arange(len(outcomes)) if rows is None else np.asarray(rows)
    chosen = np.random.default_rng(options.seed).permutation(chosen)
    cut = round(options.fit_share * len(chosen))
    fit, test = chosen[:cut].tolist(), chosen[cut:].tolist()
    longest = _longest(outcomes, fit)
    levels: tuple[Level, ...] = ("sentence", "edit") if options.levels == "auto" else (options.levels,)
    tried = [one for level in levels for one in _rules(outcomes, fit, level, longest, options.seed)]
    tried.sort(key=lambda one: one.promise, reverse=True)
    rules = {one.rule.level: one.rule for one in tried}  # those of a level differ in their thresholds alone
    probabilities = {level: _probabilities(outcomes, test, rule) for level, rule in rules.items()}
    passed, last = [], 1.0
    for one in tried:
        gains = _gains(outcomes, test, probabilities[one.rule.level], one.rule.threshold or 0.0, longest)
        last = evidence(np.maximum(gains, -longest), longest, one.gains, options.seed)
        if last < 1.0 / (1.0 - options.confidence):
            break
        passed.append((float(gains.mean()), last, one.rule))
    closed = Rule(levels[0], _INDIFFERENT, None, longest)
    gain, value, rule = max(passed, key=lambda one: one[0]) if passed else (0.0, last, _closed(tried, closed))
    ungated = float(outcomes.gains(test, everything(outcomes, test)).mean()) if test else 0.0
    return Calibrated(rule, value, gain, ungated, forecasts(outcomes, test, rule), len(test))


def rule_gains(outcomes: Outcomes, rows: Sequence[int], rule: Rule) -> Floats:
    """Return Float[n]: the gain of each line behind a gate with this rule."""
    if rule.threshold is None:
        return np.zeros(len(rows))
    return _gains(outcomes, rows, _probabilities(outcomes, rows, rule), rule.threshold, rule.longest)


def forecasts(outcomes: Outcomes, rows: Sequence[int], rule: Rule) -> Forecasts:
    """Return what a rule says of the changes in lines, and what comes of each alone."""
    changes = [one for row in rows for one in _changes(outcomes, row, rule.level)]
    probabilities = np.array([rule.calibrator(features) for _, features in changes])
    return Forecasts(probabilities, (_change_gains(outcomes, rows, rule.level) > 0.0).astype(np.float64))


def expected_calibration_error(forecast: Forecasts, bins: int = 10) -> float:
    """Return the mean distance of probabilities and frequencies, in bins of equally many changes."""
    if not forecast.probabilities.size:
        return 0.0
    return float(sum(len(p) * abs(p.mean() - b.mean()) for p, b in binned(forecast, bins)) / len(forecast.better))


def binned(forecast: Forecasts, bins: int = 10) -> list[tuple[Floats, Floats]]:
    """Return probabilities and outcomes in bins of equally many, by rising probability."""
    order = np.argsort(forecast.probabilities, kind="stable")
    parts = np.array_split(order, min(bins, max(1, len(order))))
    return [(forecast.probabilities[part], forecast.better[part]) for part in parts if part.size]


@dataclass(frozen=True, eq=False, slots=True)
class _Tried:
    """A rule that is worth a test; `gains` are those of like rules on lines that these were not learnt from."""

    rule: Rule
    gains: Floats

    @property
    def promise(self) -> float:
        """How soon its gains would prove themselves."""
        return float(self.gains.mean() / max(1e-9, np.sqrt((self.gains**2).mean())))


_INDIFFERENT: Final = Calibrator(
    (0.0,) * len(Features.names()), (1.0,) * len(Features.names()), (0.0,) * len(Features.names()), 0.0
)


def is_learnt(rule: Rule) -> bool:
    """Whether there was enough to learn probabilities from."""
    return rule.calibrator != _INDIFFERENT


def _closed(tried: Sequence[_Tried], otherwise: Rule) -> Rule:
    """Return the most promising rule, which failed, but closed: its probabilities are worth having."""
    if not tried:
        return otherwise
    rule = tried[0].rule
    return Rule(rule.level, rule.calibrator, None, rule.longest)


def _longest(outcomes: Outcomes, rows: Sequence[int]) -> int:
    words = [count for count in outcomes.words(rows, everything(outcomes, rows)) if count]
    return int(np.quantile(words, _LONGEST, method="higher")) if words else 1


def _rules(outcomes: Outcomes, rows: Sequence[int], level: Level, longest: int, seed: int) -> Iterator[_Tried]:
    """Yield rules of one level; thresholds are judged by calibrators that did not learn from the line they judge."""
    whole = _fitted(outcomes, rows, level)
    if whole is None:
        return
    parts = [rows[place::_FOLDS] for place in range(_FOLDS)]
    crossed: list[tuple[int, tuple[float, ...]]] = []
    for part in parts:
        held_out = set(part)
        others = [row for row in rows if row not in held_out]
        calibrator = _fitted(outcomes, others, level) or whole
        rule = Rule(level, calibrator, 0.0, longest)
        crossed += [(row, rule.confidences(outcomes.judged[row])) for row in part]
    every = np.concatenate([np.array(probabilities) for _, probabilities in crossed])
    thresholds = np.unique(np.quantile(every, np.linspace(0.0, 0.95, _THRESHOLDS)))
    order, probabilities = [row for row, _ in crossed], [one for _, one in crossed]
    for threshold in thresholds.tolist():
        gains = _gains(outcomes, order, probabilities, threshold, longest)
        if gains.mean() > 0.0:
            yield _Tried(Rule(level, whole, threshold, longest), gains)


def _probabilities(outcomes: Outcomes, rows: Sequence[int], rule: Rule) -> list[tuple[float, ...]]:
    return [rule.confidences(outcomes.judged[row]) for row in rows]


def _gains(
    outcomes: Outcomes,
    rows: Sequence[int],
    probabilities: Sequence[tuple[float, ...]],
    threshold: float,
    longest: int,
) -> Floats:
    kept: list[Kept] = [tuple(probability >= threshold for probability in line) for line in probabilities]
    short = [count <= longest for count in outcomes.words(rows, kept)]
    return np.where(short, outcomes.gains(rows, kept), 0.0)


def _changes(outcomes: Outcomes, row: int, level: Level) -> list[tuple[Kept, Features]]:
    """Return the changes of a line that a gate decides on: what is kept by each alone, and its features."""
    judged = outcomes.judged[row]
    if judged.whole is None:
        return []
    count = len(judged.parts)
    if level == "sentence":
        return [((True,) * count, judged.whole)]
    return [(tuple(other == place for other in range(count)), one) for place, one in enumerate(judged.parts)]


def _change_gains(outcomes: Outcomes, rows: Sequence[int], level: Level) -> Floats:
    pairs = [(row, kept) for row in rows for kept, _ in _changes(outcomes, row, level)]
    return outcomes.gains([row for row, _ in pairs], [kept for _, kept in pairs])


def _fitted(outcomes: Outcomes, rows: Sequence[int], level: Level) -> Calibrator | None:
    """Return a logistic regression of changes for the better against all others; None if there are too few."""
    features = [one.values() for row in rows for _, one in _changes(outcomes, row, level)]
    better = _change_gains(outcomes, rows, level) > 0.0
    if min(better.sum(), (~better).sum()) < _FEWEST:
        return None
    linear = library("sklearn.linear_model", "making a gate", "gate")
    values = np.array(features)
    means, scales = values.mean(0), values.std(0)
    scales = np.where(scales > 1e-9, scales, 1.0)
    model = linear.LogisticRegression(C=_LOOSENESS, max_iter=1000).fit((values - means) / scales, better)
    weights = tuple(float(weight) for weight in model.coef_[0])
    return Calibrator(tuple(means.tolist()), tuple(scales.tolist()), weights, float(model.intercept_[0]))
