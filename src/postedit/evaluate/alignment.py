"""Word alignments in Pharaoh format, and how near one is to another."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from postedit.core.errors import DataError

SIGNATURE: Final = (
    "precision = |A & G| / |A|, recall = |A & G| / |G|, AER = 1 - 2 |A & G| / (|A| + |G|), links of all sentences "
    "together, every gold link G sure; words are what stands between spaces, counted from 0"
)

_LINK: Final = re.compile(r"(\d+)-(\d+)")


@dataclass(frozen=True, order=True, slots=True)
class Link:
    """Word `source` of one text and word `target` of the other, counted from 0, are translations of each other."""

    source: int
    target: int

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


Alignment = frozenset[Link]


@dataclass(frozen=True, slots=True)
class AlignmentScores:
    """How near alignments are to gold ones; rates from 0 to 1."""

    links: int
    gold: int
    common: int

    @property
    def precision(self) -> float:
        """The share of links that are gold."""
        return self.common / self.links if self.links else 0.0

    @property
    def recall(self) -> float:
        """The share of gold links that were found."""
        return self.common / self.gold if self.gold else 0.0

    @property
    def aer(self) -> float:
        """The alignment error rate (Och and Ney 2003) where all gold links are sure: 1 less the F1 score."""
        both = self.links + self.gold
        return 1.0 - 2.0 * self.common / both if both else 0.0


def parse_alignment(line: str, where: str) -> Alignment:
    """Return the links in a line such as "0-0 1-2".

    Raises:
        DataError: naming `where`, if it has anything else.
    """
    links = []
    for item in line.split():
        match = _LINK.fullmatch(item)
        if match is None:
            raise DataError(
                f'{where}: "{item:.40}" is no link; write links as source-target word numbers, such as 0-0 1-2'
            )
        links.append(Link(int(match[1]), int(match[2])))
    return frozenset(links)


def format_alignment(links: Alignment) -> str:
    """Return links as a line, in order."""
    return " ".join(map(str, sorted(links)))


def score_alignments(found: Sequence[Alignment], gold: Sequence[Alignment]) -> AlignmentScores:
    """Return the scores of all sentences together.

    Raises:
        ValueError: if there are not as many of both.
    """
    common = sum(len(one & other) for one, other in zip(found, gold, strict=True))
    return AlignmentScores(sum(map(len, found)), sum(map(len, gold)), common)


def diagonal(source: int, target: int) -> Alignment:
    """Return the links of texts of so many words if order were all: what doing nothing is to scores of outputs."""
    return frozenset(Link(place * source // target, place) for place in range(target) if source)
