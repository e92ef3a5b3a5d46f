"""XML is read with the position of each byte, and refused where it is hostile or broken."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers.expat import ParserCreate

import pytest

from postedit.core.errors import DataError
from postedit.files.xml_reader import Collected, Element, Markup, Text, XmlReader

PATH = Path("file.xml")


def read(data: bytes, *names: str) -> list[Collected]:
    return list(XmlReader(PATH, frozenset(names or ["unit"]), {"urn:own": "", "urn:other": "o"}).read(io.BytesIO(data)))


def spans(found: Collected, element: Element) -> list[str]:
    """Return the bytes of the tags and content of an element, as text, in order."""
    parts = [found.text(element.start, element.content)]
    for child in element.children:
        parts += spans(found, child) if isinstance(child, Element) else [found.text(child.start, child.end)]
    return parts if element.is_empty_tag else [*parts, found.text(element.close, element.end)]


def test_each_byte_of_an_element_belongs_to_one_part() -> None:
    unit = "<unit  a='1' >t&amp;x<x/ ><y>é\r\n</y ><!--c--><?p i?><![CDATA[<]]><z></z>\n</unit >".replace("/ >", "/>")
    (found,) = read(f"<r>\n {unit}</r>".encode())
    assert spans(found, found.element) == [
        "<unit  a='1' >", "t&amp;x", "<x/>", "<y>", "é\r\n", "</y >", "<!--c-->", "<?p i?>", "<![CDATA[", "<", "]]>",
        "<z>", "</z>", "\n", "</unit >",
    ]  # fmt: skip
    assert [type(child) for child in found.element.children][:4] == [Text, Element, Element, Markup]


@pytest.mark.parametrize(
    ("declared", "codec"),
    [
        ("utf8", "utf-8"),  # as ElementTree declares it
        ("UTF8", "utf-8-sig"),
        ("utf-8", "utf-16"),
        ("Unicode", "utf-16"),
        ("UTF-16", "utf-16-le"),  # without a mark
        ("UTF-16BE", "utf-16-be"),
    ],
)
def test_encodings_are_known_by_their_bytes_and_by_other_names(declared: str, codec: str) -> None:
    data = f'<?xml version="1.0" encoding="{declared}"?><r><unit>süß<x/>語</unit></r>'.encode(codec)
    (found,) = read(data)
    assert "".join(spans(found, found.element)) == "<unit>süß<x/>語</unit>"


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252"])
def test_offsets_are_bytes_of_the_encoding(codec: str) -> None:
    name = codec.removesuffix("-sig")
    data = f'<?xml version="1.0" encoding="{name}"?><r><unit>süß<x/>é</unit></r>'.encode(codec)
    (found,) = read(data)
    assert spans(found, found.element) == ["<unit>", "süß", "<x/>", "é", "</unit>"]


def test_elements_are_read_one_by_one_from_large_files() -> None:
    def chunks() -> bytes:
        return b"<r>" + b"".join(b"<unit>%d</unit>" % number for number in range(40_000)) + b"</r>"

    found = [one.text(one.element.content, one.element.close) for one in read(chunks())]
    assert found == [str(number) for number in range(40_000)]


def test_elements_are_the_same_in_whatever_pieces_a_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = "<r> <unit a='1'>süß<x/></unit> <unit>two</unit></r>".encode()
    for size in range(1, len(data)):
        monkeypatch.setattr("postedit.files.xml_reader._CHUNK", size)
        pieces = [spans(found, found.element) for found in read(data)]
        assert pieces == [["<unit a='1'>", "süß", "<x/>", "</unit>"], ["<unit>", "two", "</unit>"]]


class DeferringParser:
    """An expat parser that leaves each second chunk until the next one comes, as newer ones do with long comments."""

    def __init__(self, *given: Any) -> None:
        vars(self).update(_parser=ParserCreate(*given), _left=b"", _defers=False)

    def Parse(self, chunk: bytes, final: bool) -> None:  # noqa: N802
        left = self._left + chunk
        defers = not self._defers and not final
        vars(self).update(_left=left if defers else b"", _defers=defers)
        if not defers:
            self._parser.Parse(left, final)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._parser, name, value)

    def __getattr__(self, name: str) -> Any:
        return -1 if name == "CurrentByteIndex" and self._defers else getattr(self._parser, name)


def test_chunks_that_the_parser_leaves_for_later_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    data = "<r> <unit a='1'>süß<x/></unit> <!-- between --> <unit>two</unit></r>".encode()
    monkeypatch.setattr("xml.parsers.expat.ParserCreate", DeferringParser)
    for size in range(1, len(data)):
        monkeypatch.setattr("postedit.files.xml_reader._CHUNK", size)
        pieces = [spans(found, found.element) for found in read(data)]
        assert pieces == [["<unit a='1'>", "süß", "<x/>", "</unit>"], ["<unit>", "two", "</unit>"]]


def test_comments_longer_than_many_chunks_are_passed_over() -> None:
    long = "x" * 2**21
    data = f"<r><unit>one</unit><!--{long}--><unit>two</unit><!--{long}{long}--><unit a='{long}'>three</unit></r>"
    assert [one.text(one.element.content, one.element.close) for one in read(data.encode())] == ["one", "two", "three"]


def test_names_have_the_prefix_of_the_format_whatever_the_file_uses() -> None:
    spaces = b'xmlns:p="urn:own" xmlns:q="urn:other" xmlns:n="urn:new"'
    data = b'<p:r %b><p:unit q:a="1" n:b="2" c="3" xml:lang="de"/></p:r>' % spaces
    (found,) = read(data)
    assert found.element.attributes == {"o:a": "1", "{urn:new}b": "2", "c": "3", "xml:lang": "de"}
    assert [one.name for one in found.ancestors] == ["r"]


@pytest.mark.parametrize(
    "data",
    ['<r xmlns="urn:new"><unit>{}</unit></r>', '<n:r xmlns:n="urn:new" xmlns:p="urn:own"><n:unit>{}</n:unit></n:r>'],
)
def test_the_namespace_of_the_root_is_that_of_the_format(data: str) -> None:
    (found,) = read(data.format('<x xmlns="urn:far"/>').encode())
    assert [child.name for child in found.element.elements()] == ["{urn:far}x"]


def test_undeclared_prefixes_stay() -> None:
    (found,) = read(b"<r><unit><q:x/></unit></r>")
    assert [one.name for one in found.element.elements()] == ["q:x"]


def test_references_to_entities_are_never_expanded() -> None:
    (found,) = read(b'<!DOCTYPE r SYSTEM "file:///etc/passwd"><r><unit>a&unknown;b</unit></r>')
    assert spans(found, found.element)[1:-1] == ["a", "&unknown;", "b"]


PREFIXES = b"".join(
    b"<d %s>" % b" ".join(b'xmlns:p%d.%d="u"' % (depth, one) for one in range(450)) for depth in range(3)
)
DECLARED = b" ".join(b"a%d CDATA #IMPLIED" % number for number in range(501))
LAUGHS = b'<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><r><unit>&b;</unit></r>'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (LAUGHS, 'line 1, column 25: declares the entity "a"; remove the declaration'),
        (b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>', 'declares the entity "x"'),
        (b'<!DOCTYPE r [<!ENTITY % x SYSTEM "http://localhost/">%x;]><r/>', 'declares the entity "x"'),
        (b"<r>\n<unit></r>", "line 2, column 9: not well-formed XML: mismatched tag"),
        (b"<r><unit>", "not well-formed XML: no element found"),
        (b"", "line 1, column 1: not well-formed XML: no element found"),
        (b"<r>\xff</r>", "not well-formed XML: not well-formed (invalid token)"),
        (b"<d>" * 300 + b"</d>" * 300, "elements are nested more than 200 deep"),
        (b"<r " + b" ".join(b'a%d=""' % n for n in range(600)) + b"/>", "an element has more than 500 attributes"),
        (b"<r><unit>" + b"<x/>" * 100_001 + b"</unit></r>", "an element has more than 100,000 others within it"),
        (PREFIXES, "more than 1,000 prefixes of namespaces are declared"),
        (b'<!DOCTYPE r [<!ATTLIST x a CDATA "%s">]><r/>' % (b"a" * 1001), "too long default values; remove them"),
        (b"<!DOCTYPE r [<!ATTLIST x %s>]><r/>" % DECLARED, "declares too many attributes, or too long default values"),
        (b'<?xml version="1.0" encoding="klingon"?><r/>', 'has the unknown encoding "klingon"'),
        (b'<?xml version="1.0" encoding="utf-16"?><r/>', 'declares the encoding "utf-16", but is not in it'),
        (b'<?xml version="1.0" encoding="shift_jis"?><r/>', "has an encoding that cannot be read"),
    ],
)
def test_hostile_and_broken_files_are_refused_in_a_sentence(data: bytes, message: str) -> None:
    with pytest.raises(DataError) as raised:
        read(data)
    assert str(raised.value).startswith("file.xml: line ")
    assert message in str(raised.value)


def test_default_values_that_a_file_declares_are_values() -> None:
    (found,) = read(b"<!DOCTYPE r [<!ATTLIST unit a CDATA 'b' c CDATA #IMPLIED>]><r><unit/></r>")
    assert found.element.attributes == {"a": "b"}


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_half_a_surrogate_pair_is_named_with_its_line(codec: str) -> None:
    data = "\ufeff<r>\n<unit>a</unit>\n<unit>b\nc\ud800d</unit></r>".encode(codec, "surrogatepass")
    with pytest.raises(DataError, match=r"^file\.xml: line 4: has half of a character"):
        read(data)


def test_the_limit_of_elements_is_that_of_each_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.files.xml_reader._MAX_INSIDE", 2)
    assert len(read(b"<r>" + b"<unit><x/><x/></unit>" * 3 + b"</r>")) == 3


def test_an_element_without_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.files.xml_reader._MAX_ELEMENT", 2**20)
    with pytest.raises(DataError, match="an element is larger than 1 MB"):
        read(b"<r><unit>" + b"x" * 2**22)


class CountedChildren(list[Any]):
    """Children of an element that count how often all are looked at."""

    times = 0

    def __iter__(self) -> Iterator[Any]:
        self.times += 1
        return super().__iter__()


def test_children_with_a_name_are_looked_up_as_each_segment_may_ask() -> None:
    (found,) = read(b"<r><unit><x/>a<y/><x b='c'/></unit></r>")
    children = found.element.children = CountedChildren(found.element.children)
    assert [list(found.element.elements("x")) for _ in range(3)] == [[children[0], children[3]]] * 3
    assert (found.element.first("y"), found.element.first("z")) == (children[2], None)
    assert children.times == 1
