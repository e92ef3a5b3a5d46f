"""Encode segments as token ids, decide which of them are skipped, and form batches of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from postedit.core.editor import Segment, Side, Skipped
from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import EOS
from postedit.core.types import Batch
from postedit.data.collate import collate, first_tokens
from postedit.text.edits import target_of, without_steps
from postedit.text.hint_writer import NO_SOURCES, HintSources, HintWriter
from postedit.text.processor import TextProcessor

_INPUTS: Final[tuple[Side, ...]] = ("src", "mt")


@dataclass(frozen=True, slots=True)
class EncodedSegment:
    """A segment as token ids."""

    segment: Segment  # the texts
    ids: Mapping[Side, Sequence[int]]  # by side, EOS included; also of sides that the model does not read
    # tokens of a given output, without EOS, with the STEPs of a model that writes them; empty if none is given
    output: Sequence[int] = ()
    hints: Mapping[str, Sequence[int]] = field(default_factory=dict)  # ids of each hint by name, EOS included
    skipped: Skipped | None = None  # why it is not searched; None if it is
    cut: bool = False  # whether a side that the model reads was cut to its first tokens

    @property
    def src(self) -> str:
        """The source text."""
        return self.segment.src

    @property
    def mt(self) -> str:
        """The machine translation; empty if there is none."""
        return self.segment.mt or ""

    @property
    def length(self) -> int:
        """Tokens of the longest side or hint."""
        return max(map(len, (*self.ids.values(), *self.hints.values())))


def inputs_of(model: Seq2Seq) -> list[Side]:
    """Return the sides that a model reads."""
    return [side for side in _INPUTS if side in model.spec.inputs]


def encode_segments(
    model: Seq2Seq,
    processor: TextProcessor,
    segments: Sequence[Segment],
    max_input: int,
    outputs: Sequence[str] | None = None,
    *,
    cut: bool = False,
    hints: HintSources = NO_SOURCES,
) -> list[EncodedSegment]:
    """Return the segments as token ids, each with its hints and, if `outputs` to score are given, with its output.

    A segment with a side of more than `max_input` tokens, EOS included, is skipped; with `cut`, the side is cut
    to this length instead.
    """
    src = processor.encode_batch("src", [segment.src for segment in segments])
    with_mt = [row for row, segment in enumerate(segments) if segment.mt is not None]
    mt = dict(zip(with_mt, processor.encode_batch("mt", [segments[row].mt or "" for row in with_mt]), strict=True))
    beside = [segment.mt for segment in segments]
    paths = [[]] * len(segments) if outputs is None else processor.encode_batch("pe", outputs, beside)
    writer = HintWriter(model.spec.hints, processor, hints)
    encoded = []
    for row, segment in enumerate(segments):
        ids: dict[Side, Sequence[int]] = {"src": src[row], **({"mt": mt[row]} if row in mt else {})}
        is_cut = cut and any(len(ids[side]) > max_input for side in inputs_of(model))
        if cut:
            ids = {side: first_tokens(text, max_input) for side, text in ids.items()}
        path, skipped = paths[row], _why_skipped(model, segment, ids, max_input)
        if is_cut and "mt" in ids:
            path = processor.without_lost_copies(path, ids["mt"])
        if outputs is not None:
            path = (path if model.spec.writes == "tokens" else target_of(model.spec.writes, ids["mt"], path))[:-1]
            if len(path) >= (model.spec.longest or math.inf) or len(without_steps(path)) >= max_input:
                skipped = skipped or "too long"
        shown = writer.write(segment.src, segment.mt or "")
        encoded.append(EncodedSegment(segment, ids, path, shown, skipped, is_cut))
    return encoded


def batch_of(model: Seq2Seq, segments: Sequence[EncodedSegment]) -> Batch:
    """Return the sides and hints that a model reads as a padded batch on its device."""
    sides = inputs_of(model)
    rows: dict[str, list[Sequence[int]]] = {side: [segment.ids[side] for segment in segments] for side in sides}
    for name in model.spec.hints.names:
        rows[name] = [segment.hints.get(name, [EOS]) for segment in segments]
    batch = collate(rows, list(rows))
    return batch.to(next(model.parameters()).device)


def _why_skipped(model: Seq2Seq, segment: Segment, ids: Mapping[Side, Sequence[int]], max_input: int) -> Skipped | None:
    read = inputs_of(model)
    texts: dict[Side, str | None] = {"src": segment.src, "mt": segment.mt}
    if any(text is not None and not text.strip() for side, text in texts.items() if side == "mt" or side in read):
        return "empty"
    too_long = sum(len(ids[side]) for side in read) > (model.spec.longest or math.inf)
    return "too long" if too_long or max(map(len, ids.values())) > max_input else None
