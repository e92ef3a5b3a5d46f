import numpy as np
import pytest

from postedit.evaluate.gain import SentenceGains
from postedit.evaluate.learning_curve import GROWTH, SPREAD, forecast, growth


def gains(saved: list[int]) -> SentenceGains:
    values = np.array(saved)
    return SentenceGains(values, np.full(len(values), 20), values != 0, np.arange(len(values)) * 10 // len(values))


def test_growth_lies_between_what_was_seen_and_what_is_usual() -> None:
    ter = 20.0
    found = growth(gains([1, 0, 1, 0] * 100), gains([0, 0, 1, 0] * 100), ter)
    usual, seen = GROWTH * ter / 100, 100 * 0.25 / 20
    assert usual < found.points < seen
    assert found.deviation < SPREAD * ter / 100
    sure = growth(gains([1, 0, 1, 0] * 5000), gains([0, 0, 1, 0] * 5000), ter)
    assert found.points < sure.points < seen


def test_growth_that_differs_between_folds_is_less_sure() -> None:
    half = gains([0] * 300)
    uneven, even = (growth(gains(saved), half, 20.0) for saved in ([1] * 60 + [0] * 240, [1, 0, 0, 0, 0] * 60))
    assert uneven.deviation > 1.1 * even.deviation


def test_forecasts_grow_with_every_doubling_and_so_do_their_intervals() -> None:
    whole = gains([1, 0, 1, 0] * 75)
    found = forecast(whole, gains([1, 0, 0, 0] * 75), 20.0)
    step = growth(whole, gains([1, 0, 0, 0] * 75), 20.0).points
    assert [one.triplets for one in found] == [1_000, 5_000, 25_000]
    assert found[0].gain.points - whole.points == pytest.approx(np.log2(1_000 / 300) * step)
    assert found[1].gain.points - found[0].gain.points == pytest.approx(np.log2(5) * step)
    widths = [one.gain.high - one.gain.low for one in found]
    assert widths == sorted(widths)
    assert widths[0] > whole.gain().high - whole.gain().low


def test_a_forecast_is_no_surer_than_what_is_gained_now() -> None:
    whole, half = gains([1, -1, 2, 0] * 240), gains([0, 1, -1, 1] * 240)
    now, soon = whole.gain(), forecast(whole, half, 20.0)[0].gain  # 960 and 1,000 triplets
    assert soon.high - soon.low > now.high - now.low


def test_forecasts_for_many_times_the_triplets_are_rough() -> None:
    whole = gains([1, 0] * 150)
    assert [(one.triplets, one.is_rough) for one in forecast(whole, whole, 20.0)] == [
        (1_000, False),
        (5_000, False),
        (25_000, True),
    ]
    few = gains([1, 0] * 120)
    assert [one.is_rough for one in forecast(few, few, 20.0)] == [False, True, True]


def test_of_triplets_at_hand_all_are_forecast_and_no_fewer() -> None:
    whole = gains([1, 0] * 600)
    found = [
        [(one.triplets, one.is_given) for one in forecast(whole, whole, 20.0, available=n)] for n in (6_000, 1_200)
    ]
    assert found == [[(6_000, True), (25_000, False)], [(5_000, False), (25_000, False)]]


def test_there_is_no_forecast_for_fewer_triplets_than_there_are() -> None:
    whole = gains([1, 0] * 600)
    assert [one.triplets for one in forecast(whole, whole, 20.0)] == [5_000, 25_000]
