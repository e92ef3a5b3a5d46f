"""What the executor asks of Ray, which is scripted here, when a worker is late."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from postedit.distributed.executors import _ActorPool
from postedit.distributed.schedule import Schedule


@dataclass(frozen=True)
class Reference:
    """A result to come: of an item, which is its own result, by an actor."""

    item: str
    actor: int


@dataclass
class ScriptedRay:
    """Actors that are done with what the test says."""

    done: list[Reference] = field(default_factory=list)
    cancelled: list[Reference] = field(default_factory=list)
    exceptions: Any = None

    def put(self, value: str) -> str:
        return value

    def get(self, reference: Reference) -> str:
        assert reference not in self.cancelled, "Ray has no result of it"
        return f"{reference.item} by {reference.actor}"

    def wait(self, references: Sequence[Reference], **_: object) -> tuple[list[Reference], list[Reference]]:
        return [one for one in self.done if one in references], []

    def cancel(self, reference: Reference) -> None:
        self.cancelled.append(reference)

    def actor(self, number: int) -> Any:
        return SimpleNamespace(run=SimpleNamespace(remote=lambda build, item: Reference(item, number)))


def test_the_first_answer_counts_and_ends_the_other_and_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    ray, clock = ScriptedRay(), [0.0]
    monkeypatch.setattr("postedit.distributed.executors.time", SimpleNamespace(monotonic=lambda: clock[0]))
    pool = _ActorPool(ray, [], [ray.actor(number) for number in range(3)], Schedule(3, 0.0))
    results: list[str] = []

    def answer(second: float, *done: tuple[str, int]) -> None:
        clock[0], ray.done = second, [Reference(*one) for one in done]
        pool.wait()
        results.extend(pool.results())

    assert [pool.submit(item) for item in "abcdefg"] == [True] * 6 + [False]
    answer(1, ("a", 0), ("b", 1))
    answer(2, ("d", 0), ("e", 1))  # the third actor, which has c and f, is late now
    answer(3, ("c", 0))
    assert ray.cancelled == [Reference("c", 2)]
    answer(4, ("c", 2), ("f", 1))
    assert ray.cancelled == [Reference("c", 2), Reference("f", 2)]
    assert results == ["a by 0", "b by 1", "c by 0", "d by 0", "e by 1", "f by 1"]
    answer(5, ("f", 2))
    assert (pool.items, pool.finished, pool.requests, pool.schedule.unfinished) == ({}, {}, {}, False)
