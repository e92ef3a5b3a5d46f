"""What the service and its model processes tell each other: a model to load, work, and what came of it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, Self

from postedit.adapt.correction_memory import MemoryPosition
from postedit.core.editor import Abilities, PostEdit, Segment
from postedit.core.errors import OutputError, PosteditError, StoppedError
from postedit.jobs.editor_spec import EditorSpec
from postedit.llm.chat_client import EndpointRefusedError
from postedit.llm.pacing import BudgetError
from postedit.releases.catalogue import default_model, resolved
from postedit.serve.service_logs import trace_of
from postedit.serve.settings import SHIPPED, LogConfig, ServedModel
from postedit.text.glossary import Glossary
from postedit.text.span_patterns import KINDS, Kind


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """How segments of a project are edited, or those of a request without one.

    Args:
        protect: kinds of spans that stay as in mt and src.
        min_confidence: edits with less confidence are taken back.
        glossary: terms to write and to avoid.
    """

    protect: tuple[Kind, ...] = KINDS
    min_confidence: float = 0.0
    glossary: Glossary | None = None


@dataclass(frozen=True, slots=True)
class EditKind:
    """What segments that are edited together have in common."""

    model: str
    project: str | None = None
    settings: ProjectSettings = ProjectSettings()
    n_best: int = 1
    evidence: bool = False


class Work(NamedTuple):
    """Segments of one kind for a model process."""

    kind: EditKind
    segments: list[Segment]


Fault = Literal["invalid", "broken", "away", "endpoint", "refused", "budget"]
"""Of what was asked; of this program; of the database; the server of a language model is away, or refuses what this
service asks; its budget is used up."""


class Refusal(NamedTuple):
    """Why a segment was not edited; unless what was asked is at fault, the message is for the log."""

    message: str
    fault: Fault

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Return what an error says."""
        if not isinstance(error, PosteditError):
            return cls(trace_of(error), "broken")
        faults: dict[type[PosteditError], Fault] = {
            BudgetError: "budget",
            EndpointRefusedError: "refused",
            StoppedError: "endpoint",
            OutputError: "away",
        }
        return cls(str(error), next((fault for kind, fault in faults.items() if isinstance(error, kind)), "invalid"))


class Done(NamedTuple):
    """The outcome of some work: a correction, or a refusal, for each segment."""

    outcomes: list[PostEdit | Refusal]
    position: MemoryPosition | None


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a model process says about its model."""

    fingerprint: str
    abilities: Abilities
    learns: bool


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """What a model process needs to know.

    Args:
        config: the model.
        threads: of the process.
        memory: file or URL of the memory of corrections; None if projects teach nothing.
        log: how logs are written, warnings of other libraries among them.
    """

    config: ServedModel
    threads: int
    memory: str | None
    log: LogConfig = field(default_factory=LogConfig)

    @property
    def path(self) -> str:
        """The model, as a path, hub id, language pair, or none.

        Raises:
            ModelFolderError: if it is a pair whose model has to be fetched.
        """
        if self.config.path == SHIPPED:
            return str(default_model().folder)
        resolved(self.config.path)
        return self.config.path

    def editor_spec(self, kind: EditKind | None = None) -> EditorSpec:
        """Return what loads and wraps an editor, for work of a kind."""
        settings = kind.settings if kind else ProjectSettings()
        # A gate is made for one protection, and without a glossary.
        fits = kind is not None and settings.protect == self.config.protect and settings.glossary is None
        gate = self.config.gate if fits else None
        return EditorSpec(
            [self.path],
            dtype=self.config.dtype,
            endpoint=self.config.endpoint,
            gate=None if gate is None else Path(gate),
            min_confidence=settings.min_confidence,
            protect=settings.protect,
            glossary=settings.glossary,
        )
