"""Codes are taken out of text and set back by the alignment of mt and output."""

import random
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.files.marked_text import Code, MarkedText, TextChange, set_back
from postedit.files.xml_text import escape
from postedit.text.words import PlainSplitter

TAG = re.compile(r"(</?\w+/?>)")


def marked(text: str) -> MarkedText:
    """Return text with tags such as <g>, </g> and <x/> as codes."""
    parts: list[tuple[str, str] | Code] = []
    opened: list[tuple[str, str]] = []
    for number, piece in enumerate(TAG.split(text)):
        if not TAG.fullmatch(piece):
            parts += [(one, one) for one in piece]
        elif piece.endswith("/>"):
            parts.append(Code(piece))
        elif piece.startswith("</"):
            parts.append(Code(piece, "close", opened.pop()[1]))
        else:
            opened.append((piece, str(number)))
            parts.append(Code(piece, "open", str(number)))
    return MarkedText.of(parts)


def edited(before: MarkedText, output: str) -> str | list[int]:
    """Set the codes back into an output, with the edits of its words."""
    return set_back(before, output, differences(before.text, output), escape)


def differences(text: str, output: str) -> list[TextChange]:
    """Return one edit from the first to the last difference; alignment within it is left to `set_back`."""
    start = 0
    while start < min(len(text), len(output)) and text[start] == output[start]:
        start += 1
    end = 0
    while end < min(len(text), len(output)) - start and text[-1 - end] == output[-1 - end]:
        end += 1
    return [TextChange(False, (start, len(text) - end), (start, len(output) - end))] if text != output else []


@pytest.mark.parametrize(
    ("before", "output", "expected"),
    [
        ("Press <g>OK</g> now", "Press OK today", "Press <g>OK</g> today"),
        ("Press <g>OK</g> now", "Press the OK now", "Press the <g>OK</g> now"),
        ("Press <g>OK</g> now", "Press Yes now", "Press <g>Yes</g> now"),
        ("Press <g>OK</g>", "Press OK.", "Press <g>OK</g>."),
        ("the <g>red house</g> here", "the big red houses here", "the big <g>red houses</g> here"),
        ("a<x/> b", "a c b", "a<x/> c b"),
        ("a <x/>b", "a c b", "a c <x/>b"),
        ("line<x/>break", "line break", "line<x/>break"),
        ("line<x/>break", "line brake", "line<x/>brake"),
        ("<g>all of it</g>", "all of them", "<g>all of them</g>"),
        ("<g><x/>one</g> two", "one three", "<g><x/>one</g> three"),
        ("un<g>do</g> it", "un do it", "un <g>do</g> it"),
        ("<a>one</a> <b>two</b>", "one and two", "<a>one</a> and <b>two</b>"),
    ],
)
def test_codes_follow_the_words_they_stand_at(before: str, output: str, expected: str) -> None:
    assert edited(marked(before), output) == expected


@pytest.mark.parametrize(
    ("before", "output"),
    [
        ("Press <g>OK</g> now", "Press now"),
        ("wo<g>rd</g> here", "other here"),
        ("one two", "one \x01"),
        ("a b >", "a <b >"),
    ],
)
def test_edits_without_a_sound_place_for_codes_are_at_fault(before: str, output: str) -> None:
    assert edited(marked(before), output) == [0]


def test_unchanged_characters_keep_how_they_are_written() -> None:
    before = MarkedText.of([("a", "a"), ("&", "&#38;"), ("b", "b"), (" ", "&#x20;"), ("c", "c")])
    assert edited(before, "a&b d") == "a&#38;b&#x20;d"
    assert edited(before, "a&b <c") == "a&#38;b&#x20;&lt;c"


def test_escaped_markup_and_entities_are_codes_and_characters() -> None:
    raw = "Press &lt;b&gt;OK&lt;/b&gt;&amp;nbsp;&lt;br/&gt;now &amp;amp; then"
    pieces = re.findall(r"&\w+;|.", raw)
    letters = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
    found = MarkedText.of([(letters.get(piece, piece), piece) for piece in pieces])
    assert found.text == "Press OK\xa0now & then"
    assert [(code.kind, code.raw) for _, code in found.codes] == [
        ("open", "&lt;b&gt;"),
        ("close", "&lt;/b&gt;"),
        ("alone", "&lt;br/&gt;"),
    ]
    assert found.written() == raw
    assert edited(found, "Press Yes\xa0now & then") == raw.replace("OK", "Yes")


def test_tags_of_unknown_partners_stand_alone() -> None:
    found = MarkedText.of([(one, one) for one in "</i>a <b>c < d <br> x&y;z"])
    assert [(code.kind, code.raw) for _, code in found.codes] == [
        ("alone", "</i>"),
        ("alone", "<b>"),
        ("alone", "<br>"),
        ("alone", "&y;"),
    ]


def cdata(text: str, codec: str = "utf-8") -> MarkedText:
    opening = Code("<![CDATA[", "open", "1", literal=codec)
    return MarkedText.of([opening, *[(one, one) for one in text], Code("]]>", "close", "1")])


def test_text_in_cdata_is_written_without_escapes() -> None:
    assert edited(cdata("a b"), "a & b") == "<![CDATA[a & b]]>"


@pytest.mark.parametrize(("before", "output"), [("a b", "a ]]> b"), ("x ]] y", "x ]]> y"), ("x ]]y> z", "x ]]> z")])
def test_no_edit_ends_a_cdata_section(before: str, output: str) -> None:
    assert edited(cdata(before), output) == [0]
    assert edited(MarkedText(before, before), output) == [0]  # nor is it allowed in other text of XML


def test_of_edits_in_cdata_those_that_the_encoding_lacks_are_at_fault() -> None:
    edits = [TextChange(False, (0, 1), (0, 1)), TextChange(False, (2, 3), (2, 3))]
    assert set_back(cdata("a b", "iso-8859-1"), "é 語", edits, escape) == [1]
    assert set_back(cdata("a b"), "é 語", edits, escape) == "<![CDATA[é 語]]>"
    assert set_back(MarkedText("a b", "a b"), "é 語", edits, escape) == "é 語"


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("one<x/>two", "one two"),
        ("我<x/>们", "我们"),
        ("用<x/>Word", "用Word"),
        ("ไ<x/>ท", "ไท"),
        ("한<x/>국", "한 국"),
    ],
)
def test_codes_part_the_words_of_scripts_with_spaces(before: str, text: str) -> None:
    assert marked(before).text == text


@pytest.mark.parametrize("text", ["<!--" * 20_000, "<a>" * 20_000 + "</b>" * 20_000], ids=["comments", "tags"])
def test_time_does_not_grow_with_the_square_of_the_markup(text: str) -> None:
    begin = time.process_time()
    MarkedText.of([(one, one) for one in text])
    assert time.process_time() - begin < 2


def test_a_close_tag_ends_the_last_open_tag_of_its_name() -> None:
    found = MarkedText.of([(one, one) for one in "<a>1<a>2<b>3</a>4</b>5</a>"])
    assert [(code.kind, code.raw) for _, code in found.codes] == [
        ("open", "<a>"),
        ("open", "<a>"),
        ("alone", "<b>"),
        ("close", "</a>"),
        ("alone", "</b>"),
        ("close", "</a>"),
    ]


WORDS = st.lists(st.sampled_from(["a", "bc", "def", "1,5", "é", "."]), min_size=1, max_size=8)


@st.composite
def texts_with_codes(draw: st.DrawFn) -> str:
    words = draw(WORDS)
    pieces = [word + draw(st.sampled_from([" ", "", "  ", "<x/>", " <x/>", "<x/> "])) for word in words]
    for name in draw(st.lists(st.sampled_from(["g", "h"]), max_size=3)):
        start = draw(st.integers(0, len(pieces) - 1))
        end = draw(st.integers(start, len(pieces) - 1))
        inner = "".join(pieces[start : end + 1])
        pieces[start : end + 1] = [f"<{name}>{inner}</{name}>"]
    return "".join(pieces)


@given(texts_with_codes(), st.randoms(use_true_random=False))
def test_codes_stay_the_same_nested_and_in_order(text: str, rng: random.Random) -> None:
    before = marked(text)
    words = PlainSplitter().words(before.text)
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(words) + 1)
        words[at : at + rng.randrange(3)] = rng.choices(["new", "bc", "def"], k=rng.randrange(3))
    output = " ".join(words)
    found = edited(before, output)
    if isinstance(found, list):
        assert found == [0]
        return
    assert TAG.findall(found) == TAG.findall(text)
    without = TAG.sub("", found)
    assert without.split() == output.split() or without.replace(" ", "") == output.replace(" ", "")


@given(texts_with_codes())
def test_an_unchanged_output_is_written_as_before(text: str) -> None:
    before = marked(text)
    assert before.written() == text
    assert edited(before, before.text) == text
