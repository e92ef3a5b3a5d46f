"""What a model process does before it is ready, and what it forgets."""

import errno
import itertools
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, call

import pytest
from scripted import settings
from scripted_editor import ScriptedEditor, ScriptedProcess

from postedit.adapt import learning_editor
from postedit.adapt.adaptation_config import LearningConfig
from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory
from postedit.adapt.followed_by_phrases import FollowedByPhrases
from postedit.adapt.remembering import Remembering, say_nothing
from postedit.core.editor import Abilities, EditorWrapper, PostEdit, Segment
from postedit.editing.chained_editors import Drafted
from postedit.gate import Gate
from postedit.gate.edit_features import Features
from postedit.gate.gate import Calibrator, Rule
from postedit.jobs.editor_spec import EditorSpec
from postedit.serve import model_process
from postedit.serve.engine import _specs
from postedit.serve.model_work import Done, EditKind, ModelFacts, ProcessSpec, ProjectSettings, StillLearning, Work
from postedit.serve.project_editors import ProjectEditors
from postedit.serve.settings import LogConfig, ServedModel
from postedit.text.glossary import Glossary, GlossaryEntry, unpacked


class _Nothing:
    """Learns nothing."""

    def learn_entries(self, entries: Any, progress: Callable[[], None] = say_nothing) -> None:
        for _ in entries:
            progress()

    def forget_all(self) -> None:
        pass


def test_only_phrases_are_learnt_in_vain_before_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, loaded = tmp_path / "memory.db", []
    CorrectionMemory(place).close()
    model = settings(tmp_path).models["scripted"]
    load = ProjectEditors._load_from

    def counted(
        editors: ProjectEditors, memory: CorrectionMemory, languages: tuple[str, str] = ("", "")
    ) -> Remembering:
        loaded.append(True)
        if isinstance(editors._spec, ScriptedProcess):
            return Remembering(ScriptedEditor(), _Nothing(), memory)
        return load(editors, memory, languages)

    monkeypatch.setattr(ProjectEditors, "_load_from", counted)
    for spec, count in ((ScriptedProcess(model, 1, str(place)), 1), (ProcessSpec(model, 1, str(place)), 2)):
        loaded.clear()
        assert ProjectEditors(spec).facts.learns
        assert len(loaded) == count


def test_phrases_after_a_model_with_a_first_stage_are_learnt_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, loaded = tmp_path / "memory.db", []
    memory, model = CorrectionMemory(place), ScriptedEditor()
    editors = ProjectEditors(ScriptedProcess(ServedModel(path="none", learns=False), 1, str(place)))
    followed = FollowedByPhrases.__new__(FollowedByPhrases)
    EditorWrapper.__init__(followed, model)
    monkeypatch.setattr(learning_editor, "load_learning", lambda name, _: loaded.append(name) or MagicMock())
    editors._learn_in_vain(Remembering(Drafted(model, followed), _Nothing(), memory))
    assert loaded == ["none"]


class _Gone:
    """A connection whose other end is closed."""

    def send(self, _: object) -> None:
        raise BrokenPipeError


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> list[LogConfig]:
    """Let `_serve` run in this process; return the log settings that it sets up."""
    given: list[LogConfig] = []
    monkeypatch.setattr(model_process, "set_up_logs", given.append)
    monkeypatch.setattr(model_process, "silence_library", lambda: None)
    monkeypatch.setattr(model_process, "signal", MagicMock())
    monkeypatch.setattr(model_process.os, "environ", {})
    monkeypatch.setattr("postedit.compiled.wait_no_longer", lambda _: None)
    return given


def test_processes_write_logs_as_the_service_does(
    logs: list[LogConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(tmp_path, log={"level": "warning"})
    (spec,) = _specs(config).values()
    monkeypatch.setattr(model_process, "ProjectEditors", lambda *_: SimpleNamespace(facts=None))
    model_process._serve(spec, _Gone())
    assert logs == [config.log]


def test_a_model_that_may_not_be_read_is_a_sentence(
    logs: list[LogConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (spec,) = _specs(settings(tmp_path)).values()
    load = MagicMock(side_effect=PermissionError(errno.EACCES, "Permission denied", "model/config.json"))
    monkeypatch.setattr(model_process, "ProjectEditors", load)
    connection = MagicMock()
    model_process._serve(spec, connection)
    connection.send.assert_called_once_with("model/config.json: permission denied; choose a place that you may use")


def test_corrections_deleted_elsewhere_leave_the_process_and_others_stay(tmp_path: Path) -> None:
    place = str(tmp_path / "postedit.db")
    memory = CorrectionMemory(place)
    learnt = [Correction("the house", "der die Haus", "der das Haus", project=name) for name in ("garden", "kitchen")]
    memory.add(learnt)
    editors = ProjectEditors(ProcessSpec(ServedModel(path="none"), 1, place))
    for project in ("garden", "kitchen"):
        (found,) = editors.done(Work(EditKind("m", project), [Segment("the house", "der die Haus")])).outcomes
        assert isinstance(found, PostEdit)
        assert found.text == "der das Haus"
    pickle.loads(pickle.dumps(Glossary([GlossaryEntry("house", ("Haus",))])))  # as it comes with work
    memory.delete("garden")
    editors.forget_deleted()
    assert not unpacked.cache_info().currsize, "glossaries of deleted projects are forgotten too"
    assert "garden" not in editors._projects
    assert "kitchen" in editors._projects
    memory.close()


def test_a_process_tells_that_it_learns_all_corrections_of_a_project(tmp_path: Path) -> None:
    place, times, connection = str(tmp_path / "postedit.db"), itertools.count(step=0.6), MagicMock()
    with CorrectionMemory(place) as memory:
        memory.add([Correction("a", "b", f"c{number}", project="garden") for number in range(5)])
    signs = model_process.SignsOfLearning(connection, lambda: next(times))
    editors = ProjectEditors(ProcessSpec(ServedModel(path="none"), 1, place), signs.give)
    connection.reset_mock()
    signs.start()
    editors.done(Work(EditKind("m", "garden"), [Segment("a", "b")]))
    assert connection.send.call_args_list == [call(StillLearning())] * 5, "after 1.2 s each"


def test_a_process_whose_service_is_gone_does_not_go_on_learning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProjectEditors, "_warm_up", lambda _: True)
    place, times, connection = str(tmp_path / "postedit.db"), itertools.count(), MagicMock()
    with CorrectionMemory(place) as memory:
        memory.add([Correction("a", "b", f"c{number}", project="garden") for number in range(5)])
    signs = model_process.SignsOfLearning(connection, lambda: next(times))
    editors = ProjectEditors(ProcessSpec(ServedModel(path="none"), 1, place), signs.give)
    connection.send.side_effect = BrokenPipeError
    with pytest.raises(model_process.ServiceGone):
        editors.done(Work(EditKind("m", "garden"), [Segment("a", "b")] * 3))
    connection.send.assert_called_once()


class _Answering:
    """Stands for the process and both ends of its pipe; it sends the given answers, and None when it takes too long."""

    def __init__(self, *answers: object) -> None:
        self.answers, self.killed, self.pid, self.asked = [*answers], False, 1, list[float | None]()

    def Pipe(self) -> tuple["_Answering", MagicMock]:  # noqa: N802 - as multiprocessing has it
        return self, MagicMock()

    def Process(self, **_: Any) -> "_Answering":  # noqa: N802
        return self

    def start(self) -> None:
        pass

    def send(self, _: object) -> None:
        pass

    def poll(self, seconds: float | None) -> bool:
        self.asked.append(seconds)
        return self.answers[0] is not None

    def recv(self) -> object:
        return self.answers.pop(0)

    def kill(self) -> None:
        self.killed = True


def test_the_time_for_a_batch_begins_again_with_each_sign_of_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    facts, sign, done, too_long = ModelFacts("f", Abilities(), True), StillLearning(), Done([], None), None
    fake = _Answering(sign, facts, sign, sign, done, done, sign, too_long)
    monkeypatch.setattr(model_process, "get_context", lambda _: fake)
    process = model_process.ModelProcess(ProcessSpec(ServedModel(path="none"), 1, None))
    work = Work(EditKind("m", "garden"), [])
    assert process.run(work, 5.0) == done
    assert process.has_learnt
    assert process.run(work, 5.0) == done
    assert not process.has_learnt
    assert fake.asked == [None, None, 5.0, 5.0, 5.0, 5.0]
    assert not fake.killed
    with pytest.raises(model_process.ProcessDiedError, match="took more than 5 s"):
        process.run(work, 5.0)
    assert fake.killed, "a process that stops to give signs is ended"


class _SlowStart:
    """Stands for `multiprocessing`, its pipes and its process, which starts when `go` is set and may be killed."""

    def __init__(self) -> None:
        self.starts, self.go, self.killed, self.pid = Event(), Event(), False, None

    def Pipe(self) -> tuple[MagicMock, MagicMock]:  # noqa: N802 - as multiprocessing has it
        connection = MagicMock()
        connection.poll.side_effect = EOFError
        return connection, MagicMock()

    def Process(self, **_: Any) -> "_SlowStart":  # noqa: N802
        return self

    def start(self) -> None:
        self.starts.set()
        assert self.go.wait(60)
        self.pid = 1

    def kill(self) -> None:
        self.killed = True

    def join(self, seconds: float) -> None:
        self.exitcode = -9


@pytest.mark.parametrize("starts", [True, False])
def test_a_process_killed_while_it_is_started_has_started(starts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, begun = _SlowStart(), []
    monkeypatch.setattr(model_process, "get_context", lambda _: slow)

    def began(process: model_process.ModelProcess) -> None:
        begun.append(process)
        if not starts:
            process.kill()

    def start() -> None:
        with pytest.raises(model_process.ProcessDiedError):
            model_process.ModelProcess(ProcessSpec(ServedModel(path="none"), 1, None), began)
        ended.set()

    ended = Event()
    starting = Thread(target=start)
    starting.start()
    if starts:
        assert slow.starts.wait(60)
        killing = Thread(target=begun[0].kill)
        killing.start()
        killing.join(0.2)
        assert killing.is_alive()
        assert not slow.killed
        slow.go.set()
        killing.join(60)
    assert ended.wait(60)
    starting.join()
    assert slow.killed == starts == slow.starts.is_set()


def test_a_gate_holds_for_projects_until_they_teach_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Process(ScriptedProcess):
        def editor_spec(self, kind: EditKind | None = None) -> EditorSpec:
            return replace(super().editor_spec(kind), gate=ProcessSpec.editor_spec(self, kind).gate)

    zeros = (0.0,) * len(Features.names())
    rule = Rule("sentence", Calibrator(zeros, (1.0,) * len(zeros), zeros, 0.0), None, 100)
    Gate(rule, ScriptedEditor().identity()).save(tmp_path / "gate.json")
    place = str(tmp_path / "postedit.db")
    memory = CorrectionMemory(place)
    monkeypatch.setattr(
        ProjectEditors, "_load_from", lambda _, memory, languages: Remembering(ScriptedEditor(), _Nothing(), memory)
    )
    model = ServedModel(path="none", gate=str(tmp_path / "gate.json"), protect=())
    editors = ProjectEditors(Process(model, 1, place))

    def edited(project: str | None, *protect: Any) -> tuple[str, int | None]:
        work = Work(EditKind("m", project, ProjectSettings(protect)), [Segment("a", "b")])
        done = editors.done(work)
        return done.outcomes[0].text, done.position and done.position.last

    assert [edited(None), edited("garden")] == [("b", None), ("b", 0)]
    assert edited("garden", "number") == ("B", 0), "the gate was made for another protection"
    memory.add([Correction("a", "b", "c", project="garden")])
    assert [edited("garden"), edited("kitchen")] == [("B", 1), ("b", 0)]
    memory.close()


@pytest.mark.parametrize(
    ("path", "learning", "expected"),
    [
        ("none", {}, ["none", "characters", "moses", "none"]),
        ("none", {"phrases": {"tokenizer": "characters"}}, ["characters"] * 2),
        ("model", {}, ["none"] * 2),
    ],
    ids=["by the project", "by the settings", "by the model"],
)
def test_phrases_alone_divide_texts_by_the_languages_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, learning: dict[str, Any], expected: list[str]
) -> None:
    used = []

    def load(_model: str, memory: CorrectionMemory, _learn: str, config: LearningConfig, **_: Any) -> Remembering:
        used.append(config.phrases.tokenizer)
        return Remembering(ScriptedEditor(), _Nothing(), memory)

    monkeypatch.setattr(learning_editor, "load_learning", load)
    place = str(tmp_path / "postedit.db")
    CorrectionMemory(place).close()
    editors = ProjectEditors(ScriptedProcess(ServedModel(path=path, learning=learning), 1, place))
    for languages in (("en", "ja"), ("en", "ja"), ("en-GB", "de"), ("", "de")):
        kind = EditKind("m", "garden", ProjectSettings(languages=languages))
        assert editors.done(Work(kind, [Segment("a", "b")])).outcomes[0].text == "B"
    assert used == expected, "the first is that of the project `default`"
