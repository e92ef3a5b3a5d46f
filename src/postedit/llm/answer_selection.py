"""Choose among the answers of a model for a segment, against over-correction: mt is always among the candidates."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from postedit.core.editor import Edit, Editor, Segment
from postedit.core.errors import DataError
from postedit.llm.endpoint_options import Consensus

_SMALL: Final = 1e-9  # differences of costs that are none


def consensus(samples: Sequence[str], mt: str, metric: Consensus) -> str:
    """Return the candidate with the least expected cost, by the samples: minimum Bayes risk.

    Each sample is taken as a reference with the same probability. Candidates are the samples and mt; of equal ones, mt
    is chosen, then what most samples say.
    """
    counts = Counter(samples)
    candidates = list(dict.fromkeys([mt, *(text for text, _ in counts.most_common())]))
    if len(candidates) == 1 or not samples:
        return mt
    pairs = [(candidate, sample) for candidate in candidates for sample in counts]
    costs = np.array(_costs(pairs, metric)).reshape(len(candidates), len(counts))
    risks = costs @ np.array([counts[sample] for sample in counts], np.float64)
    return candidates[int(np.flatnonzero(risks <= risks.min() + _SMALL)[0])]


def _costs(pairs: Sequence[tuple[str, str]], metric: Consensus) -> list[float]:
    candidates, references = [one for one, _ in pairs], [other for _, other in pairs]
    if metric == "ter":
        from postedit.evaluate.metrics import ter_costs

        return ter_costs(candidates, references)
    from postedit.evaluate.chrf import AdditiveCHRF

    chrf = AdditiveCHRF()
    return [float(cost) for cost in chrf.loss(chrf.statistics(candidates, references))]


def best_by_model(scorer: Editor, segments: Sequence[Segment], lists: Sequence[Sequence[str]]) -> list[str]:
    """Return the candidate of each segment that a model gives the best mean log-probability of a token.

    The first candidate stays where the model cannot score the segment.

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


def shares(edits: Sequence[Edit], text: str, others: Sequence[tuple[str, Sequence[Edit]]]) -> list[float]:
    """Return, for each edit of a text, the share of samples that make it: its confidence.

    Args:
        edits: of the text.
        text: the chosen output.
        others: each sample, with its edits.
    """
    made = Counter(change for sample, found in others for change in {_change(sample, edit) for edit in found})
    return [made[_change(text, edit)] / max(1, len(others)) for edit in edits]


def _change(text: str, edit: Edit) -> tuple[tuple[int, int], str]:
    return edit.mt_span, text[slice(*edit.pe_span)]


class QualityTags:
    """Tags of the gaps and words of translations, OK or BAD, by the text of the translation.

    Raises:
        DataError: if a line of the tags does not fit its translation.
    """

    def __init__(self, tags: Path, tagged: Path) -> None:
        from postedit.data.lines import read_aligned
        from postedit.evaluate.tags import parse_tags

        texts = read_aligned(tagged, tags)
        self._tags: dict[str, list[bool]] = {}
        for number, (mt, line) in enumerate(zip(texts[tagged], texts[tags], strict=True), start=1):
            found = parse_tags(line, len(mt.split()), f"{tags}, line {number}")
            known = self._tags.setdefault(mt, found)
            # Of the same translation of two sources, what is BAD of one may be.
            self._tags[mt] = [one or other for one, other in zip(known, found, strict=True)]

    @property
    def fingerprint(self) -> str:
        """A digest of all tags."""
        return hashlib.sha256(repr(sorted(self._tags.items())).encode()).hexdigest()[:16]

    def allow(self, mt: str, spans: Sequence[tuple[int, int]], edits: Sequence[Edit]) -> list[bool]:
        """Return whether each edit is of a BAD word or gap; `spans` are of the words of mt. Untagged ones may be."""
        bad = self._tags.get(mt)
        if bad is None:
            return [True] * len(edits)
        return [any(bad[place] for place in _places(edit, spans)) for edit in edits]


def _places(edit: Edit, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return the places in the tags that an edit concerns: its words and the gaps within, or its gap."""
    start, end = edit.mt_span
    words = [number for number, span in enumerate(spans) if span[0] < end and start < span[1]]
    if words:
        return list(range(2 * words[0], 2 * words[-1] + 3))
    return [2 * sum(span[1] <= start for span in spans)]


def check_scorer(scorer: Editor, name: str) -> None:
    """Check that an editor can score.

    Raises:
        DataError: if it cannot.
    """
    if not scorer.abilities.forced_scores:
        raise DataError(f"llm.scorer: {name} gives no scores to the outputs of others")
