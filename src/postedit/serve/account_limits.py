"""Limits on wrong passwords, and on the requests of each key."""

import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple

from postedit.serve.http_errors import HttpError

_MOST_TRIES: Final = 5
"""Wrong passwords for one user from one address, after which that address has to wait for this user."""

_MOST_OF_ADDRESS: Final = 20
"""Wrong passwords from one address, for any users."""

_MOST_OF_NAME: Final = 100
"""Wrong passwords for one user, from any addresses."""

_FORGOTTEN_SECONDS: Final = 60.0
"""Seconds in which one failure is forgotten; as this is `_LONGEST_WAIT`, the count of one address stays bounded."""

_LONGEST_WAIT: Final = 60.0  # seconds
_REMEMBERED: Final = 30_000  # users and addresses whose failures are kept


@dataclass(slots=True)
class SignInTry:
    """An attempt to sign in; the caller sets `has_failed` if the password is wrong."""

    has_failed: bool = False


class _Failures(NamedTuple):
    """The number of failures not forgotten at a moment, and the time until which the next attempt must wait."""

    number: float
    moment: float
    until: float

    def left(self, moment: float) -> float:
        """Return how many failures have not been forgotten at a moment; fractions count."""
        return max(0.0, self.number - (moment - self.moment) / _FORGOTTEN_SECONDS)


_NO_FAILURES: Final = _Failures(0.0, 0.0, 0.0)


_Tried = tuple[str | None, str | None]
"""A user name and an address whose failures are counted together; None: any."""


class Throttle:
    """Delays clients that fail too often to sign in; each process counts by itself.

    Failures are counted per user name and address; per address, with a higher limit, as many people may share one; and
    per user name, with a much higher limit, so that nobody can lock others out by failing in their name.

    Attempts that are being checked count towards the same limits, so that parallel attempts gain nothing over
    successive ones. A successful attempt does not reset the failures, which are forgotten one by one as time passes
    (`_FORGOTTEN_SECONDS` each).
    """

    def __init__(self) -> None:
        self._failures: OrderedDict[_Tried, _Failures] = OrderedDict()
        self._checked: Counter[_Tried] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def trying(self, name: str, address: str) -> Iterator[SignInTry]:
        """Yield an attempt to sign in, whose `has_failed` the caller sets if the password is wrong.

        Raises:
            HttpError: 429 if the client has to wait first.
        """
        most: dict[_Tried, int] = {(name, address): _MOST_TRIES, (None, address): _MOST_OF_ADDRESS}
        most[name, None] = _MOST_OF_NAME
        self._begin(most)
        found = SignInTry()
        try:
            yield found
        finally:
            self._end(most, has_failed=found.has_failed)

    def _begin(self, most: Mapping[_Tried, int]) -> None:
        moment = time.monotonic()
        with self._lock:
            wait = max(self._wait(key, allowed, moment) for key, allowed in most.items())
            if wait <= 0:
                self._checked.update(most.keys())
        if wait > 0:
            seconds = str(math.ceil(wait))
            raise HttpError(429, f"too many wrong passwords; wait {seconds} s", headers={"Retry-After": seconds})

    def _wait(self, key: _Tried, allowed: int, moment: float) -> float:
        """Return the seconds before another attempt is checked; 0: now."""
        failed = self._failures.get(key, _NO_FAILURES)
        if failed.until > moment:
            return failed.until - moment
        return float(self._checked[key] >= max(1.0, allowed - failed.left(moment)))

    def _end(self, most: Mapping[_Tried, int], *, has_failed: bool) -> None:
        moment = time.monotonic()
        with self._lock:
            self._checked.subtract(most.keys())
            self._checked = +self._checked
            for key, allowed in most.items() if has_failed else ():
                count = self._failures.pop(key, _NO_FAILURES).left(moment) + 1
                wait = min(_LONGEST_WAIT, 2.0 ** (count - allowed)) if count > allowed - 1 else 0.0
                self._failures[key] = _Failures(count, moment, moment + wait)
            while len(self._failures) > _REMEMBERED:
                self._failures.popitem(last=False)


class KeyRates:
    """Limits the requests of each key by a token bucket; each process counts by itself."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, float]] = {}  # tokens, and when they were counted
        self._lock = threading.Lock()

    def spend(self, key: str, rate: float) -> None:
        """Take a token from the bucket of a key, which is filled with `rate` tokens a second; 0: no limit.

        Raises:
            HttpError: 429 if the bucket is empty.
        """
        if rate <= 0:
            return
        most, moment = max(1.0, 2 * rate), time.monotonic()
        with self._lock:
            tokens, counted = self._left.get(key, (most, moment))
            tokens = min(most, tokens + rate * (moment - counted))
            self._left[key] = (max(0.0, tokens - 1) if tokens >= 1 else tokens, moment)
        if tokens < 1:
            wait = str(math.ceil((1 - tokens) / rate))
            message = f"this key may make {rate:g} requests a second; wait {wait} s"
            raise HttpError(429, message, headers={"Retry-After": wait})


THROTTLE: Final = Throttle()
KEY_RATES: Final = KeyRates()
