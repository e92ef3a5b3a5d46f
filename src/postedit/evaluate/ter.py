"""Translation edit rate, the one door to its implementation: exact as sacrebleu's, and many times faster.

Everything that needs TER asks here for counts of edits, sentence by sentence; corpus TER is their ratio.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics import ter as sacrebleu_ter

from postedit.evaluate import ter_pairs
from postedit.evaluate.ter_words import number_words

_NOT_EMPTY: Final = 100.0
"""TER, in per cent, of words where the reference has none: sacrebleu's convention."""

_BLOCK: Final = 2**16
"""Pairs that are turned into ids at a time, so that memory does not grow with the corpus."""

_CHUNK: Final = 2**10
"""Pairs that a thread works on at a time: some take much longer than others."""

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
    moves on by `target - start` words, as in Tercom, if there are so many after it.
    """

    start: int
    length: int
    target: int


class PlacedEdit(NamedTuple):
    """A word that is substituted, inserted or deleted.

    Args:
        op: which of these.
        hypothesis: its position there, before any shift; None for an insertion.
        reference: the position of the word of the reference that takes its place, or is inserted; None for a deletion.
    """

    op: Op
    hypothesis: int | None
    reference: int | None


@dataclass(frozen=True, slots=True)
class EditScript:
    """How to turn a hypothesis into its reference: shifts, in order, and then one operation for each word.

    `word_edits` are those of the operations that are edits, with their positions, and `count` is how many there are.
    Positions count words from 0 on, as they are compared: after lower-casing, dividing and so on, as TER is told to.

    Args:
        hypothesis: its words.
        reference: its words.
        shifts: what to move.
        order: which word of the hypothesis stands at each place after all shifts.
        ops: "keep" and "substitute" take a word of both texts, "delete" one of the hypothesis, "insert" one of the
            reference.
    """

    hypothesis: tuple[str, ...]
    reference: tuple[str, ...]
    shifts: tuple[Shift, ...]
    order: tuple[int, ...]
    ops: tuple[Op, ...]

    def __len__(self) -> int:
        """Return the number of edits."""
        return self.count.edits

    @property
    def count(self) -> EditCount:
        """The edits by kind."""
        substitutions, insertions, deletions = map(self.ops.count, ("substitute", "insert", "delete"))
        return EditCount(len(self.shifts), substitutions, insertions, deletions, len(self.reference))

    @property
    def shifted(self) -> tuple[str, ...]:
        """The words of the hypothesis after all shifts."""
        return tuple([self.hypothesis[position] for position in self.order]) if self.shifts else self.hypothesis

    @property
    def word_edits(self) -> list[PlacedEdit]:
        """All edits but the shifts, with their positions, from left to right in the reference."""
        theirs, ours = iter(self.order), iter(range(len(self.reference)))
        steps = [
            PlacedEdit(op, None if op == "insert" else next(theirs), None if op == "delete" else next(ours))
            for op in self.ops
        ]
        return [step for step in steps if step.op != "keep"]


class TER(sacrebleu_ter.TER):
    """`sacrebleu.metrics.TER` with the same arguments, scores and signature, computed by compiled code on all cores."""

    def edits(self, hypotheses: Sequence[str], references: Sequence[str]) -> list[EditScript]:
        """Return the edits of each sentence, with their kinds and positions.

        Raises:
            ValueError: if there are not as many references as hypotheses.
        """
        return [script for block in self._blocks(hypotheses, references) for script in _scripts(*block)]

    def counts(self, hypotheses: Sequence[str], references: Sequence[str]) -> list[EditCount]:
        """Return how many edits of each kind every sentence has, which takes less time than the edits themselves.

        Raises:
            ValueError: if there are not as many references as hypotheses.
        """
        counts = []
        for block in self._blocks(hypotheses, references):
            kinds, lengths = _kinds(*block)
            rows = zip(kinds.tolist(), lengths.tolist(), strict=True)
            counts += [EditCount(s, b, i, d, length) for (s, b, i, d), length in rows]
        return counts

    def _blocks(
        self, hypotheses: Sequence[str], references: Sequence[str]
    ) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
        """Yield both texts as they are compared, `_BLOCK` pairs at a time."""
        if len(hypotheses) != len(references):
            raise ValueError(f"{len(hypotheses)} hypotheses and {len(references)} references: must be equally many")
        for start in range(0, len(hypotheses), _BLOCK):
            end = start + _BLOCK
            yield self._texts(hypotheses[start:end]), self._references(references[start:end])

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the words of each text, as those of a hypothesis are compared."""
        return [text.split() for text in self._texts(texts)]

    def _texts(self, texts: Sequence[str]) -> list[str]:
        """Return texts as they are compared, their words divided by spaces."""
        if self.normalized or self.no_punct:
            return [self._preprocess_segment(text) for text in texts]
        return list(texts) if self.case_sensitive else [text.lower() for text in texts]

    def _references(self, texts: Sequence[str]) -> list[str]:
        """Return references as they are compared.

        sacrebleu normalises them twice, which is not always the same as once: "..0" is ". .0", and that is ". . 0".
        """
        return self._texts(self._texts(texts)) if self.normalized else self._texts(texts)

    def _extract_corpus_statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]] | None
    ) -> list[list[float]]:
        """Return for each segment the edits from its nearest reference and the mean length of its references.

        Raises:
            RuntimeError: if references are neither given nor cached.
            ValueError: if a segment has none.
        """
        if references:
            sets = [self._references([text for text in texts if text is not None]) for texts in zip(*references)]
            counts = {len(texts) for texts in sets}
            self.num_refs = counts.pop() if len(counts) == 1 else -1
        elif self._ref_cache:
            sets = [[" ".join(words) for words in entry["ref_words"]] for entry in self._ref_cache]
        else:
            raise RuntimeError("No references provided and the cache is empty.")
        statistics: list[list[float]] = []
        for start in range(0, len(hypotheses), _BLOCK):
            texts = self._texts(hypotheses[start : start + _BLOCK])
            statistics += _statistics(texts, sets[start : start + _BLOCK])
        return statistics

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        return {"ref_words": [ref.split() for ref in self._texts(refs)]}  # which sacrebleu has normalised once


def _statistics(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[list[float]]:
    counts = [len(nearby) for nearby in references]
    if 0 in counts:
        raise ValueError(f"segment {counts.index(0) + 1} has no reference")
    repeated = [text for text, count in zip(hypotheses, counts) for _ in range(count)]
    kinds, lengths = _kinds(repeated, [text for nearby in references for text in nearby])
    first = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    edits = np.minimum.reduceat(kinds.sum(1), first)
    mean = np.add.reduceat(lengths, first) / counts
    statistics: list[list[float]] = np.stack([edits, mean], 1).tolist()
    return statistics


def _kinds(hypotheses: Sequence[str], references: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return Int32[pairs,4], shifts, substitutions, insertions and deletions, and Int64[pairs], words a reference."""
    (h, r), vocabulary = number_words(hypotheses, references)
    kinds = np.zeros((len(hypotheses), 4), np.int32)

    def count(start: int) -> None:
        end = min(start + _CHUNK, len(hypotheses))
        ter_pairs.count_kinds(h.ids, h.ends, r.ids, r.ends, vocabulary, start, end, kinds)

    _in_threads(count, len(hypotheses))
    return kinds, np.diff(r.ends)


def _scripts(hypotheses: Sequence[str], references: Sequence[str]) -> Iterator[EditScript]:
    """Yield the script of each pair, all found before the first."""
    (h, r), vocabulary = number_words(hypotheses, references)
    found = ter_pairs.new_scripts(h.ends, r.ends)

    def find(start: int) -> None:
        end = min(start + _CHUNK, len(hypotheses))
        ter_pairs.find_scripts(h.ids, h.ends, r.ids, r.ends, vocabulary, start, end, found)

    _in_threads(find, len(hypotheses))
    for place, (hypothesis, reference) in enumerate(zip(hypotheses, references)):
        first, (shifts, ops) = found.first[place], found.sizes[place]
        yield EditScript(
            tuple(hypothesis.split()),
            tuple(reference.split()),
            tuple([Shift(*shift) for shift in found.shifts[first : first + shifts].tolist()]),
            tuple(found.order[h.ends[place] : h.ends[place + 1]].tolist()),
            tuple([_OPS[op] for op in found.ops[first : first + ops].tolist()]),
        )


def _in_threads(work: Callable[[int], None], pairs: int) -> None:
    """Do the work for each `_CHUNK` of pairs, given where it starts."""
    starts = range(0, pairs, _CHUNK)
    if len(starts) <= 1:
        work(0)
    else:
        with ThreadPoolExecutor(min(len(starts), os.cpu_count() or 1)) as threads:
            list(threads.map(work, starts))


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
    return _metric(case_sensitive, normalise).counts(hypotheses, references)


def split_words(texts: Sequence[str], *, normalise: bool = False) -> list[list[str]]:
    """Return the words of each text, between which case-sensitive TER counts edits.

    Args:
        texts: one a line.
        normalise: divide the text into words by Tercom's own rules, for text that is not tokenised.
    """
    return _metric(True, normalise).words(texts)


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
