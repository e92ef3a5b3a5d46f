"""Pacing of requests: limits per minute, pauses that the server asks for, and a budget that is never exceeded."""

import asyncio
import random
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from postedit.core.errors import StoppedError

_MINUTE: Final = 60.0

FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 60.0

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


class BudgetError(StoppedError):
    """The next request could exceed the budget."""


class RateLimit:
    """Delays requests of all threads, so that no period of 60 seconds has more requests or tokens than allowed.

    Args:
        requests: maximum number of requests per minute; 0 for no limit.
        tokens: maximum number of tokens per minute; 0 for no limit. A request with more tokens waits for a minute of
            its own.
        clock: function that returns the current time in seconds.
        sleep: asynchronous function that waits for some seconds.
    """

    def __init__(self, requests: int, tokens: int, clock: Clock, sleep: Sleep = asyncio.sleep) -> None:
        self._requests, self._tokens, self._clock, self._sleep = requests, tokens, clock, sleep
        self._started: deque[tuple[float, int]] = deque()
        self._paused_until = clock()
        self._lock = threading.Lock()  # never held while a request waits

    async def start(self, tokens: int) -> None:
        """Wait until a request with this many tokens may start, and count it."""
        while (seconds := self._counted(tokens)) > 0.0:
            await self._sleep(seconds)

    def pause(self, seconds: float) -> None:
        """Let no request start for some seconds."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)

    def _counted(self, tokens: int) -> float:
        """Return the seconds to wait; count the request if it need not wait."""
        with self._lock:
            seconds = self._wait(tokens)
            if seconds <= 0.0:
                self._started.append((self._clock(), tokens))
        return seconds

    def _wait(self, tokens: int) -> float:
        now = self._clock()
        while self._started and self._started[0][0] <= now - _MINUTE:
            self._started.popleft()
        waits = [self._paused_until - now]
        if self._requests and len(self._started) >= self._requests:
            waits.append(self._started[-self._requests][0] + _MINUTE - now)
        if self._tokens:
            total = sum(count for _, count in self._started) + tokens
            for started, count in self._started:
                if total <= self._tokens:
                    break
                total -= count
                waits.append(started + _MINUTE - now)
        return max(waits)


class Budget:
    """Budget from which requests of all threads reserve their maximum cost, and settle the actual one when it is known.

    Args:
        limit: limit of all costs; 0 for none.
        spent: costs of earlier parts of the work.
    """

    def __init__(self, limit: float, spent: float = 0.0) -> None:
        self.limit, self.spent, self._reserved, self._open, self._users = limit, spent, 0.0, 0, 0
        self._lock = threading.Lock()  # never held while a request waits
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def join(self, spent: Callable[[], float]) -> None:
        """Begin to use the budget, and count all that has been spent so far, also by others.

        `spent` returns all costs, including at most the reserved amounts for requests that are under way.
        """
        total = spent()  # may wait for the disk
        with self._lock:
            self.spent = max(self.spent, total - self._reserved) if self._users else total
            self._users += 1

    def recount(self, spent: Callable[[], float]) -> None:
        """Count all that has been spent so far, also by others; see `join`."""
        self.join(spent)
        self.leave()

    def leave(self) -> None:
        """End what `join` began."""
        with self._lock:
            self._users -= 1

    async def reserve(self, most: float) -> None:
        """Reserve the maximum cost of a request; wait while the reservations of others may leave enough.

        Raises:
            BudgetError: if the request could exceed the budget, and no reservation is left that could free any of it.
        """
        while (settled := self._reserve(most)) is not None:
            await settled.wait()

    def _reserve(self, most: float) -> asyncio.Event | None:
        """Reserve, and return None; or return an event that is set when more may have become available."""
        with self._lock:
            if not self.limit or self.spent + self._reserved + most <= self.limit:
                self._reserved += most
                self._open += 1
                return None
            if not self._open:
                raise BudgetError(f"the next request could exceed the budget of {self.limit:g}: give a larger --budget")
            settled = asyncio.Event()
            self._waiting.append((asyncio.get_running_loop(), settled))
            return settled

    def settle(self, most: float, cost: float) -> None:
        """Release a reservation, and count the actual cost of the request."""
        with self._lock:
            self._open -= 1
            self._reserved = self._reserved - most if self._open else 0.0  # discards rounding errors
            self.spent += cost
            waiting, self._waiting = self._waiting, []
        for loop, settled in waiting:
            with suppress(RuntimeError):  # the loop may have been closed
                loop.call_soon_threadsafe(settled.set)


def pause_before(attempt: int, random_number: Callable[[], float] = random.random) -> float:
    """Return the seconds to wait before repetition 1, 2 ... of a request, doubled each time, with jitter."""
    grown = min(_LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempt - 1))
    return grown * (0.5 + 0.5 * random_number())
