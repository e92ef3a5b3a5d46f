"""Word-level quality tags, OK or BAD, derived from edits, and their scores against gold tags.

As in the WMT tasks on quality estimation, a text of n words has 2n + 1 tags: one for the gap before the first word, one
for the first word, one for the gap after it, and so on. A word is BAD if it is deleted or replaced; a gap is BAD if
something is inserted there.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from postedit.core.errors import DataError
from postedit.evaluate.edit_script import INSERT, KEEP, edit_steps
from postedit.evaluate.table import Column, Table, TableRow

SIGNATURE: Final = (
    "tags of all sentences together; F1-BAD and F1-OK: F1 score of finding those tags; MCC: Matthews correlation "
    "coefficient; words are separated by spaces"
)

_TAGS: Final = {"OK": False, "BAD": True}


@dataclass(frozen=True, slots=True)
class TagScores:
    """The confusion matrix of tags against gold tags; BAD is the positive class."""

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def f1_bad(self) -> float:
        """The F1 score of BAD; 0 if no tag is correctly BAD."""
        return _f1(self.true_positives, self.false_positives + self.false_negatives)

    @property
    def f1_ok(self) -> float:
        """The F1 score of OK; 0 if no tag is correctly OK."""
        return _f1(self.true_negatives, self.false_positives + self.false_negatives)

    @property
    def mcc(self) -> float:
        """The Matthews correlation coefficient, -1 to 1; 0 if all tags of one side are the same."""
        tp, fp, fn, tn = self.true_positives, self.false_positives, self.false_negatives, self.true_negatives
        product = math.prod((tp + fp, tp + fn, tn + fp, tn + fn))
        return (tp * tn - fp * fn) / math.sqrt(product) if product else 0.0


def _f1(hits: int, errors: int) -> float:
    """Return the F1 score; `errors` is the sum of false positives and false negatives."""
    return 2 * hits / (2 * hits + errors) if hits else 0.0


def edit_tags(mt: Sequence[str], output: Sequence[str]) -> list[bool]:
    """Return the 2n + 1 tags of the words `mt`, True for BAD, from the fewest edits that turn them into `output`.

    As in the WMT tasks, words are aligned regardless of case, but aligned words that differ in case are BAD.
    """
    bad = [False] * (2 * len(mt) + 1)
    for kind, at, to in edit_steps([word.lower() for word in mt], [word.lower() for word in output]):
        if kind == INSERT:
            bad[2 * at] = True
        elif kind != KEEP or mt[at] != output[to]:
            bad[2 * at + 1] = True
    return bad


def parse_tags(line: str, words: int, where: str) -> list[bool]:
    """Return the tags in a line of gold tags for `words` words, True for BAD.

    Raises:
        DataError: if there is anything but OK and BAD, or not 2 * `words` + 1 tags; the message begins with `where`.
    """
    items = line.split()
    unknown = next((item for item in items if item not in _TAGS), None)
    if unknown is not None:
        raise DataError(f'{where}: "{unknown:.40}" is not a tag; tags are OK and BAD')
    if len(items) != 2 * words + 1:
        raise DataError(
            f"{where}: has {len(items)} tags for {words} words of mt; there must be {2 * words + 1}: a gap, a word, a "
            "gap, and so on"
        )
    return [_TAGS[item] for item in items]


def format_tags(bad: Sequence[bool]) -> str:
    """Return tags, True for BAD, as a line of OK and BAD."""
    return " ".join("BAD" if one else "OK" for one in bad)


def score_tags(found: Sequence[Sequence[bool]], gold: Sequence[Sequence[bool]]) -> TagScores:
    """Return the scores over the tags of all sentences together."""
    pairs = Counter(pair for one, other in zip(found, gold, strict=True) for pair in zip(one, other, strict=True))
    return TagScores(pairs[True, True], pairs[True, False], pairs[False, True], pairs[False, False])


def tag_table(found: Sequence[Sequence[bool]], gold: Sequence[Sequence[bool]]) -> Table:
    """Return the scores of word tags and of gap tags, beside those of the baseline that tags everything OK."""
    rows = []
    for part, indices in (("words", slice(1, None, 2)), ("gaps", slice(0, None, 2))):
        wanted = [one[indices] for one in gold]
        baseline = [[False] * len(one) for one in wanted]
        for name, tags in (("all OK", baseline), ("edits", [one[indices] for one in found])):
            scores = score_tags(tags, wanted)
            bad = scores.true_positives + scores.false_positives
            gold_bad = scores.true_positives + scores.false_negatives
            rows.append(TableRow((part, name), (scores.mcc, scores.f1_bad, scores.f1_ok, bad, gold_bad)))
    columns = (*(Column(name, 3) for name in ("MCC", "F1-BAD", "F1-OK")), Column("BAD"), Column("BAD in gold"))
    note = f"BAD is what the model deletes, replaces, or inserts something into. {SIGNATURE}."
    return Table("tags of mt against gold", ("of", "tags"), columns, tuple(rows), note)
