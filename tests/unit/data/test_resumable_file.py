import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from postedit.core.errors import DataError, OutputError
from postedit.core.output_paths import COMPRESSED_SUFFIXES
from postedit.data.lines import read_lines
from postedit.data.resumable_file import PartialFile, file_fingerprint


def test_a_failed_write_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = PartialFile(tmp_path / "out", {})
    sink.write(["one"])

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OutputError, match="disk is full"):
            sink.write(["two"])
    assert (tmp_path / "out.partial").read_text() == "one\n"
    assert sink.done == 1


@pytest.mark.parametrize("arrived", [0, 2, 4, 7, 8])
def test_interrupted_writes_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrived: int) -> None:
    class Interrupted(io.FileIO):
        def write(self, data: Any) -> int:
            super().write(data[:arrived])
            raise KeyboardInterrupt

    sink = PartialFile(tmp_path / "out", {})
    sink.write(["one"])
    with monkeypatch.context() as patch:
        patch.setattr(sink, "_file", Interrupted(tmp_path / "out.partial", "ab+"))
        with pytest.raises(KeyboardInterrupt):
            sink.write(["two", "six"])
    assert (tmp_path / "out.partial").read_text() == "one\n"
    assert sink.done == 1


@pytest.mark.parametrize("torn", [b"", b"half", b"h" * (3 << 20)])
def test_text_after_the_last_line_end_is_cut_off_on_resume(tmp_path: Path, torn: bytes) -> None:
    PartialFile(tmp_path / "out", {}).write(["a" * 100, "b"])
    with (tmp_path / "out.partial").open("ab") as file:
        file.write(torn)
    again = PartialFile(tmp_path / "out", {}, resume=True)
    assert again.done == 2
    again.write(["c"])
    again.finish()
    assert (tmp_path / "out").read_text() == f"{'a' * 100}\nb\nc\n"


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="permission"):
        PartialFile(tmp_path / "out", {})


class TestLock:
    def test_another_process_that_writes_is_named(self, tmp_path: Path) -> None:
        hold = (
            "import pathlib, sys; from postedit.data.resumable_file import PartialFile\n"
            "file = PartialFile(pathlib.Path(sys.argv[1]), {}); file.write(['one']); print(flush=True); input()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", hold, str(tmp_path / "out")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as other:
            assert other.stdout is not None
            other.stdout.readline()
            with pytest.raises(OutputError, match=rf"out: another process \({other.pid}\) is writing to it; wait"):
                PartialFile(tmp_path / "out", {}, resume=True)
            other.kill()
        again = PartialFile(tmp_path / "out", {}, resume=True)
        again.write(["two"])
        again.finish()
        assert (tmp_path / "out").read_text() == "one\ntwo\n"
        assert [path.name for path in tmp_path.iterdir()] == ["out"]

    def test_interrupted_work_of_the_same_process_can_be_continued(self, tmp_path: Path) -> None:
        interrupted = PartialFile(tmp_path / "out", {})
        interrupted.write(["one"])
        again = PartialFile(tmp_path / "out", {}, resume=True)
        assert again.done == interrupted.done


class TestPaths:
    @pytest.mark.parametrize("suffix", COMPRESSED_SUFFIXES)
    def test_complete_lines_are_compressed_by_name(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"out{suffix}"
        PartialFile(path, {}).write(["größe"] * 500)
        again = PartialFile(path, {}, resume=True)
        assert again.done == 500
        again.write(["Ende"])
        again.finish()
        assert list(read_lines(path)) == [*["größe"] * 500, "Ende"]
        assert [file.name for file in tmp_path.iterdir()] == [path.name]

    def test_a_link_is_followed_and_unfinished_lines_are_beside_its_target(self, tmp_path: Path) -> None:
        (tmp_path / "disk").mkdir()
        link, target = tmp_path / "link", tmp_path / "disk" / "target"
        link.symlink_to(target)
        PartialFile(link, {}).write(["one"])
        assert (tmp_path / "disk" / "target.partial").read_text() == "one\n"
        again = PartialFile(target, {}, resume=True)
        again.write(["two"])
        again.finish()
        assert link.is_symlink()
        assert link.read_text() == "one\ntwo\n"
        assert sorted(file.name for file in tmp_path.rglob("*")) == ["disk", "link", "target"]

    def test_a_stream_cannot_be_read_again(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "fifo")
        with pytest.raises(DataError, match="is a stream, and is read more than once here; save it to a file"):
            file_fingerprint(tmp_path / "fifo")


def abandon(path: Path, *lines: str) -> None:
    """Leave a file as a process does that is killed after so many lines."""
    sink = PartialFile(path, {"model": "a name with a mistake"})
    sink.write(lines)
    sink._file.close()
    sink._lock.release(force=True)


def test_a_run_that_wrote_no_line_is_in_nobodys_way(tmp_path: Path) -> None:
    abandon(tmp_path / "out")
    sink = PartialFile(tmp_path / "out", {"model": "the right one"})
    sink.write(["one"])
    sink.finish()
    assert (tmp_path / "out").read_text() == "one\n"
    abandon(tmp_path / "other", "a line")
    with pytest.raises(OutputError, match="has lines of an unfinished run"):
        PartialFile(tmp_path / "other", {"model": "the right one"})


@pytest.mark.parametrize("damaged", ["", "[1", "\0", "[1]", "3", "{}", "[" * 100_000, '{"a": 3}'])
def test_a_damaged_record_is_named(tmp_path: Path, damaged: str) -> None:
    sink = PartialFile(tmp_path / "out", {})
    sink.write(['{"a": "1"}', '{"a": "2"}'])
    assert sink.records(lambda record: record["a"].strip()) == ["1", "2"]
    sink.write([damaged])
    with pytest.raises(DataError, match=r"out\.partial: line 3 is damaged.*; delete the file to restart"):
        sink.records(lambda record: record["a"].strip())
