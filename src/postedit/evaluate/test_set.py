"""A test set, and what is counted once, sentence by sentence, of each system over it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.errors import DataError
from postedit.evaluate.changes import WordEdits, word_edits
from postedit.evaluate.scores import UNEDITED_MT, Counts, SystemScores, check_lines, score_counts
from postedit.evaluate.sufficient_statistics import Floats, Tokenize
from postedit.evaluate.ter import EditCount, count_edits, split_words

Ints = NDArray[np.int64]

KINDS: Final = ("shifts", "substitutions", "insertions", "deletions")
"""What TER counts, in the order of the columns of `Edits.kinds`."""


MOST_GROUPS: Final = 100
"""Labels that a table of groups can have; more of them are rather sentences, or numbers of lines, given by mistake."""


@dataclass(frozen=True, eq=False, slots=True)
class Edits:
    """Edits, sentence by sentence, from one text to another.

    Args:
        kinds: Int[sentences,4], in the order of `KINDS`.
        length: Int[sentences], words of the other text.
    """

    kinds: Ints
    length: Ints

    @property
    def total(self) -> Ints:
        """Int[sentences]: all kinds together."""
        result: Ints = self.kinds.sum(1)
        return result

    @property
    def sums(self) -> Floats:
        """Float[sentences,2]: edits and words, of which TER is a function."""
        return np.stack([self.total, self.length], 1).astype(np.float64)

    @property
    def rates(self) -> Floats:
        """Float[sentences]: TER of each sentence in per cent."""
        rates: Floats = 100.0 * self.total / np.maximum(self.length, 1)
        return rates


@dataclass(frozen=True, slots=True)
class TestSet:
    """What systems are compared on, line by line.

    Args:
        pe: the post-edits, or other references.
        mt: the machine translations.
        src: the sources.
        groups: a label for each line, such as the system that translated it.
        tokenize: how text is divided into words.

    Raises:
        DataError: if there are no lines, or not as many of each, or more than `MOST_GROUPS` groups.
    """

    __test__ = False  # nothing for pytest to collect

    pe: Sequence[str]
    mt: Sequence[str] | None = None
    src: Sequence[str] | None = None
    groups: Sequence[str] | None = None
    tokenize: Tokenize = "none"

    def __post_init__(self) -> None:
        given = {"mt": self.mt, "src": self.src, "groups": self.groups}
        check_lines(self.pe, {name: lines for name, lines in given.items() if lines is not None})
        labels = set(self.groups or ())
        if len(labels) > MOST_GROUPS:
            raise DataError(
                f"groups has {len(labels):,} different labels, and at most {MOST_GROUPS} are possible; give a file "
                "with a short label for each line, such as the name of the MT system"
            )


@dataclass(frozen=True, eq=False, slots=True)
class System:
    """One system over a test set.

    Args:
        name: of the system.
        outputs: its sentences.
        scores: of the whole.
        left: edits from the outputs to the post-edits.
        made: edits from the machine translations to the outputs, if those are known.
        words: word edits made and needed, if the machine translations are known.
        bleu: Float[sentences,10], statistics of `AdditiveBLEU`.
        chrf: Float[sentences,19], those of `AdditiveCHRF`.
    """

    name: str
    outputs: Sequence[str]
    scores: SystemScores
    left: Edits
    made: Edits | None
    words: WordEdits | None
    bleu: Floats
    chrf: Floats


def examine(
    test: TestSet, systems: Mapping[str, Sequence[str]], progress: Callable[[int], None] = lambda _: None
) -> list[System]:
    """Return all systems, doing nothing first where the machine translations are known.

    Args:
        test: the texts.
        systems: outputs by the name of the system.
        progress: is told after each system how many lines have been scored.

    Raises:
        DataError: if a system has not as many lines as the test set.
    """
    baseline = {} if test.mt is None else {UNEDITED_MT: test.mt}
    found = []
    for name, outputs in [*baseline.items(), *systems.items()]:
        found.append(_examine(name, outputs, test))
        progress(len(found) * len(test.pe))
    return found


def _examine(name: str, outputs: Sequence[str], test: TestSet) -> System:
    check_lines(test.pe, {name: outputs})
    counts = Counts.of(outputs, test.pe, test.tokenize)
    scores = score_counts(name, outputs, counts, test.pe, test.mt)
    made = None if test.mt is None else count_edits(outputs, test.mt, normalise=test.tokenize == "13a")
    return System(
        name=name,
        outputs=outputs,
        scores=scores,
        left=_edits(counts.edits),
        made=None if made is None else _edits(made),
        words=_word_edits(outputs, test),
        bleu=counts.bleu,
        chrf=counts.chrf,
    )


def _edits(counts: Sequence[EditCount]) -> Edits:
    kinds = [(count.shifts, count.substitutions, count.insertions, count.deletions) for count in counts]
    return Edits(np.array(kinds, np.int64), np.array([count.length for count in counts], np.int64))


def _word_edits(outputs: Sequence[str], test: TestSet) -> WordEdits | None:
    if test.mt is None:
        return None
    return word_edits(*(split_words(text, normalise=test.tokenize == "13a") for text in (test.mt, outputs, test.pe)))
