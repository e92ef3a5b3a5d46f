"""A compiled hash table from integer keys, such as pairs of word ids or n-grams, to numbers.

A table is an array of keys Int64[2**k], at most half full, and arrays of values in the same slots.
"""

from typing import Any, Final

import numpy as np

from postedit.compiled import compiled

EMPTY: Final = np.int64(-1)
"""The key of an unused slot."""

SMALLEST: Final = 16  # number of slots of the smallest table


@compiled
def mixed(key: Any) -> Any:
    """Return a hash of an integer, UInt64."""
    value = np.uint64(key)
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xFF51AFD7ED558CCD)
    value ^= value >> np.uint64(33)
    value *= np.uint64(0xC4CEB9FE1A85EC53)
    return value ^ (value >> np.uint64(33))


@compiled
def pair(first: Any, second: Any) -> Any:
    """Return a pair of word ids as one key."""
    return np.int64(first) << 32 | np.int64(second)


@compiled
def extended(key: Any, word: Any) -> Any:
    """Return the key, never negative, of a sequence with the given key and one more word; the empty one has key 0."""
    return np.int64(mixed(np.int64(key) * np.int64(31) + np.int64(word) + np.int64(7)) >> np.uint64(1))


@compiled
def key_of(words: Any) -> Any:
    """Return the key of a sequence of words, Int32[n]."""
    key = np.int64(0)
    for word in words:
        key = extended(key, word)
    return key


@compiled
def find(keys: Any, key: Any) -> Any:
    """Return the slot of `key`, or the unused slot where it would be."""
    mask = np.uint64(keys.size - 1)
    slot = mixed(key) & mask
    while keys[slot] != key and keys[slot] != EMPTY:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot)


@compiled
def lookup(keys: Any, values: Any, key: Any, default: Any) -> Any:
    """Return the value of `key`, or `default`."""
    slot = find(keys, key)
    return values[slot] if keys[slot] == key else default


@compiled
def doubled(keys: Any) -> Any:
    """Return the keys of a table in one of twice the size."""
    larger = np.full(2 * keys.size, EMPTY, np.int64)
    for key in keys:
        if key != EMPTY:
            larger[find(larger, key)] = key
    return larger


@compiled
def table_of(keys: Any, values: Any) -> Any:
    """Return the keys and values of a table of these distinct keys, Int64[N], and their values, [N]."""
    size = SMALLEST
    while size < 2 * keys.size:
        size *= 2
    slots, stored = np.full(size, EMPTY, np.int64), np.zeros(size, values.dtype)
    for index in range(keys.size):
        slot = find(slots, keys[index])
        slots[slot], stored[slot] = keys[index], values[index]
    return slots, stored
