"""Evidence of outputs: attention, runners-up, and scores with parts of the input left out, extracted after search."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from postedit.core.editor import Detail
from postedit.core.evidence import GENERATED, Alternative, Evidence, word_starts
from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import BOS, EOS, PAD
from postedit.core.types import AttentionKey, Batch, DecoderOutput, Stream
from postedit.editing.batches import in_batches
from postedit.editing.search import batch_of
from postedit.editing.segments import EncodedSegment, inputs_of
from postedit.search import Hypothesis, force
from postedit.text.config import Side
from postedit.text.processor import TextProcessor

RUNNERS_UP: Final = 5
"""How many other tokens evidence names for each place."""


@dataclass(frozen=True, slots=True)
class EvidenceExtraction:
    """Reads outputs once more for the evidence behind them.

    Args:
        model: any model or ensemble.
        processor: its text processing.
        budget: tokens of a batch.
        detail: how much to extract.
    """

    model: Seq2Seq
    processor: TextProcessor
    budget: int
    detail: Detail

    def __call__(self, segments: Sequence[EncodedSegment], best: Sequence[Hypothesis | None]) -> list[Evidence | None]:
        """Return the evidence behind the best output of each segment; None where memory ends or there is no output."""
        kept = [(row, one) for row, one in enumerate(best) if one is not None and not one.stuck]

        def work(places: list[int]) -> Iterable[Evidence]:
            batch = batch_of(self.model, [segments[kept[place][0]] for place in places])
            return self._read(batch, [kept[place][1] for place in places])

        results: list[Evidence | None] = [None] * len(segments)
        found = in_batches([segments[row].length for row, _ in kept], self.budget, work)
        for (row, hypothesis), evidence in zip(kept, found, strict=True):
            if evidence is not None and self.detail == "losses" and not self._is_mt(segments[row], hypothesis):
                evidence = replace(evidence, losses=self._losses(segments[row], hypothesis, evidence))
            results[row] = evidence
        return results

    def _is_mt(self, segment: EncodedSegment, hypothesis: Hypothesis) -> bool:
        return bool(segment.mt.strip()) and not self.processor.render(segment.mt, hypothesis.tokens).changed

    def _losses(
        self, segment: EncodedSegment, hypothesis: Hypothesis, evidence: Evidence
    ) -> NDArray[np.floating] | None:
        """Return Float[K,W], nats that each token loses without each of the W words of src; None if src is not read."""
        if "src" not in inputs_of(self.model):
            return None
        index = word_starts(evidence.streams["src"])
        src = segment.ids["src"]
        variants = [
            replace(segment, ids={**segment.ids, "src": [i for i, at in zip(src, index, strict=True) if at != word]})
            for word in dict.fromkeys(at for at in index if at >= 0)
        ]
        size = max(1, self.budget // max(segment.length, len(hypothesis.tokens) + 1))
        scores = [
            one.token_scores
            for start in range(0, len(variants), size)
            for part in (variants[start : start + size],)
            for one in force(self.model, batch_of(self.model, part), [hypothesis.tokens] * len(part))
        ]
        return np.array(evidence.log_probs)[:, None] - np.array(scores).T if scores else None

    @torch.inference_mode()
    def _read(self, batch: Batch, hypotheses: Sequence[Hypothesis]) -> Iterator[Evidence]:
        """Read the outputs once more, all tokens in one call, and yield their evidence."""
        read = [[BOS, *hypothesis.tokens] for hypothesis in hypotheses]
        longest = max(len(tokens) for tokens in read)
        tokens = torch.tensor([row + [PAD] * (longest - len(row)) for row in read], device=batch.device)
        output, _ = self.model.decode(tokens, self.model.encode(batch))
        with_reasons = self.detail != "attention"
        without = self._without(batch, hypotheses) if with_reasons else {}
        for row, hypothesis in enumerate(hypotheses):
            count = len(hypothesis.tokens) + 1
            streams: dict[str, tuple[str, ...]] = {
                side: self._pieces(side, batch.streams[side], row) for side in inputs_of(self.model)
            }
            weights = {}
            for key, attention in output.attention.items():
                # Of a joint attention, the real positions of each stream; for a single one, a prefix.
                real = torch.cat([batch.streams[name].mask[row] for name in key.streams])
                weights[key] = attention[row, :count, real].float().cpu().numpy()
            written = [*hypothesis.tokens, EOS]
            pieces = self.processor.vocabulary("pe").pieces(written)
            yield Evidence(
                streams,
                tuple(pieces),
                hypothesis.token_scores,
                weights,
                self._runners_up(output, tokens, row, written) if with_reasons else (),
                self._shares(output, row, count),
                {side: scores[row] for side, scores in without.items()},
            )

    def _without(self, batch: Batch, hypotheses: Sequence[Hypothesis]) -> dict[str, list[tuple[float, ...]]]:
        """Return the scores of all tokens when one of the streams holds only EOS, by that stream."""
        if len(batch.streams) == 1:
            return {}
        end = torch.full((batch.rows, 1), EOS, device=batch.device)
        empty = Stream(end, torch.ones_like(end, dtype=torch.bool))
        outputs = [hypothesis.tokens for hypothesis in hypotheses]
        return {
            side: [one.token_scores for one in force(self.model, Batch({**batch.streams, side: empty}), outputs)]
            for side in batch.streams
        }

    def _runners_up(
        self, output: DecoderOutput, tokens: Tensor, row: int, written: Sequence[int]
    ) -> tuple[tuple[Alternative, ...], ...]:
        """Return the other most probable tokens at each place; only the distributions of one row are in memory."""
        mask = torch.zeros_like(tokens, dtype=torch.bool)
        mask[row, : len(written)] = True
        best = (
            output.distribution.at(mask)
            .log_probs()[:, 0]
            .topk(min(RUNNERS_UP + 1, self.model.spec.vocabularies.target.size))
        )
        vocabulary = self.processor.vocabulary("pe")
        result = []
        for token, ids, scores in zip(written, best.indices.tolist(), best.values.tolist(), strict=True):
            others = [(i, score) for i, score in zip(ids, scores, strict=True) if i != token][:RUNNERS_UP]
            pieces = vocabulary.pieces([i for i, _ in others])
            result.append(tuple(Alternative(piece, score) for piece, (_, score) in zip(pieces, others, strict=True)))
        return tuple(result)

    def _shares(self, output: DecoderOutput, row: int, count: int) -> dict[str, NDArray[np.floating]]:
        """Return the share of each source of a token (generated, or copied from a stream), for models that copy."""
        gate = output.aux.get("gate")
        if gate is None:
            return {}
        spec = self.model.spec
        copied = [name for name in spec.inputs if AttentionKey(name, "copy") in spec.attention]
        shares = gate[row, :count].float().cpu().numpy()
        return {name: shares[:, place] for place, name in enumerate([GENERATED, *copied])}

    def _pieces(self, side: Side, stream: Stream, row: int) -> tuple[str, ...]:
        ids: Tensor = stream.ids[row][stream.mask[row]]
        return tuple(self.processor.vocabulary(side).pieces(ids.tolist()))
