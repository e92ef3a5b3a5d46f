import pytest

from postedit.serve.batch_speeds import BatchSpeeds


def test_small_batches_do_not_hide_how_fast_large_ones_are() -> None:
    speeds = BatchSpeeds()
    assert not speeds
    speeds.add(400, 0.5)
    for _ in range(100):
        speeds.add(20, 0.1)
    assert speeds.seconds_for(400) == pytest.approx(0.5)
    assert speeds.seconds_for(800) == pytest.approx(1.0)
    assert speeds.seconds_for(40) == pytest.approx(0.2)
    assert speeds.tokens_in(0.5) == 400


def test_before_a_large_batch_its_speed_is_that_of_the_next_smaller_size() -> None:
    speeds = BatchSpeeds()
    speeds.add(20, 0.1)
    assert speeds.seconds_for(400) == pytest.approx(2.0)
    assert speeds.seconds_for(1) == pytest.approx(0.005)


def test_a_change_of_speed_is_followed() -> None:
    speeds = BatchSpeeds()
    for _ in range(40):
        speeds.add(100, 1.0)
    for _ in range(40):
        speeds.add(100, 2.0)
    assert speeds.seconds_for(100) == pytest.approx(2.0, rel=0.01)
