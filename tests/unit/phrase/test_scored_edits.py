"""Scores of candidates where training and corrections propose edits."""

import numpy as np
import pytest
from tests.unit.phrase.small_corpus import TRIPLETS, split

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import Entry
from postedit.adapt.phrase_learner import PhraseLearner
from postedit.core.search_config import SearchConfig
from postedit.phrase.decoder import ALL_FEATURES
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_model import learn
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig
from postedit.phrase.scored_edits import PRESENT, familiarity
from postedit.phrase.word_ids import BEGIN, END_OF_TEXT

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
    named = dict(zip(ALL_FEATURES[1:], corrected.model.knowledge.correction_weights))
    gain = one.score - kept.score
    language = corrected.model.weights[0] * (one.features["language model"] - kept.features["language model"])
    assert one.features["corrections"] + language == pytest.approx(gain)
    assert one.features["corrected in context"] == pytest.approx(np.log(3))
    assert gain > named["corrected in context"] * np.log(3) + named["edits"]


def test_rare_words_of_the_last_corrections_are_familiar() -> None:
    editor = PhraseEditor.empty(PhraseTextConfig())
    learner, last = PhraseLearner(editor), [f"often w{number}" for number in range(PRESENT - 1)]
    for number, mt in enumerate(["old once", *last, "new often", "undone"], start=1):
        learner.learn_entries([Entry(number, Correction("src", mt, mt), None)])
    learner.learn_entries([Entry(PRESENT + 3, Correction("src", "undone", "undone"), PRESENT + 2)])
    known, count = editor.model.knowledge, PRESENT + 1

    def of(text: str) -> float:
        asked = np.array([BEGIN, *editor.model.words.find(text.split(), {}), END_OF_TEXT], np.int32)
        return float(familiarity(asked, known.corrections, known.ranks))

    often, once, never = (np.log((count + 1) / (times + 0.5)) for times in (PRESENT, 1, 0))
    assert of("often") == of("w0") == of("new") == 1.0
    assert of("old once") == of("undone") == 0.0
    assert of("often old") == pytest.approx(often / (often + once))
    assert of("w0 unknown") == pytest.approx(once / (once + never))


def test_what_corrections_left_counts_against_edits_by_training(corrected: PhraseEditor) -> None:
    (found,) = corrected.edit(["the tree falls ."], ["der Baum fällt ,"], beam=20, n_best=20)
    changed = [one.features for one in (found, *found.alternatives) if one.text == "der Baum fällt um ."]
    assert changed
    assert changed[0] is not None
    assert changed[0]["not corrected in context"] > 0.0
