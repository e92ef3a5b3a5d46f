"""Scores of candidates where training and corrections propose edits."""

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.phrase.small_corpus import TRIPLETS, split

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import Entry
from postedit.adapt.phrase_learner import PhraseLearner
from postedit.core.search_config import SearchConfig
from postedit.phrase.edit_candidates import FEATURES
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_model import DECISION_WEIGHTS, START_WEIGHTS, learn, weights_of
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig

SRC, MT = "the house is green .", "der Haus ist grün ,"


@pytest.fixture
def corrected() -> PhraseEditor:
    model = learn(split(TRIPLETS), PhraseConfig(order=3))
    editor = PhraseEditor(model, PhraseConfig(order=3), PhraseTextConfig(), SearchConfig())
    learner = PhraseLearner(editor)
    for number, (mt, pe) in enumerate(
        [(MT, "dem Haus ist grün ,"), (MT, "dem Haus ist grün ,"), ("jetzt fällt ,", "jetzt fällt ,")], start=1
    ):
        learner.learn_entries([Entry(number, Correction(SRC, mt, pe), None)])
    return editor


def test_scores_are_those_of_the_features(corrected: PhraseEditor) -> None:
    (found,) = corrected.edit([SRC], [MT], beam=20, n_best=20)
    outputs = [found, *found.alternatives]
    for one in outputs:
        assert one.features is not None
        assert one.score == pytest.approx(sum(corrected.model.weights * list(one.features.values())))
    given = corrected.score([SRC] * len(outputs), [MT] * len(outputs), [one.text for one in outputs])
    assert [one.score for one in given] == pytest.approx([one.score for one in outputs])


def test_an_edit_by_corrections_has_their_score(corrected: PhraseEditor) -> None:
    (found,) = corrected.edit(["another source"], [MT], beam=20, n_best=20)
    one = next(one for one in (found, *found.alternatives) if one.text == "dem Haus ist grün ,")
    (kept,) = (one for one in (found, *found.alternatives) if not one.changed)
    assert one.features is not None
    assert kept.features is not None
    named = dict(zip(FEATURES, corrected.model.knowledge.correction_weights, strict=False))
    gain = one.score - kept.score
    language = corrected.model.weights[0] * (one.features["language model"] - kept.features["language model"])
    assert one.features["corrections"] + language == pytest.approx(gain)
    assert one.features["corrected in context"] == pytest.approx(np.log(3))
    assert gain > named["corrected in context"] * np.log(3) + named["edits"]


def test_what_corrections_left_counts_against_edits_by_training(corrected: PhraseEditor) -> None:
    (found,) = corrected.edit(["the tree falls ."], ["der Baum fällt ,"], beam=20, n_best=20)
    changed = [one.features for one in (found, *found.alternatives) if one.text == "der Baum fällt um ."]
    assert changed
    assert changed[0] is not None
    assert changed[0]["not corrected in context"] > 0.0


@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_the_language_model_does_not_count_for_edits_by_corrections(corrected: PhraseEditor, weight: float) -> None:
    def gain() -> float:
        (found,) = corrected.edit(["another source"], [MT], beam=20, n_best=20)
        scores = {one.text: one.score for one in (found, *found.alternatives)}
        return scores["dem Haus ist grün ,"] - scores[MT]

    before = gain()
    weights = corrected.model.weights.copy()
    weights[0] = weight
    corrected.model = replace(corrected.model, weights=weights)
    assert gain() == pytest.approx(before, rel=1e-4)


def taught(*corrections: tuple[str, str]) -> PhraseEditor:
    """Return an editor that knows only these corrections, all with the source SRC."""
    editor = PhraseEditor.empty(PhraseTextConfig())
    PhraseLearner(editor).learn_entries(
        Entry(number, Correction(SRC, *one), None) for number, one in enumerate(corrections, start=1)
    )
    return editor


def texts(editor: PhraseEditor, src: str, mt: str) -> list[str]:
    (found,) = editor.edit([src], [mt], beam=9, n_best=9)
    return [one.text for one in (found, *found.alternatives)]


def test_a_repeated_segment_becomes_what_its_last_correction_made_of_it() -> None:
    editor = taught(("a b", "a c"), ("a b", "a d"), ("b", "e"))
    assert texts(editor, SRC, "a b")[0] == "a d"
    assert (editor.edit([SRC], ["a b"])[0].features or {})["corrected in context"] == pytest.approx(np.log(2))


def test_a_segment_that_only_begins_like_a_corrected_one_is_not_the_same() -> None:
    editor = taught(("a b c d e f g h", "z z z z z z z h"))
    assert texts(editor, SRC, "a b c d e f g h")[0] == "z z z z z z z h"
    for mt in ("a b c d e f g i", "a b c d e f g h h", "a b c d e f g"):
        assert texts(editor, SRC, mt)[0] != "z z z z z z z h"


def test_decisions_count_where_the_change_was_made_most_often() -> None:
    (found,) = taught(("a w q", "a w q"), ("p w b", "p v b")).edit(["other"], ["z a w b z"], beam=9, n_best=9)
    (changed,) = (one for one in (found, *found.alternatives) if one.changed)
    assert changed.text == "z a v b z"
    assert (changed.features or {})["corrected"] == pytest.approx(np.log(2))


def test_of_wide_contexts_the_one_corrected_last_decides() -> None:
    made, left = ("a b c d e f g q", "a b c x e f g q"), ("q b c d e f g h", "q b c d e f g h")
    mt, changed = "a b c d e f g h", "a b c x e f g h"
    assert changed in texts(taught(left, made), "other", mt)
    assert texts(taught(made, left), "other", mt) == [mt]


def test_insertions_have_context_on_both_sides() -> None:
    (found,) = taught(("a b q", "a n b q"), ("x z a q", "x z a q")).edit(["other"], ["x z a b r"], beam=9, n_best=9)
    (changed,) = (one for one in (found, *found.alternatives) if one.text == "x z a n b r")
    assert (changed.features or {})["corrected in context"] == pytest.approx(np.log(2))


@pytest.mark.parametrize(("weight", "by_training"), [(20.0, True), (-50.0, False)])
def test_of_training_and_corrections_the_higher_score_counts(weight: float, by_training: bool) -> None:
    weights = weights_of({**START_WEIGHTS, **DECISION_WEIGHTS, "edits": weight})
    model = replace(learn(split(TRIPLETS), PhraseConfig(order=3)), weights=weights)
    editor = PhraseEditor(model, PhraseConfig(order=3), PhraseTextConfig(), SearchConfig())
    PhraseLearner(editor).learn_entries([Entry(1, Correction(SRC, "der Haus ist x", "das Haus ist x"), None)])
    (found,) = editor.edit(["other"], ["der Haus ist"], beam=9, n_best=9)
    (changed,) = (one for one in (found, *found.alternatives) if one.text == "das Haus ist")
    assert (changed.features or {})["edits"] == (1.0 if by_training else 0.0)
