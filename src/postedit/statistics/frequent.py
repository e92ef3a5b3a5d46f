"""Counting what is frequent among more different things than there is memory for."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

T = TypeVar("T")

CAPACITY: Final = 2**19
"""Different things that are counted at once; some hundred megabytes of short strings at most."""


@dataclass
class Frequent(Generic[T]):
    """Counts of the frequent among any number of things (Misra and Gries 1982, many at a time).

    Whenever there are more than `capacity` different things, the count in the middle is taken from each, and those with
    nothing left are forgotten. So a count is too low by at most `missing`, never too high.

    Args:
        capacity: different things to keep.
        counts: of those kept.
        missing: what may lack from each count; 0 if all are exact.
    """

    capacity: int = CAPACITY
    counts: Counter[T] = field(default_factory=Counter)
    missing: int = 0

    def add(self, things: Iterable[T] | Mapping[T, int]) -> None:
        """Count things, or add counts of them."""
        self.counts.update(things)
        if len(self.counts) > self.capacity:
            least = sorted(self.counts.values())[-(self.capacity // 2)]
            self.missing += least
            self.counts = Counter({thing: count - least for thing, count in self.counts.items() if count > least})
