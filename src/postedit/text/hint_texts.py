"""The text of the hints that a language model is shown beside a segment: similar corrections, terms, tagged errors.

Corrections and terms are written as JSON strings, out of which their text cannot break: quotes, line ends and the marks
by which servers divide turns are escaped. The words of mt with tagged errors are written as they are, separated by
single spaces; they are shown only to models for which no text can produce a special token of the prompt.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

EXAMPLES_TITLE: Final = "Corrections that people made of similar segments:"
TERMS_TITLE: Final = "Terms of the source and their translations:"
ERRORS_TITLE: Final = "The translation, with what may be wrong in double brackets:"

_ESCAPED: Final = re.compile(
    r"<(?=\S)"  # <|im_end|>, </s>, <<SYS>>, <start_of_turn>, tags in a user's prompt, and all that looks like one
    r"|\[(?=[^\W\d]|[/|｜~])"  # [INST], [/INST], [|user|] and others, but not [1]
    r"|\](?=~)"  # ]~b]
    r"|`(?=``)"  # code fences
    "|[\x7f-\x9f\u2028\u2029\ud800-\udfff]",
)
"""Characters that could divide turns, close or imitate a mark of a prompt, or divide lines, or that are not text.

They are escaped in JSON strings, which does not change their meaning. As every model has marks of its own, no list of
them is complete; so everything that begins like a mark is escaped.
"""


@dataclass(frozen=True)
class Example:
    """A correction that is shown to the model."""

    src: str
    mt: str
    pe: str

    def line(self) -> str:
        """Return the correction as a line of the prompt."""
        return json_line({"source": self.src, "translation": self.mt, "correction": self.pe})


@dataclass(frozen=True)
class TermHint:
    """A term of the source with its translations."""

    source: str
    targets: tuple[str, ...]
    forbidden: tuple[str, ...] = ()

    def line(self) -> str:
        """Return the term as a line of the prompt."""
        values: dict[str, Any] = {"source": self.source, "translations": list(self.targets)}
        return json_line({**values, **({"never": list(self.forbidden)} if self.forbidden else {})})


def json_line(values: Mapping[str, Any]) -> str:
    """Return the values as one line of JSON, out of which no text can break and which cannot divide turns or lines."""
    text = json.dumps(values, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def section(title: str, lines: Sequence[str]) -> str:
    """Return the lines under a title, followed by an empty line; an empty text if there are no lines."""
    return f"{title}\n{chr(10).join(lines)}\n\n" if lines else ""


def tagged(mt: str, bad: Sequence[bool]) -> str:
    """Return mt with each run of wrong words in double brackets, and empty brackets where words are missing.

    Args:
        mt: the machine translation, with n words.
        bad: 2n + 1 tags, True for wrong: the gap before the first word, the first word, the gap after it, and so on.

    Returns:
        The tagged text; an empty text if nothing is wrong.
    """
    if not any(bad):
        return ""
    words = mt.split()
    pieces = [(False, "[[]]")] if bad[0] else []
    for word, is_bad, gap in zip(words, bad[1::2], bad[2::2], strict=True):
        pieces += [(is_bad, word)] + [(False, "[[]]")] * gap
    stretches = ((is_bad, " ".join(text for _, text in group)) for is_bad, group in groupby(pieces, lambda one: one[0]))
    return " ".join(f"[[{text}]]" if is_bad else text for is_bad, text in stretches)
