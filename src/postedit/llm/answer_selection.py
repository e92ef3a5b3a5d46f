"""Choose among the answers of a model about a segment. Against over-correction, mt is always a candidate."""

from collections import Counter
from collections.abc import Sequence

from postedit.core.editor import Edit, Editor, Segment
from postedit.core.errors import DataError
from postedit.editing.minimum_risk import SMALL, expected_costs
from postedit.llm.endpoint_options import Consensus


def consensus(samples: Sequence[str], mt: str, metric: Consensus) -> str:
    """Return the candidate with the lowest expected cost under the samples (minimum Bayes risk).

    The samples serve as references, each with the same probability. Candidates are the samples and mt; ties are broken
    in favour of mt, then of the text that most samples have.
    """
    counts = Counter(samples)
    candidates = list(dict.fromkeys([mt, *(text for text, _ in counts.most_common())]))
    if len(candidates) == 1 or not samples:
        return mt
    cost = _ter_costs if metric == "ter" else _chrf_costs
    risks = expected_costs(candidates, [*counts], [*counts.values()], cost)
    return next(candidate for candidate, risk in zip(candidates, risks, strict=True) if risk <= min(risks) + SMALL)


def _ter_costs(outputs: Sequence[str], references: Sequence[str]) -> list[float]:
    from postedit.evaluate.metrics import ter_costs

    return ter_costs(outputs, references)


def _chrf_costs(outputs: Sequence[str], references: Sequence[str]) -> list[float]:
    from postedit.evaluate.chrf import AdditiveCHRF

    chrf = AdditiveCHRF()
    return [float(cost) for cost in chrf.loss(chrf.statistics(outputs, references))]


def best_by_model(scorer: Editor, segments: Sequence[Segment], lists: Sequence[Sequence[str]]) -> list[str]:
    """Return, for each segment, the candidate with the highest mean log-probability per token under a model.

    If the model cannot score one of the candidates, return the first of them.

    Raises:
        DataError: if the model has no forced scores.
    """
    asked = [segment for segment, found in zip(segments, lists, strict=True) for _ in found]
    scored = iter(scorer.score_segments(asked, [text for found in lists for text in found]))
    chosen = []
    for found in lists:
        scores = [next(scored) for _ in found]
        if any(one.skipped for one in scores):
            chosen.append(found[0])
            continue
        means = [one.score / max(1, len(one.token_scores)) for one in scores]
        chosen.append(found[means.index(max(means))])
    return chosen


def shares(edits: Sequence[Edit], text: str, others: Sequence[tuple[str, Sequence[Edit]]], asked: int) -> list[float]:
    """Return, for each edit of a text, the share of samples that make it: its confidence.

    Args:
        edits: edits of the chosen output.
        text: the chosen output.
        others: each usable sample, with its edits.
        asked: number of requested samples; those that are not usable count, but confirm nothing.
    """
    made = Counter(change for sample, found in others for change in {_change(sample, edit) for edit in found})
    return [made[_change(text, edit)] / asked for edit in edits]


def _change(text: str, edit: Edit) -> tuple[tuple[int, int], str]:
    return edit.mt_span, text[slice(*edit.pe_span)]


def check_scorer(scorer: Editor, name: str) -> None:
    """Check that an editor can score given outputs.

    Raises:
        DataError: if it cannot.
    """
    if not scorer.abilities.forced_scores:
        raise DataError(f"llm.scorer: {name} cannot score the outputs of other models")
