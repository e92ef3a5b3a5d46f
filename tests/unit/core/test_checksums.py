"""Digests beside files: what `sha256sum` reads, and what a flipped bit in files or digests does to them."""

import errno
import random
import subprocess
from pathlib import Path

import pytest

from postedit.core import checksums
from postedit.core.checksums import (
    CHECKSUMS,
    damaged_files,
    forget_checksums,
    read_checksums,
    record_folder,
    recorded_damage,
)
from postedit.core.errors import DataError

NAMES = ["one", "sub/two words", "sub/back\\slash", "line\nfeed", "cr\rhere", "\u2028", "\\n"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in [*NAMES, "run.lock", ".hidden/file"]:
        path = tmp_path / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    record_folder(tmp_path / "folder")
    return tmp_path / "folder"


def test_all_lasting_files_are_recorded_under_any_name(folder: Path) -> None:
    assert read_checksums(folder / CHECKSUMS).keys() == {folder / name for name in NAMES}
    assert recorded_damage(folder) is None


def test_sha256sum_reads_the_digests(folder: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", CHECKSUMS], cwd=folder, check=True)


def test_a_flipped_bit_in_the_digests_is_found(folder: Path) -> None:
    whole = (folder / CHECKSUMS).read_bytes()
    for seed in range(200):
        flip(folder / CHECKSUMS, seed)
        assert recorded_damage(folder) == f"{folder / CHECKSUMS}: damaged, or not written by postedit", seed
        (folder / CHECKSUMS).write_bytes(whole)


def test_missing_truncated_and_unreadable_files_are_named(folder: Path) -> None:
    (folder / "one").unlink()
    (folder / "sub/two words").write_text("two wor")
    (folder / "\\n").unlink()
    (folder / "\\n").mkdir()
    assert damaged_files(read_checksums(folder / CHECKSUMS)) == {
        folder / "one": "missing",
        folder / "sub/two words": "not the content that was written",
        folder / "\\n": "no regular file",
    }


def test_a_file_on_a_disk_that_fails_is_damaged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(path: Path) -> str:
        raise OSError(errno.EIO, "Input/output error", str(path))

    monkeypatch.setattr(checksums, "sha256_of", failing)
    (damage,) = damaged_files({folder / "one": "0" * 64}).values()
    assert damage.startswith("cannot be read: ")


@pytest.mark.parametrize("name", ["/dev/zero", "../secret", "sub/../../secret"])
def test_digests_of_files_elsewhere_are_refused(folder: Path, name: str) -> None:
    (folder.parent / "secret").write_text("secret")
    seal_digests_of(folder / CHECKSUMS, name)
    with pytest.raises(DataError, match="damaged, or not written by postedit"):
        read_checksums(folder / CHECKSUMS)


@pytest.mark.parametrize("digest", ["", "ab", "0" * 62, "0" * 128, "x" * 64])
def test_digests_of_another_length_are_none(folder: Path, digest: str) -> None:
    seal_digests_of(folder / CHECKSUMS, "one", digest)
    with pytest.raises(DataError, match="damaged, or not written by postedit"):
        read_checksums(folder / CHECKSUMS)


def test_a_file_of_digests_larger_than_any_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (folder / CHECKSUMS).open("r+b") as file:
        file.truncate(1 << 40)
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} is read"))
    with pytest.raises(DataError, match="damaged, or not written by postedit"):
        read_checksums(folder / CHECKSUMS)


def test_a_folder_without_digests_has_no_known_damage(folder: Path) -> None:
    forget_checksums(folder / CHECKSUMS)
    forget_checksums(folder / CHECKSUMS)
    assert recorded_damage(folder) is None


def flip(path: Path, seed: int) -> None:
    """Flip a random bit of a file."""
    content, rng = bytearray(path.read_bytes()), random.Random(seed)
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def seal_digests_of(path: Path, name: str, digest: str = "0" * 64) -> None:
    """Write a sealed file of digests with one line."""
    lines = checksums._line(name, digest)
    path.write_text(f"{checksums._SEAL}{checksums._digest(lines)}\n{lines}")
