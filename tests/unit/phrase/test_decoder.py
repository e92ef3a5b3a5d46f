import numpy as np
import pytest

from postedit.phrase.decoder import ALL_FEATURES, SearchLimits, edit_texts
from postedit.phrase.forced_scores import score_outputs
from postedit.phrase.phrase_model import PhraseModel, SplitTriplet, learn
from postedit.phrase.phrase_options import PhraseConfig
from postedit.phrase.source_alignment import NOT_JOINED
from postedit.phrase.word_ids import TextsBuilder

PAIRS = [
    ("the house is green .", "der Haus ist grün ,"),
    ("a house , a tree .", "ein Haus , ein Baum ."),
    ("the tree burns .", "der Baum brennt ,"),
]


def texts(model: PhraseModel, lines: list[str], *, bounded: bool):
    builder = TextsBuilder(bounded=bounded)
    for line in lines:
        builder.append(model.words.find(line.split(), {}))
    return builder.texts()


@pytest.fixture(scope="module")
def searched(model: PhraseModel):
    src, mt = (texts(model, list(side), bounded=bounded) for side, bounded in zip(zip(*PAIRS), (False, True)))
    limits = SearchLimits(5, 0, 100)
    return mt, src, edit_texts(mt, NOT_JOINED, src, model.knowledge, model.weights, limits)


def written(mt, found, row: int, output: int) -> list[int]:
    words = mt.words[mt.starts[row] : mt.starts[row + 1]].tolist()
    for edit in reversed(range(*found.first_edit[output : output + 2])):
        start, end = found.spans[edit] + 1
        words[start:end] = found.words[slice(*found.first_word[edit : edit + 2])].tolist()
    return words


def test_scores_are_those_of_the_features(model: PhraseModel, searched) -> None:
    _, _, found = searched
    assert found.features.shape == (found.first[-1], len(ALL_FEATURES))
    assert found.features @ model.weights == pytest.approx(found.scores)
    for row in range(len(PAIRS)):
        assert np.all(np.diff(found.scores[slice(*found.first[row : row + 2])]) <= 0.0)


def test_every_output_has_the_same_score_when_it_is_given(model: PhraseModel, searched) -> None:
    mt, src, found = searched
    for row in range(len(PAIRS)):
        for output in range(*found.first[row : row + 2]):
            one, source, given = (TextsBuilder(bounded=False) for _ in range(3))
            one.append(mt.words[mt.starts[row] : mt.starts[row + 1]])
            source.append(src.words[src.starts[row] : src.starts[row + 1]])
            given.append(written(mt, found, row, output))
            scores, features = score_outputs(
                one.texts(), NOT_JOINED, source.texts(), given.texts(), model.knowledge, model.weights, 100
            )
            assert scores[0] == pytest.approx(found.scores[output])
            assert features[0] == pytest.approx(found.features[output])


def test_the_gain_of_an_edit_is_what_the_score_loses_without_it(model: PhraseModel, searched) -> None:
    mt, _, found = searched
    output = int(found.first[0])
    edits = range(*found.first_edit[output : output + 2])
    assert len(edits) == 2
    words = mt.words[mt.starts[0] : mt.starts[1]].tolist()
    for edit, other in (edits, reversed(edits)):
        without = list(words)
        start, end = found.spans[other] + 1
        without[start:end] = found.words[slice(*found.first_word[other : other + 2])].tolist()
        given = TextsBuilder(bounded=False)
        given.append(without)
        one, source = texts(model, [PAIRS[0][1]], bounded=True), texts(model, [PAIRS[0][0]], bounded=False)
        scores, _ = score_outputs(one, NOT_JOINED, source, given.texts(), model.knowledge, model.weights, 100)
        assert found.gains[edit] == pytest.approx(found.scores[output] - scores[0])


def test_the_company_of_a_sentence_changes_nothing(model: PhraseModel, searched) -> None:
    mt, _, found = searched
    for row, (source, target) in enumerate(PAIRS):
        alone = edit_texts(
            texts(model, [target], bounded=True),
            NOT_JOINED,
            texts(model, [source], bounded=False),
            model.knowledge,
            model.weights,
            SearchLimits(5, 0, 100),
        )
        assert alone.scores.tolist() == found.scores[slice(*found.first[row : row + 2])].tolist()
        outputs = range(*found.first[row : row + 2])
        one = texts(model, [target], bounded=True)
        assert [written(one, alone, 0, number) for number in range(alone.first[-1])] == [
            written(mt, found, row, output) for output in outputs
        ]


def test_an_edit_may_write_many_words_into_a_short_text() -> None:
    many = [f"word{number}" for number in range(8)]
    model = learn([SplitTriplet(["a"], ["b"], many)] * 9, PhraseConfig())
    mt, src = texts(model, ["b"], bounded=True), texts(model, ["a"], bounded=False)
    found = edit_texts(mt, NOT_JOINED, src, model.knowledge, model.weights, SearchLimits(5, 0, 100))
    outputs = [written(mt, found, 0, output)[1:-1] for output in range(found.first[1])]
    assert model.words.find(many, {}) in outputs
