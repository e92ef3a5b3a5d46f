"""Glossaries: source terms to find in a segment, and the translations that outputs must or must not have.

Texts are compared word by word: terms match whole words, the longest term first, whatever the white space between the
words and the invisible marks of text direction. In scripts without spaces, each character, a letter with its signs,
counts as a word. Case matters only for entries that say so, and for translations that differ only in case from a
forbidden one. Even then, a capital first letter is accepted, unless it makes the word another term. Inflected forms
match only if the entry lists them.

The rule for an output: it has each term at least as often as mt, or as the source if that has it less often, and it has
no forbidden translation more often than mt.
"""

import hashlib
import pickle
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import accumulate, chain
from operator import itemgetter
from pathlib import Path
from typing import Final, Generic, TypeVar

from postedit.core.arguments import check_kind, is_list
from postedit.core.errors import DataError
from postedit.text.language_tags import base_language
from postedit.text.protected_spans import ProtectedSpan, Value, count_values
from postedit.text.span_patterns import KINDS
from postedit.text.words import SPACED_WORD, STOPS, UNSPACED_CHARACTER, capitalise, dots_capital_i

_INVISIBLE: Final = "\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069"  # text direction, and where lines may end
_TOKEN: Final = re.compile(  # including the voicing marks of Kana
    rf"{UNSPACED_CHARACTER}[\u3099\u309a]?|{SPACED_WORD}|[^\w\s{_INVISIBLE}]"
)
_MOST_ALIKE: Final = 100
"""Source terms of a glossary from elsewhere that may have the same words, apart from case."""

_MOST_FORMS: Final = 1000
"""Translations and forms that a term of a glossary from elsewhere may have."""

_WORDLESS: Final = frozenset(KINDS) - {"number", "unit"}  # kinds of spans within which words do not count as terms
_FRENCH: Final = "[ldcnjmts]e|la|du|au|[mts]a|(?:jus|lors|puis)?que"
_ITALIAN: Final = "il|lo|la|una|(?:a|da|de|ne|su|que)l(?:l[oa])?"
_CHANGED: Final = {
    language: re.compile(rf"(?<!\w)(?:{words})\s+$", re.IGNORECASE)
    for languages, words in (
        (("fr", "fra"), _FRENCH),
        (("it", "ita"), _ITALIAN),
        (("",), "le|(?:da|de|ne|su)ll[oa]"),  # unknown language: the other words could be, say, Spanish
    )
    for language in languages
}
"""By language, words at the end of a text that change before a vowel ("le écran" becomes "l'écran")."""

_ELIDED_BEFORE: Final = re.compile(r"\w['’]$")
_SENTENCE_START: Final = re.compile(rf"(?:^|\n|[.!?…:{STOPS}]\W*\s)[\W\d_]*\Z")  # what may stand before the first word
_NEAR: Final = 20  # characters before a term that are searched for the word before it


@dataclass(frozen=True, slots=True)
class GlossaryEntry:
    """A term of the source with its translations.

    Raises:
        DataError: if the source is not text, or the translations or forms are not tuples of texts.
    """

    source: str
    targets: tuple[str, ...] = ()  # an output should have one of them; search requires the first
    forbidden: tuple[str, ...] = ()  # translations that an output should not have
    case_sensitive: bool = False
    source_forms: tuple[str, ...] = ()  # inflected forms of the source
    target_forms: tuple[str, ...] = ()  # inflected forms of the targets, which count as targets too

    def __post_init__(self) -> None:
        if not isinstance(self.source, str):
            raise DataError(f"source of a glossary entry must be text, not {self.source!r:.80}")
        for name in ("targets", "forbidden", "source_forms", "target_forms"):
            texts = getattr(self, name)
            if not is_list(texts) or not all(isinstance(text, str) for text in texts):
                raise DataError(f"{name} of the term {self.source!r:.80} must be a tuple of texts, not {texts!r:.80}")
            object.__setattr__(self, name, tuple(texts))


@dataclass(frozen=True, slots=True)
class FoundTerm:
    """An entry whose source term occurs in a segment, and how often it does."""

    entry: GlossaryEntry
    count: int


class Glossary:
    """Entries, found by their source terms; those with the same source term are merged, so all targets are allowed.

    Raises:
        DataError: if an entry is not a `GlossaryEntry`.
    """

    def __init__(self, entries: Iterable[GlossaryEntry]) -> None:
        same: dict[tuple[str, bool], list[GlossaryEntry]] = {}
        for entry in entries:
            check_kind("entry", entry, GlossaryEntry, 'a GlossaryEntry, such as GlossaryEntry("house", ("Haus",))')
            same.setdefault((entry.source, entry.case_sensitive), []).append(entry)
        self.entries = tuple(map(_merged, same.values()))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all entries, in order."""
        return hashlib.sha256(repr(self.entries).encode()).hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Glossary) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> "tuple[Callable[[bytes], Glossary], tuple[bytes]]":
        return unpacked, (self._packed,)

    @cached_property
    def _packed(self) -> bytes:
        """The entries as bytes, made once, as a service sends a glossary to other processes with each batch."""
        return pickle.dumps(self.entries)

    def find(self, src: str, spans: Iterable[ProtectedSpan] = ()) -> list[FoundTerm]:
        """Return the entries whose terms occur in the source; terms within a longer term or a span do not count."""
        matches = _outside(self._sources.matches(src), spans)
        counts = Counter(entry for match in matches for entry in match.keys)
        return [FoundTerm(entry, count) for entry, count in counts.items()]

    def places(self, src: str) -> list[tuple[int, int, GlossaryEntry]]:
        """Return where terms occur in a source: first character, end (exclusive), and entry."""
        return [(match.start, match.end, entry) for match in self._sources.matches(src) for entry in match.keys]

    def check_alike(self) -> None:
        """Check that few source terms have the same words: all of them are found wherever one is.

        Raises:
            DataError: if more than 100 have; services call this, as such a glossary can fill their memory.
        """
        if self._sources.most_alike > _MOST_ALIKE:
            raise DataError(
                f"the glossary has {self._sources.most_alike:,} terms that differ only in case or white space; at most "
                f"{_MOST_ALIKE} may: remove some, or make them case-sensitive"
            )

    def check_forms(self) -> None:
        """Check that each term has few translations and forms: all are looked for in each segment with the term.

        Raises:
            DataError: if one has more than 1,000; services call this, as such a term takes the time of others.
        """
        for entry in self.entries:
            count = sum(map(len, (entry.targets, entry.forbidden, entry.source_forms, entry.target_forms)))
            if count > _MOST_FORMS:
                raise DataError(
                    f"the term {entry.source!r:.80} has {count:,} translations and forms; give {_MOST_FORMS:,} at most"
                )

    @cached_property
    def _sources(self) -> "_Phrases[GlossaryEntry]":
        return _Phrases(
            (form, entry, entry.case_sensitive)
            for entry in self.entries
            for form in (entry.source, *entry.source_forms)
        )

    @classmethod
    def read(cls, path: str | Path, languages: tuple[str, str] | None = None) -> "Glossary":
        """Read a glossary from a table (.csv, .tsv) or TBX file.

        Args:
            path: the path of the file.
            languages: the source and target language to read from TBX; needed only if the file has more than two.

        Raises:
            DataError: if the file cannot be read, or a line is wrong; the message names the file, line and fault.
        """
        from postedit.text.glossary_files import read_entries

        return cls(read_entries(path, languages))


@lru_cache(4)
def unpacked(entries: bytes) -> Glossary:
    """Return the glossary with pickled entries; the last few are kept, so that none is built again and again."""
    return Glossary(pickle.loads(entries))


def _merged(entries: Sequence[GlossaryEntry]) -> GlossaryEntry:
    """Return an entry with the translations and forms of several with the same source term."""

    def all_of(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(chain.from_iterable(getattr(one, name) for one in entries)))

    if len(entries) == 1:
        return entries[0]
    return replace(
        entries[0],
        targets=all_of("targets"),
        forbidden=all_of("forbidden"),
        source_forms=all_of("source_forms"),
        target_forms=all_of("target_forms"),
    )


class TermRule:
    """The rule of terms for one segment.

    Args:
        found: entries whose terms occur in the source.
        mt: the machine translation; if None, outputs should have all terms.
        spans: the protected spans of mt.
        language: the code of the language of mt; empty if it is not known.

    A translation that one entry allows is not forbidden by another. Case matters where a forbidden translation differs
    only in case from an allowed one or another forbidden one; an allowed one in lower case stays allowed with the
    capital that begins a sentence. In all methods, `spans` are the protected spans of the text; words within them do
    not count as terms, except in numbers and units.
    """

    def __init__(
        self, found: Sequence[FoundTerm], mt: str | None, spans: Iterable[ProtectedSpan] = (), language: str = ""
    ) -> None:
        self._changed = _CHANGED.get(base_language(language))
        self._language = language
        self._found = [one for one in found if one.entry.targets or one.entry.forbidden]
        allowed = {
            form: value
            for one in self._found
            for value, forms in _values(one.entry).items()
            for form in forms
            if value.kind == "term"
        }
        forbidden = {form for one in self._found for form in one.entry.forbidden if form not in allowed}
        spelt = partial(_spelling, language=language)
        spellings = Counter([*{*map(spelt, allowed)}, *map(spelt, forbidden)])
        contested = {one for one, count in spellings.items() if count > 1}
        phrases = (
            (form, value, one.entry.case_sensitive or spelt(form) in contested)
            for one in self._found
            for value, forms in _values(one.entry).items()
            for form in forms
            if value.kind == "term" or form in forbidden
        )
        self._translations = _Phrases(phrases, language)
        self._capitalised = {
            Value("forbidden term", capitalise(form, language)): value
            for form, value in allowed.items()
            if form.islower()
        }
        self._needed: Counter[Value] = Counter()
        for one in self._found:
            if one.entry.targets:
                self._needed[Value("term", one.entry.targets[0])] += one.count
        self._mt = None if mt is None else self._count(mt, spans)

    def spans(self, text: str, spans: Iterable[ProtectedSpan] = ()) -> list[ProtectedSpan]:
        """Return the terms and forbidden translations of a text."""
        return [
            ProtectedSpan(value.kind, match.start, match.end, value.value)
            for match in _outside(self._translations.matches(text), spans)
            for value in dict.fromkeys(self._meant(text, match.start, value) for value in match.keys)
        ]

    def _meant(self, text: str, start: int, value: Value) -> Value:
        """Return the value of a match; a term with the capital that begins a sentence may look like a forbidden one."""
        return self._capitalised.get(value, value) if _begins_sentence(text, start) else value

    def broken(self, text: str, spans: Iterable[ProtectedSpan] = ()) -> list[Value]:
        """Return the terms that an output loses, and the forbidden translations that it adds."""
        if not self._found:
            return []
        now = self._count(text, spans)
        before = self._needed if self._mt is None else self._mt
        lost = [value for value, count in self._needed.items() if now[value] < min(before[value], count)]
        added = [value for value in now if value.kind == "forbidden term" and now[value] > before[value]]
        return lost + added

    def wishes(self, text: str, spans: Iterable[ProtectedSpan] = ()) -> tuple[list[str], list[str]]:
        """Return the terms of the source that an output lacks, and the forbidden translations that it has."""
        if not self._found:
            return [], []
        now = self._count(text, spans)
        missing = [value.value for value in self._needed if not now[value]]
        return missing, [value.value for value in now if value.kind == "forbidden term"]

    def swapped(self, text: str, spans: Iterable[ProtectedSpan] = ()) -> str:
        """Return a text with terms in place of forbidden translations.

        Entries whose translations occur more often in the text than the term does in src are left alone. A forbidden
        translation also stays after an apostrophe ("l'ordinateur"), and where the word before would have to change ("le
        moniteur", but "l'écran").
        """
        found = self.spans(text, spans)
        now = count_values(found)
        instead = {
            form: one.entry.targets[0]
            for one in self._found
            if one.entry.targets and sum(now[value] for value in _values(one.entry)) <= one.count
            for form in one.entry.forbidden
        }
        parts, done = [], 0
        for span in found:
            if span.kind == "forbidden term" and span.value in instead and span.start >= done:
                term, old = instead[span.value], text[span.start]
                if not self._may_follow(text[max(0, span.start - _NEAR) : span.start], term):
                    continue
                begins = term.islower() and _begins_sentence(text, span.start)
                capital = old.isupper() and (span.value[0].islower() or begins)
                parts += [text[done : span.start], capitalise(term, self._language) if capital else term]
                done = span.end
        return "".join([*parts, text[done:]])

    def _may_follow(self, before: str, term: str) -> bool:
        """Return whether a term may follow the text `before` without a change to its last word."""
        is_vowel = unicodedata.normalize("NFD", term)[0].casefold() in "aeiouhœæ"
        must_change = is_vowel and self._changed is not None and self._changed.search(before)
        return not must_change and not _ELIDED_BEFORE.search(before)

    def _count(self, text: str, spans: Iterable[ProtectedSpan]) -> Counter[Value]:
        return count_values(self.spans(text, spans))


def _values(entry: GlossaryEntry) -> dict[Value, tuple[str, ...]]:
    """Return the values under which the translations of an entry are counted, each with its forms."""
    allowed = {Value("term", entry.targets[0]): (*entry.targets, *entry.target_forms)} if entry.targets else {}
    return {**allowed, **{Value("forbidden term", form): (form,) for form in entry.forbidden}}


KeyT = TypeVar("KeyT", bound=Hashable)


@dataclass(frozen=True, slots=True)
class _Match(Generic[KeyT]):
    start: int
    end: int
    keys: tuple[KeyT, ...]


def _outside(matches: Iterable[_Match[KeyT]], spans: Iterable[ProtectedSpan]) -> Iterator[_Match[KeyT]]:
    """Yield the matches that are not part of a protected span, as "file" in "file.txt" is; see `_WORDLESS`."""
    places = [(span.start, span.end) for span in spans if span.kind in _WORDLESS]
    place = 0
    for match in matches:
        while place < len(places) and places[place][1] <= match.start:
            place += 1
        start, end = places[place] if place < len(places) else (match.end, match.end)
        if match.end <= start or (match.start <= start and end <= match.end):
            yield match


@dataclass(slots=True)
class _Ends(Generic[KeyT]):
    """The phrases of the same words apart from case: their keys, numbered in their order."""

    of_any_case: list[tuple[int, KeyT]] = field(default_factory=list)
    written: dict[str, list[tuple[int, KeyT]]] = field(default_factory=dict)  # of the others, by spelling
    capitalised: dict[str, list[tuple[int, KeyT]]] = field(default_factory=dict)  # the same with a capital

    def keys(self, written: str) -> tuple[KeyT, ...]:
        """Return the keys of the phrases that a spelling in a text stands for."""
        of_case = self.written.get(written) or self.capitalised.get(written, [])
        if not of_case and not self.of_any_case:
            return ()
        numbered = sorted([*self.of_any_case, *of_case], key=itemgetter(0))
        return tuple(dict.fromkeys(key for _, key in numbered))


@dataclass(slots=True)
class _Node(Generic[KeyT]):
    """A node of the phrase tree: the nodes for the next words, and the phrases that end here."""

    following: "dict[str, _Node[KeyT]]" = field(default_factory=dict)
    ends: "_Ends[KeyT] | None" = None


class _Phrases(Generic[KeyT]):
    """Phrases in a tree (trie) of their words, so that a text is compared with all of them in one pass."""

    def __init__(self, phrases: Iterable[tuple[str, KeyT, bool]], language: str = "") -> None:
        """Build the tree from phrases in a language, each with its key and whether case matters."""
        self._language = language
        self._root: _Node[KeyT] = _Node()
        self.most_alike = 0  # largest number of phrases of the same words whose case does not matter
        for number, (phrase, key, cased) in enumerate(phrases):
            node, tokens = self._root, _TOKEN.findall(phrase)
            for word in self._spelt(tokens):
                node = node.following.setdefault(word, _Node())
            if node is self._root:
                continue
            node.ends = node.ends or _Ends()
            if cased:
                written = _written(tokens)
                node.ends.written.setdefault(written, []).append((number, key))
                node.ends.capitalised.setdefault(capitalise(written, language), []).append((number, key))
            else:
                node.ends.of_any_case.append((number, key))
                self.most_alike = max(self.most_alike, len(node.ends.of_any_case))

    def matches(self, text: str) -> Iterator[_Match[KeyT]]:
        """Yield the phrases in a text, from left to right; of those that begin at the same word, only the longest."""
        if not self._root.following:
            return
        found = list(_TOKEN.finditer(text))
        words = self._spelt(word.group() for word in found)
        written, starts = _joined(word.group() for word in found)
        place = 0
        while place < len(words):
            step = 1
            for end, phrases in reversed(self._phrases_at(words, place)):
                keys = phrases.keys(written[starts[place] : starts[end] - 1])
                if keys:
                    yield _Match(found[place].start(), found[end - 1].end(), keys)
                    step = end - place
                    break
            place += step

    def _spelt(self, words: Iterable[str]) -> list[str]:
        return [_spelling(word, self._language) for word in words]

    def _phrases_at(self, words: Sequence[str], place: int) -> list[tuple[int, _Ends[KeyT]]]:
        """Return the phrases that begin at the word `place`, apart from case, with the end of each, shortest first."""
        node = self._root
        found: list[tuple[int, _Ends[KeyT]]] = []
        for end in range(place + 1, len(words) + 1):
            below = node.following.get(words[end - 1])
            if below is None:
                break
            node = below
            if node.ends is not None:
                found.append((end, node.ends))
        return found


def _spelling(word: str, language: str = "") -> str:
    """Return a word in the form in which it is compared: case-folded, composed (NFC), with straight apostrophes."""
    if dots_capital_i(language):
        word = unicodedata.normalize("NFC", word).replace("İ", "i").replace("I", "ı")
    return unicodedata.normalize("NFC", word.casefold()).replace("’", "'")


def _written(words: Iterable[str]) -> str:
    return unicodedata.normalize("NFC", " ".join(words)).replace("’", "'")


def _joined(words: Iterable[str]) -> tuple[str, list[int]]:
    """Return words as `_written` gives them, and where in it each begins; the last place is behind it and a space.

    What is written of some of the words is then part of it, and need not be made for each phrase.
    """
    forms = [_written([word]) for word in words]
    return " ".join(forms), [0, *accumulate(len(form) + 1 for form in forms)]


def _begins_sentence(text: str, start: int) -> bool:
    return _SENTENCE_START.search(text, max(0, start - _NEAR), start) is not None
