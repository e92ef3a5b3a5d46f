"""The engine, which edits segments of many concurrent clients in model processes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from postedit.adapt.adaptation_config import NO_MODEL
from postedit.adapt.correction_memory import MemoryPosition
from postedit.core.editor import PostEdit, Segment
from postedit.core.errors import DataError, PosteditError, nearest
from postedit.core.processes import usable_cores
from postedit.serve.backlog import Backlog, EditedSegment, OverloadedError, Priority, WaitingSegment, token_count
from postedit.serve.model_work import EditKind, ModelFacts, ProcessSpec, ProjectSettings
from postedit.serve.service_metrics import Metrics
from postedit.serve.settings import ServeConfig
from postedit.serve.store_base import no_project
from postedit.serve.worker_pool import WorkerPool
from postedit.text.glossary import Glossary

TOO_BUSY: Final = "too many requests wait for a model; try again later"


class ExpiredError(PosteditError):
    """The deadline of a request has passed."""


class UnknownNameError(PosteditError):
    """There is no model of this name, or no project of this id."""


@dataclass(frozen=True, slots=True)
class EditedSegments:
    """Corrections of the segments of one request.

    Args:
        results: one correction per segment, in order.
        model: name of the model.
        fingerprint: fingerprint of the model; of the later one, if the model was replaced meanwhile.
        position: memory position up to which the project's corrections were learnt; None: no corrections applied.
    """

    results: list[PostEdit]
    model: str
    fingerprint: str
    position: MemoryPosition | None = None


class Engine:
    """Edits segments with the models of the settings.

    Args:
        config: the service settings.
        project_settings: returns the settings of a project, or None if there is no such project; called in a thread.
        specs: specifications of the model processes, by model; None: those that follow from `config`.
    """

    def __init__(
        self,
        config: ServeConfig,
        project_settings: Callable[[str], ProjectSettings | None] = lambda project: None,
        specs: Mapping[str, ProcessSpec] | None = None,
    ) -> None:
        self._config, self.metrics = config, Metrics()
        self.project_settings = project_settings
        self.project_model: Callable[[str], str] = lambda project: ""
        """Returns the name of the model of a project, empty for the default one; called in a thread."""
        self._last_deadline = 0.0  # of all interactive requests, by the clock of the event loop
        self._backlog = Backlog(config.limits.queue_tokens, config.limits.client_share)
        self._specs = _specs(config) if specs is None else specs
        self._pool = WorkerPool(self._specs, self._backlog, config.limits, self.metrics)
        priorities: tuple[Priority, ...] = ("interactive", "job")
        self.metrics.watch(
            "postedit_queue_tokens",
            "Tokens that wait or are in progress.",
            "priority",
            {one: (lambda one=one: self._backlog.held(one)) for one in priorities},  # type: ignore[misc]
        )

    async def start(self) -> None:
        """Start the model processes.

        Raises:
            ModelFolderError: if a model cannot be loaded.
        """
        await self._pool.start()

    async def stop(self) -> None:
        """End the model processes once all accepted requests are answered, or their deadlines have passed."""
        try:
            async with asyncio.timeout(self.seconds_to_answer()):
                while not self._backlog.empty:
                    await asyncio.sleep(0.05)
        except TimeoutError:
            pass
        await self._pool.stop()

    def kill(self) -> None:
        """End the model processes at once."""
        self._pool.kill()

    @property
    def models(self) -> Collection[str]:
        """Names of the models."""
        return self._config.models.keys()

    def facts(self, model: str) -> ModelFacts:
        """Return what is known about a model.

        Raises:
            UnknownNameError: if there is no such model.
        """
        self._check_model(model)
        return self._pool.facts(model)

    def learns(self, model: str | None) -> bool:
        """Return whether a model learns from the corrections of projects; None: the default model.

        Raises:
            UnknownNameError: if there is no such model.
        """
        return self.facts(model or self._config.default).learns

    def languages(self, model: str | None) -> tuple[str, str]:
        """Return the source and target language of a model, empty if not known; None: the default model.

        Raises:
            UnknownNameError: if there is no such model.
        """
        return self.facts(model or self._config.default).abilities.languages

    def is_ready(self, model: str) -> bool:
        """Return whether a process of a model is ready."""
        return self._pool.is_ready(model)

    def seconds_until_free(self, client: str = "") -> float:
        """Return the seconds after which a model may accept an interactive request of a client; 0: one accepts it now.

        If the result is positive, the request for which this is called counts as demand that was refused.
        """
        seconds = min(self._excess(model, client) for model in self._config.models)
        if seconds > 0:
            for model in self._config.models:
                self._pool.ask(model, None, client)
        return max(0.0, seconds)

    def seconds_to_answer(self) -> float:
        """Return the seconds after which every accepted request is answered, or its deadline has passed."""
        return max(self._config.limits.timeout_seconds, self._last_deadline - asyncio.get_running_loop().time())

    async def reload(self, model: str) -> ModelFacts:
        """Load a model again, while the old one answers requests.

        Raises:
            UnknownNameError: if there is no such model.
            ModelFolderError: if the model cannot be loaded; the old one stays.
        """
        self._check_model(model)
        await self._pool.reload(model)
        return self._pool.facts(model)

    async def forget_deleted(self) -> None:
        """Make the model processes forget what was permanently deleted."""
        await self._pool.forget_deleted()

    async def edit(
        self,
        segments: Sequence[Segment],
        *,
        model: str | None = None,
        project: str | None = None,
        priority: Priority = "interactive",
        n_best: int = 1,
        evidence: bool = False,
        min_confidence: float = 0.0,
        glossary: Glossary | None = None,
        timeout: float | None = None,
        client: str = "",
    ) -> EditedSegments:
        """Return the corrections of segments; cancelling the call frees their places in the queue.

        Args:
            segments: the segments, in any number.
            model: name of the model; None: that of the project, or the default model.
            project: id of the project whose corrections, glossary and protection apply; None: no project.
            priority: "interactive" requests are edited before those of jobs.
            n_best: number of corrections per segment.
            evidence: also return the reasons for edits.
            min_confidence: edits with less confidence are reverted; the project's value applies if it is higher.
            glossary: replaces the glossary of the project; None: that of the project.
            timeout: seconds until the deadline; None: `limits.timeout_seconds`.
            client: in whose share of the queue the segments wait, such as a key, a user or a job.

        Raises:
            OverloadedError: if too much is waiting, or an overload begins before the first segment is in progress.
            TooLargeError: if the segments exceed the share of one client.
            ExpiredError: if the deadline passes.
            UnknownNameError: if there is no such model or project.
            DataError: if a segment lacks the mt that the model needs, or an option cannot be met.
        """
        seconds = self._config.limits.timeout_seconds if timeout is None else timeout
        loop = asyncio.get_running_loop()
        deadline, begun = loop.time() + seconds, asyncio.Event()
        async with _expiring(deadline, seconds):
            name = model or await self.model_of(project) or self._config.default
        self._check_model(name)
        self._check_segments(segments, name)
        tokens = sum(map(token_count, segments))
        self._check_wait(name, priority, tokens, client)
        retry_after = partial(self._pool.seconds_for, name)
        with self._backlog.expecting(name, priority, client, tokens, retry_after):
            async with _expiring(deadline, seconds):
                settings = await self._settings(name, project)
        settings = replace(
            settings,
            min_confidence=max(settings.min_confidence, min_confidence),
            glossary=glossary or settings.glossary,
        )
        kind = EditKind(name, project, settings, n_best, evidence)
        items = [WaitingSegment(one, kind, priority, deadline, client, loop.create_future(), begun) for one in segments]
        self._backlog.add(items, retry_after)
        if priority == "interactive":
            self._last_deadline = max(self._last_deadline, deadline)
        self._pool.wake()
        async with _expiring(deadline, seconds):
            edited = await self._outcome(items)
        last = edited[-1] if edited else None
        return EditedSegments(
            [one.result for one in edited],
            name,
            last.fingerprint if last else self._pool.facts(name).fingerprint,
            last.position if last else None,
        )

    async def _outcome(self, items: Sequence[WaitingSegment]) -> list[EditedSegment]:
        """Wait for all segments of a request; if one fails or the deadline passes, the others free their places."""
        try:
            if items and items[0].priority == "interactive":
                await self._turn(items[0].kind.model, items[0].begun, items[0].client)
            return [await item.done for item in items]
        finally:
            for item in items:
                if not item.done.cancel() and not item.done.cancelled():
                    item.done.exception()  # so that asyncio does not report it as never retrieved

    async def _turn(self, model: str, begun: asyncio.Event, client: str) -> None:
        """Wait until a segment of a request is in progress; give the request up if the model is overloaded meanwhile.

        Raises:
            OverloadedError: if the request would be refused if it arrived now.
        """
        while not begun.is_set():
            try:
                async with asyncio.timeout(self._pool.shortest_wait(model)):
                    await begun.wait()
            except TimeoutError:
                if self._pool.overloads(model, client):
                    raise OverloadedError(TOO_BUSY, max(1.0, self._excess(model, client))) from None

    async def model_of(self, project: str | None) -> str:
        """Return the name of the model of a project; empty: the default one, or no project is given."""
        return "" if project is None else await asyncio.to_thread(self.project_model, project)

    async def _settings(self, model: str, project: str | None) -> ProjectSettings:
        if project is None:
            return ProjectSettings(self._config.models[model].protect)
        found = await asyncio.to_thread(self.project_settings, project)
        if found is None:
            raise UnknownNameError(no_project(project))
        return found

    def _check_model(self, name: str) -> None:
        known = self._config.models
        if name not in known:
            raise UnknownNameError(f"there is no model {name!r} here{nearest(name, known)} (GET /v1/models lists them)")

    def _check_segments(self, segments: Sequence[Segment], model: str) -> None:
        if not self._pool.facts(model).abilities.needs_mt:
            return
        missing = next((number for number, one in enumerate(segments, start=1) if one.mt is None), None)
        if missing is not None:
            raise DataError(f"model {model} corrects translations: segment {missing} has none")

    def _check_wait(self, model: str, priority: Priority, tokens: int, client: str) -> None:
        """Refuse an interactive request that would probably wait too long; jobs may wait for any time."""
        if priority == "job":
            return
        self._pool.ask(model, tokens, client)
        if (seconds := self._excess(model, client)) > 0:
            raise OverloadedError(TOO_BUSY, seconds)

    def _excess(self, model: str, client: str) -> float:
        """Return the seconds by which an interactive request of a client would wait longer than the settings allow."""
        wait = self._pool.seconds_for(model, self._backlog.held("interactive", model))
        return wait - self._pool.longest_wait(model, client)


@asynccontextmanager
async def _expiring(deadline: float, seconds: float) -> AsyncIterator[None]:
    """Cancel the body at a deadline, by the clock of the event loop; `seconds` is for the message.

    Raises:
        ExpiredError: if the deadline passes first.
    """
    try:
        async with asyncio.timeout_at(deadline):
            yield
    except TimeoutError:
        raise ExpiredError(f"the request took more than {seconds:g} s; send less at a time, or later") from None


def _specs(config: ServeConfig) -> dict[str, ProcessSpec]:
    """Return the process specification of each model; models without `threads` share the cores equally."""
    cores = usable_cores()
    sharing = sum(model.processes for model in config.models.values() if not model.threads)
    return {
        name: ProcessSpec(
            model,
            model.threads or max(1, cores // max(1, sharing)),
            config.database_place if model.learns or model.path == NO_MODEL else None,
            config.log,
        )
        for name, model in config.models.items()
    }
