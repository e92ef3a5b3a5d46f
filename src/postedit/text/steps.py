"""Step sequences: a post-edit as the way along mt, for hard attention (Junczys-Dowmunt and Grundkiewicz 2017, 4.1).

A STEP moves attention to the next position of mt; any other symbol is written. The sequence is made of the longest
common subsequence of mt and pe: STEP and the symbol for each match, the symbol for each insertion, STEP for each
deletion. As the first position is attended to from the start, the first STEP is dropped.

The paper drops the first symbol if it is a STEP. Where pe begins with an insertion it is not, and the path would then
lead one position beyond mt; so here the first STEP is dropped wherever it is, and every path ends at the last position.
"""

from collections.abc import Iterable, Sequence

from rapidfuzz.distance import LCSseq

from postedit.core.special_tokens import STEP


def with_steps(mt: Sequence[int], pe: Sequence[int]) -> list[int]:
    """Return `pe` with the STEPs that lead along `mt`; both end in EOS, which is a match.

    Between two matches, deletions come before insertions. There are len(mt) - 1 STEPs.
    """
    sequence: list[int] = []
    mt_at = pe_at = 0
    blocks = LCSseq.opcodes(list(mt[:-1]), list(pe[:-1])).as_matching_blocks()
    matches = [(block.a, block.b, block.size) for block in blocks if block.size]
    for mt_start, pe_start, size in [*matches, (len(mt) - 1, len(pe) - 1, 1)]:
        sequence += [STEP] * (mt_start - mt_at)
        sequence += pe[pe_at:pe_start]
        for symbol in pe[pe_start : pe_start + size]:
            sequence += [STEP, symbol]
        mt_at, pe_at = mt_start + size, pe_start + size
    sequence.remove(STEP)
    return sequence


def without_steps(sequence: Iterable[int]) -> list[int]:
    """Return the symbols that are written: all but the STEPs."""
    return [symbol for symbol in sequence if symbol != STEP]
