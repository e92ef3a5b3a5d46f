"""Translation edit rate and its edits, sentence by sentence: as `sacrebleu.metrics.TER`, but in compiled code."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics import ter as sacrebleu_ter

from postedit.core.errors import DataError
from postedit.core.processes import usable_cores
from postedit.core.wording import counted
from postedit.evaluate import ter_kernel
from postedit.evaluate.given_texts import lines_of
from postedit.evaluate.ter_words import NumberedTexts, number_words
from postedit.evaluate.tokenisation import Tokenize, characters_of

_EMPTY_REFERENCE: Final = 100.0  # TER in per cent if the hypothesis has words and the reference none, as in sacrebleu
_BLOCK: Final = 2**16  # pairs whose words are mapped to ids at a time, so that memory does not grow with the corpus
_CHUNK: Final = 2**10  # pairs that a thread takes at a time; few, because some pairs take much longer than others

Op = Literal["keep", "substitute", "insert", "delete"]

_OPS: Final[tuple[Op, ...]] = ("keep", "substitute", "insert", "delete")


@dataclass(frozen=True, slots=True)
class EditCount:
    """Counts of the edits that turn a hypothesis into its reference, and of the reference words (`length`)."""

    shifts: int  # blocks of words moved
    substitutions: int
    insertions: int  # words of the reference that the hypothesis lacks
    deletions: int  # words of the hypothesis that the reference lacks
    length: int

    @property
    def edits(self) -> int:
        """The number of edits of all kinds."""
        return self.shifts + self.substitutions + self.insertions + self.deletions


class Shift(NamedTuple):
    """A move of the `length` words from position `start` to before the word at `target`.

    Positions refer to the hypothesis after all earlier shifts. A block whose target lies inside itself or directly
    after it moves right by `target - start` words, as in Tercom, or to the end of the hypothesis if that is nearer.
    """

    start: int
    length: int
    target: int


class PlacedEdit(NamedTuple):
    """A substitution, insertion or deletion of one word.

    Args:
        op: the operation; never "keep".
        hypothesis: position of the word in the hypothesis before any shift; None for an insertion.
        reference: position of the new word in the reference; None for a deletion.
    """

    op: Op
    hypothesis: int | None
    reference: int | None


@dataclass(frozen=True, slots=True)
class EditScript:
    """The edits that turn a hypothesis into its reference: first shifts, in order, then one operation per word.

    Args:
        hypothesis: words of the hypothesis as TER compares them, after its options for case and normalisation have been
            applied; positions count from 0.
        reference: words of the reference, likewise.
        shifts: moves of blocks of words, in order.
        order: for each position after all shifts, the original position of the word.
        ops: operations from left to right; "keep" and "substitute" consume a word of both texts, "delete" one of the
            hypothesis, "insert" one of the reference.
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
        """The number of edits of each kind."""
        substitutions, insertions, deletions = map(self.ops.count, ("substitute", "insert", "delete"))
        return EditCount(len(self.shifts), substitutions, insertions, deletions, len(self.reference))

    @property
    def shifted(self) -> tuple[str, ...]:
        """The words of the hypothesis after all shifts."""
        return tuple([self.hypothesis[position] for position in self.order]) if self.shifts else self.hypothesis

    @property
    def word_edits(self) -> list[PlacedEdit]:
        """Substitutions, insertions and deletions with their positions, from left to right in the reference."""
        theirs, ours = iter(self.order), iter(range(len(self.reference)))
        steps = [
            PlacedEdit(op, None if op == "insert" else next(theirs), None if op == "delete" else next(ours))
            for op in self.ops
        ]
        return [step for step in steps if step.op != "keep"]


class TER(sacrebleu_ter.TER):
    """`sacrebleu.metrics.TER` with the same arguments, scores and signature, in compiled code on all cores."""

    def edits(self, hypotheses: Iterable[str], references: Iterable[str]) -> list[EditScript]:
        """Return the edits of each sentence with their positions, given one reference per hypothesis.

        Raises:
            DataError: if an argument is not a list of strings, or their lengths differ.
        """
        return [script for block in self._blocks(hypotheses, references) for script in _scripts(*block)]

    def counts(self, hypotheses: Iterable[str], references: Iterable[str]) -> list[EditCount]:
        """Return the number of edits of each kind for each sentence; faster than `edits`, same errors."""
        counts = []
        for block in self._blocks(hypotheses, references):
            kinds, lengths = _kinds(*block)
            rows = zip(kinds.tolist(), lengths.tolist(), strict=True)
            counts += [EditCount(s, b, i, d, length) for (s, b, i, d), length in rows]
        return counts

    def _blocks(self, hypotheses: Iterable[str], references: Iterable[str]) -> Iterator[tuple[list[str], list[str]]]:
        """Yield preprocessed hypotheses and references, `_BLOCK` pairs at a time."""
        ours, theirs = _texts_of("hypotheses", hypotheses), _texts_of("references", references)
        if len(ours) != len(theirs):
            found = counted(len(ours), "text")
            raise DataError(f"hypotheses has {found} and references {len(theirs):,}; both must have the same number")
        for start in range(0, len(ours), _BLOCK):
            rows = slice(start, start + _BLOCK)
            yield self._texts(ours[rows]), self._references(theirs[rows])

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the words of each text after the preprocessing of hypotheses."""
        return [text.split() for text in self._texts(texts)]

    def _texts(self, texts: Sequence[str]) -> list[str]:
        """Return preprocessed texts, their words separated by spaces."""
        if self.normalized or self.no_punct:
            return [self._preprocess_segment(text) for text in texts]
        return list(texts) if self.case_sensitive else [text.lower() for text in texts]

    def _references(self, texts: Sequence[str]) -> list[str]:
        """Return preprocessed references.

        sacrebleu normalises references twice, which can give another result: "..0" becomes ". .0", and then ". . 0".
        """
        return self._texts(self._texts(texts)) if self.normalized else self._texts(texts)

    def _extract_corpus_statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]] | None
    ) -> list[list[float]]:
        """Return, for each segment, the number of edits to its nearest reference and the mean length of its references.

        Without `references`, those that sacrebleu has cached are used.
        """
        if references:
            for number, texts in enumerate(references, start=1):
                if len(texts) != len(hypotheses):
                    found = counted(len(texts), "segment")
                    raise DataError(
                        f"reference {number} has {found}, and the hypotheses have {len(hypotheses):,}; each needs one"
                    )
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
        return {"ref_words": [ref.split() for ref in self._texts(refs)]}  # sacrebleu has already normalised them once


def _texts_of(name: str, given: Iterable[str]) -> Sequence[str]:
    """Return a list of strings or stored lines unchanged, and others as `lines_of` does, with its DataError."""
    if isinstance(given, list) and all(isinstance(text, str) for text in given):
        return given
    return lines_of(name, given)


def _statistics(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[list[float]]:
    counts = [len(nearby) for nearby in references]
    if 0 in counts:
        raise ValueError(f"segment {counts.index(0) + 1} has no reference")
    repeated = [text for text, count in zip(hypotheses, counts) for _ in range(count)]
    kinds, lengths = _kinds(repeated, [text for nearby in references for text in nearby])
    first = np.cumsum([0, *counts[:-1]])
    columns = [np.minimum.reduceat(kinds.sum(1), first), np.add.reduceat(lengths, first) / counts]
    return [[float(edits), float(length)] for edits, length in zip(*columns)]


def _kinds(hypotheses: Sequence[str], references: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the number of edits of each pair by kind, Int32[pairs,4], and of reference words, Int64[pairs]."""
    (h, r), vocabulary = number_words(hypotheses, references)
    kinds = np.zeros((len(hypotheses), 4), np.int32)
    _in_threads(ter_kernel.count_kinds, h, r, vocabulary, kinds)
    return kinds, np.diff(r.ends)


def _scripts(hypotheses: Sequence[str], references: Sequence[str]) -> Iterator[EditScript]:
    """Yield the edit script of each pair; all are computed before the first is yielded."""
    (h, r), vocabulary = number_words(hypotheses, references)
    found = ter_kernel.new_scripts(h.ends, r.ends)
    _in_threads(ter_kernel.find_scripts, h, r, vocabulary, found)
    for index, (hypothesis, reference) in enumerate(zip(hypotheses, references)):
        first, (shifts, ops) = found.first[index], found.sizes[index]
        yield EditScript(
            tuple(hypothesis.split()),
            tuple(reference.split()),
            tuple([Shift(*shift) for shift in found.shifts[first : first + shifts].tolist()]),
            tuple(found.order[h.ends[index] : h.ends[index + 1]].tolist()),
            tuple([_OPS[op] for op in found.ops[first : first + ops].tolist()]),
        )


def _in_threads(function: Callable[..., None], h: NumberedTexts, r: NumberedTexts, vocabulary: int, found: Any) -> None:
    """Call a function of `ter_kernel` that writes into `found` for each `_CHUNK` of pairs, in threads."""
    pairs = len(h.ends) - 1
    starts = range(0, pairs, _CHUNK)

    def work(start: int) -> None:
        function(h.ids, h.ends, r.ids, r.ends, vocabulary, start, min(start + _CHUNK, pairs), found)

    if len(starts) <= 1:
        work(0)
    else:
        with ThreadPoolExecutor(min(len(starts), usable_cores())) as threads:
            list(threads.map(work, starts))


class CharacterTER(TER):
    """Case-sensitive TER of characters in place of words; spaces do not count."""

    def __init__(self) -> None:
        super().__init__(case_sensitive=True)

    def _texts(self, texts: Sequence[str]) -> list[str]:
        return [" ".join(characters_of(text)) for text in texts]


@lru_cache
def metric_for(tokenize: Tokenize) -> TER:
    """Return case-sensitive TER for texts that are to be divided as `tokenize` says."""
    return CharacterTER() if tokenize == "characters" else TER(case_sensitive=True, normalized=tokenize == "13a")


def count_edits(hypotheses: Iterable[str], references: Iterable[str], tokenize: Tokenize = "none") -> list[EditCount]:
    """Return the number of edits of each kind for each sentence, by case-sensitive TER.

    Raises:
        DataError: if an argument is not a list of strings, or their lengths differ.
    """
    return metric_for(tokenize).counts(hypotheses, references)


def words_of(texts: Sequence[str], tokenize: Tokenize) -> list[list[str]]:
    """Return the words of each text as case-sensitive TER compares them."""
    return metric_for(tokenize).words(texts)


def edit_rate(counts: Iterable[EditCount]) -> float:
    """Return the TER of a corpus in per cent: the edits of all sentences per 100 reference words."""
    sums = [(count.edits, count.length) for count in counts]
    edits, length = (sum(column) for column in zip(*sums)) if sums else (0, 0)
    return 100.0 * edits / length if length else (_EMPTY_REFERENCE if edits else 0.0)


def ter_signature(tokenize: Tokenize = "none") -> str:
    """Return the signature of case-sensitive TER, in sacrebleu's format."""
    metric = metric_for(tokenize)
    metric.sentence_score("", [""])  # sacrebleu knows the number of references only after a score
    return str(metric.get_signature()) + ", of characters" * (tokenize == "characters")
