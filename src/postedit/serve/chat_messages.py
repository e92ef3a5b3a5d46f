"""Chat messages parsed into a source, its existing translation and a glossary, in one of three forms.

1. A JSON object: {"source": ..., "translation": ..., "glossary": {term: translation}}; the answer is only the
   corrected translation.
2. A JSON object with several strings, as Weblate sends: {"strings": [{"source": ..., "translation": ...}, ...],
   "glossary": [{"source": ..., "target": ...}]}; the answer is a JSON list of the corrected translations. Strings may
   lack a translation, as when Weblate tests a service: if the model needs one, the answer has their source.
3. Labelled lines: "Source: ...", "Translation: ...", "Glossary:" and one term per line, "term = translation"; the
   answer is only the corrected translation.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from postedit.core.editor import Segment
from postedit.core.errors import DataError
from postedit.text.glossary import Glossary, GlossaryEntry

_SOURCE: Final = ("source", "src", "original", "source text")
_TRANSLATION: Final = ("translation", "mt", "machine translation", "existing translation", "draft")
_GLOSSARY: Final = ("glossary", "terms")
_LABEL: Final = re.compile(
    rf"^[ \t]*(?:[*#_]*)({'|'.join((*_SOURCE, *_TRANSLATION, *_GLOSSARY))})(?:[*_]*)[ \t]*:[*_]*[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_SEPARATOR: Final = re.compile("\t|=>|->|→|=|:")
_BULLETS: Final = "-*• \t"
_FENCE: Final = "```"

_FORMS: Final = (
    'the last user message must have the source and its translation: a JSON object {"source": "...", "translation": '
    '"..."}, one with several of them, {"strings": [{...}, ...]}, or the lines "Source: ..." and "Translation: ..."'
)

_GLOSSARY_FORMS: Final = (
    'a glossary is a JSON object {"term": "translation"}, a JSON list [{"source": "term", "target": "translation"}], '
    'or lines "term = translation"'
)


@dataclass(frozen=True, slots=True)
class ChatTask:
    """The task of a chat message.

    Args:
        segments: the segments of the message.
        glossary: the terms of the message; None if it has none.
        as_list: whether the answer is a JSON list.
    """

    segments: list[Segment]
    glossary: Glossary | None
    as_list: bool = False

    def to_edit(self, *, needs_mt: bool) -> list[Segment]:
        """Return the segments to edit; of a list, those without mt are left out if the model needs one."""
        return [one for one in self.segments if not self._stays(one, needs_mt)]

    def answer(self, texts: Sequence[str], *, needs_mt: bool) -> str:
        """Return the answer, from the corrections of `to_edit`; segments that were not edited get their source."""
        corrected = iter(texts)
        answers = [one.src if self._stays(one, needs_mt) else next(corrected) for one in self.segments]
        return json.dumps(answers, ensure_ascii=False) if self.as_list else answers[0]

    def _stays(self, segment: Segment, needs_mt: bool) -> bool:
        return self.as_list and needs_mt and segment.mt is None


def read_task(message: str) -> ChatTask:
    """Return the task of a message.

    Raises:
        DataError: if the message has none of the three forms, or its glossary has an entry that is none.
    """
    values = _json_object(_without_fence(message))
    if values is None:
        values = _labelled(message)
    glossary = _glossary(_first(values, _GLOSSARY))
    strings = values.get("strings")
    if isinstance(strings, list) and strings and all(isinstance(one, Mapping) for one in strings):
        return ChatTask([_segment(one) for one in strings], glossary, as_list=True)
    return ChatTask([_segment(values)], glossary)


def _without_fence(message: str) -> str:
    """Return the content of a message that is one fenced code block; other messages as they are."""
    text = message.strip()
    if len(text) < 2 * len(_FENCE) or not (text.startswith(_FENCE) and text.endswith(_FENCE)):
        return message
    language, _, content = text[len(_FENCE) : -len(_FENCE)].partition("\n")
    return content if language.strip() in ("", "json") else message


def _json_object(text: str) -> Mapping[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, Mapping) else None


def _labelled(message: str) -> dict[str, Any]:
    """Return the texts of labelled lines, each up to the next label."""
    labels = list(_LABEL.finditer(message))
    ends = [*(label.start() for label in labels), len(message)][1:]
    return {label[1].lower(): message[label.end() : end].strip("\r\n") for label, end in zip(labels, ends, strict=True)}


def _segment(values: Mapping[str, Any]) -> Segment:
    src, mt = _first(values, _SOURCE), _first(values, _TRANSLATION)
    if not isinstance(src, str) or not isinstance(mt, str | None):
        raise DataError(_FORMS)
    return Segment(src, given_mt(src, mt))


def given_mt(src: str, mt: str | None) -> str | None:
    """Return mt, or None if it is blank and the source is not: many tools send a blank one if there is no mt."""
    return None if mt is not None and src.strip() and not mt.strip() else mt


def _first(values: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((values[name] for name in names if name in values), None)


def _glossary(given: Any) -> Glossary | None:
    """Return the terms of an object, a list of pairs, or lines; None if there are none.

    Raises:
        DataError: if an entry is not a term with its translation, or too many terms are alike.
    """
    entries = []
    for number, pair in enumerate(_pairs(given), start=1):
        source, target = (one.strip() if isinstance(one, str) else "" for one in pair)
        if not (source and target):
            raise DataError(f"entry {number} of the glossary is not a term with its translation; {_GLOSSARY_FORMS}")
        entries.append(GlossaryEntry(source, (target,)))
    if not entries:
        return None
    glossary = Glossary(entries)
    glossary.check_alike()
    glossary.check_forms()
    return glossary


def _pairs(given: Any) -> list[tuple[Any, Any]]:
    if isinstance(given, Mapping):
        return list(given.items())
    if isinstance(given, str):
        terms = map(_term, given.splitlines())
        return [term for term in terms if all(map(str.strip, term))]  # other lines may be prose
    listed = given if isinstance(given, list) else [] if given is None else [given]
    return [(one.get("source"), one.get("target")) if isinstance(one, Mapping) else (None, None) for one in listed]


def _term(line: str) -> tuple[str, str]:
    """Return the term and translation of a line, both empty if it has none, in time linear in its length."""
    term = line.strip().lstrip(_BULLETS)
    found = _SEPARATOR.search(term, 1)
    return (term[: found.start()], term[found.end() :]) if found else ("", "")
