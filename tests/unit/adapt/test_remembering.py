"""An editor that follows a memory, or keeps to a position of it; its changing part is a table of whole segments."""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory, Entry, MemoryPosition
from postedit.adapt.remembering import Remembering, say_nothing
from postedit.core.editor import Abilities, Detail, Editor, Identity, PostEdit, Segment
from postedit.core.errors import DataError, ModelFolderError
from postedit.core.search_config import SearchConfig
from postedit.gate import Gate
from postedit.gate.edit_features import Features
from postedit.gate.gate import Calibrator, Rule


class Table(Editor):
    """Writes the last post-edit of the same mt; an editor and its learner in one."""

    abilities = Abilities()

    def __init__(self) -> None:
        self.known: dict[int, Correction] = {}
        self.calls: list[list[int]] = []

    def identity(self, search: SearchConfig | None = None) -> Identity:
        return Identity(("table",), {"beam": 1})

    def edit_segments(
        self, segments: Sequence[Segment], search: SearchConfig | None = None, *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        table = {one.mt: one.pe for one in self.known.values()}
        texts = [table.get(one.mt or "", one.mt or "") for one in segments]
        return [PostEdit(text, text != one.mt) for text, one in zip(texts, segments, strict=True)]

    def score_segments(
        self, segments: Sequence[Segment], outputs: Sequence[str], *, evidence: Detail | None = None
    ) -> list[PostEdit]:
        return [PostEdit(output, False, -float(len(self.known))) for output in outputs]

    def learn_entries(self, entries: Iterable[Entry], progress: Callable[[], None] = say_nothing) -> None:
        self.calls.append([])
        for entry in entries:
            progress()
            self.calls[-1].append(entry.number)
            if entry.undoes is None:
                self.known[entry.number] = entry.correction
            else:
                del self.known[entry.undoes]

    def forget_all(self) -> None:
        self.known = {}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[CorrectionMemory]:
    with CorrectionMemory(tmp_path / "memory.db") as opened:
        opened.add([Correction("a", "b", "c", project="p"), Correction("a", "d", "e", project="q")])
        yield opened


def remembering(memory: CorrectionMemory, position: MemoryPosition | None = None) -> tuple[Table, Remembering]:
    table = Table()
    return table, Remembering(table, table, memory, options={"rate": 0.5}, position=position)


def texts(editor: Editor) -> list[str]:
    return [one.text for one in editor.edit(["a"] * 3, ["b", "d", "x"])]


def test_each_entry_is_learnt_once_and_before_a_segment(memory: CorrectionMemory) -> None:
    table, editor = remembering(memory)
    assert table.calls == []
    assert [one.score for one in editor.score(["a"], ["b"], ["c"])] == [-2.0]
    assert texts(editor) == ["c", "e", "x"]
    assert editor.learn("a", "x", "y") == 3
    assert texts(editor) == ["c", "e", "y"]
    assert table.calls == [[1, 2], [3]]


def test_a_deletion_begins_anew(memory: CorrectionMemory) -> None:
    _, editor = remembering(memory)
    texts(editor)
    memory.delete("p")
    assert texts(editor) == ["b", "e", "x"]


def test_entries_that_come_while_others_are_learnt_count(memory: CorrectionMemory) -> None:
    table, editor = remembering(memory)
    learn = table.learn_entries

    def slowly(entries: Iterable[Entry], progress: Callable[[], None]) -> None:
        if not table.calls:
            memory.delete("p")
            memory.add([Correction("a", "x", "y")])
        learn(entries, progress)

    table.learn_entries = slowly  # type: ignore[method-assign]
    assert texts(editor) == ["b", "e", "y"]


def test_what_was_half_learnt_is_learnt_anew(memory: CorrectionMemory) -> None:
    table, editor = remembering(memory)

    def stop() -> None:
        if table.known:
            raise KeyboardInterrupt

    editor.progress = stop
    with pytest.raises(KeyboardInterrupt):
        texts(editor)
    editor.progress = say_nothing
    assert (table.known, editor.learnt.last) == ({}, 0)
    assert texts(editor) == ["c", "e", "x"]
    assert table.calls == [[1], [1, 2]]


def test_the_learner_tells_of_its_progress(memory: CorrectionMemory) -> None:
    _, editor = remembering(memory)
    calls: list[int] = []
    editor.progress = lambda: calls.append(editor.learnt.last)
    texts(editor)
    assert calls == [0, 0], "once for each entry, before all are learnt"
    texts(editor)
    assert calls == [0, 0]


def test_threads_take_turns(memory: CorrectionMemory) -> None:
    table, editor = remembering(memory)
    at_work: list[str] = []

    def alone(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **options: Any) -> Any:
            at_work.append(call.__name__)
            time.sleep(0.02)
            assert at_work == [call.__name__]
            try:
                return call(*given, **options)
            finally:
                at_work.clear()

        return called

    for name in ("learn_entries", "edit_segments", "score_segments"):
        setattr(table, name, alone(getattr(table, name)))

    def work(name: str) -> list[str]:
        editor.learn("a", name, f"{name} y")
        editor.score(["a"], [name], [name])
        return [one.text for one in editor.edit(["a"], [name])]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(work, "uvwx")) == [["u y"], ["v y"], ["w y"], ["x y"]]
    assert sorted(number for call in table.calls for number in call) == [1, 2, 3, 4, 5, 6]


def test_a_backup_of_the_memory_that_is_put_back_is_followed(memory: CorrectionMemory, tmp_path: Path) -> None:
    _, editor = remembering(memory)
    editor.learn("a", "x", "y")
    texts(editor)
    with CorrectionMemory(tmp_path / "backup.db") as backup:
        backup.add([Correction("a", "b", "z")])
        editor.memory = backup
        assert texts(editor) == ["z", "d", "x"]


@pytest.mark.parametrize("entries", [2, 3, 5])
def test_a_backup_that_has_grown_since_is_followed(memory: CorrectionMemory, tmp_path: Path, entries: int) -> None:
    _, editor = remembering(memory)
    editor.learn("a", "x", "y")
    assert texts(editor) == ["c", "e", "y"]
    with CorrectionMemory(tmp_path / "backup.db") as backup:
        backup.add(one.correction for one in memory.entries(until=1))
        backup.add([Correction("a", "x", str(number)) for number in range(2, entries + 1)])
        editor.memory = backup
        assert texts(editor) == ["c", "d", str(entries)]


class TestAtPosition:
    """An editor that keeps to a position of the memory."""

    def test_what_came_later_does_not_count(self, memory: CorrectionMemory) -> None:
        position = memory.position
        memory.undo(1)
        memory.add([Correction("a", "x", "y")])
        _, editor = remembering(memory, position)
        assert texts(editor) == ["c", "e", "x"]
        assert texts(remembering(memory)[1]) == ["b", "e", "y"]

    def test_nothing_is_learnt_or_undone(self, memory: CorrectionMemory) -> None:
        _, editor = remembering(memory, memory.position)
        assert not editor.abilities.learns
        for call in (lambda: editor.learn("a", "x", "y"), lambda: editor.undo(1)):
            with pytest.raises(DataError, match="fixed to one position"):
                call()
        assert memory.position.last == 2

    def test_a_deletion_ends_the_work(self, memory: CorrectionMemory) -> None:
        position = memory.position
        _, editor = remembering(memory, position)
        texts(editor)
        memory.delete("p")
        with pytest.raises(DataError, match=r"memory\.db: corrections have been deleted since this work began"):
            texts(editor)
        with pytest.raises(DataError, match="have been deleted"):
            remembering(memory, position)

    @pytest.mark.parametrize("entries", [1, 2, 3])
    def test_a_backup_that_is_put_back_ends_the_work(
        self, memory: CorrectionMemory, tmp_path: Path, entries: int
    ) -> None:
        _, editor = remembering(memory, memory.position)
        texts(editor)
        with CorrectionMemory(tmp_path / "backup.db") as backup:
            backup.add([Correction("a", "b", str(number)) for number in range(entries)])
            editor.memory = backup
            with pytest.raises(DataError, match=r"backup\.db: lacks corrections that this work began with"):
                texts(editor)


class TestIdentity:
    """The identity names all that determines outputs."""

    def test_it_changes_with_the_memory_and_with_nothing_else(self, memory: CorrectionMemory, tmp_path: Path) -> None:
        (_, editor), (_, other) = remembering(memory), remembering(memory)
        before = editor.identity()
        assert (before.models, before.settings["beam"], before.settings["rate"]) == (("table",), 1, 0.5)
        texts(editor)
        assert editor.identity() == before == other.identity()
        editor.learn("a", "x", "y")
        learnt = editor.identity()
        assert learnt != before
        assert other.identity() == learnt
        memory.delete("p")
        assert editor.identity() != learnt
        with CorrectionMemory(tmp_path / "twin.db") as twin:
            twin.add(one.correction for one in memory.entries())
            assert remembering(twin)[1].identity() != editor.identity()

    def test_that_of_a_backup_which_grew_otherwise_is_another(self, memory: CorrectionMemory, tmp_path: Path) -> None:
        places = (tmp_path / "memory.db", tmp_path / "backup.db")
        with closing(sqlite3.connect(places[0])) as own, closing(sqlite3.connect(places[1])) as copied:
            own.backup(copied)
        with CorrectionMemory(tmp_path / "backup.db") as backup:
            assert remembering(backup)[1].identity() == remembering(memory)[1].identity()
            for one, pe in ((memory, "y"), (backup, "z")):
                one.add([Correction("a", "x", pe)])
            assert backup.position[:2] == memory.position[:2]
            assert remembering(backup)[1].identity() != remembering(memory)[1].identity()

    def test_that_of_a_position_stays(self, memory: CorrectionMemory) -> None:
        _, editor = remembering(memory, memory.position)
        before = editor.identity()
        memory.add([Correction("a", "x", "y")])
        assert editor.identity() == before

    def test_a_gate_for_the_model_alone_is_refused(self, memory: CorrectionMemory) -> None:
        table, editor = remembering(memory)
        count = len(Features.names())
        rule = Rule("edit", Calibrator((0.0,) * count, (1.0,) * count, (0.0,) * count, 0.0), 0.5, 9)
        gate = Gate(rule, table.identity())
        gate.check(table.identity())
        with pytest.raises(ModelFolderError, match=r"other settings: .*memory entries \(gate: None, here: 2\)"):
            gate.check(editor.identity())


def test_what_it_adds_and_undoes_is_by_its_author_for_its_project(memory: CorrectionMemory) -> None:
    table = Table()
    editor = Remembering(table, table, memory, project="r", author="anna")
    number = editor.learn("a", "x", "y")
    memory.undo(1, "ben")
    editor.undo(number)
    by = [(one.undoes, one.correction.author, one.correction.project) for one in memory.entries(after=2)]
    assert by == [(None, "anna", "r"), (1, "ben", "p"), (number, "anna", "r")]
