import numpy as np
import pytest
from scipy import stats

from postedit.evaluate.gain import SentenceGains, student_quantile, student_tails


def gains(saved: list[int], words: int = 10, folds: list[int] | None = None) -> SentenceGains:
    values = np.array(saved)
    return SentenceGains(values, np.full(len(values), words), values != 0, None if folds is None else np.array(folds))


@pytest.mark.parametrize(
    ("confidence", "freedom", "expected"),
    [
        (0.95, 1, 12.7062),
        (0.95, 4, 2.7764),
        (0.95, 9, 2.2622),
        (0.99, 9, 3.2498),
        (0.95, 99, 1.9842),
        (0.998, 19, 3.5794),
    ],
)
def test_quantiles_are_those_of_tables(confidence: float, freedom: int, expected: float) -> None:
    assert student_quantile(confidence, freedom) == pytest.approx(expected, rel=2e-5)


@pytest.mark.parametrize("freedom", [1.0, 2.5, 30.0, 99.9, 100.0, 1e5])
@pytest.mark.parametrize("value", [0.0, 0.5, -2.0, 6.0])
def test_tails_are_those_of_the_distribution(value: float, freedom: float) -> None:
    assert student_tails(value, freedom) == pytest.approx(2 * stats.t(freedom).sf(abs(value)), rel=1e-6)


def test_the_gain_is_edits_per_hundred_words() -> None:
    found = gains([2, 0, -1, 3]).gain()
    assert found.points == pytest.approx(100 * 4 / 40)
    assert found.low < found.points < found.high


def test_the_interval_is_that_of_the_equations() -> None:
    saved = np.array([2.0, 0, -1, 3] * 25)
    rest = saved - saved.mean()
    half = 100 * 1.98422 * np.sqrt((rest @ rest + 18) * 100 / 99) / 1000
    assert gains([2, 0, -1, 3] * 25).gain().low == pytest.approx(10 - half, rel=1e-4)


def test_an_editor_that_changed_nothing_may_change_the_next_sentence() -> None:
    found = gains([0] * 100).gain()
    assert found.low < 0 < found.high
    assert found.high == pytest.approx(-found.low)
    assert gains([0] * 400).gain().high < found.high / 3


def test_folds_with_good_and_bad_editors_widen_the_interval() -> None:
    folds = [row // 10 for row in range(100)]
    mixed = [1, 0] * 50
    by_fold = [1] * 10 + [0] * 10
    alike, unlike = gains(mixed, folds=folds).gain(), gains(by_fold * 5, folds=folds).gain()
    assert alike.points == unlike.points
    assert unlike.high - unlike.low > 2 * (alike.high - alike.low)


def test_the_interval_of_few_folds_is_that_of_the_equations() -> None:
    saved, folds = np.array([1] * 40 + [0] * 60), [row // 20 for row in range(100)]
    sums = np.bincount(folds, saved - 0.4)
    half = 100 * 2.7764 * np.sqrt((sums @ sums + 18) * 5 / 4 * (1 + 5 / 4)) / 1000
    assert gains(saved.tolist(), folds=folds).gain().low == pytest.approx(4 - half, rel=1e-2)


def test_a_gain_that_grows_with_the_words_is_as_sure_as_it_looks() -> None:
    words = np.array([10, 50] * 50)
    even = SentenceGains(words // 10, words, words > 0).gain()
    uneven = SentenceGains(np.full(100, 3), words, words > 0).gain()
    assert (even.points, uneven.points) == (10.0, 10.0)
    assert even.high - even.low < (uneven.high - uneven.low) / 3


def test_more_confidence_needs_a_wider_interval() -> None:
    one = gains([1, 0, -1, 2] * 30)
    assert one.gain(0.99).low < one.gain(0.95).low


def test_intervals_cover_the_mean_of_rare_and_skewed_gains() -> None:
    draw = np.random.default_rng(1)
    covered = []
    for _ in range(300):
        saved = np.where(draw.random(200) < 0.02, draw.choice([3, 2, -1], 200), 0)
        found = gains(saved.tolist()).gain()
        covered.append(found.low <= 100 * 0.02 * 4 / 3 / 10 <= found.high)
    assert np.mean(covered) >= 0.95
