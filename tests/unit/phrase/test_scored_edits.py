"""Scores of candidates where training and corrections propose edits."""

import numpy as np
import pytest
from tests.unit.phrase.small_corpus import TRIPLETS, split

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import Entry
from postedit.adapt.phrase_learner import PhraseLearner
from postedit.core.search_config import SearchConfig
from postedit.phrase.edit_candidates import FEATURES
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_model import learn
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
