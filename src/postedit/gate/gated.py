"""An editor behind a gate: edits that a dev set shows to do harm are taken back."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from postedit.core.editor import Abilities, Detail, Editor, Identity, PostEdit, Segment, Side
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.editing.results import keep_edits
from postedit.gate.edit_features import judge
from postedit.gate.gate import Gate


class Gated(Editor):
    """Takes back edits of another editor."""

    def __init__(self, editor: Editor, gate: Gate | None = None, min_confidence: float = 0.0) -> None:
        """Put a gate behind `editor`.

        Args:
            editor: what corrects.
            gate: decides which edits are kept; None: the confidence of the editor alone decides.
            min_confidence: edits with less confidence are taken back: less probability under the model; with a gate,
                less probability of making mt better, and the gate may ask for more.

        Raises:
            DataError: if `min_confidence` is no probability.
            ModelFolderError: if the gate was made for another editor.
        """
        if not 0.0 <= min_confidence <= 1.0:
            raise DataError(f"min_confidence must be a probability, from 0 to 1, not {min_confidence}")
        self.editor, self.gate, self.min_confidence, self.search = editor, gate, min_confidence, editor.search

    @property
    def abilities(self) -> Abilities:
        """Those of the editor, but it needs mt, and returns one correction per segment."""
        return replace(self.editor.abilities, needs_mt=True, n_best=False)

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return the identity of the editor with that of the gate."""
        inner = self.editor.identity(search)
        own: dict[str, Any] = {"gate": repr(self.gate), "min_confidence": self.min_confidence}
        return Identity(inner.models, {**inner.settings, **own})

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment, without the edits that do not pass.

        Raises:
            DataError: if a segment has no mt, or constraints that an edit taken back could break.
            ModelFolderError: if the gate was made for another editor or other search options.
        """
        config = search or self.search
        self.check(config, with_mt=all(segment.mt is not None for segment in segments))
        if any(segment.constraints for segment in segments):
            raise DataError(_CONSTRAINED)
        if self.gate is None:
            edits = self.editor.edit_segments(segments, config, evidence=evidence)
            return [
                keep_edits(one.mt or "", edit, [value >= self.min_confidence for value in edit.confidences])
                for one, edit in zip(segments, edits, strict=True)
            ]
        needed: Detail | None = "attention" if self.editor.abilities.evidence else None
        edits = self.editor.edit_segments(segments, config, evidence=evidence or needed)
        judged = judge(self.editor, segments, edits)
        kept = [
            self.gate.rule(one.mt or "", found, self.min_confidence)
            for one, found in zip(segments, judged, strict=True)
        ]
        return kept if evidence else [replace(edit, evidence=None) for edit in kept]

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return the scores that the editor gives; gates do not change them."""
        return self.editor.score_segments(segments, outputs, evidence=evidence)

    def check(self, search: SearchConfig, *, with_mt: bool) -> None:
        """Check that edits can be taken back, and that the gate was made for this editor and these options.

        Raises:
            DataError: if there is no mt, several corrections per segment, or banned or required words.
            ModelFolderError: if the gate was made for another editor or other options.
        """
        if not with_mt:
            raise DataError("a gate and min_confidence take edits of mt back: give mt, or leave them out")
        if search.n_best > 1:
            raise DataError(
                f"a gate and min_confidence decide on one correction per segment: n_best must be 1, not {search.n_best}"
            )
        if search.required or search.banned:
            raise DataError(_CONSTRAINED)
        self.editor.check(search, with_mt=with_mt)
        if self.gate is not None:
            self.gate.check(self.editor.identity(search))

    def word_spans(self, side: Side, text: str) -> list[tuple[int, int]] | None:
        """Return where the words of a text are, as the inner editor divides it."""
        return self.editor.word_spans(side, text)

    def words(self, side: Side, text: str) -> list[str]:
        """Return the words of a text, as the inner editor divides it."""
        return self.editor.words(side, text)

    def seem_swapped(self, src: Sequence[str], mt: Sequence[str]) -> bool:
        """Return whether src and mt clearly seem to have changed places."""
        return self.editor.seem_swapped(src, mt)


_CONSTRAINED = (
    "a gate and min_confidence may take back an edit that wrote a required word or removed a banned one: use either "
    "them, or prefixes, required and banned words"
)
