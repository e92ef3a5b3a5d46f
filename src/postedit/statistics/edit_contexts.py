"""Word edits in context, as TER finds them."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from postedit.evaluate.ter import TER, EditScript

NO_WORD: Final = ""
"""In place of a word: before the first and after the last, and where nothing is replaced or written."""


class WordEdit(NamedTuple):
    """A word of the translation that became another one; `old` is empty for an insertion, `new` for a deletion."""

    old: str
    new: str


class EditInContext(NamedTuple):
    """A word edit, with the words of the post-edit on both sides of it."""

    left: str
    old: str
    new: str
    right: str


def edits_in_context(metric: TER, mt: Sequence[str], pe: Sequence[str]) -> Iterator[EditInContext]:
    """Yield the substitutions, insertions and deletions that turn each `mt`, its blocks shifted, into its `pe`."""
    for script in metric.edits(mt, pe):
        yield from _walk(script)


def _walk(script: EditScript) -> Iterator[EditInContext]:
    words = [*script.reference, NO_WORD]
    mt, place = iter(script.shifted), 0
    for op in script.ops:
        old = NO_WORD if op == "insert" else next(mt)
        left = words[place - 1] if place else NO_WORD
        if op == "delete":
            yield EditInContext(left, old, NO_WORD, words[place])
            continue
        if op != "keep":
            yield EditInContext(left, old, words[place], words[place + 1])
        place += 1
