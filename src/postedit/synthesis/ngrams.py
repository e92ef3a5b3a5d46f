"""N-gram models that tell in-domain text from other text: estimated here, queried by KenLM.

Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1999, section 3), written as an ARPA file, which every tool
for such models can read: one that was made elsewhere will do as well.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.errors import DataError
from postedit.core.extras import library
from postedit.core.files import atomic_write

_BOS, _EOS, _UNK = "<s>", "</s>", "<unk>"
_NEVER: Final = -99.0
"""The logarithm that ARPA files have for what is never asked for: the beginning of a sentence as a word."""

_FALLBACK: Final = np.array([0.0, 0.5, 1.0, 1.5])
"""Discounts for a text so small that they cannot be estimated from its counts of counts."""


@dataclass(frozen=True, slots=True)
class _Order:
    """All different k-grams of a text.

    Args:
        at: Int64, a place where each one begins.
        counts: Float64, how often each is there; or, below the highest order, after how many different words, unless it
            begins a sentence.
        of_place: Int64, which k-gram begins at each place of the text; -1 where the sentence is too short for one.
    """

    at: NDArray[np.int64]
    counts: NDArray[np.float64]
    of_place: NDArray[np.int64]


def estimate(sentences: Iterable[str], order: int, path: Path) -> None:
    """Write the model of sentences, whose words are divided by spaces, as an ARPA file.

    Args:
        sentences: the text; held in memory as numbers, so some hundred thousand are meant.
        order: words of the longest n-grams; at least 2.
        path: of the file.

    Raises:
        DataError: if there is no word.
        OutputError: if the file cannot be written.
    """
    words, text, first = _numbered(sentences)
    orders = _counted(text, first, len(words), order)
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
            for number, place in enumerate(orders[k - 1].at.tolist()):
                gram = " ".join(words[word] for word in text[place : place + k].tolist())
                log = _NEVER if gram == _BOS else logs[number]
                weight = "" if weights is None else f"\t{weights[number]:.6f}"
                file.write(f"{log:.6f}\t{gram}{weight}\n")
            if k == 1:
                unknown = np.log10(_unigram_rest(orders[0], len(words)))
                file.write(f"{unknown:.6f}\t{_UNK}" + ("\t0\n" if weights is not None else "\n"))
        file.write("\n\\end\\\n")


def _numbered(sentences: Iterable[str]) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Return the words by number, the text as numbers, each sentence between its marks, and where sentences begin."""
    numbers = {_BOS: 0, _EOS: 1}
    text: list[int] = []
    first: list[int] = []
    for sentence in sentences:
        found = [word for word in sentence.split() if word not in (_BOS, _EOS, _UNK)]
        if found:
            first.append(len(text))
            text += [0, *(numbers.setdefault(word, len(numbers)) for word in found), 1]
    if not text:
        raise DataError("there is no word to estimate an n-gram model from")
    return list(numbers), np.array(text), np.array([*first, len(text)])


def _counted(text: NDArray[np.int64], first: NDArray[np.int64], words: int, order: int) -> list[_Order]:
    """Return the k-grams of all orders, the lower ones counted by what comes before them."""
    left = np.repeat(first[1:], np.diff(first)) - np.arange(len(text))  # places to the end of the sentence
    orders: list[_Order] = []
    for k in range(1, order + 1):
        places = np.flatnonzero(left >= k)
        keys = text[places] if k == 1 else orders[-1].of_place[places] * words + text[places + k - 1]
        _, at, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        of_place = np.full(len(text), -1)
        of_place[places] = inverse
        orders.append(_Order(places[at], counts.astype(np.float64), of_place))
    for lower, higher in pairwise(orders):
        followed = lower.of_place[higher.at + 1]
        distinct = np.bincount(followed, minlength=len(lower.at)).astype(np.float64)
        begins = text[lower.at] == 0
        lower.counts[:] = np.where(begins, lower.counts, distinct)
    orders[0].counts[text[orders[0].at] == 0] = 0.0  # nothing predicts the beginning of a sentence
    return orders


def _discounts(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Float64[4]: what is taken from a count of 0, 1, 2, and 3 or more (Chen and Goodman 1999, eq. 17)."""
    n1, n2, n3, n4 = (float((counts == count).sum()) for count in range(1, 5))
    if not (n1 and n2 and n3 and n4):
        return _FALLBACK
    y = n1 / (n1 + 2 * n2)
    found = np.array([0.0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3])
    return found if (found[1:] > 0).all() else _FALLBACK


def _taken(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return _discounts(counts)[np.minimum(counts, 3).astype(np.int64)]


def _contexts(orders: Sequence[_Order], k: int) -> NDArray[np.int64]:
    """Return which (k-1)-gram each k-gram begins with; all have the same one, the empty one, if k is 1."""
    return orders[k - 2].of_place[orders[k - 1].at] if k > 1 else np.zeros(len(orders[0].at), np.int64)


def _backoffs(orders: Sequence[_Order], k: int) -> NDArray[np.float64]:
    """Return Float64: for each k-gram, the share of what may follow it that is left to shorter contexts."""
    higher, contexts, size = orders[k], _contexts(orders, k + 1), len(orders[k - 1].at)
    total = np.bincount(contexts, higher.counts, size)
    left = np.bincount(contexts, _taken(higher.counts), size)
    return np.divide(left, total, out=np.ones(size), where=total > 0)


def _probabilities(
    orders: Sequence[_Order], k: int, lower: NDArray[np.float64] | None, words: int
) -> NDArray[np.float64]:
    """Return Float64: the probability of the last word of each k-gram after the others."""
    found, contexts = orders[k - 1], _contexts(orders, k)
    total = np.bincount(contexts, found.counts)[contexts]
    kept = (found.counts - _taken(found.counts)) / total
    if lower is None:
        return kept + _unigram_rest(found, words)
    shorter = orders[k - 2].of_place[found.at + 1]
    return kept + _backoffs(orders, k - 1)[contexts] * lower[shorter]


def _unigram_rest(found: _Order, words: int) -> float:
    """Return the probability that each word has besides its own count: the unknown word's is that alone."""
    return float(_taken(found.counts).sum() / found.counts.sum() / words)  # all words but <s>, and the unknown one


class CrossEntropyDifference:
    """How much more a sentence looks like one text than like another (Moore and Lewis 2010).

    Args:
        inside: ARPA or KenLM file of the text to look for.
        outside: of the other text.

    Raises:
        RecipeError: if KenLM is not installed.
        DataError: if a file is no n-gram model.
    """

    def __init__(self, inside: Path, outside: Path) -> None:
        kenlm = library("kenlm", "choosing text of a domain", "roundtrip")
        self._inside, self._outside = (_loaded(kenlm, path) for path in (inside, outside))

    def __call__(self, sentence: str) -> float:
        """Return H_inside - H_outside, in bits a word, the end counted as one; the lower, the more alike."""
        words = len(sentence.split()) + 1
        difference: float = self._outside.score(sentence) - self._inside.score(sentence)
        return difference / words / float(np.log10(2))


def _loaded(kenlm: Any, path: Path) -> Any:
    try:
        return kenlm.Model(str(path))
    except (OSError, RuntimeError) as error:
        raise DataError(f"{path}: no n-gram model that KenLM can read: {str(error).partition(chr(10))[0]}") from None
