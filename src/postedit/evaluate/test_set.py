"""A test set, and the counts of each system on it, from which all analyses are computed."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.errors import DataError, OutputError
from postedit.core.processes import IN_THIS_PROCESS, Executor, same_in_all
from postedit.core.saved_arrays import SavedArrays
from postedit.evaluate.counts import KINDS, SCORED, WIDTH, Counts, EditCounts, buckets
from postedit.evaluate.given_texts import check_lengths, check_lines, lines_of, outputs_of
from postedit.evaluate.metrics import Ints
from postedit.evaluate.scores import (
    UNEDITED_MT,
    ChangedSentences,
    SentenceStatistics,
    SystemScores,
    check_names,
    scores_of_sums,
)
from postedit.evaluate.significance import RESAMPLED, group_of
from postedit.evaluate.ter import count_edits, words_of
from postedit.evaluate.tokenisation import Tokenize, check_tokenize
from postedit.evaluate.word_edits import word_edits

PART: Final = 2000
"""Lines counted together: some seconds of work, many times the overhead of starting it."""

MAX_GROUPS: Final = 100
"""Most different group labels: a file with more labels probably holds sentences or line numbers by mistake."""

LISTED: Final = 100_000
"""Most sentences whose counts are kept one by one, for a page that lists them; a browser can still open such a page."""

RATE_BIN: Final = 10
RATE_BINS: Final = 11
"""Width, in per cent, and number of the bins of the TER histogram up to 100 %: one for a TER of 0 and ten of 10 % each.
One more bin holds what is above 100 %."""

MOST_GAIN: Final = 6
"""Edits more or fewer than those of the first system in the outermost histogram bins; these also hold larger ones."""


@dataclass(frozen=True, slots=True)
class TestSet:
    """The texts that systems are compared on, line by line; they may be `StoredLines`.

    Raises:
        DataError: if there are no lines, a text is not a list of strings, the numbers of lines differ, a line is too
            long to score, there are more than `MAX_GROUPS` labels, or `tokenize` is unknown.
    """

    __test__ = False  # not a test case of pytest

    pe: Sequence[str]  # the post-edits, or other references
    mt: Sequence[str] | None = None
    src: Sequence[str] | None = None
    groups: Sequence[str] | None = None  # a label for each line, such as the MT system that translated it
    tokenize: Tokenize = "none"  # how metrics separate words

    def __post_init__(self) -> None:
        check_tokenize(self.tokenize)
        given: dict[str, Any] = {"pe": self.pe, "mt": self.mt, "src": self.src, "groups": self.groups}
        found = {name: lines_of(name, lines) for name, lines in given.items() if lines is not None or name == "pe"}
        for name, lines in found.items():
            object.__setattr__(self, name, lines)
        check_lines(found.pop("pe"), found, by_character=self.tokenize == "characters")
        if len(self.labels) > MAX_GROUPS:
            raise DataError(
                f"groups has {len(self.labels):,} different labels, and at most {MAX_GROUPS} are possible; give a file "
                "with a short label for each line, such as the name of the MT system"
            )

    @property
    def labels(self) -> list[str]:
        """The different labels in `groups`, in the order of their first lines."""
        return list(dict.fromkeys(self.groups or ()))


@dataclass(frozen=True, eq=False, slots=True)
class EvaluatedSystem:
    """A system on a test set, with its scores and counts."""

    name: str
    outputs: Sequence[str]
    scores: SystemScores
    total: Counts  # over all sentences
    buckets: Mapping[tuple[str, str], Counts]  # by division and label; see `postedit.evaluate.counts.buckets`
    resampled: Counts  # the first `SCORED` counts of each group of `group_of`
    rates: Ints  # Int[RATE_BINS+1], histogram of sentences by TER
    gains: Ints  # Int[2*MOST_GAIN+1], sentences that differ from mt by edits saved, compared with the first system
    listed: Ints  # Int[sentences,3], the first `LISTED`: edits left, their kinds as bits, words of the post-edit


def evaluate_systems(
    test: TestSet,
    systems: Mapping[str, Sequence[str]],
    progress: Callable[[int], None] = lambda _: None,
    executor: Executor = IN_THIS_PROCESS,
    saved: SavedArrays | None = None,
) -> list[EvaluatedSystem]:
    """Return all systems with their scores, preceded by the unedited MT if mt is known.

    Args:
        test: the test set.
        systems: outputs of each system, by its name.
        progress: function that is called before the first part and after each part with the number of lines scored so
            far, summed over all systems.
        executor: executor that counts parts, each of which has `PART` lines of all systems.
        saved: file from which counting is resumed, and to which counts are saved from time to time and after an error.

    Raises:
        DataError: if a system has a different number of lines than the test set, or the name of the unedited MT, or its
            outputs are not a list of strings.
        OutputError: if the saved counts cannot be used.
    """
    systems = outputs_of(systems)
    check_names(systems, test.mt)
    named = {**({} if test.mt is None else {UNEDITED_MT: test.mt}), **systems}
    check_lengths(len(test.pe), systems, by_character=test.tokenize == "characters")
    tallies = [_Tally.empty(test) for _ in named]
    done, adding = 0 if saved is None else _load(saved, tallies), False
    labels = test.labels
    parts = (_Part.of(named, first, test, labels) for first in range(done, len(test.pe), PART))
    progress(done * len(named))
    try:
        with closing(executor.map(same_in_all(_Part.count), parts)) as counted:
            for found in counted:
                first, done, adding = done, min(done + PART, len(test.pe)), True
                for tally, one in zip(tallies, found, strict=True):
                    tally.add(one, first, len(test.pe))
                adding = False
                progress(done * len(named))
                if saved is not None and saved.is_due():
                    _save(saved, tallies, done)
    except BaseException:
        if saved is not None and saved.is_saved and not adding:  # tallies may disagree after an interrupted addition
            with suppress(OutputError):  # if this fails, the counts that were saved last remain
                _save(saved, tallies, done)
        raise
    return [tally.system(*one, test) for tally, one in zip(tallies, named.items())]


@dataclass(frozen=True, eq=False, slots=True)
class _Counted:
    """The counts of one system on some lines; see `EvaluatedSystem`."""

    buckets: Ints  # Int[buckets,WIDTH]; the last bucket holds all lines
    resampled: Ints  # Int[groups,SCORED], beginning with the group of the first line
    rates: Ints
    gains: Ints
    listed: Ints | None


@dataclass(frozen=True, slots=True)
class _Part:
    """Some consecutive lines of all systems."""

    first: int  # index of the first line in the test set
    lines: int  # number of lines of the test set
    outputs: Sequence[Sequence[str]]  # of each system
    pe: Sequence[str]
    has_mt: bool  # whether the first system is the unedited MT
    groups: Sequence[str] | None
    labels: Sequence[str]
    tokenize: Tokenize

    @classmethod
    def of(cls, named: Mapping[str, Sequence[str]], first: int, test: TestSet, labels: Sequence[str]) -> "_Part":
        """Return up to `PART` lines of all systems, from the index `first` on."""
        taken = slice(first, first + PART)
        outputs = [lines[taken] for lines in named.values()]
        groups = None if test.groups is None else test.groups[taken]
        has_mt = test.mt is not None
        return cls(first, len(test.pe), outputs, test.pe[taken], has_mt, groups, labels, test.tokenize)

    def __str__(self) -> str:
        """Return which lines of the input these are."""
        return f"lines {self.first + 1:,} to {self.first + len(self.pe):,}"

    def count(self) -> list[_Counted]:
        """Count everything on these lines, for each system."""
        every = self._counts()
        base = Counts(every[0]).left
        members = [*buckets(base, self.labels, self.groups, has_mt=self.has_mt).values(), np.ones(len(self.pe), bool)]
        within = np.stack(members).astype(np.float64)  # sums of whole numbers stay exact, and matrix products are fast
        group = group_of(np.arange(self.first, self.first + len(self.pe)), self.lines)
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        result = []
        for counts in every:
            left = Counts(counts).left
            gains = np.clip(base.total - left.total, -MOST_GAIN, MOST_GAIN)[Counts(counts).changes[:, 0] > 0]
            bins = np.minimum(np.ceil(left.rates / RATE_BIN), RATE_BINS).astype(np.int64)
            bits = (left.kinds > 0) @ (1 << np.arange(len(KINDS)))
            result.append(
                _Counted(
                    (within @ counts).astype(np.int64),
                    np.add.reduceat(counts[:, :SCORED], starts),
                    np.bincount(bins, minlength=RATE_BINS + 1),
                    np.bincount(gains + MOST_GAIN, minlength=2 * MOST_GAIN + 1),
                    np.stack([left.total, bits, left.length], 1) if self.first < LISTED else None,
                )
            )
        return result

    def _counts(self) -> list[Ints]:
        """Return the counts of each sentence, Int[sentences,WIDTH], for each system."""
        edited = words_of(self.pe, self.tokenize) if self.has_mt else []
        result: list[Ints] = []
        for outputs in self.outputs:
            found = SentenceStatistics.of(outputs, self.pe, self.tokenize)
            left = EditCounts.of(found.edits)
            counts = np.zeros((len(self.pe), WIDTH), np.int64)
            fewer = (Counts(result[0]).left.total if result else left.total) - left.total
            changed = np.zeros(len(self.pe), bool)
            parts = [left.columns, found.bleu, found.chrf]
            if self.has_mt:
                mt = self.outputs[0]
                changed = np.array([one != other for one, other in zip(outputs, mt)])
                parts.append(EditCounts.of(count_edits(outputs, mt, self.tokenize)).columns)
                unedited, written = (words_of(text, self.tokenize) for text in (mt, outputs))
                words = word_edits(unedited, written, edited)
                parts += [words.made, words.needed, words.right]
            else:
                parts.append(np.zeros((len(self.pe), WIDTH - SCORED - 4)))
            parts.append(np.stack([changed, fewer > 0, fewer < 0, np.ones(len(self.pe))], 1))
            np.concatenate(parts, 1, out=counts, casting="unsafe")
            result.append(counts)
        return result


@dataclass(frozen=True, eq=False, slots=True)
class _Tally:
    """The counts of a system on all lines so far; see `_Counted` and `EvaluatedSystem`."""

    buckets: Ints
    resampled: Ints
    rates: Ints
    gains: Ints
    listed: Ints

    @classmethod
    def empty(cls, test: TestSet) -> "_Tally":
        lines = len(test.pe)
        sizes = [
            (len(_bucket_names(test)) + 1, WIDTH),
            (min(lines, RESAMPLED), SCORED),
            (RATE_BINS + 1,),
            (2 * MOST_GAIN + 1,),
            (min(lines, LISTED), 3),
        ]
        return cls(*(np.zeros(size, np.int64) for size in sizes))

    def add(self, found: _Counted, first: int, lines: int) -> None:
        """Add the counts of a part that begins at line `first`, in a test set of `lines` lines."""
        for name in ("buckets", "rates", "gains"):
            np.add(getattr(self, name), getattr(found, name), out=getattr(self, name))
        start = int(group_of(np.array(first), lines))
        self.resampled[start : start + len(found.resampled)] += found.resampled
        if found.listed is not None:
            rest = self.listed[first : first + len(found.listed)]
            rest[:] = found.listed[: len(rest)]

    def system(self, name: str, outputs: Sequence[str], test: TestSet) -> EvaluatedSystem:
        """Return the system with its scores."""
        *divided, total = map(Counts, self.buckets)
        changes = None if test.mt is None else ChangedSentences(*map(int, total.changes))
        scores = scores_of_sums(name, len(test.pe), total.left.sums, total.bleu, total.chrf, test.tokenize, changes)
        by_name = dict(zip(_bucket_names(test), divided, strict=True))
        rest = self.rates, self.gains, self.listed
        return EvaluatedSystem(name, outputs, scores, total, by_name, Counts(self.resampled), *rest)


def _bucket_names(test: TestSet) -> list[tuple[str, str]]:
    groups = None if test.groups is None else ()
    return list(buckets(EditCounts.of([]), test.labels, groups, has_mt=test.mt is not None))


_FIELDS: Final = ("buckets", "resampled", "rates", "gains", "listed")


def _save(saved: SavedArrays, tallies: Sequence[_Tally], done: int) -> None:
    arrays = {f"{number} {name}": getattr(one, name) for number, one in enumerate(tallies) for name in _FIELDS}
    saved.save({**arrays, "done": np.array(done)})


def _load(saved: SavedArrays, tallies: Sequence[_Tally]) -> int:
    """Fill the tallies with the saved counts, if there are any; return the number of lines that they cover."""
    arrays: dict[str, NDArray[Any]] | None = saved.load()
    if arrays is None:
        return 0
    for number, one in enumerate(tallies):
        for name in _FIELDS:
            getattr(one, name)[...] = arrays[f"{number} {name}"]
    return int(arrays["done"])
