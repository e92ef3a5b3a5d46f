"""The editors of a model process, one per project with its corrections, and the work that they do."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from postedit.adapt.adaptation_config import NO_MODEL
from postedit.adapt.correction_memory import CorrectionMemory, MemoryPosition
from postedit.adapt.remembering import Remembering, say_nothing
from postedit.core.editor import Editor, EditorWrapper, PostEdit, Segment, edited
from postedit.core.errors import DataError, ModelFolderError, OutputError, StoppedError
from postedit.core.search_config import SearchConfig
from postedit.serve.model_work import (
    Done,
    EditKind,
    ModelFacts,
    ProcessSpec,
    ProjectSettings,
    Refusal,
    Work,
)
from postedit.serve.settings import DEFAULT_PROJECT
from postedit.text.glossary import unpacked

_WARM_UP: Final = Segment("Warm up.", "Warm up.")

_WRAPPED: Final = 4
"""Number of kinds of work per project whose editors are kept; the least recently used are dropped."""


@dataclass(slots=True)
class _ProjectEditor:
    """A model, with or without the corrections of a project, and the editors that wrap it for each kind of work."""

    model: Editor
    languages: tuple[str, str] = "", ""  # by which phrases alone divide texts into words
    wrapped: OrderedDict[EditKind, Editor] = field(default_factory=OrderedDict)

    @property
    def position(self) -> MemoryPosition | None:
        """The memory position that the model has learnt; None if it learns nothing."""
        return self.model.learnt if isinstance(self.model, Remembering) else None

    def around(self, spec: ProcessSpec, kind: EditKind) -> Editor:
        """Return the editor for work of a kind."""
        if kind not in self.wrapped:
            wrapping = spec.editor_spec(kind)
            if isinstance(self.model, Remembering):  # a gate is valid only for the model as it was trained
                wrapping = replace(wrapping, gate=None)
            self.wrapped[kind] = wrapping.around(self.model)
        self.wrapped.move_to_end(kind)
        if len(self.wrapped) > _WRAPPED:
            self.wrapped.popitem(last=False)
        return self.wrapped[kind]


class ProjectEditors:
    """The editors of a model process: one without corrections, and one for each of the most recently used projects.

    Args:
        spec: specification of the process.
        progress: called again and again while corrections are learnt.
    """

    def __init__(self, spec: ProcessSpec, progress: Callable[[], None] = say_nothing) -> None:
        self._spec, self._progress = spec, progress
        model = spec.editor_spec().load_model(spec.config.device)
        self._plain = _ProjectEditor(model)
        self._projects: OrderedDict[str, _ProjectEditor] = OrderedDict()
        self._memory: CorrectionMemory | None = None
        self._learns = spec.memory is not None
        self.facts = ModelFacts(_fingerprint(model), model.abilities, self._warm_up())

    def _warm_up(self) -> bool:
        """Edit something, so that the first request is not slow; return whether projects can teach the model.

        A phrase is also learnt, in a temporary memory: on a new machine, this compiles the code for it, which takes up
        to a minute. Phrases after a neural model use the same code as phrases alone, so the model is not loaded again.
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

        inner = model
        while isinstance(inner, EditorWrapper) and not isinstance(inner, FollowedByPhrases):  # such as a first stage
            inner = inner.inner
        if not isinstance(inner, PhraseEditor | FollowedByPhrases):
            return
        with TemporaryDirectory() as folder, CorrectionMemory(Path(folder) / "memory.db") as memory:
            editor = self._load_from(memory) if isinstance(inner, PhraseEditor) else load_learning(NO_MODEL, memory)
            editor.learn(_WARM_UP.src, _WARM_UP.mt or "", "Warmed up.")
            editor.edit_segments([_WARM_UP])

    def done(self, work: Work) -> Done:
        """Return the outcome of work; if one segment causes an error, the others are edited nevertheless."""
        try:
            project = self._project(work.kind.project, work.kind.settings.languages)
            untaught = self._untaught(project)
            editor = (self._plain if untaught else project).around(self._spec, work.kind)
            search = _search(editor, work.kind)
        except Exception as error:
            return Done([Refusal.of(error)] * len(work.segments), None)
        results = _edited(editor, work.segments, search, work.kind)
        return Done(results, untaught or project.position)

    def _untaught(self, project: _ProjectEditor) -> MemoryPosition | None:
        """Return the memory position of a project that has taught nothing, if there is a gate; else None.

        Segments of such a project are edited by the model as it was trained, for which the gate was learnt.
        """
        if self._spec.config.gate is None or not isinstance(project.model, Remembering):
            return None
        found = project.model.position
        return None if found.last else found

    def forget_deleted(self) -> None:
        """Drop projects whose corrections have been deleted (all, if the database is away), and all glossaries.

        Wrapped editors, which hold glossaries, are made anew for the next work.
        """
        for name, project in [*self._projects.items()]:
            if self._is_deleted(name, project):
                del self._projects[name]
        for project in (self._plain, *self._projects.values()):
            project.wrapped.clear()
        unpacked.cache_clear()

    def _is_deleted(self, name: str, project: _ProjectEditor) -> bool:
        known = project.position
        try:
            return (
                known is not None and self._memory is not None and self._memory.of(name).mark(known.last) != known.mark
            )
        except OutputError:
            return True

    def _project(self, name: str | None, languages: tuple[str, str] = ("", "")) -> _ProjectEditor:
        """Return the editor of a project, loaded if it is not kept; the plain one if no project teaches the model."""
        if name is None or not self._learns or self._spec.memory is None:
            return self._plain
        if self._spec.path != NO_MODEL or "phrases" in self._spec.config.learning.model_fields_set:
            languages = "", ""  # the model or the settings say how texts are divided
        if name not in self._projects or self._projects[name].languages != languages:
            self._projects[name] = self._load(name, self._spec.memory, languages)
        self._projects.move_to_end(name)
        if len(self._projects) > self._spec.config.projects:
            self._projects.popitem(last=False)
        return self._projects[name]

    def _load(self, name: str, where: str, languages: tuple[str, str]) -> _ProjectEditor:
        if self._memory is None:
            self._memory = CorrectionMemory(where, create=False)
        model = self._load_from(self._memory.of(name), languages)
        model.progress = self._progress
        return _ProjectEditor(model, languages)

    def _load_from(self, memory: CorrectionMemory, languages: tuple[str, str] = ("", "")) -> Remembering:
        from postedit.adapt.followed_by_phrases import running_text_of
        from postedit.adapt.learning_editor import load_learning

        config = self._spec.config
        learning = config.learning
        if any(languages):
            learning = learning.model_copy(update={"phrases": running_text_of(*languages)})
        return load_learning(self._spec.path, memory, config.learn, learning, device=config.device)


def _search(editor: Editor, kind: EditKind) -> SearchConfig:
    if kind.n_best == 1:
        return editor.search
    beam = max(editor.search.beam, kind.n_best)
    search = editor.search.with_options(beam=beam, n_best=kind.n_best)
    editor.check(search, with_mt=True)
    return search


def _edited(editor: Editor, segments: list[Segment], search: SearchConfig, kind: EditKind) -> list[PostEdit | Refusal]:
    try:
        has_reasons = kind.evidence and editor.abilities.evidence
        results = edited(editor, segments, search, "losses" if has_reasons else None)
        return [*_with_reasons(editor, segments, results)] if has_reasons else [*results]
    except (OutputError, StoppedError) as error:
        return [Refusal.of(error)] * len(segments)
    except Exception as error:
        if len(segments) > 1:
            return [found for one in segments for found in _edited(editor, [one], search, kind)]
        return [Refusal.of(error)]


def _with_reasons(editor: Editor, segments: list[Segment], results: list[PostEdit]) -> Iterator[PostEdit]:
    """Yield corrections whose edits have reasons, in place of the evidence behind them."""
    from postedit.jobs.explanation import reasons_of_edits

    for result, reasons in zip(results, reasons_of_edits(editor, segments, results), strict=True):
        edits = tuple(replace(edit, reasons=found) for edit, found in zip(result.edits, reasons, strict=True))
        yield replace(result, edits=edits, evidence=None)


def _fingerprint(model: Editor) -> str:
    identity = model.identity()
    values = json.dumps([identity.models, identity.settings], sort_keys=True, default=str)
    return hashlib.sha256(values.encode()).hexdigest()[:16]
