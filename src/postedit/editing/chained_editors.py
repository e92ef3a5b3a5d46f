"""Editors of which the second corrects what the first wrote.

In a chain, the first one corrects mt (statistical phrases after a neural model, or the reverse): Simard et al. (2007)
post-edit the output of one system with another of a different kind; here both are editors. A first stage writes a draft
where there is no mt (Li et al. 2017).
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from postedit.core.arguments import check_kind
from postedit.core.editor import (
    Abilities,
    Detail,
    Editor,
    EditorT,
    EditorWrapper,
    Identity,
    PostEdit,
    Segment,
    edited,
)
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.saved_editor import CompoundEditor
from postedit.text.composed_edits import composed_edits, sure_edits

PRICES: Final = ("edit_cost", "post_edit_penalty")
"""Search options that penalise departures from mt. The difference between a caller's value and that of the first editor
is added to the value of the second editor (but not below 0), so that both become more or less careful alike."""

_OF_THE_FIRST: Final = ("n_best", "mbr")
"""Search options of a caller that only the first editor uses: the second one corrects a single output."""


def common_pair(editors: Sequence[Editor], name: str) -> tuple[str, str]:
    """Return the codes of the source and target language that any of the editors names; empty where none does.

    `name` is what the editors form together, such as "a chain", for error messages.

    Raises:
        DataError: if the editors are for different languages, one of them is not an editor, or there are none.
    """
    if not editors:
        raise DataError(f"{name} needs at least one editor, and there is none")
    for editor in editors:
        check_kind(f"each editor of {name}", editor, Editor, "an Editor, such as PostEditor.load(folder)")
    pair: list[str] = []
    for codes in zip(*(editor.abilities.languages for editor in editors), strict=True):
        said = list(dict.fromkeys(filter(None, codes)))
        if len(said) > 1:
            one, other = said[:2]
            raise DataError(f"the models of {name} are for one language pair, but one is for {one}, one for {other}")
        pair.append(said[0] if said else "")
    return pair[0], pair[1]


class Chain(CompoundEditor):
    """Lets a second editor correct the outputs of a first one.

    The result describes the changes from mt (or the draft of a first stage) to the text of the second editor. Each edit
    has the lowest confidence among the edits that it combines, and the reasons of all of them; `score` is the sum of
    the logarithms of the confidences.

    `search` holds the options of the first editor. Each editor searches with its own options, except for those that a
    caller changes; see `PRICES`. Alternatives are outputs of the first editor, with the scores that it gave them.
    """

    def __init__(self, first: Editor, second: Editor, *, sources: tuple[Path, ...] = ()) -> None:
        """Put `second` behind `first`; `sources` holds the folder that both were loaded from, if any.

        Raises:
            DataError: if their languages differ, or one of them is not an editor.
        """
        self._pair = common_pair([first, second], "a chain")
        self.first, self.second, self.search, self.sources = first, second, first.search, sources

    @property
    def abilities(self) -> Abilities:
        """What the two editors can do together, which excludes forced scores and attention."""
        both = (self.first.abilities, self.second.abilities)
        with_reasons = any(one.reasons for one in both)
        read = {side for one in both for side in one.inputs}
        return Abilities(
            needs_mt=self.first.abilities.needs_mt,
            n_best=self.first.abilities.n_best,
            evidence=with_reasons,
            reasons=with_reasons,
            inputs=tuple(side for side in ("src", "mt") if side in read),
            languages=self._languages(self._pair),
            drafts=all(one.drafts for one in both),
            constraints=all(one.constraints for one in both),
            tokenises=any(one.tokenises for one in both),
            token_search=any(one.token_search for one in both),
        )

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return both identities as one, with setting names prefixed by "first." and "second."."""
        configs = self.configs(search or self.search)
        settings: dict[str, Any] = {}
        models: list[str] = []
        for name, editor, config in zip(("first", "second"), (self.first, self.second), configs, strict=True):
            found = editor.identity(config)
            models += found.models
            settings |= {f"{name}.{option}": value for option, value in found.settings.items()}
        return Identity(tuple(models), settings)

    def configs(self, search: SearchConfig) -> tuple[SearchConfig, SearchConfig]:
        """Return the search options of the first and second editor if a caller gives `search`."""
        first, own = self.first.search, self.second.search  # not `self.search`, which a caller may have replaced
        changed = {
            name: getattr(search, name)
            for name in SearchConfig.model_fields
            if name not in _OF_THE_FIRST and getattr(search, name) != getattr(first, name)
        }
        for name in PRICES:
            if name in changed:
                more = changed[name] - getattr(first, name)
                changed[name] = max(0.0, getattr(own, name) + more)
        return search, own.with_options(**changed) if changed else own

    def check(self, search: SearchConfig, *, with_mt: bool) -> None:
        """Check the search options for both editors.

        Raises:
            DataError: naming the option that cannot be met.
        """
        if search.max_edits != self.first.search.max_edits:
            raise DataError("search.max_edits limits the edits of one model, and a chain has two: leave it out")
        first, second = self.configs(search)
        self.first.check(first, with_mt=with_mt)
        self.second.check(second, with_mt=True)

    def _parts(self) -> Sequence[Editor]:
        return self.first, self.second

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment; see `Editor.edit_segments`. The only evidence is reasons for edits."""
        config = search or self.search
        self.check(config, with_mt=any(segment.mt is not None for segment in segments) or not segments)
        first, second = self.configs(config)
        before = edited(self.first, segments, first, _detail_of(self.first, evidence))
        between = [replace(segment, mt=one.text) for segment, one in zip(segments, before, strict=True)]
        after = edited(self.second, between, second, _detail_of(self.second, evidence))
        return [_joined(*step, config.n_best) for step in zip(segments, before, after, strict=True)]


class Drafted(EditorWrapper[EditorT]):
    """An editor that writes a draft for each segment without mt, then corrects it (Li et al. 2017)."""

    def __init__(self, first: Editor, second: EditorT) -> None:
        """Combine a first stage, which needs no mt and uses its own search options, with an editor that corrects."""
        super().__init__(second)
        self.first = first

    @property
    def abilities(self) -> Abilities:
        """Abilities of the second stage, except that mt is not needed."""
        return replace(self.inner.abilities, needs_mt=False)

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment, in order; where mt was not given, with the draft that was corrected."""
        rows = [row for row, segment in enumerate(segments) if segment.mt is None]
        drafts = dict(zip(rows, self.first.edit_segments([segments[row] for row in rows]), strict=True)) if rows else {}
        drafted = [
            replace(segment, mt=drafts[row].text) if row in drafts else segment for row, segment in enumerate(segments)
        ]
        found = self.inner.edit_segments(drafted, search, evidence=evidence)
        return [
            replace(
                one,
                draft=drafts[row].text,
                hit_limit=drafts[row].hit_limit or one.hit_limit,
                skipped=drafts[row].skipped or one.skipped,
                input_cut=drafts[row].input_cut or one.input_cut,
            )
            if row in drafts
            else one
            for row, one in enumerate(found)
        ]

    def check(self, search: SearchConfig, *, with_mt: bool) -> None:
        """Check the search options of the second stage, which always has mt or a draft."""
        self.inner.check(search, with_mt=True)


def _detail_of(editor: Editor, evidence: Detail | None) -> Detail | None:
    """Return the evidence to ask an editor for; None if it gives no reasons, the only evidence that a chain returns."""
    return evidence if editor.abilities.reasons else None


def _joined(segment: Segment, before: PostEdit, after: PostEdit, n_best: int) -> PostEdit:
    """Return the successive corrections by both editors as one, with alternatives if `n_best` is above 1."""
    mt = segment.mt if segment.mt is not None else before.draft or ""
    sure = composed_edits(mt, after.text, sure_edits(before), sure_edits(after))
    is_unsure = any(one.edits and not one.confidences for one in (before, after))
    outputs = [replace(before, alternatives=(), evidence=None), *before.alternatives] if n_best > 1 else []
    others = [one for one in outputs if one.text != after.text]
    logs = tuple(math.log(max(one.confidence, sys.float_info.min)) for one in sure)
    return PostEdit(
        after.text,
        after.text != mt,
        sum(logs),
        logs,
        tuple(one.edit for one in sure),
        hit_limit=before.hit_limit or after.hit_limit,
        skipped=before.skipped if after.skipped else None,
        alternatives=tuple(one for place, one in enumerate(others, start=1) if place < n_best or one.text == mt),
        draft=before.draft,
        token_spans=tuple((number, number + 1) for number in range(len(sure))),
        confidences=() if is_unsure else tuple(one.confidence for one in sure),
        reverted=before.reverted + after.reverted,
        input_cut=before.input_cut or after.input_cut,
    )
