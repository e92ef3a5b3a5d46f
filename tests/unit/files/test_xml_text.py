"""Inline content of XML: codes of the dialects."""

import io
import re
from pathlib import Path

import pytest
from code_tools import set_back

from postedit.files.marked_text import MarkedText
from postedit.files.text_alignment import TextChange, TextSpan
from postedit.files.xml_reader import Collected, XmlReader
from postedit.files.xml_text import escape, marked_text, plain_text, with_attributes

PHRASE = ' xmlns:m="http://www.memsource.com/mxlf/2.0"'


def collect(content: str, root: str = "") -> Collected:
    file = io.BytesIO(f"<xliff{root}><target>{content}</target></xliff>".encode())
    (collected,) = XmlReader(Path("f.xlf"), frozenset(["target"]), {}).read(file)
    return collected


def read(content: str, root: str = "", *, before_changes: bool = False) -> MarkedText:
    collected = collect(content, root)
    return marked_text(collected, collected.element, before_changes=before_changes)


@pytest.mark.parametrize(
    "content", ["a <b>c</b> &amp; d", "a &lt;b&gt;c&lt;/b&gt; &amp; d", "a <![CDATA[<b>c</b> & d]]>"]
)
def test_notes_have_their_markup_but_no_comments(content: str) -> None:
    collected = collect(f"{content}<!-- e -->")
    assert plain_text(collected, collected.element) == "a <b>c</b> & d"


@pytest.mark.parametrize("content", ["{1}Press {2} now", "Press {b&gt;OK&lt;b} now{1}", "{1>a&lt;1}<x/>"])
def test_codes_of_phrase_are_codes_in_its_files_only(content: str) -> None:
    ours, others = read(content, PHRASE), read(content)
    assert not {"{", "<", ">"} & set(ours.text)
    assert "{" in others.text
    assert ours.written() == others.written() == content


def test_edits_write_no_codes_of_phrase() -> None:
    edits = [TextChange(TextSpan(0, 1), TextSpan(0, 3))]
    assert set_back(read("a", PHRASE), "{1}", edits, escape) == {0: "markup"}
    assert set_back(read("a"), "{1}", edits, escape) == "{1}"


def test_a_reference_may_begin_with_any_number_of_zeros() -> None:
    assert read(f"a&#{'0' * 5_000}98;&#x{'0' * 5_000}63;").text == "abc"


ADDED, DELETED = '<mrk mtype="x-sdl-added">{}</mrk>', '<mrk mtype="x-sdl-deleted">{}</mrk>'


@pytest.mark.parametrize(
    ("content", "text", "former"),
    [
        (f"Br{ADDED.format('ä')}{DELETED.format('a')}nde", "Brände", "Brande"),
        (f"Br{DELETED.format('a')}{ADDED.format('ä')}nde", "Brände", "Brande"),
        (f"H{DELETED.format('a')}äuser", "Häuser", "Haäuser"),
        (f"Haus{ADDED.format('es')}", "Hauses", "Haus"),
        (f"one<x/>{DELETED.format('a')}two", "one two", "one atwo"),
    ],
)
def test_tracked_changes_within_words_do_not_part_them(content: str, text: str, former: str) -> None:
    found, before = read(content), read(content, before_changes=True)
    assert (found.text, before.text) == (text, former)
    assert found.written() == before.written() == content


def _tag(name: str) -> str:
    return f'<x id="{name}" equiv-text="&lt;a&gt;"/>'


@pytest.mark.parametrize(
    ("content", "pairs"),
    [
        ("a {START_LINK}b{CLOSE_LINK}{LINE_BREAK} c", [(0, 1)]),
        ("{START_TAG_DIV}a {START_TAG_DIV_1}b{CLOSE_TAG_DIV} c{CLOSE_TAG_DIV}", [(1, 2), (0, 3)]),
        ("{CLOSE_LINK}a {START_BOLD_TEXT}b", []),
        ("{START_HEADING_LEVEL1}a {START_HEADING_LEVEL2}b{CLOSE_HEADING_LEVEL2}", [(1, 2)]),
        ("a {START}b {INTERPOLATION}", []),
    ],
)
def test_tags_of_angular_are_pairs(content: str, pairs: list[tuple[int, int]]) -> None:
    written = re.sub(r"\{(\w+)\}", lambda match: _tag(match[1]), content)
    found = read(written)
    assert (list(found.pairs()), found.written()) == (pairs, written)


def test_blocks_of_angular_end_words() -> None:
    start, end = _tag("START_LIST_ITEM"), _tag("CLOSE_LIST_ITEM")
    marked = read(f"{start}Rot{end}{start}Grün{end}")
    assert marked.text == "Rot Grün"
    assert marked.written() == f"{start}Rot{end}{start}Grün{end}"
    edits = [TextChange(TextSpan(3, 3), TextSpan(3, 4))]
    assert set_back(marked, "Rote Grün", edits, escape) == f"{start}Rote{end}{start}Grün{end}"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("&lt;li&gt;One&lt;/li&gt;&lt;li&gt;Two&lt;/li&gt;", "&lt;li&gt;One.&lt;/li&gt;&lt;li&gt;Two&lt;/li&gt;"),
        ("One&lt;br/&gt;&lt;b&gt;Two&lt;/b&gt;", "One.&lt;br/&gt;&lt;b&gt;Two&lt;/b&gt;"),
        ("<g id='1'>One</g>&lt;br&gt;Two", "<g id='1'>One</g>.&lt;br&gt;Two"),
    ],
)
def test_a_new_full_stop_belongs_to_the_line_before(raw: str, expected: str) -> None:
    marked = read(raw)
    assert set_back(marked, "One. Two", [TextChange(TextSpan(3, 3), TextSpan(3, 4))], escape) == expected


def test_blocks_of_angular_in_xliff_2_end_words() -> None:
    item = '<pc id="{0}" equivStart="START_LIST_ITEM" equivEnd="CLOSE_LIST_ITEM">{1}</pc>'
    marked = read(item.format(1, "Rot") + item.format(2, "Grün"))
    assert marked.text == "Rot Grün"
    edits = [TextChange(TextSpan(3, 3), TextSpan(3, 4))]
    expected = item.format(1, "Rote") + item.format(2, "Grün")
    assert set_back(marked, "Rote Grün", edits, escape) == expected


def test_tags_of_angular_move_with_their_words() -> None:
    start, end = _tag("START_BOLD_TEXT"), _tag("CLOSE_BOLD_TEXT")
    marked = read(f"Das {start}rote Auto{end} hier")
    edits = [TextChange(TextSpan(4, 4), TextSpan(4, 9)), TextChange(TextSpan(13, 18), TextSpan(18, 18))]
    assert set_back(marked, "Das hier rote Auto", edits, escape) == f"Das hier {start}rote Auto{end}"
    lost = [TextChange(TextSpan(4, 14), TextSpan(4, 4))]
    assert set_back(marked, "Das hier", lost, escape) == {0: "lost pair"}


@pytest.mark.parametrize("tag", ["<target{}>", "<target{}/>", '<target a="{}">', '<target{}a = "b"{}>'])
def test_tags_with_a_million_spaces_get_attributes(tag: str) -> None:
    spaces = " " * 1_000_000  # each of which quadratic time would compare with all others
    end = "/>" if tag.endswith("/>") else ">"
    stem = tag.removesuffix(end).removesuffix("{}").format(spaces)
    trailing = spaces if tag.removesuffix(end).endswith("{}") else ""
    assert with_attributes(tag.format(spaces, spaces), {"state": "new"}) == f'{stem} state="new"{trailing}{end}'
