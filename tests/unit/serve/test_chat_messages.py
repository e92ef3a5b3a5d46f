"""The forms of chat messages."""

import json
import time
from contextlib import suppress

import pytest

from postedit.core.editor import Segment
from postedit.core.errors import DataError
from postedit.serve.chat_messages import read_task


@pytest.mark.parametrize(
    "message",
    [
        '{"source": "a b", "translation": "c\\nd"}',
        '{"src": "a b", "mt": "c\\nd", "other": 1}',
        "Source: a b\nTranslation: c\nd",
        "Correct this.\n\n**Source:** a b\n**Machine translation:** c\nd\n",
        '```json\n{"source": "a b", "translation": "c\\nd"}\n```\n',
        "source text: a b\nexisting translation: c\nd\nglossary:\n",
    ],
)
def test_each_form_has_source_and_translation(message: str) -> None:
    assert read_task(message).segments == [Segment("a b", "c\nd")]


@pytest.mark.parametrize(
    "message",
    [
        '{"source": "a", "translation": "b", "glossary": {"x": "y"}}',
        '{"source": "a", "translation": "b", "glossary": [{"source": "x", "target": " y ", "flags": []}]}',
        "Source: a\nTranslation: b\nGlossary:\n- x = y\n-\n",
        "Source: a\nTranslation: b\nGlossary:\nx -> y",
        "Glossary: x\ty\nSource: a\nTranslation: b",
        "Source: a\nTranslation: b\nGlossary:\n\nx = y\nz\n- = v\n\nAnswer briefly.",
    ],
)
def test_glossaries_are_read(message: str) -> None:
    glossary = read_task(message).glossary
    assert glossary is not None
    assert [(one.source, one.targets) for one in glossary.entries] == [("x", ("y",))]


def test_a_glossary_with_many_terms_alike_is_refused() -> None:
    terms = {f"a{' ' * count}b": "c" for count in range(1, 102)}
    with pytest.raises(DataError, match="101 terms that differ only"):
        read_task(json.dumps({"source": "a", "translation": "b", "glossary": terms}))
    forms = [{"source": "a", "target": f"b{number}"} for number in range(1001)]
    with pytest.raises(DataError, match="1,001 translations and forms"):
        read_task(json.dumps({"source": "a", "translation": "b", "glossary": forms}))


@pytest.mark.parametrize(
    ("glossary", "entry"),
    [
        ('{"x": "y", "z": 1}', 2),
        ('{"x": ["y"]}', 1),
        ('{"x": " "}', 1),
        ('[{"source": "x", "target": "y"}, {"source": "z"}]', 2),
        ('[{"term": "x", "translation": "y"}]', 1),
        ('[["x", "y"]]', 1),
        ("3", 1),
    ],
)
def test_a_glossary_with_an_entry_that_is_no_term_is_refused(glossary: str, entry: int) -> None:
    with pytest.raises(
        DataError, match=f"entry {entry} of the glossary is not a term with its translation; a glossary"
    ):
        read_task(f'{{"source": "a", "translation": "b", "glossary": {glossary}}}')


@pytest.mark.parametrize("glossary", ["null", "{}", "[]", '""', '"\\n-\\n"', '"none"'])
def test_an_empty_glossary_is_none(glossary: str) -> None:
    assert read_task(f'{{"source": "a", "translation": "b", "glossary": {glossary}}}').glossary is None


def test_several_strings_are_answered_as_a_list() -> None:
    task = read_task('{"strings": [{"source": "a", "translation": "b"}, {"source": "c"}]}')
    assert task.segments == [Segment("a", "b"), Segment("c")]
    assert task.to_edit(needs_mt=False) == task.segments
    assert task.answer(["ä", "d"], needs_mt=False) == '["ä", "d"]'
    assert task.to_edit(needs_mt=True) == [Segment("a", "b")]
    assert task.answer(["ä"], needs_mt=True) == '["ä", "c"]'


@pytest.mark.parametrize(
    "message",
    [
        "",
        "Hello",
        "{",
        "[]",
        "null",
        '{"source": 1, "translation": "a"}',
        '{"strings": []}',
        '{"strings": [{}]}',
        "[" * 9,
    ],
)
def test_other_messages_are_refused_with_the_forms(message: str) -> None:
    with pytest.raises(DataError, match="the last user message must have the source and its translation"):
        read_task(message)


@pytest.mark.parametrize(
    "message",
    [
        "Source: a\nTranslation: b\nGlossary:\n" + " " * 1300 + "x",
        "Source: a\nTranslation: b\nGlossary:\nx" + " " * 4000 + "y",
        "```" + "\n" * 2000 + "x",
    ],
)
def test_long_runs_of_spaces_take_no_longer_than_other_texts(message: str) -> None:
    started = time.thread_time()  # in which other threads of the tests take no part
    with suppress(DataError):
        read_task(message)
    assert time.thread_time() - started < 0.5
