"""Corrections of a memory that are shown to a language model where they are similar to a segment."""

from collections.abc import Iterable

from postedit.adapt.correction_memory import Entry
from postedit.text.hints import Example
from postedit.text.similar_corrections import CorrectionIndex


class SimilarCorrections(CorrectionIndex):
    """An index of corrections, which follows a memory (see `adapt.remembering.Learner`)."""

    def learn_entries(self, entries: Iterable[Entry]) -> None:
        """Take over further entries of a memory, in order: corrections, and the ends of some."""
        for entry in entries:
            if entry.undoes is not None:
                self.remove(entry.undoes)
            else:
                one = entry.correction
                self.add(entry.number, Example(one.src, one.mt, one.pe))

    def forget_all(self) -> None:
        """Return to the state before any correction."""
        self.__init__()  # type: ignore[misc]
