"""Requests to the model for proposals, which are saved only if settings and corrections are still valid."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from postedit.adapt.correction_memory import MemoryPosition
from postedit.core.editor import PostEdit, Segment
from postedit.core.errors import DataError
from postedit.serve.backlog import BudgetSpentError, EndpointUnavailableError, OverloadedError, Priority, TooLargeError
from postedit.serve.engine import Engine, ExpiredError, UnknownNameError
from postedit.serve.schema import OPEN_STATES
from postedit.serve.store import Store
from postedit.serve.store_base import ProjectChange, Row
from postedit.serve.store_projects import OF_PROPOSALS
from postedit.serve.store_proposals import Proposal
from postedit.serve.store_segments import segment_json
from postedit.serve.worker_pool import BrokenSegmentError

_TIMEOUT: Final = 600.0  # seconds, for a request of a job
_MOST_BROKEN: Final = 3  # segments on which the model may fail, each alone, before it edits any of a batch
_STRIDE: Final = 5  # segments that are tried one after the other lie so far apart, as neighbours often share a fault


class Made(NamedTuple):
    """Proposals, and the settings and memory position that they were made with."""

    project: Row  # row of the project, read before the proposals were made
    position: MemoryPosition  # of its memory; all proposals had learnt at least that much
    proposals: list[Proposal]


class ProposalRequest(NamedTuple):
    """How the model is asked for proposals; see `Engine.edit`."""

    priority: Priority
    client: str
    evidence: bool = False  # with reasons for edits, which takes longer


class Proposer:
    """Asks a model for proposals, and saves them.

    Args:
        store: the store with the segments.
        engine: the engine with the models.
    """

    def __init__(self, store: Store, engine: Engine) -> None:
        self._store, self._engine = store, engine

    async def renewed(
        self, file: Row, numbers: Sequence[int], client: str, *, evidence: bool = True
    ) -> list[dict[str, Any]]:
        """Return segments of a file as the API gives them, with proposals renewed if they are out of date.

        Args:
            file: the row of the file.
            numbers: the numbers of the segments.
            client: see `Engine.edit`.
            evidence: with reasons for edits, which takes longer; proposals that lack them are renewed, too.
        """
        rows = await asyncio.to_thread(self._store.segments.some, file["id"], numbers)
        project = await asyncio.to_thread(self._store.projects.row, file["project"])
        position = await self.position(file["project"]) if self.learns(project) else 0
        old = [row for row in rows if row["state"] in OPEN_STATES and _is_old(row, position, evidence)]
        if old:
            asking = ProposalRequest("interactive", client, evidence)
            await self.propose(file, old, asking, lambda made: self.save(file, made))
            rows = await asyncio.to_thread(self._store.segments.some, file["id"], numbers)
        return [segment_json(row) for row in rows]

    def save(self, file: Row, made: Made) -> bool:
        """Save proposals unless the settings or corrections behind them have changed; return whether they were."""
        with self._store.database.change(file["project"], "") as change:
            return self.save_part(change, file, made)

    def save_part(self, change: ProjectChange, file: Row, made: Made) -> bool:
        """Save proposals as part of a change; see `save`."""
        project = change.settings()
        if any(project[name] != made.project[name] for name in OF_PROPOSALS):
            return False
        now = self._store.memory.of(change.project).read_position(connection=change.connection)
        if made.position.edition != now.edition or made.position.last > now.last:
            return False  # corrections that they depend on may have been deleted
        numbers = self._store.proposals.save(change, file["id"], made.proposals)
        if numbers:
            change.event("segment", file=file["id"], numbers=numbers, proposal=True)
        return True

    def learns(self, project: Row) -> bool:
        """Return whether the model of a project learns from its corrections."""
        return self._engine.learns(project["model"] or None)

    def languages(self, project: Row) -> tuple[str, str]:
        """Return the source and target language of the model of a project, empty if they or the model are not known."""
        try:
            return self._engine.languages(project["model"] or None)
        except UnknownNameError:
            return "", ""

    async def propose(
        self, file: Row, rows: Sequence[Row], asking: ProposalRequest, save: Callable[[Made], bool]
    ) -> None:
        """Make proposals and save them; as long as `save` returns False, make them again."""
        while not await asyncio.to_thread(save, await self.made(file, rows, asking)):
            continue

    async def position(self, project: str) -> int:
        """Return the number of the last entry in the memory of a project."""
        return await asyncio.to_thread(lambda: self._store.memory.of(project).position.last)

    async def made(self, file: Row, rows: Sequence[Row], asking: ProposalRequest) -> Made:
        """Return proposals for segments; those without mt are requested separately, since many models need mt."""
        project = await asyncio.to_thread(self._store.projects.row, file["project"])
        before = await asyncio.to_thread(self._store.memory.of(file["project"]).read_position)
        with_mt = [row for row in rows if row["mt"].strip()]
        without = [row for row in rows if not row["mt"].strip()]
        results, position = await self._edited(project, with_mt, asking)
        try:
            others, other_position = await self._edited(project, without, asking)
        except (DataError, BrokenSegmentError) as error:
            if isinstance(error, BrokenSegmentError) and (asking.priority != "job" or not any(results)):
                raise
            others, other_position = [None] * len(without), None
        position = _lowest(position, other_position) or before
        proposals = await asyncio.to_thread(
            self._store.proposals.made_of,
            file["id"],
            [*with_mt, *without],
            [*results, *others],
            position.last,
            explained=asking.evidence,
        )
        return Made(project, position, proposals)

    async def _edited(
        self, project: Row, rows: Sequence[Row], asking: ProposalRequest
    ) -> tuple[Sequence[PostEdit | None], MemoryPosition | None]:
        """Return corrections of segments; None for those that are too large or, in jobs, that the model fails on."""
        if not rows:
            return [], None
        try:
            return await self._edited_at_once(project, rows, asking)
        except BrokenSegmentError:
            if asking.priority != "job":
                raise
            return await self._edited_alone(project, rows, asking) if len(rows) > 1 else ([None], None)
        except TooLargeError:
            if len(rows) == 1:
                return [None], None
        half = len(rows) // 2
        first, position = await self._edited(project, rows[:half], asking)
        rest, other_position = await self._edited(project, rows[half:], asking)
        return [*first, *rest], _lowest(position, other_position)

    async def _edited_alone(
        self, project: Row, rows: Sequence[Row], asking: ProposalRequest
    ) -> tuple[Sequence[PostEdit | None], MemoryPosition | None]:
        """Return corrections of segments of a job, each edited alone; None for those that the model fails on.

        Raises:
            BrokenSegmentError: if the model fails on some before it edits any: the fault is not that of one segment.
        """
        results: list[PostEdit | None] = [None] * len(rows)
        positions: list[MemoryPosition | None] = []
        broken, bound = 0, min(_MOST_BROKEN, len(rows))
        for place in sorted(range(len(rows)), key=lambda one: one % _STRIDE):
            try:
                (results[place],), position = await self._edited_at_once(project, [rows[place]], asking)
                positions.append(position)
            except BrokenSegmentError:
                broken += 1
                if broken >= bound and not any(results):
                    raise
        return results, _lowest(*positions)

    async def _edited_at_once(
        self, project: Row, rows: Sequence[Row], asking: ProposalRequest
    ) -> tuple[Sequence[PostEdit | None], MemoryPosition | None]:
        segments = [Segment(row["src"].strip(), row["mt"].strip() or None) for row in rows]
        while True:
            try:
                found = await self._engine.edit(
                    segments,
                    model=project["model"] or None,
                    project=project["id"],
                    priority=asking.priority,
                    evidence=asking.evidence,
                    min_confidence=project["min_confidence"],
                    timeout=_TIMEOUT if asking.priority == "job" else None,
                    client=asking.client,
                )
            except (OverloadedError, EndpointUnavailableError) as error:
                if asking.priority != "job" or isinstance(error, BudgetSpentError):
                    raise
                await asyncio.sleep(error.retry_after)
            except ExpiredError:
                if asking.priority != "job":
                    raise
            else:
                return found.results, found.position


def _lowest(*positions: MemoryPosition | None) -> MemoryPosition | None:
    """Return the lowest of the given positions, ignoring None; None if there are no others."""
    return min((one for one in positions if one is not None), default=None)


def _is_old(row: Row, position: int, evidence: bool) -> bool:
    """Return whether the proposal for a segment is older than a memory position, or lacks the reasons asked for."""
    return row["proposed_at"] < position or (evidence and row["changed"] and not row["explained"])
