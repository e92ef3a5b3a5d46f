"""A reader sees the old content or the new; a write that fails says why and leaves nothing behind."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from postedit.core.errors import OutputError, PosteditError
from postedit.core.files import (
    atomic_folder,
    atomic_write,
    check_writable,
    explain_os_errors,
    load_json,
    temporary_path,
    with_home,
    with_known_home,
)

needs_permissions = pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Return a file with old content, alone in its folder."""
    (tmp_path / "a").write_text("old")
    return tmp_path / "a"


@pytest.fixture
def old_folder(tmp_path: Path) -> Path:
    """Return a folder with an old file, alone in its own."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "old").write_text("x")
    return tmp_path / "model"


def assert_content(path: Path, content: str | list[str]) -> None:
    """Assert that this is in the file or folder, and nothing is beside it."""
    assert (path.read_text() if path.is_file() else [file.name for file in path.iterdir()]) == content
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_is_replaced_passes_on_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o640)
    with atomic_write(path) as file:
        (written,) = set(tmp_path.iterdir()) - {path}
        assert written.stat().st_mode & 0o777 == 0o640
        file.write("new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)


def test_a_disk_without_permissions_is_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **named: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    (tmp_path / "a").write_text("old")
    monkeypatch.setattr(os, "chmod", refuse)
    with atomic_write(tmp_path / "a") as file:
        file.write("new")
    assert (tmp_path / "a").read_text() == "new"


def test_a_private_file_is_never_open_to_others(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old.chmod(0o600)
    monkeypatch.setattr(shutil, "copymode", lambda *_: None)  # which only comes after the file is there
    with atomic_write(old) as file:
        file.write("new")
    assert old.stat().st_mode & 0o777 == 0o600


def test_a_link_that_others_put_in_the_way_is_not_followed(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = old.with_name("link")
    link.symlink_to(old)
    monkeypatch.setattr("postedit.core.files.temporary_path", lambda path: link)
    with pytest.raises(OutputError), atomic_write(old.with_name("b")) as file:
        file.write("new")
    assert old.read_text() == "old"


class TestAtomicWrite:
    def test_text_is_utf8_with_plain_line_ends(self, tmp_path: Path) -> None:
        with atomic_write(tmp_path / "a") as file:
            file.write("größe\u2028x\r\n\n")
        assert (tmp_path / "a").read_bytes() == "größe\u2028x\r\n\n".encode()

    def test_bytes(self, tmp_path: Path) -> None:
        with atomic_write(tmp_path / "a", "wb") as file:
            file.write(b"\xff\n")
        assert (tmp_path / "a").read_bytes() == b"\xff\n"

    def test_readers_see_the_old_content_until_the_block_ends(self, old: Path) -> None:
        with atomic_write(old) as file:
            file.write("new")
            file.flush()
            assert old.read_text() == "old"
        assert_content(old, "new")

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_an_error_in_the_block_leaves_the_old_content(self, old: Path, error: type[BaseException]) -> None:
        with pytest.raises(error), atomic_write(old) as file:  # noqa: PT012 (the block is what is tested)
            file.write("new")
            raise error
        assert_content(old, "old")

    def test_a_full_disk_leaves_the_old_content_and_says_so(self, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC))
        with pytest.raises(OutputError, match=r"a: cannot be written: the disk is full"), atomic_write(old) as file:
            file.write("new")
        assert_content(old, "old")

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(OutputError, match=r"cannot be written: No such file"), atomic_write(tmp_path / "no" / "a"):
            pass


class TestAtomicFolder:
    def test_a_new_folder_appears_whole_with_its_parents(self, tmp_path: Path) -> None:
        path = tmp_path / "runs" / "model"
        with atomic_folder(path) as folder:
            (folder / "sub").mkdir()
            (folder / "sub" / "a").write_text("x")
            assert not path.exists()
            assert folder.parent == path.parent, "a rename must stay on one file system"
        assert (path / "sub" / "a").read_text() == "x"
        assert list(path.parent.iterdir()) == [path]

    def test_an_old_folder_is_replaced_whole(self, old_folder: Path) -> None:
        with atomic_folder(old_folder) as folder:
            (folder / "new").write_text("y")
            assert [file.name for file in old_folder.iterdir()] == ["old"]
        assert_content(old_folder, ["new"])

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_an_error_in_the_block_leaves_the_old_folder(self, old_folder: Path, error: type[BaseException]) -> None:
        with pytest.raises(error), atomic_folder(old_folder) as folder:  # noqa: PT012
            (folder / "new").write_text("y")
            raise error
        assert_content(old_folder, ["old"])

    def test_a_full_disk_leaves_the_old_folder(self, old_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC))
        with pytest.raises(OutputError, match="the disk is full"), atomic_folder(old_folder) as folder:
            (folder / "new").write_text("y")
        assert_content(old_folder, ["old"])

    def test_a_failed_rename_restores_the_old_folder(self, old_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        rename = Path.replace

        def refuse(self: Path, target: Path) -> Path:
            if self.name.endswith(".tmp"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return rename(self, target)

        monkeypatch.setattr(Path, "replace", refuse)
        with pytest.raises(OutputError, match="the disk is full"), atomic_folder(old_folder) as folder:
            (folder / "new").write_text("y")
        assert_content(old_folder, ["old"])

    @pytest.mark.parametrize(("name", "reason"), [("a", "a: is a file; remove it"), ("a/b", "there is a file of this")])
    def test_a_file_in_its_place_stays(self, tmp_path: Path, name: str, reason: str) -> None:
        (tmp_path / "a").write_text("x")
        with pytest.raises(OutputError, match=reason), atomic_folder(tmp_path / name):
            raise AssertionError("nothing is written")
        assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "x")]

    def test_others_may_read_the_folder(self, tmp_path: Path) -> None:
        with atomic_folder(tmp_path / "model"):
            pass
        assert (tmp_path / "model").stat().st_mode & 0o777 == 0o755


class TestTemporaryPath:
    def test_what_a_killed_process_left_is_removed(self, tmp_path: Path) -> None:
        code = f"""
import os, signal
from pathlib import Path
from postedit.core.files import atomic_folder, atomic_write
with atomic_write(Path({str(tmp_path / "a")!r})) as file, atomic_folder(Path({str(tmp_path / "b")!r})) as folder:
    (folder / "c").write_text("x")
    os.kill(os.getpid(), signal.SIGKILL)
"""
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
        assert len(list(tmp_path.iterdir())) == 2
        with atomic_write(tmp_path / "a") as file, atomic_folder(tmp_path / "b"):
            file.write("new")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]

    def test_what_a_process_with_the_same_id_left_is_in_nobodys_way(self, tmp_path: Path) -> None:
        """In a container, each run has the same host, process id and sequence of names."""
        code = f"""
import os, pathlib, sys
os.getpid = lambda: 1
from postedit.core.files import atomic_folder
with atomic_folder(pathlib.Path({str(tmp_path / "a")!r})) as folder:
    (folder / "b").write_text("x")
    os._exit(0) if "killed" in sys.argv else None
"""
        for arguments in (["killed"], []):
            subprocess.run([sys.executable, "-c", code, *arguments], check=True)
        assert (tmp_path / "a" / "b").read_text() == "x"

    def test_what_a_running_process_writes_is_left(self, tmp_path: Path) -> None:
        ours = temporary_path(tmp_path / "a")
        theirs = ours.with_name(ours.name.replace(f"-{os.getpid()}-", "-1-"))
        similar = [tmp_path / ".a.b.999999999.tmp", ours.with_name(f"{ours.name}.tmp"), tmp_path / ".b.tmp"]
        for path in [ours, theirs, *similar]:
            path.touch()
        assert temporary_path(tmp_path / "a") != ours
        assert len(list(tmp_path.iterdir())) == 5

    def test_threads_do_not_write_into_the_same_file(self, tmp_path: Path) -> None:
        with atomic_write(tmp_path / "a") as one:
            one.write("one")
            with atomic_write(tmp_path / "a") as other:  # as another thread would
                other.write("another")
            assert (tmp_path / "a").read_text() == "another"
        assert (tmp_path / "a").read_text() == "one"


class TestCheckWritable:
    def test_a_new_file_and_an_old_one_in_a_folder_of_ours(self, tmp_path: Path) -> None:
        check_writable(tmp_path / "new")
        assert list(tmp_path.iterdir()) == []
        (tmp_path / "old").write_text("x")
        check_writable(tmp_path / "old")
        assert (tmp_path / "old").read_text() == "x"

    def test_a_folder_is_not_a_file(self, tmp_path: Path) -> None:
        with pytest.raises(OutputError, match="is a folder; give the name of a file"):
            check_writable(tmp_path)

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(OutputError, match=r"its folder .*no does not exist; create it first"):
            check_writable(tmp_path / "no" / "file")
        (tmp_path / "file").touch()
        with pytest.raises(OutputError, match=r"its folder .*file is a file; give another folder"):
            check_writable(tmp_path / "file" / "other")

    @needs_permissions
    def test_a_folder_that_may_not_be_written(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o555)
        with pytest.raises(OutputError, match="permission denied"):
            check_writable(tmp_path / "file")
        tmp_path.chmod(0o755)


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EFBIG, "larger than this system allows"),
        (errno.EACCES, "permission denied"),
        (errno.EROFS, "read-only"),
        (errno.EIO, "the disk, or the connection to it, has failed"),
        (errno.ESTALE, "the file server has lost it"),
        (errno.EISDIR, os.strerror(errno.EISDIR)),
    ],
)
def test_failures_of_the_system_become_sentences(number: int, reason: str) -> None:
    with pytest.raises(OutputError, match=reason) as caught, explain_os_errors(Path("x/y")):
        raise OSError(number, os.strerror(number))
    assert str(caught.value).startswith("x/y: cannot be written: ")
    assert isinstance(caught.value, PosteditError)


def test_an_error_without_a_number_keeps_its_words() -> None:
    with pytest.raises(OutputError, match="cannot be written: odd"), explain_os_errors(Path("x")):
        raise OSError("odd")


def test_a_home_folder_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert with_home("~/a") == with_known_home("~/a", "set b") == Path("/home/ada/a")
    assert with_home("~nobody-here/a") == Path("~nobody-here/a"), "and whoever reads it will not find it"
    with pytest.raises(OutputError, match=r"~nobody-here/a: begins with the home folder of somebody .*; set b"):
        with_known_home("~nobody-here/a", "set b")


def failing(number: int) -> Callable[[int], None]:
    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'"' + b"a" * (1 << 26), "larger than 64 MiB"),
        (b"[" * 200_000, "nested too deeply"),
        (b"\xff", "utf-8"),
        (b"{", "Expecting property name"),
    ],
    ids=["large", "deep", "bytes", "cut off"],
)
def test_json_of_others_is_refused_with_a_reason(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(ValueError, match=problem):
        load_json(tmp_path / "x.json")
