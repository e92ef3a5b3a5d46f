"""The test of a mean: right for any distribution, and not without power."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postedit.gate.calibrate import e_value

DRAWS = 400
NULLS = {
    "rare harm": ([0.0, 1.0, -5.0], [0.94, 0.05, 0.01]),
    "nothing but chance": ([-1.0, 0.0, 1.0], [0.3, 0.4, 0.3]),
    "hardly ever anything": ([-4.0, 0.0, 4.0], [0.005, 0.99, 0.005]),
}


@pytest.mark.parametrize("name", NULLS)
@pytest.mark.parametrize("lines", [20, 300])
def test_edits_that_save_nothing_on_average_seldom_pass(name: str, lines: int) -> None:
    values, shares = NULLS[name]
    generator = np.random.default_rng(1)
    samples = generator.choice(values, (DRAWS, 2, lines), p=shares)
    found = [e_value(gains, 5.0, expected) for expected, gains in samples]
    # At most 5 % in truth; three standard errors of 400 draws are 3.3 %.
    assert np.mean([value >= 20.0 for value in found]) <= 0.05 + 0.033
    assert np.mean(found) <= 1.0 + 3.0 * np.std(found) / np.sqrt(DRAWS), "the capital does not grow"


def test_edits_that_save_work_are_detected() -> None:
    generator = np.random.default_rng(2)
    gains = generator.choice([-1.0, 0.0, 1.0], 600, p=[0.1, 0.65, 0.25])
    assert e_value(gains, 5.0) > 20.0
    assert e_value(-gains, 5.0) <= 1.0


def test_few_lines_prove_nothing() -> None:
    assert e_value(np.ones(5), 5.0, np.ones(50)) < 20.0


def test_strong_evidence_stays_finite() -> None:
    assert np.isfinite(e_value(np.full(30_000, 3.0), 5.0))


def test_no_lines_are_no_evidence() -> None:
    assert e_value(np.zeros(0), 1.0) == 1.0


def test_losses_beyond_the_worst_are_refused() -> None:
    with pytest.raises(ValueError, match="below -2"):
        e_value(np.array([1.0, -3.0]), 2.0)


@settings(max_examples=50)
@given(st.lists(st.integers(-3, 6), max_size=30), st.integers(0, 5))
def test_the_capital_is_never_negative_and_repeats(gains: list[int], seed: int) -> None:
    values = np.array(gains, dtype=np.float64)
    found = e_value(values, 3.0, seed=seed)
    assert found >= 0.0
    assert found == e_value(values, 3.0, seed=seed)
    if all(gain <= 0 for gain in gains):
        assert found <= 1.0
