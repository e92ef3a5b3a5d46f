"""Passes over what an editor wrote: they end where nothing changes, and say what became of mt."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from postedit import PostEditor
from postedit.core.edit_reasons import ErrorReason
from postedit.core.editor import Abilities, Detail, Editor, Fallback, Identity, PostEdit, Segment
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.editing.iterated import Iterated
from postedit.text.edits import apply_edits, edits_between

STEPS = {"a x": "a b", "a b": "a b c", "a b c": "a b c d", "loop": "pool", "pool": "loop", "z": "y"}


class Table(Editor):
    """Replaces texts by those of a table, and counts the segments that it is given."""

    abilities = Abilities()

    def __init__(self) -> None:
        self.given: list[list[str]] = []

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity(("table",))

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        self.given.append([segment.mt or "" for segment in segments])
        results = []
        for segment in segments:
            mt = segment.mt or ""
            text = STEPS.get(mt, mt)
            edits = edits_between(mt, text)
            results.append(PostEdit(text, text != mt, edits=edits, confidences=(0.5,) * len(edits)))
        return results


def test_passes_end_where_nothing_changes() -> None:
    inner = Table()
    found = Iterated(inner, 9).edit(["s"] * 3, ["a x", "same", "z"])
    assert [one.text for one in found] == ["a b c d", "same", "y"]
    assert [one.changed for one in found] == [True, False, True]
    assert inner.given == [["a x", "same", "z"], ["a b", "y"], ["a b c"], ["a b c d"]]
    for mt, one in zip(["a x", "same", "z"], found):
        assert apply_edits(mt, one.text, one.edits) == one.text
        assert len(one.confidences) == len(one.edits)


@pytest.mark.parametrize(("passes", "text"), [(1, "a b"), (2, "a b c"), (3, "a b c d"), (4, "a b c d")])
def test_there_are_at_most_so_many_passes(passes: int, text: str) -> None:
    editor = Iterated(Table(), passes)
    (found,) = editor.edit(["s"], ["a x"])
    assert found.text == text
    texts = editor.texts_by_pass([Segment("s", "a x")])
    assert [row[0] for row in texts] == ["a b", "a b c", "a b c d"][:passes]


def test_a_correction_that_leads_back_is_not_taken() -> None:
    inner = Table()
    (found,) = Iterated(inner, 9).edit(["s"], ["loop"])
    assert (found.text, found.changed) == ("pool", True)
    assert inner.given == [["loop"], ["pool"]]


def test_one_pass_is_the_editor_itself() -> None:
    assert Iterated(Table(), 1).edit(["s"], ["a x"]) == Table().edit(["s"], ["a x"])
    assert Iterated(Table(), 1).identity() == Table().identity()
    assert Iterated(Table(), 3).identity().settings["passes"] == 3


def test_what_passes_do_not_go_with() -> None:
    with pytest.raises(DataError, match="give mt, or set passes to 1"):
        Iterated(Table(), 2).edit(["s"])
    with pytest.raises(DataError, match="at least 1"):
        Iterated(Table(), 0)
    able = Table()
    able.abilities = Abilities(needs_mt=False, n_best=True)
    with pytest.raises(DataError, match="passes go on with one correction per segment: n_best must be 1, not 2"):
        Iterated(able, 2).edit(["s"], ["a"], beam=2, n_best=2)
    with pytest.raises(DataError, match="give mt, or set passes to 1"):
        Iterated(able, 2).edit(["s", "s"], ["a", None])


class Careful(Table):
    """Takes something back of each correction, reads a part of the first, and has no probability of the last."""

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        (result,) = super().edit_segments(segments, search, evidence=evidence)
        number = len(self.given)
        lost = Fallback("number", str(number), "edits")
        confidences = () if number == 3 else (1.0 - 0.1 * number,)
        edits = tuple(replace(one, reasons=(ErrorReason(str(number), "", ""),)) for one in result.edits)
        return [
            replace(
                result,
                reverted=number,
                fallbacks=(lost,),
                input_cut=number == 1,
                hit_limit=number == 1,
                confidences=confidences,
                edits=edits,
            )
        ]


def test_what_was_taken_back_in_all_passes_is_told() -> None:
    (found,) = Iterated(Careful(), 2).edit_segments([Segment("s", "a x")])
    assert (found.text, found.reverted, found.input_cut, found.hit_limit) == ("a b c", 1 + 2, True, True)
    assert [one.value for one in found.fallbacks] == ["1", "2"]
    assert set(found.confidences) == {0.8}
    assert [one.text for one in found.edits[0].reasons if isinstance(one, ErrorReason)] == ["1", "2"]
    (found,) = Iterated(Careful(), 3).edit_segments([Segment("s", "a x")])
    assert found.text == "a b c d"
    assert not found.confidences, "one pass has none"


def test_scores_are_those_of_the_last_text_as_a_correction_of_mt(tiny_folders: Path) -> None:
    editor = PostEditor.load(tiny_folders / "transference", device="cpu")
    src, mt = ["the house", "it goes"], ["das Haus geht es", "es"]
    rewritten = [iter(["das Haus", "es ging"]), iter(["das", "ging"])]
    plain = editor.edit_segments

    def edit_segments(segments: Sequence[Segment], *options: object, **more: object) -> list[PostEdit]:
        texts = [next(rewritten[src.index(segment.src)], segment.mt) for segment in segments]
        return editor.score_segments(segments, texts)

    editor.edit_segments = edit_segments  # type: ignore[method-assign]
    found = Iterated(editor, 3).edit(src, mt)
    editor.edit_segments = plain  # type: ignore[method-assign]
    assert [one.text for one in found] == ["es ging" if text == "das Haus geht es" else "ging" for text in mt]
    for one, expected in zip(found, editor.score(src, mt, [one.text for one in found]), strict=True):
        assert (one.score, one.edits, one.confidences) == (expected.score, expected.edits, expected.confidences)


@pytest.mark.parametrize(
    ("scored", "score", "confidences"),
    [
        pytest.param({"skipped": "too long"}, 0.0, (0.8,), id="cannot score it"),
        pytest.param({"text": "a b c d"}, 0.0, (0.8,), id="scores another text"),
        pytest.param({"edits": ()}, -7.0, (0.8,), id="lists no edits"),
        pytest.param({"confidences": ()}, -7.0, (0.8,), id="has no confidences"),
        pytest.param({}, -7.0, (0.3,), id="all"),
    ],
)
def test_scores_are_taken_as_far_as_they_fit(
    scored: dict[str, object], score: float, confidences: tuple[float, ...]
) -> None:
    class Scoring(Careful):
        abilities = Abilities(forced_scores=True)

        def score_segments(self, segments: Sequence[Segment], outputs: Sequence[str], **_: object) -> list[PostEdit]:
            edits = edits_between("a x", "a b c")
            given = PostEdit("a b c", True, -7.0, edits=edits, confidences=(0.3,) * len(edits))
            return [replace(given, **scored)]  # type: ignore[arg-type]

    (found,) = Iterated(Scoring(), 2).edit_segments([Segment("s", "a x")])
    assert (found.text, found.score, found.skipped) == ("a b c", score, None)
    assert set(found.confidences) == set(confidences)
    assert apply_edits("a x", found.text, found.edits) == found.text
    assert (found.reverted, len(found.fallbacks), found.input_cut, found.hit_limit) == (3, 2, True, True)
