"""Streams are written to, links are followed, compressed names are compressed, and nothing else is replaced."""

import gzip
import json
import lzma
import os
import stat
import threading
from pathlib import Path

import pytest

from postedit.core.errors import OutputError
from postedit.core.files import atomic_folder, atomic_write, check_writable
from postedit.core.output_paths import COMPRESSED_SUFFIXES, is_stream, link_target, same_file
from postedit.data.lines import read_lines


def write(path: Path, text: str = "größe\n") -> None:
    check_writable(path)
    with atomic_write(path) as file:
        file.write(text)


class TestStreams:
    def test_a_device_stays_a_device(self) -> None:
        write(Path("/dev/null"))
        assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)

    @pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
    def test_standard_output_by_each_of_its_names(self, name: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        print("before")
        write(Path(name))
        print("after", flush=True)
        assert capfdbinary.readouterr().out == "before\ngröße\nafter\n".encode()

    def test_standard_error(self, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        write(Path("/dev/stderr"))
        assert capfdbinary.readouterr().err == "größe\n".encode()

    def test_a_redirected_file_is_not_replaced(self, tmp_path: Path) -> None:
        """As in `(echo before; postedit ... --out /dev/fd/3) 3>> log`."""
        log = tmp_path / "log"
        with log.open("wb", buffering=0) as file:
            file.write(b"before\n")
            write(Path(f"/dev/fd/{file.fileno()}"))
            file.write(b"after\n")
        assert log.read_text() == "before\ngröße\nafter\n"

    def test_a_fifo_is_written_to_and_stays(self, tmp_path: Path) -> None:
        path = tmp_path / "fifo"
        os.mkfifo(path)
        found: list[str] = []
        reader = threading.Thread(target=lambda: found.append(path.read_text(encoding="utf-8")))
        reader.start()
        write(path)
        reader.join(timeout=300)
        assert found == ["größe\n"]
        assert stat.S_ISFIFO(path.stat().st_mode)
        assert list(tmp_path.iterdir()) == [path]

    def test_check_writable_does_not_wait_for_the_reader_of_a_fifo(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "fifo")
        check_writable(tmp_path / "fifo")

    def test_a_reader_that_has_read_enough_is_no_output_error(self) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        with pytest.raises(BrokenPipeError):
            write(Path(f"/dev/fd/{writing}"))
        os.close(writing)

    def test_bytes(self, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        with atomic_write(Path("-"), "wb") as file:
            file.write(b"\xff")
        assert capfdbinary.readouterr().out == b"\xff"


class TestLinks:
    @pytest.mark.parametrize("old", ["old\n", None], ids=["existing", "dangling"])
    def test_the_target_is_replaced_and_the_link_stays(self, tmp_path: Path, old: str | None) -> None:
        target, link = tmp_path / "elsewhere" / "target", tmp_path / "link"
        target.parent.mkdir()
        if old is not None:
            target.write_text(old)
        link.symlink_to("elsewhere/target")
        write(link)
        assert link.is_symlink()
        assert target.read_text(encoding="utf-8") == "größe\n"
        assert list(target.parent.iterdir()) == [target]

    def test_chains_are_followed_and_loops_are_told(self, tmp_path: Path) -> None:
        one, two, target = tmp_path / "one", tmp_path / "two", tmp_path / "target"
        one.symlink_to(two)
        two.symlink_to(target)
        assert link_target(one) == target
        two.unlink()
        two.symlink_to(one)
        with pytest.raises(OutputError, match="symbolic links form a loop"):
            write(one)

    def test_a_link_into_a_missing_folder_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to("missing/target")
        with pytest.raises(OutputError, match=r"its folder .*missing does not exist"):
            check_writable(tmp_path / "link")

    def test_a_linked_folder_is_replaced_in_its_place(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "real" / "old").write_text("x")
        (tmp_path / "link").symlink_to("real")
        with atomic_folder(tmp_path / "link") as folder:
            (folder / "new").write_text("y")
        assert (tmp_path / "link").is_symlink()
        assert [path.name for path in (tmp_path / "real").iterdir()] == ["new"]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


class TestCompression:
    @pytest.mark.parametrize("suffix", COMPRESSED_SUFFIXES)
    def test_names_decide_and_files_are_read_back(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"x.out{suffix}"
        write(path, "größe\n" * 1000)
        assert list(read_lines(path)) == ["größe"] * 1000
        assert path.stat().st_size < 1000
        assert list(tmp_path.iterdir()) == [path]

    def test_other_tools_read_them(self, tmp_path: Path) -> None:
        write(tmp_path / "x.gz")
        write(tmp_path / "x.xz")
        assert gzip.decompress((tmp_path / "x.gz").read_bytes()).decode() == "größe\n"
        assert lzma.decompress((tmp_path / "x.xz").read_bytes()).decode() == "größe\n"

    def test_the_same_text_gives_the_same_bytes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(tmp_path / "one.gz")
        monkeypatch.setattr("time.time", lambda: 0.0)
        write(tmp_path / "two.gz")
        assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()

    def test_an_error_in_the_block_leaves_the_old_content(self, tmp_path: Path) -> None:
        path = tmp_path / "x.gz"
        path.write_bytes(b"old")
        with pytest.raises(ValueError, match="stop"), atomic_write(path) as file:  # noqa: PT012
            file.write("new")
            raise ValueError("stop")
        assert path.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [path]


class TestSameFile:
    def test_links_of_both_kinds_are_the_same_file(self, tmp_path: Path) -> None:
        path, soft, hard = tmp_path / "a", tmp_path / "soft", tmp_path / "hard"
        path.write_text("x")
        soft.symlink_to(path)
        hard.hardlink_to(path)
        assert same_file(path, soft)
        assert same_file(hard, soft)
        assert not same_file(path, tmp_path / "b")

    def test_files_that_are_not_there_are_compared_by_name(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        assert same_file(tmp_path / "new", tmp_path / "folder" / ".." / "new")

    def test_streams_may_be_read_and_written(self) -> None:
        assert not same_file(Path("/dev/null"), Path("/dev/null"))


def test_devices_and_the_dash_are_streams_and_files_are_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert not is_stream(tmp_path / "file")
    assert not is_stream(tmp_path)
    assert not is_stream(tmp_path / "new")
    assert not is_stream(tmp_path / "-"), "a file may be called so"
    assert is_stream(Path("-"))
    assert is_stream(Path("/dev/null"))
    assert is_stream(Path("/dev/fd/0"))


def test_names_that_are_not_utf8_are_written_as_escapes(tmp_path: Path) -> None:
    name = os.fsdecode(b"M\xfcller.tmx")
    with atomic_write(tmp_path / "out.json") as file:
        json.dump({"name": name}, file, ensure_ascii=False)
    assert json.loads((tmp_path / "out.json").read_text("utf-8")) == {"name": name}
