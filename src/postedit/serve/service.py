"""What the routes of the service share."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, TypeVar, cast

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, FastAPI, Request

from postedit.serve.engine import Engine
from postedit.serve.event_hub import EventHub
from postedit.serve.file_jobs import FileJobs
from postedit.serve.http_errors import HttpError
from postedit.serve.service_metrics import Metrics
from postedit.serve.settings import ServeConfig
from postedit.serve.store import Store
from postedit.serve.store_base import ReadOnlyError

T = TypeVar("T")

_LONG: Final = 4
"""Pieces of long work that are done at a time."""


@dataclass(slots=True)
class Service:
    """The parts of a running service; `app.state.service`.

    Args:
        config: the settings.
        engine: edits segments.
        metrics: for Prometheus.
        store: projects, files and people.
        jobs: works on files.
        events: tells of the changes of projects.
        stopping: set when the service is about to stop; streams of events end then.
    """

    config: ServeConfig
    engine: Engine
    metrics: Metrics
    store: Store
    jobs: FileJobs
    events: EventHub
    stopping: asyncio.Event
    long_work: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(_LONG))
    _question: "asyncio.Future[None] | None" = None  # to the database, which may take long to fail

    async def database_state(self, seconds: float) -> Literal["ready", "away", "read_only"]:
        """Return how the database answers in some seconds; it is asked once at a time, whoever waits for that."""
        if self._question is None or self._question.done():
            self._question = asyncio.ensure_future(asyncio.to_thread(self.store.database.check))
            self._question.add_done_callback(lambda done: done.cancelled() or done.exception())
        question = self._question  # another request may ask anew before this one goes on
        await asyncio.wait({question}, timeout=seconds)
        if not question.done():
            return "away"
        error = question.exception()
        if error is None:
            return "ready"
        return "read_only" if isinstance(error, ReadOnlyError) else "away"


def service_of(request: Request) -> Service:
    """Return the service that a request was made to."""
    return service_of_app(request.app)


async def _depended_on(request: Request) -> Service:
    """Return the service that a request was made to; asynchronous, as FastAPI calls others in a thread."""
    return service_of(request)


ServiceDep = Annotated[Service, Depends(_depended_on)]


def service_of_app(app: FastAPI) -> Service:
    """Return the service of an application."""
    return cast(Service, app.state.service)


async def at_length(service: Service, work: Callable[[], T]) -> T:
    """Return the result of some work of the store that may take long, such as an export.

    Little of it is done at a time, so that threads and connections are left for what is short.
    """
    return await to_thread.run_sync(work, limiter=service.long_work)


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of some work, which is cancelled when the client goes away.

    Raises:
        HttpError: if the client has gone; nobody reads this.
    """
    try:
        return await _before(_departure(request), work)
    except TimeoutError:
        service_of(request).metrics.refused.labels("gone").inc()
        raise HttpError(499, "the client has gone", "gone") from None


async def unless_stopping(service: Service, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of some work, which is cancelled when the service is about to stop.

    Raises:
        HttpError: if it is.
    """
    try:
        return await _before(service.stopping.wait(), work)
    except TimeoutError:
        raise HttpError(503, "the service is about to stop") from None


async def _before(end: Coroutine[Any, Any, object], work: Coroutine[Any, Any, T]) -> T:
    """Return the result of some work, or cancel it at an end.

    Raises:
        TimeoutError: if the end comes first.
    """
    task, ending = asyncio.ensure_future(work), asyncio.ensure_future(end)
    try:
        await asyncio.wait({task, ending}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        ending.cancel()
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def _departure(request: Request) -> None:
    """Wait until the client goes away; its request has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
