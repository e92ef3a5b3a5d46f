"""Strict parsing of answers: each id once, with its correction, and nothing else, or the whole answer is at fault."""

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

dropped: a segment has no correction, or a blank one. merged: a correction includes the text of another segment.
doubled: a segment has two corrections. misplaced: a correction belongs to another segment. unknown id: an id belongs to
no segment. cut off: the text ends too early. refused: the model, or a filter, refuses to answer. language: a correction
is not in the language of mt. chatter: there is text outside of the corrections. unrelated: a correction keeps too
little of mt. unreadable: the answer does not have the requested form. rejected: the server rejects the request. no
reply: the server failed, even after all retries.
"""


@dataclass(frozen=True, slots=True)
class ErrorSpan:
    """An error that a model found in a translation: the words concerned, a category and a severity."""

    span: str
    category: str
    severity: str


@dataclass(frozen=True, slots=True)
class Item:
    """The answer about one segment, and how much of mt it keeps, from 0 to 1 (see `checks.kept`)."""

    correction: str
    errors: tuple[ErrorSpan, ...] = ()
    kept: float = 1.0


class AnswerError(Exception):
    """The answer to a whole request cannot be used."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault: Fault = fault


REFUSAL: Final = re.compile(
    r"\bI(?:['’]m| am) (?:sorry|afraid),? (?:but )?I (?:can(?:['’]t|not)|am unable|won['’]t)\b"
    r"|\bI (?:can(?:['’]t|not)|am unable to|will not|won['’]t) (?:assist|help|comply|provide|fulfil|do that|process)"
    r"|\bas an? (?:AI(?: language)?(?: model| assistant)?|language model),? (?:I|my|it is not possible)\b"
    r"|\bas an assistant, I (?:can(?:['’]t|not)|am (?:not able|unable)|won['’]t)\b",
    re.IGNORECASE,
)
"""Phrases with which assistants refuse a request."""

_LONGEST_TEXT: Final = 2000  # most characters of each text about an error

_THOUGHTS_END: Final = "</think>"  # chat templates may open the thoughts themselves, so that an answer only ends them
_FENCE: Final = re.compile(r"```(?:json)?[ \t]*\n(.*)\n?```\Z", re.DOTALL | re.IGNORECASE)


def parse_answer(text: str, identifiers: Sequence[str], form: AnswerForm) -> dict[str, Item]:
    """Return the item of each segment by its id.

    The text must be one JSON object, or only the list within it. The thoughts of a reasoning model before it, and a
    code fence around it, are ignored.

    Raises:
        AnswerError: if an id is missing, repeated or unknown, or the text does not have the form `form`.
    """
    items = [_item(one, form) for one in _items(text.strip())]
    counts = Counter(identifier for identifier, _ in items)
    if any(count > 1 for count in counts.values()):
        raise AnswerError("doubled")
    if counts.keys() - set(identifiers):
        raise AnswerError("unknown id")
    if set(identifiers) - counts.keys() or any(not item.correction.strip() for _, item in items):
        raise AnswerError("dropped")
    return dict(items)


def _items(text: str, *, may_think: bool = True) -> list[Any]:
    if not text:
        raise AnswerError("dropped")
    fenced = _FENCE.match(text)
    body = fenced.group(1).strip() if fenced else text
    try:
        value = json.loads(body, object_pairs_hook=_with_unique_keys)
    except (ValueError, RecursionError, AnswerError) as error:  # invalid JSON, or a number with thousands of digits
        _, thoughts_end, rest = text.partition(_THOUGHTS_END)
        if may_think and thoughts_end:
            return _items(rest.strip(), may_think=False)
        raise error if isinstance(error, AnswerError) else AnswerError(_fault_of(body)) from None
    if isinstance(value, dict) and list(value) == ["segments"]:
        value = value["segments"]
    if not isinstance(value, list):
        raise AnswerError("unreadable")
    return value


def _with_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise AnswerError("doubled")
    return found


def _fault_of(text: str) -> Fault:
    """Return the fault of a text that is not valid JSON."""
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
    """Return whether a value is a string of reasonable length without control characters or surrogates."""
    return (
        isinstance(value, str)
        and len(value) <= _LONGEST_TEXT
        and not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in value if letter not in "\n\r\t")
    )
