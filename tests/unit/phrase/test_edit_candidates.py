"""Candidates against a slow and plain implementation, which scans all triplets."""

import random

import numpy as np
import pytest
from tests.unit.phrase.slow_candidates import SENTENCES, learnt_from_random_texts, sentence, slowly_found

from postedit.phrase.edit_candidates import FEATURES, candidates_of, new_scratch
from postedit.phrase.phrase_model import PhraseModel, SplitTriplet, learn
from postedit.phrase.phrase_options import PhraseConfig


def found_by(model: PhraseModel, one, index) -> dict[tuple[int, int, tuple[int, ...]], dict[str, float]]:
    known = model.knowledge
    candidates = candidates_of(one, index, known.lexicon, known.translations, 1000, True, new_scratch())
    assert sorted(candidates.spans[:, 0]) == candidates.spans[:, 0].tolist()
    starts = candidates.spans[:, 0]
    assert candidates.first.tolist() == [int((starts < place).sum()) for place in range(one.mt.size + 1)]
    result = {}
    for (start, end, place, count), row in zip(candidates.spans.tolist(), candidates.features.tolist()):
        result[start, end, tuple(candidates.words[place : place + count].tolist())] = dict(zip(FEATURES, row))
    assert len(result) == len(candidates.spans)
    return result


@pytest.mark.parametrize(("src", "mt"), SENTENCES, ids=[mt for _, mt in SENTENCES])
def test_candidates_are_those_of_a_slow_implementation(model: PhraseModel, src: str, mt: str) -> None:
    one = sentence(model, src, mt)
    found, expected = found_by(model, one, model.knowledge.trained), slowly_found(model, one)
    assert found.keys() == expected.keys()
    assert bool(expected) == (mt != "ein Haus .")
    for change, features in expected.items():
        shown = {name: found[change][name] for name in features}
        assert shown == pytest.approx(features), change


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_candidates_of_random_texts_are_those_of_a_slow_implementation(seed: int, whole: bool) -> None:
    rng = random.Random(seed)
    random_model = learnt_from_random_texts(rng)
    candidates = 0
    for _ in range(4):
        words = rng.choices("abc", k=rng.randint(1, 9))
        one = sentence(random_model, " ".join(f"s{rng.choice([word, 'a'])}" for word in words), " ".join(words))
        found = found_by(random_model, one, random_model.knowledge.trained._replace(whole=whole))
        expected = slowly_found(random_model, one, whole=whole)
        assert found.keys() == expected.keys()
        candidates += len(expected)
        for change, features in expected.items():
            shown = {name: found[change][name] for name in features}
            assert shown == pytest.approx(features, abs=1e-5), change
    assert candidates


def test_long_sentences_have_no_more_candidates_than_fit() -> None:
    words = [f"w{number}" for number in range(450)]
    triplets = [SplitTriplet([], [word], [f"{word}{ending}"]) for word in words for ending in "abcde"]
    large = learn(triplets, PhraseConfig())
    found = found_by(large, sentence(large, "", " ".join(words)), large.knowledge.trained)
    assert len(found) == 2048
    assert {large.words.words[new] for _, _, (new,) in found} <= {triplet.pe[0] for triplet in triplets}


def test_a_sample_finds_the_same_frequent_changes(model: PhraseModel) -> None:
    one, known = sentence(model, *SENTENCES[0]), model.knowledge
    few = candidates_of(one, known.trained, known.lexicon, known.translations, 2, True, new_scratch())
    comma = model.words.find([","], {})[0]
    assert any(one.mt[start] == comma for start, *_ in few.spans.tolist())
    assert np.isfinite(few.features).all()
