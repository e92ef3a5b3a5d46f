"""Decisions on which worker gets which item, and which late items are sent to a second worker.

`Schedule` knows items and workers only by number, and is told the time. So the executor of a cluster and a simulation
of one (`benchmarks/cluster_simulation.py`) share the same decisions.
"""

import heapq
from collections import deque
from statistics import median
from typing import Final

AHEAD: Final = 2
"""Items queued per worker: enough to keep it busy, few enough to keep memory small."""

WINDOW: Final = 4
"""Items per worker between the first that has no result yet and the last that was sent.

The other workers must have work until a late item is noticed (after `_LATE` times the usual time) and done again."""

_LATE: Final = 1.6
"""A worker is late if an item takes this many times the latest median: sentences differ in time, blocks hardly do."""

_LATEST: Final = 101
"""Number of latest items whose median time is taken."""

_FEWEST: Final = 3
"""Least number of finished items from which to tell how long one takes."""


class Schedule:
    """Keeps track of which worker has which items, and decides where items go.

    New items go to the worker with the shortest queue, in order. If the item that a worker works on takes much longer
    than others did, all items of its queue are late: idle workers get copies of them, and the first answer counts. A
    late worker gets nothing new until its queue is empty; if another worker was first, the late one then pauses for
    as long as its item took.

    Args:
        workers: number of workers.
        patience: seconds below which no item is late; infinity sends no copies.
    """

    def __init__(self, workers: int, patience: float) -> None:
        self._workers, self._patience = workers, patience
        self._queues: list[deque[int]] = [deque() for _ in range(workers)]  # each works on the first of its items
        self._since = [0.0] * workers  # when each began with that item
        self._by_length: list[dict[int, None]] = [{} for _ in range(AHEAD + 1)]  # workers that may get items, by queue
        self._by_length[0] = dict.fromkeys(range(workers))
        self._late: dict[int, float] = {}  # late workers, and the longest time after which one was not the first
        self._late_items: deque[int] = deque()
        self._working: list[tuple[float, int]] = []  # heap of start times and workers; some entries are out of date
        self._pausing: list[tuple[float, int]] = []  # heap of end times and workers
        self._open: dict[int, set[int]] = {}  # the workers of each item without a result
        self._seconds: deque[float] = deque(maxlen=_LATEST)
        self._sent = self._taken = self.copies = 0

    @property
    def unfinished(self) -> bool:
        """Whether results are still to be taken."""
        return self._taken < self._sent

    def place_new(self, now: float) -> int | None:
        """Return the worker that the next new item is sent to; None if all have enough to do, or too many wait."""
        self._end_pauses(now)
        if self._sent - self._taken >= WINDOW * self._workers:
            return None
        worker = next((worker for group in self._by_length[:AHEAD] for worker in group), None)
        if worker is not None:
            self._send(self._sent, worker, now)
            self._sent += 1
        return worker

    def place_copy(self, now: float) -> tuple[int, int] | None:
        """Return a late item, and an idle worker that a copy is sent to, if there are both."""
        self._end_pauses(now)
        self._find_late(now)
        while self._late_items and not self._needs_copy(self._late_items[0]):
            self._late_items.popleft()
        if not self._late_items or not self._by_length[0]:
            return None
        item, worker = self._late_items.popleft(), next(iter(self._by_length[0]))
        self._send(item, worker, now)
        self.copies += 1
        return item, worker

    def queue(self, worker: int) -> list[int]:
        """Return the items that were sent to a worker and have not come back."""
        return list(self._queues[worker])

    def came_back(self, item: int, worker: int, now: float, *, failed: bool = False) -> bool:
        """Record that a worker is done with an item; return whether that settles the item.

        The first result settles it, and so does a failure if no other worker has the item.
        """
        queue = self._queues[worker]
        first, length = queue[0] == item, len(queue)
        queue.remove(item)
        holders = self._open.get(item)
        decides = holders is not None
        if holders is not None:
            holders.discard(worker)
            if decides := not (failed and holders):
                del self._open[item]
        seconds = now - self._since[worker]
        if first:
            if decides and not failed:
                self._seconds.append(seconds)
            self._begin(worker, now)
        if worker not in self._late:
            self._by_length[length].pop(worker)
            self._by_length[len(queue)][worker] = None
            return decides
        if first and not decides:
            self._late[worker] = max(seconds, self._late[worker])
        if not queue:
            heapq.heappush(self._pausing, (now + self._late[worker], worker))
        return decides

    def take(self) -> None:
        """Record that the next result, in the order of the items, was taken."""
        self._taken += 1

    def _needs_copy(self, item: int) -> bool:
        """Return whether an item has no result, and only late workers have it."""
        return item in self._open and self._open[item] <= self._late.keys()

    def _send(self, item: int, worker: int, now: float) -> None:
        queue = self._queues[worker]
        self._by_length[len(queue)].pop(worker)
        queue.append(item)
        self._by_length[len(queue)][worker] = None
        self._open.setdefault(item, set()).add(worker)
        if len(queue) == 1:
            self._begin(worker, now)

    def _begin(self, worker: int, now: float) -> None:
        """Start to time the first item in the queue of a worker, if there is one."""
        self._since[worker] = now
        if self._queues[worker]:
            heapq.heappush(self._working, (now, worker))

    def _find_late(self, now: float) -> None:
        if len(self._seconds) < _FEWEST:
            return
        limit = max(self._patience, _LATE * median(self._seconds))
        while self._working:
            since, worker = self._working[0]
            over = since != self._since[worker] or not self._queues[worker]
            if not over and now - since <= limit:
                return
            heapq.heappop(self._working)
            if not over:
                self._late.setdefault(worker, 0.0)
                self._by_length[len(self._queues[worker])].pop(worker, None)
                self._late_items.extend(self._queues[worker])

    def _end_pauses(self, now: float) -> None:
        while self._pausing and self._pausing[0][0] <= now:
            _, worker = heapq.heappop(self._pausing)
            del self._late[worker]
            self._by_length[0][worker] = None
