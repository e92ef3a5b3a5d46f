import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from postedit.core.errors import OutputError
from postedit.data.resumable_file import PartialFile


def test_a_failed_write_is_a_sentence_and_keeps_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = PartialFile(tmp_path / "out", {})
    sink.write(["one"])

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OutputError, match="disk is full"):
            sink.write(["two"])
    assert (tmp_path / "out.partial").read_text() == "one\ntwo\n"
    assert sink.done == 2


@pytest.mark.parametrize("arrived", [0, 2, 4, 7, 8])
def test_lines_of_an_interrupted_write_count_if_they_arrived_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrived: int
) -> None:
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
    assert (tmp_path / "out.partial").read_text() == "one\ntwo\nsix\n"[: 4 + arrived // 4 * 4]
    assert sink.done == 1 + arrived // 4


def test_lines_are_on_the_disk_at_once(tmp_path: Path) -> None:
    sink = PartialFile(tmp_path / "out", {"job": 1})
    sink.write(["a", "b"])
    assert (tmp_path / "out.partial").read_bytes() == b"a\nb\n"
    sink.finish()
    assert (tmp_path / "out").read_bytes() == b"a\nb\n"


@pytest.mark.parametrize("torn", [b"", b"half", b"h" * (3 << 20)])
def test_what_follows_the_last_line_end_is_cut(tmp_path: Path, torn: bytes) -> None:
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
def test_a_folder_without_permission_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="permission"):
        PartialFile(tmp_path / "out", {})
