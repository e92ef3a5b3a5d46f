"""Choosing triplets: the histogram that is asked for, as many as can be, and the same ones however they are cut."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postedit.core.config import load_config
from postedit.core.errors import DataError
from postedit.evaluate.ter import EditCount
from postedit.synthesis.selection.histogram_matching import (
    CELLS,
    LENGTHS,
    RATES,
    cells_of,
    match_histogram,
    uniform_by_line,
)
from postedit.synthesis.translation.parallel_text import ForwardConfig


def scattered(seed: int, filled: int) -> np.ndarray:
    """Return triplets in at most `filled` cells of a corner, so that two such histograms have some in common."""
    rng = np.random.default_rng(seed)
    histogram = np.zeros(CELLS, np.int64)
    histogram[rng.integers(0, 12, filled)] = rng.integers(1, 50, filled)
    return histogram


histograms = st.builds(scattered, st.integers(0, 10_000), st.integers(0, 12))


def test_each_length_and_rate_has_its_cell() -> None:
    columns = len(RATES) + 1
    found = cells_of(
        [EditCount(0, edits, 0, 0, length) for length, edits in ((1, 0), (4, 0), (5, 0), (100, 5), (10, 11))]
    )
    assert found.tolist() == [0, 0, columns, len(LENGTHS) * columns + 1, 2 * columns + len(RATES)]
    assert cells_of([EditCount(0, 0, 0, 3, 0)]).tolist() == [len(RATES)]  # words where the reference has none


@settings(max_examples=300)
@given(histograms, histograms, st.floats(0.01, 0.6))
def test_matching_keeps_most_triplets_within_the_mismatch(real: np.ndarray, made: np.ndarray, mismatch: float) -> None:
    try:
        found = match_histogram(real, made, mismatch)
    except DataError:
        missing = real[made == 0].sum() / max(1, real.sum())
        assert not real.sum() or not made.sum() or missing > mismatch - 1e-9
        return
    assert found.mismatch <= mismatch
    assert (found.keep_rates <= 1).all()
    kept = found.keep_rates * made
    assert np.abs(kept / kept.sum() - real / real.sum()).sum() / 2 == pytest.approx(found.mismatch)
    if found.keep_rates.max() == 1 and found.keep_rates[(made > 0) & (real > 0)].min() < 0.99:
        more = np.minimum(1, found.keep_rates * 1.01) * made
        assert np.abs(more / more.sum() - real / real.sum()).sum() / 2 > mismatch - 1e-6


def test_triplets_that_are_like_real_ones_are_all_kept() -> None:
    real = np.arange(CELLS)
    assert match_histogram(real, 3 * real, 0.0 + 1e-9).kept == pytest.approx(3 * real.sum())


@pytest.mark.parametrize("cells", [[3, 4], [4]], ids=["some in common", "none in common"])
def test_a_mismatch_of_1_keeps_all_triplets(cells: list[int]) -> None:
    real, made = np.zeros(CELLS, int), np.zeros(CELLS, int)
    real[3], made[cells] = 30, 100
    found = match_histogram(real, made, 1.0)
    assert found.kept == made.sum()
    assert found.mismatch == pytest.approx(1 - (made / made.sum())[3])


def test_triplets_that_cannot_be_matched_are_reported() -> None:
    real, made = np.zeros(CELLS, int), np.zeros(CELLS, int)
    real[[3, 4]], made[4] = 30, 100
    with pytest.raises(
        DataError, match="50% of the real triplets have a length and an edit rate that none of these has"
    ):
        match_histogram(real, made, 0.2)


@given(st.integers(0, 2**63), st.integers(0, 2**40), st.integers(1, 50), st.integers(0, 50))
def test_draws_belong_to_lines(seed: int, first: int, count: int, split: int) -> None:
    split = min(split, count)
    whole = uniform_by_line(seed, first, count)
    parts = [uniform_by_line(seed, first, split), uniform_by_line(seed, first + split, count - split)]
    assert np.array_equal(whole, np.concatenate(parts))
    assert ((whole >= 0) & (whole < 1)).all()


def test_draws_are_uniform_and_differ_by_seed() -> None:
    one, other = uniform_by_line(1, 0, 100_000), uniform_by_line(2, 0, 100_000)
    assert np.abs(np.sort(one) - np.linspace(0, 1, len(one))).max() < 0.01
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.02


def test_a_selection_by_other_real_triplets_is_another_job(tmp_path: Path) -> None:
    def write(prefix: str, mt: list[str]) -> None:
        for side, lines in {"src": ["s"] * 4, "mt": mt, "pe": ["a b"] * 4}.items():
            (tmp_path / f"{prefix}.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def provenance(*real: str) -> dict[str, Any]:
        write("real", [*real])
        return config.matching_phase().prepare().provenance

    translator = {"kind": "command", "command": ["cat"]}
    paths = {"src": str(tmp_path / "text.src"), "pe": str(tmp_path / "text.pe"), "out": str(tmp_path / "out")}
    values = {**paths, "real": [str(tmp_path / "real")], "mismatch": 0.01, "translator": translator}
    config = load_config(ForwardConfig, values, "options")
    write("out.translated", ["a b", "a b", "a c", "a c"])
    before = provenance("a b", "a b", "a b", "a c")
    assert provenance("a b", "a b", "a b", "a c") == before
    assert provenance("a b", "a c", "a c", "a c") != before
