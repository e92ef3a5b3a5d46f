"""Word differences between two versions of a sentence, for the terminal."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rapidfuzz.distance import Levenshtein
from rich.text import Text

_STYLES: Final = {"equal": "", "delete": "red strike", "insert": "bold green"}
_MARKS: Final = {"equal": ("", ""), "delete": ("[-", "-]"), "insert": ("{+", "+}")}
"""As `git diff --word-diff` writes them; what remains legible where there is no colour."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A run of words that both versions have, or only the old (`delete`), or only the new (`insert`)."""

    op: Literal["equal", "delete", "insert"]
    words: tuple[str, ...]


def word_differences(before: Sequence[str], after: Sequence[str]) -> list[Difference]:
    """Return a shortest edit script from the words `before` to `after`; deletions come before insertions."""
    runs: list[Difference] = []
    for code in Levenshtein.opcodes(before, after):
        old, new = tuple(before[code.src_start : code.src_end]), tuple(after[code.dest_start : code.dest_end])
        changed = [Difference("delete", old), Difference("insert", new)]
        runs += [Difference("equal", old)] if code.tag == "equal" else [one for one in changed if one.words]
    return runs


def differences_text(differences: Iterable[Difference], *, marks: bool = False) -> Text:
    """Return the differences as coloured text; `marks` puts `[-...-]` and `{+...+}` around changes, too."""
    parts = []
    for difference in differences:
        opening, closing = _MARKS[difference.op] if marks else ("", "")
        parts.append(Text(f"{opening}{' '.join(difference.words)}{closing}", style=_STYLES[difference.op]))
    return Text(" ").join(parts)
