"""Compiled TER over word ids: Tercom's greedy search for shifts on a banded edit distance.

The result equals that of `sacrebleu.metrics.TER` to the last edit (Snover et al. 2006, with the limits of Tercom). Four
techniques make it faster:

- No shift changes the bags of words, so the distance between them is a lower bound. The search for shifts ends when the
  edit distance reaches it.
- A candidate shift must beat the best one so far. This bounds its distance and narrows its band; most are abandoned
  early.
- A shift changes only one range of the hypothesis. The rows before the range are known, and the cost of what follows it
  is known from distances computed backwards, so only the rows of the range are computed.
- Only the cells of the band are stored, so memory grows linearly with the number of words, not quadratically.

Notation: n and m are the numbers of words of the hypothesis h and the reference r. Cell (i, j) stands for the first i
words of h and the first j words of r; it is stored at `base[i] + j`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from postedit.compiled import compiled

# The limits of Tercom and of sacrebleu.
MAX_SHIFT_SIZE = 10
MAX_SHIFT_DISTANCE = 50
MAX_CANDIDATES = 1000
BEAM_WIDTH = 25

KEEP, SUBSTITUTE, INSERT, DELETE = 0, 1, 2, 3
"""Operations that turn a hypothesis into its reference; INSERT inserts a word of the reference."""

SHIFT = 0  # the column of shifts in the counts of edits; KEEP has the same number but is not counted
_INFINITY = np.int32(1 << 28)


class _Scratch(NamedTuple):
    """Buffers that the pairs of a chunk share, one after another; n and m are those of the longest texts."""

    counts: Any  # Int32[vocabulary], zero between uses
    base: Any  # Int64[n+1], the offset at which row i is stored, minus its first j
    cost: Any  # Int32[cells], cost from the beginning to each cell of the band
    rest: Any  # Int32[cells], cost from each cell to the end
    ops: Any  # Int8[cells], the operation that leads to each cell
    align: Any  # Int64[m+1], the hypothesis word that each reference word is aligned with
    h_errors: Any  # Int64[n+1], how many of the first i words of the hypothesis are in error
    r_errors: Any  # Int64[m+1], how many of the first j words of the reference are in error
    shifted: Any  # Int32[n+1], a shifted hypothesis; only the range that differs is written
    above: Any  # Int32[m+1], one row of an edit distance
    row: Any  # Int32[m+1], the row after it
    script: Any  # Int8[n+m], operations, first to last
    shifts: Any  # Int64[n+m+1,3], start, length and target of each shift made
    best: Any  # Int64[3], start, length and target of the best candidate


@compiled
def new_scratch(n, m, vocabulary):  # type: ignore[no-untyped-def]
    """Return buffers for hypotheses of up to n words and references of up to m words, with ids below `vocabulary`."""
    # Row 0 has m + 1 cells; n rows have at most 2 (m / n / 2 + BEAM_WIDTH + 1) + 1 each.
    cells = min((n + 1) * (m + 1), 2 * (m + 1) + n * (2 * BEAM_WIDTH + 3))
    return _Scratch(
        np.zeros(vocabulary, np.int32),
        np.empty(n + 1, np.int64),
        np.empty(cells, np.int32),
        np.empty(cells, np.int32),
        np.empty(cells, np.int8),
        np.empty(m + 1, np.int64),
        np.empty(n + 1, np.int64),
        np.empty(m + 1, np.int64),
        np.empty(n + 1, np.int32),
        np.empty(m + 1, np.int32),
        np.empty(m + 1, np.int32),
        np.empty(n + m, np.int8),
        np.empty((n + m + 1, 3), np.int64),
        np.empty(3, np.int64),
    )


@compiled
def _band(i, n, m):  # type: ignore[no-untyped-def]
    """Return the limits of row i of the band: its first j and its end (exclusive)."""
    if i == 0:
        return 0, m + 1
    ratio = m / n
    width = math.ceil(ratio / 2 + BEAM_WIDTH) if ratio / 2 > BEAM_WIDTH else BEAM_WIDTH
    diagonal = math.floor(i * ratio)
    return max(0, diagonal - width), m + 1 if i == n else min(m + 1, diagonal + width)


@compiled
def _store_band(n, m, base):  # type: ignore[no-untyped-def]
    """Lay out the rows of the band one after another: write into `base` the offset of each, minus its first j."""
    used = 0
    for i in range(n + 1):
        first, end = _band(i, n, m)
        base[i] = used - first
        used += end - first


@compiled
def _forwards(h, n, r, m, scratch, start):  # type: ignore[no-untyped-def]
    """Fill the rows after row `start` with the cost from the beginning and the operation that leads to each cell."""
    base, cost, ops = scratch.base, scratch.cost, scratch.ops
    if start == 0:
        cost[: m + 1] = np.arange(m + 1)
        ops[: m + 1] = INSERT
    for i in range(start + 1, n + 1):
        first, end = _band(i, n, m)
        previous_first, previous_end = _band(i - 1, n, m)
        here, above = base[i], base[i - 1]
        word = h[i - 1]
        for j in range(first, end):
            best, op = _INFINITY, KEEP
            if j > 0 and previous_first <= j - 1 < previous_end:
                if word == r[j - 1]:
                    best, op = cost[above + j - 1], KEEP
                else:
                    best, op = cost[above + j - 1] + 1, SUBSTITUTE
            if previous_first <= j < previous_end and cost[above + j] + 1 < best:
                best, op = cost[above + j] + 1, DELETE
            if j > first and cost[here + j - 1] + 1 < best:
                best, op = cost[here + j - 1] + 1, INSERT
            cost[here + j] = best
            ops[here + j] = op


@compiled
def _backwards(h, n, r, m, scratch):  # type: ignore[no-untyped-def]
    """Fill every row with the cost from each cell to the end."""
    base, rest = scratch.base, scratch.rest
    for j in range(_band(n, n, m)[0], m + 1):
        rest[base[n] + j] = m - j
    for i in range(n - 1, -1, -1):
        first, end = _band(i, n, m)
        next_first, next_end = _band(i + 1, n, m)
        here, below = base[i], base[i + 1]
        word = h[i]
        for j in range(end - 1, first - 1, -1):
            best = _INFINITY
            if j < m and next_first <= j + 1 < next_end:
                best = rest[below + j + 1] + (0 if word == r[j] else 1)
            if next_first <= j < next_end and rest[below + j] + 1 < best:
                best = rest[below + j] + 1
            if j + 1 < end and rest[here + j + 1] + 1 < best:
                best = rest[here + j + 1] + 1
            rest[here + j] = best


@compiled
def move(h, n, start, length, target, moved):  # type: ignore[no-untyped-def]
    """Write to `moved` the range of h that changes if `length` words move from `start` to `target`; return its ends."""
    if target < start:
        low, by = target, start - target
        moved[low : low + length] = h[start : start + length]
        moved[low + length : low + length + by] = h[low : low + by]
    else:
        # A block whose target lies inside or directly after it moves right by target - start words, or to the end.
        by = target - start - length if target > start + length else min(target - start, n - start - length)
        low = start
        moved[low : low + by] = h[start + length : start + length + by]
        moved[low + by : low + by + length] = h[start : start + length]
    return low, low + length + by


@compiled
def _shift(h, n, start, length, target, shifted):  # type: ignore[no-untyped-def]
    """Move words as `move` does, and return the limits within which the two hypotheses really differ."""
    low, high = move(h, n, start, length, target, shifted)
    while low < high and shifted[low] == h[low]:
        low += 1
    while low < high and shifted[high - 1] == h[high - 1]:
        high -= 1
    return low, high


@compiled
def _bounded(n, r, m, low, high, bound, scratch):  # type: ignore[no-untyped-def]
    """Return the distance of the hypothesis shifted in low..high; if it exceeds `bound`, any number above `bound`."""
    base, shifted, above, row = scratch.base, scratch.shifted, scratch.above, scratch.row
    difference = m - n
    slack = bound - abs(difference)
    if slack < 0:
        return bound + 1
    # A path through cell (i, j) costs at least |j - i| + |(m - j) - (n - i)|.
    left, right = min(0, difference) - slack // 2, max(0, difference) + slack // 2
    above_first, above_end = _band(low, n, m)
    above_first, above_end = max(above_first, low + left), min(above_end, low + right + 1)
    for j in range(above_first, above_end):
        above[j] = scratch.cost[base[low] + j]
    for i in range(low + 1, high + 1):
        first, end = _band(i, n, m)
        first, end = max(first, i + left), min(end, i + right + 1)
        word = shifted[i - 1]
        least = _INFINITY
        for j in range(first, end):
            best = _INFINITY
            if j > above_first and j - 1 < above_end:
                best = above[j - 1] + (0 if word == r[j - 1] else 1)
            if above_first <= j < above_end and above[j] + 1 < best:
                best = above[j] + 1
            if j > first and row[j - 1] + 1 < best:
                best = row[j - 1] + 1
            row[j] = best
            least = min(least, best + abs((m - j) - (n - i)))
        if least > bound:
            return bound + 1
        above, row = row, above
        above_first, above_end = first, end
    distance = _INFINITY
    for j in range(above_first, above_end):
        distance = min(distance, above[j] + scratch.rest[base[high] + j])
    return distance


@compiled
def _trace(n, m, scratch):  # type: ignore[no-untyped-def]
    """Write the operations of the cheapest path, first to last, into `scratch.script`; return how many there are."""
    base, ops, script = scratch.base, scratch.ops, scratch.script
    i, j, count = n, m, 0
    while i > 0 or j > 0:
        op = ops[base[i] + j]
        script[count] = op
        count += 1
        if op != INSERT:
            i -= 1
        if op != DELETE:
            j -= 1
    for k in range(count // 2):
        script[k], script[count - 1 - k] = script[count - 1 - k], script[k]
    return count


@compiled
def _align(script, count, align, h_errors, r_errors):  # type: ignore[no-untyped-def]
    """Write the word of h that each word of r is aligned with in a script, and running counts of the words in error."""
    i, j = -1, -1
    h_errors[0] = 0
    r_errors[0] = 0
    for k in range(count):
        op = script[k]
        wrong = 0 if op == KEEP else 1
        if op != INSERT:
            i += 1
            h_errors[i + 1] = h_errors[i] + wrong
        if op != DELETE:
            j += 1
            align[j] = i
            r_errors[j + 1] = r_errors[j] + wrong


@compiled
def _best_shift(h, n, r, m, distance, least, checked, scratch):  # type: ignore[no-untyped-def]
    """Write the shift that lowers the distance most into `scratch.best`; return its gain and the candidates checked.

    Ties go to the longest block, then to the leftmost block, then to the leftmost target. `least` is a lower bound of
    the distance; `checked` is the number of candidates of the pair so far.
    """
    best, align, h_errors, r_errors = scratch.best, scratch.align, scratch.h_errors, scratch.r_errors
    gain = 0
    known_rest = False
    for start_h in range(n):
        for start_r in range(max(0, start_h - MAX_SHIFT_DISTANCE), min(m, start_h + MAX_SHIFT_DISTANCE + 1)):
            length = 0
            while length < MAX_SHIFT_SIZE and start_h + length < n and start_r + length < m:
                if h[start_h + length] != r[start_r + length]:
                    break
                length += 1
                if h_errors[start_h + length] == h_errors[start_h] or r_errors[start_r + length] == r_errors[start_r]:
                    continue
                if start_h <= align[start_r] < start_h + length:
                    continue
                previous = -1
                for offset in range(-1, length):
                    place = start_r + offset
                    target = 0 if place == -1 else align[place] + 1
                    if target == previous:
                        continue
                    previous = target
                    checked += 1
                    wins_tie = gain > 0 and (
                        length > best[1]
                        or (length == best[1] and (start_h < best[0] or (start_h == best[0] and target < best[2])))
                    )
                    needed = max(1, gain if wins_tie else gain + 1)
                    bound = distance - needed
                    if bound < least:
                        continue
                    low, high = _shift(h, n, start_h, length, target, scratch.shifted)
                    if low >= high:
                        continue
                    if not known_rest:
                        _backwards(h, n, r, m, scratch)
                        known_rest = True
                    found = _bounded(n, r, m, low, high, bound, scratch)
                    if found <= bound:
                        gain = distance - found
                        best[0], best[1], best[2] = start_h, length, target
                if checked >= MAX_CANDIDATES:
                    return gain, checked
    return gain, checked


@compiled
def _bag_distance(h, n, r, m, counts):  # type: ignore[no-untyped-def]
    """Return the edit distance between the bags of words: a lower bound, whatever is shifted."""
    for i in range(n):
        counts[h[i]] += 1
    common = 0
    for j in range(m):
        if counts[r[j]] > 0:
            counts[r[j]] -= 1
            common += 1
    for i in range(n):
        counts[h[i]] = 0
    return max(n, m) - common


@compiled
def count_pair(h, n, r, m, scratch, result):  # type: ignore[no-untyped-def]
    """Write the numbers of shifts, substitutions, insertions and deletions of one pair into `result`, Int32[4].

    Afterwards h is the shifted hypothesis, `scratch.shifts` holds the shifts, and `scratch.script` holds the operations
    that turn h into r. Returns the number of operations.
    """
    script, shifts, best = scratch.script, scratch.shifts, scratch.best
    result[:] = 0
    if m == 0:
        result[DELETE] = n
        script[:n] = DELETE
        return n
    same = n == m
    for i in range(n if same else 0):
        if h[i] != r[i]:
            same = False
            break
    if same:
        script[:n] = KEEP
        return n
    _store_band(n, m, scratch.base)
    end = scratch.base[n] + m
    _forwards(h, n, r, m, scratch, 0)
    distance = scratch.cost[end]
    least = _bag_distance(h, n, r, m, scratch.counts)
    checked = 0
    while distance > least:
        count = _trace(n, m, scratch)
        _align(script, count, scratch.align, scratch.h_errors, scratch.r_errors)
        gain, checked = _best_shift(h, n, r, m, distance, least, checked, scratch)
        if checked >= MAX_CANDIDATES or gain <= 0:
            break
        low, high = _shift(h, n, best[0], best[1], best[2], scratch.shifted)
        h[low:high] = scratch.shifted[low:high]
        shifts[result[SHIFT]] = best
        result[SHIFT] += 1
        _forwards(h, n, r, m, scratch, low)
        distance = scratch.cost[end]
    count = _trace(n, m, scratch)
    for k in range(count):
        if script[k] != KEEP:
            result[script[k]] += 1
    return count


@compiled
def count_kinds(h_ids, h_ends, r_ids, r_ends, vocabulary, start, end, kinds):  # type: ignore[no-untyped-def]
    """Write the numbers of edits by kind of the pairs from `start` to `end` (exclusive) into `kinds`, Int32[pairs,4].

    The kinds are shifts, substitutions, insertions and deletions. `h_ids`, Int32[words], holds the word ids, below
    `vocabulary`, of all hypotheses; text p ends at `h_ends[p + 1]`, where `h_ends`, Int64[pairs+1], begins with 0.
    `r_ids` and `r_ends` are the same for the references.
    """
    n_most, m_most = _longest(h_ends, start, end), _longest(r_ends, start, end)
    scratch = new_scratch(n_most, m_most, vocabulary)
    h = np.empty(n_most, np.int32)
    for p in range(start, end):
        n, m = h_ends[p + 1] - h_ends[p], r_ends[p + 1] - r_ends[p]
        h[:n] = h_ids[h_ends[p] : h_ends[p + 1]]
        count_pair(h, n, r_ids[r_ends[p] : r_ends[p + 1]], m, scratch, kinds[p])


class Scripts(NamedTuple):
    """The edits of pairs of texts, with their positions; each pair has as much room as it has words."""

    first: Any  # Int64[pairs], the offset of the shifts and operations of each pair
    sizes: Any  # Int64[pairs,2], the numbers of shifts and operations of each pair
    order: Any  # Int32[words of h], for each position after all shifts, the original position of the word
    ops: Any  # Int8[words of h and r], the operations, first to last
    shifts: Any  # Int32[words of h and r,3], start, length and target of each shift


def new_scripts(h_ends: Any, r_ends: Any) -> Scripts:
    """Return empty scripts for pairs whose texts end at these offsets; see `count_kinds`."""
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
    """Write the edits of the pairs from `start` to `end` (exclusive) into `scripts`; see `count_kinds` for the rest."""
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
    """Return the number of words of the longest text from `start` to `end` (exclusive); 0 if there is none."""
    return np.max(np.diff(ends[start : end + 1])) if end > start else 0
