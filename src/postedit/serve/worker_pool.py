"""The pool of model processes, which take batches from the backlog, are restarted if they die, and can be reloaded."""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any, Final, TypeVar
from weakref import WeakSet
from zlib import crc32

from postedit.core.errors import DataError, ModelFolderError, OutputError, PosteditError
from postedit.serve.backlog import (
    Backlog,
    BudgetSpentError,
    EditedSegment,
    EndpointRefusesError,
    EndpointUnavailableError,
    WaitingSegment,
)
from postedit.serve.batch_speeds import BatchSpeeds, ClientDemands, Demand
from postedit.serve.model_process import ModelProcess, ProcessDiedError
from postedit.serve.model_work import Done, EditKind, ModelFacts, ProcessSpec, Refusal, Work
from postedit.serve.service_logs import FIELDS, trace_of
from postedit.serve.service_metrics import Metrics
from postedit.serve.settings import LimitsConfig

_log = logging.getLogger(__name__)

_MOST_DEATHS: Final = 4
"""Deaths of processes while they edit a segment (from the second on alone), after which it is refused."""

_LONGEST_PAUSE: Final = 30.0
"""Maximum number of seconds between two attempts to start a process."""

_JOB_SHARE: Final = 0.5
"""Duration of job batches, as a share of `batch_seconds`: interactive requests wait for a batch that has begun."""

_GROWTH: Final = 2
"""Factor by which a batch may exceed the last one of its process: overloads show before batches become long."""

_LEAST_WAIT: Final = 0.01
"""Seconds; shorter waits cannot be measured reliably."""

_BROKEN: Final = "the model failed on a segment; the log of the service says where"
_DEADLY: Final = f"{_MOST_DEATHS} model processes ended while they edited a segment; it is refused"

_ENDPOINT_AWAY: Final = "the server of the language model cannot be used now; the log of the service says why"
_ENDPOINT_PAUSE: Final = 30.0
"""Seconds in Retry-After when that server is away."""

_ENDPOINT_REFUSES: Final = (
    "the server of the language model refuses what this service asks, until the administrator changes the key, the "
    "model or llm.*; the log of the service says why"
)

_BUDGET_SPENT: Final = "the budget of the language model is used up until the administrator of the service raises it"
_BUDGET_PAUSE: Final = 3600.0
"""Seconds in Retry-After when the budget is used up: a person has to raise it."""

T = TypeVar("T")


class BrokenSegmentError(PosteditError):
    """A segment could not be edited because of a defect of the service or the model, not of the request."""


@dataclass(eq=False, slots=True)
class _Worker:
    """A place in the pool for one model process, which may be replaced."""

    model: str
    spec: ProcessSpec
    number: int  # among the workers of its model, from 0
    process: ModelProcess
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # held while the process is used or replaced
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    given: list[WaitingSegment] = field(default_factory=list)
    last_tokens: int = 0  # of its last batch
    idle: bool = False
    ready: bool = True


class WorkerPool:
    """All model processes.

    Args:
        specs: process specifications, by model.
        backlog: the segments that wait.
        limits: limits of the service, of which the time for a batch and the waiting time apply here.
        metrics: metrics of the service.
    """

    def __init__(
        self, specs: Mapping[str, ProcessSpec], backlog: Backlog, limits: LimitsConfig, metrics: Metrics
    ) -> None:
        self._specs, self._backlog, self._limits, self._metrics = specs, backlog, limits, metrics
        self._workers: list[_Worker] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._speeds: defaultdict[str, BatchSpeeds] = defaultdict(BatchSpeeds)  # of one process, by model
        self._demands: defaultdict[str, Demand] = defaultdict(Demand)
        self._clients: defaultdict[str, ClientDemands] = defaultdict(ClientDemands)
        count = sum(spec.config.processes for spec in specs.values())
        self._threads = ThreadPoolExecutor(2 * count, "model process")
        self._processes: WeakSet[ModelProcess] = WeakSet()
        self._lock = Lock()  # guards `_processes`

    async def start(self) -> None:
        """Start all processes.

        Raises:
            ModelFolderError: if a model cannot be loaded.
        """
        places = [(name, spec, n) for name, spec in self._specs.items() for n in range(spec.config.processes)]
        started = await asyncio.gather(*(self._started(spec) for _, spec, _ in places), return_exceptions=True)
        for (name, spec, number), process in zip(places, started, strict=True):
            if isinstance(process, ModelProcess):
                self._workers.append(_Worker(name, spec, number, process))
        for (name, *_), failed in zip(places, started, strict=True):
            if isinstance(failed, BaseException):
                await self.stop()
                raise ModelFolderError(f"model {name}: {failed}") if isinstance(failed, ModelFolderError) else failed
        self._tasks = [asyncio.create_task(self._serve(worker)) for worker in self._workers]

    async def stop(self) -> None:
        """End all processes; work in progress is lost."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(self._in_thread(worker.process.stop) for worker in self._workers))
        self._threads.shutdown(wait=False)

    def kill(self) -> None:
        """Kill all processes at once, including those that are still loading."""
        with self._lock:
            processes = list(self._processes)
        for process in processes:
            process.kill()

    def facts(self, model: str) -> ModelFacts:
        """Return what is known about a model.

        Raises:
            PosteditError: if none of its processes has started.
        """
        found = next((worker.process.facts for worker in self._workers if worker.model == model), None)
        if found is None:
            raise PosteditError(f"model {model} has not been started; try again later")
        return found

    def is_ready(self, model: str) -> bool:
        """Return whether at least one process of a model is ready."""
        return any(worker.ready for worker in self._workers if worker.model == model)

    def seconds_for(self, model: str, tokens: int) -> float:
        """Return the seconds in which the ready processes of a model edit some tokens; 0 if not measured yet."""
        speeds = self._speeds[model]
        return speeds.seconds_for(tokens / self._ready(model)) if speeds else 0.0

    def ask(self, model: str, tokens: int | None, client: str = "") -> None:
        """Record the demand of an interactive request; None: its tokens are unknown, and the mean is assumed.

        A request counts as one batch at most, however many segments it has: one large request is no overload.
        """
        if tokens is not None and (speeds := self._speeds[model]):
            tokens = min(tokens, speeds.tokens_in(self._specs[model].config.batch_seconds))
        self._demands[model].add(tokens, self._speed(model))
        self._clients[model].add(client, tokens, self._speed(model))

    def longest_wait(self, model: str, client: str = "") -> float:
        """Return the seconds that an interactive request of a client may wait for a model in its present state."""
        return self.shortest_wait(model) if self.overloads(model, client) else self._limits.queue_seconds

    def shortest_wait(self, model: str) -> float:
        """Return the seconds that an interactive request may wait in an overload: the time that one takes alone."""
        return min(self._limits.queue_seconds, max(_LEAST_WAIT, self._seconds_alone(model)))

    def _seconds_alone(self, model: str) -> float:
        """Return the seconds that an average request takes without others; 0 if not measured yet."""
        speeds = self._speeds[model]
        return speeds.seconds_for(self._demands[model].mean) if speeds else 0.0

    def is_overloaded(self, model: str) -> bool:
        """Return whether demand exceeds the speed of a model for longer than a burst."""
        return self._demands[model].is_excessive(self._speed(model)) if self._speeds[model] else False

    def overloads(self, model: str, client: str) -> bool:
        """Return whether a model is overloaded, and a client asks for more than its share of it."""
        return self.is_overloaded(model) and self._clients[model].is_excessive(client, self._speed(model))

    def _speed(self, model: str) -> float:
        """Return the speed of all ready processes of a model together, in tokens per second."""
        return self._ready(model) * self._speeds[model].highest

    def _ready(self, model: str) -> int:
        return max(1, sum(worker.ready for worker in self._workers if worker.model == model))

    def wake(self) -> None:
        """Give waiting segments to idle processes, first to the preferred processes of their projects (`_is_home`)."""
        for at_home in (True, False):
            for worker in self._workers:
                if worker.idle and (found := self._take(worker, at_home=at_home)):
                    worker.given, worker.idle = found, False
                    worker.wake.set()

    async def reload(self, model: str) -> None:
        """Load a model again, from the same path; new processes take over from old ones between two batches.

        Raises:
            ModelFolderError: if the model cannot be loaded; the old one stays.
        """
        for worker in [one for one in self._workers if one.model == model]:
            fresh = await self._started(worker.spec)
            try:
                await worker.lock.acquire()
            except asyncio.CancelledError:
                self._threads.submit(fresh.stop)
                raise
            old, worker.process = worker.process, fresh
            worker.wake.set()
            worker.lock.release()
            await self._in_thread(old.stop)

    async def forget_deleted(self) -> None:
        """Make all processes forget what was permanently deleted, each as soon as its batch is done."""
        await asyncio.gather(*(self._forget_deleted(worker) for worker in self._workers))

    async def _forget_deleted(self, worker: _Worker) -> None:
        async with worker.lock:
            try:
                await self._in_thread(worker.process.forget_deleted, self._limits.batch_timeout_seconds)
            except ProcessDiedError as error:  # it holds nothing any more, and is replaced
                _log.error("a process of model %s %s", worker.model, error)
                worker.wake.set()

    def _take(self, worker: _Worker, *, at_home: bool) -> list[WaitingSegment]:
        home: Callable[[EditKind], bool] | None = (lambda kind: self._is_home(worker, kind)) if at_home else None
        return self._backlog.take(worker.model, partial(self._batch_size, worker), home)

    def _is_home(self, worker: _Worker, kind: EditKind) -> bool:
        """Return whether a process is the preferred one for a project, by its hash; without a project, all are."""
        return kind.project is None or crc32(kind.project.encode()) % worker.spec.config.processes == worker.number

    def _batch_size(self, worker: _Worker, first: WaitingSegment) -> int:
        """Return the tokens of a batch that takes the usual time, but ends before the deadline of its first segment."""
        config, speeds = worker.spec.config, self._speeds[worker.model]
        if not speeds:
            return config.batch_tokens
        left = first.deadline - asyncio.get_running_loop().time()
        if first.priority == "job":
            return min(config.batch_tokens, speeds.tokens_in(min(left, _JOB_SHARE * config.batch_seconds)))
        most = min(config.batch_tokens, speeds.tokens_in(min(left, config.batch_seconds)))
        least = min(most, speeds.tokens_in(self._seconds_alone(worker.model)))
        return least if self.is_overloaded(worker.model) else max(least, min(most, _GROWTH * worker.last_tokens))

    async def _serve(self, worker: _Worker) -> None:
        """Take and edit batches with one process for ever, restarting it if it dies."""
        while True:
            items = await self._next(worker)
            async with worker.lock:
                if not worker.process.alive:
                    self._backlog.give_back(items)
                    self.wake()
                    await self._restart(worker)
                elif items:
                    await self._edit_or_fail(worker, items)

    async def _next(self, worker: _Worker) -> list[WaitingSegment]:
        """Wait for segments, and return them; the list is empty if the process has ended or been replaced."""
        found = self._take(worker, at_home=True) or self._take(worker, at_home=False)
        if found:
            return found
        loop, process = asyncio.get_running_loop(), worker.process
        worker.idle, worker.given = True, []
        worker.wake.clear()
        loop.add_reader(process.sentinel, worker.wake.set)
        try:
            await worker.wake.wait()
        finally:
            loop.remove_reader(process.sentinel)
            worker.idle = False
        return worker.given

    async def _edit_or_fail(self, worker: _Worker, items: list[WaitingSegment]) -> None:
        """Edit segments; whatever goes wrong, their requests get an error, and the worker continues."""
        try:
            await self._edit(worker, items)
        except Exception as error:
            _log.error("a batch of model %s failed", worker.model, extra={FIELDS: {"trace": trace_of(error)}})
            for item in items:
                if not item.done.done():
                    item.done.set_exception(BrokenSegmentError(_BROKEN))
            await self._restart(worker)

    async def _edit(self, worker: _Worker, items: list[WaitingSegment]) -> None:
        work = Work(items[0].kind, [item.segment for item in items])
        worker.last_tokens = sum(item.tokens for item in items)
        started, was_new = time.monotonic(), worker.process.is_new
        try:
            done = await self._in_thread(worker.process.run, work, self._limits.batch_timeout_seconds)
        except ProcessDiedError as error:
            _log.error("a process of model %s %s", worker.model, error)
            self._retry(items)
            await self._restart(worker)
            return
        seconds = time.monotonic() - started
        if worker.process.has_learnt:
            _log.info("a process of model %s learnt and edited for %.0f s", worker.model, seconds)
        self._measure(worker.model, items, seconds, is_usual=not (was_new or worker.process.has_learnt))
        self._settle(worker, items, done)

    def _measure(self, model: str, items: Sequence[WaitingSegment], seconds: float, *, is_usual: bool) -> None:
        """Record a batch in the metrics and, if its process was not new and only edited, in the speed of the model."""
        self._metrics.batch_seconds.labels(model).observe(seconds)
        self._metrics.batch_segments.labels(model).observe(len(items))
        self._metrics.segments.labels(model, items[0].priority).inc(len(items))
        if is_usual:
            self._speeds[model].add(sum(item.tokens for item in items), seconds)

    def _settle(self, worker: _Worker, items: Sequence[WaitingSegment], done: Done) -> None:
        """Pass the outcomes of a batch to the requests that wait for them."""
        fingerprint = worker.process.facts.fingerprint
        for item, outcome in zip(items, done.outcomes, strict=True):
            if isinstance(outcome, Refusal) and outcome.fault != "invalid":
                _log.error("a segment could not be edited by model %s: %s", worker.model, outcome.message)
            if item.done.done():
                continue  # given up in the meantime
            if not isinstance(outcome, Refusal):
                item.done.set_result(EditedSegment(outcome, fingerprint, done.position))
            else:
                item.done.set_exception(_error_of(outcome))

    def _retry(self, items: Sequence[WaitingSegment]) -> None:
        """Queue segments again whose process died, each to be edited alone; refuse those with too many deaths."""
        for item in items:
            item.deaths += 1
            if item.deaths >= _MOST_DEATHS and not item.done.done():
                item.done.set_exception(BrokenSegmentError(_DEADLY))
        self._backlog.give_back(items)
        self.wake()

    async def _restart(self, worker: _Worker) -> None:
        """Replace a process that died; try again until a new one starts."""
        self._metrics.deaths.labels(worker.model).inc()
        worker.ready = False
        pause, before = 1.0, worker.process.facts.fingerprint
        while not worker.ready:
            try:
                await self._in_thread(worker.process.stop)
                worker.process = await self._started(worker.spec)
                worker.ready = True
            except Exception as error:  # nothing else would start a process here
                _log.error("a process of model %s cannot be started, next try in %g s: %s", worker.model, pause, error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        if (after := worker.process.facts.fingerprint) != before:
            _log.warning(
                "a process of model %s has restarted with another model (%s, before: %s), since the files at its path "
                "have changed; reload the model, so that all processes have the same",
                *(worker.model, after, before),
            )

    async def _started(self, spec: ProcessSpec) -> ModelProcess:
        """Return a new process that has loaded its model.

        Raises:
            ModelFolderError: if the process cannot be started, or the model cannot be loaded.
        """
        begun: list[ModelProcess] = []

        def began(process: ModelProcess) -> None:
            begun.append(process)
            with self._lock:
                self._processes.add(process)

        future = self._threads.submit(ModelProcess, spec, began)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            future.add_done_callback(_stop_unused)
            for process in begun:  # loading may take a minute
                process.kill()
            raise
        except (ProcessDiedError, OSError) as error:
            message = f"{spec.path}: its process cannot be started, or did not live to load it: {error}"
            raise ModelFolderError(
                f"{message}; see the messages above, and whether this machine has memory enough for it"
            ) from None

    async def _in_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)


def _error_of(refusal: Refusal) -> PosteditError:
    if refusal.fault == "broken":
        return BrokenSegmentError(_BROKEN)
    if refusal.fault == "endpoint":
        return EndpointUnavailableError(_ENDPOINT_AWAY, _ENDPOINT_PAUSE)
    if refusal.fault == "refused":
        return EndpointRefusesError(_ENDPOINT_REFUSES)
    if refusal.fault == "budget":
        return BudgetSpentError(_BUDGET_SPENT, _BUDGET_PAUSE)
    return DataError(refusal.message) if refusal.fault == "invalid" else OutputError(refusal.message)


def _stop_unused(future: "Future[ModelProcess]") -> None:
    if not future.cancelled() and future.exception() is None:
        future.result().stop()
