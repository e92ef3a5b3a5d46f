"""What is counted of triplets while they are made, and what a manifest says of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from postedit.evaluate.ter import TER, EditCount, ter_signature
from postedit.synthesis.fit import describe_edits
from postedit.synthesis.noise_stage import HIGHEST, KINDS

_TER_BIN: Final = "ter="


def tally(mt: Sequence[str], pe: Sequence[str]) -> Counter[str]:
    """Return how many triplets there are, their words and edits by kind, and how many have each per cent of TER."""
    return count_edits(TER(case_sensitive=True).counts(mt, pe))


def count_edits(found: Sequence[EditCount]) -> Counter[str]:
    """Return the same of triplets whose edits are known."""
    counts: Counter[str] = Counter(kept=len(found))
    for edits in found:
        counts["words"] += edits.length
        for kind in KINDS:
            counts[kind] += getattr(edits, kind)
        counts[f"{_TER_BIN}{min(HIGHEST, 100 * edits.edits // max(1, edits.length))}"] += 1
    return counts


def describe(counts: Mapping[str, int], left_out: Sequence[str]) -> dict[str, Any]:
    """Return what a manifest says of all that was counted; `left_out` are the reasons for which lines are."""
    made = {"triplets": counts.get("kept", 0), **describe_edits(counts), "histogram": ter_histogram(counts)}
    reasons = {reason: counts.get(reason, 0) for reason in left_out}
    return {"left_out": reasons, "made": made, "signature": ter_signature()}


def ter_histogram(counts: Mapping[str, int]) -> dict[int, int]:
    """Return how many triplets have each per cent of TER."""
    found = {int(name.removeprefix(_TER_BIN)): count for name, count in counts.items() if name.startswith(_TER_BIN)}
    return dict(sorted(found.items()))


def blank(*sides: Sequence[str]) -> np.ndarray:
    """Return Bool: which lines have no word on one of the sides."""
    return np.array([not all(text.strip() for text in texts) for texts in zip(*sides)], bool)
