import gzip
import io
import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postedit.core.errors import DataError
from postedit.core.output_paths import COMPRESSED_SUFFIXES
from postedit.data.compression import find_file, plain_name
from postedit.data.lines import path_problem, read_lines
from postedit.data.triplets import TripletFiles, check_files, read_triplets

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def compress_zstd(content: bytes) -> bytes:
    """As the program `zstd` does, which adds a checksum."""
    return zstd.compress(content, options={zstd.CompressionParameter.checksum_flag: 1})


COMPRESS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": compress_zstd}


def test_there_is_a_test_for_every_form() -> None:
    assert tuple(COMPRESS) == COMPRESSED_SUFFIXES


@pytest.mark.parametrize("suffix", COMPRESSED_SUFFIXES)
@given(lines=st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])), min_size=1))
@example(lines=["\ufeffa", "\ufeffb"])
def test_a_compressed_file_is_read_as_the_plain_one(
    suffix: str, lines: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    plain = tmp_path_factory.mktemp("x") / "x"
    content = "".join(f"{line}\n" for line in lines).encode()
    plain.write_bytes(content)
    plain.with_suffix(suffix).write_bytes(COMPRESS[suffix](content))
    first = lines[0].removeprefix("\ufeff")  # a byte order mark
    assert list(read_lines(plain.with_suffix(suffix))) == list(read_lines(plain)) == [first, *lines[1:]]


@pytest.mark.parametrize("suffix", COMPRESSED_SUFFIXES)
def test_several_compressed_parts_one_after_the_other_are_one_file(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(COMPRESS[suffix](b"a\nb") + COMPRESS[suffix](b"c\n"))
    assert list(read_lines(path)) == ["a", "bc"]


@pytest.mark.parametrize("suffix", COMPRESSED_SUFFIXES)
def test_a_file_that_is_cut_off_is_named_with_the_line(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    content = COMPRESS[suffix](b"".join(os.urandom(20).hex().encode() + b"\n" for _ in range(20_000)))
    path.write_bytes(content[: len(content) // 2])
    lines: list[str] = []
    with pytest.raises(
        DataError, match=rf"x\{suffix}, line \d+: the .* file is truncated here; copy it again"
    ) as error:
        lines.extend(read_lines(path))  # which takes what there is before the error
    assert f"line {len(lines) + 1}:" in str(error.value)
    assert 0 < len(lines) < 20_000


@pytest.mark.parametrize("suffix", COMPRESSED_SUFFIXES)
def test_a_damaged_file_is_named_with_the_line(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    content = bytearray(COMPRESS[suffix](b"".join(os.urandom(20).hex().encode() + b"\n" for _ in range(20_000))))
    middle = len(content) // 2
    content[middle : middle + 400] = os.urandom(400)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"line \d+.*(is damaged here|is not UTF-8)"):
        list(read_lines(path))


@pytest.mark.parametrize("suffix", COMPRESSED_SUFFIXES)
def test_triplets_are_found_under_their_plain_names(suffix: str, tmp_path: Path) -> None:
    for side in ("src", "mt", "pe"):
        (tmp_path / f"x.{side}{suffix}").write_bytes(COMPRESS[suffix](f"{side} 1\n{side} 2\n".encode()))
    files = TripletFiles.of(tmp_path / "x")
    assert check_files(files) == 2
    assert [triplet.mt for triplet in read_triplets(files)] == ["mt 1", "mt 2"]
    assert path_problem(tmp_path / "x.src") is None


@pytest.mark.parametrize("suffix", COMPRESSED_SUFFIXES)
@pytest.mark.parametrize(("kind", "content"), [("tsv", "a\tb\tc\n"), ("jsonl", '{"src": "a", "mt": "b", "pe": "c"}\n')])
def test_a_table_may_be_compressed(suffix: str, kind: str, content: str, tmp_path: Path) -> None:
    (tmp_path / f"x.{kind}{suffix}").write_bytes(COMPRESS[suffix](content.encode()))
    for name in (f"x.{kind}{suffix}", f"x.{kind}"):
        (triplet,) = read_triplets(TripletFiles.of(tmp_path / name))
        assert triplet[:3] == ("a", "b", "c")


def test_a_triplet_file_that_is_cut_off_stops_the_check_with_its_own_name(tmp_path: Path) -> None:
    for side in ("src", "mt", "pe"):
        (tmp_path / f"x.{side}").write_text("a\n" * 50_000)
    (tmp_path / "x.mt").rename(tmp_path / "plain")
    (tmp_path / "x.mt.gz").write_bytes(gzip.compress(b"a\n" * 50_000)[:-20])
    with pytest.raises(DataError, match=r"x\.mt\.gz, line \d+: the gzip file is truncated"):
        check_files(TripletFiles.of(tmp_path / "x"))


def test_the_plain_file_goes_first(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("plain\n")
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"compressed\n"))
    assert find_file(tmp_path / "x") == tmp_path / "x"
    assert list(read_lines(tmp_path / "x")) == ["plain"]


def test_the_form_is_known_by_content_and_not_by_name(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(lzma.compress(b"a\n"))
    (tmp_path / "y.gz").write_bytes(b"a\n")
    assert list(read_lines(tmp_path / "x")) == list(read_lines(tmp_path / "y.gz")) == ["a"]
    assert plain_name("x.src.zst") == "x.src"
    assert plain_name("x.src") == "x.src"


def test_a_pipe_may_be_compressed(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with io.FileIO(writer, "wb") as file:
        file.write(gzip.compress(b"a\nb\n"))
    assert list(read_lines(Path(f"/dev/fd/{reader}"))) == ["a", "b"]
    os.close(reader)


@pytest.mark.parametrize("suffix", ["", *COMPRESSED_SUFFIXES])
def test_a_line_that_no_memory_can_hold_is_refused_before_it_is_read(suffix: str, tmp_path: Path) -> None:
    compress = COMPRESS.get(suffix, bytes)
    (tmp_path / f"x{suffix}").write_bytes(compress(b"a\n" + b"b" * (1 << 24)) + compress(b"b"))
    with pytest.raises(DataError, match=rf"x{suffix}, line 2: longer than 16 MiB"):
        list(read_lines(tmp_path / f"x{suffix}"))
    (tmp_path / f"x{suffix}").write_bytes(compress(b"a\n" + b"b" * ((1 << 24) - 1) + b"\n"))
    assert [len(line) for line in read_lines(tmp_path / f"x{suffix}")] == [1, (1 << 24) - 1]
