"""Translation edit rate, the one door to its implementation: exact as sacrebleu's, and many times faster.

Everything that needs TER asks here for counts of edits, sentence by sentence; corpus TER is their ratio.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics import ter as sacrebleu_ter

from postedit.evaluate import ter_kernel

_NOT_EMPTY: Final = 100.0
"""TER, in per cent, of words where the reference has none: sacrebleu's convention."""

_BLOCK: Final = 2**16
"""Pairs that are turned into ids at a time, so that memory does not grow with the corpus."""

_CHUNK: Final = 2**10
"""Pairs that a thread works on at a time: some take much longer than others."""

Words = Sequence[str]
Op = Literal["keep", "substitute", "insert", "delete"]

_OPS: Final[tuple[Op, ...]] = ("keep", "substitute", "insert", "delete")


@dataclass(frozen=True, slots=True)
class EditCount:
    """The edits that turn a hypothesis into its reference.

    Args:
        shifts: blocks of words moved.
        substitutions: words replaced.
        insertions: words of the reference that the hypothesis lacks.
        deletions: words of the hypothesis that the reference lacks.
        length: words in the reference.
    """

    shifts: int
    substitutions: int
    insertions: int
    deletions: int
    length: int

    @property
    def edits(self) -> int:
        """All of them together."""
        return self.shifts + self.substitutions + self.insertions + self.deletions


class Shift(NamedTuple):
    """`length` words from `start` on are moved before the word at `target`.

    Positions are those of the hypothesis as the shifts before have left it. A block whose target is inside of itself
    moves on by `target - start` words, as in Tercom.
    """

    start: int
    length: int
    target: int


@dataclass(frozen=True, slots=True)
class EditScript:
    """How to turn a hypothesis into its reference: shifts, in order, and then one operation for each word.

    Args:
        shifts: what to move.
        shifted: the words of the hypothesis afterwards.
        ops: "keep" and "substitute" take a word of both texts, "delete" one of the hypothesis, "insert" one of the
            reference.
    """

    shifts: tuple[Shift, ...]
    shifted: tuple[str, ...]
    ops: tuple[Op, ...]

    def __len__(self) -> int:
        """Return the number of edits."""
        return len(self.shifts) + sum(op != "keep" for op in self.ops)


class TER(sacrebleu_ter.TER):
    """`sacrebleu.metrics.TER` with the same arguments, scores and signature, computed by compiled code on all cores."""

    def edits(self, hypotheses: Sequence[str], references: Sequence[str]) -> list[EditCount]:
        """Return the edits of each sentence, by kind.

        Raises:
            ValueError: if there are not as many references as hypotheses.
        """
        if len(hypotheses) != len(references):
            raise ValueError(f"{len(hypotheses)} hypotheses and {len(references)} references: must be equally many")
        counts = []
        for start in range(0, len(hypotheses), _BLOCK):
            words = [self._words(text) for text in references[start : start + _BLOCK]]
            kinds = _kinds([self._words(text) for text in hypotheses[start : start + _BLOCK]], words)
            counts += [EditCount(s, b, i, d, len(pe)) for (s, b, i, d), pe in zip(kinds.tolist(), words, strict=True)]
        return counts

    def script(self, hypothesis: str, reference: str) -> EditScript:
        """Return the edits of one sentence with their positions."""
        words = self._words(hypothesis)
        ids = _Ids()
        h_ids, r_ids = ids.of([words]).ids, ids.of([self._words(reference)]).ids
        order, ops, shifts = ter_kernel.find_script(h_ids, r_ids, len(ids))
        return EditScript(
            tuple(Shift(*shift) for shift in shifts.tolist()),
            tuple(words[position] for position in order.tolist()),
            tuple(_OPS[op] for op in ops.tolist()),
        )

    def _words(self, text: str) -> Words:
        if self.normalized or self.no_punct:
            words: list[str] = self._preprocess_segment(text).split()
            return words
        return (text if self.case_sensitive else text.lower()).split()

    def _extract_corpus_statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]] | None
    ) -> list[list[float]]:
        """Return for each segment the edits from its nearest reference and the mean length of its references.

        Raises:
            RuntimeError: if references are neither given nor cached.
        """
        if references:
            sets = [[self._words(text) for text in texts if text is not None] for texts in zip(*references)]
            counts = {len(texts) for texts in sets}
            self.num_refs = counts.pop() if len(counts) == 1 else -1
        elif self._ref_cache:
            sets = [entry["ref_words"] for entry in self._ref_cache]
        else:
            raise RuntimeError("No references provided and the cache is empty.")
        statistics: list[list[float]] = []
        for start in range(0, len(hypotheses), _BLOCK):
            statistics += _statistics(
                [self._words(text) for text in hypotheses[start : start + _BLOCK]], sets[start : start + _BLOCK]
            )
        return statistics

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        return {"ref_words": [ref.split() for ref in refs]}


def _statistics(hypotheses: Sequence[Words], references: Sequence[Sequence[Words]]) -> list[list[float]]:
    pairs = [(words, reference) for words, nearby in zip(hypotheses, references) for reference in nearby]
    edits = iter(_kinds([words for words, _ in pairs], [reference for _, reference in pairs]).sum(1).tolist())
    return [
        [min(next(edits) for _ in nearby), sum(map(len, nearby)) / len(nearby)]
        for _, nearby in zip(hypotheses, references)
    ]


class _Texts(NamedTuple):
    """Texts one after the other: Int32, the ids of their words, and Int64[texts + 1], where each ends."""

    ids: NDArray[np.int32]
    ends: NDArray[np.int64]


class _Ids:
    """Numbers for words, as they come."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict()
        self._numbers.default_factory = self._numbers.__len__

    def __len__(self) -> int:
        return len(self._numbers)

    def of(self, texts: Sequence[Words]) -> _Texts:
        ends = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=ends[1:])
        numbers = map(self._numbers.__getitem__, chain.from_iterable(texts))
        return _Texts(np.fromiter(numbers, np.int32, int(ends[-1])), ends)


def _kinds(hypotheses: Sequence[Words], references: Sequence[Words]) -> NDArray[np.int32]:
    """Return Int32[pairs,4]: shifts, substitutions, insertions and deletions."""
    ids = _Ids()
    h, r = ids.of(hypotheses), ids.of(references)
    kinds = np.zeros((len(hypotheses), 4), np.int32)

    def count(start: int) -> None:
        end = min(start + _CHUNK, len(hypotheses))
        ter_kernel.count_kinds(h.ids, h.ends, r.ids, r.ends, len(ids), start, end, kinds)

    starts = range(0, len(hypotheses), _CHUNK)
    if len(starts) <= 1:
        count(0)
    else:
        with ThreadPoolExecutor(min(len(starts), os.cpu_count() or 1)) as threads:
            list(threads.map(count, starts))
    return kinds


def count_edits(
    hypotheses: Sequence[str], references: Sequence[str], *, case_sensitive: bool = True, normalise: bool = False
) -> list[EditCount]:
    """Return the edits of each sentence.

    Args:
        hypotheses: one a line.
        references: as many.
        case_sensitive: whether a difference of case alone is an edit.
        normalise: divide the text into words by Tercom's own rules, for text that is not tokenised.

    Raises:
        ValueError: if the numbers of lines differ.
    """
    return _metric(case_sensitive, normalise).edits(hypotheses, references)


def edit_rate(counts: Iterable[EditCount]) -> float:
    """Return TER in per cent over all sentences together."""
    edits = length = 0
    for count in counts:
        edits += count.edits
        length += count.length
    if length == 0:
        return _NOT_EMPTY if edits else 0.0
    return 100.0 * edits / length


def ter_signature(*, case_sensitive: bool = True, normalise: bool = False) -> str:
    """Return the signature, in sacrebleu's form, of TER counted with these options."""
    metric = _metric(case_sensitive, normalise)
    metric.sentence_score("", [""])  # sacrebleu knows the number of references only after a score
    return str(metric.get_signature())


@lru_cache
def _metric(case_sensitive: bool, normalise: bool) -> TER:
    return TER(case_sensitive=case_sensitive, normalized=normalise)
