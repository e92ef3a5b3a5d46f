"""Candidates against a slow and plain implementation, which scans all triplets."""

import numpy as np
import pytest
from tests.unit.phrase.slow_candidates import SENTENCES, sentence, slowly_found

from postedit.phrase.edit_candidates import FEATURES, candidates_of, new_scratch
from postedit.phrase.phrase_model import PhraseModel


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


def test_a_sample_finds_the_same_frequent_changes(model: PhraseModel) -> None:
    one, known = sentence(model, *SENTENCES[0]), model.knowledge
    few = candidates_of(one, known.trained, known.lexicon, known.translations, 2, True, new_scratch())
    comma = model.words.find([","], {})[0]
    assert any(one.mt[start] == comma for start, *_ in few.spans.tolist())
    assert np.isfinite(few.features).all()
