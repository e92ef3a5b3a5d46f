"""Word-level quality: OK or BAD for each word of mt and each gap, from edits, and how near such tags are to gold.

A text of n words has 2n + 1 tags: that of the gap before the first word, of the first word, of the gap after it, and so
on. A word is BAD if it is deleted or replaced, a gap if something is inserted there (as in the WMT quality estimation
tasks and MLQE-PE).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rapidfuzz.distance import Levenshtein

from postedit.core.errors import DataError

SIGNATURE: Final = (
    "tags of all sentences together; F1-BAD and F1-OK: F1 score of finding those tags; MCC: Matthews correlation "
    "coefficient; words are what stands between spaces"
)

_NAMES: Final = {"OK": False, "BAD": True}


@dataclass(frozen=True, slots=True)
class TagScores:
    """How tags compare with gold ones; BAD is the positive class.

    Args:
        hits: BAD in both.
        alarms: BAD here, OK in gold.
        misses: OK here, BAD in gold.
        rests: OK in both.
    """

    hits: int
    alarms: int
    misses: int
    rests: int

    @property
    def f1_bad(self) -> float:
        """The F1 score of BAD; 0 if there is none."""
        return _f1(self.hits, self.alarms, self.misses)

    @property
    def f1_ok(self) -> float:
        """The F1 score of OK; 0 if there is none."""
        return _f1(self.rests, self.misses, self.alarms)

    @property
    def mcc(self) -> float:
        """Matthews correlation coefficient, -1 to 1; 0 where all tags of a side are the same."""
        sums = (
            self.hits + self.alarms,
            self.hits + self.misses,
            self.rests + self.alarms,
            self.rests + self.misses,
        )
        product = math.prod(sums)
        return (self.hits * self.rests - self.alarms * self.misses) / math.sqrt(product) if product else 0.0


def _f1(hits: int, alarms: int, misses: int) -> float:
    return 2 * hits / (2 * hits + alarms + misses) if hits else 0.0


def edit_tags(mt: Sequence[str], output: Sequence[str]) -> list[bool]:
    """Return the 2n + 1 tags of the words `mt`, True for BAD, from the fewest edits that make it `output`."""
    bad = [False] * (2 * len(mt) + 1)
    for code in Levenshtein.opcodes(mt, output):
        if code.tag == "insert":
            bad[2 * code.src_start] = True
        elif code.tag != "equal":
            for word in range(code.src_start, code.src_end):
                bad[2 * word + 1] = True
    return bad


def parse_tags(line: str, words: int, where: str) -> list[bool]:
    """Return the tags in a line of gold, True for BAD.

    Raises:
        DataError: naming `where`, if there is another word than OK and BAD, or not 2 * `words` + 1 of them.
    """
    items = line.split()
    strange = next((item for item in items if item not in _NAMES), None)
    if strange is not None:
        raise DataError(f'{where}: "{strange:.40}" is no tag; tags are OK and BAD')
    if len(items) != 2 * words + 1:
        raise DataError(
            f"{where}: has {len(items)} tags for {words} words of mt; there must be {2 * words + 1}: a gap, a word, a "
            "gap, and so on"
        )
    return [_NAMES[item] for item in items]


def format_tags(bad: Sequence[bool]) -> str:
    """Return tags as a line."""
    return " ".join("BAD" if one else "OK" for one in bad)


def word_tags(bad: Sequence[bool]) -> Sequence[bool]:
    """Return the tags of the words alone."""
    return bad[1::2]


def gap_tags(bad: Sequence[bool]) -> Sequence[bool]:
    """Return the tags of the gaps alone."""
    return bad[::2]


def score_tags(found: Sequence[Sequence[bool]], gold: Sequence[Sequence[bool]]) -> TagScores:
    """Return the scores of all sentences together.

    Raises:
        ValueError: if there are not as many tags of both.
    """
    pairs = [pair for one, other in zip(found, gold, strict=True) for pair in zip(one, other, strict=True)]
    counts = {pair: pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))}
    return TagScores(*counts.values())
