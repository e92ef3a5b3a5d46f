"""Word alignments in Pharaoh format, and their scores against gold alignments."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from postedit.core.errors import DataError
from postedit.evaluate.table import Column, Table, TableRow
from postedit.text.words import PlainSplitter

SIGNATURE: Final = (
    "precision = |A & G| / |A|, recall = |A & G| / |G|, AER = 1 - 2 |A & G| / (|A| + |G|), links of all sentences "
    "together, every gold link G sure; words are separated by spaces and counted from 0"
)

_LINK: Final = re.compile(r"(\d+)-(\d+)")


@dataclass(frozen=True, order=True, slots=True)
class Link:
    """An alignment of word `source` of one text with word `target` of the other; words are counted from 0."""

    source: int
    target: int

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


Alignment = frozenset[Link]


@dataclass(frozen=True, slots=True)
class AlignmentScores:
    """The numbers of found, gold and common links, and rates from 0 to 1 computed from them."""

    links: int
    gold: int
    common: int

    @property
    def precision(self) -> float:
        """The share of found links that are gold links."""
        return self.common / self.links if self.links else 0.0

    @property
    def recall(self) -> float:
        """The share of gold links that were found."""
        return self.common / self.gold if self.gold else 0.0

    @property
    def aer(self) -> float:
        """The alignment error rate (Och and Ney 2003): 1 - F1, because all gold links are sure."""
        both = self.links + self.gold
        return 1.0 - 2.0 * self.common / both if both else 0.0


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end (exclusive) of each word, in characters; spaces, tabs and line ends separate words."""
    return [(word.start, word.end) for word in PlainSplitter().spans(text)]


def parse_alignment(line: str, where: str) -> Alignment:
    """Return the links in a line such as "0-0 1-2"; raise a DataError that names `where` if it holds anything else."""
    links = []
    for item in line.split():
        match = _LINK.fullmatch(item)
        if match is None:
            raise DataError(f'{where}: "{item:.40}" is not a link; write source-target word numbers, such as 0-0 1-2')
        links.append(Link(int(match[1]), int(match[2])))
    return frozenset(links)


def format_alignment(links: Alignment) -> str:
    """Return links, sorted, as a line such as "0-0 1-2"."""
    return " ".join(map(str, sorted(links)))


def score_alignments(found: Sequence[Alignment], gold: Sequence[Alignment]) -> AlignmentScores:
    """Return the scores over the links of all sentences together."""
    common = sum(len(one & other) for one, other in zip(found, gold, strict=True))
    return AlignmentScores(sum(map(len, found)), sum(map(len, gold)), common)


def diagonal_alignment(source: int, target: int) -> Alignment:
    """Return the baseline: each of `target` words is linked to the one of `source` words at its relative position.

    Positions are those of the middles of words. Beginnings would link to words too far left, and never to the last one
    if it is one of many.
    """
    return frozenset(Link((2 * index + 1) * source // (2 * target), index) for index in range(target) if source)


def alignment_table(
    found: Sequence[Alignment], gold: Sequence[Alignment], src: Sequence[str], mt: Sequence[str]
) -> Table:
    """Return the scores of src-mt alignments from attention beside those of the diagonal."""
    sizes = [[len(word_spans(line)) for line in lines] for lines in (src, mt)]
    baseline = [diagonal_alignment(source, target) for source, target in zip(*sizes, strict=True)]
    rows = []
    for name, alignments in (("diagonal", baseline), ("attention", found)):
        scores = score_alignments(alignments, gold)
        rates = (scores.aer, scores.precision, scores.recall, 1.0 - scores.aer)
        rows.append(TableRow((name,), (*(100.0 * rate for rate in rates), scores.links, scores.gold)))
    names = ("AER %", "precision %", "recall %", "F1 %")
    columns = (*(Column(name, 1) for name in names), Column("links"), Column("gold links"))
    note = (
        "The model reads mt as its output; each word of mt is linked to the word of src with most attention. Diagonal: "
        f"to the word at the relative position of its middle. {SIGNATURE}."
    )
    return Table("alignment of src and mt against gold", ("by",), columns, tuple(rows), note)
