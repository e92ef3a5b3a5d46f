"""A compiled hash table from pairs of word ids to numbers."""

from typing import Any

import numpy as np

from postedit.compiled import compiled

EMPTY = np.int64(-1)


@compiled
def mixed(key: Any) -> Any:
    """Return a 64-bit hash of an integer (the finaliser of MurmurHash3)."""
    value = np.uint64(key)
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xFF51AFD7ED558CCD)
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xC4CEB9FE1A85EC53)
    return value ^ (value >> np.uint64(33))


@compiled
def pair(first: Any, second: Any) -> Any:
    """Return two word ids as one key."""
    return np.int64(first) << 32 | np.int64(second)


@compiled
def find(keys: Any, key: Any) -> Any:
    """Return the slot of `key` in the table Int64[2**k], or the empty slot where it would be."""
    mask = np.uint64(keys.size - 1)
    slot = mixed(key) & mask
    while keys[slot] != key and keys[slot] != EMPTY:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot)


@compiled
def grown(keys: Any) -> Any:
    """Return the keys in a table of twice the size."""
    larger = np.full(2 * keys.size, EMPTY, np.int64)
    for key in keys:
        if key != EMPTY:
            larger[find(larger, key)] = key
    return larger


@compiled
def lookup(keys: Any, values: Any, key: Any, default: Any) -> Any:
    """Return the value of `key`, or `default`."""
    slot = find(keys, key)
    return values[slot] if keys[slot] == key else default
