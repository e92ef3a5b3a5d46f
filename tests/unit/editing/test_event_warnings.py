"""Warnings count the segments that a reader gets, and those of nobody's results are not logged."""

import logging
from collections.abc import Sequence

import pytest

from postedit.core.editor import Abilities, Detail, Editor, Identity, PostEdit, Segment
from postedit.core.search_config import SearchConfig
from postedit.editing.event_warnings import trial, warn
from postedit.editing.protection import Protected
from postedit.editing.results import unchanged
from postedit.text.glossary import Glossary, GlossaryEntry

CUT, LONG = PostEdit("b", True, hit_limit=True), unchanged("a", "too long")


def test_each_kind_is_counted_with_its_first_segment(caplog: pytest.LogCaptureFixture) -> None:
    warn([PostEdit("a", False), CUT, LONG, CUT])
    cut, long = (record.getMessage() for record in caplog.records)
    assert cut.startswith("2 of 4 segments, first number 2: the output reached the maximum length")
    assert long.startswith("1 of 4 segments, first number 3: not edited, because a text is too long")
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_trials_are_silent_until_they_end_or_fail(caplog: pytest.LogCaptureFixture) -> None:
    with trial():
        with trial():
            warn([CUT])
        warn([CUT])
    with pytest.raises(ZeroDivisionError), trial():
        _ = 1 / 0
    assert not caplog.records
    warn([CUT])
    assert len(caplog.records) == 1


def test_a_second_search_is_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    class Reporting(Editor):
        abilities = Abilities(constraints=True)

        def identity(self, search: SearchConfig | None = None) -> Identity:
            return Identity(("reporting",))

        def edit_segments(
            self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
        ) -> list[PostEdit]:
            found = [unchanged(one.mt or "", "impossible") if one.constraints else CUT for one in segments]
            warn(found)
            return found

    editor = Protected(Reporting(), glossary=Glossary([GlossaryEntry("file", ("Datei",))]))
    assert editor.edit(["red", "file"], ["a", "a"]) == [CUT, CUT]
    (message,) = caplog.messages
    assert message.startswith("2 of 2 segments, first number 1: the output reached")
