from itertools import pairwise
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.train.config import TrainConfig
from postedit.train.optimisers import learning_rate
from postedit.train.train_state import Plateau


def config(schedule: str, warmup: int = 100) -> TrainConfig:
    return TrainConfig.model_validate(
        {"max_steps": 1_000, "lr": 0.01, "schedule": schedule, "warmup_steps": warmup, "plateau_factor": 0.5}
    )


@pytest.mark.parametrize("schedule", ["constant", "inverse-sqrt", "linear", "plateau"])
def test_the_warm_up_is_linear_and_ends_at_the_peak(schedule: str) -> None:
    assert isclose(learning_rate(config(schedule), 1, Plateau()), 0.0001)
    assert isclose(learning_rate(config(schedule), 50, Plateau()), 0.005)
    assert isclose(learning_rate(config(schedule), 100, Plateau()), 0.01)


def test_after_the_warm_up() -> None:
    assert isclose(learning_rate(config("constant"), 400, Plateau()), 0.01)
    assert isclose(learning_rate(config("inverse-sqrt"), 400, Plateau()), 0.005)
    assert isclose(learning_rate(config("plateau"), 400, Plateau(reductions=2)), 0.0025)
    assert isclose(learning_rate(config("linear"), 1_000, Plateau()), 0.01 / 901)
    assert learning_rate(config("linear"), 1_001, Plateau()) == 0.0


@pytest.mark.parametrize("warmup", [0, 1, 100])
def test_the_line_falls_by_the_same_amount_each_step(warmup: int) -> None:
    rates = [learning_rate(config("linear", warmup), step, Plateau()) for step in range(max(warmup, 1), 1_002)]
    assert (rates[0], rates[-1]) == (0.01, 0.0)
    assert all(isclose(one - other, rates[-2], rel_tol=1e-6) for one, other in pairwise(rates))


def test_the_line_needs_its_end() -> None:
    with pytest.raises(ValueError, match="set max_steps"):
        TrainConfig.model_validate({"max_minutes": 1.0, "schedule": "linear"})


@pytest.mark.parametrize("schedule", ["constant", "inverse-sqrt", "linear", "plateau"])
def test_without_warm_up_the_first_step_has_the_peak(schedule: str) -> None:
    assert learning_rate(config(schedule, warmup=0), 1, Plateau()) == 0.01
    assert learning_rate(config(schedule, warmup=0), 0, Plateau()) == 0.01


@given(st.integers(1, 10**6), st.integers(0, 10**4))
def test_the_inverse_square_root_never_exceeds_the_peak_and_never_jumps(step: int, warmup: int) -> None:
    now, then = (learning_rate(config("inverse-sqrt", warmup), number, Plateau()) for number in (step, step + 1))
    assert 0.0 < now <= 0.01
    assert then <= now * (1 + 1 / step) * (1 + 1e-9)


def test_a_plateau_is_patience_validations_in_a_row_without_improvement() -> None:
    plateau = Plateau()
    reductions = []
    for improved in [True, False, False, True, False, False, False, False, False, False, True]:
        plateau = plateau.after(improved, patience=3)
        reductions.append(plateau.reductions)
    assert reductions == [0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2]
