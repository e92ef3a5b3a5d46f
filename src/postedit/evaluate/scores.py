"""TER, BLEU and chrF of systems on one test set, and how many sentences each system changed for better or for worse."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

import numpy as np

from postedit.core.errors import DataError
from postedit.evaluate.chrf import AdditiveCHRF
from postedit.evaluate.given_texts import check_lines, lines_of, outputs_of
from postedit.evaluate.metrics import AdditiveBLEU, AdditiveTER, Floats
from postedit.evaluate.ter import EditCount, count_edits
from postedit.evaluate.tokenisation import Tokenize, check_tokenize

UNEDITED_MT: Final = "unedited MT"
"""The name of the baseline, which returns the machine translation unchanged."""


@dataclass(frozen=True, slots=True)
class ChangedSentences:
    """The number of sentences that a system changed: `better` have fewer TER edits left to do than mt, `worse` more."""

    changed: int
    better: int
    worse: int

    @property
    def same(self) -> int:
        """The number of changed sentences that have as many edits left as mt."""
        return self.changed - self.better - self.worse


@dataclass(frozen=True, slots=True)
class SystemScores:
    """The scores of one system.

    Args:
        name: name of the system.
        lines: number of sentences scored.
        ter: case-sensitive TER, per cent; lower is better.
        bleu: BLEU, 0 to 100; higher is better.
        chrf: chrF, 0 to 100; higher is better.
        changes: counts of changed sentences; None if the machine translations are not known.
        signatures: signatures by metric (`"TER"`, `"BLEU"`, `"chrF"`), in sacrebleu's format.
    """

    name: str
    lines: int
    ter: float
    bleu: float
    chrf: float
    changes: ChangedSentences | None
    signatures: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as plain values for JSON."""
        values = {name: getattr(self, name) for name in ("name", "lines", "ter", "bleu", "chrf")}
        changes = None if self.changes is None else {**asdict(self.changes), "same": self.changes.same}
        return {**values, "changes": changes, "signatures": dict(self.signatures)}


@dataclass(frozen=True, eq=False, slots=True)
class SentenceStatistics:
    """Statistics of each sentence of a system; their sums determine its scores."""

    edits: Sequence[EditCount]  # from the outputs to the post-edits
    bleu: Floats  # Float[sentences,10], from `AdditiveBLEU`
    chrf: Floats  # Float[sentences,19], from `AdditiveCHRF`
    tokenize: Tokenize

    @classmethod
    def of(cls, hyp: Sequence[str], pe: Sequence[str], tokenize: Tokenize = "none") -> Self:
        """Return the statistics of the outputs `hyp` against equally many post-edits, at least one."""
        edits = count_edits(hyp, pe, tokenize)
        return cls(edits, AdditiveBLEU(tokenize).statistics(hyp, pe), AdditiveCHRF().statistics(hyp, pe), tokenize)


def score_systems(
    systems: Mapping[str, Sequence[str]], pe: Sequence[str], mt: Sequence[str] | None, tokenize: Tokenize = "none"
) -> list[SystemScores]:
    """Return the scores of the unedited MT, if `mt` is given, followed by those of each system in order.

    Args:
        systems: outputs of each system, by its name.
        pe: post-edits, line by line.
        mt: machine translations, line by line; None if they are not known.
        tokenize: how metrics separate words.

    Raises:
        DataError: if `pe` has no lines, another text has a different number of lines, a line is too long to score, a
            text is not a list of strings, a system has the name of the unedited MT, or `tokenize` is unknown.
    """
    check_tokenize(tokenize)
    pe, mt = lines_of("pe", pe), None if mt is None else lines_of("mt", mt)
    systems = outputs_of(systems)
    check_names(systems, mt)
    baseline = {} if mt is None else {UNEDITED_MT: mt}
    return [score_system(name, hyp, pe, mt, tokenize) for name, hyp in [*baseline.items(), *systems.items()]]


def check_names(systems: Collection[str], mt: object) -> None:
    """Check that no system has the name of the unedited MT, unless `mt` is None.

    Raises:
        DataError: if a system has that name.
    """
    if mt is not None and UNEDITED_MT in systems:
        raise DataError(f'a system cannot be named "{UNEDITED_MT}": that is the name of mt itself; rename it')


def score_system(
    name: str, hyp: Sequence[str], pe: Sequence[str], mt: Sequence[str] | None, tokenize: Tokenize = "none"
) -> SystemScores:
    """Return the scores of the system `name` with the outputs `hyp`; see `score_systems`."""
    by_character = tokenize == "characters"
    check_lines(pe, {name: hyp} if mt is None else {name: hyp, "mt": mt}, by_character=by_character)
    statistics = SentenceStatistics.of(hyp, pe, tokenize)
    return score_statistics(name, statistics, None if mt is None else changed_sentences(hyp, statistics, pe, mt))


def score_statistics(name: str, statistics: SentenceStatistics, changes: ChangedSentences | None) -> SystemScores:
    """Return the scores of one system from its sentence statistics and change counts; see `score_system`."""
    edits = [(count.edits, count.length) for count in statistics.edits]
    sums = np.array(edits, np.float64).reshape(-1, 2).sum(0), statistics.bleu.sum(0), statistics.chrf.sum(0)
    return scores_of_sums(name, len(edits), *sums, statistics.tokenize, changes)


def scores_of_sums(
    name: str,
    lines: int,
    ter_sums: Floats,
    bleu_sums: Floats,
    chrf_sums: Floats,
    tokenize: Tokenize,
    changes: ChangedSentences | None,
) -> SystemScores:
    """Return the scores of one system from the statistics of the additive metrics, each summed over all its lines."""
    ter, bleu, chrf = AdditiveTER(tokenize), AdditiveBLEU(tokenize), AdditiveCHRF()
    return SystemScores(
        name=name,
        lines=lines,
        ter=float(ter.loss(ter_sums)),
        bleu=bleu.score(float(bleu.loss(bleu_sums))),
        chrf=chrf.score(float(chrf.loss(chrf_sums))),
        changes=changes,
        signatures={"TER": ter.signature, "BLEU": bleu.signature, "chrF": chrf.signature},
    )


def changed_sentences(
    hyp: Sequence[str], statistics: SentenceStatistics, pe: Sequence[str], mt: Sequence[str]
) -> ChangedSentences:
    """Return how many outputs `hyp`, which have these statistics, differ from mt, and how many are better or worse."""
    changed = [row for row, (after, before) in enumerate(zip(hyp, mt, strict=True)) if after != before]
    before = count_edits([mt[row] for row in changed], [pe[row] for row in changed], statistics.tokenize)
    gains = [old.edits - statistics.edits[row].edits for row, old in zip(changed, before, strict=True)]
    return ChangedSentences(len(changed), better=sum(gain > 0 for gain in gains), worse=sum(gain < 0 for gain in gains))
