"""An editor that follows a memory of corrections: what any process adds to the memory counts at the next segment.

Work that is done in several processes, or continued, needs the same editor everywhere and to the end. It keeps to the
position that the memory had when the work began.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory, Entry, MemoryPosition
from postedit.core.editor import Abilities, Detail, Editor, EditorWrapper, Identity, PostEdit, Segment
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig


class Learner(Protocol):
    """The part of an editor that changes with corrections."""

    def learn_entries(self, entries: Iterable[Entry]) -> None:
        """Take over further entries of a memory, in order: corrections, and the ends of some."""
        ...

    def forget_all(self) -> None:
        """Return to the state before any correction."""
        ...


class Remembering(EditorWrapper[Editor]):
    """Keeps what an editor learns in a memory, and lets it follow what others add there.

    Args:
        inner: the editor, whose outputs change with `learner`.
        learner: its changing part.
        memory: of corrections; its entries are learnt when a segment is edited.
        options: those of the learner, by name, for the identity; values for JSON.
        position: the position of the memory that the editor keeps to; if None, it follows the memory, and can learn.
        project: of the corrections that `learn` adds.
        author: of the corrections that `learn` adds.

    Raises:
        OutputError: if the memory cannot be read.
        DataError: if corrections have been deleted since the memory had that position.
    """

    def __init__(
        self,
        inner: Editor,
        learner: Learner,
        memory: CorrectionMemory,
        *,
        options: Mapping[str, Any] | None = None,
        position: MemoryPosition | None = None,
        project: str = "",
        author: str = "",
    ) -> None:
        super().__init__(inner)
        self.memory = memory
        self._learner, self._options, self._fixed = learner, options or {}, position
        self._project, self._author = project, author
        self._learnt = MemoryPosition(self.position.edition, 0)

    @property
    def abilities(self) -> Abilities:
        """Abilities of the inner editor; it learns, unless it keeps to a position."""
        return replace(self.inner.abilities, learns=self._fixed is None)

    @property
    def position(self) -> MemoryPosition:
        """The position of the memory that the next segment is edited with.

        Raises:
            OutputError: if the memory cannot be read.
            DataError: if the editor keeps to a position, and corrections have been deleted since.
        """
        found = self.memory.position
        if self._fixed is None:
            return found
        if self._fixed.edition != found.edition:
            raise DataError(
                f"{self.memory.place}: corrections have been deleted since this work began, which knew them; begin it "
                "anew"
            )
        return self._fixed

    @property
    def learnt(self) -> MemoryPosition:
        """The position of the memory up to which entries have been learnt."""
        return self._learnt

    def identity(self, search: SearchConfig | None = None) -> Identity:
        """Return the identity of the inner editor with the options of the learner and the position of the memory."""
        inner, position = self.inner.identity(search), self.position
        own = {"memory": self.memory.name, "memory edition": position.edition, "memory entries": position.last}
        return Identity(inner.models, {**inner.settings, **self._options, **own})

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment, by what the entries of the memory teach."""
        self.follow()
        return self.inner.edit_segments(segments, search, evidence=evidence)

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return the scores of given outputs, by what the entries of the memory teach."""
        self.follow()
        return self.inner.score_segments(segments, outputs, evidence=evidence)

    def learn(self, src: str, mt: str, pe: str) -> int:
        """Add a correction to the memory, learn from it, and return its number there.

        Raises:
            DataError: if a text is blank, or the editor keeps to a position of the memory.
            OutputError: if the memory cannot be written.
        """
        return self.learn_correction(Correction(src, mt, pe, project=self._project, author=self._author))

    def learn_correction(self, correction: Correction) -> int:
        """Add a correction with all that is known of it; see `learn`."""
        self._check_learns()
        (number,) = self.memory.add([correction])
        self.follow()
        return number

    def undo(self, number: int) -> None:
        """Take a correction back in the memory, and forget it.

        Raises:
            DataError: if there is no such correction, it has been undone, or the editor keeps to a position.
            OutputError: if the memory cannot be written.
        """
        self._check_learns()
        self.memory.undo(number, self._author)
        self.follow()

    def follow(self) -> None:
        """Learn the entries that have been added since; begin anew if some have been deleted."""
        while (position := self.position) != self._learnt:  # it may change while entries are learnt
            # Another edition, or a backup of the memory that has been put back.
            if position.edition != self._learnt.edition or position.last < self._learnt.last:
                self._learner.forget_all()
                self._learnt = MemoryPosition(position.edition, 0)
            try:
                self._learner.learn_entries(self.memory.entries(self._learnt.last, position.last))
            except BaseException:  # half of them may be learnt
                self._learner.forget_all()
                self._learnt = MemoryPosition(position.edition, 0)
                raise
            self._learnt = position

    def _check_learns(self) -> None:
        if self._fixed is not None:
            raise DataError("this editor keeps to a position of its memory, and learns nothing more")
