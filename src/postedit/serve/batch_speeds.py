"""How fast a model is, by the size of batches, and whether more is asked of it than it can do."""

import time
from collections.abc import Callable
from typing import Final

_SMOOTHING: Final = 0.2
"""Weight of the latest batch in the measured speed, and of the latest request in the mean of requests."""

_BURST_SECONDS: Final = 2.0
"""Work that may be asked for at once; more is an overload."""

_BURST_REQUESTS: Final = 100
"""Requests that may come at once, even if they are more work than that."""

_TOLERANCE: Final = 1.5
"""Clients that wait for their answers ask for as much as the model does, and its measured speed varies."""


class BatchSpeeds:
    """Tokens a second of a process of one model, by the power of two of the tokens of a batch.

    Large batches are several times as fast. By one speed for all, a service under load would take the speed of small
    batches for its own, refuse requests that make batches large, and become slower the more it is asked.
    """

    def __init__(self) -> None:
        self._speeds: dict[int, float] = {}

    def __bool__(self) -> bool:
        """Return whether a batch has been measured."""
        return bool(self._speeds)

    def add(self, tokens: int, seconds: float) -> None:
        """Take a batch into account."""
        latest = tokens / max(seconds, 1e-6)
        known = self._speeds.get(tokens.bit_length(), latest)
        self._speeds[tokens.bit_length()] = known + _SMOOTHING * (latest - known)

    def seconds_for(self, tokens: float) -> float:
        """Return the time of some tokens, as if in batches of the largest size measured that is not above them."""
        sizes = [size for size in self._speeds if size <= int(tokens).bit_length()] or [min(self._speeds)]
        return tokens / self._speeds[max(sizes)]

    @property
    def highest(self) -> float:
        """The speed of the fastest batches; 0 until one has been measured."""
        return max(self._speeds.values(), default=0.0)

    def tokens_in(self, seconds: float) -> int:
        """Return the tokens of a batch that takes some time."""
        return int(self.highest * seconds)


class Demand:
    """Whether more is asked of a model than it can do, for longer than a burst.

    Tokens that are asked for fill a bucket, even if they are refused, and the speed of the model drains it. Requests of
    a burst may queue up: all are answered, if later. While the bucket is full, a long queue would only make answers
    late, and give no more of them.

    Args:
        clock: gives the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._level, self._then = 0.0, clock()
        self.mean = 0.0  # tokens of a request

    def add(self, tokens: int | None, speed: float) -> None:
        """Take a request into account.

        Args:
            tokens: of the request; the mean of those before, if it is refused unread.
            speed: of all processes of the model, in tokens a second.
        """
        if tokens is not None:
            self.mean += (_SMOOTHING if self.mean else 1.0) * (tokens - self.mean)
        self._drain(speed)
        most = 1.5 * self._size(speed)  # so that an overload of any length ends soon after its last request
        self._level = min(most, self._level + (self.mean if tokens is None else tokens))

    def is_excessive(self, speed: float) -> bool:
        """Return whether the bucket is full."""
        self._drain(speed)
        return self._level > self._size(speed)

    def _drain(self, speed: float) -> None:
        now = self._clock()
        self._level = max(0.0, self._level - _TOLERANCE * speed * (now - self._then))
        self._then = now

    def _size(self, speed: float) -> float:
        return max(_BURST_SECONDS * speed, _BURST_REQUESTS * self.mean)
