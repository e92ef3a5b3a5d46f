"""Warnings count the corrections that a caller gets; those that an editor discards are not reported."""

import logging
from collections.abc import Callable, Sequence

import pytest

from postedit.core.editor import Abilities, Detail, Editor, Identity, PostEdit, Segment
from postedit.core.search_config import SearchConfig
from postedit.core.segment_events import warn_of_events
from postedit.editing.iterated import Iterated
from postedit.editing.protection import Protected
from postedit.editing.results import unchanged
from postedit.text.edits import edits_between
from postedit.text.glossary import Glossary, GlossaryEntry

CUT, LONG = PostEdit("b", True, hit_limit=True), unchanged("a", "too long")
GLOSSARY = Glossary([GlossaryEntry("file", ("Datei",))])


def test_each_kind_is_counted_with_its_first_segment(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_events([PostEdit("a", False), CUT, LONG, CUT])
    cut, long = (record.getMessage() for record in caplog.records)
    assert cut.startswith("2 of 4 segments (the first is number 2): the output reached the maximum length")
    assert long.startswith("1 of 4 segments (the first is number 3): not edited, because a text is too long")
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


class Finding(Editor):
    """Returns what a function finds for each segment."""

    abilities = Abilities(needs_mt=False, constraints=True)

    def __init__(self, find: Callable[[Segment], PostEdit]) -> None:
        self.find = find

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity(("finding",))

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        return [self.find(segment) for segment in segments]


def test_any_editor_is_reported_once_and_only_by_edit(caplog: pytest.LogCaptureFixture) -> None:
    editor = Finding(lambda one: CUT)
    editor.edit_segments([Segment("s", "a")])
    assert not caplog.records
    editor.edit(["s"], ["a"])
    assert len(caplog.records) == 1


def test_a_second_search_is_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    inner = Finding(lambda one: unchanged(one.mt or "", "impossible") if one.constraints else CUT)
    editor = Protected(inner, glossary=GLOSSARY)
    assert editor.edit(["red", "file"], ["a", "a"]) == [CUT, CUT]
    (message,) = caplog.messages
    assert message.startswith("2 of 2 segments (the first is number 1): the output reached")


def test_a_second_search_whose_output_is_taken_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    inner = Finding(lambda one: PostEdit("Datei", True, hit_limit=True) if one.constraints else PostEdit("b", True))
    assert [one.text for one in Protected(inner, glossary=GLOSSARY).edit(["red", "file"])] == ["b", "Datei"]
    (message,) = caplog.messages
    assert message.startswith("1 of 2 segments (the first is number 2): the output reached")


def test_later_passes_are_reported_by_the_number_of_the_segment(caplog: pytest.LogCaptureFixture) -> None:
    first = PostEdit("b", True, edits=edits_between("a", "b"))
    second = PostEdit("c", True, edits=edits_between("b", "c"), hit_limit=True)
    results = {"a": first, "b": second, "c": unchanged("c", "too long")}
    inner = Finding(lambda one: results.get(one.mt or "", PostEdit(one.mt or "", False)))
    assert [one.text for one in Iterated(inner, 3).edit(["s", "s"], ["x", "a"])] == ["x", "c"]
    (message,) = caplog.messages
    assert message.startswith("1 of 2 segments (the first is number 2): the output reached")
