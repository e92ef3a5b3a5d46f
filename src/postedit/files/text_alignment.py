"""Alignment of a text with the output of an editor: which characters are kept, and where each word went."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, NamedTuple

import regex
from rapidfuzz.distance import Levenshtein

from postedit.core.scripts import UNSPACED

# A number is one word; so is each character of a script without spaces, together with its combining marks.
_TOKENS: Final = regex.compile(rf"(?V1)\s+|\d+(?:[.,:]\d+)*|[[\w\p{{M}}\u200c\u200d]--[{UNSPACED}]]+|\X", regex.DOTALL)
_STEM: Final = 5  # number of letters by which another form of a word is recognised
_MARK: Final = 0.3  # weight of a punctuation mark; that of a word is 1
_REPLACED: Final = 0.5  # factor of the weight of a link between replaced words, which are aligned less reliably


class TextSpan(NamedTuple):
    """Positions of characters in a text, from `start` to `end` (exclusive)."""

    start: int
    end: int


class TextChange(NamedTuple):
    """A span of a text, and the span of the output that replaces it."""

    old: TextSpan
    new: TextSpan


class AlignedWord(NamedTuple):
    """A word, number, punctuation mark or character of a script without spaces, and its span in the text."""

    text: str
    span: TextSpan

    @property
    def stem(self) -> str:
        """First letters in lower case, which inflected forms have in common."""
        return self.text.casefold()[:_STEM]

    @property
    def weight(self) -> float:
        """Weight of the word as evidence for the place of a code, from 0 to 1."""
        return 1.0 if any(map(str.isalnum, self.text)) else _MARK


class WordLink(NamedTuple):
    """Link from a word of the output to the word of the text from which it came, by its number; with a weight."""

    old: int
    weight: float


@dataclass(slots=True)
class _Block:
    """Words of both texts between kept words, by their numbers; `start` is where those of the output begin."""

    start: int
    olds: list[int] = field(default_factory=list)
    news: list[int] = field(default_factory=list)


class TextAlignment:
    """Alignment of a text with an output.

    Within an edit, words are aligned by edit distance. Words that are missing in one place and new in another, in the
    same or another form, count as moved. The other words between kept words count as replaced, in the same order.

    Args:
        text: the text.
        output: the output of an editor for it.
        edits: spans that differ, in order.
    """

    def __init__(self, text: str, output: str, edits: Sequence[TextChange]) -> None:
        self.text, self.output = text, output
        self.kept = list(_kept(text, output, edits))
        """Maximal spans of kept characters, in order."""
        self.old_words: list[AlignedWord] = []
        """The words of the text."""
        self.new_words: list[AlignedWord] = []
        """The words of the output."""
        self.links: dict[int, WordLink] = {}
        """Links to words of the text, by the number of the word of the output."""
        self.moved: list[tuple[int, int]] = []
        """Moved words: the number of each in the text, and in the output."""
        self.places: dict[int, TextSpan] = {}
        """Span in the output of each word of the text, or its replacement, by its number; empty if it was deleted."""
        blocks = list(self._align_kept())
        self._align_moved(blocks, lambda word: word.text)
        self._align_moved(blocks, lambda word: word.stem)
        for block in blocks:
            self._align_replaced(block)

    def kept_at(self, position: int) -> int | None:
        """Return the position in the output for one in the text, if it is between two characters that remain adjacent.

        Otherwise, return None. The ends of the text count as characters here.
        """
        row = bisect_right(self.kept, position, key=lambda one: one.old.start) - 1
        if row < 0:
            return 0 if position == 0 == len(self.output) else None
        (start, end), (new_start, new_end) = self.kept[row]
        is_inside = (start < position or position == 0 == new_start) and (
            position < end or (position == len(self.text) and new_end == len(self.output) and position == end)
        )
        return position - start + new_start if is_inside else None

    def is_in_word(self, position: int) -> bool:
        """Return whether a position in the text is within a word."""
        row = bisect_left(self.old_words, position, key=lambda word: word.span.start) - 1
        return row >= 0 and position < self.old_words[row].span.end

    def _align_kept(self) -> Iterator[_Block]:
        """Find the words of both texts, and link the kept ones; yield the blocks of the others."""
        old = new = 0
        block = _Block(0)
        end = TextChange(TextSpan(len(self.text), len(self.text)), TextSpan(len(self.output), len(self.output)))
        for kept in [*self.kept, end]:
            block.olds += _add_words(self.old_words, self.text, old, kept.old.start)
            block.news += _add_words(self.new_words, self.output, new, kept.new.start)
            olds = _add_words(self.old_words, self.text, *kept.old)
            news = _add_words(self.new_words, self.output, *kept.new)
            if olds or kept is end:
                yield block
                block = _Block(kept.new.end)
            for one, other in zip(olds, news, strict=True):
                self._link(one, other, self.old_words[one].weight)
            old, new = kept.old.end, kept.new.end

    def _link(self, old: int, new: int, weight: float) -> None:
        self.links[new] = WordLink(old, weight)
        self.places[old] = self.new_words[new].span

    def _align_moved(self, blocks: Sequence[_Block], form: Callable[[AlignedWord], str]) -> None:
        """Link, in order, words that are missing in one place and new in another, if `form` of both is equal."""
        missing: defaultdict[str, list[tuple[int, _Block]]] = defaultdict(list)
        for block in reversed(blocks):
            for old in reversed(block.olds):
                missing[form(self.old_words[old])].append((old, block))
        for block in blocks:
            for new in list(block.news):
                word = self.new_words[new]
                if word.weight == 1 and missing[form(word)]:
                    old, origin = missing[form(word)].pop()
                    self._link(old, new, word.weight)
                    self.moved.append((old, new))
                    origin.olds.remove(old)
                    block.news.remove(new)

    def _align_replaced(self, block: _Block) -> None:
        """Link the words of a block by their relative positions in it."""
        olds, news = block.olds, block.news
        for row, old in enumerate(olds):
            place = self.new_words[news[_share(row, len(olds), len(news))]].span if news else None
            self.places[old] = place or TextSpan(block.start, block.start)
        for row, new in enumerate(news if olds else ()):
            old = olds[_share(row, len(news), len(olds))]
            self.links[new] = WordLink(old, _REPLACED * min(self.old_words[old].weight, self.new_words[new].weight))
            first, last = self.places[old], self.new_words[new].span
            self.places[old] = TextSpan(min(first.start, last.start), max(first.end, last.end))


def words_in(words: Sequence[AlignedWord], start: int, end: int) -> range:
    """Return the numbers of the words with characters between two positions."""
    first = bisect_right(words, start, key=lambda word: word.span.end)
    return range(first, max(first, bisect_left(words, end, key=lambda word: word.span.start)))


def _share(row: int, count: int, other: int) -> int:
    """Return the row among `other` rows that corresponds, by its relative position, to `row` among `count`."""
    return (2 * row + 1) * other // (2 * count)


def _kept(text: str, output: str, edits: Sequence[TextChange]) -> Iterator[TextChange]:
    """Yield the maximal spans of kept characters."""
    (start, old), (new_start, new) = TextSpan(0, 0), TextSpan(0, 0)
    for (first, last), (new_first, new_last) in _equal(text, output, edits):
        if (first, new_first) != (old, new):
            if old > start:
                yield TextChange(TextSpan(start, old), TextSpan(new_start, new))
            start, new_start = first, new_first
        old, new = last, new_last
    if old > start:
        yield TextChange(TextSpan(start, old), TextSpan(new_start, new))


def _equal(text: str, output: str, edits: Sequence[TextChange]) -> Iterator[TextChange]:
    """Yield spans of kept characters: those between edits, and equal words and white space within edits."""
    old = new = 0
    for edit in edits:
        yield TextChange(TextSpan(old, edit.old.start), TextSpan(new, edit.new.start))
        before, after = _TOKENS.findall(text, *edit.old), _TOKENS.findall(output, *edit.new)
        olds, news = _starts(before, edit.old.start), _starts(after, edit.new.start)
        for one in Levenshtein.opcodes(before, after):
            if one.tag == "equal":
                yield TextChange(
                    TextSpan(olds[one.src_start], olds[one.src_end]), TextSpan(news[one.dest_start], news[one.dest_end])
                )
        old, new = edit.old.end, edit.new.end
    yield TextChange(TextSpan(old, len(text)), TextSpan(new, len(output)))


def _starts(tokens: Sequence[str], start: int) -> list[int]:
    """Return the position of each token, and the end of the last one."""
    return list(accumulate(map(len, tokens), initial=start))


def _add_words(words: list[AlignedWord], text: str, start: int, end: int) -> range:
    """Append the words of a span of a text to `words`, and return their numbers."""
    first = len(words)
    words += [
        AlignedWord(one[0], TextSpan(*one.span())) for one in _TOKENS.finditer(text, start, end) if not one[0].isspace()
    ]
    return range(first, len(words))


def word_edges(text: str) -> list[int]:
    """Return the positions in a text that are not within a word, from 0 to its length."""
    inside = {
        position
        for one in _TOKENS.finditer(text)
        if not one[0].isspace()
        for position in range(one.start() + 1, one.end())
    }
    return [position for position in range(len(text) + 1) if position not in inside]
