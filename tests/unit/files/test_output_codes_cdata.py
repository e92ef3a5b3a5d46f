"""CDATA sections: entities in them are text of the file, escaped once more, and stay as they are written."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from code_tools import differences
from file_tools import patched, units_of
from hypothesis import assume, example, given
from hypothesis import strategies as st

from postedit.core.editor import Edit, PostEdit
from postedit.core.errors import DataError
from postedit.files.corrections import Corrected, correct
from postedit.files.marked_text import Code, MarkedText, Part
from postedit.files.output_codes import PlacedCodes
from postedit.files.text_alignment import TextAlignment
from postedit.files.tmx import Tmx
from postedit.files.units import Format, Unit
from postedit.files.xliff1 import Xliff1
from postedit.files.xliff2 import Xliff2
from postedit.files.xml_text import escape

FILES: list[tuple[Format, str, str]] = [
    (
        Xliff1(),
        '<xliff version="1.2"><file source-language="en" target-language="de"><body><trans-unit id="1">'
        "<source>a</source><target>",
        "</target></trans-unit></body></file></xliff>",
    ),
    (
        Xliff2(),
        '<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="de"><file id="f">'
        '<unit id="1"><segment><source>a</source><target>',
        "</target></segment></unit></file></xliff>",
    ),
    (
        Tmx(("en", "de")),
        '<tmx version="1.4"><header/><body><tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="de"><seg>',
        "</seg></tuv></tu></body></tmx>",
    ),
]


def corrected(unit: Unit, output: str) -> Corrected:
    """Return what is written for a target whose text, without white space at its ends, becomes an output."""
    assert unit.target is not None
    mt = unit.target.text.strip()
    edits = tuple(Edit("replace", (*one.old,), (*one.new,)) for one in differences(mt, output))
    result = PostEdit(
        output, output != mt, edits=edits, token_spans=tuple((0, 0) for _ in edits), confidences=(1.0,) * len(edits)
    )
    return correct(unit, result, escape)


def unit_of(target: str, file: int = 0) -> Unit:
    form, head, tail = FILES[file]
    (unit,) = units_of(form, (head + target + tail).encode(), Path("f"))
    return unit


def text_of(unit: Unit) -> MarkedText:
    assert unit.target is not None
    return unit.target


def replaced(target: str, old: str, new: str, file: int = 0) -> str | None:
    """Return a target in which a word of its text was replaced, None if it stays."""
    unit = unit_of(target, file)
    text = text_of(unit).text.strip()
    assert text.count(old) == 1, text
    return corrected(unit, text.replace(old, new)).content


@pytest.mark.parametrize("file", range(len(FILES)))
@pytest.mark.parametrize(
    "target",
    [
        "<![CDATA[他 出生 在 &lt;b&gt; alt 。]]>",
        "<![CDATA[alt &gt; x]]>",
        "<![CDATA[x &amp;lt; alt]]>",
        "<![CDATA[x <b>alt</b> &amp; y]]>",
        "<![CDATA[alt ]]&gt; x]]>",
        "<![CDATA[alt ]]]]><![CDATA[> x]]>",
        "<![CDATA[x &#60; &#x3c; &nbsp; &#150; < alt & > ]]>",
        "<![CDATA[x\r\nalt\r\ny]]>",
        "&lt; &amp;lt; <![CDATA[&lt; < alt]]> &#60; &amp;#60; &gt; >\r\n",
        "x <![CDATA[&lt;]]> <![CDATA[&gt; alt]]> y",
    ],
)
def test_an_edit_leaves_all_but_its_word_as_it_is_written(target: str, file: int) -> None:
    new = replaced(target, "alt", "neu", file)
    assert new == target.replace("alt", "neu")
    form, head, tail = FILES[file]
    data = patched(form, (head + target + tail).encode(), new)
    assert new.encode() in data
    ET.fromstring(data)


def test_an_edit_does_not_end_a_section_with_an_entity_after_it() -> None:
    target = "das <![CDATA[alt ]]&gt; <![CDATA[ x]]>"
    assert replaced(target, "alt", "a]]") == "das <![CDATA[a]] ]]&gt; <![CDATA[ x]]>"
    assert replaced("<![CDATA[alt > x]]>", "alt >", "]]>") is None


@pytest.mark.parametrize(
    ("target", "output", "expected"),
    [
        ("M&amp;amp;M rot", "rot M&M & A", "rot M&amp;amp;M &amp;amp; A"),
        ("&lt;b&gt;a &amp;lt; b&lt;/b&gt; c", "c a < b <", "c &lt;b&gt;a &amp;lt; b&lt;/b&gt; &amp;lt;"),
        ("<![CDATA[M&amp;M rot]]>", "rot M&M & A", "<![CDATA[rot M&amp;M &amp; A]]>"),
        ("<![CDATA[a&nbsp;b c]]>", "c a\u00a0b", "<![CDATA[c a&nbsp;b]]>"),
        ("a &amp;amp; b &amp; c", "a & b & c & d", "a &amp;amp; b &amp; c &amp; d"),  # not always an entity
    ],
)
def test_characters_that_are_entities_stay_so_where_words_move(target: str, output: str, expected: str) -> None:
    assert corrected(unit_of(target), output).content == expected


def section(text: str, codec: str = "utf-8") -> list[Part]:
    return [Code("<![CDATA[", "open", "1", literal=codec), text, Code("]]>", "close", "1")]


@pytest.mark.parametrize(
    ("parts", "start", "end", "expected"),
    [  # the characters `start` to `end` are in the section that was around "b"
        (["a ", *section("b")], 0, 3, "<![CDATA[a b]]>"),
        ([("<", "&lt;"), *section("b")], 0, 2, "<![CDATA[<b]]>"),
        ([("<", "&amp;lt;"), *section("b")], 0, 2, "<![CDATA[&lt;b]]>"),
        ([("<", "&#38;#60;"), *section("b")], 0, 2, "<![CDATA[&#60;b]]>"),
        ([("\u0096", "&#150;"), *section("b")], 0, 2, "<![CDATA[\u0096b]]>"),
        ([("\n", "\r\n"), *section("b")], 0, 2, "<![CDATA[\r\nb]]>"),
        ([*section("b & c")], 0, 1, "<![CDATA[b]]> &amp; c"),
        ([*section("b &lt; c")], 0, 1, "<![CDATA[b]]> &amp;lt; c"),
        ([*section("b ]]&gt; c")], 0, 1, "<![CDATA[b]]> ]]&amp;gt; c"),
        ([*section("b > c")], 0, 1, "<![CDATA[b]]> &gt; c"),
        ([*section("b &amp;lt; c")], 0, 1, "<![CDATA[b]]> &amp;amp;lt; c"),
    ],
)
def test_characters_that_change_sides_keep_their_meaning(
    parts: list[Part], start: int, end: int, expected: str
) -> None:
    marked = MarkedText.of(parts)
    stay = {position: position for position in range(len(marked.text))}
    placed = PlacedCodes(marked, marked.text, {0: start, 1: end}, stay)
    assert (placed.written(escape), placed.not_literal(escape)) == (expected, "")


@pytest.mark.parametrize(
    ("parts", "fault"), [([("\r", "&#13;")], "\r"), (["]]", (">", "&gt;")], "]]>"), ([("語", "&#35486;")], "語")]
)
def test_what_cannot_enter_a_section_is_told(parts: list[Part], fault: str) -> None:
    marked = MarkedText.of([*parts, *section("b", "iso-8859-1")])
    stay = {position: position for position in range(len(marked.text))}
    places = {0: 0, 1: len(marked.text)}
    assert PlacedCodes(marked, marked.text, places, stay).not_literal(escape) == fault


WORDS = ["alt", "b", "ß", "]]", ">", "&lt;", "&gt;", "&amp;", "&amp;lt;", "&nbsp;", "&#62;", "\r\n", "1,5", "."]
LITERAL = st.lists(st.sampled_from([*WORDS, "<", "&", "<b>", "</b>", "<br/>", "]]&gt;", "<b x"]), max_size=5)
ESCAPED = st.lists(st.sampled_from([*WORDS, "&#38;#60;", "&lt;b&gt;", "&lt;/b&gt;", "<x id='7'/>"]), max_size=5)


@st.composite
def targets(draw: st.DrawFn) -> str:
    """Targets of words in and outside of CDATA sections."""
    gap = st.sampled_from([" ", " ", ""])
    parts = []
    for literal in draw(st.lists(st.booleans(), min_size=1, max_size=4)):
        text = "".join(word + draw(gap) for word in draw(LITERAL if literal else ESCAPED))
        parts.append(f"<![CDATA[{text}]]>" if literal else text)
    return draw(gap).join(parts)


NEW = st.lists(st.sampled_from(["neu", "alt", "b", "]]", "]]>", ">", "<", "&", "lt;", "\n", "."]), max_size=2)


@pytest.mark.slow
@given(targets(), st.integers(0, 20), st.integers(0, 2), NEW)
@example("<![CDATA[<b x &lt; alt]]>", 3, 1, [">"])
@example("]]&gt; <![CDATA[alt b]]>", 1, 1, [])
def test_random_edits_keep_files_well_formed_and_characters(target: str, at: int, count: int, new: list[str]) -> None:
    try:
        unit = unit_of(target)
    except DataError:
        assume(False)
    before = text_of(unit)
    assert before.written() == target
    words = before.text.strip().split(" ")
    words[at : at + count] = new
    content, result, _ = corrected(unit, " ".join(words).strip())
    if content is None:
        return
    after = text_of(unit_of(content))
    assert without_spaces(after) == result.text.replace(" ", "").strip()
    assert [code.raw for _, code in after.codes] == [code.raw for _, code in before.codes]
    check_kept(before, after)


def without_spaces(marked: MarkedText) -> str:
    """Return a text without spaces, of which those at codes may be for the editor alone."""
    return marked.text.replace(" ", "").strip()


def check_kept(before: MarkedText, after: MarkedText) -> None:
    """Check that characters which stay are written as before, unless they left or entered a section."""
    if before.text.strip() == after.text.strip():
        return
    olds, news = sides(before), sides(after)
    for kept in TextAlignment(before.text, after.text, differences(before.text, after.text)).kept:
        for old, new in zip(range(*kept.old), range(*kept.new), strict=True):
            if (old in olds) == (new in news) and before.text[old] != " ":
                assert after.raw.get(new, after.text[new]) == before.raw.get(old, before.text[old])


def sides(marked: MarkedText) -> set[int]:
    pairs = [pair for pair in marked.pairs() if marked.codes[pair[0]][1].literal]
    return {at for one, two in pairs for at in range(marked.codes[one][0], marked.codes[two][0])}
