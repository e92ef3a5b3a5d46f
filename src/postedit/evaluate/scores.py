"""TER, BLEU and chrF of systems over one test set, with what they changed for better and for worse."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from postedit.core.errors import DataError
from postedit.evaluate.chrf import AdditiveCHRF
from postedit.evaluate.sufficient_statistics import AdditiveBLEU, AdditiveMetric, Floats, Tokenize
from postedit.evaluate.ter import EditCount, count_edits, edit_rate, ter_signature

UNEDITED_MT: Final = "unedited MT"
"""The name of the baseline system, which returns the machine translation unchanged."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a system did to the machine translation, in sentences.

    Better and worse are by the edits, as TER counts them, that remain to reach the post-edit.

    Args:
        changed: sentences that are not the very text of the translation.
        better: changed sentences with fewer edits left than the translation.
        worse: changed sentences with more.
    """

    changed: int
    better: int
    worse: int

    @property
    def same(self) -> int:
        """Changed sentences with as many edits left as the translation."""
        return self.changed - self.better - self.worse


@dataclass(frozen=True, slots=True)
class SystemScores:
    """The scores of one system.

    Args:
        name: of the system.
        lines: sentences scored.
        ter: case-sensitive, per cent; lower is better.
        bleu: 0 to 100; higher is better.
        chrf: 0 to 100; higher is better.
        changes: against the machine translation, if it was given.
        signatures: by metric name (`"TER"`, `"BLEU"`, `"chrF"`), all that is needed to get the same number again.
    """

    name: str
    lines: int
    ter: float
    bleu: float
    chrf: float
    changes: Changes | None
    signatures: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        values = {name: getattr(self, name) for name in ("name", "lines", "ter", "bleu", "chrf")}
        changes = None if self.changes is None else {**asdict(self.changes), "same": self.changes.same}
        return {**values, "changes": changes, "signatures": dict(self.signatures)}


@dataclass(frozen=True, eq=False, slots=True)
class Counts:
    """What all scores of a system are sums of, sentence by sentence.

    Args:
        edits: from its sentences to the post-edits, as TER counts them.
        bleu: Float[sentences,10], statistics of `AdditiveBLEU`.
        chrf: Float[sentences,19], those of `AdditiveCHRF`.
        tokenize: how the text was divided into words.
    """

    edits: Sequence[EditCount]
    bleu: Floats
    chrf: Floats
    tokenize: Tokenize

    @classmethod
    def of(cls, hyp: Sequence[str], pe: Sequence[str], tokenize: Tokenize = "none") -> Self:
        """Count; there must be as many sentences of both, and at least one."""
        edits = count_edits(hyp, pe, normalise=tokenize == "13a")
        return cls(edits, AdditiveBLEU(tokenize).statistics(hyp, pe), AdditiveCHRF().statistics(hyp, pe), tokenize)


def score_systems(
    systems: Mapping[str, Sequence[str]], pe: Sequence[str], mt: Sequence[str] | None, tokenize: Tokenize = "none"
) -> list[SystemScores]:
    """Return the scores of each system in the order given, after those of doing nothing where `mt` is given.

    Args:
        systems: sentences by the name of the system.
        pe: the post-edits, line by line.
        mt: the machine translations, line by line.
        tokenize: how the text is divided into words.

    Raises:
        DataError: if a text has not as many lines as `pe`, or there are none.
    """
    baseline = {} if mt is None else {UNEDITED_MT: mt}
    rows = [*baseline.items(), *systems.items()]
    return [score_system(name, hyp, pe, mt, tokenize) for name, hyp in rows]


def score_system(
    name: str, hyp: Sequence[str], pe: Sequence[str], mt: Sequence[str] | None, tokenize: Tokenize = "none"
) -> SystemScores:
    """Return the scores of one system.

    Args:
        name: of the system.
        hyp: its sentences.
        pe: the post-edits, line by line.
        mt: the machine translations, line by line, to count what was changed.
        tokenize: how the text is divided into words.

    Raises:
        DataError: if a text has not as many lines as `pe`, or there are none.
    """
    check_lines(pe, {name: hyp} if mt is None else {name: hyp, "mt": mt})
    return score_counts(name, hyp, Counts.of(hyp, pe, tokenize), pe, mt)


def score_counts(
    name: str, hyp: Sequence[str], counts: Counts, pe: Sequence[str], mt: Sequence[str] | None
) -> SystemScores:
    """Return the scores of one system whose sentences are counted already; else as `score_system`."""
    raw = counts.tokenize == "13a"
    bleu, chrf = AdditiveBLEU(counts.tokenize), AdditiveCHRF()
    return SystemScores(
        name=name,
        lines=len(hyp),
        ter=edit_rate(counts.edits),
        bleu=_score(bleu, counts.bleu),
        chrf=_score(chrf, counts.chrf),
        changes=None if mt is None else _changes(hyp, counts.edits, pe, mt, normalise=raw),
        signatures={"TER": ter_signature(normalise=raw), "BLEU": bleu.signature, "chrF": chrf.signature},
    )


def _score(metric: AdditiveMetric, statistics: Floats) -> float:
    return metric.score(float(metric.loss(statistics.sum(0))))


def _changes(
    hyp: Sequence[str], counts: Sequence[EditCount], pe: Sequence[str], mt: Sequence[str], *, normalise: bool
) -> Changes:
    changed = [row for row, (after, before) in enumerate(zip(hyp, mt, strict=True)) if after != before]
    before = count_edits([mt[row] for row in changed], [pe[row] for row in changed], normalise=normalise)
    gains = [old.edits - counts[row].edits for row, old in zip(changed, before, strict=True)]
    return Changes(len(changed), better=sum(gain > 0 for gain in gains), worse=sum(gain < 0 for gain in gains))


def check_lines(pe: Sequence[str], texts: Mapping[str, Sequence[str]]) -> None:
    """See to it that texts, by name, can be scored against post-edits.

    Raises:
        DataError: if there are no lines, or not as many of each.
    """
    if not pe:
        raise DataError("nothing to score: the post-edits have no lines")
    for name, text in texts.items():
        if len(text) != len(pe):
            raise DataError(
                f"{name} has {len(text):,} lines, the post-edits have {len(pe):,}; they must match one to one"
            )
