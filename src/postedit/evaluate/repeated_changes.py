"""Errors of mt and what was done with the same words elsewhere: what is corrected again and again can be learnt."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from postedit.text.edits import changes


class WordChange(NamedTuple):
    """Words of mt, and those that pe has in their place; of an insertion, both with the words beside it.

    Beside an insertion at the beginning or the end of a segment is a mark.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]


class PhrasePlaces:
    """Counts in how many places of a stream each of some phrases stands, in time that is linear in the stream.

    Args:
        phrases: words; equal ones that overlap count as one place.
    """

    def __init__(self, phrases: Iterable[tuple[str, ...]]) -> None:
        self.counts = dict.fromkeys(phrases, 0)
        self._lengths: defaultdict[str, set[int]] = defaultdict(set)  # of the phrases, by their first word
        for phrase in self.counts:
            self._lengths[phrase[0]].add(len(phrase))

    def add(self, words: Sequence[str]) -> None:
        """Count the phrases of the next segment."""
        marked, ends = _marked(words), dict[tuple[str, ...], int]()
        for start, word in enumerate(marked):
            for length in self._lengths.get(word, ()):
                phrase = tuple(marked[start : start + length])
                if phrase in self.counts and ends.get(phrase, 0) <= start:
                    self.counts[phrase] += 1
                    ends[phrase] = start + length


def errors_of(words: list[str], post_edit: list[str]) -> Counter[WordChange]:
    """Return the changes that a post-edit makes."""
    return Counter(errors_at(words, post_edit).values())


def errors_at(words: list[str], post_edit: list[str]) -> dict[tuple[int, int], WordChange]:
    """Return the changes that a post-edit makes, by the first word and the end of the words that it changes."""
    found: dict[tuple[int, int], WordChange] = {}
    marked = _marked(words)
    for change in changes(words, post_edit):
        start, end = (place + 1 for place in change.mt)
        new = post_edit[slice(*change.pe)]
        if start == end:
            left, right = marked[start - 1 : end + 1]
            found[change.mt] = WordChange((left, right), (left, *new, right))
        else:
            found[change.mt] = WordChange(tuple(marked[start:end]), tuple(new))
    return found


def _marked(words: Sequence[str]) -> list[str]:
    """Return words with marks for the beginning and the end of their segment, which are no words."""
    return ["\n<", *words, "\n>"]
