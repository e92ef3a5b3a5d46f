"""What a gate learns from, is tested on and is chosen by: each from its own part of the dev set."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.unit.gate.test_calibrate import PLAIN, Drawn, dev, made

from postedit.gate.calibrate import Floats, GateOptions, Outcomes, _fitted, _Tried, calibrate
from postedit.gate.edit_features import Features
from postedit.gate.gate import Level

COUNT = len(Features.names())


def numbered(gains: Sequence[float], words: int = 1) -> Drawn:
    """Return outcomes of which each has its number as its first feature."""
    return Drawn(gains, [(float(number), *[0.0] * (COUNT - 1)) for number in range(len(gains))], words)


@dataclass(frozen=True)
class ByHeart:
    """Is sure of the good changes that it has learnt, and of no other."""

    good: frozenset[float]
    weights: tuple[float, ...] = (1.0,)

    def __call__(self, features: Features) -> float:
        return 1.0 if features.gain in self.good else 0.5


def test_what_is_learnt_by_heart_makes_no_gate_look_good(monkeypatch: pytest.MonkeyPatch) -> None:
    gains = np.random.default_rng(3).permutation([1.0] * 40 + [-1.0] * 60)

    def fitted(outcomes: Outcomes, rows: Sequence[int], level: Level) -> ByHeart:
        return ByHeart(frozenset(float(row) for row in rows if gains[row] > 0.0))

    monkeypatch.setattr("postedit.gate.calibrate._fitted", fitted)
    found = made(numbered(gains), levels="sentence")
    assert not found.tested
    assert set(found.forecasts.probabilities) == {0.5}, "nor are its forecasts of lines that it has learnt"


def test_bets_on_the_lines_of_the_test_begin_with_those_learnt_from(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Floats, Floats, int]] = []

    def recorded(gains: Floats, worst: float, expected: Floats, seed: int) -> float:
        seen.append((gains, expected, seed))
        return 1.0

    monkeypatch.setattr("postedit.gate.calibrate.e_value", recorded)
    gains = 1.0 + np.arange(50)
    found = made(numbered(gains, 100), levels="sentence", seed=7)
    ((tested, expected, seed),) = seen
    assert (len(expected), len(tested), found.lines, seed) == (20, 30, 30, 7)
    assert sorted([*tested, *expected]) == gains.tolist()


def test_of_gates_that_pass_the_one_that_gains_most_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    means: list[float] = []

    def recorded(gains: Floats, *_: object) -> float:
        means.append(float(gains.mean()))
        return [90.0, 30.0, 60.0, 0.0][len(means) - 1]

    monkeypatch.setattr("postedit.gate.calibrate.e_value", recorded)
    for seed in range(6):
        means.clear()
        assert made(dev(np.random.default_rng(seed), 300, 3.0)).gain == max(means[:3])


def test_a_smaller_gain_that_is_surer_is_tested_first() -> None:
    rule = made(numbered([0.0] * 20)).rule
    sure, chancy = (_Tried(rule, np.array(gains)) for gains in ([1.0, 1.0, 1.0, 1.0], [8.0, -2.0, -2.0, 2.0]))
    assert sure.promise > chancy.promise > 0.0


def test_another_seed_divides_the_lines_otherwise() -> None:
    outcomes = numbered(np.random.default_rng(1).normal(size=60))
    assert len({made(outcomes, seed=seed).ungated for seed in range(4)}) == 4


def test_lines_without_changes_do_not_count_as_the_shortest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Drawn, "words", lambda self, rows, kept: [1 + row if row < 10 else 0 for row in rows])
    assert made(numbered([0.0] * 100), fit_share=1.0).rule.longest == 10


def test_too_few_changes_have_the_probability_of_the_rule_of_succession() -> None:
    calibrator = _fitted(numbered([1.0] * 6 + [0.0] * 2), range(8), "sentence")
    assert calibrator(PLAIN) == pytest.approx(7 / 10)


def test_a_feature_that_never_varied_has_no_influence() -> None:
    rng = np.random.default_rng(2)
    features = np.column_stack([rng.normal(size=60), np.full((60, COUNT - 1), 0.1)])
    calibrator = _fitted(Drawn(rng.permutation([1.0, -1.0] * 30), features), range(60), "sentence")
    plain = Features(*features[0])
    assert any(calibrator.weights)
    assert calibrator(replace(plain, share=0.9)) == pytest.approx(calibrator(plain))


def test_a_model_of_which_all_changes_help_may_keep_them_all() -> None:
    rng = np.random.default_rng(4)
    sure = rng.normal(size=400)
    gains = np.where(rng.random(400) < 1.0 / (1.0 + np.exp(-sure - 3.0)), 1.0, 0.0)
    outcomes = Drawn(gains, np.column_stack([sure, np.zeros((400, COUNT - 1))]))
    found = calibrate(outcomes, GateOptions(levels="sentence"))
    assert any(found.rule.calibrator.weights)
    assert found.gain == found.ungated > 0.5
