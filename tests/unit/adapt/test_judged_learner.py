"""Judgements of a learner whose judgements depend on all that it has learnt, in its order."""

import zlib

from hypothesis import given
from hypothesis import strategies as st

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import Entry
from postedit.adapt.judged_learner import JudgedLearner

EVERY = 3  # corrections between states to which the learner can return


class Noting(JudgedLearner):
    """Learns corrections by heart."""

    def __init__(self, watched: int) -> None:
        super().__init__(watched)
        self.learnt: list[str] = []

    def _return_to(self, place: int) -> int:
        del self.learnt[place - place % EVERY :]
        return len(self.learnt)

    def _judge(self, place: int) -> int:
        return zlib.crc32(" ".join([*self.learnt, self._at(place).src]).encode()) % 7 - 3

    def _learn(self, place: int) -> None:
        self.learnt.append(self._at(place).src)

    def known(self) -> tuple[bool, list[str], list[int]]:
        """Return whether learning helps, what was learnt, and the judgements that count."""
        latest = range(max(0, len(self.learnt) - self._watched), len(self.learnt))
        return self.helps, self.learnt, [self._spared[place] for place in latest]


@given(
    watched=st.integers(0, 6),
    batches=st.lists(st.lists(st.integers(-9, 9), min_size=1, max_size=9), min_size=1, max_size=6),
)
def test_what_is_undone_leaves_no_trace_however_entries_come(watched: int, batches: list[list[int]]) -> None:
    learner, present, number = Noting(watched), dict[int, Entry](), 0
    for steps in batches:
        entries = []
        for step in steps:
            number += 1
            if step < -3 and present:
                undone = present.pop(sorted(present)[step % len(present)])
                entries.append(Entry(number, undone.correction, undone.number))
            else:
                present[number] = Entry(number, Correction(f"s{number}", "m", "p"), None)
                entries.append(present[number])
        learner.learn_entries(entries)
        never = Noting(watched)
        never.learn_entries(present.values())
        assert learner.known() == never.known()
    learner.forget_all()
    assert learner.known() == Noting(watched).known()
