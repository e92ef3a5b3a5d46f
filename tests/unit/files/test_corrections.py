"""Corrections of units: which edits are written, and which are given up."""

import re
from collections import Counter
from itertools import accumulate

import pytest
from code_tools import TAG, marked
from hypothesis import given
from hypothesis import strategies as st

from postedit.core.editor import Edit, PostEdit
from postedit.files.corrections import Corrected, correct, margins, note_of, place_translation, translated
from postedit.files.units import Unit
from postedit.files.xml_text import escape
from postedit.text.edits import apply_edits, changes

TOKEN = re.compile(r"\s+|\w+|[^\w\s]")


def corrected(before: str, output: str) -> Corrected:
    """Correct a target with tags; each run of words that differs is an edit of its own."""
    target = marked(before)
    return correct(Unit("1", marked(""), target), post_edit(target.text, output), escape)


def post_edit(mt: str, output: str) -> PostEdit:
    old, new = TOKEN.findall(mt), TOKEN.findall(output)
    starts, new_starts = ([0, *accumulate(map(len, tokens))] for tokens in (old, new))
    edits = tuple(
        Edit(one.op, (starts[one.mt[0]], starts[one.mt[1]]), (new_starts[one.pe[0]], new_starts[one.pe[1]]))
        for one in changes(old, new)
    )
    spans = tuple((0, 0) for _ in edits)
    return PostEdit(output, output != mt, edits=edits, token_spans=spans, confidences=tuple(1.0 for _ in edits))


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", TAG.sub("", text)))


def test_a_move_is_given_up_as_a_whole() -> None:
    found = corrected("Öffnen Sie <g>Datei</g> und <h>Fenster</h> nun.", "Öffnen Sie Fenster und Datei jetzt.")
    assert found.content == "Öffnen Sie <g>Datei</g> und <h>Fenster</h> jetzt."
    assert set(found.given_up) == {"lost pair"}


def test_moves_that_share_an_edit_are_given_up_together() -> None:
    found = corrected("<g>eins</g> a <h>zwei</h> b drei c vier", "zwei a drei b eins c fünf")
    assert found.content == "<g>eins</g> a <h>zwei</h> b drei c fünf"


def test_a_move_is_given_up_where_the_file_cannot_have_half_of_it() -> None:
    found = corrected("one a two b three", "two a one\x01 b four")
    assert found.content == "one a two b four"
    assert set(found.given_up) == {"character"}


def test_words_of_one_form_have_moved_rather_than_those_of_one_stem() -> None:
    found = corrected("<g>Datei</g> a <h>Dateien</h> b", "Dateien a Datei c")
    assert found.content == "<g>Datei</g> a <h>Dateien</h> c"


@pytest.mark.parametrize(
    ("before", "output", "expected", "edits"),
    [
        ("Klick <x/> zum Sichern", "Klicke zum Sichern", "Klicke <x/> zum Sichern", ["Klicke  "]),
        ("Ein <x/> zwei", "Ein zwei", None, []),
        ("Ein <x/> zwei drei", "Ein zwei vier", "Ein <x/> zwei vier", ["vier"]),
        ("Drücken Sie <x/>.", "Sie drücken.", "Sie drücken <x/>.", ["Sie", "drücken "]),
        ("Gehen Sie <x/><y/> nun", "Nun gehen Sie", "<x/><y/> Nun gehen Sie", None),
        ("eine rot <x/> erkannte", "eine rotannte", "eine <x/> rotannte", [" rotannte"]),
        ("Ein<x/> zwei drei", "Ein drei zwei", "Ein<x/> drei zwei", None),
        ("Ein <g>alter <x/> Text</g>", "Ein neuer Text", "Ein <g>neuer <x/> Text</g>", None),
        ("請 <x/> 點擊", "請點擊", "請<x/>點擊", None),
        ("請 <x/> OK 鈕", "請OK鈕", "請<x/>OK鈕", None),
        ("設定： <x/> OK 鈕", "設定：OK鈕", "設定：<x/> OK鈕", None),
        ("a <x/> !<y/> b", "Haus b", "Haus<x/><y/> b", ["Haus"]),  # no space would part both from the word
    ],
)
def test_a_code_that_stands_like_a_word_keeps_the_spaces_around_it(
    before: str, output: str, expected: str | None, edits: list[str] | None
) -> None:
    found = corrected(before, output)
    result = found.result
    assert (found.content, found.given_up, result.reverted) == (expected, (), 0)
    assert apply_edits(marked(before).text.strip(), result.text, result.edits) == result.text
    assert len(result.edits) == len(result.confidences) == len(result.token_spans)
    assert edits is None or [result.text[slice(*edit.pe_span)] for edit in result.edits] == edits


@pytest.mark.parametrize("edits", [(), (Edit("insert", (0, 0), (0, 10)),)])
def test_a_translation_has_the_spaces_that_were_put_around_its_codes(edits: tuple[Edit, ...]) -> None:
    placed = place_translation(marked(" Press <x/> now"), PostEdit("Nun tippen", changed=True, edits=edits), escape)
    assert placed.codes is not None
    assert placed.codes.written(escape) == " Nun <x/> tippen"
    assert placed.codes.output == f" {placed.result.text}" == " Nun  tippen"
    assert [edit.pe_span for edit in placed.result.edits] == [(0, 11) for _ in edits]


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("Press <x/>.", "Drücken", "<x/> Drücken"),
        ("Press <x/>.", "Press", "Press <x/>"),
        ("Seite <x/> von <y/> ", "Von Seite", "<x/> Von Seite <y/> "),
        (" Seite <x/> von", " von Seite ", " <x/> von Seite"),
    ],
)
def test_spaces_for_codes_at_the_ends_of_translations_are_kept(source: str, text: str, expected: str) -> None:
    found = place_translation(marked(source), PostEdit(text, changed=True), escape)
    assert found.codes is not None
    assert found.codes.written(escape) == expected
    (lead, tail), (start, end) = margins(marked(source).text), margins(text)
    output = found.codes.output
    assert start + output[len(lead) : len(output) - len(tail)] + end == found.result.text
    assert translated(Unit("1", marked(source), None), text, escape) == expected


WORDS = st.lists(st.sampled_from(["Datei", "Dateien", "und", "1,5", "Sie", "öffnen", "a", "b"]), min_size=2, max_size=9)


@st.composite
def texts_and_moves(draw: st.DrawFn) -> tuple[str, str]:
    """Draw words, some of them in tags, and the same words with several of them in other places."""
    own = draw(WORDS)
    tagged = [f"<{name}>{word}</{name}>" if (name := draw(st.sampled_from(["", "g", "h"]))) else word for word in own]
    other = list(own)
    for _ in range(draw(st.integers(1, 3))):
        moved = other.pop(draw(st.integers(0, len(own) - 1)))
        other.insert(draw(st.integers(0, len(own) - 1)), moved)
    return " ".join(tagged), " ".join(other)


@given(texts_and_moves())
def test_no_word_is_lost_or_doubled_where_words_only_move(drawn: tuple[str, str]) -> None:
    before, output = drawn
    found = corrected(before, output)
    assert words(found.result.text) == words(before)
    if found.content is not None:
        assert words(found.content) == words(before)


def test_more_codes_and_words_than_can_be_placed_soon_are_left_alone() -> None:
    before = " ".join(f"<g>word{row}</g>" for row in range(800))
    found = corrected(before, TAG.sub("", before).replace("word7 ", "new "))
    assert (found.content, found.given_up) == (None, ("too many codes",))


@pytest.mark.parametrize(
    ("confidence", "shown"),
    [
        (1.0, "100%"),
        (0.9975, "99%"),
        (0.985, "98%"),
        (0.4, "40%"),
        (0.004, "1%"),
        (1e-9, "1%"),
        (0.0, "0%"),
        (float("nan"), "nan%"),
    ],
)
def test_notes_say_certain_only_of_what_is_certain(confidence: float, shown: str) -> None:
    result = PostEdit("b", changed=True, edits=(Edit("replace", (0, 1), (0, 1)),), confidences=(confidence,))
    assert note_of("a", result) == f'"a" -> "b" ({shown})'
