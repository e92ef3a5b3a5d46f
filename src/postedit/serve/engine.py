"""`Engine`: edits segments for many clients at a time, in model processes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from postedit.adapt.correction_memory import MemoryPosition
from postedit.core.editor import Editor, PostEdit, Segment
from postedit.core.errors import PosteditError
from postedit.jobs.editing import EditorSpec
from postedit.serve.settings import ServeConfig
from postedit.shipped import MODEL

Priority = Literal["interactive", "job"]
"""Interactive requests go before those of jobs."""


class OverloadedError(PosteditError):
    """Too much is waiting; `retry_after` says in how many seconds another try may succeed."""

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ExpiredError(PosteditError):
    """The time for a request is over."""


class UnknownModelError(PosteditError):
    """There is no model of that name."""


@dataclass(frozen=True, slots=True)
class EditedSegments:
    """Corrections of the segments of one request.

    Args:
        results: one a segment, in order.
        model: the name of the model.
        fingerprint: of the model.
        position: that of the memory of the project whose corrections counted; None without a project.
    """

    results: list[PostEdit]
    model: str
    fingerprint: str
    position: MemoryPosition | None = None


class Engine:
    """Edits segments with the models of the settings."""

    def __init__(self, config: ServeConfig) -> None:
        self._config = config
        self._editors: dict[str, Editor] = {}

    async def start(self) -> None:
        """Load the models."""
        for name, model in self._config.models.items():
            self._editors[name] = await asyncio.to_thread(
                EditorSpec([str(MODEL) if model.path == "shipped" else model.path]).load, "cpu"
            )

    async def stop(self) -> None:
        """Answer what was accepted, and end."""

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
        timeout: float | None = None,
        client: str = "",
    ) -> EditedSegments:
        """Return the corrections of segments; cancel the call to free its place.

        Args:
            segments: in any number.
            model: its name; the default one if not given.
            project: id of the project whose corrections, glossary and protection count.
            priority: interactive requests go first.
            n_best: corrections a segment.
            evidence: give reasons, too.
            min_confidence: take back edits with less confidence; that of the project counts, too.
            timeout: in seconds; that of the settings if not given.
            client: whose place in the queue this takes: a key, or an address.

        Raises:
            OverloadedError: if too much is waiting.
            ExpiredError: if the time is over.
            UnknownModelError: if there is no such model.
            DataError: if a segment lacks what the model needs, or an option cannot be met.
        """
        name = model or self._config.default
        if name not in self._editors:
            raise UnknownModelError(f"there is no model {name!r} here; GET /v1/models lists them")
        results = await asyncio.to_thread(self._editors[name].edit_segments, segments)
        return EditedSegments(results, name, "")
