"""What post-editors correct: kinds of errors, how many come again, and terms among them."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

from rapidfuzz.distance import Levenshtein

from postedit.evaluate.repeated_changes import PhrasePlaces, WordChange, errors_of
from postedit.evaluate.ter import TER, edit_rate

Words = Sequence[list[str]]

ERROR_KINDS: Final = (
    "another word",
    "form or spelling of a word",
    "missing word",
    "extra word",
    "word order",
    "punctuation",
    "capital letter",
    "number",
)
"""What an edit of TER mends: see `error_kind`; "word order" is a move."""

_ALIKE: Final = 0.6
"""Similarity of letters from which a word replaces another form of itself: "Datei" and "Dateien" have 0.71."""

_COMMON: Final = 0.2  # share of segments beyond which a word of the source is no term: articles, prepositions
_SHORTEST_TERM: Final = 3  # letters
_LONGEST_TERM: Final = 4  # words

LISTED: Final = 15
"""Frequent corrections and terms that are listed."""


class KindOfError(NamedTuple):
    """How many edits are of a kind, and how many segments have some."""

    kind: str
    edits: int
    segments: int


class RepeatedChange(NamedTuple):
    """A correction that was made in several segments.

    Args:
        old: words of mt.
        new: those that pe has in their place; of an insertion, both with the words beside it.
        times: how often it was made.
        places: how often mt has the words `old`.
        source: of a term, the word of the source that it translates; else "".
    """

    old: str
    new: str
    times: int
    places: int
    source: str = ""


@dataclass(frozen=True, slots=True)
class ErrorProfile:
    """What the errors of some translations are."""

    segments: int
    unchanged: int  # segments that were left as they are
    words: int  # of pe
    edits: int  # of TER
    ter: float  # in per cent
    kinds: tuple[KindOfError, ...]  # in the order of ERROR_KINDS
    changes: int  # stretches of mt that were changed
    repeated: int  # of those, how many were made in another segment as well, word by word
    systematic: int  # of those, how many where mt was changed so in at least half of the places with these words
    frequent: tuple[RepeatedChange, ...]  # made in most segments first
    terms: tuple[RepeatedChange, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        named = ("kinds", "frequent", "terms")
        return {**asdict(self), **{name: [one._asdict() for one in getattr(self, name)] for name in named}}


def error_profile(src: Words, mt: Words, pe: Words) -> ErrorProfile:
    """Return what the errors of mt are, from words of each segment."""
    texts = [" ".join(words) for words in mt], [" ".join(words) for words in pe]
    counts = TER(case_sensitive=True).counts(*texts)
    changes = [errors_of(*sides) for sides in zip(mt, pe, strict=True)]
    in_segments = Counter(change for found in changes for change in found)
    times = Counter[WordChange]()
    for found in changes:
        times.update(found)
    again = {change for change, segments in in_segments.items() if segments > 1}
    places = PhrasePlaces(change.old for change in again)
    for words in mt:
        places.add(words)
    systematic = {change for change in again if 2 * times[change] >= places.counts[change.old]}
    ordered = sorted(again, key=lambda change: (-in_segments[change], change))
    listed = [_listed(change, times[change], places.counts[change.old]) for change in ordered[:LISTED]]
    return ErrorProfile(
        len(mt),
        sum(not found for found in changes),
        sum(map(len, pe)),
        sum(count.edits for count in counts),
        edit_rate(counts),
        tuple(_kinds(*texts)),
        times.total(),
        sum(times[change] for change in again),
        sum(times[change] for change in systematic),
        tuple(listed),
        tuple(_terms(src, changes, ordered, times, places.counts)[:LISTED]),
    )


def error_kind(old: str, new: str) -> str:
    """Return the kind of the edit that writes `new` in place of `old`, one of which may be empty."""
    if not any(map(str.isalnum, old + new)):
        return "punctuation"
    if any(map(str.isdecimal, old + new)):
        return "number"
    if not old or not new:
        return "extra word" if old else "missing word"
    if old.casefold() == new.casefold():
        return "capital letter"
    alike = Levenshtein.normalized_similarity(old, new) >= _ALIKE
    return "form or spelling of a word" if alike else "another word"


def _kinds(mt: Sequence[str], pe: Sequence[str]) -> Iterator[KindOfError]:
    edits, segments = Counter[str](), Counter[str]()
    for script in TER(case_sensitive=True).edits(mt, pe):
        found = Counter({"word order": len(script.shifts)})
        for edit in script.word_edits:
            old = "" if edit.hypothesis is None else script.hypothesis[edit.hypothesis]
            new = "" if edit.reference is None else script.reference[edit.reference]
            found[error_kind(old, new)] += 1
        edits.update(found)
        segments.update(kind for kind, count in found.items() if count)
    for kind in ERROR_KINDS:
        yield KindOfError(kind, edits[kind], segments[kind])


def _listed(change: WordChange, times: int, places: int, source: str = "") -> RepeatedChange:
    old, new = (" ".join(word for word in words if not word.startswith("\n")) for words in change)
    return RepeatedChange(old, new, times, places, source)


def _terms(
    src: Words,
    changes: Sequence[Counter[WordChange]],
    repeated: Sequence[WordChange],
    times: Counter[WordChange],
    places: dict[tuple[str, ...], int],
) -> list[RepeatedChange]:
    """Return the repeated corrections that have the same rare word in the source of all their segments."""
    segments: defaultdict[WordChange, list[int]] = defaultdict(list)
    for row, found in enumerate(changes):
        for change in found:
            segments[change].append(row)
    sources = [{word for word in words if _is_term_word(word)} for words in src]
    frequency = Counter(word for words in sources for word in words)
    terms = []
    for change in repeated:
        common = set.intersection(*(sources[row] for row in segments[change]))
        rare = [word for word in common if frequency[word] <= max(2, _COMMON * len(src))]
        if rare and _is_term(change):
            source = min(rare, key=lambda word: (frequency[word], -len(word), word))
            terms.append(_listed(change, times[change], places[change.old], source))
    return terms


def _is_term_word(word: str) -> bool:
    return len(word) >= _SHORTEST_TERM and any(map(str.isalpha, word))


def _is_term(change: WordChange) -> bool:
    """Return whether words became other words, and not too many to be a term."""
    old, new = ("".join(words) for words in change)
    lengths = map(len, change)
    kind = error_kind(old, new) if new and not old.startswith("\n") else ""
    return kind in ("another word", "form or spelling of a word") and max(lengths) <= _LONGEST_TERM
