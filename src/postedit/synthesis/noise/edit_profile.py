"""Edit profiles of real triplets: the numbers, kinds and distances of their TER edits, and the edited words."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from rapidfuzz.distance import Prefix

from postedit.core.errors import DataError
from postedit.core.files import atomic_write, reason_of
from postedit.data.blocks import blocks_of
from postedit.evaluate.ter import TER, EditCount, Shift
from postedit.synthesis.noise.word_bytes import COMMON_START, LONGEST_ENDING
from postedit.synthesis.triplet_counts import EDIT_KINDS, MAX_TER

MAX_WORDS: Final = 1000
"""Most words of a segment: a longer one comes from a broken file, and would take much memory to compare."""

_MAX_ROWS: Final = 50_000_000  # most sentences, and most shifts: each takes a row in every process, in all about 1 GB
_MAX_COUNT: Final = 10**12

_BLOCK: Final = 1 << 14  # pairs measured at a time


class ShiftedBlock(NamedTuple):
    """A block of `length` words that stands `distance` words too far to the left (negative: to the right) in mt."""

    length: int
    distance: int


@dataclass(frozen=True, slots=True)
class EditProfile:
    """Statistics of the TER edits that turn machine translations into their post-edits."""

    sentences: Mapping[EditCount, int]  # number of sentences for each combination of edits and length, in words of pe
    moves: Mapping[ShiftedBlock, int]  # number of shifts by the length and distance of the block
    inserted: Mapping[str, int]  # counts of the words of pe that mt lacks
    deleted: Mapping[str, int]  # counts of the words of mt that pe lacks
    substituted: Mapping[str, Mapping[str, int]]  # for words of pe, counts of the words of mt in their place
    seen: Mapping[str, int]  # counts of all words of pe

    @property
    def triplets(self) -> int:
        """The number of triplets that the profile was measured on."""
        return sum(self.sentences.values())

    @property
    def inflection_rate(self) -> float:
        """The share of inflected forms among the substitutes of words that are long enough to have any; 0 to 1."""
        pairs = [
            (inflected(word, other), count)
            for word, others in self.substituted.items()
            if len(word) > COMMON_START
            for other, count in others.items()
        ]
        return sum(count for same, count in pairs if same) / max(1, sum(count for _, count in pairs))

    @property
    def ter_histogram(self) -> dict[int, int]:
        """The number of sentences by TER in per cent."""
        histogram = Counter[int]()
        for sentence, count in self.sentences.items():
            histogram[min(MAX_TER, 100 * sentence.edits // sentence.length)] += count
        return dict(histogram)

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of words and of edits by kind in all sentences, as `edit_rates` reads them."""
        names = {"words": "length", **{kind: kind for kind in EDIT_KINDS}}
        counted = self.sentences.items()
        return {name: sum(getattr(one, field) * count for one, count in counted) for name, field in names.items()}

    def to_json(self) -> str:
        """Return the profile as JSON."""
        sentences = [
            [s.length, s.shifts, s.substitutions, s.insertions, s.deletions, count]
            for s, count in self.sentences.items()
        ]
        moves = [[*move, count] for move, count in self.moves.items()]
        words = {name: getattr(self, name) for name in ("inserted", "deleted", "substituted", "seen")}
        return json.dumps({"format": 1, "sentences": sentences, "moves": moves, **words}, ensure_ascii=False)

    @property
    def file_text(self) -> str:
        """The text of a file that holds the profile."""
        return f"{self.to_json()}\n"

    def save(self, path: Path) -> None:
        """Write the profile to a file."""
        with atomic_write(path) as file:
            file.write(self.file_text)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a saved profile.

        Raises:
            DataError: if the file cannot be read, is not a profile, or has values that no measurement can have.
        """
        try:
            found = _read_profile(path.read_bytes())
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {reason_of(error)}") from None
        except ValueError as error:
            raise DataError(
                f"{path}: is not an edit profile of this version of postedit; measure it again ({error})"
            ) from None
        sentences = {EditCount(*row[1:5], row.length): row.times for row in found.sentences}
        moves = {ShiftedBlock(*row[:2]): row.times for row in found.moves}
        return cls(sentences, moves, found.inserted, found.deleted, found.substituted, found.seen)


def measure_profile(pairs: Iterable[tuple[str, str]]) -> EditProfile:
    """Return the profile of (mt, pe) pairs; words are separated by white space.

    Pairs in which mt or pe has no words, or more than `MAX_WORDS`, are skipped.

    Raises:
        DataError: if no pair is left, or none has an edit.
    """
    sentences, moves = Counter[EditCount](), Counter[ShiftedBlock]()
    inserted, deleted, seen = Counter[str](), Counter[str](), Counter[str]()
    substituted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    metric = TER(case_sensitive=True)
    usable = (pair for pair in pairs if all(0 < len(text.split()) <= MAX_WORDS for text in pair))
    scripts = (metric.edits([mt for mt, _ in block], [pe for _, pe in block]) for block in blocks_of(usable, _BLOCK))
    for script in chain.from_iterable(scripts):
        sentences[script.count] += 1
        seen.update(script.reference)
        moves.update(_shifted_block(shift, len(script.hypothesis)) for shift in script.shifts)
        mt, pe = iter(script.shifted), iter(script.reference)
        for op in script.ops:
            if op == "insert":
                inserted[next(pe)] += 1
            elif op == "delete":
                deleted[next(mt)] += 1
            else:
                word, other = next(pe), next(mt)
                if op == "substitute":
                    substituted[word][other] += 1
    if not sentences:
        raise DataError("a profile needs real triplets, but none has words in mt and pe")
    if not any(count.edits for count in sentences):
        raise DataError("a profile needs triplets with edits, but mt equals pe in all of these")
    return EditProfile(sentences, moves, inserted, deleted, dict(substituted), seen)


def _shifted_block(shift: Shift, words: int) -> ShiftedBlock:
    """Return the length of the block that a shift moves in a text of `words` words, and how far; see `Shift`."""
    start, length, target = shift
    if target < start:
        return ShiftedBlock(length, target - start)
    inside = target <= start + length
    return ShiftedBlock(length, min(target - start, words - start - length) if inside else target - start - length)


def inflected(word: str, other: str) -> bool:
    """Return whether two words may be inflected forms of one: they differ, but only in a short ending."""
    shared = Prefix.similarity(word, other)
    return word != other and shared >= COMMON_START and max(len(word), len(other)) - shared <= LONGEST_ENDING


# The file format, whose values are checked so that compiled code can rely on them.


def _check_word(text: str) -> str:
    if text.split() != [text]:
        raise ValueError(f"{text!r} is not one word without white space")
    return text


def _check_distance(number: int) -> int:
    if not number:
        raise ValueError("a shifted block must move by at least one word")
    return number


_Length = Annotated[int, Field(ge=1, le=MAX_WORDS)]
_Edits = Annotated[int, Field(ge=0, le=MAX_WORDS)]
_Distance = Annotated[int, Field(ge=-MAX_WORDS, le=MAX_WORDS), AfterValidator(_check_distance)]
_Rows = Annotated[int, Field(ge=1, le=_MAX_ROWS)]
_Count = Annotated[int, Field(ge=1, le=_MAX_COUNT)]
_Word = Annotated[str, AfterValidator(_check_word)]


class _SentenceRow(NamedTuple):
    """The words of pe, the edits of each kind, and the number of sentences that have them."""

    length: _Length
    shifts: _Edits
    substitutions: _Edits
    insertions: _Edits
    deletions: _Edits
    times: _Rows

    def fault(self) -> str | None:
        """Return why no sentence can have these edits; None if one can."""
        mt_words = self.length - self.insertions + self.deletions
        if self.substitutions + self.insertions > self.length:
            return f"{self.substitutions} substitutions and {self.insertions} insertions of {self.length} words"
        if not 1 <= mt_words <= MAX_WORDS:
            return f"mt would have {mt_words} words; it must have 1 to {MAX_WORDS}"
        if self.shifts > max(mt_words, self.length):
            return f"{self.shifts} shifts of {mt_words} words"
        return None


class _MoveRow(NamedTuple):
    """The length and distance of a shifted block, and the number of shifts that have them."""

    length: _Length
    distance: _Distance
    times: _Rows


_COLUMNS: Final = {"sentences": _SentenceRow._fields, "moves": _MoveRow._fields}


class _ProfileFile(BaseModel):
    """The content of a profile file; `EditProfile` describes the fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    format: Literal[1]
    sentences: list[_SentenceRow]
    moves: list[_MoveRow]
    inserted: dict[_Word, _Count]
    deleted: dict[_Word, _Count]
    substituted: dict[_Word, dict[_Word, _Count]]
    seen: dict[_Word, _Count]

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        for number, row in enumerate(self.sentences):
            if fault := row.fault():
                raise ValueError(f"sentences.{number}: {fault}")
        if not any(sum(row[1:5]) for row in self.sentences):
            raise ValueError("sentences: a profile needs sentences with edits, but there is none")
        for name, rows in (("sentences", self.sentences), ("moves", self.moves)):
            if twice := [list(key) for key, times in Counter(row[:-1] for row in rows).items() if times > 1]:
                raise ValueError(f"{name}: {twice[0]} occurs twice")
            if (total := sum(row.times for row in rows)) > _MAX_ROWS:
                raise ValueError(f"{name}: the counts add up to {total:,}; at most {_MAX_ROWS:,} are allowed")
        edited = Counter(self.inserted)
        for word, others in self.substituted.items():
            if not others:
                raise ValueError(f"substituted.{word}: has no substitute")
            edited[word] += sum(others.values())
        for word, count in edited.items():
            if self.seen.get(word, 0) < count:
                raise ValueError(
                    f"seen.{word}: must be at least {count:,}, its count in inserted and substituted "
                    f"(found {self.seen.get(word, 0):,})"
                )
        return self


def _read_profile(content: bytes) -> _ProfileFile:
    """Return the checked content of a file, or raise a ValueError that names the first problem and its place."""
    try:
        return _ProfileFile.model_validate_json(content)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = _place(problem["loc"])
        message = problem["msg"].removeprefix("Value error, ")
        found = "" if isinstance(problem["input"], dict | list | bytes) else f" (found {problem['input']!r})"
        raise ValueError(f"{where}: {message}{found}" if where else message) from None


def _place(loc: tuple[int | str, ...]) -> str:
    """Return the path of a value in a file, with the columns of rows named and control characters escaped."""
    parts = [repr(part)[1:-1] if isinstance(part, str) else str(part) for part in loc if part != "[key]"]
    columns = _COLUMNS.get(parts[0], ()) if parts else ()
    if len(loc) == 3 and isinstance(loc[2], int) and loc[2] < len(columns):
        parts[2] = columns[loc[2]]
    return ".".join(parts)
