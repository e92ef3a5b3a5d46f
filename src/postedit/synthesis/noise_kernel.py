"""Noise, compiled: turns lines of pe into lines of mt by as many edits of each kind as TER is to find in them.

For each line a request is drawn, edits are made that should come out as requested, and TER counts what it finds: edits
cancel each other, or merge (a word lost next to one gained is one substitution). Where it finds something else, places
and words are drawn anew; the try that comes nearest to the request is kept.

Names of edits are those of TER, from mt to pe: to make an insertion is to leave a word of pe out.

Letters: n are the words of a line of pe. `state` is a UInt64[1], the random numbers of one line.
"""

from typing import Any, NamedTuple

import numpy as np

from postedit.compiled import compiled
from postedit.evaluate.ter_kernel import DELETE, INSERT, SHIFT, SUBSTITUTE, count_pair, new_scratch
from postedit.synthesis.byte_lines import characters, line_end, new_line, split, write_bytes, write_words
from postedit.synthesis.draws import below, draw, mix, rounded, uniform
from postedit.synthesis.lexicon import ENDING, SAME_START, find_prefix

ATTEMPTS = 4
"""Times a line is drawn until TER finds what was requested: more would cost time, and mend little."""

PLACES = 8
"""Places tried for an edit that does not fit everywhere."""

NEIGHBOURS = 32
"""Words looked at for one that is another form of a word: of those that begin like it, most are."""

KEPT, EMPTY, TOO_LONG, THINNED = 0, 1, 2, 3
"""What becomes of a line: it is used; or left out, having no words, too many, or a length that is too frequent."""

_UNTOUCHED, _TOUCHED = 0, 1


class Tables(NamedTuple):
    """What edits are drawn from. V words are in the lexicon; word V stands for all others.

    Args:
        lexicon: a `Lexicon`.
        insert_weights: Float64[V+1], how likely a word of pe is one that mt lacks.
        substitute_weights: Float64[V+1], how likely mt has another word for it.
        others_ends: Int64[V+2], where the substitutes of each word end among `others`; the first is 0.
        others: Int32, words seen as substitutes.
        others_sums: Float64, how often, added up word by word.
        trust: Float64[V+1], how likely a substitute is one that was seen, and not another.
        inflected: Float64, of the others, the share that should look like another form of the word.
        substitutes: Int32, all words that are substitutes.
        substitutes_sums: Float64, how often, added up.
        deletions: Int32, words that mt has and pe lacks.
        deletions_sums: Float64, how often, added up.
        moves: Int32[moves,2], length of a shifted block and how far it stands to the left; empty for any.
        sentences: Int32[sentences,5], length and edits by kind of real sentences, by length.
        pools: Int64[longest+1,2], first and one after the last of the sentences that serve for a length.
        scale: Float64, what their edits are multiplied by; edits a word, where there are no real sentences.
        keep: Float64[lengths], the share of lines of a length that is used; the last also for what is longer.
    """

    lexicon: Any
    insert_weights: Any
    substitute_weights: Any
    others_ends: Any
    others: Any
    others_sums: Any
    trust: Any
    inflected: Any
    substitutes: Any
    substitutes_sums: Any
    deletions: Any
    deletions_sums: Any
    moves: Any
    sentences: Any
    pools: Any
    scale: Any
    keep: Any


class _Text(NamedTuple):
    """A line of mt in the making.

    Args:
        refs: Int64, for each word its place in pe, or -1 minus its number in the lexicon.
        ids: Int32, its number.
        marks: Int8, whether it was touched by an edit.
        near: Bool, whether a word next to it was left out.
        taken: Bool, for each word of pe, whether it is left out or replaced.
        replaced: Bool, likewise.
    """

    refs: Any
    ids: Any
    marks: Any
    near: Any
    taken: Any
    replaced: Any


@compiled
def _new_text(room):  # type: ignore[no-untyped-def]
    """Return room for so many words."""
    return _Text(
        np.empty(room, np.int64),
        np.empty(room, np.int32),
        np.empty(room, np.int8),
        np.empty(room, np.bool_),
        np.empty(room, np.bool_),
        np.empty(room, np.bool_),
    )


@compiled
def _request(n, tables, ask, state):  # type: ignore[no-untyped-def]
    """Draw how many edits of each kind a line of n words is to have, and bring them within what it can have."""
    ask[:] = 0
    if tables.sentences.shape[0] == 0:
        for _ in range(n):
            if uniform(state) < tables.scale:
                ask[below(4, state)] += 1
    else:
        length = min(n, tables.pools.shape[0] - 1)
        first, last = tables.pools[length, 0], tables.pools[length, 1]
        chosen = first + below(last - first, state)
        scale = tables.scale * n / tables.sentences[chosen, 0]
        for kind in range(4):
            ask[kind] = rounded(scale * tables.sentences[chosen, 1 + kind], state)
    ask[INSERT] = min(ask[INSERT], n)
    ask[SUBSTITUTE] = min(ask[SUBSTITUTE], n - ask[INSERT])
    ask[DELETE] = min(ask[DELETE], 2 * n)
    ask[SHIFT] = min(ask[SHIFT], n)


@compiled
def _choose(weights, ids, n, taken, state):  # type: ignore[no-untyped-def]
    """Take a word of pe that is not taken, drawn by the weights of the words; there must be one."""
    last = weights.size - 1
    total, found = 0.0, -1
    for i in range(n):
        if not taken[i]:
            total += weights[min(ids[i], last)]
            found = i
    value = uniform(state) * total
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
    """Return the number of a word that mt has in place of word i of pe."""
    known = min(line.ids[i], tables.trust.size - 1)
    first, last = tables.others_ends[known], tables.others_ends[known + 1]
    if last > first and uniform(state) < tables.trust[known]:
        return tables.others[draw(tables.others_sums, first, last, state)]
    if uniform(state) < tables.inflected:
        other = _inflected(line, i, tables.lexicon, state)
        if other >= 0:
            return other
    other = -1
    for _ in range(PLACES):
        other = tables.substitutes[draw(tables.substitutes_sums, 0, tables.substitutes.size, state)]
        if other != line.ids[i]:
            break
    return other


@compiled
def _inflected(line, i, lexicon, state):  # type: ignore[no-untyped-def]
    """Return a word that differs from word i in its ending alone, as `profile.alike` has it, or -1."""
    data, start, stop = line.data, line.starts[i], line.stops[i]
    length = characters(data, start, stop)
    if length <= SAME_START:
        return -1
    end, left = stop, min(ENDING, length - SAME_START)
    while left > 0:
        end -= 1
        if data[end] & 0xC0 != 0x80:
            left -= 1
    first = find_prefix(lexicon, data, start, end, False)
    last = find_prefix(lexicon, data, start, end, True)
    if last == first:
        return -1
    chosen = below(last - first, state)
    for step in range(min(last - first, NEIGHBOURS)):
        other = first + (chosen + step) % (last - first)
        other_start, other_stop = lexicon.ends[other], lexicon.ends[other + 1]
        shared = end - start
        while (
            start + shared < stop
            and other_start + shared < other_stop
            and data[start + shared] == lexicon.data[other_start + shared]
        ):
            shared += 1
        ours = characters(data, start + shared, stop)
        theirs = characters(lexicon.data, other_start + shared, other_stop)
        if other != line.ids[i] and max(ours, theirs) <= ENDING:
            return other
    return -1


@compiled
def _leave_out_and_replace(line, n, ask, tables, text, state):  # type: ignore[no-untyped-def]
    """Make the insertions and substitutions asked for; return the number of words that are left."""
    text.taken[:n] = False
    text.replaced[:n] = False
    for _ in range(ask[SUBSTITUTE]):
        text.replaced[_choose(tables.substitute_weights, line.ids, n, text.taken, state)] = True
    for _ in range(ask[INSERT]):
        _choose(tables.insert_weights, line.ids, n, text.taken, state)
    size, after_gap = 0, False
    for i in range(n):
        if text.taken[i] and not text.replaced[i]:
            after_gap = True
            if size > 0:
                text.near[size - 1] = True
            continue
        if text.replaced[i]:
            other = _substitute(line, i, tables, state)
            text.refs[size], text.ids[size], text.marks[size] = -1 - other, other, _TOUCHED
        else:
            text.refs[size], text.ids[size], text.marks[size] = i, line.ids[i], _UNTOUCHED
        text.near[size] = after_gap
        after_gap = False
        size += 1
    return size


@compiled
def _add(size, tables, text, state):  # type: ignore[no-untyped-def]
    """Make a deletion: put in a word, away from where words were left out, which would make it a substitution."""
    place = 0
    for _ in range(PLACES):
        place = below(size + 1, state)
        if not ((place > 0 and text.near[place - 1]) or (place < size and text.near[place])):
            break
    for k in range(size, place, -1):
        text.refs[k], text.ids[k], text.marks[k], text.near[k] = (
            text.refs[k - 1],
            text.ids[k - 1],
            text.marks[k - 1],
            text.near[k - 1],
        )
    word = tables.deletions[draw(tables.deletions_sums, 0, tables.deletions.size, state)]
    text.refs[place], text.ids[place], text.marks[place], text.near[place] = -1 - word, word, _TOUCHED, False
    return size + 1


@compiled
def _shift(size, tables, text, state):  # type: ignore[no-untyped-def]
    """Make a shift: move a block of words that no edit has touched, if there is one to be found."""
    for attempt in range(PLACES):
        if tables.moves.shape[0] and attempt < PLACES - 2:
            move = below(tables.moves.shape[0], state)
            length, by = tables.moves[move, 0], -tables.moves[move, 1]
        else:
            length, by = 1, below(2 * size, state) - size
        low, high = max(0, -by), size - length - max(0, by)
        if by == 0 or high < low:
            continue
        start = low + below(high - low + 1, state)
        touched = False
        for k in range(start, start + length):
            touched |= text.marks[k] != _UNTOUCHED
        if touched:
            continue
        for k in range(length):
            text.marks[start + k] = _TOUCHED
        if by > 0:
            _rotate(text, start, length, by)
        else:
            _rotate(text, start + by, -by, length)
        return


@compiled
def _rotate(text, start, left, right):  # type: ignore[no-untyped-def]
    """Let the `left` words from `start` on change places with the `right` words after them."""
    _reverse(text, start, start + left)
    _reverse(text, start + left, start + left + right)
    _reverse(text, start, start + left + right)


@compiled
def _reverse(text, start, stop):  # type: ignore[no-untyped-def]
    i, j = start, stop - 1
    while i < j:
        text.refs[i], text.refs[j] = text.refs[j], text.refs[i]
        text.ids[i], text.ids[j] = text.ids[j], text.ids[i]
        text.marks[i], text.marks[j] = text.marks[j], text.marks[i]
        i += 1
        j -= 1


@compiled
def _is_certain(ask):  # type: ignore[no-untyped-def]
    """Return whether TER can find nothing else than what is asked for: words are only left out, or only put in."""
    return ask[SHIFT] == 0 and ask[SUBSTITUTE] == 0 and (ask[INSERT] == 0 or ask[DELETE] == 0)


@compiled
def _edit(line, n, wanted, tables, texts, counted, shifted, scratch, found, state):  # type: ignore[no-untyped-def]
    """Make the edits wanted; return which of the two texts has them and its size. What TER finds goes to `found`."""
    best, best_size, best_miss, current = 0, 0, 1 << 30, 0
    for _ in range(ATTEMPTS):
        text = texts[current]
        size = _leave_out_and_replace(line, n, wanted, tables, text, state)
        for _ in range(wanted[DELETE]):
            size = _add(size, tables, text, state)
        for _ in range(wanted[SHIFT]):
            _shift(size, tables, text, state)
        if _is_certain(wanted):
            counted[:] = wanted
        else:
            shifted[:size] = text.ids[:size]
            count_pair(shifted, size, line.ids[:n], n, scratch, counted)
        # A wrong number of edits is worse than a wrong kind.
        miss = 2 * abs(counted.sum() - wanted.sum()) + np.abs(counted - wanted).sum()
        if miss < best_miss:
            best, best_size, best_miss = current, size, miss
            found[:] = counted
            current = 1 - current
        if miss == 0:
            break
    return best, best_size


@compiled
def make_noise(pe, lines, first_line, seed, most_words, tables):  # type: ignore[no-untyped-def]
    """Make mt of pe.

    Args:
        pe: UInt8, lines that end with line feeds.
        lines: how many they are.
        first_line: the number of the first one in the input; with the seed it determines all that is drawn.
        seed: UInt64.
        most_words: a line with more is left out.
        tables: `Tables`.

    Returns:
        UInt8, lines of mt; Int8[lines], what became of each line of pe (`KEPT` and so on); Int32[lines], its words;
        Int32[lines,4], the edits that TER finds, by kind; Int32[lines,4], those that were requested.
    """
    room = 3 * most_words + 1
    line, texts = new_line(pe, most_words), (_new_text(room), _new_text(room))
    scratch = new_scratch(room, most_words, tables.lexicon.hashes.size + most_words)
    wanted, counted = np.zeros(4, np.int32), np.zeros(4, np.int32)
    shifted = np.empty(room, np.int32)
    fates, lengths = np.zeros(lines, np.int8), np.zeros(lines, np.int32)
    found, requested = np.zeros((lines, 4), np.int32), np.zeros((lines, 4), np.int32)
    state = np.zeros(1, np.uint64)
    out, used, stop = np.empty(pe.size + pe.size // 2 + 1024, np.uint8), 0, -1
    for number in range(lines):
        start = stop + 1
        stop = line_end(pe, start)
        n = split(line, start, stop, tables.lexicon)
        lengths[number] = n
        state[0] = mix(mix(seed) + np.uint64(first_line + number))
        if n == 0:
            fates[number] = EMPTY
        elif n > most_words:
            fates[number] = TOO_LONG
        elif uniform(state) >= tables.keep[min(n, tables.keep.size - 1)]:
            fates[number] = THINNED
        if fates[number] != KEPT:
            continue
        _request(n, tables, wanted, state)
        requested[number] = wanted
        best, size = 0, 0
        if wanted.sum():
            best, size = _edit(line, n, wanted, tables, texts, counted, shifted, scratch, found[number], state)
        if found[number].sum() == 0:
            out, used = write_bytes(pe, start, stop + 1, out, used)
        else:
            out, used = write_words(texts[best].refs, size, line, tables.lexicon, out, used)
    return out[:used], fates, lengths, found, requested
