"""A test of a mean that holds for samples of any size: by betting (Waudby-Smith and Ramdas 2024).

Someone who believes that the mean of some numbers is above 0 bets on each of them, a share of what he has, before he
sees it. If the mean is 0 or less, his capital does not grow on average, whatever he bets, so it is 20 times the stake
with a probability of at most 1/20 (Markov). Nothing needs to be known of the numbers but the most that one can be
below 0.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ORDERS: Final = 50
"""Orders in which the numbers are bet on: the capital depends on the order, its mean over some of them hardly does."""

_BOLDEST: Final = 0.5
"""The largest bet, as a share of the one with which all may be lost."""

_RICHEST: Final = 700.0
"""The logarithm of capital counts for at most so much, which keeps it a number: less evidence, never more."""


def evidence(gains: Floats, worst: float, expected: Floats | None = None, seed: int = 1) -> float:
    """Return how strongly gains speak against a mean of 0 or less: an e-value.

    The mean over orders of the final capital of a bettor who begins with 1. If the gains are independent draws of a
    distribution whose mean is at most 0, the expectation of what is returned is at most 1.

    Args:
        gains: Float[n], each at least -`worst`.
        worst: above 0.
        expected: Float[m], others of the kind, from which the bettor knows how to begin; independent of `gains`.
        seed: of the orders.

    Raises:
        ValueError: if a gain is below -`worst`.
    """
    if gains.size and gains.min() < -worst:
        raise ValueError(f"a gain of {gains.min()} is below {-worst}")
    known = np.zeros(0) if expected is None else expected
    ordered = np.random.default_rng(seed).permuted(np.tile(gains, (_ORDERS, 1)), axis=1)
    before = np.concatenate([np.zeros((_ORDERS, 1)), ordered[:, :-1]], 1)[:, : gains.size]
    sums = known.sum() + np.cumsum(before, 1)
    squares = worst + (known**2).sum() + np.cumsum(before**2, 1)
    # Growth of the logarithm of the capital is bet * sum - bet ** 2 * squares / 2, to the second order.
    bets = np.clip(sums / squares, 0.0, _BOLDEST / worst)
    return float(np.exp(np.minimum(np.log1p(bets * ordered).sum(1), _RICHEST)).mean())
