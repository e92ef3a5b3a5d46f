"""A process that runs one model, and the handle by which the service talks to it."""

import hashlib
import json
import os
import signal
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple, Self

from postedit import shipped
from postedit.adapt.adaptation_config import NO_MODEL
from postedit.adapt.correction_memory import CorrectionMemory, MemoryPosition
from postedit.adapt.remembering import Remembering
from postedit.core.editor import Abilities, Editor, PostEdit, Segment
from postedit.core.errors import DataError, ModelFolderError, OutputError, PosteditError, StoppedError
from postedit.core.search_config import SearchConfig
from postedit.jobs.editing import EditorSpec, silence_library
from postedit.llm.chat_client import EndpointRefusedError
from postedit.llm.pacing import BudgetError
from postedit.serve.service_logs import trace_of
from postedit.serve.settings import SHIPPED, ServedModel
from postedit.text.glossary import Glossary
from postedit.text.span_patterns import KINDS, Kind

DEFAULT_PROJECT: Final = "default"
"""The id of the project that always exists."""

_SECONDS_TO_END: Final = 5.0
"""Time for a process to end by itself."""

_WARM_UP: Final = Segment("Warm up.", "Warm up.")

_WRAPPED: Final = 4
"""Settings of a project for which an editor is kept: old ones, or those of single requests, go."""


_THREADS: Final = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Variables that PyTorch, NumPy and Numba read when they are imported, which a model process does later."""


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
    """

    config: ServedModel
    threads: int
    memory: str | None

    @property
    def path(self) -> str:
        """The model, as a path, hub id, or none."""
        return str(shipped.MODEL) if self.config.path == SHIPPED else self.config.path

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


class ProcessDiedError(Exception):
    """A model process ended, or was ended because it took too long."""


class ModelProcess:
    """A running model process. Its methods block, and are called from one thread at a time.

    Raises:
        ModelFolderError: if the model cannot be loaded.
        ProcessDiedError: if the process ends while it loads.
    """

    def __init__(self, spec: ProcessSpec) -> None:
        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(spec, theirs), daemon=True, name="postedit model")
        self._process.start()
        self._works = False
        self.is_new = True  # until it has answered: what it has not done before takes longer
        theirs.close()
        facts = self._answer(None)
        if isinstance(facts, str):
            self.stop()
            raise ModelFolderError(facts)
        assert isinstance(facts, ModelFacts)
        self.facts = facts

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid or 0

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.is_alive()

    @property
    def sentinel(self) -> int:
        """A descriptor that can be read when the process has ended."""
        return self._process.sentinel

    def run(self, work: Work, seconds: float) -> Done:
        """Return the outcome of some work.

        Raises:
            ProcessDiedError: if the process ends, or takes more than some seconds and is ended.
        """
        done = self._asked(work, seconds)
        assert isinstance(done, Done)
        self.is_new = False
        return done

    def forget_deleted(self, seconds: float) -> None:
        """Let the process forget corrections and glossaries that have been deleted.

        Raises:
            ProcessDiedError: see `run`.
        """
        self._asked(None, seconds)

    def _asked(self, work: Work | None, seconds: float) -> object:
        self._works = True
        try:
            self._connection.send(work)
            return self._answer(seconds)
        except OSError:
            raise self._death() from None
        finally:
            self._works = False

    def stop(self) -> None:
        """End the process; what it works on is lost."""
        if self._works:
            self._process.kill()  # so that the thread that waits for it goes on
        else:
            self._connection.close()  # which it notices
        self._process.join(_SECONDS_TO_END)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _answer(self, seconds: float | None) -> object:
        try:
            if not self._connection.poll(seconds):
                self._process.kill()
                raise ProcessDiedError(f"took more than {seconds:g} s, and was ended")
            return self._connection.recv()
        except (EOFError, OSError):
            raise self._death() from None

    def _death(self) -> ProcessDiedError:
        self._process.join(_SECONDS_TO_END)
        return ProcessDiedError(f"ended with code {self._process.exitcode}")


def _serve(spec: ProcessSpec, connection: Connection) -> None:
    """Run a model process: it works until the other end of the connection is closed.

    It ignores the signals that tell the service to stop: what has been accepted is answered first.
    """
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    os.environ.update(dict.fromkeys(_THREADS, str(spec.threads)))
    silence_library()
    try:
        try:
            editors = _Editors(spec)
        except PosteditError as error:
            connection.send(str(error))
            return
        connection.send(editors.facts)
        while True:
            if (work := connection.recv()) is None:
                editors.forget_deleted()
                connection.send(None)
            else:
                connection.send(editors.done(work))
    except (EOFError, BrokenPipeError):
        return


@dataclass(slots=True)
class _ProjectEditor:
    """A model with the corrections of a project, or without any, and what is wrapped around it for some settings."""

    model: Editor
    wrapped: OrderedDict[EditKind, Editor] = field(default_factory=OrderedDict)

    @property
    def position(self) -> MemoryPosition | None:
        """The position of the memory that has been learnt."""
        return self.model.learnt if isinstance(self.model, Remembering) else None

    def around(self, spec: ProcessSpec, kind: EditKind) -> Editor:
        """Return the editor for work of a kind."""
        if kind not in self.wrapped:
            wrapping = spec.editor_spec(kind)
            if isinstance(self.model, Remembering):  # a gate is made for the model as it was trained
                wrapping = replace(wrapping, gate=None)
            self.wrapped[kind] = wrapping.around(self.model)
        self.wrapped.move_to_end(kind)
        if len(self.wrapped) > _WRAPPED:
            self.wrapped.popitem(last=False)
        return self.wrapped[kind]


class _Editors:
    """The editors of a model process: one without corrections, and one for each of the projects that were used last."""

    def __init__(self, spec: ProcessSpec) -> None:
        self._spec = spec
        model = spec.editor_spec().load_model(spec.config.device)
        self._plain = _ProjectEditor(model)
        self._projects: OrderedDict[str, _ProjectEditor] = OrderedDict()
        self._memory: CorrectionMemory | None = None
        self._learns = spec.memory is not None
        self.facts = ModelFacts(_fingerprint(model), model.abilities, self._warm_up())

    def _warm_up(self) -> bool:
        """Edit something, so that the first request is not slow; return whether projects can teach the model.

        Phrases are learnt, too, and forgotten: on a new machine this compiles what that needs, for up to a minute.
        Those after a neural model need what phrases without a model need, so that it is not loaded once more.
        """
        settings = ProjectSettings(self._spec.config.protect)
        self._plain.around(self._spec, EditKind("", None, settings)).edit_segments([_WARM_UP])
        try:
            project = self._project(DEFAULT_PROJECT)
            if self._learns:
                self._learn_in_vain(project.model)
                project.around(self._spec, EditKind("", DEFAULT_PROJECT)).edit_segments([_WARM_UP])
        except (DataError, ModelFolderError):  # such as a combination of models
            self._learns = False
        return self._learns

    def _learn_in_vain(self, model: Editor) -> None:
        from postedit.adapt.followed_by_phrases import FollowedByPhrases
        from postedit.adapt.learning_editor import load_learning
        from postedit.phrase.phrase_editor import PhraseEditor

        inner = model.inner if isinstance(model, Remembering) else None
        if not isinstance(inner, PhraseEditor | FollowedByPhrases):
            return
        with TemporaryDirectory() as folder, CorrectionMemory(Path(folder) / "memory.db") as memory:
            editor = self._load_from(memory) if isinstance(inner, PhraseEditor) else load_learning(NO_MODEL, memory)
            editor.learn(_WARM_UP.src, _WARM_UP.mt or "", "Warmed up.")
            editor.edit_segments([_WARM_UP])

    def done(self, work: Work) -> Done:
        """Return the outcome of some work; if one segment is at fault, the others are edited all the same."""
        try:
            project = self._project(work.kind.project)
            untaught = self._untaught(project)
            editor = (self._plain if untaught else project).around(self._spec, work.kind)
            search = _search(editor, work.kind)
        except Exception as error:
            return Done([Refusal.of(error)] * len(work.segments), None)
        results = _edited(editor, work.segments, search, work.kind)
        return Done(results, untaught or project.position)

    def _untaught(self, project: _ProjectEditor) -> MemoryPosition | None:
        """Return the position of the memory of a project that has taught nothing, if there is a gate; else None.

        Its segments are edited by the model as it was trained, for which the gate was made.
        """
        if self._spec.config.gate is None or not isinstance(project.model, Remembering):
            return None
        found = project.model.position
        return None if found.last else found

    def forget_deleted(self) -> None:
        """Let go of projects whose corrections have been deleted, or of all if nobody can say, and of all glossaries.

        Glossaries come with the next work for them.
        """
        for name, project in [*self._projects.items()]:
            if self._is_deleted(name, project):
                del self._projects[name]
        for project in (self._plain, *self._projects.values()):
            project.wrapped.clear()

    def _is_deleted(self, name: str, project: _ProjectEditor) -> bool:
        known = project.position
        try:
            return (
                known is not None and self._memory is not None and self._memory.of(name).mark(known.last) != known.mark
            )
        except OutputError:
            return True

    def _project(self, name: str | None) -> _ProjectEditor:
        """Return the editor of a project; its corrections are read when it was not used lately."""
        if name is None or not self._learns or self._spec.memory is None:
            return self._plain
        if name not in self._projects:
            self._projects[name] = self._load(name, self._spec.memory)
        self._projects.move_to_end(name)
        if len(self._projects) > self._spec.config.projects:
            self._projects.popitem(last=False)
        return self._projects[name]

    def _load(self, name: str, where: str) -> _ProjectEditor:
        if self._memory is None:
            self._memory = CorrectionMemory(where, create=False)
        return _ProjectEditor(self._load_from(self._memory.of(name)))

    def _load_from(self, memory: CorrectionMemory) -> Remembering:
        from postedit.adapt.learning_editor import load_learning

        config = self._spec.config
        return load_learning(self._spec.path, memory, config.learn, config.learning, device=config.device)


def _search(editor: Editor, kind: EditKind) -> SearchConfig:
    if kind.n_best == 1:
        return editor.search
    beam = max(editor.search.beam, kind.n_best)
    search = editor.search.with_options(beam=beam, n_best=kind.n_best)
    editor.check(search, with_mt=True)
    return search


def _edited(editor: Editor, segments: list[Segment], search: SearchConfig, kind: EditKind) -> list[PostEdit | Refusal]:
    try:
        if kind.evidence and editor.abilities.evidence:
            return [*_with_reasons(editor, segments, editor.edit_segments(segments, search, evidence="losses"))]
        return [*editor.edit_segments(segments, search)]
    except (OutputError, StoppedError) as error:
        return [Refusal.of(error)] * len(segments)
    except Exception as error:
        if len(segments) > 1:
            return [found for one in segments for found in _edited(editor, [one], search, kind)]
        return [Refusal.of(error)]


def _with_reasons(editor: Editor, segments: list[Segment], results: list[PostEdit]) -> Iterator[PostEdit]:
    """Yield corrections with reasons for each edit, in place of the evidence behind them."""
    from postedit.jobs.explanation import reasons_of_edits

    for result, reasons in zip(results, reasons_of_edits(editor, segments, results), strict=True):
        edits = tuple(replace(edit, reasons=found) for edit, found in zip(result.edits, reasons, strict=True))
        yield replace(result, edits=edits, evidence=None)


def _fingerprint(model: Editor) -> str:
    identity = model.identity()
    values = json.dumps([identity.models, identity.settings], sort_keys=True, default=str)
    return hashlib.sha256(values.encode()).hexdigest()[:16]
