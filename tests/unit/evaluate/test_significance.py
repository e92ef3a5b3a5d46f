import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.significance import PairedTest

from postedit.evaluate.metrics import AdditiveTER
from postedit.evaluate.significance import compare
from postedit.evaluate.ter import TER

RESAMPLES = 2000


def ratio(sums: np.ndarray) -> np.ndarray:
    return 100.0 * sums[..., 0] / sums[..., 1]


def counts(edits: list[int]) -> np.ndarray:
    return np.array([(edit, 10) for edit in edits], np.float64)


def test_a_system_does_not_differ_from_itself() -> None:
    same = counts([1, 2, 3, 4])
    (one,) = compare([same, same], ratio, RESAMPLES).comparisons
    assert (one.difference, one.interval.low, one.interval.high) == (0.0, 0.0, 0.0)
    assert one.bootstrap == one.randomisation == 1.0


def test_a_difference_everywhere_is_significant() -> None:
    (one,) = compare([counts([2] * 50), counts([1] * 50)], ratio, RESAMPLES).comparisons
    assert one.difference == pytest.approx(10.0)
    assert one.interval.low == one.interval.high == pytest.approx(10.0)
    assert one.bootstrap == one.randomisation == pytest.approx(1 / (RESAMPLES + 1))


def test_a_difference_in_one_sentence_is_not() -> None:
    # Swapping or keeping the one sentence gives the same size of difference always.
    (one,) = compare([counts([2, *[1] * 49]), counts([1] * 50)], ratio, RESAMPLES).comparisons
    assert one.randomisation == 1.0
    assert one.bootstrap > 0.2


def test_randomisation_is_exact_in_the_limit() -> None:
    # Four sentences that all differ by 1: of 16 swaps, 2 are as extreme.
    (one,) = compare([counts([2] * 4), counts([1] * 4)], ratio, 20_000).comparisons
    assert one.randomisation == pytest.approx(2 / 16, abs=0.01)


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
def test_the_other_way_round_is_the_negative(rows: list[tuple[int, int]]) -> None:
    first, second = (counts(list(side)) for side in zip(*rows))
    (one,) = compare([first, second], ratio, 200).comparisons
    (other,) = compare([second, first], ratio, 200).comparisons
    assert one.difference == pytest.approx(-other.difference)
    assert one.interval.low == pytest.approx(-other.interval.high)
    assert one.bootstrap == other.bootstrap
    assert one.randomisation == other.randomisation


def test_blocks_change_no_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    systems = [counts([3, 1, 4, 1, 5, 9, 2]), counts([2, 7, 1, 8, 2, 8, 1])]
    whole = compare(systems, ratio, RESAMPLES)
    monkeypatch.setattr("postedit.evaluate.significance._BLOCK", 64)
    parts = compare(systems, ratio, RESAMPLES)
    assert parts.comparisons[0].bootstrap == pytest.approx(whole.comparisons[0].bootstrap, abs=0.05)
    assert parts.comparisons[0].randomisation == pytest.approx(whole.comparisons[0].randomisation, abs=0.05)


def test_memory_grows_with_systems_and_not_with_pairs_of_them() -> None:
    systems = [counts(list(np.random.default_rng(seed).integers(0, 9, 40))) for seed in range(24)]
    peaks = []
    for count in (12, 24):
        tracemalloc.start()
        found = compare(systems[:count], ratio, RESAMPLES)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2.5 * peaks[0]
    (alone,) = compare(systems[:2], ratio, RESAMPLES).comparisons
    assert found.comparisons[0].randomisation == alone.randomisation


def noisy(seed: int) -> tuple[list[str], list[list[str]]]:
    generator = np.random.default_rng(seed)
    pe = [" ".join(generator.choice(list("abcdefgh"), 8)) for _ in range(60)]
    return pe, [
        [" ".join(w if generator.random() > p else "x" for w in line.split()) for line in pe] for p in (0.30, 0.35)
    ]


def test_randomisation_is_as_sacrebleu_has_it() -> None:
    pe, texts = noisy(4)
    (one,) = compare([AdditiveTER().statistics(text, pe) for text in texts], ratio, 5000).comparisons
    named = [("first", texts[0]), ("second", texts[1])]
    _, found = PairedTest(named, {"TER": TER(case_sensitive=True)}, [pe], test_type="ar", n_samples=2000)()
    assert found["TER"][1].p_value == pytest.approx(one.randomisation, abs=0.05)


def test_the_bootstrap_is_that_of_a_plain_loop() -> None:
    pe, texts = noisy(5)
    first, second = (AdditiveTER().statistics(text, pe) for text in texts)
    (one,) = compare([first, second], ratio, 5000).comparisons
    generator = np.random.default_rng(6)
    drawn = []
    for _ in range(3000):
        rows = generator.choice(len(pe), len(pe))
        drawn.append(ratio(first[rows].sum(0)) - ratio(second[rows].sum(0)))
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert one.interval.low == pytest.approx(low, abs=0.4)
    assert one.interval.high == pytest.approx(high, abs=0.4)
    extreme = np.mean(np.abs(np.array(drawn) - one.difference) >= abs(one.difference))
    assert one.bootstrap == pytest.approx(extreme, abs=0.05)


def test_nothing_to_resample() -> None:
    with pytest.raises(ValueError, match="nothing to resample"):
        compare([np.zeros((0, 2))], ratio)
