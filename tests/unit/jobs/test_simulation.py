"""A simulation with an editor that learns words by heart."""

from collections.abc import Sequence

import pytest

from postedit.core.editor import Abilities, Detail, Editor, Identity, PostEdit, Segment
from postedit.core.search_config import SearchConfig
from postedit.evaluate import repeated_changes
from postedit.evaluate.ter import count_edits, edit_rate
from postedit.jobs.simulation import HISTORIES, Repetition, StreamSegment, repeated_errors, simulate


class Replacements(Editor):
    """Replaces each word that a correction has replaced."""

    abilities = Abilities(learns=True)

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.learnt: list[StreamSegment] = []

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity(("replacements",))

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        texts = [" ".join(self.known.get(word, word) for word in (one.mt or "").split()) for one in segments]
        return [PostEdit(text, text != one.mt) for text, one in zip(texts, segments, strict=True)]

    def learn(self, src: str, mt: str, pe: str) -> int:
        self.learnt.append(StreamSegment(src, mt, pe))
        self.known |= {old: new for old, new in zip(mt.split(), pe.split(), strict=False) if old != new}
        return len(self.learnt)


STREAM = [
    StreamSegment("1", "der Haus", "das Haus"),
    StreamSegment("2", "der Baum", "das Baum"),
    StreamSegment("3", "die Haus", "das Haus"),
    StreamSegment("4", "die Frau", "die Frau"),
]


def test_each_segment_is_edited_with_what_was_learnt_before_it() -> None:
    editor, done = Replacements(), []
    found = simulate(editor, STREAM, SearchConfig(), "none", done.append)
    assert editor.learnt == STREAM
    assert done == [4, 5, 6, 7, 8]
    unedited, frozen, learning = found.systems
    assert [one.edits for one in unedited.counts] == [one.edits for one in frozen.counts] == [1, 1, 1, 0]
    assert [one.edits for one in learning.counts] == [1, 0, 1, 1]  # "die" was replaced once too often
    assert (unedited.changed, frozen.changed, learning.changed) == (0, 0, 2)
    assert (unedited.repeated.all, learning.repeated.all) == (Repetition(1, 1), Repetition(1, 0))
    assert len(found.learning) == len(found.editing) == found.segments == 4


def test_scores_of_windows_and_from_the_first_segment_on() -> None:
    found = simulate(Replacements(), STREAM, SearchConfig(), "none")
    outputs = ["der Haus", "das Baum", "die Haus", "das Frau"]
    pe = [one.pe for one in STREAM]
    assert [(end, rates[2]) for end, rates in found.windows(3)] == [
        (3, edit_rate(count_edits(outputs[:3], pe[:3]))),
        (4, edit_rate(count_edits(outputs[3:], pe[3:]))),
    ]
    assert found.cumulative(found.systems[2], 4) == edit_rate(count_edits(outputs, pe))
    values = found.to_dict(3)
    assert values["windows"][1]["cumulative ter"]["learning"] == found.cumulative(found.systems[2], 4)
    assert values["systems"][0]["repeated errors met"] == 1


def test_text_without_spaces_is_scored_by_characters() -> None:
    stream = [StreamSegment("a", "甲乙 丙", "甲丁丙")]
    unedited = simulate(Replacements(), stream, SearchConfig(), "characters").systems[0]
    assert [(one.edits, one.length) for one in unedited.counts] == [(1, 3)]


def split(*texts: str) -> list[list[str]]:
    return [text.split() for text in texts]


@pytest.mark.parametrize(
    ("mt", "pe", "outputs", "expected"),
    [
        (["a b", "a c"], ["x b", "x c"], ["a b", "a c"], (1, 1)),
        (["a b", "a c"], ["x b", "x c"], ["a b", "x c"], (1, 0)),
        (["a b", "a c"], ["x b", "y c"], ["a b", "x c"], (0, 0)),  # another correction of the same word
        (["a b", "a c a"], ["x b", "x c x"], ["a b", "x c a"], (2, 1)),
        (["a a"], ["x x"], ["a a"], (0, 0)),  # in one segment, no correction came before the other
        (["a b", "a b"], ["a n b", "a n b"], ["a b", "a b"], (1, 1)),
        (["a b", "c d"], ["a n b", "c n d"], ["a b", "c d"], (0, 0)),  # other words beside the new one
        (["a b", "a b"], ["b", "b"], ["a b", "b"], (1, 0)),
        (["a b", "a c"], ["x b", "x c"], ["a b", "y c"], (1, 1)),  # another word, which is wrong as well
        (["a b", "a c"], ["x b", "x c"], ["a b", "c"], (1, 1)),  # deleted
        (["a b", "a c"], ["x b", "x c"], ["a b", "a y"], (1, 1)),  # its neighbour was broken
        (["a b", "a c d"], ["x b", "x c d"], ["a b", "x c y"], (1, 0)),  # words further off were
        (["a b", "a b"], ["a n b", "a n b"], ["a b", "n a b"], (1, 1)),  # the right word in another place
    ],
)
def test_repeated_errors(mt: list[str], pe: list[str], outputs: list[str], expected: tuple[int, int]) -> None:
    assert repeated_errors(split(*mt), split(*pe), split(*outputs)).all == expected


def test_repeated_errors_are_found_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    looked, marked = 0, repeated_changes._marked

    def counted(words: Sequence[str]) -> list[str]:
        nonlocal looked
        looked += len(words)
        return marked(words)

    monkeypatch.setattr(repeated_changes, "_marked", counted)
    size = 300
    found = repeated_errors(*([one.split()] * size for one in ("a b c", "x b c", "a b c")))
    assert found.all == Repetition(size - 1, size - 1)
    assert looked <= 3 * 3 * size  # errors of mt, errors of the output, places: the words of each segment once


@pytest.mark.parametrize(
    ("mt", "pe", "expected"),
    [
        (["a b", "a c", "a d"], ["x b", "x c", "x d"], [1, 1, 0, 0]),  # the second time, and the third time
        (["a b", "a c", "a d"], ["x b", "a c", "x d"], [0, 0, 1, 0]),  # kept once
        (["a b", "a c", "a d", "a e"], ["x b", "a c", "y d", "x e"], [0, 0, 0, 1]),  # and changed in another way once
        (["a b", "a c", "a d"], ["a b", "x c", "x d"], [0, 0, 1, 0]),  # kept before it was first corrected
        (["a b a", "a c"], ["x b x", "x c"], [1, 0, 0, 0]),  # twice in one segment
        (["a b", "a b", "a c b"], ["a n b", "a n b", "a c b"], [0, 1, 0, 0]),  # an insertion between two words
        (["a b", "a b", "a b"], ["a n b", "a b", "a n b"], [0, 0, 1, 0]),
        (["aa", "a", "aa", "aa"], ["x", "y", "x", "x"], [1, 1, 0, 0]),  # words, not letters
        (["a b", "c a a", "a d"], ["n a b", "c a a", "n a d"], [0, 1, 0, 0]),  # an insertion at the beginning
        (["b a", "a a c", "d a"], ["b a n", "a a c", "d a n"], [0, 1, 0, 0]),  # and at the end
        (["a b", "a", "b", "a b c"], ["x", "a", "b", "x c"], [0, 1, 0, 0]),  # not across segments
    ],
)
def test_what_was_done_before_with_the_words_of_a_repeated_error(
    mt: list[str], pe: list[str], expected: list[int]
) -> None:
    nothing, everything = (repeated_errors(split(*mt), split(*pe), split(*outputs)) for outputs in (mt, pe))
    assert [one.met for one in nothing.by_history] == [one.left for one in nothing.by_history] == expected
    assert [one.met for one in everything.by_history] == expected
    assert everything.all.left == 0
    assert list(nothing.to_dict()) == list(HISTORIES)
