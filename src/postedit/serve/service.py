"""The parts of a running service that its routes share, and helpers that wait for work."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, TypeVar, cast
from weakref import WeakValueDictionary

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, FastAPI, Request

from postedit.serve.engine import Engine
from postedit.serve.event_hub import EventHub
from postedit.serve.file_jobs import FileJobs
from postedit.serve.http_errors import GONE, HttpError
from postedit.serve.service_metrics import Metrics
from postedit.serve.settings import ServeConfig
from postedit.serve.store import Store
from postedit.serve.store_base import ReadOnlyError

T = TypeVar("T")

_LONG: Final = 4
"""Number of long operations of one sort that run at a time."""

_LONG_OF_ONE: Final = 2
"""Number of those that run for one client at a time."""


@dataclass(slots=True)
class LongWork:
    """Runs long work in threads, little of it at a time, so that threads and connections remain for what is short.

    Of one client, less runs at a time, so that others need not wait for its many exports.
    """

    places: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(_LONG))
    of_client: WeakValueDictionary[str, CapacityLimiter] = field(default_factory=WeakValueDictionary)

    async def run(self, work: Callable[[], T], client: str = "") -> T:
        """Return the result of work.

        Args:
            work: the work.
            client: for whom the work is done; empty: for the only user of a service without sign-in.
        """
        if not client:
            return await to_thread.run_sync(work, limiter=self.places)
        share = self.of_client.get(client) or CapacityLimiter(_LONG_OF_ONE)
        self.of_client[client] = share
        async with share:
            return await to_thread.run_sync(work, limiter=self.places)


@dataclass(slots=True)
class Service:
    """The parts of a running service, kept in `app.state.service`.

    Args:
        config: the settings.
        engine: edits segments with the models.
        metrics: metrics for Prometheus.
        store: projects, files and people.
        jobs: works on the jobs of files.
        events: streams the events of projects.
        stopping: set when the service is about to stop, which ends event streams.
        long_work: work with the database that may take minutes, such as exports.
        text_work: work with long texts, such as scores, which takes seconds and does not wait for exports.
    """

    config: ServeConfig
    engine: Engine
    metrics: Metrics
    store: Store
    jobs: FileJobs
    events: EventHub
    stopping: asyncio.Event
    long_work: LongWork = field(default_factory=LongWork)
    text_work: LongWork = field(default_factory=LongWork)
    _question: "asyncio.Future[None] | None" = None  # a check of the database, which may take long to fail

    async def database_state(self, seconds: float) -> Literal["ready", "away", "read_only"]:
        """Return the state of the database, "away" if it does not answer in time; concurrent calls share one check."""
        if self._question is None or self._question.done():
            self._question = asyncio.ensure_future(asyncio.to_thread(self.store.database.check))
            self._question.add_done_callback(lambda done: done.cancelled() or done.exception())
        question = self._question  # another request may start a new check before this one resumes
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
    """Return the service that a request was made to; `async`, since FastAPI runs other dependencies in threads."""
    return service_of(request)


ServiceDep = Annotated[Service, Depends(_depended_on)]


def service_of_app(app: FastAPI) -> Service:
    """Return the service of an application."""
    return cast(Service, app.state.service)


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of some work, which is cancelled if the client disconnects.

    Raises:
        HttpError: 499 if the client has disconnected; only logs and metrics show it.
    """
    try:
        return await _before(_departure(request), work)
    except TimeoutError:
        service_of(request).metrics.refused.labels("gone").inc()
        raise HttpError(499, GONE, "gone") from None


async def unless_stopping(service: Service, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of some work, which is cancelled when the service is about to stop.

    Raises:
        HttpError: 503 if the service stops before the work is done.
    """
    try:
        return await _before(service.stopping.wait(), work)
    except TimeoutError:
        raise HttpError(503, "the service is about to stop") from None


async def _before(end: Coroutine[Any, Any, object], work: Coroutine[Any, Any, T]) -> T:
    """Return the result of some work; cancel it if `end` finishes first.

    Raises:
        TimeoutError: if `end` finishes first.
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
    """Wait until the client disconnects; its request has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
