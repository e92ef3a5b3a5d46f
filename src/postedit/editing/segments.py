"""Segments: texts in the pieces of a model, and which of them it can read at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from postedit.core.model import Seq2Seq
from postedit.editing.correction import Skipped
from postedit.editing.request import Wish
from postedit.text.config import Side
from postedit.text.processor import TextProcessor
from postedit.text.steps import with_steps, without_steps

_INPUTS: Final[tuple[Side, ...]] = ("src", "mt")


@dataclass(frozen=True, slots=True)
class Segment:
    """What is known of one output before it is written.

    Args:
        ids: what the model may read, by side.
        src: its source.
        mt: the translation it corrects; empty if there is none.
        prefix: what it begins with.
        required: words and phrases it must have.
    """

    ids: Mapping[Side, Sequence[int]]
    src: str
    mt: str
    prefix: str = ""
    required: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        """The pieces of the longest side."""
        return max(len(side) for side in self.ids.values())


def sides_of(model: Seq2Seq) -> list[Side]:
    """Return the texts that a model reads."""
    return [side for side in _INPUTS if side in model.spec.inputs]


@dataclass(frozen=True, slots=True)
class Segmenter:
    """Turns texts into segments.

    Args:
        model: any model or ensemble.
        processor: its text processing.
        max_input: pieces of a text, the end included, that the model is still asked about.
    """

    model: Seq2Seq
    processor: TextProcessor
    max_input: int

    def segments(self, texts: Mapping[Side, Sequence[str]], wishes: Sequence[Wish]) -> list[Segment]:
        """Return the segments of texts of src and mt, or of src alone, as if all mt were empty."""
        mt = texts.get("mt") or [""] * len(texts["src"])
        ids = {side: self.processor.encode_batch(side, side_texts) for side, side_texts in texts.items()}
        return [
            Segment({side: ids[side][row] for side in ids}, texts["src"][row], mt[row], wish.prefix, wish.required)
            for row, wish in enumerate(wishes)
        ]

    def paths(self, segments: Sequence[Segment], outputs: Sequence[str]) -> list[list[int]]:
        """Return what the model would have to write for each output, without EOS."""
        paths = self.processor.encode_batch("pe", outputs)
        if self.model.spec.writes == "steps":
            mt = [segment.ids["mt"] for segment in segments]
            paths = [with_steps(*texts) for texts in zip(mt, paths, strict=True)]
        return [path[:-1] for path in paths]

    def why_skipped(self, segment: Segment, *, with_mt: bool) -> Skipped | None:
        """Return why the model is not asked about a segment, or None if it is."""
        read = sides_of(self.model)
        texts: dict[Side, str] = {"src": segment.src, **({"mt": segment.mt} if with_mt else {})}
        if any(not text.strip() for side, text in texts.items() if side == "mt" or side in read):
            return "empty"
        longest = self.model.spec.longest
        too_long = longest is not None and sum(len(segment.ids[side]) for side in read) > longest
        return "too long" if too_long or segment.length > self.max_input else None

    def why_not_scored(self, path: Sequence[int]) -> Skipped | None:
        """Return why the model is not asked about an output, given as what it would have to write, or None if it is."""
        longest = self.model.spec.longest
        too_long = longest is not None and len(path) >= longest
        return "too long" if too_long or len(without_steps(path)) >= self.max_input else None
