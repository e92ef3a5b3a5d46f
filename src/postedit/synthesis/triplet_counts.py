"""TER edits of artificial triplets, counted chunk by chunk, and their summary in manifests."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from postedit.distributed.chunks import Chunk

if TYPE_CHECKING:
    from postedit.evaluate.ter import EditCount  # imports sacrebleu, which workers that make noise do not need

EDIT_KINDS: Final = ("shifts", "substitutions", "insertions", "deletions")  # in the order of the TER kernel
MAX_TER: Final = 200  # last bin of TER histograms, in per cent, which also holds higher values
TER_BIN: Final = "ter="  # prefix of the counts that make up the TER histogram, with one bin per percentage point
BLANK: Final = "blank on a side"
TOO_LONG: Final = "too long for the model"


def triplet_chunk(chunk: Chunk, src: Sequence[str | None], mt: Sequence[str | None], pe: Sequence[str]) -> Chunk:
    """Return the chunk with these triplets and their counts.

    A side is None if the model that was to write it could not read a text of this length. Such triplets, and those with
    a blank side, are counted and left out.
    """
    whole = [(s, m, p) for s, m, p in zip(src, mt, pe, strict=True) if s is not None and m is not None]
    kept = [triplet for triplet in whole if all(text.strip() for text in triplet)]
    left_out = {BLANK: len(whole) - len(kept), TOO_LONG: len(mt) - len(whole)}
    lines = {side: [triplet[column] for triplet in kept] for column, side in enumerate(("src", "mt", "pe"))}
    return chunk.with_lines(lines, {**count_triplets(lines["mt"], lines["pe"]), **left_out})


def count_triplets(mt: Sequence[str], pe: Sequence[str]) -> Counter[str]:
    """Return the number of triplets ("kept"), their words in pe, their edits by kind, and their TER histogram."""
    from postedit.evaluate.ter import TER

    return sum_edits(TER(case_sensitive=True).counts(mt, pe))


def sum_edits(edits: Sequence["EditCount"]) -> Counter[str]:
    """Return the counts of `count_triplets` for triplets whose edits are known."""
    counts: Counter[str] = Counter(kept=len(edits), words=sum(found.length for found in edits))
    counts.update({kind: sum(getattr(found, kind) for found in edits) for kind in EDIT_KINDS})
    counts.update(f"{TER_BIN}{min(MAX_TER, 100 * found.edits // max(1, found.length))}" for found in edits)
    return counts


def summary(counts: Mapping[str, int], reasons: Sequence[str]) -> dict[str, Any]:
    """Return the manifest entries for the summed counts; `reasons` are the names of the counts of lines left out."""
    from postedit.evaluate.ter import ter_signature

    histogram = dict(sorted(histogram_of(counts, TER_BIN).items()))
    made = {"triplets": counts.get("kept", 0), **edit_rates(counts), "histogram": histogram}
    left_out = {reason: counts.get(reason, 0) for reason in reasons}
    return {"left_out": left_out, "made": made, "signature": ter_signature()}


def edit_rates(counts: Mapping[str, int]) -> dict[str, Any]:
    """Return TER, and the edits of each kind per hundred words."""
    words = max(1, counts.get("words", 0))
    rates = {kind: round(100 * counts.get(kind, 0) / words, 2) for kind in EDIT_KINDS}
    return {"ter": round(100 * sum(counts.get(kind, 0) for kind in EDIT_KINDS) / words, 2), **rates}


def histogram_of(counts: Mapping[str, int], prefix: str) -> dict[int, int]:
    """Return the histogram whose bins are the counts with this prefix."""
    return {int(name.removeprefix(prefix)): count for name, count in counts.items() if name.startswith(prefix)}


def ks_distance(one: Mapping[int, float], other: Mapping[int, float]) -> float:
    """Return the Kolmogorov-Smirnov distance of two histograms: the maximum difference of their cumulative shares."""
    totals, sums, largest = (sum(one.values()), sum(other.values())), [0.0, 0.0], 0.0
    for place in sorted({*one, *other}):
        sums = [total + histogram.get(place, 0) for total, histogram in zip(sums, (one, other))]
        largest = max(largest, abs(sums[0] / totals[0] - sums[1] / totals[1]))
    return largest
