"""The support of edits against a slow and plain implementation, which scans all triplets."""

import random

import numpy as np
import pytest
from tests.unit.phrase.slow_candidates import SENTENCES, learnt_from_random_texts, sentence, slowly_found

from postedit.phrase.edit_candidates import log_odds
from postedit.phrase.edit_support import edit_support
from postedit.phrase.phrase_model import PhraseModel
from postedit.phrase.triplet_index import ROW


@pytest.mark.parametrize(("src", "mt"), SENTENCES, ids=[mt for _, mt in SENTENCES])
def test_counts_are_those_of_a_slow_implementation(model: PhraseModel, src: str, mt: str) -> None:
    check_counts(model, src, mt)


@pytest.mark.parametrize("seed", range(8))
def test_counts_in_random_texts_are_those_of_a_slow_implementation(seed: int) -> None:
    rng = random.Random(seed)
    model = learnt_from_random_texts(rng)
    for _ in range(3):
        check_counts(model, "sa sb", " ".join(rng.choices("abc", k=rng.randint(1, 9))))


def check_counts(model: PhraseModel, src: str, mt: str) -> None:
    one, index = sentence(model, src, mt), model.knowledge.trained
    for (begin, end, words), features in slowly_found(model, one).items():
        new = np.array(words, np.int32)
        widest, strongest = (edit_support(one, index, (begin, end), new, 1000, True, wide) for wide in (True, False))
        assert np.log(widest.made) == pytest.approx(features["seen changed"])
        assert np.log(1 + widest.kept) == pytest.approx(features["seen kept"])
        assert widest.length - (end - begin) == features["context"]
        assert log_odds(strongest.made, strongest.looked) == pytest.approx(features["best phrase"])


def test_places_are_those_of_the_triplets_that_made_the_edit(model: PhraseModel) -> None:
    one, index = sentence(model, *SENTENCES[0]), model.knowledge.trained
    new = np.array(model.words.find(["das"], {}), np.int32)
    found = edit_support(one, index, (1, 2), new, 1000, True, False)
    assert sorted(index.cells[found.places, ROW].tolist()) == [2, 3, 9]
    assert (found.made, found.kept) == (3, 0)
    assert edit_support(one, index, (2, 3), new, 1000, True, False).made == 0


def test_a_sample_bounds_the_places_that_are_looked_at(model: PhraseModel) -> None:
    one = sentence(model, *SENTENCES[0])
    new = np.array(model.words.find(["."], {}), np.int32)
    found = edit_support(one, model.knowledge.trained, (5, 6), new, 2, True, False)
    assert (found.made, found.looked) == (2, 2)
