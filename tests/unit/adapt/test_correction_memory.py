"""The memory of corrections, in a file and on a server."""

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from postedit.adapt.correction import Correction, Decision
from postedit.adapt.correction_memory import CorrectionMemory, open_memory
from postedit.core.errors import DataError, OutputError

WHOLE = Correction(
    "the house",
    "die Haus",
    "das Haus \U0001f3e0",
    decisions=(Decision(0, 3, "das", True), Decision(4, 8, "Heim", False)),
    author="anna",
    project="garden",
    file="a.xlf",
    unit="7#2",
    made=datetime(2026, 5, 4, 3, 2, 1, 5, timezone(timedelta(hours=2))),
)


def numbered(number: int, project: str = "") -> Correction:
    return Correction(f"source {number}", f"mt {number}", f"pe {number}", project=project)


def test_what_is_added_is_there_when_opened_again(place: str) -> None:
    with CorrectionMemory(place) as memory:
        assert memory.position[:2] == (1, 0)
        assert memory.add([WHOLE]) == [1]
        assert memory.add([numbered(2), numbered(3)]) == [2, 3]
        assert memory.add([]) == []
    with CorrectionMemory(place) as memory:
        first, second, third = memory.entries()
        assert (first.number, first.correction, first.undoes) == (1, WHOLE, None)
        assert [one.correction.src for one in (second, third)] == ["source 2", "source 3"]
        assert [one.number for one in memory.entries(after=1, until=2)] == [2]
        assert memory.position[:2] == (1, 3)


@pytest.mark.parametrize("url", ["postgresql://u:secret@127.0.0.1:55x/db", "postgresql://u:secret@[::1/db"])
def test_a_url_that_cannot_be_read_is_a_sentence(url: str) -> None:
    with pytest.raises(DataError, match=r"cannot be read: it is postgresql://USER@HOST:PORT/NAME") as found:
        open_memory(url)
    assert "secret" not in str(found.value)


def test_a_correction_without_a_time_gets_that_of_its_entry(place: str) -> None:
    with CorrectionMemory(place) as memory:
        memory.add([numbered(1)])
        (entry,) = memory.entries()
    made = entry.correction.made
    assert made is not None
    assert abs(datetime.now(UTC) - made) < timedelta(minutes=1)


def test_undone_corrections_are_no_longer_in_effect(place: str) -> None:
    with CorrectionMemory(place) as memory:
        memory.add([numbered(1), numbered(2)])
        assert memory.undo(1, "anna") == 3
        assert [one.correction.src for one in memory.corrections()] == ["source 2"]
        *_, last = memory.entries()
        assert (last.undoes, last.correction.src, last.correction.author) == (1, "source 1", "anna")
        for number, message in ((1, "has already been undone"), (3, "has no correction 3"), (9, "has no correction 9")):
            with pytest.raises(DataError, match=message):
                memory.undo(number)
        assert memory.position[:2] == (1, 3)


def test_a_deleted_project_is_gone_with_its_texts(place: str) -> None:
    with CorrectionMemory(place) as memory:
        memory.add([numbered(1, "a"), numbered(2, "b"), Correction("secret words", "x", "y", project="b")])
        memory.undo(3)
        assert memory.delete("none") == 0
        assert memory.position.edition == 1
        assert memory.delete("b") == 3
        assert memory.position[:2] == (2, 4)
        assert [one.number for one in memory.entries()] == [1]
        assert memory.add([numbered(5)]) == [5]
        if "://" not in place:
            for file in Path(place).parent.iterdir():
                assert b"secret" not in file.read_bytes()


def test_corrections_of_one_project(place: str) -> None:
    with CorrectionMemory(place) as memory:
        memory.add([numbered(n, "ab"[n % 2]) for n in range(5)])
        assert [one.correction.src for one in memory.corrections("b")] == ["source 1", "source 3"]


def test_more_entries_than_one_read(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.adapt.correction_memory._PER_READ", 2)
    with CorrectionMemory(place) as memory:
        memory.add([numbered(n, "ab"[n % 2]) for n in range(6)])
        assert [one.number for one in memory.entries()] == [1, 2, 3, 4, 5, 6]
        assert [one.number for one in memory.of("b").entries()] == [2, 4, 6]


def test_a_correction_that_cannot_be_added_adds_none(place: str) -> None:
    with CorrectionMemory(place) as memory:
        with pytest.raises(DataError, match="needs pe, which is blank"):
            memory.add(Correction("a", "b", pe) for pe in ("c", " "))
        assert memory.position[:2] == (1, 0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"src": ""}, "needs src"),
        ({"mt": "a\0b"}, "NUL character in its mt"),
        ({"author": "\ud800"}, "lone surrogates in its author"),
        ({"author": 5}, "needs its author as text, not 5"),
        ({"made": datetime(2026, 1, 1)}, "needs a time zone"),
        ({"made": "2020"}, "is a datetime with a time zone, not '2020'"),
    ],
)
def test_what_is_no_correction_is_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Correction(**{"src": "a", "mt": "b", "pe": "c", **values})  # type: ignore[arg-type]


def test_places_that_are_no_memory_are_refused(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no database " * 1000)
    foreign = tmp_path / "foreign.db"
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE other (x)")
    before = foreign.read_bytes()
    newer = tmp_path / "newer.db"
    CorrectionMemory(newer).close()
    with sqlite3.connect(newer) as connection:
        connection.execute("UPDATE postedit_memory SET version = 99")
    for place, kind, message in (
        (text, DataError, "text: is a file of another program"),
        (tmp_path / "none" / "m.db", OutputError, "its folder .* does not exist; create it first"),
        (newer, DataError, "is a memory of version 99"),
        ("mysql://host/name", DataError, "mysql:// is neither"),
        ("postgresql://user:secret@127.0.0.1:1/x", OutputError, "Connection refused"),
        (tmp_path, DataError, "is a folder"),
        (":memory:", DataError, "cannot be :memory:; name a file"),
        (None, DataError, "a memory is a file, or a database of PostgreSQL .*, not None"),
        (foreign, DataError, "is a file of another program"),
    ):
        with pytest.raises(kind, match=message) as found:
            CorrectionMemory(place)  # type: ignore[arg-type]
        assert "secret" not in str(found.value)
    assert foreign.read_bytes() == before


def test_what_reads_a_memory_makes_none(place: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="`postedit memory add` creates one"):
        CorrectionMemory(place, create=False)
    if "://" not in place:
        assert not Path(place).exists()
        CorrectionMemory(tmp_path / "postedits.db").close()
        with pytest.raises(DataError, match=r'the nearest existing path is ".*postedits\.db"'):
            CorrectionMemory(place, create=False)
        Path(place).touch()
        with pytest.raises(DataError, match="has no memory of corrections"):
            CorrectionMemory(place, create=False)
        assert Path(place).read_bytes() == b""
    CorrectionMemory(place).close()
    CorrectionMemory(place, create=False).close()


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DataError, match=r"need psycopg: pip install 'postedit\[postgresql\]'"):
        CorrectionMemory("postgresql://user@host/name")


def test_what_there_is_of_each_project(place: str) -> None:
    with CorrectionMemory(place) as memory:
        assert memory.projects() == []
        memory.add([numbered(1), WHOLE, replace(WHOLE, made=datetime(2026, 1, 2, tzinfo=UTC)), numbered(4, "b")])
        memory.undo(4)
        none, b, garden = memory.projects()
        assert (none.name, none.corrections, none.undone) == ("", 1, 0)
        assert b == ("b", 0, 1, None, None)
        assert garden == ("garden", 2, 0, datetime(2026, 1, 2, tzinfo=UTC), WHOLE.made)
        assert [one.number for one in memory.latest(2)] == [4, 5]
        assert [one.number for one in memory.latest(9)] == [1, 2, 3, 4, 5]


def test_a_memory_keeps_its_name_which_no_other_has(place: str, tmp_path: Path) -> None:
    with CorrectionMemory(place) as memory, CorrectionMemory(tmp_path / "other.db") as other:
        name = memory.name
        assert len({name, other.name}) == 2
        memory.add([numbered(1, "a")])
        memory.delete("a")
    with CorrectionMemory(place) as memory:
        assert memory.name == name


WRITER = """
import sys
from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory, open_memory
with CorrectionMemory(sys.argv[1]) as memory:
    for row in range(int(sys.argv[3])):
        (number,) = memory.add([Correction(f"{sys.argv[2]} {row}", "b", "c")])
        if row % 7 == 6:
            memory.undo(number)
        print(number, row, flush=True)
"""


def writer(place: str, name: str, count: int) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", WRITER, place, name, str(count)], stdout=subprocess.PIPE, text=True)


def test_two_processes_write_to_one_memory(place: str) -> None:
    both = [writer(place, name, 40) for name in "ab"]
    printed = [one.communicate(timeout=600)[0].splitlines() for one in both]
    assert [one.returncode for one in both] == [0, 0]
    with CorrectionMemory(place) as memory:
        entries = list(memory.entries())
    assert [one.number for one in entries] == list(range(1, 91))
    texts = {one.number: one.correction.src for one in entries}
    for name, lines in zip("ab", printed, strict=True):
        assert [texts[int(line.split()[0])] for line in lines] == [f"{name} {row}" for row in range(40)]


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_a_process_is_killed(place: str) -> None:
    """Kill a writing process at 50 random moments: each correction that it had printed is there, and no half one."""
    rng = random.Random(1)
    known: dict[int, str] = {}
    for turn in range(50):
        process = writer(place, str(turn), 10_000)
        assert process.stdout is not None
        printed = [process.stdout.readline() for _ in range(rng.randint(0, 5))]
        time.sleep(rng.random() * 0.05)
        process.send_signal(signal.SIGKILL)
        printed += process.stdout.readlines()  # `communicate` would miss what `readline` has read ahead
        process.wait(timeout=300)
        for line in printed:
            if not line.endswith("\n"):
                continue  # the kill cut it: not acknowledged (unbuffered output is written in pieces)
            number, row = line.split()
            known[int(number)] = f"{turn} {row}"
        with CorrectionMemory(place) as memory:
            last = memory.position.last  # first: a server may still finish what a killed process had asked for
            entries = list(memory.entries())
            assert [one.number for one in entries] == list(range(1, len(entries) + 1))
            assert len(entries) >= last
        texts = {one.number: one.correction.src for one in entries}
        assert known.items() <= texts.items()
    assert len(known) > 50


def test_corrections_are_found_by_their_numbers(place: str) -> None:
    with CorrectionMemory(place) as memory:
        memory.add([Correction("a", "b", str(number)) for number in range(1, 2500)])
        found = memory.by_number([2, 2, 2400, 9999, *range(300, 1600)])
        assert len(found) == 1302
        assert (found[2].pe, found[2400].pe) == ("2", "2400")
        assert memory.by_number([]) == {}


def test_corrections_that_were_undone_are_not_held(place: str) -> None:
    with CorrectionMemory(place) as memory:
        first, second = memory.add([numbered(1), numbered(2)])
        undoing = memory.undo(first)
        assert [memory.holds(number) for number in (first, second, undoing, 9)] == [False, True, False, False]


def test_numbers_of_numpy_are_those_of_entries(place: str) -> None:
    one: Any = np.int64(1)
    with CorrectionMemory(place) as memory:
        memory.add([numbered(1), numbered(2)])
        assert memory.holds(one)
        assert list(memory.by_number(np.array([1, 2]))) == [1, 2]
        assert [entry.number for entry in memory.entries(one - 1, one)] == [1]
        assert [entry.number for entry, _ in memory.page(one, before=one + 1)] == [1]
        assert [entry.number for entry in memory.latest(one)] == [2]
        assert memory.mark(one) == memory.mark(1)
        assert memory.undo(one) == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda memory: memory.undo(2**70), "has no correction"),
        (lambda memory: memory.undo("1"), "number: must be a whole number .found '1'."),
        (lambda memory: memory.undo(True), "number: must be a whole number .found True."),
        (lambda memory: memory.holds(1.5), "number: must be a whole number .found 1.5."),
        (lambda memory: memory.latest(-1), "count: must be 0 or more .found -1."),
        (lambda memory: memory.latest(None), "count: must be a whole number .found None."),
        (lambda memory: memory.page(-1), "count: must be 0 or more .found -1."),
        (lambda memory: memory.add([("a", "b", "c")]), "as Correction.src, mt, pe., not .'a', 'b', 'c'."),
        (lambda memory: memory.add("abc"), "a memory keeps objects of Correction, .* not 'a'"),
        (lambda memory: memory.add(numbered(1)), "corrections must be a list of Correction"),
    ],
)
def test_what_a_memory_cannot_use_is_refused(place: str, call: Callable[[Any], Any], message: str) -> None:
    with CorrectionMemory(place) as memory:
        with pytest.raises(DataError, match=message):
            call(memory)
        assert memory.position[:2] == (1, 0)


def test_no_entry_has_a_number_beyond_all(place: str) -> None:
    with CorrectionMemory(place) as memory:
        memory.add([numbered(1)])
        assert not memory.holds(2**70)
        assert [entry.number for entry in memory.entries(-(2**70), 2**70)] == [1]
        assert memory.by_number([2**70]) == {}


def test_marks_tell_texts_of_the_same_time_apart(tmp_path: Path) -> None:
    made, marks = datetime(2026, 11, 3, tzinfo=UTC), []
    for number, pe in enumerate(("c", "c", "d")):  # such as a backup that has grown in another way
        with CorrectionMemory(tmp_path / f"{number}.db") as memory:
            memory.add([Correction("a", "b", pe, made=made)])
            marks.append(memory.position.mark)
    assert [one == marks[0] for one in marks] == [True, True, False]


def test_marks_tell_entries_apart(place: str) -> None:
    with CorrectionMemory(place) as memory:
        assert (memory.position.mark, memory.mark(1)) == ("", "")
        memory.add([Correction("a", "b", "c"), Correction("a", "b", "d")])
        first, second = memory.mark(1), memory.mark(2)
        assert len({first, second, ""}) == 3
        assert memory.position.mark == second
        memory.undo(2)
        assert (memory.mark(1), memory.mark(2)) == (first, second)
        assert memory.position.mark not in (first, second, "")


def test_a_view_of_one_project_knows_no_other(place: str) -> None:
    with CorrectionMemory(place) as memory:
        memory.add([numbered(1, "a"), numbered(2, "b"), numbered(3, "a")])
        view = memory.of("a")
        assert (view.position[:2], view.name) == ((1, 3), memory.name)
        assert memory.of("none").position[:2] == (1, 0)
        assert view.add([numbered(4), numbered(5, "b")]) == [4, 5]
        assert [one.correction.project for one in view.entries()] == ["a"] * 4
        memory.of("b").add([numbered(6)])
        assert view.position[:2] == (1, 5)
        with pytest.raises(DataError, match="has no correction 2"):
            view.undo(2)
        view.undo(1)
        assert [one.number for one in view.corrections()] == [3, 4, 5]
        assert [one.number for one in view.latest(2)] == [5, 7]
        assert [(one.name, one.corrections, one.undone) for one in view.projects()] == [("a", 3, 1)]
        memory.delete("b")
        assert view.position[:2] == (2, 7)


def test_pages_of_corrections_begin_with_the_latest(place: str) -> None:
    with CorrectionMemory(place) as memory:
        memory.add([numbered(1, "a"), Correction("50 % Äpfel", "Mu\u0308ll", "y", project="a"), numbered(3, "b")])
        memory.undo(1)
        found = memory.of("a").page(9)
        assert [(one.number, undone) for one, undone in found] == [(2, False), (1, True)]
        assert [one.number for one, _ in memory.page(2)] == [3, 2]
        assert [one.number for one, _ in memory.page(2, before=2)] == [1]
        marked = (("äpfel", [2]), ("A\u0308pfel", [2]), ("MÜLL", [2]), ("mu\u0308ll", [2]))
        for text, expected in (*marked, ("%", [2]), ("_", []), ("MT 3", [3])):
            assert [one.number for one, _ in memory.page(9, containing=text)] == expected


def test_changes_are_part_of_a_transaction_of_somebody_else(place: str) -> None:
    engine = open_memory(place)
    memory = CorrectionMemory(engine)
    with engine.begin() as connection:
        memory.add([numbered(1, "a")], connection=connection)
    with engine.connect() as connection, connection.begin() as transaction:
        assert memory.add([numbered(2, "a")], connection=connection) == [2]
        assert memory.undo(1, connection=connection) == 3
        assert memory.delete("a", connection=connection) == 3
        transaction.rollback()
    assert memory.position[:2] == (1, 1)
    assert [one.number for one in memory.corrections()] == [1]
    memory.close()


@pytest.mark.parametrize(
    "decisions",
    [
        ((0, 1),),
        ("a",),
        [Decision(0, 1, "a", True)],
        (Decision(0, 2, "a", True),),
        (Decision(0.0, 1, "a", True),),  # type: ignore[arg-type]
        (Decision(0, 1, "\ud800", True),),
        (Decision(0, 1, "\0", True),),
    ],
)
def test_decisions_that_are_none_are_refused(decisions: Any) -> None:
    with pytest.raises(DataError, match="decisions"):
        Correction("a", "b", "c", decisions=decisions)


def test_decisions_that_were_once_stored_unchecked_are_left_out(tmp_path: Path) -> None:
    with CorrectionMemory(tmp_path / "memory") as memory:
        memory.add([Correction("a", "b", "c", decisions=(Decision(0, 1, "c", True),))])
    with sqlite3.connect(tmp_path / "memory") as database:
        database.execute(
            'update postedit_entries set decisions = \'[[0, 1], [0, 9, "c", true], [0, 1, "c", true], 7]\''
        )
    with CorrectionMemory(tmp_path / "memory") as memory:
        (entry,) = memory.entries()
        assert entry.correction.decisions == (Decision(0, 1, "c", True),)
        with pytest.raises(DataError, match="author"):
            memory.undo(1, author="\ud800")
