"""Segments as token ids, and the reasons for which a model is not asked about one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from postedit.core.editor import Segment, Skipped
from postedit.core.model import Seq2Seq
from postedit.text.config import Side
from postedit.text.processor import TextProcessor
from postedit.text.steps import with_steps, without_steps

_INPUTS: Final[tuple[Side, ...]] = ("src", "mt")


@dataclass(frozen=True, slots=True)
class EncodedSegment:
    """A segment with the token ids of its sides, those that the model does not read included."""

    segment: Segment
    ids: Mapping[Side, Sequence[int]]

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
        """Tokens of the longest side."""
        return max(len(side) for side in self.ids.values())


def inputs_of(model: Seq2Seq) -> list[Side]:
    """Return the sides that a model reads."""
    return [side for side in _INPUTS if side in model.spec.inputs]


def encode_segments(processor: TextProcessor, segments: Sequence[Segment]) -> list[EncodedSegment]:
    """Return the segments with their token ids; a missing mt has none."""
    src = processor.encode_batch("src", [segment.src for segment in segments])
    with_mt = [row for row, segment in enumerate(segments) if segment.mt is not None]
    mt = dict(zip(with_mt, processor.encode_batch("mt", [segments[row].mt or "" for row in with_mt]), strict=True))
    return [
        EncodedSegment(segment, {"src": src[row], **({"mt": mt[row]} if row in mt else {})})
        for row, segment in enumerate(segments)
    ]


def encode_outputs(
    model: Seq2Seq, processor: TextProcessor, segments: Sequence[EncodedSegment], outputs: Sequence[str]
) -> list[list[int]]:
    """Return the tokens that the model writes for each given output, without EOS: STEPs included where it has them."""
    paths = processor.encode_batch("pe", outputs)
    if model.spec.writes == "steps":
        paths = [with_steps(segment.ids["mt"], path) for segment, path in zip(segments, paths, strict=True)]
    return [path[:-1] for path in paths]


def why_skipped(model: Seq2Seq, segment: EncodedSegment, max_input: int) -> Skipped | None:
    """Return why the model is not asked about a segment, or None if it is; `max_input` in tokens, EOS included."""
    read = inputs_of(model)
    texts: dict[Side, str | None] = {"src": segment.segment.src, "mt": segment.segment.mt}
    if any(text is not None and not text.strip() for side, text in texts.items() if side == "mt" or side in read):
        return "empty"
    longest = model.spec.longest
    too_long = longest is not None and sum(len(segment.ids[side]) for side in read) > longest
    return "too long" if too_long or segment.length > max_input else None


def why_not_scored(model: Seq2Seq, path: Sequence[int], max_input: int) -> Skipped | None:
    """Return why the model is not asked for the score of an output, given as its tokens, or None if it is."""
    longest = model.spec.longest
    too_long = longest is not None and len(path) >= longest
    return "too long" if too_long or len(without_steps(path)) >= max_input else None
