"""The queue of segments that wait for a model: its limits, its order, and how it is divided into batches."""

import math
from asyncio import Event, Future
from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final, Literal

from postedit.adapt.correction_memory import MemoryPosition
from postedit.core.editor import PostEdit, Segment
from postedit.core.errors import DataError, PosteditError
from postedit.serve.model_work import EditKind

Priority = Literal["interactive", "job"]
"""Interactive requests, for which people or programs wait, go before those of jobs."""

_BYTES_PER_TOKEN: Final = 4
"""Rough number of UTF-8 bytes per token: English has about four letters a token, Chinese three bytes a character."""

_LONGEST_WAIT: Final = 60
"""Maximum of Retry-After, in seconds."""

_numbers = count()


class OverloadedError(PosteditError):
    """Too much is waiting; `retry_after` is the number of seconds after which another try may succeed."""

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class EndpointUnavailableError(PosteditError):
    """A language model cannot be asked now; `retry_after` is the number of seconds after which to try again."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class BudgetSpentError(EndpointUnavailableError):
    """The budget of a language model is used up, which waiting alone does not change."""


class EndpointRefusesError(PosteditError):
    """The server of a language model refuses requests of this service until the administrator changes settings."""


class TooLargeError(DataError):
    """A request is so large that it could never be accepted."""


def token_count(segment: Segment) -> int:
    """Return the estimated number of tokens of a segment, its constraints included; the same for all models."""
    texts = (segment.src, segment.mt or "", segment.constraints.prefix, *segment.constraints.required)
    return 1 + sum(len(text.encode(errors="replace")) for text in texts) // _BYTES_PER_TOKEN


@dataclass(frozen=True, slots=True)
class EditedSegment:
    """The correction of a segment, the fingerprint of its model, and the memory position that the model had learnt."""

    result: PostEdit
    fingerprint: str
    position: MemoryPosition | None


@dataclass(eq=False, slots=True)
class WaitingSegment:
    """A segment from the time it is accepted until it is edited or given up.

    Args:
        segment: the texts.
        kind: model, project and options; only segments of one kind are edited together.
        priority: priority of its request.
        deadline: time of the event loop until which the correction is wanted.
        client: in whose share of the queue it waits, such as a key, a user or a job.
        done: future that gets the correction.
        begun: set as soon as a segment of the same request is in progress.
    """

    segment: Segment
    kind: EditKind
    priority: Priority
    deadline: float
    client: str
    done: "Future[EditedSegment]"
    begun: Event = field(default_factory=Event)
    deaths: int = 0  # processes that died while they edited it; after one, it is edited alone
    tokens: int = field(init=False)
    number: int = field(init=False)

    def __post_init__(self) -> None:
        self.tokens, self.number = token_count(self.segment), next(_numbers)

    @property
    def place(self) -> tuple[float, int]:
        """Sort key in its line: the earliest deadline goes first."""
        return self.deadline, self.number


class Backlog:
    """Segments that wait, in one line per priority and kind. Tokens are counted as held until a segment is done.

    Args:
        limit: maximum number of tokens of one priority that may wait or be in progress.
        share: share of the limit, from 0 to 1, that one client may hold.
    """

    def __init__(self, limit: int, share: float) -> None:
        self._limit, self._share = limit, max(1, math.floor(limit * share))
        self._lines: dict[tuple[Priority, EditKind], list[WaitingSegment]] = {}
        self._held: Counter[Priority] = Counter()
        self._of_client: Counter[tuple[Priority, str]] = Counter()
        self._of_model: defaultdict[str, Counter[Priority]] = defaultdict(Counter)

    def held(self, priority: Priority, model: str | None = None) -> int:
        """Return the number of tokens that wait or are in progress, for one model, or for all if `model` is None."""
        return self._held[priority] if model is None else self._of_model[model][priority]

    @property
    def empty(self) -> bool:
        """Whether nothing waits or is in progress."""
        return not any(self._held.values())

    @contextmanager
    def expecting(
        self, model: str, priority: Priority, client: str, tokens: int, retry_after: Callable[[int], float]
    ) -> Iterator[None]:
        """Count tokens as held that are about to be added, so that `held` includes them meanwhile.

        Tokens that `add` would refuse are refused here, and never count. Arguments and errors are those of `add`.
        """
        self._check_room(priority, client, tokens, retry_after)
        counts = self._held, self._of_model[model]
        for one in counts:
            one[priority] += tokens
        try:
            yield
        finally:
            for one in counts:
                one[priority] -= tokens

    def add(self, items: Sequence[WaitingSegment], retry_after: Callable[[int], float]) -> None:
        """Add the segments of one request, all or none.

        Args:
            items: segments of one client, model and priority.
            retry_after: returns the seconds in which a number of tokens is edited.

        Raises:
            OverloadedError: if there is no room now.
            TooLargeError: if there will never be room.
        """
        if not items:
            return
        first, tokens = items[0], sum(item.tokens for item in items)
        self._check_room(first.priority, first.client, tokens, retry_after)
        for item in items:
            self._count(item, item.tokens)
            item.done.add_done_callback(lambda _, item=item: self._release(item))  # type: ignore[misc]
            self._insert(item)

    def _check_room(self, priority: Priority, client: str, tokens: int, retry_after: Callable[[int], float]) -> None:
        """Check that there is room for tokens of a client; errors are those of `add`."""
        if tokens > self._share:
            raise TooLargeError(
                f"the segments have about {tokens:,} tokens, and one client may have {self._share:,} in progress; "
                "send fewer at a time"
            )
        excess = self._held[priority] + tokens - self._limit
        own_excess = self._of_client[priority, client] + tokens - self._share
        if excess > 0 or own_excess > 0:
            whose = "the service has" if excess > 0 else "you have"
            seconds = min(_LONGEST_WAIT, retry_after(max(excess, own_excess)))
            raise OverloadedError(f"{whose} too much in progress; try again in {math.ceil(seconds)} s", seconds)

    def give_back(self, items: Iterable[WaitingSegment]) -> None:
        """Put segments back that were taken but not edited; those given up meanwhile are dropped."""
        for item in items:
            if not item.done.done():
                self._insert(item)

    def take(
        self,
        model: str,
        room: Callable[[WaitingSegment], int],
        home: Callable[[EditKind], bool] | None = None,
    ) -> list[WaitingSegment]:
        """Remove and return the segments to edit next, all of one kind; empty if none wait.

        Args:
            model: name of the model.
            room: returns the maximum tokens of a batch that begins with a segment; one segment is always taken.
            home: if given, only kinds for which it returns True are considered.
        """
        lines = [
            (key, line) for key, line in self._lines.items() if key[1].model == model and (home is None or home(key[1]))
        ]
        if not lines:
            return []
        key, line = min(lines, key=lambda one: (one[0][0] != "interactive", one[1][0].place))
        size = _batch_size(line, room(line[0]))
        taken = line[:size]
        for item in taken:
            item.begun.set()
        del line[:size]
        if not line:
            del self._lines[key]
        return taken

    def _insert(self, item: WaitingSegment) -> None:
        insort(self._lines.setdefault((item.priority, item.kind), []), item, key=lambda one: one.place)

    def _release(self, item: WaitingSegment) -> None:
        """Free the tokens and the place of a segment that is done or given up."""
        self._count(item, -item.tokens)
        line = self._lines.get((item.priority, item.kind), [])
        at = bisect_left(line, item.place, key=lambda one: one.place)
        if at < len(line) and line[at] is item:
            del line[at]
            if not line:
                del self._lines[item.priority, item.kind]

    def _count(self, item: WaitingSegment, tokens: int) -> None:
        client = item.priority, item.client
        self._held[item.priority] += tokens
        self._of_model[item.kind.model][item.priority] += tokens
        self._of_client[client] += tokens
        if not self._of_client[client]:
            del self._of_client[client]


def _batch_size(line: Sequence[WaitingSegment], tokens: int) -> int:
    """Return how many of the first segments make a batch; a segment that has killed a process is a batch by itself."""
    total = 0
    for size, item in enumerate(line):
        total += item.tokens
        if size and (total > tokens or item.deaths or line[0].deaths):
            return size
    return len(line)
