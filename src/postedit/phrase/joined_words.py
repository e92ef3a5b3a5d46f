"""Words of mt joined with the source words they come from, by which phrases may be looked up (Béchara et al. 2011)."""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.compiled import compiled
from postedit.phrase.pair_table import lookup, pair, table_of

_UNKNOWN: Final = np.int32(-1)


class JoinedWords(NamedTuple):
    """The ids of joined words: a table with keys `pair(word, source word)`; if it is empty, words are not joined."""

    keys: Any  # Int64[slots]
    ids: Any  # Int32[slots]


NOT_JOINED: Final = JoinedWords(np.empty(0, np.int64), np.empty(0, np.int32))


def join_words(words: NDArray[np.int32], sources: NDArray[np.int32]) -> JoinedWords:
    """Return the ids of all words Int32[W] joined with their source words Int32[W]."""
    keys = np.unique(words.astype(np.int64) << 32 | sources)
    return JoinedWords(*table_of(keys, np.arange(keys.size, dtype=np.int32)))


@compiled
def joined_ids(joined: Any, words: Any, sources: Any) -> Any:
    """Return the ids of words joined with source words, -1 for those unknown; the words themselves if not joined."""
    if joined.keys.size == 0:
        return words
    ids = np.empty(words.size, np.int32)
    for place in range(words.size):
        ids[place] = lookup(joined.keys, joined.ids, pair(words[place], sources[place]), _UNKNOWN)
    return ids
