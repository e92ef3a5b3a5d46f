"""Tables of how near a model's alignments and tags are to gold ones, beside what takes no model."""

from collections.abc import Sequence

from postedit.evaluate.alignment import SIGNATURE as ALIGNMENT
from postedit.evaluate.alignment import Alignment, AlignmentScores, diagonal, score_alignments
from postedit.evaluate.table import Column, Row, Table
from postedit.evaluate.tags import SIGNATURE as TAGS
from postedit.evaluate.tags import gap_tags, score_tags, word_tags
from postedit.explain.links import words


def alignment_table(
    found: Sequence[Alignment], gold: Sequence[Alignment], src: Sequence[str], mt: Sequence[str]
) -> Table:
    """Return the scores of alignments of src and mt, beside those of the diagonal."""
    straight = [diagonal(len(words(one)), len(words(other))) for one, other in zip(src, mt, strict=True)]
    rows = (
        Row(("diagonal",), _alignment_values(score_alignments(straight, gold))),
        Row(("attention",), _alignment_values(score_alignments(found, gold))),
    )
    names = ("AER %", "precision %", "recall %", "F1 %")
    columns = (*(Column(name, 1) for name in names), Column("links"), Column("gold links"))
    note = (
        "The model reads mt as its output; each word of mt is linked to the word of src with most attention. Diagonal: "
        f"the word as far into src. {ALIGNMENT}."
    )
    return Table("alignment of src and mt against gold", ("by",), columns, rows, note)


def _alignment_values(scores: AlignmentScores) -> tuple[float, ...]:
    rates = (scores.aer, scores.precision, scores.recall, 1.0 - scores.aer)
    return (*(100.0 * rate for rate in rates), scores.links, scores.gold)


def tag_table(found: Sequence[Sequence[bool]], gold: Sequence[Sequence[bool]]) -> Table:
    """Return the scores of OK/BAD tags, words and gaps apart, beside those of doing nothing: all OK."""
    rows = []
    for part, chosen in (("words", word_tags), ("gaps", gap_tags)):
        wanted = [chosen(one) for one in gold]
        for name, tags in (
            ("all OK", [[False] * len(one) for one in wanted]),
            ("edits", [list(chosen(one)) for one in found]),
        ):
            scores = score_tags(tags, wanted)
            bad, gold_bad = scores.hits + scores.alarms, scores.hits + scores.misses
            rows.append(Row((part, name), (scores.mcc, scores.f1_bad, scores.f1_ok, bad, gold_bad)))
    columns = (
        Column("MCC", 3), Column("F1-BAD", 3), Column("F1-OK", 3), Column("BAD"), Column("BAD in gold"),
    )  # fmt: skip
    note = f"BAD is what the model deletes, replaces, or inserts something into. {TAGS}."
    return Table("tags of mt against gold", ("of", "tags"), columns, tuple(rows), note)
