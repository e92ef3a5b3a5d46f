"""Figures of a confirmed segment: its edits by TER, and which proposed edits were accepted."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rapidfuzz.distance import Levenshtein

from postedit.adapt.correction import Decision
from postedit.evaluate.ter import EditCount, count_edits
from postedit.text.words import compared_words

_COMPARED: Final = 25_000_000  # product of two lengths that are compared character by character


@dataclass(frozen=True, slots=True)
class SegmentFigures:
    """Figures of a confirmed segment.

    Args:
        words: number of tokens of the target; in scripts without spaces, of characters.
        edits_of_mt: number of edits that turn mt into the target, by TER.
        edits_of_proposal: number of edits that turn the proposal into the target, by TER.
        kinds: numbers of accepted and of rejected edits, by kind of proposed edit.
    """

    words: int = 0
    edits_of_mt: int = 0
    edits_of_proposal: int = 0
    kinds: Mapping[str, Sequence[int]] = field(default_factory=dict)


def edit_counts(texts: Sequence[str], targets: Sequence[str]) -> list[EditCount]:
    """Return counts of the edits from each text to its target, by TER; scripts without spaces count characters."""
    ours, theirs = ([" ".join(compared_words(text)) for text in side] for side in (texts, targets))
    return count_edits(ours, theirs, "13a")


def figures_of(
    mt: str, target: str, proposal: Mapping[str, Any] | None, given: Sequence[Mapping[str, Any]]
) -> SegmentFigures:
    """Return the figures of a confirmed target.

    Args:
        mt: the machine translation; empty if there is none.
        target: the confirmed target.
        proposal: the proposal as the API gives it; None if there is none.
        given: decisions on its edits as the API gives them; for other edits, the target shows the decision.
    """
    proposed = mt if proposal is None else proposal["text"]
    of_mt, of_proposal = edit_counts([mt, proposed], [target, target])
    kinds: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for edit, accepted in accepted_edits(target, proposal, given):
        kinds[edit["op"]][0 if accepted else 1] += 1
    return SegmentFigures(of_mt.length, of_mt.edits, of_proposal.edits, dict(kinds))


def accepted_edits(
    target: str, proposal: Mapping[str, Any] | None, given: Sequence[Mapping[str, Any]]
) -> list[tuple[Mapping[str, Any], bool]]:
    """Return the edits of a proposal, each with whether it was accepted: by its decision, else by the target."""
    if proposal is None or not proposal["edits"]:
        return []
    decided = {one["edit"]: one["accepted"] for one in given}
    kept = _kept_spans(proposal["text"], target)
    return [
        (edit, decided.get(row, _is_within(edit["pe_span"], kept, len(proposal["text"]))))
        for row, edit in enumerate(proposal["edits"])
    ]


def learnt_decisions(
    target: str, proposal: Mapping[str, Any] | None, given: Sequence[Mapping[str, Any]], lead: int
) -> tuple[Decision, ...]:
    """Return decisions in the form of the memory, where mt lacks the `lead` white-space characters at its start."""
    return tuple(
        Decision(edit["mt_span"][0] - lead, edit["mt_span"][1] - lead, edit["after"], accepted)
        for edit, accepted in accepted_edits(target, proposal, given)
    )


def _kept_spans(text: str, target: str) -> list[tuple[int, int]]:
    if len(text) * len(target) > _COMPARED:
        return [(0, len(text))] if text == target else []
    blocks = Levenshtein.opcodes(text, target)
    return [(block.src_start, block.src_end) for block in blocks if block.tag == "equal"]


def _is_within(span: Sequence[int], kept: Sequence[tuple[int, int]], length: int) -> bool:
    """Return whether a span of a proposal is kept; for a deletion, the characters around it must still be adjacent."""
    start, end = span
    if start == end:
        start, end = max(0, start - 1), min(length, end + 1)
    return any(low <= start and end <= high for low, high in kept)
