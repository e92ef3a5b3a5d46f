"""A test set, and the counts of each system on it, sentence by sentence, from which all analyses are computed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from postedit.core.errors import DataError
from postedit.evaluate.metrics import Floats, Ints, Tokenize
from postedit.evaluate.scores import UNEDITED_MT, SentenceStatistics, SystemScores, check_lines, score_statistics
from postedit.evaluate.ter import EditCount, count_edits, split_words
from postedit.evaluate.word_edits import WordEdits, word_edits

KINDS: Final = ("shifts", "substitutions", "insertions", "deletions")
"""The edits of TER, in the order of the columns of `EditCounts.kinds`."""

MAX_GROUPS: Final = 100
"""Most labels of a table by group: a file with more labels probably holds sentences or line numbers by mistake."""


@dataclass(frozen=True, eq=False, slots=True)
class EditCounts:
    """TER's edits from one text to another, sentence by sentence."""

    kinds: Ints  # Int[sentences,4], in the order of `KINDS`
    length: Ints  # Int[sentences], words of the other text

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
    test: TestSet, systems: Mapping[str, Sequence[str]], progress: Callable[[int], None] = lambda _: None
) -> list[EvaluatedSystem]:
    """Return all systems with their scores, after the unedited MT if mt is known.

    `progress` is called after each system with the number of lines scored so far.

    Raises:
        DataError: if a system has not as many lines as the test set.
    """
    baseline = {} if test.mt is None else {UNEDITED_MT: test.mt}
    found = []
    for name, outputs in [*baseline.items(), *systems.items()]:
        found.append(_evaluate_system(name, outputs, test))
        progress(len(found) * len(test.pe))
    return found


def _evaluate_system(name: str, outputs: Sequence[str], test: TestSet) -> EvaluatedSystem:
    check_lines(test.pe, {name: outputs})
    normalise = test.tokenize == "13a"
    statistics = SentenceStatistics.of(outputs, test.pe, test.tokenize)
    made = words = None
    if test.mt is not None:
        made = _edit_counts(count_edits(outputs, test.mt, normalise=normalise))
        words = word_edits(*(split_words(text, normalise=normalise) for text in (test.mt, outputs, test.pe)))
    scores, left = score_statistics(name, outputs, statistics, test.pe, test.mt), _edit_counts(statistics.edits)
    return EvaluatedSystem(name, outputs, scores, left, made, words, statistics.bleu, statistics.chrf)


def _edit_counts(counts: Sequence[EditCount]) -> EditCounts:
    kinds = [(count.shifts, count.substitutions, count.insertions, count.deletions) for count in counts]
    return EditCounts(np.array(kinds, np.int64), np.array([count.length for count in counts], np.int64))
