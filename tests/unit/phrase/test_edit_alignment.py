from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import typeof
from rapidfuzz.distance import Levenshtein

from postedit.phrase.edit_alignment import (
    UNLINKED,
    EditTable,
    Spellings,
    all_linked,
    learn_edits,
    linked,
    matched,
    spellings,
    without_rare,
)
from postedit.phrase.pair_table import table_of
from postedit.phrase.source_alignment import Texts
from postedit.phrase.word_ids import TextsBuilder, WordIds

WORDS = st.lists(st.integers(3, 6), max_size=8)


def numbered(words: WordIds, *sides: list[str]) -> list[Texts]:
    found = []
    for lines in sides:
        builder = TextsBuilder(bounded=False)
        for line in lines:
            builder.append(words.add(line.split()))
        found.append(builder.texts())
    return found


def alignment(mt: list[str], pe: list[str], row: int = 0) -> list[int]:
    words = WordIds()
    old, new = numbered(words, mt, pe)
    spelt = spellings(words.words)
    links = all_linked(learn_edits(old, new, spelt), spelt, old, new)
    return links[new.starts[row] : new.starts[row + 1]].tolist()


@given(WORDS, WORDS)
def test_matches_lie_on_a_way_of_the_fewest_edits(mt: list[int], pe: list[int]) -> None:
    links = matched(np.array(mt, np.int32), np.array(pe, np.int32)).tolist()
    places = [(i, j) for j, i in enumerate(links) if i != UNLINKED]
    assert all(mt[i] == pe[j] for i, j in places)
    assert [i for i, _ in places] == sorted({i for i, _ in places})
    edges = [(-1, -1), *places, (len(mt), len(pe))]
    edits = sum(max(i - k - 1, j - m - 1) for (k, m), (i, j) in pairwise(edges))
    assert edits == Levenshtein.distance(mt, pe)


def test_spellings_and_those_that_a_learner_extends_are_compiled_for_once() -> None:
    extended = Spellings(np.zeros(1, np.uint32), np.zeros(2, np.int64))
    assert typeof(spellings(["a"])) == typeof(extended)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4))
def test_links_are_one_to_one_and_keep_matches(pairs: list[tuple[list[int], list[int]]]) -> None:
    texts = []
    for side in (0, 1):
        builder = TextsBuilder(bounded=False)
        for each in pairs:
            builder.append(each[side])
        texts.append(builder.texts())
    spelt = spellings(["", "", "", "a", "ab", "abc", "x"])
    table = learn_edits(*texts, spelt)
    for mt, pe in pairs:
        old, new = np.array(mt, np.int32), np.array(pe, np.int32)
        found, certain = linked(table, spelt, old, new), matched(old, new)
        used = [link for link in found.tolist() if link != UNLINKED]
        assert len(used) == len(set(used))
        assert all(link == kept for link, kept in zip(found, certain) if kept != UNLINKED)


def test_a_changed_form_is_linked_to_the_word_it_came_from() -> None:
    assert alignment(["die Farbe gedruckt werden"], ["neue Farben gedruckt wird"]) == [0, 1, 2, 3]
    assert alignment(["ein Fahrrad und Pumpe"], ["ein Ball , Fahrräder und Pumpe"])[3] == 1


def test_a_word_that_moved_is_linked_to_itself() -> None:
    assert alignment(["heute kommt er nach Hause"], ["er kommt heute nach Hause"]) == [2, 1, 0, 3, 4]


def test_an_inserted_word_has_no_counterpart() -> None:
    assert alignment(["a b c"], ["a b x c"]) == [0, 1, UNLINKED, 2]


def test_words_that_often_replace_each_other_are_linked() -> None:
    mt = ["rund Kiste auf"] * 5 + ["zum Tor rund gehen"]
    pe = ["voll Kiste auf"] * 5 + ["zum Tor hin voll gehen"]
    assert alignment(mt, pe, 5) == [0, 1, UNLINKED, 2, 3]


@pytest.mark.parametrize(("mt", "pe"), [("", ""), ("a", ""), ("", "a")])
def test_empty_texts(mt: str, pe: str) -> None:
    assert alignment([mt, "a b"], [pe, "a c"]) == [UNLINKED] * len(pe.split())


def test_words_that_were_never_aligned_are_linked_by_place_and_letters() -> None:
    words = WordIds()
    old, new = numbered(words, ["die blaue Taste drücken"], ["die grüne Tasten drücken"])
    nothing = EditTable(*table_of(np.empty(0, np.int64), np.empty(0, np.float32)))
    assert all_linked(nothing, spellings(words.words), old, new).tolist() == [0, 1, 2, 3]


def test_rare_pairs_are_left_out_of_a_table() -> None:
    table = EditTable(*table_of(np.array([7, 8]), np.array([0.5, 1e-4], np.float32)))
    kept = without_rare(table)
    assert sorted(key for key in kept.keys.tolist() if key >= 0) == [7]
