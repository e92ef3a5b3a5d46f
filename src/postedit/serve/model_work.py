"""Messages between the service and its model processes: the model to load, work, and outcomes."""

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
    """How the segments of a project, or of a request without a project, are edited.

    Args:
        protect: kinds of spans that edits must keep as in mt and src.
        min_confidence: edits with less confidence are reverted.
        glossary: terms to write and to avoid; None: no glossary.
        languages: source and target language of the project; empty if not known.
    """

    protect: tuple[Kind, ...] = KINDS
    min_confidence: float = 0.0
    glossary: Glossary | None = None
    languages: tuple[str, str] = "", ""


@dataclass(frozen=True, slots=True)
class EditKind:
    """The options that segments have in common if they are edited in one batch."""

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
"""Cause of a refusal: an invalid request; a defect of this program; the database is away; the server of a language
model is away ("endpoint"), or refuses the service's requests; its budget is used up."""


class Refusal(NamedTuple):
    """Why a segment was not edited. The message is only for the log, unless the fault is "invalid"."""

    message: str
    fault: Fault

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Return the refusal for an error; defects show where they happened, but no text."""
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
    """The outcome of work: a correction or a refusal per segment, and the memory position that was learnt."""

    outcomes: list[PostEdit | Refusal]
    position: MemoryPosition | None


class StillLearning(NamedTuple):
    """A sign of a process that learns the corrections of a project before it edits, which may take many minutes."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts about a model, as reported by its process: fingerprint, abilities, and whether it learns."""

    fingerprint: str
    abilities: Abilities
    learns: bool


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """What a model process needs to start.

    Args:
        config: settings of the model.
        threads: number of threads of the process.
        memory: file or URL of the memory of corrections; None: the model does not learn from projects.
        log: log settings, which also apply to warnings of other libraries.
    """

    config: ServedModel
    threads: int
    memory: str | None
    log: LogConfig = field(default_factory=LogConfig)

    @property
    def path(self) -> str:
        """The model: a folder path, a hub id, a language pair, "none", "openai:MODEL" or "python:MODULE:NAME".

        Raises:
            ModelFolderError: if it is a language pair whose model has to be fetched first.
        """
        if self.config.path == SHIPPED:
            return str(default_model().folder)
        resolved(self.config.path)
        return self.config.path

    def editor_spec(self, kind: EditKind | None = None) -> EditorSpec:
        """Return the specification that loads an editor and wraps it for work of a kind; None: only to load it."""
        settings = kind.settings if kind else ProjectSettings()
        # A gate is learnt with one `protect`, and without a glossary.
        fits = kind is not None and {*settings.protect} == {*self.config.protect} and settings.glossary is None
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
