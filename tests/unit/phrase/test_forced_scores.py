import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.phrase.small_lattices import EDIT, all_outputs, candidates_from

from postedit.phrase.forced_scores import _best_edits
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.word_ids import BEGIN, END_OF_TEXT

SRC, MT = "the house is green .", "der Haus ist grün ,"


def features(editor: PhraseEditor, output: str) -> dict[str, float]:
    (scored,) = editor.score([SRC], [MT], [output])
    return dict(scored.features or {})


def test_mt_itself_has_no_edits(editor: PhraseEditor) -> None:
    found = features(editor, MT)
    assert found["language model"] < 0.0
    assert set(list(found.values())[1:]) == {0.0}


@pytest.mark.parametrize(
    ("output", "edits", "changed", "length"),
    [
        ("das Haus ist grün .", 2, 2, 0),
        ("der Haus ist ganz grün ,", 1, 1, 1),
        ("der Haus ist ,", 1, 1, -1),
        ("etwas ganz anderes", 5, 5, -2),
        ("", 5, 5, -5),
    ],
)
def test_edits_that_were_never_seen_count_word_by_word(
    editor: PhraseEditor, output: str, edits: int, changed: int, length: int
) -> None:
    found = features(editor, output)
    assert (found["edits"], found["words changed"], found["length"]) == (edits, changed, length)


def test_edits_that_were_seen_score_higher(editor: PhraseEditor) -> None:
    seen, never = editor.score([SRC] * 2, [MT] * 2, ["das Haus ist grün ,", "rot Haus ist grün ,"])
    assert seen.score > never.score + 1.0


@given(st.lists(st.integers(3, 5), max_size=4), st.lists(EDIT, max_size=6))
@example([3], [(1, 0, [4], 3), (1, 0, [5], 3), (1, 0, [4, 5], -3)])  # no insertion beside another
@example([3], [(1, 1, [4], 3), (2, 0, [5], 3), (1, 1, [4, 5], -3)])  # nor after a replacement
@example([3], [(1, 0, [4], 3), (1, 1, [5], 3), (1, 1, [4, 5], -3)])  # nor before one
def test_edits_of_an_output_are_the_best_that_search_could_make(
    words: list[int], edits: list[tuple[int, int, list[int], int]]
) -> None:
    mt = np.array([BEGIN, *words, END_OF_TEXT], np.int32)
    candidates, scores = candidates_from(edits, mt.size)
    for output, score in all_outputs(mt, candidates, scores, 0.0).items():
        steps = _best_edits(mt, np.array(output, np.int32), candidates, scores, np.full(3, -100.0))
        assert (steps >= 0).all()
        assert scores[steps].sum() == pytest.approx(score)
