import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.core.errors import DataError
from postedit.evaluate.ter import EditCount
from postedit.synthesis.noise.edit_profile import EditProfile, ShiftedBlock, inflected, measure_profile
from postedit.synthesis.noise.noise_tables import (
    _edit_weights,
    _seen_rates,
    expected_ter_histogram,
    sentences_by_length,
)
from postedit.synthesis.triplet_counts import MAX_TER, ks_distance

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "ä"]), min_size=1, max_size=8).map(" ".join)


def test_directions_are_those_from_mt_to_pe() -> None:
    profile = measure_profile([("a b x", "a b c x"), ("a b y c", "a b c"), ("a b q", "a b r")])
    assert profile.inserted == {"c": 1}
    assert profile.deleted == {"y": 1}
    assert profile.substituted == {"r": {"q": 1}}
    assert profile.seen == {"a": 3, "b": 3, "c": 2, "x": 1, "r": 1}
    assert profile.sentences == {EditCount(0, 0, 1, 0, 4): 1, EditCount(0, 0, 0, 1, 3): 1, EditCount(0, 1, 0, 0, 3): 1}


def test_words_are_those_after_the_shifts() -> None:
    profile = measure_profile([("c d x a b", "a b c d")])
    assert (profile.counts["shifts"], profile.deleted) == (1, {"x": 1})


def test_short_words_have_no_inflected_forms() -> None:
    forms = {"ab": {"cd": 1}, "Dateien": {"Datei": 1}}
    assert EditProfile({}, {}, {}, {}, forms, {}).inflection_rate == 1.0


def test_substitutes_seen_before_are_as_probable_as_by_witten_and_bell() -> None:
    assert _seen_rates({"a": {"x": 3}, "b": {"x": 1, "y": 1}}, {"a": 0, "b": 1}).tolist() == [0.75, 0.5, 0.0]


def test_a_length_with_few_sentences_takes_those_of_others() -> None:
    sentences = {EditCount(0, 1, 0, 0, length): count for length, count in ((2, 1), (3, 200), (9, 1))}
    _, ranges = sentences_by_length(EditProfile(sentences, {}, {}, {}, {}, {}))
    assert [ranges[length].tolist() for length in (2, 3, 9)] == [[0, 201], [1, 201], [1, 202]]


def test_edit_rates_of_rare_words_are_drawn_to_the_average() -> None:
    ids = {"rare": 0, "often": 1, "kept": 2}
    weights = _edit_weights({"rare": 1, "often": 100}, {"rare": 1, "often": 100, "kept": 899}, ids)
    rare, often, kept, average = weights.tolist()
    assert average == pytest.approx(0.101)
    assert 0.0 < kept < average < rare < often < 1.0


@pytest.mark.parametrize(
    ("mt", "pe", "move"),
    [
        ("x a b c d e", "a b c d x e", ShiftedBlock(1, 4)),
        ("a b c d x e", "x a b c d e", ShiftedBlock(1, -4)),
        ("a x y b c d e", "a b c d x y e", ShiftedBlock(2, 3)),
        ("a b a", "a a a b", ShiftedBlock(2, 1)),  # to the end, which is nearer than the target of TER
    ],
)
def test_moves_say_how_far_a_block_stands_to_the_left(mt: str, pe: str, move: ShiftedBlock) -> None:
    assert measure_profile([(mt, pe)]).moves == {move: 1}


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=8))
def test_every_edit_is_counted_once_and_survives_saving(pairs: list[tuple[str, str]]) -> None:
    if all(mt == pe for mt, pe in pairs):
        with pytest.raises(DataError, match="mt equals pe in all of these"):
            measure_profile(pairs)
        return
    profile = measure_profile(pairs)
    totals = profile.counts
    assert totals["insertions"] == sum(profile.inserted.values())
    assert totals["deletions"] == sum(profile.deleted.values())
    assert totals["substitutions"] == sum(sum(others.values()) for others in profile.substituted.values())
    assert totals["shifts"] == sum(profile.moves.values())
    assert profile.triplets == len(pairs)
    with tempfile.TemporaryDirectory() as folder:
        profile.save(Path(folder, "p.json"))
        assert EditProfile.load(Path(folder, "p.json")) == profile


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 7}', '{"format": 1, "sentences": 3}'])
def test_a_file_that_is_no_edit_profile_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(content)
    with pytest.raises(DataError, match=r"p\.json: is not an edit profile"):
        EditProfile.load(path)
    with pytest.raises(DataError, match="No such file"):
        EditProfile.load(tmp_path / "q.json")


GOOD: dict[str, Any] = {
    "format": 1,
    "sentences": [[4, 1, 0, 1, 0, 3], [3, 0, 0, 0, 0, 2]],
    "moves": [[1, 2, 3]],
    "inserted": {"a": 3},
    "deleted": {"b": 1},
    "substituted": {"c": {"d": 1}},
    "seen": {"a": 9, "c": 3},
}


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"moves": [[-4, 3, 5]]}, "moves.0.length: .*greater than or equal to 1.*found -4"),
        ({"moves": [[1, 0, 5]]}, "moves.0.distance: .*at least one word"),
        ({"moves": [[3_000_000_000, 3, 5]]}, "moves.0.length: .*less than or equal to 1000"),
        ({"moves": [[1, -3_000_000_000, 5]]}, "moves.0.distance: "),
        (
            {"moves": [[1, 2, 40_000_000], [2, 2, 40_000_000]]},
            "moves: the counts add up to 80,000,000; at most 50,000,000",
        ),
        ({"moves": [[1, 2]]}, "moves.0.times: "),
        ({"sentences": []}, "sentences: a profile needs sentences with edits"),
        ({"sentences": [[3, 1, 0, 0, 0, 0]]}, "sentences.0.times: "),
        ({"sentences": [[0, 1, 0, 0, 0, 1]]}, "sentences.0.length: "),
        ({"sentences": [[3, -1, 0, 0, 0, 1]]}, "sentences.0.shifts: "),
        ({"sentences": [[3, 1.5, 0, 0, 0, 1]]}, "sentences.0.shifts: .*found 1.5"),
        ({"sentences": [[3, 1, 0, 0, 0, 5_000_000_000]]}, "sentences.0.times: "),
        ({"sentences": [[3, 0, 2, 2, 0, 1]]}, "sentences.0: 2 substitutions and 2 insertions of 3 words"),
        ({"sentences": [[3, 0, 0, 3, 0, 1]]}, "sentences.0: mt would have 0 words"),
        ({"sentences": [[3, 9, 0, 0, 0, 1]]}, "sentences.0: 9 shifts of 3 words"),
        ({"sentences": [[3, 1, 0, 0, 0, 1]] * 2}, r"sentences: \[3, 1, 0, 0, 0\] occurs twice"),
        ({"deleted": {"a\nb": 1}}, "deleted.*not one word without white space"),
        ({"deleted": {"a": 0}}, "deleted.a: "),
        ({"substituted": {"c": {}}}, "substituted.c: has no substitute"),
        ({"seen": {}}, "seen.a: must be at least 3"),
        ({"seen": {"a": 9}}, "seen.c: must be at least 1"),
        ({"more": 1}, "more: "),
    ],
)
def test_impossible_values_of_a_profile_are_named(tmp_path: Path, change: dict[str, Any], where: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(GOOD))
    assert EditProfile.load(path).triplets == 5
    path.write_text(json.dumps({**GOOD, **change}))
    with pytest.raises(DataError, match=rf"p\.json: is not an edit profile .*\({where}"):
        EditProfile.load(path)


def test_no_triplets_are_an_error() -> None:
    with pytest.raises(DataError, match="needs real triplets"):
        measure_profile([("", "a"), ("a", " ")])


@pytest.mark.parametrize(
    ("word", "other", "expected"),
    [
        ("verborgene", "verborgener", True),
        ("Bedingung", "Bedingungen", True),
        ("gehen", "gehen", False),
        ("der", "die", False),
        ("über", "übte", False),
        ("ausblenden", "auszublenden", False),
    ],
)
def test_forms_of_a_word_begin_inflected(word: str, other: str, expected: bool) -> None:
    assert inflected(word, other) is expected


HISTOGRAMS = st.dictionaries(st.integers(0, MAX_TER), st.integers(1, 9), min_size=1)


@given(HISTOGRAMS, HISTOGRAMS)
def test_distance_is_that_of_the_definition(one: dict[int, float], other: dict[int, float]) -> None:
    def share(histogram: dict[int, float], place: int) -> float:
        return sum(count for key, count in histogram.items() if key <= place) / sum(histogram.values())

    expected = max(abs(share(one, place) - share(other, place)) for place in range(MAX_TER + 1))
    assert ks_distance(one, other) == pytest.approx(expected)
    assert ks_distance(one, {key: 3 * count for key, count in one.items()}) == pytest.approx(0)


def test_histogram_expected_at_the_real_lengths_is_the_real_one() -> None:
    pairs = [("a b", "a c")] * 150 + [("a b c d", "a b c d")] * 200 + [("a b c d", "a b x d")] * 100
    profile = measure_profile(pairs)
    assert profile.ter_histogram == {0: 200, 25: 100, 50: 150}
    assert expected_ter_histogram(profile, {2: 150, 4: 300}) == pytest.approx({0: 200, 25: 100, 50: 150})
    assert expected_ter_histogram(profile, {4: 3, 90: 3}) == pytest.approx({0: 4, 25: 2})


def test_the_distance_of_histograms_is_the_same_both_ways() -> None:
    assert ks_distance({0: 1}, {1: 1}) == ks_distance({1: 1}, {0: 1}) == 1.0
