"""Codes are set back into outputs: at their words, in order and nested."""

import random
import re

import pytest
from code_tools import TAG, differences, marked, set_back
from hypothesis import given
from hypothesis import strategies as st

from postedit.files.corrections import translated
from postedit.files.marked_text import Code, MarkedText
from postedit.files.text_alignment import TextChange, TextSpan
from postedit.files.units import Unit
from postedit.files.xml_text import escape
from postedit.text.words import PlainSplitter


def edited(before: MarkedText, output: str, source: MarkedText | None = None) -> str | list[int]:
    """Set the codes back into an output, with the edits of its words; return the edits at fault if there are any."""
    found = set_back(before, output, differences(before.text, output), escape, source)
    return found if isinstance(found, str) else sorted(found)


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
        ("(<g>OK</g>)", "(the OK)", "(the <g>OK</g>)"),
        ("<g>Click OK now.</g>", "Then click OK now.", "<g>Then click OK now.</g>"),
        ("<g>File</g>en open", "Fileen close", "<g>File</g>en close"),
        ("Pa<g>th</g>", "Path now", "Pa<g>th</g> now"),
        ("line<x/>break here", "line stop here", "line<x/>stop here"),
        ("line<x/>break here", "line big break here", "line<x/>big break here"),
        ("我<g>喜欢</g>你", "我很喜欢你", "我很<g>喜欢</g>你"),
        ("ไทย<x/>ดี", "ไทยไม่ดี", "ไทย<x/>ไม่ดี"),
        ("<g>هذا</g> كِتَاب", "هو كِتَاب هذا", "هو كِتَاب <g>هذا</g>"),
        ("<g>हिन्दी</g> है", "यह हिन्दी है", "यह <g>हिन्दी</g> है"),
        ("a <g>b</g> c", "a \ue000 c", "a <g>\ue000</g> c"),
        ("<a>one</a> <b>two</b>", "one and two", "<a>one</a> and <b>two</b>"),
    ],
)
def test_codes_follow_the_words_they_stand_at(before: str, output: str, expected: str) -> None:
    assert edited(marked(before), output) == expected


@pytest.mark.parametrize(
    ("before", "output", "expected"),
    [
        ("\nPress <x/> now", "\nNow press", "\n<x/>Now press"),
        ("Press <x/> now\n", "Now press\n", "<x/>Now press\n"),
        ("<x/>\nPress <x/> now\n<x/>", "\nNow press\n", "<x/>\n<x/>Now press\n<x/>"),
        ("Press <x/> now", "Now press\n", "Now press\n<x/>"),
        ("Press <x/> \n", "Push\n", "Push<x/>\n"),
        ("\n <x/>press", "\nPush", "\n<x/>Push"),
        ("\n<x/>\n", "\nPush\n", "\n<x/>Push\n"),
        ("a  <x/> b<y/> c  ", "a   ", "a  <x/><y/> "),  # a code between characters that are kept stays there
    ],
)
def test_codes_stay_within_the_white_space_at_the_ends(before: str, output: str, expected: str) -> None:
    assert edited(marked(before), output) == expected


@pytest.mark.parametrize(
    ("before", "output"),
    [
        ("Press <g>OK</g> now", "Press now"),
        ("wo<g>rd</g> here", "other here"),
        ("un<g>do</g> it", "un do it"),
        ("<a>one</a> <b>two</b>", "two one"),
        ("a <g>- <h>b</h></g>", "b a - c"),  # h would hold another word than its own
        ("d.<g>d</g>a", "dd da"),  # g would be empty, though its word is there
        ("one two", "one \x01"),
        ("a b >", "a <b >"),
    ],
)
def test_edits_without_a_sound_place_for_codes_are_at_fault(before: str, output: str) -> None:
    assert edited(marked(before), output) == [0]


@pytest.mark.parametrize(
    ("before", "output", "expected"),
    [
        ("Press <g>OK</g> now", "OK press now", "<g>OK</g> press now"),
        ("Press <x/>OK now", "OK press now", "<x/>OK press now"),
        ("<g>OK</g>-Taste drücken", "drücken OK-Taste", "drücken <g>OK</g>-Taste"),
        ("<g>the <x/>first</g> of all words", "all words of the first", "all words of <g>the <x/>first</g>"),
        ("用<x/>Word编辑", "编辑用Word", "编辑用<x/>Word"),
    ],
)
def test_codes_move_with_their_words(before: str, output: str, expected: str) -> None:
    assert edited(marked(before), output) == expected


@pytest.mark.parametrize(
    ("before", "output", "expected"),
    [
        ("12 7 <g>{0}</g> {0}", "{0} 7 12 {0}", "<g>{0}</g> 7 12 {0}"),
        ("{<x/>0} a b c d", "a b c d {0}", "a b c d {<x/>0}"),
    ],
)
def test_codes_enter_only_spans_that_they_divided_before(before: str, output: str, expected: str) -> None:
    assert edited(marked(before), output) == expected


def test_codes_take_the_order_of_the_source_where_words_do() -> None:
    before = marked("<a>one</a> and <b>two <x/></b>")
    for source, expected in (
        ("<b>zwei <x/></b> <a>eins</a>", "<b>two <x/></b> and <a>one</a>"),
        ("<a>eins</a> <b>zwei <x/></b>", [0]),  # the order of mt
        ("<b>zwei <x/></b> <c>eins</c>", [0]),  # has other codes
    ):
        assert edited(before, "two  and one", marked(source)) == expected
    assert (
        edited(before, "one and three ", marked("<b>zwei <x/></b> <a>eins</a>")) == "<a>one</a> and <b>three <x/></b>"
    )


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("<g>File</g>", "Datei", "<g>Datei</g>"),
        ("Press <g>F5</g> now.", "Nun F5 drücken.", "Nun <g>F5</g> drücken."),
        ("Version 3.5<x/> of <g>Word</g>", "Word, Version 3.5", None),  # codes keep the order of the source
        ("line<x/>break", "Zeilen Umbruch", "Zeilen<x/>Umbruch"),
        ("Click <x/> to save", "Zum Sichern klicken", "Zum <x/> Sichern klicken"),  # like a word
        ("Press <x/>.", "Drücken Sie.", "Drücken Sie <x/>."),
        ("<x/> <y/> of <z/>", "von", "<x/> <y/> von <z/>"),
        ("Click <x/> now", "请点击", "请<x/>点击"),
        ("Click <x/> to save", "点击，保存。", "点击<x/>，保存。"),
        ("Click <x/> now", "앱 누르기", "앱 <x/> 누르기"),
        ("one <g>two</g> three <h>four</h>", "eins zwei drei vier", "eins <g>zwei</g> drei <h>vier</h>"),
        ("<g>one</g> <h>two</h>", "eins", None),
        ("<g>m</g>ust", "muss", None),
    ],
)
def test_codes_of_the_source_stand_in_translations(source: str, output: str, expected: str | None) -> None:
    unit = Unit("1", marked(source), None)
    assert translated(unit, output, escape) == expected


def test_white_space_at_the_ends_of_the_source_stays_in_translations() -> None:
    source = MarkedText.of([Code("<x/>"), "\n One", (" ", "&#x20;")])
    assert translated(Unit("1", source, None), "Eins", escape) == "<x/>\n Eins&#x20;"


def test_a_target_of_other_codes_gets_no_translation() -> None:
    assert translated(Unit("1", marked("<x/>one"), marked("<x/>")), "eins", escape) == "<x/>eins"
    assert translated(Unit("1", marked("<x/>one"), marked("<y/>")), "eins", escape) is None


def test_unchanged_characters_keep_how_they_are_written() -> None:
    before = MarkedText.of([("a", "a"), ("&", "&#38;"), ("b", "b"), (" ", "&#x20;"), ("c", "c")])
    assert edited(before, "a&b d") == "a&#38;b&#x20;d"
    assert edited(before, "a&b <c") == "a&#38;b&#x20;&lt;c"


def cdata(text: str, codec: str = "utf-8") -> MarkedText:
    opening = Code("<![CDATA[", "open", "1", literal=codec)
    return MarkedText.of([opening, *[(one, one) for one in text], Code("]]>", "close", "1")])


def test_text_in_cdata_is_written_without_escapes() -> None:
    assert edited(cdata("a b"), "a & b") == "<![CDATA[a & b]]>"
    assert edited(cdata("a b"), "a \r b") == [0]  # which XML reads as a line feed


def test_characters_that_enter_or_leave_cdata_are_written_anew() -> None:
    parts = ["a ", *cdata("b & c").parts(), " d ", ("<", "&lt;"), " e"]
    before = MarkedText.of(parts)
    assert before.written() == "a <![CDATA[b & c]]> d &lt; e"
    assert edited(before, "& a b c < d e") in (
        "&amp; a <![CDATA[b c]]> &lt; d e",
        "<![CDATA[& a b c]]> &lt; d e",
    )


@pytest.mark.parametrize(("before", "output"), [("a b", "a ]]> b"), ("x ]] y", "x ]]> y"), ("x ]]y> z", "x ]]> z")])
def test_no_edit_ends_a_cdata_section(before: str, output: str) -> None:
    assert edited(cdata(before), output) == [0]
    assert edited(MarkedText(before), output) == [0]  # nor is it allowed in other text of XML


def test_of_edits_in_cdata_those_that_the_encoding_lacks_are_at_fault() -> None:
    edits = [TextChange(TextSpan(0, 1), TextSpan(0, 1)), TextChange(TextSpan(2, 3), TextSpan(2, 3))]
    assert set_back(cdata("a b", "iso-8859-1"), "é 語", edits, escape) == {1: "character"}
    assert set_back(cdata("a b"), "é 語", edits, escape) == "<![CDATA[é 語]]>"
    assert set_back(MarkedText("a b"), "é 語", edits, escape) == "é 語"


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


@pytest.mark.slow
@given(texts_with_codes(), st.randoms(use_true_random=False))
def test_codes_stay_the_same_nested_and_in_order(text: str, rng: random.Random) -> None:
    before = marked(text)
    words = PlainSplitter().words(before.text)
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(words) + 1)
        words[at : at + rng.randrange(3)] = rng.choices(["new", "bc", "def"], k=rng.randrange(3))
    rng.shuffle(words) if rng.random() < 0.3 else None
    output = " ".join(words)
    found = edited(before, output)
    if isinstance(found, list):
        assert found == [0]
        return
    assert TAG.findall(found) == TAG.findall(text)
    without = TAG.sub("", found)
    assert without.split() == output.split() or without.replace(" ", "") == output.replace(" ", "")


@pytest.mark.slow
@given(texts_with_codes(), st.sampled_from(["\n", "\n ", " \n"]), st.randoms(use_true_random=False))
def test_line_ends_at_the_ends_stay_there(text: str, end: str, rng: random.Random) -> None:
    before = marked(f"\n{text}{end}")
    words = PlainSplitter().words(before.text)
    found = edited(before, f"\n{' '.join(rng.sample(words, len(words)))}\n")
    assert isinstance(found, list) or (found[0], found[-1]) == ("\n", "\n")


@pytest.mark.slow
@given(texts_with_codes())
def test_an_unchanged_output_is_written_as_before(text: str) -> None:
    before = marked(text)
    assert before.written() == text
    assert edited(before, before.text) == text


def test_a_pair_within_a_word_keeps_text() -> None:
    before = marked("b a<x/><g>a </g>c")
    found = edited(before, "c aa b", None)
    assert isinstance(found, list) or empty_pairs(marked(found)) == 0


@pytest.mark.slow
@given(texts_with_codes(), st.randoms(use_true_random=False))
def test_codes_in_another_order_are_the_same_and_nested(text: str, rng: random.Random) -> None:
    before = marked(text)
    names = re.findall(r"<[gh]>.*?</[gh]>|<x/>", text)
    source = marked(" ".join(rng.sample(names, len(names))))
    words = PlainSplitter().words(before.text)
    output = " ".join(rng.sample(words, len(words)))
    found = edited(before, output, source)
    if isinstance(found, list):
        assert found == [0]
        return
    assert sorted(TAG.findall(found)) == sorted(TAG.findall(text))
    assert empty_pairs(marked(found)) <= empty_pairs(before)
    assert marked(found).written() == found  # `marked` needs proper nesting
    assert is_nested(TAG.findall(found))


@pytest.mark.slow
@given(texts_with_codes(), WORDS)
def test_translations_have_the_codes_of_their_source(text: str, words: list[str]) -> None:
    found = translated(Unit("1", marked(text), None), " ".join(words), escape)
    if found is not None:
        assert TAG.findall(found) == TAG.findall(text)
        assert TAG.sub("", found).replace(" ", "") == "".join(words)


def empty_pairs(found: MarkedText) -> int:
    places = [position for position, _ in found.codes]
    return sum(not found.text[places[opened] : places[closed]].strip() for opened, closed in found.pairs())


def is_nested(tags: list[str]) -> bool:
    """Return whether each end tag ends the last tag that is open."""
    opened: list[str] = []
    for tag in tags:
        if tag.startswith("</"):
            if not opened or opened.pop() != tag.replace("/", ""):
                return False
        elif not tag.endswith("/>"):
            opened.append(tag)
    return not opened
