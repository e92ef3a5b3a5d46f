"""Judgements of a learner whose judgements depend on all that it has learnt, in its order."""

import zlib
from itertools import count, islice

import pytest
from hypothesis import example, given, settings
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
        return zlib.crc32(" ".join([*self.learnt, self._correction_at(place).src]).encode()) % 7 - 3

    def _learn(self, place: int) -> None:
        self.learnt.append(self._correction_at(place).src)

    def known(self) -> tuple[bool, list[str], list[int]]:
        """Return whether learning helps, what was learnt, and the judgements that count."""
        latest = range(max(0, len(self.learnt) - self._watched), len(self.learnt))
        return self.helps, self.learnt, [self._saved[place] for place in latest]


def test_only_the_judgements_of_the_latest_corrections_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Noting, "_judge", lambda self, place: [-9, 2, 2][place])
    learner = Noting(2)
    learner.learn_entries(Entry(number, Correction("s", "m", "p"), None) for number in (1, 2, 3))
    assert learner.helps


def test_corrections_that_do_not_count_are_not_judged_which_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[int] = []

    def judge(learner: Noting, place: int) -> int:
        judged.append(place)
        return 0

    monkeypatch.setattr(Noting, "_judge", judge)
    Noting(2).learn_entries(Entry(number, Correction("s", "m", "p"), None) for number in range(1, 6))
    assert judged == [3, 4]


def test_each_correction_that_is_learnt_again_is_progress() -> None:
    learner, calls = Noting(watched=2), list[int]()
    entries = [Entry(number, Correction(f"s{number}", "m", "p"), None) for number in range(1, 6)]
    learner.learn_entries(entries, lambda: calls.append(len(learner.learnt)))
    assert calls == [1, 2, 3, 4, 5]
    learner.learn_entries([Entry(6, entries[0].correction, 1)], lambda: calls.append(len(learner.learnt)))
    assert calls[5:] == [1, 2, 3, 4]


def test_judgements_from_before_all_was_forgotten_do_not_count() -> None:
    learner, never = Noting(watched=2), Noting(watched=2)
    for number in range(1, 5):
        learner.learn_entries([Entry(number, Correction(f"s{number}", "m", "p"), None)])
    learner.forget_all()
    entries = [Entry(number, Correction(f"t{number}", "m", "p"), None) for number in range(1, 5)]
    learner.learn_entries(entries)
    learner.learn_entries([Entry(5, entries[3].correction, 4)])
    never.learn_entries(entries[:3])
    assert learner.known() == never.known()


# Some corrections are learnt, and then some undone, counted from the last one.
BATCHES = st.lists(st.tuples(st.integers(0, 8), st.lists(st.integers(0, 12), max_size=9)), min_size=1, max_size=6)


@settings(max_examples=300)
@given(watched=st.integers(0, 6), batches=BATCHES)
@example(watched=2, batches=[(8, []), (0, [0])])  # one that was not judged now counts
@example(watched=4, batches=[(7, []), (2, [5]), (0, [0])])  # one counts in whose place another was judged
def test_what_is_undone_leaves_no_trace_however_entries_come(
    watched: int, batches: list[tuple[int, list[int]]]
) -> None:
    learner, present, numbers = Noting(watched), dict[int, Entry](), count(1)
    for more, undone in batches:
        entries = [Entry(number, Correction(f"s{number}", "m", "p"), None) for number in islice(numbers, more)]
        present.update((one.number, one) for one in entries)
        for place in undone:
            if present:
                ended = present.pop(sorted(present, reverse=True)[place % len(present)])
                entries.append(Entry(next(numbers), ended.correction, ended.number))
        learner.learn_entries(entries)
        never = Noting(watched)
        never.learn_entries(present.values())
        assert learner.known() == never.known()
    learner.forget_all()
    assert learner.known() == Noting(watched).known()
