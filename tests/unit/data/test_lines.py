from pathlib import Path

import pytest

from postedit.core.errors import DataError
from postedit.data.lines import BadLine, decode_lines, path_problem, read_lines, scan_lines


def test_only_line_feeds_divide_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.mt"
    text = "a\u2028b\x0bc\x85d\r\n\n last\x0c"
    path.write_bytes(text.encode())
    assert list(read_lines(path)) == ["a\u2028b\x0bc\x85d\r", "", " last\x0c"]


@pytest.mark.parametrize(("content", "lines"), [(b"a\nb\n", ["a", "b"]), (b"a\nb", ["a", "b"]), (b"\n\n", ["", ""])])
def test_the_last_line_feed_is_optional(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    (tmp_path / "x").write_bytes(content)
    assert list(read_lines(tmp_path / "x")) == lines


def test_invalid_utf8_is_named_by_file_line_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "x.mt"
    path.write_bytes("gut\nschön\n".encode() + b"sch\xf6n\n")
    with pytest.raises(DataError, match=r"x\.mt, line 3: byte 4 \(0xF6\) of the line is not UTF-8"):
        list(read_lines(path))


def test_a_character_cut_off_by_the_end_is_invalid() -> None:
    with pytest.raises(DataError, match=r"stdin, line 1: byte 2 \(0xC3\)"):
        list(decode_lines([b"a\xc3"], "stdin"))


def test_scanning_goes_on_after_a_bad_line() -> None:
    found = list(scan_lines([b"a\n", b"\xff\n", b"c"], "x"))
    assert [found[0], found[2]] == ["a", "c"]
    assert isinstance(found[1], BadLine)


def test_paths_that_cannot_be_read_are_explained(tmp_path: Path) -> None:
    (tmp_path / "train.src").write_text("")
    assert path_problem(tmp_path / "train.src") == f"{tmp_path}/train.src: is empty"
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


def test_a_link_to_nothing_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to("gone")
    assert path_problem(tmp_path / "x") == f"{tmp_path / 'x'}: is a link to gone, which does not exist"
