"""An editor behind a gate, which reverts edits that are more likely to do harm than good."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from postedit.core.arguments import check_kind
from postedit.core.editor import Abilities, Detail, Editor, EditorWrapper, Identity, PostEdit, Segment, edited
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.editing.results import keep_edits
from postedit.gate.edit_features import judge
from postedit.gate.gate import Gate
from postedit.text.edits import check_edits


class Gated(EditorWrapper[Editor]):
    """Reverts those edits of another editor that do not pass a gate or have too little confidence."""

    def __init__(self, editor: Editor, gate: Gate | None = None, min_confidence: float = 0.0) -> None:
        """Put a gate behind `editor`.

        Args:
            editor: corrects the segments.
            gate: decides which edits are kept; None: only the confidence of the editor does.
            min_confidence: edits with less confidence are reverted. Confidence is the probability under the model;
                with a gate, the probability of making mt better, of which the gate may require more.

        Raises:
            DataError: if `editor` is not an editor, `gate` not a gate, or `min_confidence` not a probability.
        """
        check_kind("editor", editor, Editor, "an Editor, such as PostEditor.load(folder)")
        check_kind("gate", gate, Gate | None, 'a Gate, such as Gate.load("gate.json")')
        if not isinstance(min_confidence, float | int) or not 0.0 <= min_confidence <= 1.0:
            raise DataError(f"min_confidence must be a probability, from 0 to 1, not {min_confidence!r}")
        super().__init__(editor)
        self.gate, self.min_confidence = gate, min_confidence

    @property
    def abilities(self) -> Abilities:
        """Abilities of the editor, but it needs mt, returns one correction per segment, and takes no constraints."""
        return replace(self.inner.abilities, needs_mt=True, n_best=False, constraints=False)

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return the identity of the editor with that of the gate."""
        inner = self.inner.identity(search)
        own: dict[str, Any] = {} if self.gate is None else {"gate": repr(self.gate)}
        if self.min_confidence:
            own["min_confidence"] = self.min_confidence
        return Identity(inner.models, {**inner.settings, **own})

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment, without the edits that do not pass.

        Raises:
            DataError: if a segment has no mt, or constraints that reverting an edit could break; if the edits of a
                correction do not turn mt into it; or if there is no gate, and edits have no confidences to compare.
            ModelFolderError: if the gate was made for another editor or other search options.
        """
        config = search or self.search
        self.check(config, with_mt=all(segment.mt is not None for segment in segments))
        if any(segment.constraints for segment in segments):
            raise DataError(_CONSTRAINED)
        if self.gate is None:
            edits = edited(self.inner, segments, config, evidence)
            for one, edit in zip(segments, edits, strict=True):
                check_edits(one.mt or "", edit.text, edit.edits)
            if self.min_confidence and any(len(edit.confidences) < len(edit.edits) for edit in edits):
                raise DataError("min_confidence needs edits with confidences, which this editor does not give")
            return [
                keep_edits(one.mt or "", edit, [value >= self.min_confidence for value in edit.confidences])
                for one, edit in zip(segments, edits, strict=True)
            ]
        needed: Detail | None = "attention" if self.inner.abilities.evidence else None
        edits = edited(self.inner, segments, config, evidence or needed)
        judged = judge(self.inner, segments, edits, self.gate.rule.tokenize)
        kept = [
            self.gate.rule(one.mt or "", found, self.min_confidence)
            for one, found in zip(segments, judged, strict=True)
        ]
        return kept if evidence else [replace(edit, evidence=None) for edit in kept]

    def check(self, search: SearchConfig, *, with_mt: bool) -> None:
        """Check that edits can be reverted, and that the gate was made for this editor and these options.

        Raises:
            DataError: if there is no mt, several corrections per segment, or banned or required words.
            ModelFolderError: if the gate was made for another editor or other options.
        """
        if not with_mt:
            raise DataError("a gate and min_confidence revert edits of mt: give mt, or leave them out")
        if search.n_best > 1:
            raise DataError(
                f"a gate and min_confidence decide on one correction per segment: n_best must be 1, not {search.n_best}"
            )
        if search.required or search.banned:
            raise DataError(_CONSTRAINED)
        self.inner.check(search, with_mt=with_mt)
        if self.gate is not None:
            self.gate.check(self.inner.identity(search))


_CONSTRAINED = (
    "a gate and min_confidence may revert an edit that wrote a required word or removed a banned one: use either "
    "them, or prefixes, required and banned words"
)
