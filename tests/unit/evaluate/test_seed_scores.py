import numpy as np
import pytest
from scipy import stats

from postedit.core.errors import DataError
from postedit.evaluate.scores import UNEDITED_MT
from postedit.evaluate.seed_scores import differences, means, trainings_of
from postedit.evaluate.table import Table

NAMES = ["unedited MT", "new/seed-1/a.out", "old.out", "new/seed-12/a.out", "old/seed-1/b.out", "old/seed-2/b.out"]


def test_names_that_differ_in_the_number_of_the_seed_are_one_system() -> None:
    assert trainings_of(NAMES) == {
        "unedited MT": [0],
        "new/seed-*/a.out": [1, 3],
        "old.out": [2],
        "old/seed-*/b.out": [4, 5],
    }


@pytest.mark.parametrize("names", [["a", "b"], ["seed-1/a", "seed-1/b"], ["seed-1"]])
def test_without_several_trainings_of_one_system_it_says_how_to_name_them(names: list[str]) -> None:
    with pytest.raises(DataError, match=r"seed-1/dev\.out and seed-2/dev\.out"):
        trainings_of(names)


def test_means_and_deviations() -> None:
    scores = np.array([[20.0, 60.0, 80.0], [18.0, 61.0, 81.0], [19.0, 50.0, 70.0], [16.0, 62.0, 83.0]])
    table = means({"new": [1, 3], "old": [2]}, scores)
    assert table.header() == ["system", "trainings", "TER", "sd of TER", "BLEU", "sd of BLEU", "chrF", "sd of chrF"]
    new, old = table.rows
    assert new.values == pytest.approx((2, 17.0, 2**0.5, 61.5, 0.5**0.5, 82.0, 2**0.5))
    assert old.values == (1, 19.0, None, 50.0, None, 70.0, None)


def compared(scores: list[float], resampled: np.ndarray, sentences: int = 500) -> Table:
    places = {UNEDITED_MT: [0], "once": [1], "old/seed-*": [2, 3, 4], "new/seed-*": [5, 6]}
    return differences(places, {"TER": np.array(scores)}, {"TER": resampled}, sentences)


SCORES = [20.0, 1.0, 18.0, 18.5, 17.8, 17.0, 17.3]


def test_without_variance_of_sentences_the_test_is_that_of_welch() -> None:
    table = compared(SCORES, np.tile(SCORES, (50, 1)))
    assert [row.labels for row in table.rows] == [
        ("old/seed-*", UNEDITED_MT, "TER"),
        ("new/seed-*", UNEDITED_MT, "TER"),
        ("new/seed-*", "old/seed-*", "TER"),
    ]
    expected = stats.ttest_ind(SCORES[5:], SCORES[2:5], equal_var=False)
    interval = expected.confidence_interval()
    found = table.rows[2].values
    assert found == pytest.approx((-0.95, interval.low, interval.high, expected.pvalue), rel=1e-4)
    with_mt = stats.ttest_1samp(SCORES[2:5], 20.0)
    assert table.rows[0].values[3] == pytest.approx(with_mt.pvalue, rel=1e-4)


def test_without_variance_of_seeds_the_error_is_that_of_the_bootstrap() -> None:
    scores = [20.0, 1.0, 18.0, 18.0, 18.0, 17.0, 17.0]
    drawn = np.random.default_rng(1).normal(scores, 0.3, (4000, 7))
    points, low, high, p = compared(scores, drawn).rows[2].values
    error = np.std(drawn[:, 5:].mean(1) - drawn[:, 2:5].mean(1), ddof=1)
    expected = stats.t(499)
    assert (points, low, high) == pytest.approx(
        (-1.0, -1.0 - expected.ppf(0.975) * error, -1.0 + expected.ppf(0.975) * error)
    )
    assert p == pytest.approx(2 * expected.sf(1.0 / error), rel=1e-4)


def test_equal_systems_do_not_differ() -> None:
    found = compared([18.0] * 7, np.full((10, 7), 18.0)).rows[2].values
    assert found == (0.0, 0.0, 0.0, 1.0)


@pytest.mark.slow
def test_differences_of_seeds_alone_are_seldom_significant() -> None:
    """Systems of the same quality, whose trainings differ more than sentences make them."""
    rng, found, naive = np.random.default_rng(3), [], []
    for _ in range(300):
        of_sentences = rng.normal(0.0, 1.0, (60, 7)) + rng.normal(0.0, 3.0, (60, 1))
        values = of_sentences + rng.normal(0.0, 0.5, 7)
        resampled = values[rng.integers(0, 60, (200, 60))].mean(1)
        found.append(compared([*values.mean(0)], resampled, 60).rows[2].values[3])
        single = values[:, 5] - values[:, 2]
        naive.append(stats.ttest_1samp(single, 0.0).pvalue)
    assert np.mean(np.array(found) < 0.05) < 0.06
    assert np.mean(np.array(naive) < 0.05) > 0.3, "single trainings differ significantly"


@pytest.mark.slow
def test_two_trainings_alike_by_chance_seldom_differ_from_mt() -> None:
    """Welch's formula for seeds and sentences together finds one in eight systems significantly different."""
    rng, trained, found = np.random.default_rng(6), np.array([1.0, 1.0, 0.0]), []
    for _ in range(400):
        scores = trained * (rng.normal(0.0, 0.15) + np.append(rng.normal(0.0, 0.6, 2), 0.0))
        resampled = scores + trained * rng.normal(0.0, 0.15, (200, 1))
        table = differences({"new": [0, 1], UNEDITED_MT: [2]}, {"TER": scores}, {"TER": resampled}, 60)
        _, low, high, p = table.rows[0].values
        assert (low > 0 or high < 0) == (p < 0.05)
        found.append(p)
    assert np.mean(np.array(found) < 0.05) < 0.08
