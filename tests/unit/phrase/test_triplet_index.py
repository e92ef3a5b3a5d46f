import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postedit.phrase.edit_alignment import UNLINKED
from postedit.phrase.source_alignment import Texts
from postedit.phrase.triplet_index import (
    KEPT,
    LONGEST,
    build_index,
    cuts_change,
    gone_on,
    look,
    makes_change,
    narrowed,
    sort_places,
    target_of,
)

WORDS = st.lists(st.integers(1, 4), min_size=1, max_size=60)


def occurrences(words: list[int], phrase: list[int]) -> list[int]:
    return [at for at in range(len(words)) if words[at : at + len(phrase)] == phrase]


@given(WORDS, st.lists(st.integers(1, 4), min_size=1, max_size=LONGEST))
@example([1, 1, 1], [1, 1, 1])
@example([4, 4, 4, 4, 1], [4, 4, 4])
def test_all_places_of_a_phrase_are_found(words: list[int], phrase: list[int]) -> None:
    places = sort_places(np.array(words, np.int32), 5)
    low, high = 0, 0
    for depth, word in enumerate(phrase):
        low, high = gone_on(places, low, high, depth, word)
    assert sorted(places.order[low:high].tolist()) == occurrences(words, phrase)


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("word", [-1, 4, 9])
def test_words_that_are_unknown_have_no_places(depth: int, word: int) -> None:
    places = sort_places(np.array([2, 3, 2, 3], np.int32), 4)
    for one in (places, places._replace(first=np.empty(0, np.int64))):
        low, high = gone_on(one, 0, 0, 0, 2) if depth else (0, 0)
        low, high = gone_on(one, low, high, depth, word)
        assert low == high


@given(WORDS)
def test_places_of_a_word_are_where_the_table_says(words: list[int]) -> None:
    places = sort_places(np.array(words, np.int32), 5)
    for word in range(1, 5):
        found = narrowed(places, 0, len(words), 0, word)
        if occurrences(words, [word]):
            assert found == (places.first[word], places.first[word + 1])
        else:
            assert found[0] == found[1]


def index_of(mt: list[int], pe: list[int], links: list[int]):
    texts = [Texts(np.array(words, np.int32), np.array([0, len(words)])) for words in (mt, pe)]
    sources = np.zeros(len(mt), np.int32)
    return build_index(texts[0].words, *texts, np.array(links, np.int32), sources, 10)


def test_targets_of_a_hand_worked_example() -> None:
    # 3 4 5 6 became 3 8 6 5: 4 is deleted, 8 inserted, and 5 and 6 changed places.
    index = index_of([3, 4, 5, 6], [3, 8, 6, 5], [0, UNLINKED, 3, 2])
    expected = {
        (0, 1): (0, 1),
        (0, 2): (0, 1),
        (1, 1): None,  # nothing is linked
        (2, 1): (3, 1),
        (1, 2): (3, 1),
        (2, 2): (2, 2),
        (1, 3): (2, 2),
        (0, 3): None,  # between 3 and 5 there is 6, which comes from outside
        (0, 4): (0, 4),
    }
    for (at, length), target in expected.items():
        found = target_of(index, at, length)
        assert (None if found.length < 0 else tuple(found)) == target
    assert index.cells[:, KEPT].tolist() == [1, 0, 1, 1]


def test_a_phrase_cuts_a_change_if_a_longer_one_has_all_of_it() -> None:
    # 3 4 5 6 7 became 3 8 9 7: 8 and 9 replace 4 5 6, of which 4 has no counterpart.
    index = index_of([3, 4, 5, 6, 7], [3, 8, 9, 7], [0, 2, 3, 4])
    assert not cuts_change(index, 2, np.array([3, 4, 5, 6, 7], np.int32), 2, 1), "not an index of whole changes"
    index = index._replace(whole=True)
    expected = {(1, 3): False, (0, 4): False, (3, 1): False, (3, 2): False, (0, 2): True, (2, 1): True, (2, 3): True}
    for (at, length), cuts in expected.items():
        assert cuts_change(index, at, np.array([3, 4, 5, 6, 7], np.int32), at, length) == cuts, (at, length)
    assert not cuts_change(index, 2, np.array([3, 5, 6, 7], np.int32), 1, 2), "the sentence does not have 4"
    old, new = [3, 4, 4, 4, 4, 4, 4, 5, 6, 7], [3, 8, 9, 7]
    index = index_of(old, new, [0, 7, 8, 9])._replace(whole=True)
    assert not cuts_change(index, 7, np.array(old, np.int32), 7, 2), "the change is longer than any phrase"


def test_words_kept_in_a_row_are_counted() -> None:
    index = index_of([3, 4, 5, 6], [3, 4, 7, 6], [0, 1, 2, 3])
    assert index.cells[:, KEPT].tolist() == [2, 1, 0, 1]


def test_changes_lie_between_the_counterparts_of_the_words_beside() -> None:
    # 1 3 4 5 2 became 1 3 8 9 5 7 2: 4 became 8 9, and 7 was inserted.
    index = index_of([1, 3, 4, 5, 2], [1, 3, 8, 9, 5, 7, 2], [0, 1, 2, UNLINKED, 3, UNLINKED, 4])

    def made(at: int, length: int, *new: int) -> bool:
        return makes_change(index, at, length, np.array(new, np.int32))

    assert made(2, 1, 8, 9)
    assert not made(2, 1, 8)
    assert made(4, 0, 7)
    assert not made(4, 0)
    assert made(1, 1, 3)
    assert not made(2, 1)


def test_changes_beside_words_without_counterpart() -> None:
    index = index_of([1, 3, 4, 2], [1, 8, 2], [0, 2, 3])  # 3 is deleted, 4 became 8
    assert makes_change(index, 2, 1, np.array([8], np.int32))
    assert makes_change(index, 1, 1, np.empty(0, np.int32))
    assert not makes_change(index, 2, 1, np.array([9], np.int32))


@given(st.lists(st.integers(0, 99), unique=True, max_size=30), st.integers(1, 12))
def test_few_of_many_places_are_looked_at(order: list[int], most: int) -> None:
    places = np.empty(most, np.int64)
    latest = places[: look(np.array(order, np.int32), False, places)].tolist()
    assert latest == sorted(order, reverse=True)[:most]
    spread = places[: look(np.array(order, np.int32), True, places)].tolist()
    assert len(spread) == min(len(order), most)
    assert [order.index(place) for place in spread] == sorted(order.index(place) for place in spread)
    assert not order or spread[0] == order[0]
    assert np.diff([*map(order.index, spread), len(order)]).max(initial=0) <= -(-len(order) // most)
