"""Corrections of mt, and how often the same words occur elsewhere: what is corrected again and again can be learnt."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from postedit.text.edits import changes


class WordChange(NamedTuple):
    """Words of mt, and the words of pe in their place; of an insertion, both include the words on either side of it.

    At the beginning or end of a segment, a mark takes the place of the word beside an insertion.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]


class PhrasePlaces:
    """A counter of the places where phrases occur in a stream of segments, in time linear in the stream.

    Args:
        phrases: phrases to count, as words; occurrences of the same phrase that overlap count as one place.
    """

    def __init__(self, phrases: Iterable[tuple[str, ...]]) -> None:
        self.counts = dict.fromkeys(phrases, 0)
        self._lengths: defaultdict[str, set[int]] = defaultdict(set)  # lengths of the phrases, by their first word
        for phrase in self.counts:
            self._lengths[phrase[0]].add(len(phrase))

    def add(self, words: Sequence[str]) -> None:
        """Count the phrases in the words of the next segment."""
        marked, ends = _marked(words), dict[tuple[str, ...], int]()
        for start, word in enumerate(marked):
            for length in self._lengths.get(word, ()):
                phrase = tuple(marked[start : start + length])
                if phrase in self.counts and ends.get(phrase, 0) <= start:
                    self.counts[phrase] += 1
                    ends[phrase] = start + length


def errors_of(words: list[str], post_edit: list[str]) -> Counter[WordChange]:
    """Return how often a post-edit makes each change."""
    return Counter(errors_at(words, post_edit).values())


def errors_at(words: list[str], post_edit: list[str]) -> dict[tuple[int, int], WordChange]:
    """Return the changes that a post-edit makes, by the start and end (exclusive) of the changed words of mt."""
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
    """Return words with marks for the beginning and the end of their segment, which differ from all words."""
    return ["\n<", *words, "\n>"]
