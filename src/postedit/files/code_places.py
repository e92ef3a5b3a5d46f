"""Places of inline codes in an output, found by its alignment with the text from which the codes were taken.

Each code has a cost at each position between words of the output. The places minimise the sum of the costs under the
condition that the codes keep a given order, and so their nesting. The place of a code between two characters that stay
adjacent is fixed.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import regex
from numpy.typing import NDArray

from postedit.core.scripts import has_unspaced
from postedit.files.marked_text import MarkedText
from postedit.files.text_alignment import TextAlignment, word_edges, words_in
from postedit.text.protected_spans import find_spans

Costs = NDArray[np.float64]
"""The cost of a code at each position: Float[P]."""

# The unit of costs is one word that a pair loses, or wrongly includes. If several places have the same cost of this
# kind, white space and the words beside a code decide.
_SPACE: Final = 0.2  # cost of white space on one side that is new or missing
_NEIGHBOUR: Final = 0.1  # cost, for codes of pairs, of each word between a code and the word beside which it was
_OUTER: Final = 0.8  # share of _SPACE for white space on the outer side of a pair
_LOOSE: Final = 0.25  # share of the cost of a neighbour that white space, or its tag, separates from a code
_INSERTED: Final = 0.5  # cost of a word in a pair that had none; gain of a new word in a pair around the whole text
_LINE: Final = 0.1  # cost of a place before a character that a new line should not begin with
_NEVER: Final = 1e9  # cost of a place that a code cannot have
_OUTSIDE: Final = 1e6  # cost of a place outside of the white space at the ends within which the code was
_BETTER: Final = 0.5  # difference of costs by which the order of the source must be better than that of the text

_BEFORE: Final = regex.compile(r"(?:^|\s)[\p{Ps}\p{Pi}¿¡]*$")  # opening marks belong to the next word
_AFTER: Final = regex.compile(r"[\p{Pe}\p{Pf}\p{Terminal_Punctuation}]*(?:\s|$)")  # closing marks to the last one
_SEEN: Final = 10  # number of characters to which both patterns are applied


def code_places(
    marked: MarkedText, pairs: Mapping[int, int], aligned: TextAlignment, source: MarkedText | None
) -> dict[int, int]:
    """Return the position in the output of each code, by its number, in the order in which codes are to be written.

    This is the order of the text, or that of the source if this has the same codes and its order is clearly better.

    Args:
        marked: the text with its codes.
        pairs: number of the closing code of each pair, by the number of the opening one.
        aligned: alignment of the text and the output.
        source: the source; None if there is none.
    """
    costs = _CodeCosts(marked, pairs, aligned)
    order = list(range(len(marked.codes)))
    cost, places = costs.cheapest(order)
    of_source = None if source is None else _order_of(source, marked, pairs)
    if of_source is not None and of_source != order:
        other_cost, others = costs.cheapest(of_source)
        if other_cost < cost - _BETTER:
            return others
    return places


def missing_spaces(marked: MarkedText, output: str, places: Mapping[int, int]) -> list[int]:
    """Return the positions of an output at which a code lacks white space that it had around it, as a word has.

    An editor does not see that such a code stands for a word, as in `Press <x/> now`, and may write a single space for
    the two around it. Beside a script without spaces between words, none is missing on either side.

    Args:
        marked: the text with its codes.
        output: the output for this text.
        places: position in the output of each code, by its number.
    """
    paired = {index for pair in marked.pairs() for index in pair}
    found: set[tuple[int, int]] = set()  # position, and on which side of the code
    for index, place in places.items():
        position, code = marked.codes[index]
        if index in paired or not code.parts_words or not all(_sides(marked.text, position)):
            continue
        beside = output[max(0, place - 1) : place], output[place : place + 1]
        if has_unspaced("".join(beside)):
            continue
        for side, (is_free, character) in enumerate(zip(_sides(output, place), beside, strict=True)):
            if not is_free and not _is_wide_mark(character):
                found.add((place, side))
    return [place for place, _ in sorted(found)]


def _is_wide_mark(character: str) -> bool:
    """Return whether a character is East Asian punctuation, which includes the space beside it."""
    return unicodedata.category(character)[0] == "P" and unicodedata.east_asian_width(character) in ("F", "W")


def _order_of(source: MarkedText, marked: MarkedText, pairs: Mapping[int, int]) -> list[int] | None:
    """Return the numbers of the codes in the order of the source; None if it has others, or pairs would not nest."""
    ours, theirs = marked.code_names(), source.code_names()
    if set(ours) != set(theirs) or any(code.literal for _, code in marked.codes):
        return None
    rank = {name: row for row, name in enumerate(theirs)}
    order = sorted(range(len(ours)), key=lambda index: rank[ours[index]])
    waiting: list[int] = []
    for index in order:
        if index in pairs:
            waiting.append(pairs[index])
        elif index in waiting and waiting.pop() != index:
            return None
    return None if any(order.index(opened) > order.index(closed) for opened, closed in pairs.items()) else order


class _CodeCosts:
    """Costs of the codes of a text at the P positions of an output between words."""

    def __init__(self, marked: MarkedText, pairs: Mapping[int, int], aligned: TextAlignment) -> None:
        self._marked, self._aligned = marked, aligned
        places = [aligned.kept_at(position) for position, _ in marked.codes]
        self._fixed = {index: place for index, place in enumerate(places) if place is not None}
        edges = set(word_edges(aligned.output)) - _inside_spans(marked, aligned.output)
        self._positions = np.array(sorted(edges | {*self._fixed.values()}))
        words = aligned.new_words
        self._done = np.searchsorted([word.span.end for word in words], self._positions, side="right")
        self._weight = self._sums([word.weight for word in words])
        self._sides = np.array([_sides(aligned.output, position) for position in self._positions])
        ends_line = [aligned.output[place : place + 1].isspace() for place in self._positions]
        self._line_costs: Costs = np.where(ends_line, 0.0, _LINE)
        self._inner, self._new_inner = _stripped_span(marked.text), _stripped_span(aligned.output)
        self._members: dict[int, Costs] = {}
        for opened, closed in pairs.items():
            self._members |= self._pair_costs(opened, closed)

    def cheapest(self, order: Sequence[int]) -> tuple[float, dict[int, int]]:
        """Return the minimum total cost of the codes in an order, and their places, by dynamic programming."""
        least, chosen = np.zeros(len(self._positions)), []
        for index in order:
            found = least + self._costs(index)
            least = np.minimum.accumulate(found)
            is_first = np.append(True, least[1:] < least[:-1])  # first of the positions with this sum
            chosen.append(np.maximum.accumulate(np.where(is_first, np.arange(len(found)), 0)))
        places: dict[int, int] = {}
        row = -1
        for index, rows in zip(reversed(order), reversed(chosen), strict=True):
            row = rows[row]
            places[index] = int(self._positions[row])
        return float(least[-1]), dict(reversed(places.items()))

    def _costs(self, index: int) -> Costs:
        if index in self._fixed:
            return np.where(self._positions == self._fixed[index], 0.0, _NEVER)
        position = self._marked.codes[index][0]
        return self._costs_of_words(index) + self._costs_of_ends(position) + self._costs_of_lines(index)

    def _costs_of_words(self, index: int) -> Costs:
        """Return the costs of a code whose place is not fixed, by the words and the white space around it."""
        position, code = self._marked.codes[index]
        changed = self._sides != _sides(self._marked.text, position)
        if index not in self._members:
            left, right = map(_looseness, _is_space_around(self._marked, position))
            costs: Costs = self._distances(position, left, right) + _SPACE * (changed @ [1.0, 1.0])
            return costs
        opens = code.kind == "open"
        near = self._distances(position, *((_LOOSE, 1.0) if opens else (1.0, _LOOSE)))
        spaces = changed @ ([_OUTER, 1.0] if opens else [1.0, _OUTER])
        costs = near * _NEIGHBOUR + spaces * _SPACE
        return costs + self._members[index]

    def _costs_of_lines(self, index: int) -> Costs:
        """Return the costs of places before punctuation, for a code that parts words, as a line break does.

        A new full stop belongs to the line before; elsewhere, white space before the code shows where it ends.
        """
        position, code = self._marked.codes[index]
        if self._marked.raw.get(position) != "" or (code.kind != "alone" and not code.ends_words):
            return np.zeros(len(self._positions))
        return self._line_costs

    def _costs_of_ends(self, position: int) -> Costs:
        """Return the costs of places that have less white space before, or behind, than a code has at that end.

        Files rely on it: gettext requires that a translation begins and ends with the line ends of its source.
        """
        text, output = self._marked.text, self._aligned.output
        (start, end), (new_start, new_end) = self._inner, self._new_inner
        first = min(position, start, new_start)
        last = len(output) - min(len(text) - max(position, end), len(output) - new_end)
        return np.where((self._positions < first) | (self._positions > last), _OUTSIDE, 0.0)

    def _distances(self, position: int, left: float, right: float) -> Costs:
        """Return the distances in words from both words beside which a code was, each times a factor: Float[P]."""
        olds, places = self._aligned.old_words, self._aligned.places
        after = bisect_right(olds, position, key=lambda word: word.span.end)
        before = bisect_left(olds, position, key=lambda word: word.span.start) - 1
        costs = np.zeros(len(self._positions))
        if before >= 0:
            costs += left * olds[before].weight * self._words_from(places[before].end)
        if after < len(olds):
            costs += right * olds[after].weight * self._words_from(places[after].start)
        return costs

    def _words_from(self, place: int) -> Costs:
        row = np.searchsorted(self._positions, place)
        words: Costs = np.abs(self._weight - self._weight[row])
        return words

    def _pair_costs(self, opened: int, closed: int) -> dict[int, Costs]:
        """Return the costs of both codes of a pair; their sum is that of words that it loses or wrongly includes."""
        start, end = self._marked.codes[opened][0], self._marked.codes[closed][0]
        olds = self._aligned.old_words
        inside = words_in(olds, start, end)
        if not inside:  # a pair without words: like two codes that stand alone, with no words between them
            apart = self._sums([_INSERTED] * len(self._aligned.new_words))
            near = (1 - _NEIGHBOUR) * self._distances(start, 1.0, 1.0)
            return {opened: near - apart, closed: near + apart}
        text = self._marked.text
        inserted = 0.0 if (text[:start] + text[end:]).strip() else -_INSERTED  # a pair around all stays around all
        links = self._aligned.links
        gains = [
            inserted if new not in links else -links[new].weight if links[new].old in inside else links[new].weight
            for new in range(len(self._aligned.new_words))
        ]
        sums = self._sums(gains)
        return {opened: -sums, closed: sums}

    def _sums(self, values: Sequence[float]) -> Costs:
        """Return the sum of the values of all words before each position: Float[P]."""
        sums: Costs = np.concatenate([[0.0], np.cumsum(values)])[self._done]
        return sums


def _inside_spans(marked: MarkedText, output: str) -> set[int]:
    """Return the positions inside protected spans of an output; a code there would break a placeholder or an address.

    Spans that a code divides in the text as well are left out.
    """
    positions = [position for position, _ in marked.codes]
    divided = {span.value for span in find_spans(marked.text) if any(span.start < at < span.end for at in positions)}
    spans = [span for span in find_spans(output) if span.value not in divided]
    return {at for span in spans for at in range(span.start + 1, span.end)}


def _stripped_span(text: str) -> tuple[int, int]:
    """Return the span of a text without the white space at its ends."""
    return len(text) - len(text.lstrip()), len(text.rstrip())


def _looseness(is_apart: bool) -> float:
    return _LOOSE if is_apart else 1.0


def _is_space_around(marked: MarkedText, position: int) -> tuple[bool, bool]:
    """Return whether white space, or an end of the text, is before a position, and whether it is after it."""
    text = marked.text
    return not text[position - 1 : position].strip(), marked.raw.get(position) != "" and not text[
        position : position + 1
    ].strip()


def _sides(text: str, position: int) -> tuple[bool, bool]:
    """Return whether a position has no word directly before it, and none after it; some punctuation is ignored."""
    before, after = text[max(0, position - _SEEN) : position], text[position : position + _SEEN]
    return _BEFORE.search(before) is not None, _AFTER.match(after) is not None
