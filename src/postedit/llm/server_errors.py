"""What servers say of requests that they refuse, and what is learnt from it about what they take."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

_RENAMED: Final = {"max_tokens": "max_completion_tokens"}
"""Parameters that some servers know by another name."""

_OPTIONAL: Final[Mapping[str, tuple[str, ...]]] = {
    "response_format": ("response_format", "json_schema", "structured", "guided"),
    "seed": ("seed",),
    "temperature": ("temperature",),
    "max_tokens": ("max_tokens",),
}
"""Parameters that are left out, or renamed, if a server refuses a request because of them; words that mean each."""

_UNKNOWN_NAME: Final = frozenset({"unsupported_parameter", "unknown_parameter", "extra_forbidden"})
"""Codes of errors about parameters that a server does not know by this name."""

_NO_SYSTEM: Final = re.compile(
    r"\bsystem\b.{0,40}\broles?\b|\broles?\b.{0,40}\bsystem\b|\broles? must alternate|\bonly user\b.{0,40}\broles?\b"
    r"|\b(?:system|developer)\W{0,3}(?:message|prompt|instruction)s?\b.{0,40}(?:\bnot\b|n['’]t\b|\bunsupported)"
    r"|\bnot support\b.{0,40}\bsystem\b"
)
"""Messages by which servers, or the chat templates of their models, refuse a message of the system."""

_FILTER: Final = re.compile(
    r"content.?(?:filter|policy|management)|moderation|flagged|responsible.?ai|safety", re.IGNORECASE
)
"""Codes of errors by which filters say that they do not let a text pass."""


@dataclass(frozen=True, slots=True)
class ServerError:
    """The body of an error.

    Args:
        message: for people; it may quote the texts that were sent.
        names: of the parameters that it is about, as far as fields of the error name them.
        codes: what kind of error it is.
    """

    message: str = ""
    names: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Read a body: the forms of OpenAI and of servers made with FastAPI; of others, all text is the message."""
        text = content.decode("utf-8", "replace")
        try:
            value = json.loads(text)
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
        """Whether a filter did not let a text pass."""
        return any(_FILTER.search(code) for code in self.codes)


def _parts(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a body that describe the error."""
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
    """Which parameters and roles a server takes, as far as its refusals have shown."""

    left_out: set[str] = field(default_factory=set)
    renamed: set[str] = field(default_factory=set)
    has_system: bool = True

    def spell(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a request as the server takes them."""
        if not self.has_system:
            values = {**values, "messages": _without_system(values["messages"])}
        return {
            _RENAMED[name] if name in self.renamed else name: value
            for name, value in values.items()
            if name not in self.left_out
        }

    def learn(self, sent: Mapping[str, Any], error: ServerError) -> bool:
        """Learn from a refusal of a request with parameters `sent`; return whether another one may be taken.

        The fields of the error say which parameter it is about. Where it has none, its message counts, but no word of
        it that stands in the texts that were sent, as the message may quote them.
        """
        if self.learn_roles(sent, error):
            return True
        texts, said = _texts_of(sent), error.message.lower()

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
            # Of a limit, the value may be refused and not the name: then there is nothing to learn.
            if is_meant and (error.codes & _UNKNOWN_NAME or is_said(_RENAMED[name])):
                self.renamed.add(name)
                return True
        return False

    def learn_roles(self, sent: Mapping[str, Any], error: ServerError) -> bool:
        """Learn that the server takes no message of the system; return whether the request without one may be taken."""
        if not any(one["role"] == "system" for one in sent["messages"]):
            return False
        if error.names and not any("role" in one or "messages" in one for one in error.names):
            return False
        found = _NO_SYSTEM.search(error.message.lower())
        is_meant = found is not None and found.group() not in _texts_of(sent)
        if is_meant:
            self.has_system = False
        return is_meant


def _texts_of(sent: Mapping[str, Any]) -> str:
    return "\n".join(str(one["content"]) for one in sent["messages"]).lower()


def _without_system(messages: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Return messages with the text of the system before that of the user, if there are both."""
    system = [one["content"] for one in messages if one["role"] == "system"]
    first, *others = [one for one in messages if one["role"] != "system"]
    return [{**first, "content": "\n\n".join([*system, first["content"]])}, *others]
