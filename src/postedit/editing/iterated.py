"""Correction in several passes: an editor corrects its own corrections (Novak et al. 2016)."""

from collections.abc import Sequence
from dataclasses import replace

from postedit.core.editor import Detail, Editor, EditorWrapper, Identity, PostEdit, Segment, edited
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.text.composed_edits import composed_edits, sure_edits
from postedit.text.edits import apply_edits


class Iterated(EditorWrapper[Editor]):
    """Corrects its own output again until nothing changes, in at most `passes` passes.

    In the paper, each step makes the one substitution of which a model of the whole guess is most certain, until the
    model proposes none. Here a step is a whole correction by any editor. Passes also end when a correction would return
    to an earlier text; that correction is discarded. The result describes the changes from mt to the final text, and
    counts the edits reverted in all passes. Scores and confidences are those that the editor gives to the final text
    as a correction of mt, if it can score given outputs. Otherwise, scores are those of the last pass that changed the
    text, and each edit has the lowest confidence among the edits that it combines.
    """

    def __init__(self, editor: Editor, passes: int) -> None:
        """Correct with `editor`, at most `passes` times.

        Raises:
            DataError: if `passes` is not at least 1.
        """
        if not isinstance(passes, int) or passes < 1:
            raise DataError(f"passes must be a whole number of at least 1, not {passes!r}")
        super().__init__(editor)
        self.passes = passes

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return the identity of the inner editor, with the number of passes if it is above 1."""
        inner = self.inner.identity(search)
        return inner if self.passes == 1 else Identity(inner.models, {**inner.settings, "passes": self.passes})

    def check(self, search: SearchConfig, *, with_mt: bool) -> None:
        """Check the options with the inner editor; more than one pass needs mt and an `n_best` of 1.

        Raises:
            DataError: naming the option that cannot be met.
        """
        if self.passes > 1 and not with_mt:
            raise DataError("repeated passes correct mt: give mt, or set passes to 1")
        if self.passes > 1 and search.n_best > 1:
            raise DataError(f"passes go on with one correction per segment: n_best must be 1, not {search.n_best}")
        self.inner.check(search, with_mt=with_mt)

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment, in order.

        Raises:
            DataError: if a segment has no mt, or an option cannot be met.
        """
        config = search or self.search
        self.check(config, with_mt=all(segment.mt is not None for segment in segments))
        rounds = self._rounds(segments, config, evidence)
        results = list(rounds[0])
        for later in rounds[1:]:
            for row, one in later.items():
                results[row] = _in_turn(segments[row].mt or "", results[row], one)
        again = sorted({row for later in rounds[1:] for row in later})
        given, texts = [segments[row] for row in again], [results[row].text for row in again]
        scored: list[PostEdit | None] = [None] * len(again)
        if again and self.inner.abilities.forced_scores:
            scored = [*self.inner.score_segments(given, texts, evidence=evidence)]
        for row, judged in zip(again, scored, strict=True):
            results[row] = _scored(segments[row].mt or "", results[row], judged)
        return results

    def texts_by_pass(self, segments: Sequence[Segment], search: SearchConfig | None = None) -> list[list[str]]:
        """Return the texts of all segments after each pass, up to the last pass that changed any of them."""
        config = search or self.search
        self.check(config, with_mt=all(segment.mt is not None for segment in segments))
        first, *others = self._rounds(segments, config, None)
        texts = [[one.text for one in first]]
        for later in others:
            texts.append([later[row].text if row in later else text for row, text in enumerate(texts[-1])])
        return texts

    def _rounds(
        self, segments: Sequence[Segment], search: SearchConfig, evidence: Detail | None
    ) -> tuple[list[PostEdit], *tuple[dict[int, PostEdit], ...]]:
        """Return the corrections of the first pass, and for each later pass those that changed a text, by segment."""
        first = edited(self.inner, segments, search, evidence)
        seen = [{segment.mt or "", one.text} for segment, one in zip(segments, first, strict=True)]
        later: list[dict[int, PostEdit]] = []
        current = {row: one for row, one in enumerate(first) if one.changed}
        for _ in range(1, self.passes):
            rows = list(current)
            inputs = [replace(segments[row], mt=current[row].text) for row in rows]
            found = edited(self.inner, inputs, search, evidence) if inputs else []
            current = {row: one for row, one in zip(rows, found, strict=True) if one.text not in seen[row]}
            if not current:
                break
            for row, one in current.items():
                seen[row].add(one.text)
            later.append(current)
        return first, *later


def _in_turn(mt: str, before: PostEdit, after: PostEdit) -> PostEdit:
    """Return a correction of mt and the correction of its output as a single one, with the scores of the latter."""
    sure = composed_edits(mt, after.text, sure_edits(before), sure_edits(after))
    is_unsure = any(one.edits and not one.confidences for one in (before, after))
    return replace(
        after,
        changed=mt != after.text,
        edits=tuple(one.edit for one in sure),
        hit_limit=before.hit_limit or after.hit_limit,
        confidences=() if is_unsure else tuple(one.confidence for one in sure),
        token_spans=(),
        reverted=before.reverted + after.reverted,
        fallbacks=(*before.fallbacks, *after.fallbacks),
        input_cut=before.input_cut or after.input_cut,
    )


def _scored(mt: str, last: PostEdit, scored: PostEdit | None) -> PostEdit:
    """Return the correction `last` of mt with the scores in `scored`, as far as these are usable."""
    if scored is None or scored.skipped is not None or scored.text != last.text:
        return last
    if apply_edits(mt, last.text, scored.edits) == last.text and len(scored.edits) == len(scored.confidences):
        return replace(
            scored,
            hit_limit=last.hit_limit,
            reverted=last.reverted,
            fallbacks=last.fallbacks,
            input_cut=last.input_cut,
        )
    # Some editors, such as phrase-based ones, score texts without listing the edits.
    return replace(last, score=scored.score, token_scores=scored.token_scores, features=scored.features)
