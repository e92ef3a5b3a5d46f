"""How a text is divided into words, to find out that an output and its reference are not divided alike."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_GLUED: Final = re.compile(r"[^\W\d_][.,;:!?](?= |$)")
_APART: Final = re.compile(r"(?:^| )[.,;:!?](?= |$)")
_ESCAPED: Final = re.compile(r"&(?:apos|quot|amp|lt|gt|#91|#93|#124);")
_PIECES: Final = re.compile(r"@@ |(?:^| )▁|##\w")
_MARK: Final = "\ufeff"

_UNSPACED: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Letters of scripts without spaces: Thai, Lao, Burmese, Khmer, and those of Japanese and Chinese."""

_LONG: Final = 8.0
"""Characters of a word that words of these languages do not have on average."""

_FEW: Final = 0.2
_MANY: Final = 0.8
"""Shares of punctuation that follows a word without a space: tokenised text has few, running text many."""

_ENOUGH: Final = 5
"""Signs of a kind that must be seen before they are spoken of."""

_LOST: Final = 0.1
"""Capital letters, of those of the reference, that are fewer than any translation has of itself."""

_TIMES: Final = 1.5
"""By how much words of two texts in one language may differ in length, on average, if both are divided alike ..."""

_MANY_WORDS: Final = 50
"""... and one of them has so many."""


@dataclass(frozen=True, slots=True)
class Wording:
    """Signs of how a text was divided: counts of punctuation after a word without and with a space, and of marks.

    Of words and their characters too: it is all that tells how Chinese or Thai was divided.

    Args:
        glued: punctuation after a word without a space.
        apart: punctuation between spaces.
        escaped: XML escapes.
        pieces: marks of subwords.
        words: what stands between spaces.
        characters: of these words.
        capitals: upper-case letters.
        returns: lines that end with a carriage return.
        marked: whether the text begins with a byte order mark.
        unspaced: letters of scripts that have no spaces.
    """

    glued: int
    apart: int
    escaped: int
    pieces: int
    words: int
    characters: int
    capitals: int
    returns: int
    marked: bool
    unspaced: int

    @property
    def undivided(self) -> bool:
        """Whether this is Chinese, Thai or the like as it is written, without spaces between words."""
        return self.unspaced > self.characters / 2 and self.length > _LONG

    @property
    def form(self) -> str | None:
        """Whether the text is "tokenised" or "running text"; None if that cannot be told."""
        total = self.glued + self.apart
        share = self.glued / total if total else 0.5
        if total < _ENOUGH or _FEW < share < _MANY:
            return None
        return "tokenised" if share <= _FEW else "running text"

    @property
    def length(self) -> float:
        """Characters of a word, on average."""
        return self.characters / max(1, self.words)

    @property
    def capital(self) -> float:
        """The share of characters that are upper-case letters."""
        return self.capitals / max(1, self.characters)


def wording(lines: Sequence[str]) -> Wording:
    """Count the signs in a text."""
    glued, apart, escaped, pieces = (
        sum(len(pattern.findall(line)) for line in lines) for pattern in (_GLUED, _APART, _ESCAPED, _PIECES)
    )
    words = [word for line in lines for word in line.split()]
    return Wording(
        glued,
        apart,
        escaped,
        pieces,
        words=len(words),
        characters=sum(map(len, words)),
        capitals=sum(map(str.isupper, "".join(words))),
        returns=sum(line.endswith("\r") for line in lines),
        marked=bool(lines) and lines[0].startswith(_MARK),
        unspaced=sum(len(_UNSPACED.findall(line)) for line in lines),
    )


def differences(name: str, lines: Sequence[str], reference_name: str, reference: Sequence[str]) -> list[str]:
    """Return a sentence for each sign that two texts are not divided into words alike, or that lines are missing."""
    here, there = wording(lines), wording(reference)
    found = []
    if here.form and there.form and here.form != there.form:
        found.append(
            f"{name} seems to be {here.form} and {reference_name} {there.form}: scores are only true if both are "
            "divided into words alike; tokenise or detokenise one of them"
        )
    if here.escaped >= _ENOUGH and not there.escaped:
        found.append(f"{name} has {here.escaped:,} XML escapes such as &quot; and {reference_name} none: unescape them")
    if here.pieces >= _ENOUGH and not there.pieces:
        found.append(
            f"{name} seems to be divided into subwords ({here.pieces:,} marks such as @@ or ▁), which "
            f"{reference_name} is not: join them"
        )
    if here.returns and not there.returns:
        found.append(
            f"{name} has Windows line ends, which {reference_name} has not: all lines count as changed; save it with "
            "Unix line ends (LF)"
        )
    if here.marked and not there.marked:
        found.append(f"{name} begins with a byte order mark, which is part of its first word: save it as UTF-8 without")
    if there.capitals >= _ENOUGH and here.words and here.capital < _LOST * there.capital:
        found.append(f"{name} has hardly any capital letters and {reference_name} has: scores are case-sensitive")
    found += _gaps(name, lines, reference_name, reference)
    found += _gaps(reference_name, reference, name, lines)
    if not found and _differ_in_length(here, there):
        found.append(
            f"words have {here.length:.1f} characters on average in {name} and {there.length:.1f} in "
            f"{reference_name}: they do not seem to be divided alike (by characters? not at all?), and then scores are "
            "not true"
        )
    return found


def unfit(name: str, lines: Sequence[str], *, raw: bool) -> list[str]:
    """Return a sentence if a text is not of the kind that is expected: running text if `raw`, else tokenised."""
    found = wording(lines)
    form = found.form
    if found.undivided:
        return [
            f"{name} has no spaces between words: whole sentences count as words, and a changed character as a changed "
            "sentence; divide outputs and post-edits into words, or characters, alike"
        ]
    if raw and form == "tokenised":
        return [f"{name} seems to be tokenised: leave out --tokenize 13a, which is for running text"]
    if not raw and form == "running text":
        return [f"{name} seems to be running text: --tokenize 13a takes punctuation for words of their own"]
    return []


def _gaps(name: str, lines: Sequence[str], other_name: str, others: Sequence[str]) -> list[str]:
    """Return a sentence if a text has empty lines where the other one has not."""
    rows = [row for row, (line, other) in enumerate(zip(lines, others), 1) if not line.strip() and other.strip()]
    if not rows:
        return []
    lines_are = "an empty line" if len(rows) == 1 else f"{len(rows):,} empty lines"
    return [f"{name} has {lines_are} where {other_name} has text (first: line {rows[0]:,})"]


def _differ_in_length(here: Wording, there: Wording) -> bool:
    if not here.words or not there.words or max(here.words, there.words) < _MANY_WORDS:
        return False
    return not 1 / _TIMES < here.length / there.length < _TIMES
