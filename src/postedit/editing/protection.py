"""An editor whose outputs keep protected spans and terms, whatever the editor inside it writes."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, repeat
from typing import Any, Final, Literal

from postedit.core.arguments import check_kind
from postedit.core.editor import (
    Constraints,
    Detail,
    Editor,
    EditorWrapper,
    Fallback,
    Identity,
    PostEdit,
    Segment,
    edited,
)
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.editing.constraints import required_of
from postedit.editing.results import enforce_constraints, has_phrase, keep_edits, unchanged
from postedit.editing.span_rule import SpanRule
from postedit.text.composed_edits import SureEdit, composed_edits
from postedit.text.edits import edits_between
from postedit.text.glossary import Glossary
from postedit.text.protected_spans import ProtectedSpan, Value
from postedit.text.span_patterns import KINDS, Kind
from postedit.text.words import PlainSplitter

_MOST_REQUIRED: Final = 80
"""Maximum characters of terms and spans that a second search may require, as its beam widens with them."""

_MOST_TRIED: Final = 6
"""Maximum number of edits at fault that are each reverted alone as a trial; more of them are reverted together."""

_MOST_ROUNDS: Final = 4
"""Maximum rounds of reverting edits, so that time is linear in text length; if spans are then broken, mt stays."""

_MOST_LOST: Final = 5.0
"""Maximum drop of the score, in nats, for a required term that had no place in the first output. In the release model
for product help, a required term in a wrong place cost at least 8.7 nats (47 such lines of 200 in Spanish)."""


class Protected(EditorWrapper[Editor]):
    """Keeps the protected spans of mt that the source has too, and the terms of a glossary, in every output.

    If an output breaks the rule (`text.protected_spans.broken_values`, `text.glossary`), edits that touch the broken
    spans are reverted, as few as suffice, or in the end all edits, so that the rule holds for any inner editor.
    Forbidden translations are replaced by their terms. If an output lacks a term or has a forbidden translation, and
    the inner editor supports constraints, the segment is also searched again with terms required or banned; what this
    finds must keep the rest of the output (`SpanRule.keeps_rest`). `PostEdit.fallbacks` lists the spans that were
    broken.

    The draft of a first stage counts as mt. A translation without mt or draft should have the spans of the source; as
    it has no edits to revert, it is only searched again, and spans still broken are listed with `by` None. Spans of
    required words and prefixes count as spans of the source. Alternatives in n-best lists that break the rule are left
    out. Given outputs are scored as they are. If mt is only a text to read (`search.cut_input`), outputs stay as they
    are.

    Put a gate inside this wrapper, not around it: an edit that the gate reverts may be one half of a moved span.
    """

    def __init__(self, editor: Editor, kinds: Iterable[Kind] = KINDS, glossary: Glossary | None = None) -> None:
        """Protect spans of these kinds, and the terms of a glossary, in the outputs of `editor`.

        Raises:
            DataError: if `editor` is not an editor, one of `kinds` is unknown, or `glossary` is not a glossary.
        """
        check_kind("editor", editor, Editor, "an Editor, such as PostEditor.load(folder)")
        check_kind("glossary", glossary, Glossary | None, 'a Glossary, such as Glossary.read("terms.tsv")')
        super().__init__(editor)
        self.kinds, self.glossary = frozenset(kinds), glossary
        if isinstance(kinds, str) or not self.kinds <= frozenset(KINDS):
            raise DataError(f"kinds of spans must be some of {', '.join(KINDS)}, as a list, not {kinds!r:.80}")

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return the identity of the inner editor, extended by the kinds of spans and the glossary."""
        inner = self.inner.identity(search)
        own: dict[str, Any] = {"protect": sorted(self.kinds)}
        if self.glossary is not None:
            own["glossary"] = self.glossary.fingerprint
        return Identity(inner.models, {**inner.settings, **own})

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment that keeps the rule; see `Editor.edit_segments`."""
        config = search or self.search
        results = edited(self.inner, segments, config, evidence)
        if not config.corrects_mt:
            return results
        cases = [self._case(*one, config) for one in zip(segments, results, strict=True)]
        asked = [case for case in cases if case.wants_search] if self.inner.abilities.constraints else []
        for case, second in zip(asked, self._again(asked, config, evidence), strict=True):
            case.second = second
        return [case.settled() for case in cases]

    def _case(self, segment: Segment, result: PostEdit, config: SearchConfig) -> "_Case":
        mt = segment.mt if segment.mt is not None else result.draft
        given = (segment.constraints.prefix, *required_of(segment, config))
        language = self.inner.abilities.languages[1]
        rule = SpanRule(segment.src, mt, self.kinds, self.glossary, given, language)
        return _Case(segment, mt, result, rule, config)

    def _again(
        self, cases: Sequence["_Case"], config: SearchConfig, evidence: Detail | None
    ) -> Sequence[PostEdit | None]:
        """Return the second correction of each case; None where the inner editor cannot meet the constraints."""
        if not cases:
            return []
        try:
            return edited(self.inner, [case.constrained for case in cases], config, evidence)
        except DataError:
            if len(cases) == 1:
                return [None]
            return [second for case in cases for second in self._again([case], config, evidence)]


class _Case:
    """A segment with its first correction and, if it was searched again, its second."""

    second: PostEdit | None = None

    def __init__(self, segment: Segment, mt: str | None, first: PostEdit, rule: SpanRule, config: SearchConfig) -> None:
        """Find what the first correction breaks, and what may mend it; `mt` may be the draft of a first stage."""
        self.segment, self.mt, self.first, self.rule, self.config = segment, mt, first, rule, config
        self.broken: list[Value] = []
        self.required: list[str] = []
        self.banned: list[str] = []
        if first.skipped is None:
            self.broken = rule.broken(first.text)
            self.required, self.banned = rule.constraints(first.text, self.broken if mt is None else ())

    @property
    def wants_search(self) -> bool:
        """Whether a second search could help, and does not require too many characters."""
        return bool(self.required or self.banned) and sum(map(len, self.required)) <= _MOST_REQUIRED

    @property
    def constrained(self) -> Segment:
        """The segment with the constraints of the second search."""
        given = self.segment.constraints
        required, banned = (*given.required, *self.required), (*given.banned, *self.banned)
        return Segment(self.segment.src, self.mt, Constraints(given.prefix, required, banned))

    def settled(self) -> PostEdit:
        """Return the correction that keeps the rule, with its fallbacks, and without alternatives that break it."""
        best, by = self._best()
        left = self.rule.broken(best.text) if by == "search" else []
        broken = dict.fromkeys([*self.broken, *left])
        listed = tuple(Fallback(one.kind, one.value, None if one in left else by) for one in broken)
        if not listed and best is self.first and not best.alternatives:
            return best
        others = tuple(one for one in best.alternatives if one.text != best.text and not self.rule.broken(one.text))
        return replace(
            best,
            alternatives=others,
            draft=self.first.draft,
            fallbacks=(*self.first.fallbacks, *listed),
            input_cut=self.first.input_cut,
        )

    def _best(self) -> tuple[PostEdit, Literal["search", "edits", "mt"] | None]:
        """Return the best correction, and how broken spans were restored (see `Fallback.by`).

        This is normally the first correction, without harmful edits and with terms in place of forbidden translations.
        The second one is preferred if it satisfies at least as many terms and keeps the rest: a model that is forced to
        write a term, or to avoid a word, can lose a whole phrase. If it has a term for which the first one has no
        place, only its probability tells whether the place is right.
        """
        kept, by = self._kept()
        swapped = self._swapped(kept)
        second = self.second
        if second is None or second.skipped is not None or not self._is_better(second, kept.text, swapped.text):
            return swapped, by
        return second, "search"

    def _is_better(self, second: PostEdit, kept: str, swapped: str) -> bool:
        rule, text = self.rule, second.text
        finds_more = rule.improves(text, swapped)
        if self.mt is None:
            return finds_more
        if not rule.improves(text, kept) or rule.improves(swapped, text):
            return False
        is_likely = second.score >= self.first.score - _MOST_LOST
        return (is_likely or not finds_more) and rule.keeps_rest(swapped, text)

    def _kept(self) -> tuple[PostEdit, Literal["edits", "mt"] | None]:
        if not self.broken or self.mt is None:
            return self.first, None
        kept = self._allowed(self._without_harm(self.mt, self.first))
        return (kept, "edits") if kept.changed else (replace(kept, hit_limit=False), "mt")

    def _swapped(self, kept: PostEdit) -> PostEdit:
        """Return a correction with terms in place of forbidden translations, if that breaks nothing."""
        mt, text = self.mt or "", self.rule.swapped(kept.text)
        if kept.skipped is not None or not self.rule.improves(text, kept.text):
            return kept
        first = map(SureEdit, kept.edits or edits_between(mt, kept.text), kept.confidences or repeat(1.0))
        swaps = (SureEdit(edit, 1.0) for edit in edits_between(kept.text, text))
        edits = composed_edits(mt, text, [*first], [*swaps])
        is_unsure = kept.changed and not kept.confidences
        found = replace(
            kept,
            text=text,
            changed=text != mt,
            edits=tuple(one.edit for one in edits),
            token_spans=(),
            confidences=() if is_unsure else tuple(one.confidence for one in edits),
        )
        return found if self._allowed(found).text == text else kept

    def _without_harm(self, mt: str, result: PostEdit) -> PostEdit:
        """Return the correction without the edits that break the rule, or, if spans are still broken, without any."""
        broken = self.broken
        for _ in range(_MOST_ROUNDS):
            touching = self._touching(result, broken) if broken else []
            if not touching:
                break
            tries = [[number] for number in touching] if 1 < len(touching) <= _MOST_TRIED else []
            options = [self._without(mt, result, back) for back in (*tries, touching)]
            result, broken = min(options, key=lambda option: len(option[1]))
        if broken:
            taken = result.reverted + len(result.edits)
            return replace(result, text=mt, changed=False, edits=(), token_spans=(), confidences=(), reverted=taken)
        return result

    def _without(self, mt: str, result: PostEdit, back: Sequence[int]) -> tuple[PostEdit, list[Value]]:
        kept = keep_edits(mt, result, [number not in back for number in range(len(result.edits))])
        return kept, self.rule.broken(kept.text)

    def _touching(self, result: PostEdit, broken: Iterable[Value]) -> list[int]:
        """Return the indices of the edits that remove, write, or directly adjoin a broken span."""
        values = set(broken)
        before, after = _Places(self.rule.mt_spans, values), _Places(self.rule.spans(result.text), values)
        return [
            number
            for number, edit in enumerate(result.edits)
            if before.touch(edit.mt_span) or after.touch(edit.pe_span)
        ]

    def _allowed(self, result: PostEdit) -> PostEdit:
        """Return a changed correction, or mt, skipped as "impossible", if it now violates the user's constraints."""
        given, mt = self.segment.constraints, self.mt or ""
        if any(has_phrase(result.text, phrase) for phrase in (*given.banned, *self.config.banned)):
            return unchanged(mt, "impossible")
        required = required_of(self.segment, self.config)
        return enforce_constraints(mt, result, given.prefix, required, PlainSplitter())


class _Places:
    """The places of the spans that have some given values in a text, to test which edits touch one."""

    def __init__(self, spans: Iterable[ProtectedSpan], values: Collection[Value]) -> None:
        places = sorted((span.start, span.end) for span in spans if Value(span.kind, span.value) in values)
        self._starts = [start for start, _ in places]
        self._ends = list(accumulate((end for _, end in places), max))  # the furthest end so far

    def touch(self, place: tuple[int, int]) -> bool:
        """Return whether one of the spans overlaps or directly adjoins `place`."""
        begun = bisect_right(self._starts, place[1])
        return begun > 0 and self._ends[begun - 1] >= place[0]
