"""The choice by minimum Bayes risk: against an independent computation, and what it may not choose."""

import math
import re
from itertools import pairwise
from pathlib import Path

import pytest
import sacrebleu

from postedit.core.editor import Constraints, Segment
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.editing.minimum_risk import by_risk
from postedit.editing.post_editor import PostEditor
from postedit.text.words import UNSPACED

EXAMPLES = Path(__file__).parents[3] / "examples" / "mlqe-pe.en-zh"
SCALE = 0.6


def lines(side: str, first: int, last: int) -> list[str]:
    return (EXAMPLES / f"dev.{side}").read_text(encoding="utf-8").split("\n")[first:last]


@pytest.fixture(scope="module")
def editor() -> PostEditor:
    loaded = PostEditor.load(device="cpu")
    assert isinstance(loaded, PostEditor)
    return loaded


def risks(texts: list[str], scores: list[float], scale: float) -> list[float]:
    """The expected edits of each text, by the TER of sacrebleu."""
    metric = sacrebleu.TER(case_sensitive=True)
    words = [" ".join(re.findall(f"[{UNSPACED}]|[^ {UNSPACED}]+", text)) for text in texts]
    powers = [math.exp(scale * score) for score in scores]
    return [
        sum(
            power * metric.sentence_score(text, [other]).score / 100 * len(other.split())
            for power, other in zip(powers, words, strict=True)
        )
        / sum(powers)
        for text in words
    ]


def test_words_that_others_confirm_beat_the_most_probable_text() -> None:
    texts, scores = ["a b c d", "x b c e", "x b c f"], [math.log(p) for p in (0.4, 0.31, 0.29)]
    assert by_risk(texts, scores, 1.0) == [1, 2, 0]
    assert by_risk(texts, scores, 9.0) == [0, 1, 2], "nearly all the probability"
    assert by_risk(["我 很好", "你很坏", "你很大"], scores, 1.0) == [1, 2, 0], "characters are words"
    assert by_risk(["a", "a "], [-1.0, -1.0], 1.0) == [0, 1], "equal ones stay in order"
    assert by_risk(texts[:1], [-1e6], 1.0) == [0]


@pytest.mark.slow
def test_it_is_the_output_with_the_fewest_expected_edits(editor: PostEditor) -> None:
    src, mt = lines("src", 6, 18), lines("mt", 6, 18)  # in which risk decides twice
    plain = editor.edit(src, mt, search=SearchConfig(beam=4, n_best=4))
    chosen = editor.edit(src, mt, search=SearchConfig(beam=4, n_best=4, mbr=SCALE))
    changed = 0
    for before, after in zip(plain, chosen, strict=True):
        listed = {one.text: one.score for one in (before, *before.alternatives) if not one.hit_limit}
        outputs = [after, *after.alternatives]
        if any(one.reverted for one in (before, *before.alternatives)):  # search had other texts than these
            continue
        assert [one.score for one in outputs] == pytest.approx([listed[one.text] for one in outputs], abs=1e-3)
        expected = dict(zip(listed, risks([*listed], [*listed.values()], SCALE), strict=True))
        assert expected[after.text] <= min(expected.values()) + 1e-4
        assert all(expected[one.text] <= expected[other.text] + 1e-4 for one, other in pairwise(outputs[:4]))
        changed += after.text != before.text
    assert changed, "the most probable output is not always the one with the fewest expected edits"


@pytest.mark.slow
def test_one_output_is_the_first_of_several(editor: PostEditor) -> None:
    src, mt = lines("src", 0, 8), lines("mt", 0, 8)
    search = SearchConfig(beam=4, mbr=SCALE)
    several = editor.edit(src, mt, search=search.with_options(n_best=2))
    assert [one.text for one in editor.edit(src, mt, search=search)] == [one.text for one in several]
    assert all(any(not one.changed for one in (found, *found.alternatives)) for found in several)


@pytest.mark.slow
def test_mt_is_chosen_only_where_it_is_a_candidate(editor: PostEditor) -> None:
    segments = [
        Segment(src, mt, Constraints(prefix="但"))
        for src, mt in zip(lines("src", 0, 8), lines("mt", 0, 8), strict=True)
    ]
    found = editor.edit_segments(segments, SearchConfig(beam=4, n_best=2, mbr=SCALE))
    assert all(one.text.startswith("但") or one.skipped for one in found)

    src, mt, search = lines("src", 16, 32), lines("mt", 16, 32), SearchConfig(beam=2, mbr=SCALE)
    with_mt, without = (editor.edit(src, mt, search=search.with_options(mt_candidate=given)) for given in (True, False))
    assert any(other.changed and not one.changed for one, other in zip(with_mt, without, strict=True))
    assert all(other.changed for one, other in zip(with_mt, without, strict=True) if one.changed)


def test_greedy_search_has_no_choice() -> None:
    with pytest.raises(DataError, match="mbr chooses among the outputs of a beam, and greedy search has one"):
        SearchConfig(mbr=1.0)
    assert SearchConfig(beam=4, mbr=1.0).with_options(beam=1).mbr == 0.0
    assert "mbr" not in SearchConfig(beam=4).outcome()
    assert SearchConfig(beam=4, mbr=1.0).outcome()["mbr"] == 1.0
