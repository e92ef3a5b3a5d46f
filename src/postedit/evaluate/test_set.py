"""A test set, and the counts of each system on it, sentence by sentence, from which all analyses are computed."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from operator import add
from typing import Final, Self

import numpy as np

from postedit.core.errors import DataError
from postedit.core.processes import IN_THIS_PROCESS, Executor, same_in_all
from postedit.evaluate.metrics import Floats, Ints, Tokenize
from postedit.evaluate.scores import (
    UNEDITED_MT,
    ChangedSentences,
    SentenceStatistics,
    SystemScores,
    changed_sentences,
    check_lines,
    score_statistics,
)
from postedit.evaluate.ter import EditCount, count_edits, split_words
from postedit.evaluate.word_edits import WordEdits, word_edits

KINDS: Final = ("shifts", "substitutions", "insertions", "deletions")
"""The edits of TER, in the order of the columns of `EditCounts.kinds`."""

PART: Final = 2000
"""Lines counted together: some seconds of work, and many times what it costs to begin."""

MAX_GROUPS: Final = 100
"""Most labels of a table by group: a file with more labels probably holds sentences or line numbers by mistake."""


@dataclass(frozen=True, eq=False, slots=True)
class EditCounts:
    """TER's edits from one text to another, sentence by sentence."""

    kinds: Ints  # Int[sentences,4], in the order of `KINDS`
    length: Ints  # Int[sentences], words of the other text

    @classmethod
    def joined(cls, parts: "Sequence[EditCounts]") -> Self:
        """Return the edits of successive parts of a text, at least one."""
        kinds, lengths = [part.kinds for part in parts], [part.length for part in parts]
        return cls(np.concatenate(kinds), np.concatenate(lengths))

    @property
    def total(self) -> Ints:
        """Edits of all kinds, Int[sentences]."""
        return np.asarray(self.kinds.sum(1), np.int64)

    @property
    def sums(self) -> Floats:
        """Edits and words, Float[sentences,2]: the statistics of `AdditiveTER`."""
        return np.stack([self.total, self.length], 1).astype(np.float64)

    @property
    def rates(self) -> Floats:
        """TER of each sentence in per cent, Float[sentences]."""
        return np.asarray(100.0 * self.total / np.maximum(self.length, 1))


@dataclass(frozen=True, slots=True)
class TestSet:
    """The texts that systems are compared on, line by line.

    Raises:
        DataError: if there are no lines, if the texts have not as many lines, or if there are more than `MAX_GROUPS`
            labels.
    """

    __test__ = False  # not a test case of pytest

    pe: Sequence[str]  # the post-edits, or other references
    mt: Sequence[str] | None = None
    src: Sequence[str] | None = None
    groups: Sequence[str] | None = None  # a label for each line, such as the system that translated it
    tokenize: Tokenize = "none"  # how metrics separate words

    def __post_init__(self) -> None:
        given = {"mt": self.mt, "src": self.src, "groups": self.groups}
        check_lines(self.pe, {name: lines for name, lines in given.items() if lines is not None})
        labels = set(self.groups or ())
        if len(labels) > MAX_GROUPS:
            raise DataError(
                f"groups has {len(labels):,} different labels, and at most {MAX_GROUPS} are possible; give a file "
                "with a short label for each line, such as the name of the MT system"
            )


@dataclass(frozen=True, eq=False, slots=True)
class EvaluatedSystem:
    """The outputs of one system on a test set, with their scores and counts."""

    name: str
    outputs: Sequence[str]
    scores: SystemScores
    left: EditCounts  # TER's edits from the outputs to the post-edits
    made: EditCounts | None  # TER's edits from mt to the outputs, if mt is known
    words: WordEdits | None  # word edits made and needed, if mt is known
    bleu: Floats  # Float[sentences,10], statistics of `AdditiveBLEU`
    chrf: Floats  # Float[sentences,19], statistics of `AdditiveCHRF`


def evaluate_systems(
    test: TestSet,
    systems: Mapping[str, Sequence[str]],
    progress: Callable[[int], None] = lambda _: None,
    executor: Executor = IN_THIS_PROCESS,
) -> list[EvaluatedSystem]:
    """Return all systems with their scores, after the unedited MT if mt is known.

    `executor` counts the statistics of `PART` lines at a time; here they are put together, and summed. `progress` is
    called after each part with the number of lines scored so far.

    Raises:
        DataError: if a system has not as many lines as the test set.
    """
    baseline = {} if test.mt is None else {UNEDITED_MT: test.mt}
    named = [*baseline.items(), *systems.items()]
    for name, outputs in named:
        check_lines(test.pe, {name: outputs})
    parts = (_Part.of(name, outputs, first, test) for name, outputs in named for first in range(0, len(outputs), PART))
    found, done = [], 0
    with closing(executor.map(same_in_all(_Part.count), parts)) as counted:
        for name, outputs in named:
            counts = []
            for one in islice(counted, -(-len(outputs) // PART)):
                counts.append(one)
                done += len(one.statistics.edits)
                progress(done)
            found.append(_evaluated(name, outputs, counts))
    return found


@dataclass(frozen=True, eq=False, slots=True)
class _Counts:
    """What is counted on some lines of a system; `changes`, `made` and `words` if mt is known."""

    statistics: SentenceStatistics
    changes: ChangedSentences | None = None
    made: EditCounts | None = None
    words: WordEdits | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """Some lines of a system, the first of which has the index `first`."""

    name: str
    first: int
    outputs: Sequence[str]
    pe: Sequence[str]
    mt: Sequence[str] | None
    tokenize: Tokenize

    @classmethod
    def of(cls, name: str, outputs: Sequence[str], first: int, test: TestSet) -> "_Part":
        """Return up to `PART` lines of a system."""
        taken = slice(first, first + PART)
        mt = None if test.mt is None else test.mt[taken]
        return cls(name, first, outputs[taken], test.pe[taken], mt, test.tokenize)

    def __str__(self) -> str:
        """Return where it is in the input."""
        return f"{self.name}, lines {self.first + 1:,} to {self.first + len(self.outputs):,}"

    def count(self) -> _Counts:
        """Count everything on these lines."""
        statistics = SentenceStatistics.of(self.outputs, self.pe, self.tokenize)
        if self.mt is None:
            return _Counts(statistics)
        normalise = self.tokenize == "13a"
        changes = changed_sentences(self.outputs, statistics, self.pe, self.mt)
        made = _edit_counts(count_edits(self.outputs, self.mt, normalise=normalise))
        texts = (self.mt, self.outputs, self.pe)
        words = word_edits(*(split_words(text, normalise=normalise) for text in texts))
        return _Counts(statistics, changes, made, words)


def _evaluated(name: str, outputs: Sequence[str], parts: Sequence[_Counts]) -> EvaluatedSystem:
    """Return a system from the counts on its parts."""
    statistics = SentenceStatistics.joined([part.statistics for part in parts])
    changes = [part.changes for part in parts if part.changes is not None]
    made = [part.made for part in parts if part.made is not None]
    words = [part.words for part in parts if part.words is not None]
    return EvaluatedSystem(
        name,
        outputs,
        score_statistics(name, statistics, reduce(add, changes) if changes else None),
        _edit_counts(statistics.edits),
        EditCounts.joined(made) if made else None,
        WordEdits.joined(words) if words else None,
        statistics.bleu,
        statistics.chrf,
    )


def _edit_counts(counts: Sequence[EditCount]) -> EditCounts:
    kinds = [(count.shifts, count.substitutions, count.insertions, count.deletions) for count in counts]
    return EditCounts(np.array(kinds, np.int64), np.array([count.length for count in counts], np.int64))
