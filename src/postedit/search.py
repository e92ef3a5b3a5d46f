"""Searching for the outputs of a window of segments, in batches that fit into memory."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from postedit.batches import in_batches
from postedit.core.model import Seq2Seq
from postedit.core.symbols import BOS, EOS, PAD
from postedit.core.types import Batch, Stream
from postedit.data.batching import collate
from postedit.decode import Drafted, DraftSearch, Hypothesis, beam_search, force, greedy, length_limits
from postedit.explain.evidence import Evidence
from postedit.recipe import DecodeConfig
from postedit.text.config import Side
from postedit.text.processor import TextProcessor

_INPUTS: Final[tuple[Side, ...]] = ("src", "mt")

# With mt as draft, this many sentences pass through each slot of a batch: those that finish early make room for others.
_SENTENCES_A_SLOT: Final = 4

# Sentences are taken up in groups of this share of the slots, which are encoded together.
_GROUP_SHARE: Final = 0.25


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment as a model reads it: the ids of each side; and its texts, of which mt is empty if it was not given."""

    ids: Mapping[Side, Sequence[int]]
    mt: str
    src: str

    @property
    def length(self) -> int:
        """The pieces of the longest side."""
        return max(len(side) for side in self.ids.values())


@dataclass(frozen=True, slots=True)
class SegmentSearch:
    """A model, and how it is asked for the outputs of segments."""

    model: Seq2Seq
    processor: TextProcessor
    decode: DecodeConfig

    def find(
        self, segments: Sequence[Segment], beam: int, n_best: int, budget: int
    ) -> list[Sequence[Hypothesis] | None]:
        """Return the hypotheses of each segment of a window, best first; None where memory does not suffice.

        Args:
            segments: of any length.
            beam: hypotheses kept a segment; 1 is greedy search, with mt as draft where that saves calls.
            n_best: how many are returned of each.
            budget: pieces of a batch, hypotheses included.
        """
        drafted = beam == 1 and self.model.spec.parallel and all(segment.mt for segment in segments)

        def work(rows: list[int]) -> Iterable[Sequence[Hypothesis]]:
            chosen = [segments[row] for row in rows]
            return self._follow_drafts(chosen) if drafted else self._search_batch(chosen, beam, n_best)

        lengths = [segment.length for segment in segments]
        return in_batches(lengths, _SENTENCES_A_SLOT * budget if drafted else max(1, budget // beam), work)

    def force(
        self, segments: Sequence[Segment], outputs: Sequence[Sequence[int]], budget: int
    ) -> list[Sequence[Hypothesis] | None]:
        """Return one given output of each segment with its scores; None where memory does not suffice."""

        def work(rows: list[int]) -> Iterable[Sequence[Hypothesis]]:
            batch = self.batch([segments[row] for row in rows])
            return [[one] for one in force(self.model, batch, [outputs[row] for row in rows])]

        lengths = [max(segment.length, len(output)) for segment, output in zip(segments, outputs, strict=True)]
        return in_batches(lengths, budget, work)

    def _follow_drafts(self, segments: Sequence[Segment]) -> Iterator[Sequence[Hypothesis]]:
        """Search greedily with mt as draft; segments are of like length."""
        slots = math.ceil(len(segments) / _SENTENCES_A_SLOT)
        size = max(1, int(slots * _GROUP_SHARE))
        groups = (segments[start : start + size] for start in range(0, len(segments), size))
        for hypotheses in DraftSearch(self.model, slots)(map(self._drafted, groups)):
            yield from ([hypothesis] for hypothesis in hypotheses)

    def _drafted(self, segments: Sequence[Segment]) -> Drafted:
        batch = self.batch(segments)
        drafts = [ids[:-1] for ids in self.processor.encode_batch("pe", [segment.mt for segment in segments])]
        return Drafted(batch, drafts, self._limits(batch))

    def _search_batch(self, segments: Sequence[Segment], beam: int, n_best: int) -> Sequence[Sequence[Hypothesis]]:
        batch = self.batch(segments)
        limits = self._limits(batch)
        if beam == 1:
            return [[best] for best in greedy(self.model, batch, limits)]
        return beam_search(self.model, batch, limits, beam, self.decode.length_penalty, n_best)

    def batch(self, segments: Sequence[Segment]) -> Batch:
        """Return the segments as the model reads them, where it is."""
        sides = sides_of(self.model)
        return collate({side: [segment.ids[side] for segment in segments] for side in sides}, sides).to(self._device)

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    def _limits(self, batch: Batch) -> Tensor:
        spec = self.model.spec
        return length_limits(batch, self.decode.max_ratio, self.decode.max_extra, spec.writes, spec.longest)

    def reasons(
        self, segments: Sequence[Segment], found: Sequence[Sequence[Hypothesis] | None], budget: int
    ) -> list[Evidence | None]:
        """Return the evidence behind the best hypothesis of each segment, in order; None where memory ends."""
        kept = [(row, hypotheses[0]) for row, hypotheses in enumerate(found) if hypotheses is not None]

        def work(places: list[int]) -> Iterable[Evidence]:
            batch = self.batch([segments[kept[place][0]] for place in places])
            return self._evidence(batch, [kept[place][1] for place in places])

        results: list[Evidence | None] = [None] * len(segments)
        reasons = in_batches([segments[row].length for row, _ in kept], budget, work)
        for (row, _), evidence in zip(kept, reasons, strict=True):
            results[row] = evidence
        return results

    @torch.inference_mode()
    def _evidence(self, batch: Batch, hypotheses: Sequence[Hypothesis]) -> Iterator[Evidence]:
        """Read the outputs once more, all tokens in one call, for what the model looked at."""
        written = [[BOS, *hypothesis.tokens] for hypothesis in hypotheses]
        longest = max(len(tokens) for tokens in written)
        tokens = torch.tensor([row + [PAD] * (longest - len(row)) for row in written], device=self._device)
        output, _ = self.model.decode(tokens, self.model.encode(batch))
        for row, hypothesis in enumerate(hypotheses):
            count = len(hypothesis.tokens) + 1
            streams: dict[str, tuple[str, ...]] = {
                side: self._pieces(side, batch.streams[side], row) for side in sides_of(self.model)
            }
            weights = {}
            for key, attention in output.attention.items():
                # Of a joint attention, the real positions of each stream; for a single one, a prefix.
                real = torch.cat([batch.streams[name].mask[row] for name in key.streams])
                weights[key] = attention[row, :count, real].float().cpu().numpy()
            pieces = self.processor.vocabulary("pe").pieces([*hypothesis.tokens, EOS])
            yield Evidence(streams, tuple(pieces), hypothesis.token_scores, weights)

    def _pieces(self, side: Side, stream: Stream, row: int) -> tuple[str, ...]:
        ids: Tensor = stream.ids[row][stream.mask[row]]
        return tuple(self.processor.vocabulary(side).pieces(ids.tolist()))


def sides_of(model: Seq2Seq) -> list[Side]:
    """Return the texts that a model reads."""
    return [side for side in _INPUTS if side in model.spec.inputs]
