"""Lines that stay on the disk, and arrays that are saved now and then."""

import gzip
import io
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.core.errors import DataError, OutputError
from postedit.core.saved_arrays import SavedArrays
from postedit.data.lines import read_lines
from postedit.data.stored_lines import StoredLines, store_aligned

LINES = st.lists(st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=5), min_size=1, max_size=9)


@given(LINES, st.booleans(), st.booleans(), st.integers(-9, 9), st.integers(-9, 9))
def test_lines_are_those_that_are_read(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], ends: bool, zipped: bool, first: int, last: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "stored"
    text = "\n".join(lines).encode() + b"\n" * (ends or not lines[-1])
    path.write_bytes(gzip.compress(text) if zipped else text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("postedit.data.stored_lines._STEP", 2)
        stored, read = StoredLines(path), list(read_lines(path))
        assert list(stored) == read
        assert len(stored) == len(read)
        assert stored[first:last] == read[first:last]
        assert stored[::-2] == read[::-2]
        assert [stored[row] for row in range(-len(read), len(read))] == read * 2
    with pytest.raises(IndexError):
        stored[len(read)]


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes("\ufeffa\nb\n".encode())
    assert list(StoredLines(tmp_path / "x")) == ["a", "b"]


def test_standard_input_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"a\nb")))
    stored = StoredLines(Path("-"))
    assert list(stored) == list(stored) == ["a", "b"]


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"fine\n" * 300 + b"b\xffd\n")
    with pytest.raises(DataError, match=r"bad, line 301: byte 2 \(0xFF\) of the line is not UTF-8"):
        StoredLines(tmp_path / "bad")
    (tmp_path / "empty.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(DataError, match=r"empty\.gz: is empty"):
        StoredLines(tmp_path / "empty.gz")
    with pytest.raises(DataError, match="none: no such file"):
        StoredLines(tmp_path / "none")


def test_a_file_that_becomes_shorter_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("a\n" * 600)
    stored = StoredLines(path)
    path.write_text("a\n" * 300)
    assert stored[:9] == ["a"] * 9
    with pytest.raises(DataError, match="x: was changed during the run"):
        list(stored)


def test_texts_of_different_lengths_are_refused(tmp_path: Path) -> None:
    for name, count in (("a", 2), ("b", 3)):
        (tmp_path / name).write_text("x\n" * count)
    with pytest.raises(DataError, match=r"a has 2 lines and .*b has 3"):
        store_aligned(tmp_path / "a", tmp_path / "b")


def test_saved_arrays_come_back_if_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "out.partial"
    SavedArrays(path, {"texts": ["x"]}).save({"a": np.arange(3)})
    assert SavedArrays(path, {"texts": ["x"]}).load() is None
    found = SavedArrays(path, {"texts": ["x"]}, resume=True).load()
    assert found is not None
    assert {name: values.tolist() for name, values in found.items()} == {"a": [0, 1, 2]}
    with pytest.raises(OutputError, match="was made with another texts; repeat"):
        SavedArrays(path, {"texts": ["y"]}, resume=True).load()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(OutputError, match="is damaged, so the work cannot be continued"):
        SavedArrays(path, {"texts": ["x"]}, resume=True).load()
