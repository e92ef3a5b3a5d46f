"""The base of the learners of neural models, which measures whether what they learn helps."""

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import Entry
from postedit.adapt.remembering import say_nothing


class JudgedLearner(ABC):
    """A learner that learns corrections one after another, and judges each of the latest ones before it is learnt.

    A correction is judged by the number of edits that what earlier corrections taught would have saved its
    post-editor; it is negative if there would have been more edits. Learning helps if the sum over the watched
    corrections exceeds its standard error. This depends only on the corrections in the memory, so an undone correction
    leaves no trace.

    Args:
        watched: number of latest corrections that are judged; with 0, learning is assumed to help.
    """

    def __init__(self, watched: int) -> None:
        self._watched = watched
        self._numbers: list[int] = []  # of all corrections, in order
        self._corrections: dict[int, Correction] = {}
        self._learnt = 0  # how many of them have been learnt
        self._saved: dict[int, int] = {}  # edits, by the place of a correction that has been judged

    @property
    def helps(self) -> bool:
        """Whether what was learnt has saved post-editors edits."""
        saved = [self._saved[place] for place in range(self._window(self._learnt), self._learnt)]
        return not self._watched or sum(saved) > math.sqrt(sum(one * one for one in saved))

    def learn_entries(self, entries: Iterable[Entry], progress: Callable[[], None] = say_nothing) -> None:
        """Take over further entries, with a call of `progress` for each; all that they undo are forgotten at once."""
        undone: set[int] = set()
        for entry in entries:
            if entry.undoes is None:
                self._corrections[entry.number] = entry.correction
                self._numbers.append(entry.number)
            else:
                undone.add(entry.undoes)
        self._forget(undone)
        for place in range(self._learnt, len(self._numbers)):
            if place >= self._window(len(self._numbers)):
                self._saved[place] = self._judge(place)
            self._learn(place)
            self._learnt = place + 1
            progress()

    def forget_all(self) -> None:
        """Return to the model as it was trained."""
        self._return_to(0)
        self._numbers, self._corrections, self._saved, self._learnt = [], {}, {}, 0

    def _forget(self, undone: set[int]) -> None:
        """Return to the state before the first correction that is undone, or that must be judged now but was not."""
        first = min((bisect_left(self._numbers, number) for number in undone), default=self._learnt)
        window = range(self._window(len(self._numbers) - len(undone)), self._learnt)
        first = min(first, next((place for place in window if place not in self._saved), first))
        if first < self._learnt:
            self._learnt = self._return_to(first)
            self._saved = {place: saved for place, saved in self._saved.items() if place < self._learnt}
        self._numbers = [number for number in self._numbers if number not in undone]
        for number in undone:
            del self._corrections[number]

    def _window(self, count: int) -> int:
        """Return the place of the first watched correction, if there are `count` in all."""
        return max(0, count - self._watched)

    def _correction_at(self, place: int) -> Correction:
        return self._corrections[self._numbers[place]]

    @abstractmethod
    def _return_to(self, place: int) -> int:
        """Return to a state before the correction at `place` was learnt; return the place of the next one to learn."""

    @abstractmethod
    def _judge(self, place: int) -> int:
        """Return how many edits the corrections before the one at `place` would have saved its post-editor."""

    @abstractmethod
    def _learn(self, place: int) -> None:
        """Learn the correction at `place`, the next one after those that have been learnt."""
