"""What the file of a profile may say: numbers that compiled code can trust, and words that are words."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Final, Literal, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

FORMAT: Final = 1

MOST_WORDS: Final = 1000
"""A longer segment is no segment but a broken file, and would need much memory to compare."""

MOST_COUNTED: Final = 50_000_000
"""Sentences of a profile, and moves: each has a row of a table in every process, a GB of memory in all."""

_LARGEST: Final = 10**12


def _word(text: str) -> str:
    if text.split() != [text]:
        raise ValueError(f"{text!r} is not one word without white space")
    return text


def _not_zero(number: int) -> int:
    if not number:
        raise ValueError("a block that is moved must be moved by at least one word")
    return number


_Length = Annotated[int, Field(ge=1, le=MOST_WORDS)]
_Edits = Annotated[int, Field(ge=0, le=MOST_WORDS)]
_Distance = Annotated[int, Field(ge=-MOST_WORDS, le=MOST_WORDS), AfterValidator(_not_zero)]
_Row = Annotated[int, Field(ge=1, le=MOST_COUNTED)]
_Count = Annotated[int, Field(ge=1, le=_LARGEST)]
_Word = Annotated[str, AfterValidator(_word)]


class SentenceRow(NamedTuple):
    """Words of pe, the edits of each kind, and how many sentences have them."""

    length: _Length
    shifts: _Edits
    substitutions: _Edits
    insertions: _Edits
    deletions: _Edits
    times: _Row

    def fault(self) -> str | None:
        """Return why no sentence can have these edits, if none can."""
        words = self.length - self.insertions + self.deletions  # of mt
        if self.substitutions + self.insertions > self.length:
            return f"{self.substitutions} substitutions and {self.insertions} insertions of {self.length} words"
        if not self.substitutions <= self.length - self.insertions or not 1 <= words <= MOST_WORDS:
            return f"mt would have {words} words; it must have 1 to {MOST_WORDS}"
        if self.shifts > max(words, self.length):
            return f"{self.shifts} shifts of {words} words"
        return None


class MoveRow(NamedTuple):
    """Words of a block, how far it stands to the left, and how often."""

    length: _Length
    distance: _Distance
    times: _Row


_COLUMNS: Final = {"sentences": SentenceRow._fields, "moves": MoveRow._fields}


class ProfileFile(BaseModel):
    """The content of the file of a profile; see `Profile` for what it means."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    format: Literal[1]
    sentences: list[SentenceRow]
    moves: list[MoveRow]
    inserted: dict[_Word, _Count]
    deleted: dict[_Word, _Count]
    substituted: dict[_Word, dict[_Word, _Count]]
    seen: dict[_Word, _Count]

    @model_validator(mode="after")
    def _could_be_measured(self) -> Self:
        for number, row in enumerate(self.sentences):
            if fault := row.fault():
                raise ValueError(f"sentences.{number}: {fault}")
        if not any(sum(row[1:5]) for row in self.sentences):
            raise ValueError("sentences: a profile needs some with edits, but there is none")
        for name, rows in (("sentences", self.sentences), ("moves", self.moves)):
            _check_rows(name, [row[:-1] for row in rows], sum(row.times for row in rows))
        edited = Counter(self.inserted)
        for word, others in self.substituted.items():
            if not others:
                raise ValueError(f"substituted.{word}: there is no word in its place")
            edited[word] += sum(others.values())
        for word, count in edited.items():
            if self.seen.get(word, 0) < count:
                raise ValueError(
                    f"seen.{word}: must be at least {count:,}, which is how often inserted and substituted have it "
                    f"(found {self.seen.get(word, 0):,})"
                )
        return self


def _check_rows(name: str, keys: Iterable[tuple[int, ...]], total: int) -> None:
    if twice := [list(key) for key, times in Counter(keys).items() if times > 1]:
        raise ValueError(f"{name}: {twice[0]} is there twice")
    if total > MOST_COUNTED:
        raise ValueError(f"{name}: {total:,} are counted; at most {MOST_COUNTED:,} are allowed")


def _place(loc: tuple[int | str, ...]) -> str:
    """Return where a value stands, the columns of a row by name, words with nothing that breaks a line."""
    parts = [repr(part)[1:-1] if isinstance(part, str) else str(part) for part in loc if part != "[key]"]
    columns = _COLUMNS.get(parts[0], ()) if parts else ()
    if len(loc) == 3 and isinstance(loc[2], int) and loc[2] < len(columns):
        parts[2] = columns[loc[2]]
    return ".".join(parts)


def read_profile(content: bytes) -> ProfileFile:
    """Return the checked content of a file.

    Raises:
        ValueError: saying what is wrong, and where.
    """
    try:
        return ProfileFile.model_validate_json(content)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = _place(problem["loc"])
        message = problem["msg"].removeprefix("Value error, ")
        found = "" if isinstance(problem["input"], dict | list | bytes) else f" (found {problem['input']!r})"
        raise ValueError(f"{where}: {message}{found}" if where else message) from None
