"""Selection of sentences of a domain by the difference of two cross-entropies (Moore and Lewis 2010).

The paper gives both models one vocabulary, the words that occur at least twice in the domain. Here each model knows the
words of its own text, so a word that only the domain has speaks for a sentence, however rare it is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from postedit.core.errors import DataError, first_line, library
from postedit.core.files import atomic_write
from postedit.data.blocks import sample_evenly
from postedit.data.lines import read_lines
from postedit.distributed.chunks import Chunk

NOT_SELECTED: Final = "less like the domain"

_PURPOSE: Final = "selecting text of a domain (synth.choose below 1)"

_BOS, _EOS, _UNK = "<s>", "</s>", "<unk>"
_IMPOSSIBLE: Final = -99.0
"""Base-10 log-probability of the start of a sentence as a word, by the convention of ARPA files."""

_DEFAULT_DISCOUNTS: Final = np.array([0.0, 0.5, 1.0, 1.5])
"""Discounts for texts that are too small to estimate them from counts of counts."""


class CrossEntropyDifference:
    """The difference between the cross-entropies of a sentence under an in-domain and an out-of-domain model.

    Args:
        inside: ARPA or KenLM file of the in-domain model.
        outside: ARPA or KenLM file of the out-of-domain model.

    Raises:
        RecipeError: if KenLM is not installed.
        DataError: if a file is not an n-gram model.
    """

    def __init__(self, inside: Path, outside: Path) -> None:
        kenlm = library("kenlm", _PURPOSE, "roundtrip")
        self._models = []
        for path in (inside, outside):
            try:
                self._models.append(kenlm.Model(str(path)))
            except (OSError, RuntimeError) as error:
                raise DataError(f"{path}: no n-gram model that KenLM can read: {first_line(error)}") from None

    def __call__(self, sentence: str) -> float:
        """Return H_inside - H_outside in bits per word, counting the end of sentence; lower is more in-domain."""
        words = sentence.split()
        # KenLM itself divides at ASCII spaces only.
        inside, outside = (model.score(" ".join(words)) for model in self._models)
        difference: float = outside - inside
        return difference / (len(words) + 1) / float(np.log10(2))


def lowest(differences: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
    """Return whether each line is among the `share` of sentences with the lowest differences, Bool[lines].

    Lines with an infinite difference are not sentences and are never selected; of equal differences, the first ones
    are. The number of selected sentences is rounded, but at least one.
    """
    sentences = int(np.isfinite(differences).sum())
    count = min(sentences, max(1, round(share * sentences)))
    kept = np.zeros(len(differences), np.bool_)
    kept[np.argsort(differences, kind="stable")[:count]] = True
    return kept


@dataclass(frozen=True, slots=True)
class SentenceSelection:
    """A stage that keeps selected lines of the side pe. The processes that run it need no n-gram models."""

    kept: bytes  # one bit per line of the text, the first line in the highest bit

    @classmethod
    def of(cls, kept: NDArray[np.bool_]) -> Self:
        """Return the stage that keeps the lines where `kept`, Bool[lines], is true."""
        return cls(np.packbits(kept).tobytes())

    def __call__(self, chunk: Chunk) -> Chunk:
        """Return the selected lines of a chunk."""
        first, last = chunk.first_line, chunk.first_line + chunk.size
        bits = np.unpackbits(np.frombuffer(self.kept, np.uint8)[first // 8 : -(-last // 8)])[first % 8 :]
        kept = [line for line, bit in zip(chunk.lines("pe"), bits) if bit]
        return chunk.with_lines({"pe": kept}, {"kept": len(kept), NOT_SELECTED: chunk.size - len(kept)})


def select_sentences(
    text: Path, total: int, domain: Sequence[str], *, share: float, order: int, models: tuple[Path, Path]
) -> SentenceSelection:
    """Estimate two n-gram models and select the sentences of a text that are most like the domain.

    The out-of-domain model is estimated on a sample of the text as large as the domain. The selection takes 8 bytes of
    memory per line.

    Args:
        text: file of sentences.
        total: number of lines of the file.
        domain: sentences of the domain.
        share: share of the sentences to select, 0 to 1.
        order: order of the models.
        models: files to which the in-domain and the out-of-domain model are written.

    Raises:
        DataError: if the text cannot be read.
        RecipeError: if KenLM is not installed.
    """
    library("kenlm", _PURPOSE, "roundtrip")  # before long work
    sample: Iterable[str] = sample_evenly(read_lines(text), total, len(domain))
    for sentences, path in zip((domain, sample), models):
        estimate_ngrams(sentences, order, path)
    difference = CrossEntropyDifference(*models)
    differences = (difference(line) if line.strip() else np.inf for line in read_lines(text))
    return SentenceSelection.of(lowest(np.fromiter(differences, np.float64, total), share))


@dataclass(frozen=True, slots=True)
class _Order:
    """All distinct k-grams of a text.

    `counts` has the frequencies of k-grams of the highest order and of those that start a sentence; for the others, the
    number of distinct words before them.
    """

    at: NDArray[np.int64]  # a position at which each k-gram begins
    counts: NDArray[np.float64]
    of_position: NDArray[np.int64]  # the k-gram that begins at each position; -1 if the rest of the sentence is shorter


def estimate_ngrams(sentences: Iterable[str], order: int, path: Path) -> None:
    """Write an n-gram model of sentences as an ARPA file, which KenLM and other n-gram tools can read.

    It has interpolated modified Kneser-Ney smoothing (Chen and Goodman 1999, section 3).

    Args:
        sentences: sentences with words separated by white space. The text is held in memory as integers.
        order: words of the longest n-grams; at least 2.
        path: path of the ARPA file.

    Raises:
        DataError: if the sentences have no words.
        OutputError: if the file cannot be written.
    """
    words, text, starts = _numbered(sentences)
    orders = _count_ngrams(text, starts, len(words), order)
    with atomic_write(path) as file:
        sizes = (f"ngram {k}={len(found.at) + (k == 1)}\n" for k, found in enumerate(orders, start=1))
        file.write("\\data\\\n" + "".join(sizes))
        lower: NDArray[np.float64] | None = None
        backoffs = [_backoffs(orders, k) for k in range(1, order)]
        for k in range(1, order + 1):
            lower = _probabilities(orders, k, lower, len(words))
            logs = np.log10(lower)
            weights = np.log10(backoffs[k - 1]) if k < order else None
            file.write(f"\n\\{k}-grams:\n")
            for number, position in enumerate(orders[k - 1].at.tolist()):
                gram = " ".join(words[word] for word in text[position : position + k].tolist())
                log = _IMPOSSIBLE if gram == _BOS else logs[number]
                weight = "" if weights is None else f"\t{weights[number]:.6f}"
                file.write(f"{log:.6f}\t{gram}{weight}\n")
            if k == 1:
                unknown = np.log10(_uniform_share(orders[0], len(words)))
                file.write(f"{unknown:.6f}\t{_UNK}" + ("\t0\n" if weights is not None else "\n"))
        file.write("\n\\end\\\n")


def _numbered(sentences: Iterable[str]) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Return the words by id, the text as ids with sentence marks, and the positions where sentences start.

    The last position is the end of the text.
    """
    ids = {_BOS: 0, _EOS: 1}
    text: list[int] = []
    starts: list[int] = []
    for sentence in sentences:
        found = [word for word in sentence.split() if word not in (_BOS, _EOS, _UNK)]
        if found:
            starts.append(len(text))
            text += [0, *(ids.setdefault(word, len(ids)) for word in found), 1]
    if not text:
        raise DataError("there is no word to estimate an n-gram model from")
    return list(ids), np.array(text), np.array([*starts, len(text)])


def _count_ngrams(text: NDArray[np.int64], starts: NDArray[np.int64], words: int, order: int) -> list[_Order]:
    left = np.repeat(starts[1:], np.diff(starts)) - np.arange(len(text))  # positions to the end of the sentence
    orders: list[_Order] = []
    for k in range(1, order + 1):
        places = np.flatnonzero(left >= k)
        keys = text[places] if k == 1 else orders[-1].of_position[places] * words + text[places + k - 1]
        _, at, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        of_position = np.full(len(text), -1)
        of_position[places] = inverse
        orders.append(_Order(places[at], counts.astype(np.float64), of_position))
    for lower, higher in pairwise(orders):
        suffixes = lower.of_position[higher.at + 1]
        distinct = np.bincount(suffixes, minlength=len(lower.at)).astype(np.float64)
        starts_sentence = text[lower.at] == 0
        lower.counts[:] = np.where(starts_sentence, lower.counts, distinct)
    orders[0].counts[text[orders[0].at] == 0] = 0.0  # the start of a sentence is never predicted
    return orders


def _discounts(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the discount of each count: one of four, for 0, 1, 2, and 3 or more (Chen and Goodman 1999, eq. 17)."""
    discounts = _DEFAULT_DISCOUNTS
    n1, n2, n3, n4 = (float((counts == count).sum()) for count in range(1, 5))
    if n1 and n2 and n3 and n4:
        y = n1 / (n1 + 2 * n2)
        estimated = np.array([0.0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3])
        discounts = estimated if (estimated[1:] > 0).all() else discounts
    return discounts[np.minimum(counts, 3).astype(np.int64)]


def _contexts(orders: Sequence[_Order], k: int) -> NDArray[np.int64]:
    """Return the number of the (k-1)-gram that each k-gram begins with; 0, the empty context, if k is 1."""
    return orders[k - 2].of_position[orders[k - 1].at] if k > 1 else np.zeros(len(orders[0].at), np.int64)


def _backoffs(orders: Sequence[_Order], k: int) -> NDArray[np.float64]:
    """Return the probability mass that each k-gram, as a context, leaves to the shorter context, Float[k-grams]."""
    higher, contexts, size = orders[k], _contexts(orders, k + 1), len(orders[k - 1].at)
    total = np.bincount(contexts, higher.counts, size)
    left = np.bincount(contexts, _discounts(higher.counts), size)
    return np.divide(left, total, out=np.ones(size), where=total > 0)


def _probabilities(
    orders: Sequence[_Order], k: int, lower: NDArray[np.float64] | None, words: int
) -> NDArray[np.float64]:
    """Return the probability of the last word of each k-gram given the others, Float[k-grams].

    `lower` has the probabilities of order k - 1, or is None if k is 1; `words` is the size of the vocabulary.
    """
    found, contexts = orders[k - 1], _contexts(orders, k)
    total = np.bincount(contexts, found.counts)[contexts]
    kept = (found.counts - _discounts(found.counts)) / total
    if lower is None:
        return kept + _uniform_share(found, words)
    shorter = orders[k - 2].of_position[found.at + 1]
    return kept + _backoffs(orders, k - 1)[contexts] * lower[shorter]


def _uniform_share(found: _Order, words: int) -> float:
    """Return the probability that interpolation with a uniform distribution adds to each word, even the unknown one."""
    # `words` includes <s>, which is never predicted, but not the unknown word, so the numbers are equal.
    return float(_discounts(found.counts).sum() / found.counts.sum() / words)
