"""What a system did to the machine translation: how much, of what kind, and whether it was called for."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

_Atom = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class EditQuality:
    """Word edits of a system beside those that the post-editor made.

    Args:
        made: edits from the machine translation to the output.
        needed: edits from the machine translation to the post-edit.
        right: edits that are in both: the same operation, at the same word, with the same new word.
    """

    made: int
    needed: int
    right: int

    @property
    def precision(self) -> float | None:
        """Right edits in per cent of those made."""
        return 100.0 * self.right / self.made if self.made else None

    @property
    def recall(self) -> float | None:
        """Right edits in per cent of those needed."""
        return 100.0 * self.right / self.needed if self.needed else None

    @property
    def f1(self) -> float | None:
        """Their harmonic mean."""
        return 200.0 * self.right / (self.made + self.needed) if self.made + self.needed else None


def edit_quality(mt: Sequence[Sequence[str]], hyp: Sequence[Sequence[str]], pe: Sequence[Sequence[str]]) -> EditQuality:
    """Return the counts over all sentences, given as words."""
    made = needed = right = 0
    for before, output, after in zip(mt, hyp, pe, strict=True):
        done, wanted = _atoms(before, output), _atoms(before, after)
        made += done.total()
        needed += wanted.total()
        right += (done & wanted).total()
    return EditQuality(made, needed, right)


def _atoms(before: Sequence[str], after: Sequence[str]) -> Counter[_Atom]:
    """Return the fewest word edits, each with the word of `before` it is at and the word it writes."""
    if before == after:
        return Counter()
    return Counter(
        (op.tag, op.src_pos, "" if op.tag == "delete" else after[op.dest_pos])
        for op in Levenshtein.editops(before, after)
    )
