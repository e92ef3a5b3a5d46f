"""chrF (Popović 2015) as a function of sums over sentences, counted for many sentences at a time.

The six characters that begin at each position are packed into one number; sorting these numbers brings equal n-grams of
all orders together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from sacrebleu.metrics.chrf import CHRF

from postedit.evaluate.metrics import Floats, Ints, metric_signature

_ORDERS: Final = CHRF.CHAR_ORDER
_BETA: Final = CHRF.BETA

_BLOCK: Final = 2000  # sentences counted at a time, to bound memory
_CODE_BITS: Final = 21  # bits of a Unicode code point
_KEY_BITS: Final = 63  # bits of a non-negative int64


@dataclass(frozen=True, slots=True)
class AdditiveCHRF:
    """chrF2 with sacrebleu's defaults: n-grams of 1 to 6 characters without spaces, however the text is tokenised.

    Its statistics are, for each of the six orders, the matching n-grams, then those of the output, then those of the
    reference; the last one is the number of words of the reference.
    """

    @property
    def signature(self) -> str:
        """The signature in sacrebleu's format."""
        return metric_signature(CHRF())

    def statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> Floats:
        """Return the statistics of each sentence, Float[sentences,19]."""
        if len(hypotheses) != len(references):
            raise ValueError(f"{len(hypotheses)} outputs and {len(references)} references")
        parts = [np.zeros((0, 3 * _ORDERS + 1))]
        for start in range(0, len(references), _BLOCK):
            rows = slice(start, start + _BLOCK)
            words = [len(text.split()) for text in references[rows]]
            counts = _counts(["".join(text.split()) for side in (hypotheses, references) for text in side[rows]])
            parts.append(np.column_stack([counts, words]).astype(np.float64))
        return np.concatenate(parts)

    def loss(self, sums: Floats) -> Floats:
        """Return 100 - chrF, Float[...], from sums Float[...,19]."""
        matches, written, wanted = (sums[..., index * _ORDERS : (index + 1) * _ORDERS] for index in range(3))
        known = (written > 0) & (wanted > 0)
        orders = np.maximum(1, known.sum(-1))
        precision, recall = (
            np.where(known, matches / np.maximum(totals, 1.0), 0.0).sum(-1) / orders for totals in (written, wanted)
        )
        both = _BETA**2 * precision + recall
        return np.asarray(100.0 - 100.0 * (1 + _BETA**2) * precision * recall / np.where(both > 0, both, 1.0))

    def score(self, loss: float) -> float:
        """Return chrF, 0 to 100."""
        return 100.0 - loss


def _counts(texts: Sequence[str]) -> Ints:
    """Return matching n-grams, those of outputs and those of references, Int[sentences,18].

    `texts` are all outputs, then all references, without spaces.
    """
    pairs = len(texts) // 2
    sizes = np.array([len(text) for text in texts])
    orders = np.arange(_ORDERS)
    written, wanted = np.maximum(0, sizes.reshape(2, pairs, 1) - orders)
    # As in sacrebleu, n-grams of the output are not counted if the reference is too short to have any of that order.
    return np.column_stack([_matches(texts, sizes), np.where(wanted > 0, written, 0), wanted])


def _matches(texts: Sequence[str], sizes: Ints) -> Ints:
    """Return the number of n-grams of each order that output and reference have in common, Int[sentences,6]."""
    pairs = len(texts) // 2
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    if not codes.size:
        return np.zeros((pairs, _ORDERS), np.int64)
    text = np.repeat(np.arange(len(texts)), sizes)
    pair = text % pairs
    letters = _numbered(codes, pair)
    bits = int(letters.max()).bit_length()
    if pairs.bit_length() + _ORDERS * bits + 1 > _KEY_BITS:
        return _matches_of_parts(texts, sizes)
    left = np.repeat(np.cumsum(sizes), sizes) - np.arange(codes.size)  # characters from this one to the end of its text
    keys = pair
    for offset in range(_ORDERS):
        keys = (keys << bits) | np.where(offset < left, np.roll(letters, -offset), 0)
    keys = np.sort((keys << 1) | (text >= pairs))
    of_reference = keys & 1
    result = []
    for order in range(1, _ORDERS + 1):
        ngrams = keys >> (1 + bits * (_ORDERS - order))
        starts = np.flatnonzero(np.diff(ngrams, prepend=-1))
        whole = (ngrams[starts] & ((1 << bits) - 1)) > 0  # whether the n-gram ends within its text
        wanted = np.add.reduceat(of_reference, starts)
        common = np.minimum(wanted, np.diff(starts, append=keys.size) - wanted) * whole
        result.append(np.bincount(ngrams[starts] >> (bits * order), common, pairs))
    return np.stack(result, 1).astype(np.int64)


def _numbered(codes: Ints, pair: Ints) -> Ints:
    """Number the distinct characters of each pair of texts from 1, so that each number takes few bits."""
    known, letters = np.unique((pair << _CODE_BITS) | codes, return_inverse=True)
    return np.asarray(letters - np.searchsorted(known, pair << _CODE_BITS) + 1)


def _matches_of_parts(texts: Sequence[str], sizes: Ints) -> Ints:
    """Return `_matches` from halves of the sentences, whose numbers take fewer bits; count a single one in a dict."""
    pairs = len(texts) // 2
    if pairs == 1:
        from sacrebleu.metrics.helpers import extract_all_char_ngrams

        output, reference = (extract_all_char_ngrams(text, _ORDERS) for text in texts)
        return np.array([[(one & other).total() for one, other in zip(output, reference)]])
    half = pairs // 2
    parts = [[*range(start, end), *range(pairs + start, pairs + end)] for start, end in ((0, half), (half, pairs))]
    return np.concatenate([_matches([texts[row] for row in rows], sizes[rows]) for rows in parts])
