"""What goes out of a memory and into another one is the same, on lines."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory
from postedit.core.errors import DataError
from postedit.data.report import DataReport
from postedit.data.triplets import TripletFiles
from postedit.jobs.memory_exchange import export, from_triplets

TEXTS = [("a \u2028 b", "A\u0085", "\x0c🙂 é"), ("c", "C", "C")]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[CorrectionMemory]:
    with CorrectionMemory(tmp_path / "memory.db") as opened:
        yield opened


def test_exported_corrections_come_back(memory: CorrectionMemory, tmp_path: Path) -> None:
    memory.add(Correction(*texts, project="p", author="anna") for texts in TEXTS)
    assert export(memory, tmp_path / "out") == 2
    files = TripletFiles.of(tmp_path / "out")
    back = from_triplets(files, DataReport(), project="p", author="bert", file="f")
    assert [(one.src, one.mt, one.pe) for one in back] == TEXTS
    assert {(one.project, one.author, one.file) for one in back} == {("p", "bert", "f")}


def test_a_correction_of_several_lines_becomes_one(memory: CorrectionMemory, tmp_path: Path) -> None:
    memory.add([Correction("a\nb", "A\nB", "Ä\nB")])
    assert export(memory, tmp_path / "out") == 1
    assert (tmp_path / "out.pe").read_text() == "Ä B\n"


def test_nothing_is_written_where_there_is_nothing(memory: CorrectionMemory, tmp_path: Path) -> None:
    memory.add([Correction("a", "A", "Ä")])
    memory.undo(1)
    with pytest.raises(DataError, match="has no correction that has not been undone"):
        export(memory, tmp_path / "out")
    assert not list(tmp_path.glob("*out*"))
