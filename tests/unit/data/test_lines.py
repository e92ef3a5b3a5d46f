import bz2
import gzip
import hashlib
import re
import zipfile
from pathlib import Path

import pytest

from postedit.core.errors import DataError
from postedit.data.lines import (
    BadLine,
    DevTexts,
    check_aligned,
    decode_lines,
    path_problem,
    read_aligned,
    read_lines,
    scan_lines,
)


def test_only_line_feeds_divide_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.mt"
    text = "a\u2028b\x0bc\x85d\r\n\n last\x0c"
    path.write_bytes(text.encode())
    assert list(read_lines(path)) == ["a\u2028b\x0bc\x85d\r", "", " last\x0c"]


@pytest.mark.parametrize(("content", "lines"), [(b"a\nb\n", ["a", "b"]), (b"a\nb", ["a", "b"]), (b"\n\n", ["", ""])])
def test_the_last_line_feed_is_optional(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    (tmp_path / "x").write_bytes(content)
    assert list(read_lines(tmp_path / "x")) == list(read_lines(str(tmp_path / "x"))) == lines


def test_invalid_utf8_is_named_by_file_line_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "x.mt"
    path.write_bytes("gut\nschön\n".encode() + b"sch\xf6n\n")
    with pytest.raises(DataError, match=r"x\.mt, line 3: byte 4 \(0xF6\) of the line is not UTF-8"):
        list(read_lines(path))


def test_a_character_cut_off_by_the_end_is_invalid() -> None:
    with pytest.raises(DataError, match=r"stdin, line 1: byte 2 \(0xC3\)"):
        list(decode_lines([b"a\xc3"], "stdin"))


def test_a_byte_order_mark_at_the_start_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes("\ufeffa\n\ufeffb\n".encode())
    assert list(read_lines(tmp_path / "x")) == ["a", "\ufeffb"]
    assert list(decode_lines(["\ufeffc".encode()], "stdin")) == ["c"]


def test_empty_files_and_streams_are_refused_alike(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    (tmp_path / "y.gz").write_bytes(gzip.compress(b""))
    for lines, name in (
        (read_lines(tmp_path / "x"), "x"),
        (read_lines(tmp_path / "y.gz"), "y.gz"),
        (decode_lines([], "stdin"), "stdin"),
    ):
        with pytest.raises(DataError, match=f"{name}: is empty"):
            list(lines)


def test_scanning_goes_on_after_a_bad_line() -> None:
    found = list(scan_lines([b"a\n", b"\xff\n", b"c"], "x"))
    assert [found[0], found[2]] == ["a", "c"]
    assert isinstance(found[1], BadLine)


def test_paths_that_cannot_be_read_are_explained(tmp_path: Path) -> None:
    (tmp_path / "train.src").write_text("")
    assert path_problem(tmp_path / "train.src") == f"{tmp_path}/train.src: is empty"
    (tmp_path / "trian.toml").touch()  # no recipe is offered for a text
    (tmp_path / "trian.srcs").mkdir()  # nor a folder
    assert path_problem(tmp_path / "trian.src") == f'{tmp_path}/trian.src: no such file; did you mean "train.src"?'
    assert path_problem(tmp_path) == f"{tmp_path}: is a folder, not a file"
    assert (
        path_problem(tmp_path / "no" / "x")
        == f"{tmp_path}/no/x: no such file; its folder {tmp_path}/no does not exist either"
    )
    with pytest.raises(DataError, match="is empty"):
        list(read_lines(tmp_path / "train.src"))
    (tmp_path / "train.src").write_text("x")
    assert path_problem(tmp_path / "train.src") is None


def test_aligned_files_are_read_together_compressed_or_not(tmp_path: Path) -> None:
    src, mt = tmp_path / "x.src", tmp_path / "x.mt"
    src.write_text("a\nb\n")
    (tmp_path / "x.mt.gz").write_bytes(gzip.compress(b"c\n\n"))
    assert read_aligned(src, mt, src) == {src: ["a", "b"], mt: ["c", ""]}


def test_files_that_do_not_match_are_named_with_their_lines(tmp_path: Path) -> None:
    src, mt, pe = (tmp_path / f"x.{side}" for side in ("src", "mt", "pe"))
    for path, count in ((src, 1200), (mt, 1200), (pe, 1)):
        path.write_text("a\n" * count)
    message = f"{src} has 1,200 lines and {pe} has 1; they must match one to one"
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        read_aligned(src, mt, pe)
    with pytest.raises(DataError, match="src has 2 lines and x has 0; they must match"):
        check_aligned("src", 2, "x", 0)


def test_digests_depend_on_sides_and_order() -> None:
    texts = DevTexts(["a", "d"], ["b", "e"], ["c", "f"])
    turned = DevTexts(texts.src[::-1], texts.mt[::-1], texts.pe[::-1])
    others = [turned, DevTexts(["a b"], [""], [""]), DevTexts(["a"], ["b"], [""])]
    assert len({one.digest for one in (texts, *others)}) == 4
    assert DevTexts(["a"], ["b"], ["c"]).digest == hashlib.sha256(b"a\tb\tc\t\n").hexdigest()


def test_a_link_to_nothing_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to("gone")
    assert path_problem(tmp_path / "x") == f"{tmp_path / 'x'}: is a link to gone, which does not exist"


@pytest.mark.parametrize("ending", ["bz2", "zip"])
def test_packed_files_are_to_be_unpacked_not_saved_as_text(tmp_path: Path, ending: str) -> None:
    packed = tmp_path / f"train.mt.{ending}"
    if ending == "bz2":
        packed.write_bytes(bz2.compress(b"a line\n"))
    else:
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(zipfile.ZipInfo("train.mt"), "ein Satz\n" * 100, zipfile.ZIP_DEFLATED)
    with pytest.raises(DataError, match=r"line 1: .* is not UTF-8; it seems to be a compressed file"):
        list(read_lines(packed))
