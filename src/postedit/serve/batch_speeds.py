"""Measurements of the speed of a model by batch size, and of whether demand exceeds it."""

import time
from collections.abc import Callable
from typing import Final

_SMOOTHING: Final = 0.2
"""Weight of the latest batch in the moving average of speeds, and of the latest request in that of request sizes."""

_BURST_SECONDS: Final = 2.0
"""Seconds of work that may be requested at once; more is an overload."""

_BURST_REQUESTS: Final = 100
"""Requests that may come at once, even if they are more than `_BURST_SECONDS` of work."""

_CHECK_SECONDS: Final = 1.0
"""Seconds between two checks of which clients no longer ask for anything."""

_TOLERANCE: Final = 1.5
"""Factor by which demand may exceed the measured speed, which varies; waiting clients ask for as much as is done."""


class BatchSpeeds:
    """Speed of one process of a model in tokens per second, measured per batch size (rounded to powers of two).

    Large batches are several times as fast as small ones. With one speed for all sizes, a service that was measured
    on small batches would refuse the requests that make batches large, and become slower the higher the demand.
    """

    def __init__(self) -> None:
        self._speeds: dict[int, float] = {}

    def __bool__(self) -> bool:
        """Return whether any batch has been measured."""
        return bool(self._speeds)

    def add(self, tokens: int, seconds: float) -> None:
        """Record the tokens and the duration of a batch."""
        latest = tokens / max(seconds, 1e-6)
        known = self._speeds.get(tokens.bit_length(), latest)
        self._speeds[tokens.bit_length()] = known + _SMOOTHING * (latest - known)

    def seconds_for(self, tokens: float) -> float:
        """Return the seconds for some tokens, at the speed of the largest measured batch size that they fill."""
        sizes = [size for size in self._speeds if size <= int(tokens).bit_length()] or [min(self._speeds)]
        return tokens / self._speeds[max(sizes)]

    @property
    def highest(self) -> float:
        """The speed of the fastest batch size in tokens per second; 0 if none was measured yet."""
        return max(self._speeds.values(), default=0.0)

    def tokens_in(self, seconds: float) -> int:
        """Return the tokens of a batch that takes so many seconds, at the highest speed."""
        return int(self.highest * seconds)


class Demand:
    """Detects demand that exceeds the speed of a model for longer than a burst.

    Requested tokens fill a bucket, even if they are refused, and the speed of the model drains it. Requests of a burst
    may queue up, as all of them are answered in the end. While the bucket is full, a long queue would only delay
    answers, without increasing the throughput.

    Args:
        clock: returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._level, self._then = 0.0, clock()
        self.mean = 0.0  # of the tokens of a request, as a moving average

    def add(self, tokens: int | None, speed: float, share: float = 1.0) -> None:
        """Record a request.

        Args:
            tokens: number of its tokens; None: the request is refused unread, and counts as the mean of earlier ones.
            speed: speed of all processes of the model together, in tokens per second.
            share: share of the speed, and of a burst, that this demand may have.
        """
        if tokens is not None:
            self.mean += (_SMOOTHING if self.mean else 1.0) * (tokens - self.mean)
        self._drain(speed, share)
        most = 1.5 * self._size(speed, share)  # so that any overload ends soon after its last request
        self._level = min(most, self._level + (self.mean if tokens is None else tokens))

    def is_excessive(self, speed: float, share: float = 1.0) -> bool:
        """Return whether the bucket is full at a speed in tokens per second, of which `share` is for this demand."""
        self._drain(speed, share)
        return self._level > self._size(speed, share)

    def is_met(self, speed: float, share: float = 1.0) -> bool:
        """Return whether the bucket is empty at a speed in tokens per second, of which `share` is for this demand."""
        self._drain(speed, share)
        return self._level <= 0.0

    def _drain(self, speed: float, share: float) -> None:
        now = self._clock()
        self._level = max(0.0, self._level - _TOLERANCE * speed * share * (now - self._then))
        self._then = now

    def _size(self, speed: float, share: float) -> float:
        """Return the tokens that may be asked for at once: one request at least, however small the share is."""
        return max(self.mean, share * max(_BURST_SECONDS * speed, _BURST_REQUESTS * self.mean))


class ClientDemands:
    """Tells which clients ask for more than an equal share of the speed of a model.

    In an overload, only these are refused: otherwise, one client could keep out all others.

    Args:
        clock: returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._checked = clock, clock()
        self._demands: dict[str, Demand] = {}  # of the clients whose demand is not met yet

    def add(self, client: str, tokens: int | None, speed: float) -> None:
        """Record a request of a client; see `Demand.add`."""
        if self._clock() - self._checked >= _CHECK_SECONDS:
            self._checked, share = self._clock(), self._share
            self._demands = {one: each for one, each in self._demands.items() if not each.is_met(speed, share)}
        self._demands.setdefault(client, Demand(self._clock)).add(tokens, speed, self._share)

    def is_excessive(self, client: str, speed: float) -> bool:
        """Return whether a client asks for more than its share; the only client does in any overload."""
        demand = self._demands.get(client)
        if demand is None:
            return not self._demands
        return len(self._demands) == 1 or demand.is_excessive(speed, self._share)

    @property
    def _share(self) -> float:
        return 1.0 / max(1, len(self._demands))
