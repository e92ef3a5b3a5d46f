"""Profile of the errors that post-editors correct: their kinds, how many are repeated, and which ones concern terms."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

from rapidfuzz.distance import Levenshtein

from postedit.evaluate.repeated_changes import PhrasePlaces, WordChange, errors_of
from postedit.evaluate.ter import TER, EditScript, edit_rate

Words = Sequence[list[str]]
Join = Callable[[Sequence[str]], str]

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
"""What a TER edit corrects, see `error_kind`; "word order" stands for shifts."""

_ALIKE: Final = 0.6
"""Similarity from which two words are taken for forms of the same word: that of "Datei" and "Dateien" is 0.71."""

_COMMON: Final = 0.2  # share of segments above which a source word is too common for a term: articles, prepositions
_SHORTEST_TERM: Final = 3  # letters
_LONGEST_TERM: Final = 4  # words

LISTED: Final = 15
"""Most frequent corrections, and most terms, that are listed."""


class KindOfError(NamedTuple):
    """A kind of error, the number of its edits, and the number of segments that have any."""

    kind: str
    edits: int
    segments: int


class RepeatedChange(NamedTuple):
    """A correction that was made in several segments.

    Args:
        old: text of mt; of an insertion, the words on both sides of it.
        new: text of pe in its place; of an insertion, including the words on both sides.
        times: how often the correction was made.
        places: how often the words of `old` occur in mt.
        source: source word that a term translates; "" if this is no term.
    """

    old: str
    new: str
    times: int
    places: int
    source: str = ""


@dataclass(frozen=True, slots=True)
class ErrorProfile:
    """A profile of the errors of some translations."""

    segments: int
    unchanged: int  # segments that the post-editor left unchanged
    words: int  # words of pe
    edits: int  # TER edits
    ter: float  # in per cent
    kinds: tuple[KindOfError, ...]  # in the order of ERROR_KINDS
    changes: int  # stretches of mt that were changed
    repeated: int  # those of `changes` that were made in another segment too, with the same words
    systematic: int  # those of `repeated` that were made in at least half of the places where mt has the old words
    frequent: tuple[RepeatedChange, ...]  # those made in most segments come first
    terms: tuple[RepeatedChange, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        named = ("kinds", "frequent", "terms")
        return {**asdict(self), **{name: [one._asdict() for one in getattr(self, name)] for name in named}}


def error_profile(src: Words, mt: Words, pe: Words, join: Join = " ".join) -> ErrorProfile:
    """Return a profile of the errors of mt, given the words of each segment's source, mt and post-edit.

    `join` makes texts to read of the words of listed corrections.
    """
    scripts = TER(case_sensitive=True).edits(*([" ".join(words) for words in side] for side in (mt, pe)))
    counts = [script.count for script in scripts]
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
    listed = [_repeated_change(change, times[change], places.counts[change.old], join) for change in ordered[:LISTED]]
    return ErrorProfile(
        len(mt),
        sum(not found for found in changes),
        sum(map(len, pe)),
        sum(count.edits for count in counts),
        edit_rate(counts),
        tuple(_kinds(scripts)),
        times.total(),
        sum(times[change] for change in again),
        sum(times[change] for change in systematic),
        tuple(listed),
        tuple(_terms(src, changes, ordered, times, places.counts, join)[:LISTED]),
    )


def error_kind(old: str, new: str) -> str:
    """Return the kind of error that is corrected by writing `new` in place of `old`, one of which may be empty."""
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


def _kinds(scripts: Iterable[EditScript]) -> Iterator[KindOfError]:
    edits, segments = Counter[str](), Counter[str]()
    for script in scripts:
        found = Counter({"word order": len(script.shifts)})
        for edit in script.word_edits:
            old = "" if edit.hypothesis is None else script.hypothesis[edit.hypothesis]
            new = "" if edit.reference is None else script.reference[edit.reference]
            found[error_kind(old, new)] += 1
        edits.update(found)
        segments.update(kind for kind, count in found.items() if count)
    for kind in ERROR_KINDS:
        yield KindOfError(kind, edits[kind], segments[kind])


def _repeated_change(change: WordChange, times: int, places: int, join: Join, source: str = "") -> RepeatedChange:
    old, new = (join([word for word in words if not word.startswith("\n")]) for words in change)
    return RepeatedChange(old, new, times, places, source)


def _terms(
    src: Words,
    changes: Sequence[Counter[WordChange]],
    repeated: Sequence[WordChange],
    times: Counter[WordChange],
    places: dict[tuple[str, ...], int],
    join: Join,
) -> list[RepeatedChange]:
    """Return those repeated corrections for which the sources of all segments share a rare word."""
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
            terms.append(_repeated_change(change, times[change], places[change.old], join, source))
    return terms


def _is_term_word(word: str) -> bool:
    return len(word) >= _SHORTEST_TERM and any(map(str.isalpha, word))


def _is_term(change: WordChange) -> bool:
    """Return whether a change replaces words by others and is short enough to concern a term."""
    old, new = ("".join(words) for words in change)
    lengths = map(len, change)
    kind = error_kind(old, new) if new and not old.startswith("\n") else ""
    return kind in ("another word", "form or spelling of a word") and max(lengths) <= _LONGEST_TERM
