import pytest

from postedit.evaluate.error_profile import ERROR_KINDS, ErrorProfile, error_kind, error_profile
from postedit.evaluate.repeated_changes import PhrasePlaces


def profile(*triplets: tuple[str, str, str]) -> ErrorProfile:
    return error_profile(*([text.split() for text in side] for side in zip(*triplets, strict=True)))


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (",", ";", "punctuation"),
        ("", ".", "punctuation"),
        (".", "。", "punctuation"),
        ("7", "8", "number"),
        ("", "12", "number"),
        ("", "der", "missing word"),
        ("der", "", "extra word"),
        ("Sie", "sie", "capital letter"),
        ("Datei", "Dateien", "form or spelling of a word"),
        ("Akte", "Datei", "another word"),
        (",", "und", "another word"),
    ],
)
def test_kinds_of_edits(old: str, new: str, kind: str) -> None:
    assert error_kind(old, new) == kind
    assert kind in ERROR_KINDS


def test_edits_are_counted_by_kind_as_ter_counts_them() -> None:
    found = profile(("s", "a b c d e f", "d e f a b c"), ("s", "x y", "x z"), ("s", "p", "p ,"), ("s", "same", "same"))
    kinds = {one.kind: (one.edits, one.segments) for one in found.kinds}
    assert kinds["word order"] == (1, 1)
    assert kinds["another word"] == (1, 1)
    assert kinds["punctuation"] == (1, 1)
    assert found.edits == sum(one.edits for one in found.kinds) == 3
    assert (found.segments, found.unchanged, found.words) == (4, 1, 11)
    assert found.ter == pytest.approx(100 * 3 / 11)


def test_changes_made_elsewhere_too_are_repeated_and_mostly_systematic() -> None:
    found = profile(
        ("s", "a old", "a new"), ("s", "b old", "b new"),  # twice, always
        ("s", "the cat", "this cat"), ("s", "the dog", "this dog"), ("s", "the the the", "the the the"),  # 2 of 5
        ("s", "once", "single"),
    )  # fmt: skip
    assert (found.changes, found.repeated, found.systematic) == (5, 4, 2)
    assert [(one.old, one.new, one.times, one.places) for one in found.frequent] == [
        ("old", "new", 2, 2),
        ("the", "this", 2, 5),
    ]
    half = profile(("s", "the cat", "this cat"), ("s", "the dog", "this dog"), ("s", "the the", "the the"))
    assert (half.repeated, half.systematic) == (2, 2)


def test_occurrences_that_overlap_are_one_place() -> None:
    places = PhrasePlaces([("a", "a")])
    places.add(["a", "a", "a", "b", "a", "a"])
    assert places.counts == {("a", "a"): 2}


def test_an_insertion_is_shown_between_its_neighbours() -> None:
    (one,) = profile(("s", "klicken Sie", "klicken , Sie"), ("s", "klicken Sie", "klicken , Sie")).frequent
    assert (one.old, one.new) == ("klicken Sie", "klicken , Sie")


def test_terms_name_the_rare_word_of_their_sources() -> None:
    triplets = [("the layer mask", "die Ebene", "die Schicht"), ("a layer here", "Ebene hier", "Schicht hier")]
    others = [(f"the thing {n}", f"das Ding {n}", f"das Ding {n}") for n in range(20)]
    (term,) = profile(*triplets, *others).terms
    assert (term.source, term.old, term.new, term.times) == ("layer", "Ebene", "Schicht", 2)


def test_values_for_json_are_plain() -> None:
    values = profile(("s", "a", "b"), ("s", "a", "b")).to_dict()
    assert values["frequent"] == [{"old": "a", "new": "b", "times": 2, "places": 2, "source": ""}]
    assert values["kinds"][0] == {"kind": "another word", "edits": 2, "segments": 2}
