import math
from collections import Counter
from collections.abc import Iterable, Sequence
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
from postedit.phrase.pair_table import lookup, pair, table_of
from postedit.phrase.source_alignment import NO_WORD, Texts
from postedit.phrase.word_ids import TextsBuilder, WordIds

WORDS = st.lists(st.integers(3, 6), max_size=8)


def built(*sides: Iterable[Sequence[int]]) -> list[Texts]:
    found = []
    for side in sides:
        builder = TextsBuilder(bounded=False)
        for words in side:
            builder.append(words)
        found.append(builder.texts())
    return found


def numbered(words: WordIds, *sides: list[str]) -> list[Texts]:
    return built(*([words.add(line.split()) for line in lines] for lines in sides))


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
    spelt = spellings(["", "", "", "a", "ab", "abc", "x"])
    table = learn_edits(*built(*zip(*pairs, strict=True)), spelt)
    for mt, pe in pairs:
        old, new = np.array(mt, np.int32), np.array(pe, np.int32)
        found, certain = linked(table, spelt, old, new), matched(old, new)
        used = [link for link in found.tolist() if link != UNLINKED]
        assert len(used) == len(set(used))
        assert all(link == kept for link, kept in zip(found, certain) if kept != UNLINKED)


SPELT = ["", "", "", "a", "aa", "aba", "xba"]


def slow_prior(old: int, new: int) -> float:
    if old == NO_WORD:
        return 0.01
    if old == new:
        return 0.801
    one, other = SPELT[old], SPELT[new]
    shorter = min(len(one), len(other))
    front = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    back = next((at for at in range(shorter - front) if one[-1 - at] != other[-1 - at]), shorter - front)
    return 0.001 + 0.3 * ((front + back) / max(len(one), len(other))) ** 2


def slow_expected(links: list[int], n: int) -> list[float]:
    """Return for each word of pe the middle of the places of its nearest linked neighbours, or its own place."""
    found = []
    for at in range(len(links)):
        left = next((i for i in reversed(links[: at + 1]) if i != UNLINKED), -1)
        found.append((left + next((i for i in links[at:] if i != UNLINKED), n)) / 2)
    return found


def slow_shares(mt: list[int], pe: list[int], probabilities: dict[tuple[int, int], float]):
    """Yield for each word of pe that is not matched the shares of its counterparts: of the free words, and of none."""
    links = matched(np.array(mt, np.int32), np.array(pe, np.int32)).tolist()
    expected = slow_expected(links, len(mt))
    for at, new in enumerate(pe):
        if links[at] == UNLINKED:
            shares = {-1: 0.1 * probabilities[NO_WORD, new]}
            for place, old in enumerate(mt):
                if place not in links:
                    decay = 0.1 if old == new else 0.3
                    shares[place] = math.exp(-decay * abs(place - expected[at])) * probabilities[old, new]
            yield at, expected[at], shares


def slow_edits(pairs: list[tuple[list[int], list[int]]]) -> dict[tuple[int, int], float]:
    """Return the probability of each pair of words after four steps of EM with a prior worth two occurrences."""
    prior = {(old, new): slow_prior(old, new) for old in (NO_WORD, 3, 4, 5, 6) for new in range(3, 7)}
    found = dict(prior)
    for _ in range(4):
        counts, totals = Counter[tuple[int, int]](), Counter[int]()
        for mt, pe in pairs:
            for at, _, shares in slow_shares(mt, pe, found):
                for place, share in shares.items():
                    old = NO_WORD if place < 0 else mt[place]
                    counts[old, pe[at]] += share / sum(shares.values())
                    totals[old] += share / sum(shares.values())
        found = {(old, new): (counts[old, new] + 2.0 * one) / (totals[old] + 2.0) for (old, new), one in prior.items()}
    return found


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4))
def test_probabilities_and_links_are_those_of_a_slow_implementation(pairs: list[tuple[list[int], list[int]]]) -> None:
    table, slow = learn_edits(*built(*zip(*pairs, strict=True)), spellings(SPELT)), slow_edits(pairs)
    for (old, new), expected in slow.items():
        found = lookup(table.keys, table.probabilities, pair(old, new), np.float32(-1.0))
        assert found in (-1.0, pytest.approx(expected, rel=1e-4))
    for mt, pe in pairs:
        found = linked(table, spellings(SPELT), np.array(mt, np.int32), np.array(pe, np.int32)).tolist()
        shares = {at: (expected, of) for at, expected, of in slow_shares(mt, pe, slow)}
        for at, (expected, of) in shares.items():
            rivals = {place: share for place, share in of.items() if place >= 0 and abs(place - expected) < 6}
            own = rivals.get(found[at], of[-1])
            assert found[at] == UNLINKED or own > of[-1]
            for place, share in rivals.items():  # a better place went to a word of pe that is no worse there
                if share > own * (1 + 1e-4):
                    assert place in found
                    other = found.index(place)
                    assert shares[other][1][place] >= share * (1 - 1e-4)


def test_words_far_from_the_expected_place_are_not_linked() -> None:
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    near, far = ("haus " + " ".join(words[:count]) for count in (4, 7))
    for mt, linked_to in ((near, 0), (far, UNLINKED)):
        pe = [*mt.split()[1:], "häuser"]
        assert alignment([mt], [" ".join(pe)])[-1] == linked_to


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
