"""The format of a file is seen in its first bytes."""

import re
from pathlib import Path

import pytest

import postedit
from postedit.core.errors import DataError
from postedit.files.formats import FORMATS, format_of, is_translation_file
from postedit.files.options import SUFFIXES

HEADS = {
    "d.po": ("# comment", "PO"),
    "a.sdlxliff": ('<?xml version="1.0"?><xliff xmlns:sdl="x" version="1.2">', "XLIFF 1.2"),
    "b.xlf": ("<!-- c --><xliff version='2.1'>", "XLIFF 2"),
    "c.tmx": ('<!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx version="1.4">', "TMX"),
}


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", HEADS)
def test_the_format_is_that_of_the_content(name: str, codec: str, tmp_path: Path) -> None:
    head, expected = HEADS[name]
    path = tmp_path / name
    path.write_bytes(head.encode(codec))
    assert format_of(path).name == expected
    assert is_translation_file(path)


@pytest.mark.parametrize(
    "comment",
    ['<!-- <xliff version="1.2"> -->', '<!--\n<tmx version="1.4"> - -->', "<!---->", '<?x <xliff version="1.2"> ? ?>'],
)
def test_a_format_named_in_a_comment_does_not_count(comment: str, tmp_path: Path) -> None:
    path = tmp_path / "a.xlf"
    path.write_text(f'<?xml version="1.0"?>{comment}<xliff version="2.0">{comment}')
    assert format_of(path).name == "XLIFF 2"


@pytest.mark.parametrize("quoted", ["<tmx version='1.4'>", "<xliff version='1.2'>", "<xliff version='2.0'>"])
def test_a_format_quoted_in_a_po_file_does_not_count(quoted: str, tmp_path: Path) -> None:
    path = tmp_path / "a.po"
    path.write_text(f'msgid "{quoted}"\nmsgstr ""\n')
    assert format_of(path).name == "PO"


def test_a_format_quoted_in_a_section_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    path.write_text("<?xml version='1.0'?><tmx version='1.4'><body><![CDATA[<xliff version='1.2'>]]>")
    assert format_of(path).name == "TMX"


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_an_xml_file_named_po_has_the_format_of_its_content(codec: str, tmp_path: Path) -> None:
    path = tmp_path / "a.po"
    path.write_text('<xliff\nversion="1.2"', encoding=codec)
    assert format_of(path).name == "XLIFF 1.2"


def test_the_workbench_offers_files_with_all_suffixes() -> None:
    page = Path(postedit.__file__).with_name("serve") / "workbench/manage/files_view.js"
    (accepted,) = re.findall(r'accept="([^"]*)"', page.read_text())
    assert set(accepted.split(",")) == SUFFIXES


def test_each_format_has_a_name_of_its_own() -> None:
    assert [form.name for form in FORMATS] == [expected for _, expected in HEADS.values()]


@pytest.mark.parametrize("content", [b"", b"plain text", b"<html>", b'<xliff version="3.0">', b"\xff\xfe\0\xd8"])
def test_other_files_are_refused_with_what_can_be_read(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.xlf"
    path.write_bytes(content)
    assert not is_translation_file(path)
    with pytest.raises(DataError, match=r"a\.xlf: is not a translation file .* XLIFF 1\.2 .* TMX .* PO"):
        format_of(path)


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.po"):
        format_of(tmp_path / "none.po")
