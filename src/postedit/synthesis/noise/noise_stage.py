"""The stage that turns chunks of parallel text into triplets by noise.

Worker processes import this module, so it imports little.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from postedit.compiled import compiled
from postedit.distributed.chunks import Chunk
from postedit.evaluate.ter_kernel import new_scratch
from postedit.synthesis.noise.noise_kernel import draw_edit_counts, make_edits, mix64, new_draft, next_uniform
from postedit.synthesis.noise.noise_tables import NoiseTables
from postedit.synthesis.noise.word_bytes import (
    append_bytes,
    append_words,
    line_end,
    new_word_buffer,
    select_lines,
    split_words,
)
from postedit.synthesis.triplet_counts import EDIT_KINDS, MAX_TER, TER_BIN

KEPT, EMPTY, TOO_LONG, THINNED = 0, 1, 2, 3
"""Outcomes for a line: kept, or left out for having no words, too many words, or a length that is too frequent."""

OUTCOMES: Final[dict[str, int]] = {
    "kept": KEPT,
    "without words": EMPTY,
    "too long": TOO_LONG,
    "length too frequent": THINNED,
}

LENGTH_BIN: Final = "length="
"""Prefix of the counts that make up the histogram of lengths."""


@dataclass(frozen=True, slots=True)
class NoiseStage:
    """Makes triplets of chunks with the sides src and pe.

    Args:
        tables: the distributions of edits.
        seed: random seed.
        max_words: longer lines are left out.
    """

    tables: NoiseTables
    seed: int
    max_words: int

    def __call__(self, chunk: Chunk) -> Chunk:
        """Return the triplets of a chunk."""
        pe = np.frombuffer(chunk.sides["pe"], np.uint8)
        made = _make_noise(pe, chunk.size, chunk.first_line, np.uint64(self.seed), self.max_words, self.tables)
        mt, outcomes, lengths, found, wanted = made
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
def _make_noise(pe, lines, first_line, seed, max_words, tables):  # type: ignore[no-untyped-def]
    """Make mt from pe.

    Args:
        pe: UInt8, lines that end with line feeds.
        lines: number of lines.
        first_line: index of the first line in the input; with the seed it determines the random numbers.
        seed: UInt64.
        max_words: longer lines are left out.
        tables: `NoiseTables`.

    Returns:
        UInt8, the lines of mt; Int8[lines], the outcome for each line of pe (`KEPT` and so on); Int32[lines], its
        number of words; Int32[lines,4], the edits that TER finds, by kind; Int32[lines,4], the edits wanted.
    """
    capacity = 3 * max_words + 1
    line, drafts = new_word_buffer(pe, max_words), (new_draft(capacity), new_draft(capacity))
    scratch = new_scratch(capacity, max_words, tables.lexicon.hashes.size + max_words)
    wanted, counted = np.zeros(4, np.int32), np.zeros(4, np.int32)
    ids = np.empty(capacity, np.int32)
    outcomes, lengths = np.zeros(lines, np.int8), np.zeros(lines, np.int32)
    found, all_wanted = np.zeros((lines, 4), np.int32), np.zeros((lines, 4), np.int32)
    state = np.zeros(1, np.uint64)
    out, used, stop = np.empty(pe.size + pe.size // 2 + 1024, np.uint8), 0, -1
    for number in range(lines):
        start = stop + 1
        stop = line_end(pe, start)
        n = split_words(line, start, stop, tables.lexicon)
        lengths[number] = n
        state[0] = mix64(mix64(seed) + np.uint64(first_line + number))
        if n == 0:
            outcomes[number] = EMPTY
        elif n > max_words:
            outcomes[number] = TOO_LONG
        elif next_uniform(state) >= tables.keep_rates[min(n, tables.keep_rates.size - 1)]:
            outcomes[number] = THINNED
        if outcomes[number] != KEPT:
            continue
        draw_edit_counts(n, tables, wanted, state)
        all_wanted[number] = wanted
        best, size = 0, 0
        if wanted.sum():
            best, size = make_edits(line, n, wanted, tables, drafts, counted, ids, scratch, found[number], state)
        if found[number].sum() == 0:
            out, used = append_bytes(pe, start, stop + 1, out, used)
        else:
            out, used = append_words(drafts[best].refs, size, line, tables.lexicon, out, used)
    return out[:used], outcomes, lengths, found, all_wanted
