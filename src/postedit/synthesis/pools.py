"""Which real sentences serve as models for a sentence of some length."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.synthesis.profile import Profile

_ENOUGH: Final = 100
"""Real sentences that serve for a length, at least: fewer would be repeated too often."""


class RealSentences(NamedTuple):
    """Real sentences by length.

    Args:
        sentences: Int32[sentences,5], length, shifts, substitutions, insertions and deletions.
        pools: Int64[longest+1,2], the first that serves for a length, and the one after the last; what serves for the
            longest also serves for what is longer.
    """

    sentences: NDArray[np.int32]
    pools: NDArray[np.int64]


def by_length(profile: Profile) -> RealSentences:
    """Return the sentences of a profile, and for each length those of lengths as near as will make `_ENOUGH`."""
    rows = np.array(
        sorted(
            (s.length, s.shifts, s.substitutions, s.insertions, s.deletions, count)
            for s, count in profile.sentences.items()
        ),
        np.int32,
    )
    sentences = np.repeat(rows[:, :5], rows[:, 5], axis=0)
    lengths = sentences[:, 0]
    longest = int(lengths[-1])
    pools = np.empty((longest + 1, 2), np.int64)
    for length in range(longest + 1):
        for width in range(longest + 1):
            first, last = np.searchsorted(lengths, [length - width, length + width + 1])
            if last - first >= min(_ENOUGH, len(sentences)):
                break
        pools[length] = first, last
    return RealSentences(sentences, pools)
