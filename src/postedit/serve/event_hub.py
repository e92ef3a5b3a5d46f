"""Streams of project events as they happen, including events that other processes of the service write."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Final

from postedit.core.errors import OutputError
from postedit.serve.store import Store

_POLL_SECONDS: Final = 0.5  # between checks for events of other processes
_BEAT_SECONDS: Final = 15.0  # between comments that keep a connection open
_STREAM_SECONDS: Final = 600.0  # after which a stream ends, and the client reconnects
_DELETED_SECONDS: Final = 1.0  # between checks for deletions by other processes
CHECK_SECONDS: Final = 10.0
"""Seconds between checks whether the reader of a stream still may; with the beats, it ends within half a minute."""

_AT_ONCE: Final = 500  # events that are read at a time


class EventHub:
    """Lets any number of streams wait for the events of projects, with one query for all of them.

    Args:
        store: the store with the events.
        stopping: set when streams are to end.
        forget: called when any process has permanently deleted something; None: nothing is called.
    """

    def __init__(
        self, store: Store, stopping: asyncio.Event, forget: Callable[[], Coroutine[Any, Any, None]] | None = None
    ) -> None:
        self._store, self._stopping, self._forget = store, stopping, forget
        self._waiting: dict[asyncio.Event, tuple[str, int]] = {}  # project, and the last event that is known
        self._tasks: list[asyncio.Task[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Start looking for events and deletions."""
        self._loop = asyncio.get_running_loop()
        self._store.database.listeners.append(self._changed)
        self._tasks = [asyncio.create_task(self._poll()), asyncio.create_task(self._watch_deletions())]

    async def stop(self) -> None:
        """Stop looking for events and deletions."""
        self._store.database.listeners.remove(self._changed)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def stream(
        self, project: str, after: int, is_allowed: Callable[[], bool] = lambda: True, names_members: bool = True
    ) -> AsyncIterator[str]:
        """Yield the events of a project after a number, as server-sent events, as long as that is allowed.

        If there is no event of that number yet, since an older backup was restored, the first event is `reset`: the
        client must read everything again. Events then follow from the last one that exists.

        Args:
            project: id of the project.
            after: number of the last event that the client knows.
            is_allowed: called repeatedly, in a thread; the stream ends when it returns False.
            names_members: whether changes of members say whose they are.
        """
        loop = asyncio.get_running_loop()
        end, check = loop.time() + _STREAM_SECONDS, loop.time() + CHECK_SECONDS
        last = (await asyncio.to_thread(self._store.projects.last_events, [project])).get(project, after)
        if last < after:
            after = last
            yield server_sent("reset", {"id": last, "kind": "reset"}, last)
        else:
            yield f"id: {after}\n: \n\n"  # so that a client that is cut off before the first event misses none
        while not self._stopping.is_set() and loop.time() < end:
            if loop.time() >= check:
                if not await asyncio.to_thread(is_allowed):
                    return
                check = loop.time() + CHECK_SECONDS
            found = await asyncio.to_thread(self._store.projects.events, project, after, _AT_ONCE, names_members)
            if found:  # in one part: a part that is sent after the client has gone makes asyncio log a warning
                after = found[-1]["id"]
                yield "".join(server_sent(event["kind"], event, event["id"]) for event in found)
            elif not await self._wait(project, after):
                yield ": \n\n"

    async def _wait(self, project: str, after: int) -> bool:
        """Wait for a new event, at most `_BEAT_SECONDS`; return whether there is one."""
        woken = asyncio.Event()
        self._waiting[woken] = (project, after)
        stop = asyncio.ensure_future(self._stopping.wait())
        wake = asyncio.ensure_future(woken.wait())
        try:
            await asyncio.wait({wake, stop}, timeout=_BEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self._waiting[woken]
            wake.cancel()
            stop.cancel()
        return woken.is_set()

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            projects = {project for project, _ in self._waiting.values()}
            if not projects:
                continue
            try:
                last = await asyncio.to_thread(self._store.projects.last_events, projects)
            except OutputError:  # streams that read the database report it
                continue
            for woken, (project, after) in self._waiting.items():
                if last.get(project, after) > after:
                    woken.set()

    async def _watch_deletions(self) -> None:
        """Watch for deletions, and make this process and its model processes forget deleted texts."""
        async with asyncio.TaskGroup() as forgetting:
            while True:
                await asyncio.sleep(_DELETED_SECONDS)
                try:
                    is_less = await asyncio.to_thread(self._store.forget_deleted)
                except OutputError:  # checked again when the database is back
                    continue
                if is_less and self._forget is not None:
                    forgetting.create_task(self._forget())  # model processes may be busy for many minutes

    def _changed(self, project: str) -> None:
        """Wake the streams of a project; may be called from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, project)

    def _wake(self, project: str) -> None:
        for woken, (watched, _) in self._waiting.items():
            if watched == project:
                woken.set()


def server_sent(kind: str, data: Any, number: int | None = None) -> str:
    """Return a server-sent event with data as JSON; `number` becomes its id."""
    head = "" if number is None else f"id: {number}\n"
    return f"{head}event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
