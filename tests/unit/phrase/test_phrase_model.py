import numpy as np
import pytest
from tests.unit.phrase.small_corpus import TRIPLETS, split

from postedit.core.search_config import SearchConfig
from postedit.phrase.pair_table import pair
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_model import PhraseModel, learn
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig

SRC, MT = "the house is green .", "der Haus ist grün ,"


def outputs(model: PhraseModel, config: PhraseConfig) -> list[str]:
    editor = PhraseEditor(model, config, PhraseTextConfig(), SearchConfig())
    (found,) = editor.edit([SRC], [MT], beam=4, n_best=4)
    return [one.text for one in (found, *found.alternatives)]


def test_arrays_give_the_same_model(model: PhraseModel) -> None:
    again = PhraseModel.of_arrays(model.words.own, model.to_arrays())
    assert again.words.words == model.words.words
    assert outputs(again, PhraseConfig(order=3)) == outputs(model, PhraseConfig(order=3))
    ours, theirs = model.to_arrays(), again.to_arrays()
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours if not name.endswith(("keys", "counts")))


def test_an_array_that_is_missing_is_named(model: PhraseModel) -> None:
    arrays = model.to_arrays()
    del arrays["index.links"]
    with pytest.raises(KeyError, match=r"index\.links"):
        PhraseModel.of_arrays(model.words.own, arrays)


def test_words_may_be_joined_with_their_sources() -> None:
    config = PhraseConfig(order=3, join_source=True)
    joined = learn(split(TRIPLETS), config)
    assert outputs(joined, config)[0] == "das Haus ist grün ."
    assert joined.joined.keys.size > 16
    again = PhraseModel.of_arrays(joined.words.own, joined.to_arrays())
    assert outputs(again, config) == outputs(joined, config)


def test_probabilities_of_words_may_be_learnt_from_a_part() -> None:
    config = PhraseConfig(order=2, learn_words_from=5)
    assert outputs(learn(split(TRIPLETS), config), config)[0].endswith(".")


def test_that_part_is_spread_evenly_over_all_triplets() -> None:
    rows = [(f"s{number}", f"m{number}", f"p{number}") for number in range(10)]
    learnt = learn(split(rows), PhraseConfig(learn_words_from=5))
    for table, side in ((learnt.knowledge.translations, 0), (learnt.edits, 1)):
        pairs = [pair(*learnt.words.find([row[side], row[2]], {})) for row in rows]
        found = [int(one) in table.keys.tolist() for one in pairs]
        assert found == [True, False] * 5


def test_the_order_of_triplets_changes_nothing() -> None:
    config = PhraseConfig(order=3)
    ours, turned = (PhraseEditor(learn(split(rows), config), config, PhraseTextConfig(), SearchConfig())
                    for rows in (TRIPLETS, TRIPLETS[::-1]))  # fmt: skip
    for src, mt, _ in TRIPLETS:
        one, other = (editor.edit([src], [mt])[0] for editor in (ours, turned))
        assert one.text == other.text
        assert one.score == pytest.approx(other.score)
