"""A sentence with all that is known about how a model edited it: texts, edits, and evidence at word level."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, starmap
from typing import Final
from unicodedata import category, normalize

from rapidfuzz.distance import Levenshtein

from postedit.core.editor import Edit, Editor, Side
from postedit.core.evidence import Evidence, special_words
from postedit.core.scripts import has_unspaced, has_unspaced_run
from postedit.core.special_tokens import EOS, SPECIAL_TOKENS, STEP, UNK
from postedit.text.words import SEPARATORS

OUTPUT: Final = "output"

_NAMES: Final = {SPECIAL_TOKENS[EOS]: "end of sentence", SPECIAL_TOKENS[STEP]: "STEP"}
"""Readable names of the special tokens that occur in a model's texts."""

_UNKNOWN: Final = re.compile("(?:\ufffd|<unk(?:-[0-9]+)?>)+")
"""Spelling of what tokens do not tell of a text: parts of a character, and what the vocabulary lacks."""


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
    if pe_words is not None and "mt" in streams and has_unspaced_run(texts.get("mt", ""), *pe_words):
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
    plain = [place for place in range(len(words)) if place not in special]
    given = editor.word_spans(side, text)
    spans = dict(zip(plain, given)) if given is not None and len(given) == len(plain) else {}
    if not spans or has_unspaced_run(text):  # there, the words of the editor are not those of the model
        shown = [place for place, word in enumerate(words) if place not in special or word == SPECIAL_TOKENS[UNK]]
        spans = dict(zip(shown, _in_order(text, [words[place] for place in shown]) or ())) or spans
    places = (spans.get(place) if place not in special else None for place in range(len(words)))
    return tuple(place and Span(*place) for place in places)


def _in_order(text: str, words: Sequence[str]) -> list[tuple[int, int]] | None:
    """Return the spans of words that are, one after the other, the whole text; None if they are not.

    If they are not as they stand, they are sought in the form that tokenisers give to characters: in lower case, with
    plain forms in place of wide and narrow ones, and without invisible characters.
    """
    return _found(text, words, _as_written) or _found(text, words, _plain)


def _found(text: str, words: Sequence[str], spell: Callable[[str], str]) -> list[tuple[int, int]] | None:
    """Return the spans of words in a text, both spelt by `spell`; see `_in_order`.

    What is not known in a word is at least one letter of the text, and reaches to what is known after it. UNK may also
    be part of an unknown letter beside it.
    """
    letters, places = "".join(map(spell, text)), [place for place, char in enumerate(text) for _ in spell(char)]
    parts = [["".join(map(spell, part)) for part in _UNKNOWN.split(word)] for word in words]
    spans, at, end = [], 0, 0
    for word, known, after in zip(words, parts, [*parts[1:], None]):
        first, least = at, word != SPECIAL_TOKENS[UNK]
        for number, part in enumerate(known):
            if number and (follows := part or (after[0] if after else "")):
                at = letters.find(follows, at + least)
            elif number:
                at = at + least if after else len(letters)
            if at < 0 or not letters.startswith(part, at):
                return None
            at += len(part)
        if first == at and not least:
            spans.append((end, end))
            continue
        if not first < at <= len(letters) or places[first] < end:
            return None
        end = places[at - 1] + 1
        spans.append((places[first], end))
    return spans if at == len(letters) else None


def _as_written(char: str) -> str:
    return "" if char in SEPARATORS else char


def _plain(char: str) -> str:
    return "" if char.isspace() or category(char) in ("Cc", "Cf") else normalize("NFKD", char).casefold()


def _divided_like(mt: Sequence[str], pe: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a post-edit, divided where words of mt that it keeps begin and end.

    In running text without spaces, words of mt are tokens, into which a post-edit cannot be divided by itself. Words in
    scripts with spaces stay whole.
    """
    new = "".join(pe)
    kept: dict[int, int] = {}  # the place in pe of each letter of mt that it keeps
    for code in Levenshtein.opcodes("".join(mt), new):
        if code.tag == "equal":
            kept.update(zip(range(code.src_start, code.src_end), range(code.dest_start, code.dest_end), strict=True))
    edges = [0, *accumulate(map(len, pe))]
    unspaced = (pair for pair, word in zip(pairwise(edges), pe) if has_unspaced(word))
    divisible = {place for start, end in unspaced for place in range(start, end)}
    cuts = set(edges)
    for letters in starmap(range, pairwise([0, *accumulate(map(len, mt))])):
        places = [kept.get(letter, -1) for letter in letters]
        start, end = places[0], places[0] + len(places)
        if start >= 0 and places == [*range(start, end)]:
            cuts |= {start, end} & divisible
    return tuple(new[start:end] for start, end in pairwise(sorted(cuts)))
