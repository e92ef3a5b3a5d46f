"""Checks of the texts to score: lists or stored lines, as many for each system as post-edits, none of them too long."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from postedit.core.arguments import texts_of
from postedit.core.errors import DataError
from postedit.core.wording import counted

MAX_WORDS: Final = 500_000
MAX_CHARACTERS: Final = 5_000_000
"""Limits of a line: the time for an edit script grows with the square of its words, memory with its characters."""


def lines_of(name: str, given: Iterable[str]) -> Sequence[str]:
    """Return the texts of the argument `name` as a list, or unchanged if they are a sequence such as `StoredLines`.

    Raises:
        DataError: if they are neither.
    """
    if isinstance(given, Sequence) and not isinstance(given, str | bytes | list | tuple):
        return given
    return texts_of(name, given)


def outputs_of(systems: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return the outputs of each system, by its name, as `lines_of` returns them.

    Raises:
        DataError: if `systems` is no mapping, or its values are not lists of strings.
    """
    if not isinstance(systems, Mapping):
        raise DataError(f'systems must be lists of outputs by name, such as {{"model": [...]}}, not {systems!r:.80}')
    return {name: lines_of(name, hyp) for name, hyp in systems.items()}


def check_lines(pe: Sequence[str], texts: Mapping[str, Sequence[str]], *, by_character: bool) -> None:
    """Check that each named text has as many lines as the post-edits, and that no line is too long to score.

    If texts are scored `by_character`, a line has as many words as characters.

    Raises:
        DataError: if there are no lines, their numbers differ, or a line exceeds `MAX_WORDS` or `MAX_CHARACTERS`.
    """
    if not pe:
        raise DataError("nothing to score: the post-edits have no lines")
    check_lengths(len(pe), {"the post-edits": pe, **texts}, by_character=by_character)


def check_lengths(lines: int, texts: Mapping[str, Sequence[str]], *, by_character: bool) -> None:
    """Check that each named text has `lines` lines, none of them too long to score; see `check_lines`."""
    for name, text in texts.items():
        if len(text) != lines:
            found = counted(len(text), "line")
            raise DataError(f"{name} has {found}, the post-edits have {lines:,}; they must match one to one")
    for name, text in texts.items():
        for number, line in enumerate(text, start=1):
            if len(line) < MAX_WORDS:
                continue
            words = len(line) if by_character else len(line.split())
            if len(line) > MAX_CHARACTERS or words > MAX_WORDS:
                raise DataError(
                    f"{name}, line {number:,}: {words:,} words and {len(line):,} characters are too much "
                    f"to score; divide it into lines of at most {MAX_WORDS:,} words and {MAX_CHARACTERS:,} characters"
                )
