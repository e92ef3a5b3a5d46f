"""Text of files, its inline codes, and how unusual characters are written."""

import re
import time

import pytest
from code_tools import marked

from postedit.files.marked_text import MARKUP, PHRASE_MARKUP, MarkedText
from postedit.serve.segment_codes import marked_text_of, marks_of


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


def test_tags_of_unknown_partners_stand_alone() -> None:
    found = MarkedText.of([(one, one) for one in "</i>a <b>c < d <br> x&y;z"])
    assert [(code.kind, code.raw) for _, code in found.codes] == [
        ("alone", "</i>"),
        ("alone", "<b>"),
        ("alone", "<br>"),
        ("alone", "&y;"),
    ]


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("one<x/>two", "one two"),
        ("我<x/>们", "我们"),
        ("用<x/>Word", "用Word"),
        ("ไ<x/>ท", "ไท"),
        ("한<x/>국", "한 국"),
        ("की<x/>राम", "की राम"),
        ("<x/>राम<x/>।", "राम।"),
    ],
)
def test_codes_part_the_words_of_scripts_with_spaces(before: str, text: str) -> None:
    assert marked(before).text == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("<ul><li>One</li><li>Two</li></ul>", "One Two"),
        ("<P>One</P><p>Two</p>", "One Two"),
        ("<div>One</div>Two", "One Two"),
        ("One<br/><b>Two</b>", "One Two"),
        ("<i>One</i><br><b>Two</b>", "One Two"),
        ("<td>One</td><td><b>Two</b></td>", "One Two"),
        ("<b>un</b><i>believ</i>able", "unbelievable"),
        ("<p>一</p><p>二</p>", "一二"),
    ],
)
def test_line_breaks_and_blocks_of_html_part_words(raw: str, text: str) -> None:
    found = MarkedText.of([raw])
    assert (found.text, found.written()) == (text, raw)


def test_a_directive_of_gettext_is_one_code() -> None:
    text = "%<PRIuMAX> of %2$-10.3<PRIdFAST16>, 5% <PRICE>x</PRICE>"
    marked = MarkedText.of([text])
    codes = [(code.raw, code.kind) for _, code in marked.codes]
    assert codes[:2] == [("%<PRIuMAX>", "alone"), ("%2$-10.3<PRIdFAST16>", "alone")]
    assert codes[2:] == [("<PRICE>", "open"), ("</PRICE>", "close")]  # % and a tag of another kind
    assert (marked.text, marked.written()) == (" of , 5% x", text)


@pytest.mark.parametrize("text", ["<!--" * 20_000, "<a>" * 20_000 + "</b>" * 20_000], ids=["comments", "tags"])
def test_time_does_not_grow_with_the_square_of_the_markup(text: str) -> None:
    begin = time.thread_time()
    MarkedText.of([(one, one) for one in text])
    assert time.thread_time() - begin < 2


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


def test_only_characters_that_are_written_otherwise_have_a_raw_form() -> None:
    found = MarkedText.of(["a ", ("&", "&amp;"), ("b", "b"), "<i>", "c", "</i>"])
    assert (found.text, dict(found.raw)) == ("a &bc", {2: "&amp;"})
    assert list(found.parts())[:3] == ["a ", ("&", "&amp;"), "b"]
    assert found.written() == "a &amp;b<i>c</i>"


def test_a_space_for_a_code_is_written_as_nothing() -> None:
    found = MarkedText.of(["one", *marked("<x/>").parts(), "two", ("&", "&amp;"), "three"])
    assert (found.text, found.written()) == ("one two&three", "one<x/>two&amp;three")


def test_in_files_of_phrase_its_codes_are_codes() -> None:
    text = "Press {1>the {b>OK<b} key<1}{2} or {x>{i>no<x}<i} {word}"
    found = MarkedText.of([text], PHRASE_MARKUP)
    assert (found.text, found.written()) == ("Press the OK key or no {word}", text)
    assert [(code.kind, code.raw) for _, code in found.codes] == [
        ("open", "{1>"),
        ("open", "{b>"),
        ("close", "<b}"),
        ("close", "<1}"),
        ("alone", "{2}"),
        ("open", "{x>"),
        ("alone", "{i>"),
        ("close", "<x}"),
        ("alone", "<i}"),
    ]
    assert len(list(found.pairs())) == 3
    assert MarkedText.of([text]).codes == ()


@pytest.mark.parametrize("number", ["9" * 5_000, "x" + "f" * 5_000])
def test_an_endless_number_is_no_entity(number: str) -> None:
    text = f"a &#{number}; b"
    assert MarkedText.of([text], MARKUP) == MarkedText(text)


@pytest.mark.parametrize("text", ["a {1} b", "a"])
def test_stored_marks_say_which_markup_a_format_has(text: str) -> None:
    for markup in (MARKUP, PHRASE_MARKUP):
        marked = MarkedText.of([text], markup)
        assert marked_text_of(marked.text, marks_of(marked)) == marked
    assert marks_of(MarkedText.of(["a"])) == ""
