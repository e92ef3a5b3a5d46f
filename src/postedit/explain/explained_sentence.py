"""A sentence explained: its texts, and what the model looked at, word by word with the places of the words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from postedit.core.editor import Edit, Editor, Side
from postedit.core.evidence import Evidence, symbol_words

OUTPUT: Final = "output"


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` (exclusive) of a text."""

    start: int
    end: int

    def meets(self, other: "Span") -> bool:
        """Whether the spans have a character in common."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """What a model did with one sentence.

    Args:
        src: the source.
        mt: the machine translation; empty if there is none.
        output: what the model wrote, as text.
        edits: from mt to the output.
        confidences: of each edit; see `correction.confidence`.
        words: the evidence over words, spelt as in the texts where they can be found there.
        places: by stream, and for `OUTPUT`, where each of those words stands; None for an end or a STEP, and for all
            words of a text in which they cannot be found.
        ends: likewise, which of those words are ends or STEPs, and no words of the text.
        pe: what a human made of mt, if known.
        pe_words: its words.
    """

    src: str
    mt: str
    output: str
    edits: tuple[Edit, ...]
    confidences: tuple[float, ...]
    words: Evidence
    places: Mapping[str, tuple[Span | None, ...]]
    ends: Mapping[str, frozenset[int]]
    pe: str | None = None
    pe_words: tuple[str, ...] | None = None

    def real(self, name: str) -> list[int]:
        """Return which words of a stream, or of `OUTPUT`, are words of the text: no ends and STEPs."""
        count = len(self.words.output if name == OUTPUT else self.words.streams[name])
        return [place for place in range(count) if place not in self.ends[name]]

    def written(self) -> list[str]:
        """Return the words of the output, without ends and STEPs."""
        return [self.words.output[place] for place in self.real(OUTPUT)]


def reading(
    editor: Editor,
    texts: Mapping[Side, str],
    output: str,
    edits: Sequence[Edit],
    confidences: Sequence[float],
    evidence: Evidence,
    pe: str | None = None,
) -> Reading:
    """Return a sentence explained.

    Args:
        editor: divides texts into words.
        texts: src, and mt if there is one.
        output: what the model wrote.
        edits: from mt to it.
        confidences: of each edit.
        evidence: over pieces.
        pe: what a human made of mt, if known.
    """
    words = evidence.by_word()
    sides: list[tuple[str, Side, str, tuple[str, ...]]] = [
        (name, side, texts.get(side, ""), found)
        for side in ("src", "mt")
        for name, found in words.streams.items()
        if name == side
    ]
    sides.append((OUTPUT, "pe", output, words.output))
    pieces = {**evidence.streams, OUTPUT: evidence.output}
    ends = {name: symbol_words(pieces[name]) for name, _, _, _ in sides}
    places = {name: _places(editor, side, text, len(found), ends[name]) for name, side, text, found in sides}
    spelt = {name: _spelt(text, found, places[name]) for name, _, text, found in sides}
    streams = {name: spelt[name] for name in words.streams}
    words = replace(words, streams=streams, output=spelt[OUTPUT])
    pe_words = None if pe is None else tuple(editor.words("pe", pe))
    src, mt = texts.get("src", ""), texts.get("mt", "")
    return Reading(src, mt, output, tuple(edits), tuple(confidences), words, places, ends, pe, pe_words)


def _places(editor: Editor, side: Side, text: str, count: int, ends: frozenset[int]) -> tuple[Span | None, ...]:
    """Return where each word stands; None for all where the text has not just as many words."""
    found = editor.word_spans(side, text)
    real = [place for place in range(count) if place not in ends]
    result: list[Span | None] = [None] * count
    if found is not None and len(found) == len(real):
        for place, word in zip(real, found, strict=True):
            result[place] = Span(*word)
    return tuple(result)


def _spelt(text: str, words: Sequence[str], places: Sequence[Span | None]) -> tuple[str, ...]:
    return tuple(
        word if place is None else text[place.start : place.end] for word, place in zip(words, places, strict=True)
    )
