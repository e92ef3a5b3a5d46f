"""The rule of protected spans and terms for one segment: what an output breaks, and what would mend it in search."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

from postedit.text.glossary import Glossary, TermRule
from postedit.text.protected_spans import (
    Kind,
    ProtectedSpan,
    Value,
    broken_values,
    count_values,
    find_spans,
    unpaired_tags,
)


class SpanRule:
    """Compares outputs of a segment with its source and mt.

    Args:
        src: the source.
        mt: the machine translation; None: outputs must have the spans of the source.
        kinds: kinds of protected spans.
        glossary: terms; None if there are none.
        given: texts that the user requires in outputs; their spans count as those of the source.
    """

    def __init__(
        self, src: str, mt: str | None, kinds: frozenset[Kind], glossary: Glossary | None, given: Iterable[str] = ()
    ) -> None:
        self._src, self._mt, self._kinds, self._given = src, mt, kinds, [text for text in given if text]
        self._terms = TermRule(glossary.find(src), mt) if glossary is not None else None

    def spans(self, text: str) -> list[ProtectedSpan]:
        """Return the protected spans of a text, unpaired tags once more, and its terms."""
        spans = find_spans(text, self._kinds)
        return [*spans, *unpaired_tags(spans), *(self._terms.spans(text) if self._terms else ())]

    @cached_property
    def mt_spans(self) -> list[ProtectedSpan]:
        """The spans and terms of mt, which an output may not break; of the source if there is no mt."""
        return self.spans(self._src if self._mt is None else self._mt)

    def broken(self, text: str) -> list[Value]:
        """Return the values of spans and terms that are broken in an output."""
        if text == self._mt:
            return []
        spans = find_spans(text, self._kinds)
        terms = self._terms.broken(text) if self._terms else []
        return [*broken_values(self._src_counts, self._mt_counts, _counts(spans)), *terms]

    def improves(self, text: str, other: str) -> bool:
        """Return whether an output breaks nothing, or there is no mt, and it breaks or misses less than another one."""
        broken = len(self.broken(text))
        if broken and self._mt is not None:
            return False
        return (broken, self._missed(text)) < (len(self.broken(other)), self._missed(other))

    def constraints(self, text: str, broken: Sequence[Value]) -> tuple[list[str], list[str]]:
        """Return the phrases that search should require, and those that it should ban, to mend an output."""
        required, banned = self._terms.wishes(text) if self._terms else ([], [])
        if broken:
            here = self.spans(text)
            now, before = count_values(here), count_values(self.mt_spans)
            for value in broken:
                if now[value] >= before[value]:
                    known = before[value] or self._src_counts[value]
                    banned += [] if known else _phrases(here, text, value)
                elif not now[value]:
                    required += _phrases(self.mt_spans, self._src if self._mt is None else self._mt, value)
        return list(dict.fromkeys(required)), list(dict.fromkeys(banned))

    def _missed(self, text: str) -> int:
        return sum(map(len, self._terms.wishes(text))) if self._terms else 0

    @cached_property
    def _src_counts(self) -> Counter[Value]:
        counts = _counts(find_spans(self._src, self._kinds))
        for text in self._given:
            counts.update(_counts(find_spans(text, self._kinds)))
        return counts

    @cached_property
    def _mt_counts(self) -> Counter[Value]:
        return self._src_counts if self._mt is None else _counts(find_spans(self._mt, self._kinds))


def _counts(spans: Sequence[ProtectedSpan]) -> Counter[Value]:
    return count_values([*spans, *unpaired_tags(spans)]) if spans else Counter()


def _phrases(spans: Sequence[ProtectedSpan], text: str, value: Value) -> list[str]:
    """Return the first span with a value, with the rest of its words; none for an unpaired tag."""
    for span in spans if not value.value.startswith("unpaired ") else ():
        if (span.kind, span.value) == value:
            start, end = span.start, span.end
            while start and _WORD(text[start - 1]):
                start -= 1
            while end < len(text) and _WORD(text[end]):
                end += 1
            return [text[start:end]]
    return []


_WORD: Final = re.compile("[A-Za-z0-9_]").fullmatch
"""Characters that make words longer; in scripts without spaces, phrases may begin and end anywhere."""
