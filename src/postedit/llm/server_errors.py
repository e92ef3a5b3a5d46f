"""Error messages of servers, and what refusals reveal about the parameters and roles that a server accepts."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

_RENAMED: Final = {"max_tokens": "max_completion_tokens"}
"""Parameters that some servers know only by another name."""

_OPTIONAL: Final[Mapping[str, tuple[str, ...]]] = {
    "response_format": ("response_format", "json_schema", "structured", "guided"),
    "seed": ("seed",),
    "temperature": ("temperature",),
    "max_tokens": ("max_tokens",),
}
"""Parameters to leave out or rename if a server refuses them, each with the words that mean it in error messages."""

_UNKNOWN_NAME: Final = frozenset({"unsupported_parameter", "unknown_parameter", "extra_forbidden"})
"""Error codes for parameters whose name a server does not know."""

_REFUSED: Final = r"(?: is| are)?(?:(?: not|n['’]t)(?: yet)? (?:supported|enabled|allowed|permitted)| unsupported)\b"
_NO_SYSTEM: Final = re.compile(
    rf"\b(?:system|developer)\W{{1,2}}(?:role|message|prompt|instruction)s?{_REFUSED}"
    rf"|\brole:?\W{{1,2}}system\b['\"`]?{_REFUSED}|\b(?:unexpected|unsupported) role:?\W{{1,2}}system\b"
    r"|\b(?:not|n['’]t) support (?:the |a )?"
    r"(?:['\"`]system['\"`]|(?:system|developer) (?:role|message|prompt|instruction))"
    r"|\broles? must alternate|\bonly user and (?:assistant|model) roles are supported"
)
"""Messages by which servers, or the chat templates of their models, refuse a system message."""

_ECHO: Final = re.compile(r"""['"]\w+\\?['"]: ?(?:[\d{]|\\?['"](?:system|json_schema)\b)""")
"""Names with values in the syntax of a request; in an error message, they quote what was sent."""

_OTHER_REASON: Final = re.compile(
    r"context|length|quota|rate.?limit|billing|overload|too.?(?:long|large|many)", re.IGNORECASE
)
"""Error codes that are not about a parameter or role."""

_FILTER: Final = re.compile(
    r"content.?(?:filter|policy|management)|moderation|flagged|responsible.?ai|safety", re.IGNORECASE
)
"""Error codes of content filters that block a text."""


@dataclass(frozen=True, slots=True)
class ServerError:
    """The body of an error response.

    Args:
        message: message for people; it may quote the texts that were sent.
        names: names of the parameters that the error is about, as far as its fields tell.
        codes: codes and types that say what kind of error it is.
    """

    message: str = ""
    names: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()

    @classmethod
    def of(cls, content: bytes, other: str | None = None) -> Self:
        """Parse a body in the formats of OpenAI and of servers built with FastAPI.

        The message of a body in any other format is `other`, or the whole text if that is None.
        """
        body = content.decode("utf-8", "replace")
        text = body if other is None else other
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return cls(text)
        if not isinstance(value, dict):
            return cls(text)
        parts = [*_parts(value)]
        messages = [one[name] for one in parts for name in ("message", "msg", "detail", "error") if name in one]
        named = [one.get("param") for one in parts]
        named += [part for one in parts if isinstance(one.get("loc"), list) for part in one["loc"] if part != "body"]
        codes = [one.get(name) for one in parts for name in ("code", "type")]
        codes += [key for one in parts if isinstance(one.get("metadata"), dict) for key in one["metadata"]]
        return cls("; ".join(_texts(messages)) or text, frozenset(_texts(named)), frozenset(_texts(codes)))

    @property
    def is_filter(self) -> bool:
        """Whether a content filter blocked a text."""
        return any(_FILTER.search(code) for code in self.codes)

    @property
    def is_about_something_else(self) -> bool:
        """Whether the codes name a reason that a change of parameters or roles cannot remove."""
        return self.is_filter or any(_OTHER_REASON.search(code) for code in self.codes)

    @property
    def said(self) -> str:
        """The message in lower case, without the parameters of the request that it quotes."""
        return _ECHO.sub(" ", self.message.lower())


def _parts(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects within a body that describe the error."""
    yield value
    for name in ("error", "innererror"):
        if isinstance(value.get(name), dict):
            yield from _parts(value[name])
    if isinstance(value.get("detail"), list):
        yield from (one for one in value["detail"] if isinstance(one, dict))


def _texts(values: list[Any]) -> list[str]:
    return [one for one in values if isinstance(one, str) and one]


@dataclass(slots=True)
class Dialect:
    """Parameters and roles that a server accepts, as far as its refusals have shown."""

    left_out: set[str] = field(default_factory=set)
    renamed: set[str] = field(default_factory=set)
    has_system: bool = True

    def spell(self, values: Mapping[str, Any], *, has_system: bool = True) -> dict[str, Any]:
        """Return the parameters as the server accepts them; without a system message if not `has_system`."""
        if not (self.has_system and has_system):
            values = {**values, "messages": _without_system(values["messages"])}
        return {
            _RENAMED[name] if name in self.renamed else name: value
            for name, value in values.items()
            if name not in self.left_out
        }

    def learn(self, sent: Mapping[str, Any], error: ServerError) -> bool:
        """Learn from the refusal of a request with parameters `sent`; return whether it is worth sending another one.

        The fields of the error say which parameter it is about. If it has no such fields, the words of its message are
        used, except those that also occur in the texts that were sent, because the message may quote these.
        """
        if error.is_about_something_else:
            return False
        texts, said = _texts_of(sent), error.said

        def is_said(word: str) -> bool:
            return word not in texts and re.search(rf"(?<![a-z]){word}(?![a-z])", said) is not None

        for name, words in _OPTIONAL.items():
            if name not in sent:
                continue
            if error.names:
                is_meant = any(word in one for word in words for one in error.names)
            else:
                is_meant = any(map(is_said, words))
            if is_meant and name not in _RENAMED:
                self.left_out.add(name)
                return True
            # A server may refuse the value of a limit rather than its name; then there is nothing to learn.
            if is_meant and (error.codes & _UNKNOWN_NAME or is_said(_RENAMED[name])):
                self.renamed.add(name)
                return True
        return False

    @staticmethod
    def refuses_system(sent: Mapping[str, Any], error: ServerError) -> bool:
        """Return whether a request seems to have been refused because of its system message.

        The client sets `has_system` to False only once a request without a system message has been accepted.
        """
        if error.is_about_something_else or not any(one["role"] == "system" for one in sent["messages"]):
            return False
        if error.names and not any("role" in one or "messages" in one for one in error.names):
            return False
        found = _NO_SYSTEM.search(error.said)
        return found is not None and found.group() not in _texts_of(sent)


def _texts_of(sent: Mapping[str, Any]) -> str:
    return "\n".join(str(one["content"]) for one in sent["messages"]).lower()


def _without_system(messages: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Return messages in which the text of the system message is put before the first other message."""
    system = [one["content"] for one in messages if one["role"] == "system"]
    first, *others = [one for one in messages if one["role"] != "system"]
    return [{**first, "content": "\n\n".join([*system, first["content"]])}, *others]
