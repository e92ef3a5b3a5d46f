"""The alignment of a text with what an editor wrote in its place: characters that stay, and where each word went."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, NamedTuple

import regex
from rapidfuzz.distance import Levenshtein

from postedit.text.words import UNSPACED

# Numbers are one word; so is each character of a script without spaces, with its combining marks.
_TOKENS: Final = regex.compile(rf"(?V1)\s+|\d+(?:[.,:]\d+)*|[[\w\p{{M}}\u200c\u200d]--[{UNSPACED}]]+|\X", regex.DOTALL)
_STEM: Final = 5  # letters by which a word is recognised elsewhere
_MARK: Final = 0.3  # how much a mark of punctuation tells, beside a word
_REPLACED: Final = 0.5  # how much less is known of a word that was replaced than of one that stays or moves


class TextSpan(NamedTuple):
    """Characters `start` to `end` (exclusive) of a text."""

    start: int
    end: int


class TextChange(NamedTuple):
    """A span of a text, and the span of another text that stands in its place."""

    old: TextSpan
    new: TextSpan


class AlignedWord(NamedTuple):
    """A word, a number, a mark, or a character of a script without spaces, and where it is in its text."""

    text: str
    span: TextSpan

    @property
    def stem(self) -> str:
        """The first letters, which inflected forms have in common, in lower case."""
        return self.text.casefold()[:_STEM]

    @property
    def weight(self) -> float:
        """How much the word tells about the place of a code."""
        return 1.0 if any(map(str.isalnum, self.text)) else _MARK


class WordLink(NamedTuple):
    """A word of the text, by its number, that became a word of the output; with a weight."""

    old: int
    weight: float


@dataclass(slots=True)
class _Block:
    """Words of both texts between words that stay, by their numbers; `start`: where those of the output begin."""

    start: int
    olds: list[int] = field(default_factory=list)
    news: list[int] = field(default_factory=list)


class TextAlignment:
    """What became of a text.

    Within an edit, words are aligned by their edit distance. Words that are missing in one place and new in another,
    be it in another form, have moved. What remains between words that stay was replaced, in the same order.

    Args:
        text: the text.
        output: what was written in its place.
        edits: spans that differ, in order.
    """

    def __init__(self, text: str, output: str, edits: Sequence[TextChange]) -> None:
        self.text, self.output = text, output
        self.kept = list(_kept(text, output, edits))
        """Spans of equal characters, in order, as long as they go on in both texts."""
        self.old_words: list[AlignedWord] = []
        """The words of the text."""
        self.new_words: list[AlignedWord] = []
        """The words of the output."""
        self.links: dict[int, WordLink] = {}
        """The word of the text that became a word of the output, by its number."""
        self.moved: list[tuple[int, int]] = []
        """The words that left one place and stand in another: the number in the text, and that in the output."""
        self.places: dict[int, TextSpan] = {}
        """The span of the output in which a word of the text, or what replaced it, is; empty if it was deleted."""
        blocks = list(self._align_kept())
        self._align_moved(blocks, lambda word: word.text)
        self._align_moved(blocks, lambda word: word.stem)
        for block in blocks:
            self._align_replaced(block)

    def kept_at(self, position: int) -> int | None:
        """Return the position in the output of one in the text between two characters that stay beside each other.

        The ends of the text are positions of that kind.
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
        """Return whether a position of the text is within a word."""
        row = bisect_left(self.old_words, position, key=lambda word: word.span.start) - 1
        return row >= 0 and position < self.old_words[row].span.end

    def _align_kept(self) -> Iterator[_Block]:
        """Find the words and link those that stay; yield the blocks of the others."""
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
        """Link the words that are missing in one place and new, in the same form, in another; in their order."""
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
        """Link the words of a block by their share of it."""
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
    """Return the numbers of the words that have characters in a span."""
    first = bisect_right(words, start, key=lambda word: word.span.end)
    return range(first, max(first, bisect_left(words, end, key=lambda word: word.span.start)))


def _share(row: int, count: int, other: int) -> int:
    """Return the row among `other` rows that is as far on as `row` among `count`."""
    return (2 * row + 1) * other // (2 * count)


def _kept(text: str, output: str, edits: Sequence[TextChange]) -> Iterator[TextChange]:
    """Yield spans of equal characters, as long as they go on."""
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
    """Yield spans of equal characters: between edits, and of words and white space within them."""
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
    """Add the words of a span of a text, and return their numbers."""
    first = len(words)
    words += [
        AlignedWord(one[0], TextSpan(*one.span())) for one in _TOKENS.finditer(text, start, end) if not one[0].isspace()
    ]
    return range(first, len(words))


def word_edges(text: str) -> list[int]:
    """Return the positions of a text that are in no word."""
    inside = {
        position
        for one in _TOKENS.finditer(text)
        if not one[0].isspace()
        for position in range(one.start() + 1, one.end())
    }
    return [position for position in range(len(text) + 1) if position not in inside]
