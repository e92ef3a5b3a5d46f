"""What real post-edits look like: how many edits of each kind, where, and of which words. Measured once, then kept."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, Self

from postedit.core.errors import DataError
from postedit.core.files import atomic_write
from postedit.evaluate.ter import TER, EditCount, EditScript, Shift
from postedit.synthesis.lexicon import ENDING, SAME_START
from postedit.synthesis.profile_file import FORMAT, MOST_WORDS, read_profile

_TOGETHER: Final = 1 << 14  # pairs measured at a time


class Move(NamedTuple):
    """A block of `length` words that stands `distance` words too far to the left (negative: to the right) in mt."""

    length: int
    distance: int


@dataclass(frozen=True, slots=True)
class Profile:
    """What TER finds between real machine translations and their post-edits.

    Directions are those of the edits, from mt to pe.

    Args:
        sentences: how many sentences have these edits and this length (in words of pe).
        moves: how often blocks of this length and distance are shifted.
        inserted: words of pe that mt lacks, with counts.
        deleted: words of mt that pe lacks.
        substituted: for words of pe, which words mt has in their place.
        seen: all words of pe.
    """

    sentences: Mapping[EditCount, int]
    moves: Mapping[Move, int]
    inserted: Mapping[str, int]
    deleted: Mapping[str, int]
    substituted: Mapping[str, Mapping[str, int]]
    seen: Mapping[str, int]

    @property
    def triplets(self) -> int:
        """How many triplets it was measured on."""
        return sum(self.sentences.values())

    @property
    def inflected(self) -> float:
        """Of the substitutions of words long enough to have other forms, the share that looks like one."""
        pairs = [
            (alike(word, other), count)
            for word, others in self.substituted.items()
            if len(word) > SAME_START
            for other, count in others.items()
        ]
        return sum(count for same, count in pairs if same) / max(1, sum(count for _, count in pairs))

    def to_json(self) -> str:
        """Return it as JSON."""
        values = {
            "format": FORMAT,
            "sentences": [
                [s.length, s.shifts, s.substitutions, s.insertions, s.deletions, count]
                for s, count in self.sentences.items()
            ],
            "moves": [[*move, count] for move, count in self.moves.items()],
            **{name: getattr(self, name) for name in ("inserted", "deleted", "substituted", "seen")},
        }
        return json.dumps(values, ensure_ascii=False)

    def save(self, path: Path) -> None:
        """Write it to a file.

        Raises:
            OutputError: if that fails.
        """
        with atomic_write(path) as file:
            file.write(f"{self.to_json()}\n")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read one that was saved.

        Raises:
            DataError: if the file is missing, is no profile, or says what no measuring can have found.
        """
        try:
            found = read_profile(path.read_bytes())
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise DataError(
                f"{path}: is not a profile that this version of postedit wrote; measure it again ({error})"
            ) from None
        return cls(
            {
                EditCount(s.shifts, s.substitutions, s.insertions, s.deletions, s.length): s.times
                for s in found.sentences
            },
            {Move(move.length, move.distance): move.times for move in found.moves},
            found.inserted,
            found.deleted,
            found.substituted,
            found.seen,
        )


def measure_profile(pairs: Iterable[tuple[str, str]]) -> Profile:
    """Measure the profile of (mt, pe) pairs, words being what stands between spaces.

    Pairs without a word on one side, or with more than `MOST_WORDS`, say nothing of post-editing and are passed over.

    Raises:
        DataError: if no pair is left, or nothing was edited in any.
    """
    found = _Counts()
    usable = ((mt, pe) for mt, pe in pairs if 0 < len(mt.split()) <= MOST_WORDS and 0 < len(pe.split()) <= MOST_WORDS)
    metric = TER(case_sensitive=True)
    while batch := list(islice(usable, _TOGETHER)):
        for script in metric.edits([mt for mt, _ in batch], [pe for _, pe in batch]):
            found.add(script)
    if not found.sentences:
        raise DataError("a profile needs real triplets, but there is none with words in mt and pe")
    if not any(count.edits for count in found.sentences):
        raise DataError("a profile needs triplets with edits, but in all of these mt equals pe")
    return Profile(found.sentences, found.moves, found.inserted, found.deleted, dict(found.substituted), found.seen)


class _Counts:
    """The counts of a profile while they grow."""

    def __init__(self) -> None:
        self.sentences: Counter[EditCount] = Counter()
        self.moves: Counter[Move] = Counter()
        self.inserted: Counter[str] = Counter()
        self.deleted: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.substituted: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, script: EditScript) -> None:
        """Count the edits between one mt and its pe."""
        self.sentences[script.count] += 1
        self.seen.update(script.reference)
        self.moves.update(_move(shift) for shift in script.shifts)
        theirs, ours = iter(script.shifted), iter(script.reference)
        for op in script.ops:
            if op == "insert":
                self.inserted[next(ours)] += 1
            elif op == "delete":
                self.deleted[next(theirs)] += 1
            else:
                word, other = next(ours), next(theirs)
                if op == "substitute":
                    self.substituted[word][other] += 1


def _move(shift: Shift) -> Move:
    """Return how far the block of a shift travels; see `Shift` for targets inside of it."""
    if shift.target < shift.start:
        return Move(shift.length, shift.target - shift.start)
    inside = shift.target <= shift.start + shift.length
    return Move(shift.length, shift.target - shift.start - (0 if inside else shift.length))


def alike(word: str, other: str) -> bool:
    """Return whether two different words may be forms of one: they begin alike, and differ in an ending alone."""
    shared = 0
    for ours, theirs in zip(word, other):
        if ours != theirs:
            break
        shared += 1
    return word != other and shared >= SAME_START and max(len(word), len(other)) - shared <= ENDING
