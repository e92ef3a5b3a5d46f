"""Release files are the same for the same folder, and hostile ones are refused before they do harm."""

import io
import lzma
import tarfile
from pathlib import Path

import pytest

from postedit.core.errors import DataError
from postedit.releases.archive import pack, unpack


def archive(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with lzma.open(path, "wb") as packed, tarfile.open(fileobj=packed, mode="w|") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname = kind, link
    return found


def sparse(name: str) -> tarfile.TarInfo:
    found = member(name)
    found.pax_headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(3 << 30), "GNU.sparse.numblocks": "1"}
    return found


def test_a_folder_comes_out_as_it_went_in(tmp_path: Path) -> None:
    folder, out = tmp_path / "model", tmp_path / "out"
    (folder / "text").mkdir(parents=True)
    (folder / "config.json").write_bytes(b"{}")
    (folder / "text/words.json").write_bytes(b"[1]" * 1000)
    (folder / ".hidden").touch()
    for name in ("one.tar.xz", "two.tar.xz"):
        pack(folder, tmp_path / name)
        (folder / "config.json").touch()  # the time of a change is not in the archive
    assert (tmp_path / "one.tar.xz").read_bytes() == (tmp_path / "two.tar.xz").read_bytes()
    out.mkdir()
    unpack(tmp_path / "one.tar.xz", out)
    found = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert found == {"config.json": b"{}", "text/words.json": b"[1]" * 1000}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (member("/etc/passwd"), "a name that no file of a model has"),
        (member("../outside"), "a name that no file of a model has"),
        (member("text/../../outside"), "a name that no file of a model has"),
        (member("text//words.json"), "a name that no file of a model has"),
        (member(".bashrc"), "a name that no file of a model has"),
        (member("a\nb"), "a name that no file of a model has"),
        (member("model.safetensors", tarfile.SYMTYPE, "/etc/passwd"), "not a plain file"),
        (member("model.safetensors", tarfile.LNKTYPE, "../outside"), "not a plain file"),
        (member("text", tarfile.SYMTYPE, "/tmp"), "not a plain file"),
        (member("pipe", tarfile.FIFOTYPE), "not a plain file"),
        (member("device", tarfile.CHRTYPE), "not a plain file"),
        (member("folder", tarfile.DIRTYPE), "not a plain file"),
        (member("good"), "twice"),
        (member("good/b"), "twice"),
        (member("a" * 101), "a name that no file of a model has"),
        (sparse("holes"), "not a plain file"),
    ],
)
def test_what_could_do_harm_is_refused(tmp_path: Path, bad: tarfile.TarInfo, reason: str) -> None:
    out = tmp_path / "deep/out"
    out.mkdir(parents=True)
    path = archive(tmp_path / "bad.tar.xz", (member("good"), b"good"), (bad, b""))
    with pytest.raises(DataError, match=f"the file given: .*{reason}"):
        unpack(path, out, name="the file given")
    assert [one.relative_to(tmp_path).as_posix() for one in tmp_path.rglob("*") if one.is_file()] == [
        "bad.tar.xz",
        "deep/out/good",
    ]


def test_a_file_that_grows_beyond_measure_is_stopped(tmp_path: Path) -> None:
    path = archive(tmp_path / "bomb.tar.xz", (member("model.safetensors"), bytes(5_000_000)))
    assert path.stat().st_size < 5_000
    with pytest.raises(DataError, match="holds more than 1,000,000 bytes"):
        unpack(path, tmp_path, 1_000_000)
    assert (tmp_path / "model.safetensors").stat().st_size < 1_000_000


def test_a_header_that_grows_beyond_measure_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "bomb.tar.xz"
    header = tarfile.TarInfo("././@PaxHeader")
    header.type, header.size = tarfile.XHDTYPE, (1 << 33) - 1
    with lzma.open(path, "wb") as packed:
        packed.write(header.tobuf(tarfile.USTAR_FORMAT) + bytes(3_000_000))
    with pytest.raises(DataError, match="holds more than 1,000,000 bytes"):
        unpack(path, tmp_path, 1_000_000)


@pytest.mark.parametrize("keep", [0, 1, 20, 100])
def test_a_damaged_archive_is_refused(tmp_path: Path, keep: int) -> None:
    path = archive(tmp_path / "cut.tar.xz", (member("words"), bytes(range(256)) * 40))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DataError, match="is damaged, or no release file"):
        unpack(path, tmp_path)


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.tar.xz").write_bytes(lzma.compress(b"<html>not found</html>" * 100))
    with pytest.raises(DataError, match="is damaged, or no release file"):
        unpack(tmp_path / "page.tar.xz", tmp_path)
