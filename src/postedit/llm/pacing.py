"""Pace requests: limits a minute, pauses that the server asks for, and a budget that is never exceeded."""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable
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
    """Lets requests start so that no 60 seconds have more requests, or more tokens, than allowed.

    Args:
        requests: a minute; 0: any number.
        tokens: a minute; 0: any number. A request with more waits for a minute of its own.
        clock: seconds.
        sleep: waits for seconds.
    """

    def __init__(self, requests: int, tokens: int, clock: Clock, sleep: Sleep = asyncio.sleep) -> None:
        self._requests, self._tokens, self._clock, self._sleep = requests, tokens, clock, sleep
        self._started: deque[tuple[float, int]] = deque()
        self._paused_until = clock()

    async def start(self, tokens: int) -> None:
        """Wait until a request with these tokens may start, and count it."""
        while (seconds := self._wait(tokens)) > 0.0:
            await self._sleep(seconds)
        self._started.append((self._clock(), tokens))

    def pause(self, seconds: float) -> None:
        """Let no request start for some seconds."""
        self._paused_until = max(self._paused_until, self._clock() + seconds)

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
    """Money that requests reserve before they start, at their most, and settle when their cost is known.

    Args:
        limit: of all costs; 0: none.
        spent: before, by earlier parts of the work.
    """

    def __init__(self, limit: float, spent: float) -> None:
        self.limit, self.spent, self._reserved, self._open = limit, spent, 0.0, 0
        self._settled = asyncio.Event()

    async def reserve(self, most: float) -> None:
        """Reserve what a request can cost at most; wait for others that may leave enough of their reservations.

        Raises:
            BudgetError: if it could exceed the budget, and none is left that could leave anything.
        """
        while self.limit and self.spent + self._reserved + most > self.limit:
            if not self._open:
                raise BudgetError(f"the next request could exceed the budget of {self.limit:g}: give a larger --budget")
            self._settled.clear()
            await self._settled.wait()
        self._reserved += most
        self._open += 1

    def settle(self, most: float, cost: float) -> None:
        """Give back a reservation, and count what the request cost."""
        self._open -= 1
        self._reserved = self._reserved - most if self._open else 0.0  # without what rounding leaves
        self.spent += cost
        self._settled.set()


def pause_before(attempt: int, at_least: float = 0.0, random_number: Callable[[], float] = random.random) -> float:
    """Return the seconds to wait before attempt 1, 2 ... to repeat a request: twice as long each time, with jitter."""
    grown = min(_LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempt - 1))
    return max(at_least, grown * (0.5 + 0.5 * random_number()))
