"""What metrics compare in texts, and detection of texts that are tokenised differently from what the scores expect."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args
from unicodedata import is_normalized

from postedit.core.errors import DataError
from postedit.core.scripts import UNSPACED
from postedit.text.words import MARKS, PAUSES, STOPS

Tokenize = Literal["none", "13a", "characters"]
"""How metrics separate words: at spaces ("none"), or, for running text, by the rules of mteval (for TER: of Tercom). In
scripts without spaces, characters count, and spaces do not."""

_PUNCTUATION: Final = f"[.,;:!?{STOPS}{PAUSES}]"
_PATTERNS: Final = {
    "glued": re.compile(rf"(?:[^\W\d_]|[{MARKS}]){_PUNCTUATION}(?= |$)"),
    "apart": re.compile(rf"(?:^| ){_PUNCTUATION}(?= |$)"),
    "escaped": re.compile(r"&(?:apos|quot|amp|lt|gt|#91|#93|#124);"),
    "subwords": re.compile(r"@@ |(?:^| )▁|##\w"),
    "unspaced": re.compile(f"[{UNSPACED}]"),
}
"""Patterns by field of `TokenisationSigns`."""

_UNSPACED_LENGTH: Final = 8.0
"""Mean characters between spaces above which text in these scripts is not tokenised: their words are much shorter."""

_TOKENISED: Final = 0.2
_RUNNING: Final = 0.8
"""Share of punctuation that directly follows a word: at most `_TOKENISED` in tokenised text, and at least `_RUNNING` in
running text."""

_MIN_COUNT: Final = 5  # fewest occurrences of a sign for which it counts
_CAPITALS: Final = 0.1
"""Rate of capital letters, as a fraction of that of the reference, below which the output was probably lower-cased."""

_LENGTH_RATIO: Final = 1.5
"""Ratio of the mean word lengths of output and reference above which they are tokenised differently."""

_MIN_WORDS: Final = 50  # words that one of the texts must have for a comparison of mean word lengths


def check_tokenize(given: object) -> None:
    """Check that `given` is one of the values of `Tokenize`.

    Raises:
        DataError: if it is not.
    """
    if given not in get_args(Tokenize):
        *others, last = get_args(Tokenize)
        raise DataError(f"tokenize must be {', '.join(others)} or {last}, not {given!r}")


def characters_of(text: str) -> list[str]:
    """Return the characters of a text that metrics compare: all except white space."""
    return list("".join(text.split()))


@dataclass(frozen=True, slots=True)
class TokenisationSigns:
    """Counts of the signs that show how a text was tokenised."""

    glued: int  # punctuation that directly follows a word
    apart: int  # punctuation between spaces
    escaped: int  # XML escapes
    subwords: int  # subword marks
    words: int  # words separated by spaces
    characters: int  # characters of these words
    capitals: int  # upper-case letters
    returns: int  # lines that end with a carriage return
    unspaced: int  # letters of scripts that have no spaces
    uncomposed: int  # lines that are not in Unicode's composed form (NFC)

    @property
    def unsegmented(self) -> bool:
        """Whether this is text in a script such as Chinese or Thai, without spaces between words."""
        return self.unspaced > self.characters / 2 and self.mean_length > _UNSPACED_LENGTH

    @property
    def form(self) -> str | None:
        """Either "tokenised" or "running text"; None if the signs do not decide."""
        total = self.glued + self.apart
        share = self.glued / total if total else 0.5
        if total < _MIN_COUNT or _TOKENISED < share < _RUNNING:
            return None
        return "tokenised" if share <= _TOKENISED else "running text"

    @property
    def mean_length(self) -> float:
        """The mean number of characters per word."""
        return self.characters / max(1, self.words)


def tokenisation_signs(lines: Sequence[str]) -> TokenisationSigns:
    """Return the counts of the signs in a text."""
    return TokenisationSigns(
        **{name: sum(len(pattern.findall(line)) for line in lines) for name, pattern in _PATTERNS.items()},
        words=sum(len(line.split()) for line in lines),
        characters=sum(len("".join(line.split())) for line in lines),
        capitals=sum(sum(map(str.isupper, line)) for line in lines),
        returns=sum(line.endswith("\r") for line in lines),
        uncomposed=sum(not is_normalized("NFC", line) for line in lines),
    )


def tokenisation_differences(
    name: str, lines: Sequence[str], reference_name: str, reference: Sequence[str], *, spaces: bool = True
) -> list[str]:
    """Return a warning for each sign that two texts are tokenised differently, or that only one has an empty line.

    Where `spaces` do not count, texts may have them in different places.
    """
    here, there = tokenisation_signs(lines), tokenisation_signs(reference)
    found = []
    if spaces and here.form and there.form and here.form != there.form:
        found.append(
            f"{name} seems to be {here.form} and {reference_name} {there.form}: scores are valid only if both are "
            "tokenised alike; tokenise or detokenise one of them"
        )
    if here.escaped >= _MIN_COUNT and not there.escaped:
        found.append(f"{name} has {here.escaped:,} XML escapes such as &quot; and {reference_name} none: unescape them")
    if here.subwords >= _MIN_COUNT and not there.subwords:
        found.append(
            f"{name} seems to consist of subwords ({here.subwords:,} marks such as @@ or ▁), and {reference_name} does "
            "not: join them"
        )
    if bool(here.returns) != bool(there.returns):
        with_returns, without = (name, reference_name) if here.returns else (reference_name, name)
        found.append(
            f"{with_returns} has Windows line ends, and {without} has not: all lines count as changed; save it with "
            "Unix line ends (LF)"
        )
    if max(here.uncomposed, there.uncomposed) >= _MIN_COUNT and not min(here.uncomposed, there.uncomposed):
        first, other = (name, reference_name) if here.uncomposed else (reference_name, name)
        found.append(
            f"{first} has letters that are not encoded in Unicode's form NFC, and {other} has none: equal words "
            "count as different; convert it to NFC"
        )
    rates = [signs.capitals / max(1, signs.characters) for signs in (here, there)]
    if there.capitals >= _MIN_COUNT and here.words and rates[0] < _CAPITALS * rates[1]:
        found.append(f"{name} has hardly any capital letters and {reference_name} has: scores are case-sensitive")
    found += _empty_lines(name, lines, reference_name, reference)
    found += _empty_lines(reference_name, reference, name, lines)
    lengths = here.mean_length / there.mean_length if here.words and there.words else 1.0
    is_long = max(here.words, there.words) >= _MIN_WORDS
    if spaces and not found and is_long and not 1 / _LENGTH_RATIO < lengths < _LENGTH_RATIO:
        found.append(
            f"words have {here.mean_length:.1f} characters on average in {name} and {there.mean_length:.1f} in "
            f"{reference_name}: they do not seem to be tokenised alike (by characters? not at all?), which would make "
            "scores invalid"
        )
    return found


def unexpected_tokenisation(name: str, lines: Sequence[str], tokenize: Tokenize) -> list[str]:
    """Return a warning if a text is not as the scores expect it: tokenised, or for "13a" running text."""
    found = tokenisation_signs(lines)
    form, raw = found.form, tokenize == "13a"
    if tokenize == "characters":
        if 2 * found.unspaced >= found.characters:
            return []
        return [f"{name} seems to be in a script with spaces between words: leave out --tokenize characters"]
    if found.unsegmented:
        return [
            f"{name} has no spaces between words: whole sentences count as words, and a changed character as a changed "
            "sentence; give --tokenize characters, or tokenise all texts alike"
        ]
    if raw and form == "tokenised":
        return [f"{name} seems to be tokenised: leave out --tokenize 13a, which is for running text"]
    if not raw and form == "running text":
        return [f"{name} seems to be running text: --tokenize 13a counts punctuation as separate words"]
    return []


def _empty_lines(name: str, lines: Sequence[str], other_name: str, others: Sequence[str]) -> list[str]:
    """Return a warning if a text has empty lines where the other has text."""
    rows = [row for row, (line, other) in enumerate(zip(lines, others), 1) if not line.strip() and other.strip()]
    if not rows:
        return []
    lines_are = "an empty line" if len(rows) == 1 else f"{len(rows):,} empty lines"
    return [f"{name} has {lines_are} where {other_name} has text (first: line {rows[0]:,})"]
