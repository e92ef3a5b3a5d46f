"""Inline codes of segments as the API gives them."""

import json

import pytest

from postedit.files.marked_text import Code, MarkedText
from postedit.serve import segment_codes
from postedit.serve.segment_codes import code_ids, marked_text_of, marks_of


def marked(keys: list[str]) -> MarkedText:
    """Return a text that consists of codes with some keys."""
    return MarkedText("", {}, tuple((0, Code(f"<x id='{key}'/>", "alone", "", key)) for key in keys))


def test_codes_have_the_ids_of_the_same_codes_in_another_text() -> None:
    source = marked(["a", "b", "c"])
    assert code_ids(source) == ["1", "2", "3"]
    assert code_ids(marked(["c", "d", "a", "c"]), source) == ["3", "2", "1", "4"]


def test_ids_of_many_codes_are_not_compared_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    class Counted(str):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    monkeypatch.setattr(segment_codes, "str", Counted, raising=False)
    many = marked([f"key {number}" for number in range(300)])
    assert code_ids(many, many) == [str(number) for number in range(1, 301)]
    assert compared < 10 * 300


@pytest.mark.parametrize(
    "code", [Code("<p>"), Code("<p>", "open", "p 1", "p", "cdata", parts_words=False, ends_words=True)]
)
def test_codes_come_back_from_the_database_as_they_were(code: Code) -> None:
    marked = MarkedText("Save .", {5: "&#46;"}, ((0, code),))
    assert marked_text_of(marked.text, marks_of(marked)) == marked


def test_marks_of_codes_that_end_no_words_are_those_of_older_files() -> None:
    marks = marks_of(MarkedText("Save", {}, ((0, Code("<x/>")),)))
    assert json.loads(marks)["codes"] == [[0, "<x/>", "alone", "", "", "", True]], "so that repetitions are known"


@pytest.mark.parametrize(
    ("raw", "label"),
    [
        ('&lt;a href=&quot;?b&amp;amp;c"&gt;', '<a href="?b&amp;c">'),
        ("<a\n  href='?b&copy=2'>", "<a href='?b&copy=2'>"),
    ],
)
def test_labels_of_codes_are_written_as_people_write_markup(raw: str, label: str) -> None:
    (code,) = segment_codes.api_codes(MarkedText("", {}, ((0, Code(raw)),)))
    assert code["label"] == label
