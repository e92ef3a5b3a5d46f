from collections.abc import Sequence
from typing import Any

import pytest
from tests.unit.explain.sentences import sentence

from postedit.core.editor import Edit, PostEdit
from postedit.explain.reasons import edit_reasons
from postedit.jobs.evidence_masking import mask, masking_table


class Stub:
    """Writes "rote" for "blaue" as long as the source has the word "red"."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def edit(self, src: Sequence[str], mt: Sequence[str]) -> list[PostEdit]:
        self.asked += src
        return [self._one(*pair) for pair in zip(src, mt, strict=True)]

    def _one(self, src: str, mt: str) -> PostEdit:
        if "red" not in src.split():
            return PostEdit(mt, False, 0.0, (), ())
        return PostEdit("das rote Haus", True, 0.0, (), (Edit("replace", (4, 9), (4, 8)),))


def masked(count: int, seed: int = 1) -> tuple[Stub, list[Any]]:
    stub, sentences = Stub(), [sentence()] * count
    found = [reason for line, one in enumerate(sentences, start=1) for reason in edit_reasons(line, one)]
    return stub, mask(stub, sentences, found, seed)  # type: ignore[arg-type]


def test_an_edit_depends_on_the_words_it_cites_alone() -> None:
    stub, found = masked(12)
    assert [one.gone_without_cited for one in found] == [True] * 12
    assert [one.gone_without_random for one in found] == [False] * 12
    assert stub.asked[0] == "the house"
    assert set(stub.asked[1::2]) == {"red house", "the red"}  # both of the other places are drawn


def test_the_random_words_are_those_of_the_seed() -> None:
    draws = [masked(12, seed)[0].asked for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_both_rates_are_reported() -> None:
    table = masking_table(masked(12)[1], 14, "attention", 1, 200)
    rows = {row.labels[0]: row.values for row in table.rows}
    assert rows["all"][:4] == rows["replace"][:4] == (12, 100.0, 0.0, 100.0)
    assert rows["insert"] == (0, None, None, None, None, None, None)
    assert rows["all"][6] == pytest.approx(1 / 201, abs=0.01)
    assert "12 of 14" in table.note
    assert "seed 1" in table.note


def test_an_edit_that_cites_the_whole_source_is_not_tested() -> None:
    one = sentence(src="red")
    assert mask(Stub(), [one], list(edit_reasons(1, one))) == []  # type: ignore[arg-type]
