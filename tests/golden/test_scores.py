"""Scores against numbers that were not made by this code: the campaign's gold HTER and known do-nothing scores."""

from pathlib import Path

import pytest

from postedit.evaluate.scores import UNEDITED_MT, score_systems
from postedit.evaluate.ter import TER

DATA = Path(__file__).parents[2].parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"needs the data sets in {DATA}")


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


@pytest.mark.parametrize(
    ("name", "ter", "bleu"),
    [pytest.param("wmt18-smt.en-de", 26.06, 61.30, marks=pytest.mark.slow), ("wmt18-nmt.en-de", 14.12, 78.02)],
)
def test_doing_nothing_on_the_development_sets(name: str, ter: float, bleu: float) -> None:
    (scores,) = score_systems({}, lines(DATA / name / "dev.pe"), lines(DATA / name / "dev.mt"))
    assert scores.name == UNEDITED_MT
    assert round(scores.ter, 2) == ter
    assert round(scores.bleu, 2) == bleu


@pytest.mark.parametrize("name", ["wmt18-smt.en-de", "wmt18-nmt.en-de", "wmt19-nmt.en-ru"])
def test_sentence_ter_without_case_is_gold_hter(name: str) -> None:
    folder = DATA / name
    counts = TER(case_sensitive=False).counts(lines(folder / "dev.mt"), lines(folder / "dev.pe"))
    rates = [min(1.0, count.edits / count.length) for count in counts]
    assert rates == pytest.approx([float(value) for value in lines(folder / "dev.hter")], abs=1e-4)
