"""Simulate the scheduler of `--engine ray` on a virtual clock, with many workers, some of which die or are slow.

    python benchmarks/cluster_simulation.py [--workers N] [--items N] [--bad SHARE] [--seed N] [--ahead N] [--window N]

It drives `postedit.distributed.schedule.Schedule`, the class that decides in a real cluster. An item takes about a
minute. Half of the bad workers are slow, by a factor of 3 to 10. The others die every half hour on average: the item
that they work on is lost, and starts again in a new process after two minutes. The ideal time is the time of all items
on one good worker, divided by the total speed of all workers. `--ahead` and `--window` replace `AHEAD` and `WINDOW` of
that module.
"""

import argparse
import heapq
import math
import random
from dataclasses import dataclass, field

from postedit.distributed import schedule
from postedit.distributed.schedule import Schedule

SECONDS, SPREAD = 60.0, 0.2  # time per item: its median, and the standard deviation of its logarithm
DEATHS, RESTART = 1800.0, 120.0  # mean seconds between the deaths of a worker, and seconds for a restart
POLL = 5.0  # seconds between checks for late items
PATIENCE = 60.0


@dataclass
class Cluster:
    """Workers on a virtual clock, and the executor that sends them `items` items.

    `speeds` and `mortal` have an entry per worker. `most` is the largest number of items sent but not yet taken so far.
    """

    schedule: Schedule
    items: int
    speeds: list[float]
    mortal: list[bool]
    seed: int
    now: float = 0.0
    most: int = 0
    sent: int = 0
    taken: int = 0
    finished: set[int] = field(default_factory=set)
    holders: dict[int, list[int]] = field(default_factory=dict)
    events: list[tuple[float, int, int]] = field(default_factory=list)  # time, worker, item; worker -1: a check
    busy: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def run(self) -> float:
        """Run until all items are done, and return the seconds that this takes."""
        self.events.append((0.0, -1, -1))
        while self.taken < self.items:
            self.now, worker, item = heapq.heappop(self.events)
            if worker < 0:
                heapq.heappush(self.events, (self.now + POLL, -1, -1))
            else:
                del self.busy[worker]
                self.come_back(worker, item)
            self.send()
        return self.now

    def come_back(self, worker: int, item: int) -> None:
        """Give a result back to the schedule, and drop the copies of the item that are still queued."""
        decides = self.schedule.came_back(item, worker, self.now)
        self.start(worker)
        if not decides:
            return
        self.finished.add(item)
        for other in self.holders.pop(item):
            if other != worker and self.busy.get(other) != item and item in self.schedule.queue(other):
                self.schedule.came_back(item, other, self.now)
        while self.taken in self.finished:
            self.finished.remove(self.taken)
            self.taken += 1
            self.schedule.take()

    def send(self) -> None:
        """Send all items and copies that the schedule places now."""
        while (copy := self.schedule.place_copy(self.now)) is not None:
            self.holders[copy[0]].append(copy[1])
            self.start(copy[1])
        while self.sent < self.items and (worker := self.schedule.place_new(self.now)) is not None:
            self.holders[self.sent] = [worker]
            self.sent += 1
            self.start(worker)
        self.most = max(self.most, self.sent - self.taken)

    def start(self, worker: int) -> None:
        """Start the first item in the queue of a worker, if the worker is idle."""
        queue = self.schedule.queue(worker)
        if worker in self.busy or not queue:
            return
        self.busy[worker] = queue[0]
        needed, seconds = duration(self.seed, queue[0]) / self.speeds[worker], 0.0
        while self.mortal[worker] and (life := self.chance.expovariate(1 / DEATHS)) < needed:
            seconds += life + RESTART
        heapq.heappush(self.events, (self.now + seconds + needed, worker, queue[0]))


def duration(seed: int, item: int) -> float:
    """Return the seconds that an item takes on a good worker; they depend on the item alone."""
    return SECONDS * math.exp(SPREAD * random.Random(seed * 1_000_003 + item).gauss())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--bad", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ahead", type=int, default=schedule.AHEAD)
    parser.add_argument("--window", type=int, default=schedule.WINDOW)
    options = parser.parse_args()
    schedule.AHEAD, schedule.WINDOW = options.ahead, options.window  # type: ignore[misc]

    chance, bad = random.Random(options.seed), round(options.bad * options.workers)
    chosen = set(chance.sample(range(options.workers), bad))
    slow = set(sorted(chosen)[::2])
    speeds = [1 / chance.uniform(3, 10) if worker in slow else 1.0 for worker in range(options.workers)]
    mortal = [worker in chosen - slow for worker in range(options.workers)]
    ideal = sum(duration(options.seed, item) for item in range(options.items)) / sum(speeds)
    print(f"{options.workers:,} workers ({len(slow)} slow, {sum(mortal)} die), {options.items:,} items")
    print(f"ideal: {ideal:,.0f} s")
    print("| second copies | seconds | of ideal speed | copies | most items held |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, patience in (("none", math.inf), ("of late items", PATIENCE)):
        cluster = Cluster(Schedule(options.workers, patience), options.items, speeds, mortal, options.seed)
        seconds, copies = cluster.run(), cluster.schedule.copies
        print(
            f"| {name} | {seconds:,.0f} | {100 * ideal / seconds:.1f} % | {copies:,} | {cluster.most:,} |", flush=True
        )


if __name__ == "__main__":
    main()
