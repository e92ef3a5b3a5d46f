"""Compiled noise: the stage that turns chunks of parallel text into triplets. Workers import it, so it imports little.

For each line of pe, the numbers of edits are drawn. Edits interact: some cancel each other, or merge (a word left out
beside an added one is one substitution). So the edits of each draft are counted by TER, and if they are not the wanted
ones, places and words are drawn again. The best draft is kept.

Edits are named as in TER, from mt to pe: an insertion leaves a word of pe out of mt, a deletion adds a word to mt.
n is the number of words in a line of pe; `state` is a UInt64[1] that determines all random numbers of a line.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.compiled import compiled, uninterrupted
from postedit.distributed.chunks import Chunk
from postedit.evaluate.ter_kernel import BEAM_WIDTH, DELETE, INSERT, SHIFT, SUBSTITUTE, count_pair, new_scratch
from postedit.synthesis.noise.noise_tables import NoiseTables
from postedit.synthesis.noise.word_bytes import (
    COMMON_START,
    LONGEST_ENDING,
    append_bytes,
    append_words,
    count_characters,
    find_prefix,
    is_blank,
    line_end,
    new_word_buffer,
    select_lines,
    split_words,
)
from postedit.synthesis.triplet_counts import BLANK, EDIT_KINDS, MAX_TER, TER_BIN

KEPT, EMPTY, TOO_LONG, THINNED, NO_TEXT = 0, 1, 2, 3, 4
"""Outcomes for a line: kept, or left out because pe has no words, too many, or too common a length, or because src or
mt is blank."""

OUTCOMES: Final = {
    "kept": KEPT,
    "without words": EMPTY,
    "too long": TOO_LONG,
    "length too frequent": THINNED,
    BLANK: NO_TEXT,
}

LENGTH_BIN: Final = "length="
"""Prefix of the counts that make up the histogram of lengths."""

_MAX_DRAFTS = 4  # drafts per line; more would take time and hardly help
_MAX_TRIES = 8  # places or words tried for one edit
_MAX_NEIGHBOURS = 32  # words examined for an inflected form; most words with the same beginning are one


@compiled
def mix64(value):  # type: ignore[no-untyped-def]
    """Return a hash of a 64-bit integer (the finaliser of SplitMix64, Steele et al. 2014)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@compiled
def next_uniform(state):  # type: ignore[no-untyped-def]
    """Return the next random number in [0, 1)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return (mix64(state[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def next_below(limit, state):  # type: ignore[no-untyped-def]
    """Return a random integer in [0, limit)."""
    return int(next_uniform(state) * limit)


@compiled
def _round_randomly(value, state):  # type: ignore[no-untyped-def]
    """Return `value` rounded up or down at random, so that its expectation is kept."""
    whole = int(value)
    return whole + 1 if next_uniform(state) < value - whole else whole


@compiled
def _draw_weighted(sums, first, last, state):  # type: ignore[no-untyped-def]
    """Return a random index in [first, last), weighted by counts; `sums` has their cumulative sums from `first` on."""
    value = next_uniform(state) * sums[last - 1]
    low, high = first, last - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > value:
            high = middle
        else:
            low = middle + 1
    return low


class Draft(NamedTuple):
    """A line of mt under construction. All arrays have room for the longest line."""

    refs: Any  # Int64, for each word of mt, its index in pe, or -1 minus its id in the lexicon
    ids: Any  # Int32, for each word of mt, its id
    edited: Any  # Bool, for each word of mt, whether an edit has written or moved it
    next_to_gap: Any  # Bool, for each word of mt, whether a word beside it was left out
    taken: Any  # Bool, for each word of pe, whether it is left out or replaced
    replaced: Any  # Bool, for each word of pe, whether it is replaced


@compiled
def _new_draft(capacity):  # type: ignore[no-untyped-def]
    refs, ids = np.empty(capacity, np.int64), np.empty(capacity, np.int32)
    edited, next_to_gap = np.empty(capacity, np.bool_), np.empty(capacity, np.bool_)
    return Draft(refs, ids, edited, next_to_gap, np.empty(capacity, np.bool_), np.empty(capacity, np.bool_))


@compiled
def _draw_edit_counts(n, tables, wanted, state):  # type: ignore[no-untyped-def]
    """Draw into `wanted` the number of edits of each kind for a line of n words, limited to what it can have."""
    wanted[:] = 0
    if tables.sentences.shape[0] == 0:
        for _ in range(n):
            if next_uniform(state) < tables.rate_scale:
                wanted[next_below(4, state)] += 1
    else:
        length = min(n, tables.length_ranges.shape[0] - 1)
        first, last = tables.length_ranges[length, 0], tables.length_ranges[length, 1]
        chosen = first + next_below(last - first, state)
        scale = tables.rate_scale * n / tables.sentences[chosen, 0]
        for kind in range(4):
            wanted[kind] = _round_randomly(scale * tables.sentences[chosen, 1 + kind], state)
    wanted[INSERT] = min(wanted[INSERT], n)
    wanted[SUBSTITUTE] = min(wanted[SUBSTITUTE], n - wanted[INSERT])
    wanted[DELETE] = min(wanted[DELETE], 2 * n)
    wanted[SHIFT] = min(wanted[SHIFT], n)


@compiled
def _take_word(weights, ids, n, taken, state):  # type: ignore[no-untyped-def]
    """Take a word of pe that is not taken yet, at random in proportion to the weights; return its index."""
    last = weights.size - 1
    total, found = 0.0, -1
    for i in range(n):
        if not taken[i]:
            total += weights[min(ids[i], last)]
            found = i
    value = next_uniform(state) * total
    for i in range(n):
        if not taken[i]:
            value -= weights[min(ids[i], last)]
            if value < 0:
                found = i
                break
    taken[found] = True
    return found


@compiled
def _substitute(line, i, tables, state):  # type: ignore[no-untyped-def]
    """Return the id of a word to write into mt in place of word i of pe."""
    known = min(line.ids[i], tables.seen_rate.size - 1)
    first, last = tables.pair_ends[known], tables.pair_ends[known + 1]
    if last > first and next_uniform(state) < tables.seen_rate[known]:
        return tables.pair_words[_draw_weighted(tables.pair_sums, first, last, state)]
    if next_uniform(state) < tables.inflection_rate:
        other = _inflected_form(line, i, tables.lexicon, state)
        if other >= 0:
            return other
    other = -1
    for _ in range(_MAX_TRIES):
        other = tables.substitute_words[_draw_weighted(tables.substitute_sums, 0, tables.substitute_words.size, state)]
        if other != line.ids[i]:
            break
    return other


@compiled
def _inflected_form(line, i, lexicon, state):  # type: ignore[no-untyped-def]
    """Return the id of another form of word i, in the sense of `edit_profile.inflected`; -1 if none is found."""
    data, start, stop = line.data, line.starts[i], line.stops[i]
    length = count_characters(data, start, stop)
    if length <= COMMON_START:
        return -1
    end, left = stop, min(LONGEST_ENDING, length - COMMON_START)
    while left > 0:
        end -= 1
        if data[end] & 0xC0 != 0x80:
            left -= 1
    first = find_prefix(lexicon, data, start, end, False)
    last = find_prefix(lexicon, data, start, end, True)
    if last == first:
        return -1
    chosen = next_below(last - first, state)
    for step in range(min(last - first, _MAX_NEIGHBOURS)):
        other = first + (chosen + step) % (last - first)
        other_start, other_stop = lexicon.ends[other], lexicon.ends[other + 1]
        shared = end - start
        while (
            start + shared < stop
            and other_start + shared < other_stop
            and data[start + shared] == lexicon.data[other_start + shared]
        ):
            shared += 1
        while start + shared < stop and data[start + shared] & 0xC0 == 0x80:
            shared -= 1  # two characters may begin with the same byte
        ours = count_characters(data, start + shared, stop)
        theirs = count_characters(lexicon.data, other_start + shared, other_stop)
        if other != line.ids[i] and max(ours, theirs) <= LONGEST_ENDING:
            return other
    return -1


@compiled
def _drop_and_replace(line, n, wanted, tables, draft, state):  # type: ignore[no-untyped-def]
    """Begin a draft with the wanted insertions and substitutions; return its number of words."""
    draft.taken[:n] = False
    draft.replaced[:n] = False
    for _ in range(wanted[SUBSTITUTE]):
        draft.replaced[_take_word(tables.substitute_weights, line.ids, n, draft.taken, state)] = True
    for _ in range(wanted[INSERT]):
        _take_word(tables.insert_weights, line.ids, n, draft.taken, state)
    size, after_gap = 0, False
    for i in range(n):
        if draft.taken[i] and not draft.replaced[i]:
            after_gap = True
            if size > 0:
                draft.next_to_gap[size - 1] = True
            continue
        if draft.replaced[i]:
            other = _substitute(line, i, tables, state)
            draft.refs[size], draft.ids[size], draft.edited[size] = -1 - other, other, True
        else:
            draft.refs[size], draft.ids[size], draft.edited[size] = i, line.ids[i], False
        draft.next_to_gap[size] = after_gap
        after_gap = False
        size += 1
    return size


@compiled
def _insert_word(size, tables, draft, state):  # type: ignore[no-untyped-def]
    """Make a deletion: add a word, if possible not beside one that was left out, which would be a substitution."""
    place = 0
    for _ in range(_MAX_TRIES):
        place = next_below(size + 1, state)
        if not ((place > 0 and draft.next_to_gap[place - 1]) or (place < size and draft.next_to_gap[place])):
            break
    for k in range(size, place, -1):
        draft.refs[k], draft.ids[k] = draft.refs[k - 1], draft.ids[k - 1]
        draft.edited[k], draft.next_to_gap[k] = draft.edited[k - 1], draft.next_to_gap[k - 1]
    word = tables.deletion_words[_draw_weighted(tables.deletion_sums, 0, tables.deletion_words.size, state)]
    draft.refs[place], draft.ids[place], draft.edited[place], draft.next_to_gap[place] = -1 - word, word, True, False
    return size + 1


@compiled
def _shift_block(size, tables, draft, state):  # type: ignore[no-untyped-def]
    """Make a shift: move a block of words that have no edits, if one is found."""
    for attempt in range(_MAX_TRIES):
        if tables.moves.shape[0] and attempt < _MAX_TRIES - 2:
            move = next_below(tables.moves.shape[0], state)
            length, by = tables.moves[move, 0], -tables.moves[move, 1]
        else:
            length, by = 1, next_below(2 * size, state) - size
        low, high = max(0, -by), size - length - max(0, by)
        if by == 0 or high < low:
            continue
        start = low + next_below(high - low + 1, state)
        blocked = False
        for k in range(start, start + length):
            blocked |= draft.edited[k]
        if blocked:
            continue
        for k in range(length):
            draft.edited[start + k] = True
        if by > 0:
            _rotate(draft, start, length, by)
        else:
            _rotate(draft, start + by, -by, length)
        return


@compiled
def _rotate(draft, start, left, right):  # type: ignore[no-untyped-def]
    """Swap the `left` words from `start` on with the `right` words after them."""
    _reverse(draft, start, start + left)
    _reverse(draft, start + left, start + left + right)
    _reverse(draft, start, start + left + right)


@compiled
def _reverse(draft, start, stop):  # type: ignore[no-untyped-def]
    i, j = start, stop - 1
    while i < j:
        draft.refs[i], draft.refs[j] = draft.refs[j], draft.refs[i]
        draft.ids[i], draft.ids[j] = draft.ids[j], draft.ids[i]
        draft.edited[i], draft.edited[j] = draft.edited[j], draft.edited[i]
        i += 1
        j -= 1


@compiled
def _make_edits(line, n, wanted, tables, drafts, counted, ids, scratch, found, state):  # type: ignore[no-untyped-def]
    """Make the edits `wanted`, Int32[4] by kind, in `line`, a `WordBuffer`; keep the draft nearest to them by TER.

    One of the two `drafts` holds the best one so far, and `found`, Int32[4], receives the edits that TER finds in it.
    `counted`, Int32[4], `ids`, Int32, and `scratch` (for TER) are working memory. Return the index of the best draft
    and its number of words.
    """
    best, best_size, best_miss, current = 0, 0, 1 << 30, 0
    # If a few words are only left out, or only added, TER finds exactly these edits; its beam does not reach more.
    alone = wanted[INSERT] + wanted[DELETE]
    exact = alone < BEAM_WIDTH and alone == wanted.sum() and (wanted[INSERT] == 0 or wanted[DELETE] == 0)
    for _ in range(_MAX_DRAFTS):
        draft = drafts[current]
        size = _drop_and_replace(line, n, wanted, tables, draft, state)
        for _ in range(wanted[DELETE]):
            size = _insert_word(size, tables, draft, state)
        for _ in range(wanted[SHIFT]):
            _shift_block(size, tables, draft, state)
        if exact:
            counted[:] = wanted
        else:
            ids[:size] = draft.ids[:size]
            count_pair(ids, size, line.ids[:n], n, scratch, counted)
        # A wrong number of edits is worse than a wrong kind.
        miss = 2 * abs(counted.sum() - wanted.sum()) + np.abs(counted - wanted).sum()
        if miss < best_miss:
            best, best_size, best_miss = current, size, miss
            found[:] = counted
            current = 1 - current
        if miss == 0:
            break
    return best, best_size


@dataclass(frozen=True, slots=True)
class NoiseStage:
    """A stage that makes triplets from chunks with the sides src and pe.

    It leaves out blank lines and lines with more than `max_words` words, and thins lengths if the tables say so.
    """

    tables: NoiseTables
    seed: int
    max_words: int

    def __call__(self, chunk: Chunk) -> Chunk:
        """Return the triplets of a chunk."""
        src, pe = (np.frombuffer(chunk.sides[side], np.uint8) for side in ("src", "pe"))
        mt, outcomes, lengths, found, wanted = uninterrupted(
            _make_noise, src, pe, chunk.size, chunk.first_line, np.uint64(self.seed), self.max_words, self.tables
        )
        sides = {"src": chunk.sides["src"], "mt": mt.tobytes(), "pe": chunk.sides["pe"]}
        kept = outcomes == KEPT
        if not kept.all():
            for side in ("src", "pe"):
                sides[side] = select_lines(np.frombuffer(sides[side], np.uint8), kept).tobytes()
        counts = Counter({name: int((outcomes == outcome).sum()) for name, outcome in OUTCOMES.items()})
        counts["words"] = int(lengths[kept].sum())
        counts.update(dict(zip(EDIT_KINDS, found[kept].sum(0).tolist())))
        counts["as drawn"] = int((found == wanted)[kept].all(1).sum())
        counts.update(_histogram(np.minimum(MAX_TER, 100 * found[kept].sum(1) // lengths[kept]), TER_BIN))
        counts.update(_histogram(lengths[kept], LENGTH_BIN))
        return replace(chunk, sides=sides, counts=dict(counts))


def _histogram(values: NDArray[np.int32], prefix: str) -> dict[str, int]:
    bins, counts = np.unique(values, return_counts=True)
    return {f"{prefix}{value}": int(count) for value, count in zip(bins, counts)}


@compiled
def _make_noise(src, pe, lines, first_line, seed, max_words, tables):  # type: ignore[no-untyped-def]
    """Make mt from pe; src and pe are `lines` lines, UInt8, each ended by a line feed; for the rest, see `NoiseStage`.

    Returns:
        The kept lines of mt, UInt8; the outcome for each line of pe (`KEPT` and so on), Int8[lines]; its number of
        words, Int32[lines]; the edits that TER finds, by kind, Int32[lines,4]; and the wanted edits, Int32[lines,4].
    """
    capacity = 3 * max_words + 1
    line, drafts = new_word_buffer(pe, max_words), (_new_draft(capacity), _new_draft(capacity))
    scratch = new_scratch(capacity, max_words, tables.lexicon.hashes.size + max_words)
    wanted, counted = np.zeros(4, np.int32), np.zeros(4, np.int32)
    ids = np.empty(capacity, np.int32)
    outcomes, lengths = np.zeros(lines, np.int8), np.zeros(lines, np.int32)
    found, all_wanted = np.zeros((lines, 4), np.int32), np.zeros((lines, 4), np.int32)
    state = np.zeros(1, np.uint64)
    out, used, stop = np.empty(pe.size + pe.size // 2 + 1024, np.uint8), 0, -1
    src_stop = -1
    for number in range(lines):
        start, src_start = stop + 1, src_stop + 1
        stop, src_stop = line_end(pe, start), line_end(src, src_start)
        n = split_words(line, start, stop, tables.lexicon)
        lengths[number] = n
        state[0] = mix64(mix64(seed) + np.uint64(first_line + number))
        if n == 0:
            outcomes[number] = EMPTY
        elif n > max_words:
            outcomes[number] = TOO_LONG
        elif is_blank(src, src_start, src_stop):
            outcomes[number] = NO_TEXT
        elif next_uniform(state) >= tables.keep_rates[min(n, tables.keep_rates.size - 1)]:
            outcomes[number] = THINNED
        if outcomes[number] != KEPT:
            continue
        _draw_edit_counts(n, tables, wanted, state)
        all_wanted[number] = wanted
        best, size = 0, 0
        if wanted.sum():
            best, size = _make_edits(line, n, wanted, tables, drafts, counted, ids, scratch, found[number], state)
        if found[number].sum() == 0:
            out, used = append_bytes(pe, start, stop + 1, out, used)
        elif size == 0:
            outcomes[number] = NO_TEXT
        else:
            out, used = append_words(drafts[best].refs, size, line, n, start, stop, tables.lexicon, out, used)
    return out[:used], outcomes, lengths, found, all_wanted
