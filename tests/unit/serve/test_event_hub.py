"""Streams of events: in order, none missing, also those of other processes, until the service stops."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from postedit.serve import event_hub
from postedit.serve.event_hub import EventHub
from postedit.serve.store import Store


async def numbers(stream: AsyncIterator[str], count: int) -> list[int]:
    found: list[int] = []
    async for text in stream:
        found += [
            json.loads(line.removeprefix("data: "))["id"] for line in text.split("\n") if line.startswith("data: ")
        ]
        if len(found) >= count:
            break
    return found


def write(store: Store, count: int) -> None:
    for _ in range(count):
        with store.database.change("default", "anna") as change:
            change.event("project", action="changed")


def test_a_stream_has_the_events_of_all_processes_in_order(store: Store, place: str) -> None:
    other = Store(place)
    write(store, 2)

    async def follow() -> list[int]:
        hub = EventHub(store, asyncio.Event())
        hub.start()
        async with asyncio.timeout(300):
            reading = asyncio.create_task(numbers(hub.stream("default", 1), 5))
            await asyncio.sleep(0.2)
            await asyncio.gather(asyncio.to_thread(write, store, 2), asyncio.to_thread(write, other, 2))
            found = await reading
        await hub.stop()
        return found

    assert asyncio.run(follow()) == [2, 3, 4, 5, 6]
    other.close()


def test_events_that_are_there_already_are_sent_in_one_part(store: Store) -> None:
    """Of hundreds of parts, those sent after the client has gone would each write a warning to the log."""
    write(store, 7)

    async def follow() -> list[str]:
        async with aclosing(EventHub(store, asyncio.Event()).stream("default", 2)) as stream, asyncio.timeout(300):
            return [await anext(stream) for _ in range(2)]

    first, part = asyncio.run(follow())
    assert first == "id: 2\n: \n\n"
    assert [line for line in part.split("\n") if line.startswith("id: ")] == [f"id: {one}" for one in range(3, 8)]


def test_streams_end_when_the_service_stops(store: Store) -> None:
    async def follow() -> list[int]:
        stopping = asyncio.Event()
        hub = EventHub(store, stopping)
        hub.start()
        reading = asyncio.create_task(numbers(hub.stream("default", 0), 1))
        await asyncio.sleep(0.2)
        stopping.set()
        async with asyncio.timeout(300):
            found = await reading
        await hub.stop()
        return found

    assert asyncio.run(follow()) == []


def test_a_quiet_stream_shows_that_it_lives(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_hub, "_BEAT_SECONDS", 0.05)
    write(store, 7)

    async def follow() -> list[str]:
        async with aclosing(EventHub(store, asyncio.Event()).stream("default", 7)) as stream, asyncio.timeout(300):
            return [await anext(stream) for _ in range(3)]

    # After the first, a client asks on when it is cut off before any event.
    assert asyncio.run(follow()) == ["id: 7\n: \n\n", ": \n\n", ": \n\n"]


def test_a_stream_ends_after_a_while(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_hub, "_BEAT_SECONDS", 0.05)
    monkeypatch.setattr(event_hub, "_STREAM_SECONDS", 0.1)
    write(store, 7)

    async def follow() -> list[str]:
        async with asyncio.timeout(300):
            return [text async for text in EventHub(store, asyncio.Event()).stream("default", 7)]

    assert asyncio.run(follow())[0] == "id: 7\n: \n\n"


def test_a_client_that_knows_more_than_a_restored_backup_begins_anew(store: Store) -> None:
    write(store, 2)

    async def follow() -> tuple[str, list[int]]:
        hub = EventHub(store, asyncio.Event())
        hub.start()
        async with aclosing(hub.stream("default", 7)) as stream, asyncio.timeout(300):
            first = await anext(stream)
            reading = asyncio.create_task(numbers(stream, 1))
            await asyncio.to_thread(write, store, 1)
            found = await reading
        await hub.stop()
        return first, found

    assert asyncio.run(follow()) == ('id: 2\nevent: reset\ndata: {"id": 2, "kind": "reset"}\n\n', [3])


def test_what_another_process_deletes_is_forgotten_here(
    store: Store, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_hub, "_DELETED_SECONDS", 0.05)
    other = Store(place)
    project = other.projects.create({"name": "garden"}, "anna", None)

    async def watch() -> None:
        forgotten = asyncio.Event()

        async def forget() -> None:
            forgotten.set()

        hub = EventHub(store, asyncio.Event(), forget)
        hub.start()
        await asyncio.sleep(0.3)
        assert not forgotten.is_set()
        await asyncio.to_thread(other.projects.delete, project, "anna")
        async with asyncio.timeout(300):
            await forgotten.wait()
        await hub.stop()

    asyncio.run(watch())
    other.close()


def test_deletions_are_seen_while_model_processes_are_busy(
    store: Store, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that learns many corrections forgets what was deleted when it is done, which may take long."""
    monkeypatch.setattr(event_hub, "_DELETED_SECONDS", 0.01)
    other = Store(place)
    projects = [other.projects.create({"name": name}, "anna", None) for name in ("garden", "house")]
    assert not store.forget_deleted(), "now it knows the projects"

    async def watch() -> None:
        asked: asyncio.Queue[None] = asyncio.Queue()

        async def forget() -> None:
            await asked.put(None)
            await asyncio.Event().wait()

        hub = EventHub(store, asyncio.Event(), forget)
        hub.start()
        async with asyncio.timeout(300):
            for project in projects:
                await asyncio.to_thread(other.projects.delete, project, "anna")
                await asked.get()
            await hub.stop()

    asyncio.run(watch())
    other.close()
