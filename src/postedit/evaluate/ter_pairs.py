"""TER of ranges of pairs, compiled: the edits of each pair, counted or with their positions.

Threads can work on several ranges at once. numba keeps compiled code by the content of this file alone: after a change
of `ter_kernel`, change this file too (version 2 of the kernel).
"""

from typing import Any, NamedTuple

import numpy as np

from postedit.compiled import compiled
from postedit.evaluate.ter_kernel import SHIFT, count_pair, move, new_scratch


@compiled
def count_kinds(h_ids, h_ends, r_ids, r_ends, vocabulary, start, end, kinds):  # type: ignore[no-untyped-def]
    """Count the shifts, substitutions, insertions and deletions of pairs `start` to `end` into `kinds`, Int32[pairs,4].

    `h_ids` are the word ids of all hypotheses, Int32, below `vocabulary`; `h_ends` are the ends of the texts in it,
    Int64[pairs+1], the first 0; `r_ids` and `r_ends` are those of the references.
    """
    n_most, m_most = _longest(h_ends, start, end), _longest(r_ends, start, end)
    scratch = new_scratch(n_most, m_most, vocabulary)
    h = np.empty(n_most, np.int32)
    for p in range(start, end):
        n, m = h_ends[p + 1] - h_ends[p], r_ends[p + 1] - r_ends[p]
        h[:n] = h_ids[h_ends[p] : h_ends[p + 1]]
        count_pair(h, n, r_ids[r_ends[p] : r_ends[p + 1]], m, scratch, kinds[p])


class Scripts(NamedTuple):
    """The edits of pairs with their positions; those of a pair are stored at the offset of its words."""

    first: Any  # Int64[pairs], the offset of the shifts and operations of each pair
    sizes: Any  # Int64[pairs,2], the numbers of its shifts and operations
    order: Any  # Int32[words of h], the original position of the word at each position after all shifts
    ops: Any  # Int8[words of h and r], the operations, first to last
    shifts: Any  # Int32[words of h and r,3], start, length and target of each shift


def new_scripts(h_ends: Any, r_ends: Any) -> Scripts:
    """Return empty scripts for pairs whose texts end at these offsets."""
    pairs, words = len(h_ends) - 1, int(h_ends[-1] + r_ends[-1])
    return Scripts(
        h_ends[:-1] + r_ends[:-1],
        np.zeros((pairs, 2), np.int64),
        np.empty(h_ends[-1], np.int32),
        np.empty(words, np.int8),
        np.empty((words, 3), np.int32),  # a shift removes at least one edit, so there are no more shifts than words
    )


@compiled
def find_scripts(h_ids, h_ends, r_ids, r_ends, vocabulary, start, end, scripts):  # type: ignore[no-untyped-def]
    """Write the edits of the pairs from `start` to `end` into `scripts`; other arguments are those of `count_kinds`."""
    n_most, m_most = _longest(h_ends, start, end), _longest(r_ends, start, end)
    scratch = new_scratch(n_most, m_most, vocabulary)
    h, moved, result = np.empty(n_most, np.int32), np.empty(n_most, np.int32), np.zeros(4, np.int32)
    for p in range(start, end):
        n, m, first = h_ends[p + 1] - h_ends[p], r_ends[p + 1] - r_ends[p], scripts.first[p]
        h[:n] = h_ids[h_ends[p] : h_ends[p + 1]]
        count = count_pair(h, n, r_ids[r_ends[p] : r_ends[p + 1]], m, scratch, result)
        scripts.sizes[p, 0], scripts.sizes[p, 1] = result[SHIFT], count
        scripts.ops[first : first + count] = scratch.script[:count]
        order = scripts.order[h_ends[p] : h_ends[p + 1]]
        order[:] = np.arange(n)
        for k in range(result[SHIFT]):
            shift = scratch.shifts[k]
            scripts.shifts[first + k] = shift
            low, high = move(order, n, shift[0], shift[1], shift[2], moved)
            order[low:high] = moved[low:high]


@compiled
def _longest(ends, start, end):  # type: ignore[no-untyped-def]
    """Return the number of words of the longest text from `start` to `end`."""
    return np.max(np.diff(ends[start : end + 1])) if end > start else 0
