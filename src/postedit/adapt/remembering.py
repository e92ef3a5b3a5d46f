"""An editor that follows a memory of corrections: what any process adds to the memory counts at the next segment."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory, Entry
from postedit.core.editor import Abilities, Detail, Editor, EditorWrapper, PostEdit, Segment
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
        memory: of corrections; all of its entries are learnt at once.
        project: of the corrections that `learn` adds.
        author: of the corrections that `learn` adds.

    Raises:
        OutputError: if the memory cannot be read.
    """

    def __init__(
        self, inner: Editor, learner: Learner, memory: CorrectionMemory, *, project: str = "", author: str = ""
    ) -> None:
        super().__init__(inner)
        self.memory = memory
        self._learner, self._project, self._author = learner, project, author
        self._edition, self._last = memory.position.edition, 0
        self.follow()

    @property
    def abilities(self) -> Abilities:
        """Abilities of the inner editor; it learns."""
        return replace(self.inner.abilities, learns=True)

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment, after all entries of the memory are learnt."""
        self.follow()
        return self.inner.edit_segments(segments, search, evidence=evidence)

    def learn(self, src: str, mt: str, pe: str) -> int:
        """Add a correction to the memory, learn from it, and return its number there.

        Raises:
            DataError: if a text is blank.
            OutputError: if the memory cannot be written.
        """
        return self.learn_correction(Correction(src, mt, pe, project=self._project, author=self._author))

    def learn_correction(self, correction: Correction) -> int:
        """Add a correction with all that is known of it; see `learn`."""
        (number,) = self.memory.add([correction])
        self.follow()
        return number

    def undo(self, number: int) -> None:
        """Take a correction back in the memory, and forget it.

        Raises:
            DataError: if there is no such correction, or it has been undone.
            OutputError: if the memory cannot be written.
        """
        self.memory.undo(number, self._author)
        self.follow()

    def follow(self) -> None:
        """Learn the entries that have been added since; begin anew if some have been deleted."""
        position = self.memory.position
        if position.edition != self._edition:
            self._learner.forget_all()
            self._edition, self._last = position.edition, 0
        if position.last > self._last:
            self._learner.learn_entries(self.memory.entries(self._last, position.last))
            self._last = position.last
