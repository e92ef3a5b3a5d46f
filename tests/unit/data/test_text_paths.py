import gzip
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.core.errors import DataError, RecipeError
from postedit.data.lines import path_problem, read_lines
from postedit.data.text_paths import column_of, located, with_column, without_column
from postedit.data.triplets import TripletFiles, check_files, read_triplets


@pytest.fixture
def far() -> Iterator[Callable[[str, bytes], str]]:
    """Return what puts bytes where only fsspec finds them, and returns the name of the place."""
    pytest.importorskip("upath", reason="universal-pathlib is not installed: pip install 'postedit[remote]'")
    files = fsspec.filesystem("memory")

    def put(name: str, content: bytes) -> str:
        with files.open(f"/far/{name}", "wb") as file:
            file.write(content)
        return f"memory://far/{name}"

    yield put
    files.rm("/far", recursive=True)


def parquet(path: Any, **columns: list[Any]) -> None:
    pq.write_table(pa.table(columns), path, row_group_size=2)


def test_names_are_paths_here_unless_they_say_otherwise(tmp_path: Path) -> None:
    assert located("a/b", tmp_path) == tmp_path / "a/b"
    assert located("/a/b", tmp_path) == Path("/a/b")
    assert located("file:///a/b", tmp_path) == Path("/a/b")
    assert located("C: #1.src", tmp_path) == tmp_path / "C: #1.src"


def test_far_names_are_kept_and_can_be_sent_to_other_processes(far: Any, tmp_path: Path) -> None:
    name = far("x.src", b"a\n")
    path = located(name, tmp_path)
    assert str(path) == name
    assert str(located("x.src", located("memory://far"))) == name
    assert list(read_lines(pickle.loads(pickle.dumps(path)))) == ["a"]


def test_far_text_is_read_as_near_text_is(far: Any) -> None:
    text = "ä b\n\nc\u2028d".encode()
    assert list(read_lines(located(far("x.src", text)))) == ["ä b", "", "c\u2028d"]
    far("y.src.gz", gzip.compress(text))
    assert list(read_lines(located("memory://far/y.src"))) == ["ä b", "", "c\u2028d"]
    far("z.gz", gzip.compress(text * 999)[:-20])
    with pytest.raises(DataError, match=r"memory://far/z\.gz, line \d+: the gzip file is truncated here"):
        list(read_lines(located("memory://far/z.gz")))


def test_faults_of_remote_files_are_reported(far: Any) -> None:
    far("empty", b"")
    assert path_problem(located("memory://far/empty")) == "memory://far/empty: is empty"
    assert path_problem(located("memory://far")) == "memory://far: is a folder, not a file"
    assert path_problem(located("memory://far/no")) == "memory://far/no: no such file"
    with pytest.raises(DataError, match=r"^nowhere://x: cannot be read: "):
        located("nowhere://x")


def test_network_failures_are_reported_in_one_sentence(far: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = located(far("x.src", b"a\n"))

    class LostError(Exception):
        pass

    def lost(*_: object, **__: object) -> None:
        raise LostError("the line is dead")

    monkeypatch.setattr(type(path), "open", lost)
    with pytest.raises(DataError, match=r"^memory://far/x\.src: cannot be read: the line is dead$"):
        list(read_lines(path))
    monkeypatch.setattr(type(path), "exists", lost)
    assert path_problem(path) == "memory://far/x.src: cannot be read: the line is dead"


def test_a_missing_library_is_reported_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "upath", None)
    with pytest.raises(RecipeError, match=r"s3://x/y needs upath; install it by: pip install 'postedit\[remote\]'"):
        located("s3://x/y")


@given(st.text("ab.#/", min_size=1, max_size=6), st.text("ab.#", min_size=1, max_size=4))
def test_columns_are_behind_the_file(name: str, column: str) -> None:
    path = Path("/x", f"{name}y.parquet")
    named = Path(with_column(str(path), column))
    assert (without_column(named), column_of(named)) == (path, column)
    assert with_column(str(named), "other") == str(named) or column.endswith(".parquet")


@given(st.lists(st.text("ab ä\u2028\r", max_size=4) | st.none(), min_size=1, max_size=9))
def test_a_column_is_its_texts(texts: list[str | None]) -> None:
    buffer = pa.BufferOutputStream()
    table = pa.table({"pe": pa.array(texts, pa.string()), "n": list(range(len(texts)))})
    pq.write_table(table, buffer, row_group_size=2)
    files = fsspec.filesystem("memory")
    with files.open("/x.parquet", "wb") as file:
        file.write(buffer.getvalue().to_pybytes())
    assert list(read_lines(located("memory://x.parquet#pe"))) == [text or "" for text in texts]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("peq", r'there is no column peq; did you mean "pe"\? \(it has pe, n, many\); name one as x\.parquet#COLUMN'),
        ("n", r"the column n has values of type int64, not texts"),
        ("many", r"row 20,001: many has a line feed in it"),
    ],
)
def test_columns_that_are_no_lines_are_errors(tmp_path: Path, column: str, message: str) -> None:
    size = 20_000
    many = [*["a"] * size, "a\nb"]
    pq.write_table(pa.table({"pe": many, "n": list(range(size + 1)), "many": many}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match=message):
        list(read_lines(tmp_path / f"x.parquet#{column}"))


def test_broken_parquet_files_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match=r"x\.parquet: not a Parquet file, or damaged"):
        list(read_lines(tmp_path / "x.parquet#pe"))
    assert "name the column to read, as in x.parquet#pe" in str(path_problem(path))
    assert "no such file" in str(path_problem(tmp_path / "y.parquet#pe"))


def test_triplets_are_read_from_parquet(tmp_path: Path) -> None:
    parquet(tmp_path / "x.parquet", mt=["b", "e", "h"], src=["a", "d", "g"], pe=["c", "f", "i"], other=["", "", ""])
    texts = [("a", "b", "c"), ("d", "e", "f"), ("g", "h", "i")]
    files = TripletFiles.of("x.parquet").under(tmp_path)
    assert check_files(files) == 3
    assert [triplet[:3] for triplet in read_triplets(files)] == texts
    renamed = TripletFiles.model_validate({"src": "x.parquet", "mt": "x.parquet#pe", "pe": "x.parquet#mt"})
    assert [triplet[:3] for triplet in read_triplets(renamed.under(tmp_path))] == [(s, p, m) for s, m, p in texts]
    for named in (files, renamed):
        assert TripletFiles.model_validate(named.model_dump()) == named
    assert files.name == str(tmp_path / "x.parquet")
