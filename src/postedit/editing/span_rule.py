"""The rule of protected spans and terms for one segment: what an output breaks, and which constraints could mend it."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import Final

from postedit.text.edits import changes
from postedit.text.glossary import Glossary, TermRule
from postedit.text.protected_spans import (
    FAULTS,
    ProtectedSpan,
    Value,
    accelerators,
    broken_values,
    count_values,
    find_glued,
    find_spans,
    linked_spans,
    unpaired_tags,
)
from postedit.text.span_patterns import Kind
from postedit.text.words import CharacterSplitter, Word

_MOST_GLUED: Final = 1000
"""Maximum number of values to search for as copies glued to other text; each value costs a pass over the text."""

_ELIDED: Final = re.compile(r"\w['’](?=\w)")
"""The end of an elided word, such as "l'" in "l'écran"."""

_LABEL: Final = re.compile("[A-Za-z]*_[A-Za-z]+")
"""A name with a single underscore, or a word with an accelerator."""


class SpanRule:
    """Compares the outputs for a segment with its source and mt.

    Args:
        src: the source.
        mt: the machine translation; if None, outputs must have the spans of the source.
        kinds: the kinds of spans to protect.
        glossary: the terms; None if there are none.
        given: texts that the user requires in outputs; their spans count as spans of the source.
        language: the code of the language of mt; empty if it is not known.
    """

    def __init__(
        self,
        src: str,
        mt: str | None,
        kinds: frozenset[Kind],
        glossary: Glossary | None,
        given: Iterable[str] = (),
        language: str = "",
    ) -> None:
        self._src, self._mt, self._kinds, self._given = src, mt, kinds, [text for text in given if text]
        self._terms: TermRule | None = None
        if glossary is not None:
            here, there = (self._found.get(text or "", ()) for text in (src, mt))
            self._terms = TermRule(glossary.find(src, here), mt, there, language)

    def spans(self, text: str) -> list[ProtectedSpan]:
        """Return the protected spans of a text, further spans that mark faults in it, and its terms."""
        spans = self._found.get(text) or find_spans(text, self._kinds)
        terms = self._terms.spans(text, spans) if self._terms else ()
        return [*self._with_faults(text, spans), *terms]

    @cached_property
    def mt_spans(self) -> list[ProtectedSpan]:
        """The spans and terms of mt, which an output may not break; those of the source if there is no mt."""
        return self.spans(self._src if self._mt is None else self._mt)

    def broken(self, text: str) -> list[Value]:
        """Return the values of spans and terms that are broken in an output."""
        if text == self._mt:
            return []
        spans = find_spans(text, self._kinds)
        terms = self._terms.broken(text, spans) if self._terms else []
        counts = count_values(self._with_faults(text, spans))
        broken = broken_values(self._src_counts, self._mt_counts, counts)
        if self._has_label:
            broken = [one for one in broken if self._src_counts[one] or not _is_label(one)]
        return [*broken, *terms]

    @cached_property
    def _has_label(self) -> bool:
        """Whether mt translates a word with an accelerator of GTK, such as "E_xit", which looks like a name in code."""
        src, mt = ({one for one in counts if _is_label(one)} for counts in (self._src_counts, self._mt_counts))
        return bool(src - mt and mt - src)

    def _with_faults(self, text: str, spans: Sequence[ProtectedSpan]) -> list[ProtectedSpan]:
        """Return the spans of a text, unpaired tags and linked spans once more, glued copies, and accelerators."""
        marks = accelerators(text) if "markup" in self._kinds else ()
        glued = find_glued(text, spans, self._known)
        return [*spans, *unpaired_tags(spans), *self._links(text, spans), *glued, *marks]

    def _links(self, text: str, spans: Sequence[ProtectedSpan]) -> list[ProtectedSpan]:
        """Return the larger units, such as dates, that spans of a text belong to, where source and mt agree on them."""
        return [link for link in linked_spans(text, spans) if Value(link.kind, link.value) in self._shared]

    @cached_property
    def _shared(self) -> frozenset[Value]:
        """The linked spans that source and mt have in common; empty without mt."""
        if self._mt is None:
            return frozenset()
        src, mt = (count_values(linked_spans(text, self._found[text], near=False)) for text in (self._src, self._mt))
        return frozenset(src.keys() & mt.keys())

    def improves(self, text: str, other: str) -> bool:
        """Return whether an output breaks fewer values than `other`, or as many and has fewer faults in its terms.

        These faults are missing terms and forbidden translations. If there is mt, an output that breaks any value
        improves nothing.
        """
        broken = len(self.broken(text))
        if broken and self._mt is not None:
            return False
        return (broken, self._missed(text)) < (len(self.broken(other)), self._missed(other))

    def swapped(self, text: str) -> str:
        """Return an output with terms in place of forbidden translations; see `TermRule.swapped`."""
        return self._terms.swapped(text, find_spans(text, self._kinds)) if self._terms else text

    def keeps_rest(self, text: str, other: str) -> bool:
        """Return whether the output `other` keeps all of `text` except words at or directly beside terms.

        All words that it writes must be part of a term or directly before or after one, because articles change with
        the term. It may remove no term, and no change may remove more words than it writes. In scripts without spaces,
        each character is a word.
        """
        (words, terms), (others, other_terms) = self._divided(text), self._divided(other)
        near = [any(other_terms[max(0, place - 1) : place + 2]) for place in range(len(others))]
        return not any(
            any(terms[slice(*change.mt)])
            or change.mt[1] - change.mt[0] > change.pe[1] - change.pe[0]
            or not all(near[slice(*change.pe)])
            for change in changes(words, others)
        )

    def _divided(self, text: str) -> tuple[list[str], list[bool]]:
        """Return the words of a text, and whether each is part of a term; "l'" in "l'écran" is a word."""
        places = {place for one in self.spans(text) if one.kind == "term" for place in range(one.start, one.end)}
        words: list[Word] = []
        for word in CharacterSplitter().spans(text):
            elided = _ELIDED.match(text, word.start - 1) if words and words[-1].end == word.start else None
            if elided:
                words[-1] = Word(words[-1].text + word.text, words[-1].start, word.end)
            else:
                words.append(word)
        return [word.text for word in words], [word.start in places for word in words]

    def constraints(self, text: str, broken: Sequence[Value]) -> tuple[list[str], list[str]]:
        """Return the phrases to require and those to ban when a segment is searched again to mend an output.

        They concern terms and, for a translation without mt, the values that are `broken`.
        """
        required, banned = self._wishes(text)
        if broken:
            here = self.spans(text)
            now = count_values(here)
            for value in broken:
                if not self._src_counts[value]:
                    banned += _phrases(here, text, value)
                elif not now[value]:
                    required += _phrases(self.mt_spans, self._src, value)
        return list(dict.fromkeys(required)), list(dict.fromkeys(banned))

    def _missed(self, text: str) -> int:
        return sum(map(len, self._wishes(text)))

    def _wishes(self, text: str) -> tuple[list[str], list[str]]:
        return self._terms.wishes(text, find_spans(text, self._kinds)) if self._terms else ([], [])

    @cached_property
    def _found(self) -> dict[str, list[ProtectedSpan]]:
        """The spans of the source, of mt and of the texts that the user requires, by text."""
        texts = (self._src, *([] if self._mt is None else [self._mt]), *self._given)
        return {text: find_spans(text, self._kinds) for text in texts}

    @cached_property
    def _known(self) -> list[Value]:
        """The values to search for as copies glued to other text."""
        known = count_values(span for spans in self._found.values() for span in spans)
        return list(islice(known, _MOST_GLUED))

    @cached_property
    def _src_counts(self) -> Counter[Value]:
        counts: Counter[Value] = Counter()
        for text in (self._src, *self._given):
            counts.update(count_values(self._with_faults(text, self._found[text])))
        return counts

    @cached_property
    def _mt_counts(self) -> Counter[Value]:
        if self._mt is None:
            return self._src_counts
        return count_values(self._with_faults(self._mt, self._found[self._mt]))


def _is_label(value: Value) -> bool:
    return value.kind == "code" and _LABEL.fullmatch(value.value) is not None


def _phrases(spans: Sequence[ProtectedSpan], text: str, value: Value) -> list[str]:
    """Return the first span with a value, extended to whole words; an empty list for faults such as unpaired tags."""
    for span in spans if not value.value.startswith(FAULTS) else ():
        if (span.kind, span.value) == value:
            start, end = span.start, span.end
            while start and _WORD(text[start - 1]) and _WORD(text[start]):
                start -= 1
            while end < len(text) and _WORD(text[end]) and _WORD(text[end - 1]):
                end += 1
            return [text[start:end]]
    return []


_WORD: Final = re.compile("[A-Za-z0-9_]").fullmatch
"""Characters by which phrases are extended to whole words; in scripts without spaces, phrases may end anywhere."""
