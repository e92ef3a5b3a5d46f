"""Parse answers strictly: each id once, with its correction, and nothing else; or a fault of the whole answer."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from postedit.llm.prompts import AnswerForm

Fault = Literal[
    "dropped",
    "merged",
    "doubled",
    "misplaced",
    "unknown id",
    "cut off",
    "refused",
    "language",
    "chatter",
    "unrelated",
    "unreadable",
    "rejected",
    "no reply",
]
"""What is wrong with an answer.

dropped: a segment has none, or a blank one. merged: it has the text of another segment as well. doubled: it has two.
misplaced: it is that of another segment. unknown id: it is that of no segment. language: it is in another one than mt.
chatter: there is text that belongs to no correction. unrelated: it keeps too little of mt to be a correction.
unreadable: it has not the form that was asked for. rejected: the server does not take the request. no reply: the server
failed again and again.
"""


@dataclass(frozen=True, slots=True)
class ErrorSpan:
    """An error that a model found in a translation: some words of it, a category and a severity."""

    span: str
    category: str
    severity: str


@dataclass(frozen=True, slots=True)
class Item:
    """The answer about one segment, and how much of mt it keeps (see `checks.kept`)."""

    correction: str
    errors: tuple[ErrorSpan, ...] = ()
    kept: float = 1.0


class AnswerError(Exception):
    """An answer of which nothing can be trusted."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault: Fault = fault


REFUSAL: Final = re.compile(
    r"\bI(?:['’]m| am) (?:sorry|afraid),? (?:but )?I (?:can(?:['’]t|not)|am unable|won['’]t)\b"
    r"|\bI (?:can(?:['’]t|not)|am unable to|will not|won['’]t) (?:assist|help|comply|provide|fulfil|do that|process)"
    r"|\bas an? (?:AI|language model|assistant)\b",
    re.IGNORECASE,
)
"""Sentences by which assistants refuse."""

_LONGEST_TEXT: Final = 2000  # characters of what is said of an error

_THOUGHT: Final = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE: Final = re.compile(r"```(?:json)?[ \t]*\n(.*)\n?```\Z", re.DOTALL | re.IGNORECASE)


def parse_answer(text: str, identifiers: Sequence[str], form: AnswerForm) -> dict[str, Item]:
    """Return the item of each segment asked about, by its id.

    The text is one JSON object, or the list within it; the thoughts of a reasoning model before it, and one fence of
    code around it, do not count.

    Raises:
        AnswerError: if any id is missing, twice there or unknown, or the text has another form.
    """
    items = [_item(one, form) for one in _items(_THOUGHT.sub("", text, count=1).strip())]
    counts = Counter(identifier for identifier, _ in items)
    if any(count > 1 for count in counts.values()):
        raise AnswerError("doubled")
    if counts.keys() - set(identifiers):
        raise AnswerError("unknown id")
    if set(identifiers) - counts.keys() or any(not item.correction.strip() for _, item in items):
        raise AnswerError("dropped")
    return dict(items)


def _items(text: str) -> list[Any]:
    if not text:
        raise AnswerError("dropped")
    fenced = _FENCE.match(text)
    body = fenced.group(1).strip() if fenced else text
    try:
        value = json.loads(body, object_pairs_hook=_once)
    except (ValueError, RecursionError):  # of JSON, or of a number of thousands of digits
        raise AnswerError(_fault_of(body)) from None
    if isinstance(value, dict) and list(value) == ["segments"]:
        value = value["segments"]
    if not isinstance(value, list):
        raise AnswerError("unreadable")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise AnswerError("doubled")
    return found


def _fault_of(text: str) -> Fault:
    """Return what is wrong with a text that is no JSON."""
    if REFUSAL.search(text):
        return "refused"
    start = min((place for place in (text.find("{"), text.find("[")) if place >= 0), default=-1)
    if start < 0:
        return "chatter"
    try:
        json.JSONDecoder().raw_decode(text[start:])
    except json.JSONDecodeError as inner:
        open_string = inner.msg.startswith("Unterminated string")
        return "cut off" if open_string or inner.pos >= len(text[start:].rstrip()) else "unreadable"
    except (ValueError, RecursionError):
        return "unreadable"
    return "chatter"


def _item(value: Any, form: AnswerForm) -> tuple[str, Item]:
    keys = {"id", "correction"} | ({"errors"} if form == "errors" else set())
    if not isinstance(value, dict) or set(value) != keys:
        raise AnswerError("unreadable")
    identifier, correction, errors = value["id"], value["correction"], value.get("errors", [])
    if not isinstance(identifier, str) or not isinstance(correction, str) or not isinstance(errors, list):
        raise AnswerError("unreadable")
    return identifier, Item(correction, tuple(map(_error, errors)))


def _error(value: Any) -> ErrorSpan:
    names = ("span", "category", "severity")
    if not isinstance(value, dict) or set(value) != set(names) or not all(map(_is_text, value.values())):
        raise AnswerError("unreadable")
    return ErrorSpan(*(value[one] for one in names))


def _is_text(value: Any) -> bool:
    """Return whether a value is a text that can be written, of a length that people read."""
    return (
        isinstance(value, str)
        and len(value) <= _LONGEST_TEXT
        and not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in value if letter not in "\n\r\t")
    )
