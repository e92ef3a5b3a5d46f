"""An editor that follows a memory of corrections: what any process adds takes effect at the next segment.

A job that runs in several processes, or is resumed, needs the same editor everywhere and to the end. Such an editor
keeps to the position that the memory had when the job began.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory, Entry, MemoryPosition
from postedit.core.edit_reasons import CorrectionReason, EditReason, NamedCorrection
from postedit.core.editor import Abilities, Detail, Editor, EditorWrapper, Identity, PostEdit, Segment
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig


def say_nothing() -> None:
    """Do nothing; what learners call between corrections if nobody waits for a sign of progress."""


class Learner(Protocol):
    """The part of an editor that changes with corrections."""

    def learn_entries(self, entries: Iterable[Entry], progress: Callable[[], None] = say_nothing) -> None:
        """Take over further entries of a memory, in order: those that add and those that undo corrections.

        Many entries may take minutes; `progress` is called again and again meanwhile.
        """
        ...

    def forget_all(self) -> None:
        """Return to the state before any correction."""
        ...


class Remembering(EditorWrapper[Editor]):
    """An editor that keeps what it learns in a memory, and follows what others add there.

    Threads that use it at the same time take turns, because learning changes what editing reads.

    Args:
        inner: editor whose outputs depend on `learner`.
        learner: part of the editor that changes with corrections.
        memory: memory of corrections; its new entries are learnt before segments are edited.
        options: options of the learner, by name, for the identity; values for JSON.
        position: position of the memory that the editor keeps to; None: it follows the memory, and can learn.
        project: project of the corrections that `learn` adds.
        author: author of the corrections that `learn` adds.

    Raises:
        OutputError: if the memory cannot be read.
        DataError: if, since `position`, corrections have been deleted or a backup of the memory has been restored.
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
        self._turn = threading.RLock()
        self.progress: Callable[[], None] = say_nothing
        """Called again and again while entries are learnt."""

    @property
    def abilities(self) -> Abilities:
        """The abilities of the inner editor, and to learn, unless this editor keeps to a position."""
        return replace(self.inner.abilities, learns=self._fixed is None)

    @property
    def position(self) -> MemoryPosition:
        """The position of the memory with which the next segment is edited.

        Raises:
            OutputError: if the memory cannot be read.
            DataError: if the editor keeps to a position, but since then corrections have been deleted, or a backup of
                the memory has been restored.
        """
        found = self.memory.position
        if self._fixed is None:
            return found
        if self._fixed.edition == found.edition and self._is_replaced(found, self._fixed):
            raise DataError(
                f"{self.memory.place}: lacks corrections that this work began with, as if an older copy of the memory "
                "had been restored; begin it anew"
            )
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
        own = {
            "memory": self.memory.name,
            "memory edition": position.edition,
            "memory entries": position.last,
            "memory mark": position.mark,
        }
        return Identity(inner.models, {**inner.settings, **self._options, **own})

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return one correction per segment, after learning the new entries of the memory."""
        with self._turn:
            self.follow()
            results = self.inner.edit_segments(segments, search, evidence=evidence)
        return self._with_texts(results) if evidence else results

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        """Return the scores of given outputs, after learning the new entries of the memory."""
        with self._turn:
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
        """Add a correction with its author, project and so on, learn from it, and return its number; see `learn`."""
        self._check_learns()
        (number,) = self.memory.add([correction])
        self.follow()
        return number

    def undo(self, number: int) -> None:
        """Undo a correction in the memory, and forget it.

        Raises:
            DataError: if there is no such correction, it has been undone, or the editor keeps to a position.
            OutputError: if the memory cannot be written.
        """
        self._check_learns()
        self.memory.undo(number, self._author)
        self.follow()

    def follow(self) -> None:
        """Learn the entries that are new; start again from none if some were deleted or a backup was restored."""
        with self._turn:
            while (position := self.position) != self._learnt:  # it may change while entries are learnt
                if position.edition != self._learnt.edition or self._is_replaced(position, self._learnt):
                    self._learner.forget_all()
                    self._learnt = MemoryPosition(position.edition, 0)
                try:
                    self._learner.learn_entries(self.memory.entries(self._learnt.last, position.last), self.progress)
                except BaseException:  # some of them may have been learnt already
                    self._learner.forget_all()
                    self._learnt = MemoryPosition(position.edition, 0)
                    raise
                self._learnt = position

    def _is_replaced(self, found: MemoryPosition, known: MemoryPosition) -> bool:
        """Return whether a backup of the memory has been restored since a known position of the same edition."""
        return found.last < known.last or self.memory.mark(known.last) != known.mark

    def _with_texts(self, results: Sequence[PostEdit]) -> list[PostEdit]:
        """Return results whose reasons contain the texts of the corrections that they name by number."""
        found = self.memory.by_number(number for result in results for number in _numbers(result))
        return [_named(result, found) for result in results] if found else list(results)

    def _check_learns(self) -> None:
        if self._fixed is not None:
            raise DataError("this editor is fixed to one position of its memory, and cannot learn further corrections")


def _numbers(result: PostEdit) -> Iterator[int]:
    """Yield the numbers of the corrections that the reasons of a result and its alternatives name."""
    for one in (result, *result.alternatives):
        for reason in (reason for edit in one.edits for reason in edit.reasons):
            if isinstance(reason, CorrectionReason):
                yield from (correction.number for correction in reason.corrections)


def _named(result: PostEdit, found: Mapping[int, Correction]) -> PostEdit:
    edits = tuple(
        replace(edit, reasons=tuple(_with_corrections(one, found) for one in edit.reasons)) for edit in result.edits
    )
    return replace(result, edits=edits, alternatives=tuple(_named(one, found) for one in result.alternatives))


def _with_corrections(reason: EditReason, found: Mapping[int, Correction]) -> EditReason:
    if not isinstance(reason, CorrectionReason):
        return reason
    named = tuple(_with_text(one, found.get(one.number)) for one in reason.corrections)
    return replace(reason, corrections=named)


def _with_text(named: NamedCorrection, known: Correction | None) -> NamedCorrection:
    if known is None:  # deleted since it was learnt
        return named
    return NamedCorrection(named.number, known.src, known.mt, known.pe, known.author, known.made)
