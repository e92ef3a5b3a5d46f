"""A sentence with all that is known about how a model edited it: texts, edits, and evidence at word level."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, starmap
from typing import Final

from rapidfuzz.distance import Levenshtein

from postedit.core.editor import Edit, Editor, Side
from postedit.core.evidence import Evidence, special_words
from postedit.core.special_tokens import EOS, SPECIAL_TOKENS, STEP
from postedit.core.token_spelling import UNSPACED_RUN

OUTPUT: Final = "output"

_NAMES: Final = {SPECIAL_TOKENS[EOS]: "end of sentence", SPECIAL_TOKENS[STEP]: "STEP"}
"""Readable names of the special tokens that occur in a model's texts."""


_UNKNOWN: Final = re.compile("\ufffd+")  # spelling of characters that are spelt by several tokens


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` (exclusive) of a text."""

    start: int
    end: int

    def overlaps(self, other: "Span") -> bool:
        """Return whether the spans have a character in common."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, eq=False, slots=True)
class ExplainedSentence:
    """One edited sentence with its evidence.

    `spans` gives, for each stream and for `OUTPUT`, the span of each word of `words` in its text. It is None for
    special tokens (EOS, STEP), whose positions are in `special`, and for all words of a text in which the words of the
    model cannot be found.
    """

    src: str
    mt: str  # empty if there is none
    output: str
    edits: tuple[Edit, ...]  # from mt to the output
    confidences: tuple[float, ...]  # confidence of each edit; empty if the editor gives none
    words: Evidence  # evidence at word level; words are spelt as in the texts if they can be found there
    spans: Mapping[str, tuple[Span | None, ...]]
    special: Mapping[str, frozenset[int]]
    pe: str | None = None  # the human post-edit, if known
    pe_words: tuple[str, ...] | None = None
    # the weight of src in each decoding step (a token), for an attention over src and mt together; otherwise empty
    step_weights: tuple[float, ...] = ()

    def named_words(self) -> Evidence:
        """Return the evidence with readable names in place of special tokens."""

        def named(name: str, words: Sequence[str]) -> tuple[str, ...]:
            return tuple(_NAMES.get(word, word) if at in self.special[name] else word for at, word in enumerate(words))

        words = self.words
        streams = {name: named(name, texts) for name, texts in words.streams.items()}
        others = tuple(
            tuple(replace(one, text=_NAMES.get(one.text, one.text)) for one in found) for found in words.runners_up
        )
        return replace(words, streams=streams, output=named(OUTPUT, words.output), runners_up=others)

    def text_words(self, name: str) -> list[int]:
        """Return the positions of the words of a stream, or of `OUTPUT`, that are not special tokens."""
        count = len(self.words.output if name == OUTPUT else self.words.streams[name])
        return [position for position in range(count) if position not in self.special[name]]

    def output_words(self) -> list[str]:
        """Return the words of the output without special tokens."""
        return [self.words.output[position] for position in self.text_words(OUTPUT)]

    def mt_words(self) -> list[str]:
        """Return the words of mt without special tokens; an empty list if the model does not read mt."""
        return [self.words.streams["mt"][word] for word in self.text_words("mt")] if "mt" in self.special else []


def explained_sentence(
    editor: Editor,
    texts: Mapping[Side, str],
    output: str,
    edits: Sequence[Edit],
    confidences: Sequence[float],
    evidence: Evidence,
    pe: str | None = None,
) -> ExplainedSentence:
    """Return a sentence with evidence at word level, made from `evidence` at token level and the words of `editor`."""
    words = evidence.by_word()
    inputs: list[Side] = [side for side in ("src", "mt") if side in words.streams]
    sides: list[tuple[str, Side, str, tuple[str, ...]]]
    sides = [(side, side, texts.get(side, ""), words.streams[side]) for side in inputs]
    sides.append((OUTPUT, "pe", output, words.output))
    tokens = {**evidence.streams, OUTPUT: evidence.output}
    special = {name: special_words(tokens[name]) for name, _, _, _ in sides}
    spans = {name: _spans(editor, side, text, found, special[name]) for name, side, text, found in sides}
    spelt = {
        name: tuple(text[at.start : at.end] if at else word for word, at in zip(found, spans[name]))
        for name, _, text, found in sides
    }
    # Runners-up with incomplete characters tell a reader nothing.
    others = tuple(tuple(one for one in found if "\ufffd" not in one.text) for found in words.runners_up)
    streams = {name: spelt[name] for name in words.streams}
    words = replace(words, streams=streams, output=spelt[OUTPUT], runners_up=others)
    pe_words = None if pe is None else tuple(editor.words("pe", pe))
    if pe_words is not None and "mt" in streams and any(map(UNSPACED_RUN.search, (texts.get("mt", ""), *pe_words))):
        mt_words = [word for place, word in enumerate(streams["mt"]) if place not in special["mt"]]
        pe_words = _divided_like(mt_words, pe_words)
    src, mt = texts.get("src", ""), texts.get("mt", "")
    weights = evidence.shared_weights()
    steps = () if weights is None else tuple(map(float, weights))
    changes = tuple(edits), tuple(confidences)
    return ExplainedSentence(src, mt, output, *changes, words, spans, special, pe, pe_words, steps)


def _spans(
    editor: Editor, side: Side, text: str, words: Sequence[str], special: frozenset[int]
) -> tuple[Span | None, ...]:
    """Return the span of each word, None for special ones; None for all if they cannot be found in the text."""
    wanted = [word for position, word in enumerate(words) if position not in special]
    found = editor.word_spans(side, text)
    if found is None or len(found) != len(wanted):
        found = _in_order(text, wanted)
    if found is None:
        return (None,) * len(words)
    spans = iter(found)
    return tuple(None if position in special else Span(*next(spans)) for position in range(len(words)))


def _in_order(text: str, words: Sequence[str]) -> list[tuple[int, int]] | None:
    """Return the spans of words that are, one after the other, the whole text; None if they are not.

    Replacement characters stand for characters that are spelt by several tokens, which reach to what follows them.
    """
    spans, place = [], 0
    for word, after in zip(words, [*words[1:], ""]):
        start = place = len(text) - len(text[place:].lstrip())
        for number, part in enumerate(_UNKNOWN.split(word)):
            if number:
                follows = part or _UNKNOWN.split(after)[0]
                end = text.find(follows, place + 1) if follows else len(text)
                place = max(place, end if part else len(text[:end].rstrip()))
            if not text.startswith(part, place):
                return None
            place += len(part)
        if start == place:
            return None
        spans.append((start, place))
    return None if text[place:].strip() else spans


def _divided_like(mt: Sequence[str], pe: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a post-edit, divided where words of mt that it keeps begin and end.

    In running text without spaces, words of mt are tokens, into which a post-edit cannot be divided by itself.
    """
    new = "".join(pe)
    kept: dict[int, int] = {}  # the place in pe of each letter of mt that it keeps
    for code in Levenshtein.opcodes("".join(mt), new):
        if code.tag == "equal":
            kept.update(zip(range(code.src_start, code.src_end), range(code.dest_start, code.dest_end), strict=True))
    cuts = {0, *accumulate(map(len, pe))}
    ends = list(accumulate(map(len, mt)))
    for letters in starmap(range, pairwise([0, *ends])):
        places = [kept.get(letter, -1) for letter in letters]
        start, end = places[0], places[0] + len(places)
        if start >= 0 and places == [*range(start, end)]:
            cuts |= {start, end}
    return tuple(new[start:end] for start, end in pairwise(sorted(cuts)))
