"""Drafting and refinement: a first stage translates where there is no mt, a second one corrects (Li et al. 2017)."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from postedit.core.editor import Abilities, Detail, Editor, Identity, PostEdit, Segment, Side
from postedit.core.search_config import SearchConfig

if TYPE_CHECKING:
    from postedit.editing.post_editor import PostEditor


class TwoStage(Editor):
    """Writes a draft of each segment without mt, and corrects it."""

    def __init__(self, first: Editor, second: "PostEditor") -> None:
        """Put a first stage, which needs no mt, before an editor that does.

        Args:
            first: writes the drafts, with its own search options.
            second: corrects drafts, and mt where it is given.
        """
        self.first, self.second, self.search = first, second, second.search

    @property
    def abilities(self) -> Abilities:
        """The abilities of the second stage; mt is not needed."""
        return replace(self.second.abilities, needs_mt=False)

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return the identity of the second stage, whose files include the first."""
        return self.second.identity(search)

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment; where mt was not given, with the draft it corrects."""
        rows = [row for row, segment in enumerate(segments) if segment.mt is None]
        drafts = dict(zip(rows, self.first.edit_segments([segments[row] for row in rows]), strict=True)) if rows else {}
        drafted = [
            replace(segment, mt=drafts[row].text) if row in drafts else segment for row, segment in enumerate(segments)
        ]
        edited = self.second.edit_segments(drafted, search, evidence=evidence)
        return [
            replace(one, draft=drafts[row].text, skipped=drafts[row].skipped or one.skipped) if row in drafts else one
            for row, one in enumerate(edited)
        ]

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return the scores that the second stage gives; mt must be given."""
        return self.second.score_segments(segments, outputs, evidence=evidence)

    def check(self, search: SearchConfig, *, with_mt: bool) -> None:
        """Check the search options of the second stage, which always has mt or a draft."""
        self.second.check(search, with_mt=True)

    def word_spans(self, side: Side, text: str) -> list[tuple[int, int]] | None:
        """Return where the words of a text are, as the inner editor divides it."""
        return self.second.word_spans(side, text)

    def words(self, side: Side, text: str) -> list[str]:
        """Return the words of a text, as the inner editor divides it."""
        return self.second.words(side, text)

    def seem_swapped(self, src: Sequence[str], mt: Sequence[str]) -> bool:
        """Return whether src and mt clearly seem to have changed places."""
        return self.second.seem_swapped(src, mt)

    def save_pretrained(self, path: str | Path) -> None:
        """Write the model folder with both stages; see `PostEditor.save_pretrained`."""
        self.second.save_pretrained(path)

    def push_to_hub(self, repository: str, *, private: bool = False) -> str:
        """Upload the model folder with both stages; see `PostEditor.push_to_hub`."""
        return self.second.push_to_hub(repository, private=private)
