"""Shortest edit scripts of words. Most texts have several of the same length; this module defines which one is used."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from postedit.compiled import compiled

KEEP, REPLACE, DELETE, INSERT = 0, 1, 2, 3

_MOST_CELLS: Final = 2**27
"""Most pairs of words, of a byte each; for longer texts, rapidfuzz finds the script and breaks ties in its own way."""

_OPERATIONS: Final = {"equal": KEEP, "replace": REPLACE, "delete": DELETE, "insert": INSERT}


class ScriptStep(NamedTuple):
    """One step of a script: the operation, and how many words of each text precede it."""

    operation: int
    before: int
    after: int


class ScriptEdit(NamedTuple):
    """An edit of one word: the operation, the position in the first text, and the new word ("" for a deletion)."""

    operation: int
    position: int
    word: str


def edit_steps(before: Sequence[str], after: Sequence[str], favoured: Iterable[ScriptEdit] = ()) -> list[ScriptStep]:
    """Return a shortest edit script from left to right, with a step for each word that is kept.

    It has the most `favoured` edits of all shortest scripts. Remaining ties are broken as in Tercom: from the end,
    keeping or replacing a word is preferred to deleting one, and that to inserting one. Very long texts (more than
    `_MOST_CELLS` pairs of words) get any shortest script.
    """
    if before == after:
        return [ScriptStep(KEEP, at, at) for at in range(len(before))]
    if len(before) * len(after) > _MOST_CELLS:
        return _long_steps(before, after)
    ids: defaultdict[str, int] = defaultdict(lambda: len(ids))
    numbers = [np.array([ids[word] for word in words], np.int64) for words in (before, after)]
    wanted = np.array(sorted((at, kind, ids[word]) for kind, at, word in favoured), np.int64).reshape(-1, 3)
    first = np.searchsorted(wanted[:, 0], np.arange(len(before) + 2))
    return [ScriptStep(*step) for step in _trace(*numbers, first, wanted).tolist()]


def shortest_edits(
    before: Sequence[str], after: Sequence[str], favoured: Iterable[ScriptEdit] = ()
) -> list[ScriptEdit]:
    """Return the edits of `edit_steps`, without the words that are kept."""
    steps = edit_steps(before, after, favoured)
    return [ScriptEdit(kind, at, "" if kind == DELETE else after[to]) for kind, at, to in steps if kind != KEEP]


def _long_steps(before: Sequence[str], after: Sequence[str]) -> list[ScriptStep]:
    steps = []
    for code in Levenshtein.opcodes(before, after):
        at, to, kind = code.src_start, code.dest_start, _OPERATIONS[code.tag]
        for step in range(max(code.src_end - at, code.dest_end - to)):
            steps.append(ScriptStep(kind, at + step * (kind != INSERT), to + step * (kind != DELETE)))
    return steps


@compiled
def _cost(first: Any, wanted: Any, length: int, position: int, kind: int, word: int) -> int:
    """Return the cost of an edit; a favoured one costs less, but so little that no longer script becomes cheaper."""
    for row in range(first[position], first[position + 1]):
        if wanted[row, 1] == kind and (kind == DELETE or wanted[row, 2] == word):
            return length - 1
    return length


@compiled
def _trace(before: Any, after: Any, first: Any, wanted: Any) -> Any:
    """Return the steps, Int[steps,3]: operation, and position in both texts.

    Args:
        before: Int[n], word ids of the first text.
        after: Int[m], word ids of the second text.
        first: Int[n+2], for each position, the row of `wanted` at which its favoured edits begin.
        wanted: Int[edits,3], position, operation and word of each favoured edit, sorted.
    """
    n, m = len(before), len(after)
    length = n + m + 1
    above, row = np.zeros(m + 1, np.int64), np.zeros(m + 1, np.int64)
    came = np.zeros((n + 1, m + 1), np.int8)
    for i in range(n + 1):
        for j in range(m + 1):
            best, how = np.int64(1) << 62, KEEP
            if i > 0 and j > 0:
                best = above[j - 1]
                if before[i - 1] != after[j - 1]:
                    best += _cost(first, wanted, length, i - 1, REPLACE, after[j - 1])
                    how = REPLACE
            if i > 0:
                cost = above[j] + _cost(first, wanted, length, i - 1, DELETE, 0)
                if cost < best:
                    best, how = cost, DELETE
            if j > 0:
                cost = row[j - 1] + _cost(first, wanted, length, i, INSERT, after[j - 1])
                if cost < best:
                    best, how = cost, INSERT
            row[j] = best if i + j > 0 else 0
            came[i, j] = how
        above, row = row, above
    steps = np.zeros((n + m, 3), np.int64)
    i, j, at = n, m, n + m
    while i > 0 or j > 0:
        how = came[i, j]
        i -= how != INSERT
        j -= how != DELETE
        at -= 1
        steps[at, 0], steps[at, 1], steps[at, 2] = how, i, j
    return steps[at:]
