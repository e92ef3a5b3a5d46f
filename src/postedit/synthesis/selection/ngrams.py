"""Estimate n-gram language models with interpolated modified Kneser-Ney smoothing (Chen and Goodman 1999, section 3).

The models are ARPA files, which KenLM and every other tool for n-gram models can read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.errors import DataError
from postedit.core.files import atomic_write

_BOS, _EOS, _UNK = "<s>", "</s>", "<unk>"
_IMPOSSIBLE: Final = -99.0
"""Log probability of the start of sentence as a word, by convention of ARPA files."""

_DEFAULT_DISCOUNTS: Final = np.array([0.0, 0.5, 1.0, 1.5])
"""Discounts for texts too small to estimate them from counts of counts."""


@dataclass(frozen=True, slots=True)
class _Order:
    """All distinct k-grams of a text.

    Args:
        at: Int64, a position where each begins.
        counts: Float64, its frequency for the highest order and at the start of sentences; for lower orders, the number
            of distinct words before it.
        of_position: Int64, the k-gram that begins at each position of the text; -1 where the sentence is too short.
    """

    at: NDArray[np.int64]
    counts: NDArray[np.float64]
    of_position: NDArray[np.int64]


def estimate_ngrams(sentences: Iterable[str], order: int, path: Path) -> None:
    """Write the model of some sentences as an ARPA file.

    Args:
        sentences: the text, with words separated by white space; held in memory as integers, so meant for some hundred
            thousand sentences.
        order: words of the longest n-grams; at least 2.
        path: the ARPA file.

    Raises:
        DataError: if there is no word.
        OutputError: if the file cannot be written.
    """
    words, text, starts = _numbered(sentences)
    orders = _count_ngrams(text, starts, len(words), order)
    with atomic_write(path) as file:
        file.write(
            "\\data\\\n" + "".join(f"ngram {k}={len(found.at) + (k == 1)}\n" for k, found in enumerate(orders, 1))
        )
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
    """Return the words by id, the text as ids with sentence marks, and the positions where sentences start."""
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
    """Return the k-grams of all orders, with continuation counts for the lower ones."""
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
    """Return Float64[4]: the discounts of counts 0, 1, 2, and 3 or more (Chen and Goodman 1999, eq. 17)."""
    n1, n2, n3, n4 = (float((counts == count).sum()) for count in range(1, 5))
    if not (n1 and n2 and n3 and n4):
        return _DEFAULT_DISCOUNTS
    y = n1 / (n1 + 2 * n2)
    found = np.array([0.0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3])
    return found if (found[1:] > 0).all() else _DEFAULT_DISCOUNTS


def _discount_of_each(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return _discounts(counts)[np.minimum(counts, 3).astype(np.int64)]


def _contexts(orders: Sequence[_Order], k: int) -> NDArray[np.int64]:
    """Return the (k-1)-gram that each k-gram begins with; the empty context, 0, if k is 1."""
    return orders[k - 2].of_position[orders[k - 1].at] if k > 1 else np.zeros(len(orders[0].at), np.int64)


def _backoffs(orders: Sequence[_Order], k: int) -> NDArray[np.float64]:
    """Return Float64: for each k-gram as a context, the probability mass left to the shorter context."""
    higher, contexts, size = orders[k], _contexts(orders, k + 1), len(orders[k - 1].at)
    total = np.bincount(contexts, higher.counts, size)
    left = np.bincount(contexts, _discount_of_each(higher.counts), size)
    return np.divide(left, total, out=np.ones(size), where=total > 0)


def _probabilities(
    orders: Sequence[_Order], k: int, lower: NDArray[np.float64] | None, words: int
) -> NDArray[np.float64]:
    """Return Float64: the probability of the last word of each k-gram given the others.

    Args:
        orders: the k-grams of all orders.
        k: the order.
        lower: the probabilities of order k - 1; None if k is 1.
        words: size of the vocabulary.
    """
    found, contexts = orders[k - 1], _contexts(orders, k)
    total = np.bincount(contexts, found.counts)[contexts]
    kept = (found.counts - _discount_of_each(found.counts)) / total
    if lower is None:
        return kept + _uniform_share(found, words)
    shorter = orders[k - 2].of_position[found.at + 1]
    return kept + _backoffs(orders, k - 1)[contexts] * lower[shorter]


def _uniform_share(found: _Order, words: int) -> float:
    """Return the probability that interpolation with a uniform distribution adds to each word, also the unknown one."""
    # `words` counts <s>, which is never predicted, and not the unknown word.
    return float(_discount_of_each(found.counts).sum() / found.counts.sum() / words)
