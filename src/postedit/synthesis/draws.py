"""Random draws in compiled code. `state` is a UInt64[1], from which all that is drawn follows."""

import numpy as np

from postedit.compiled import compiled


@compiled
def mix(value):  # type: ignore[no-untyped-def]
    """Return a well mixed value (the finaliser of SplitMix64, Steele et al. 2014)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@compiled
def uniform(state):  # type: ignore[no-untyped-def]
    """Return the next random number of 0 to below 1."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return (mix(state[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def below(limit, state):  # type: ignore[no-untyped-def]
    """Return a whole number of 0 to below `limit`."""
    return int(uniform(state) * limit)


@compiled
def rounded(value, state):  # type: ignore[no-untyped-def]
    """Return `value` up or down to a whole number, so that it is kept on average."""
    whole = int(value)
    return whole + 1 if uniform(state) < value - whole else whole


@compiled
def draw(sums, first, last, state):  # type: ignore[no-untyped-def]
    """Return a place between `first` and `last`, drawn by the counts that `sums` adds up from `first` on."""
    value = uniform(state) * sums[last - 1]
    low, high = first, last - 1
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > value:
            high = middle
        else:
            low = middle + 1
    return low
