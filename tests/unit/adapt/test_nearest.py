"""The nearest triplets of a memory."""

import random
import sys

import pytest
from rapidfuzz.distance import Levenshtein

from postedit.adapt import nearest
from postedit.adapt.nearest import NearestTriplets

WORDS = ["der", "die", "das", "Haus", "Baum", "steht", "geht", "rot", "alt", "neu"]


def index(*texts: tuple[str, str]) -> NearestTriplets:
    found = NearestTriplets()
    for number, (src, mt) in enumerate(texts, start=1):
        found.add(number, src, mt)
    return found


def test_the_nearest_comes_first_and_the_latest_of_equal_ones() -> None:
    found = index(("a b c", "x y z"), ("a b d", "x y z"), ("a b c", "x y z"), ("q", "r")).find("a b c", "x y z", 3, 0.1)
    assert [(one.number, one.similarity) for one in found] == [(3, 1.0), (1, 1.0), (2, pytest.approx(5 / 6))]


def test_characters_of_unspaced_scripts_are_words() -> None:
    made = index(("Open the file.", "打开文件。"), ("Close it.", "关闭它。"))
    ((number, similarity),) = made.find("Open the table.", "打开表格。", 1, 0.5)
    assert (number, similarity) == (1, pytest.approx((2 / 3 + 3 / 5) / 2))


def test_triplets_without_a_word_in_common_are_not_near() -> None:
    assert index(("a b", "x y")).find("c d", "u v", 3, 0.0) == []
    assert NearestTriplets().find("a", "b", 3, 0.0) == []


def test_rare_words_in_common_count_more_than_several_frequent_ones() -> None:
    frequent = [("the of " + "x " * 20, "le de " + "y " * 20)] * 20
    ((number, _),) = index(("zebra", "zèbre"), *frequent).find("the of zebra", "le de zèbre", 1, 0.0)
    assert number == 1


def test_words_of_the_source_are_not_those_of_mt() -> None:
    assert index(("a", "b")).find("b", "a", 1, 0.0) == []


def test_triplets_of_which_there_are_many_are_found() -> None:
    made = index(*[("Click OK.", "Klicke OK.")] * 2001)
    assert [one.number for one in made.find("Click OK.", "Klicke OK.", 2, 1.0)] == [2001, 2000]


def test_frequent_words_are_looked_up_only_where_no_rarer_one_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "_MOST_POSTINGS", 2)
    made = index(("a x", "p"), ("a", "q"), ("a", "r"))
    assert [one.number for one in made.find("a x", "s", 3, 0.0)] == [1]
    assert [one.number for one in made.find("a", "s", 3, 0.0)] == [3, 2], "the latest of them"


def test_those_below_the_lowest_similarity_are_left_out() -> None:
    made = index(("a b c d", "x y"), ("a e f g", "x z"))
    assert [one.number for one in made.find("a b c d", "x y", 2, 0.9)] == [1]


def test_it_finds_what_a_comparison_with_all_finds() -> None:
    rng = random.Random(1)
    texts = [(" ".join(rng.choices(WORDS, k=6)), " ".join(rng.choices(WORDS, k=6))) for _ in range(20)]
    made = index(*texts)
    for src, mt in texts[:5]:
        query = " ".join(rng.sample(src.split(), 5)), mt
        best = max(
            sum(Levenshtein.normalized_similarity(a.split(), b.split()) for a, b in zip(query, one)) / 2
            for one in texts
        )
        assert made.find(*query, 1, 0.0)[0].similarity == pytest.approx(best)


def test_a_removed_triplet_leaves_nothing() -> None:
    made, never = index(("a b", "x y"), ("a c", "x z")), index(("a b", "x y"))
    made.remove(2)
    assert len(made) == 1
    assert made.find("a c", "x z", 2, 0.0) == never.find("a c", "x z", 2, 0.0)
    assert vars(made) == vars(never)


def test_words_are_not_kept_by_the_interpreter_beyond_the_index() -> None:
    held = index(("Zanzibar-7 Zanzibar-7", "x"))
    word = "-".join(["Zanzibar", "7"])
    assert sys.intern(word) is word  # nobody has interned another one
    assert len(held) == 1
