"""Extract evidence for outputs after the search: attention, runners-up, and scores with parts of the input left out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from postedit.core.types import Batch, DecoderOutput, Stream
from postedit.editing.batches import in_batches
from postedit.editing.segments import EncodedSegment, batch_of, inputs_of
from postedit.search import Hypothesis, force
from postedit.text.processor import TextProcessor

RUNNERS_UP: Final = 5  # number of other tokens that evidence lists for each position

_TELLING: Final[Mapping[str, str]] = {"src": "glossary", "mt": "errors"}
"""For each text, the hint that reveals part of it, and is therefore emptied together with the text."""


@dataclass(frozen=True, slots=True)
class EvidenceExtraction:
    """Feeds outputs to the model once more to extract evidence."""

    model: Seq2Seq  # any model or ensemble
    processor: TextProcessor  # its text processing
    budget: int  # maximum number of tokens of a batch
    detail: Detail  # how much evidence to extract

    def __call__(self, segments: Sequence[EncodedSegment], best: Sequence[Hypothesis | None]) -> list[Evidence | None]:
        """Return the evidence of the best output of each segment; None if there is no output or not enough memory."""
        kept = [(row, one) for row, one in enumerate(best) if one is not None and not one.stuck]

        def work(part: Sequence[tuple[int, Hypothesis]]) -> Iterable[Evidence]:
            return self._read(batch_of(self.model, [segments[row] for row, _ in part]), [one for _, one in part])

        results: list[Evidence | None] = [None] * len(segments)
        found = in_batches(kept, [segments[row].length for row, _ in kept], self.budget, work)
        for (row, hypothesis), evidence in zip(kept, found, strict=True):
            mt = segments[row].mt
            is_mt = bool(mt.strip()) and not self.processor.render(mt, hypothesis.tokens).changed
            if evidence is not None and self.detail == "losses" and not is_mt:
                evidence = replace(evidence, losses=self._losses(segments[row], hypothesis, evidence))
            results[row] = evidence
        return results

    def _losses(
        self, segment: EncodedSegment, hypothesis: Hypothesis, evidence: Evidence
    ) -> NDArray[np.floating] | None:
        """Return the nats that each token loses without each word of src, Float[K,W]; None without such words."""
        if "src" not in inputs_of(self.model):
            return None
        index, src = word_starts(evidence.streams["src"]), segment.ids["src"]
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
        """Yield the evidence of each output; the decoder reads all of them in one call."""
        read = [[BOS, *hypothesis.tokens] for hypothesis in hypotheses]
        longest = max(len(tokens) for tokens in read)
        tokens = torch.tensor([row + [PAD] * (longest - len(row)) for row in read], device=batch.device)
        output, _ = self.model.decode(tokens, self.model.encode(batch))
        with_reasons = self.detail != "attention"
        without = self._without(batch, hypotheses) if with_reasons else {}
        for row, hypothesis in enumerate(hypotheses):
            count = len(hypothesis.tokens) + 1
            streams: dict[str, tuple[str, ...]] = {}
            for side in inputs_of(self.model):
                ids: Tensor = batch.streams[side].ids[row][batch.streams[side].mask[row]]
                streams[side] = tuple(self.processor.vocabulary(side).readable(ids.tolist()))
            weights = {}
            for key, attention in output.attention.items():
                # The real positions of each stream; there are several streams in a joint attention.
                real = torch.cat([batch.streams[name].mask[row] for name in key.streams])
                weights[key] = attention[row, :count, real].float().cpu().numpy()
            written = [*hypothesis.tokens, EOS]
            yield Evidence(
                streams,
                tuple(self.processor.vocabulary("pe").readable(written)),
                hypothesis.token_scores,
                weights,
                self._runners_up(output, tokens, row, written) if with_reasons else (),
                self._shares(output, row, count),
                {side: scores[row] for side, scores in without.items()},
            )

    def _without(self, batch: Batch, hypotheses: Sequence[Hypothesis]) -> dict[str, list[tuple[float, ...]]]:
        """Return, by side, the token scores of outputs with that side and its hint emptied; {} for a single side."""
        sides = inputs_of(self.model)
        if len(sides) == 1:
            return {}
        end = torch.full((batch.rows, 1), EOS, device=batch.device)
        empty = Stream(end, torch.ones_like(end, dtype=torch.bool))
        outputs = [hypothesis.tokens for hypothesis in hypotheses]
        scores: dict[str, list[tuple[float, ...]]] = {}
        for side in sides:
            emptied: dict[str, Stream] = {name: empty for name in (side, _TELLING[side]) if name in batch.streams}
            scores[side] = [one.token_scores for one in force(self.model, Batch({**batch.streams, **emptied}), outputs)]
        return scores

    def _runners_up(
        self, output: DecoderOutput, tokens: Tensor, row: int, written: Sequence[int]
    ) -> tuple[tuple[Alternative, ...], ...]:
        """Return the most probable other tokens at each position of one row; one row at a time saves memory."""
        mask = torch.zeros_like(tokens, dtype=torch.bool)
        mask[row, : len(written)] = True
        count = min(RUNNERS_UP + 1, self.model.spec.vocabularies.target.size)
        best = output.distribution.at(mask).log_probs()[:, 0].topk(count)
        vocabulary = self.processor.vocabulary("pe")
        result = []
        for token, ids, scores in zip(written, best.indices.tolist(), best.values.tolist(), strict=True):
            others = [(i, score) for i, score in zip(ids, scores, strict=True) if i != token][:RUNNERS_UP]
            texts = vocabulary.readable([i for i, _ in others])
            result.append(tuple(Alternative(text, score) for text, (_, score) in zip(texts, others, strict=True)))
        return tuple(result)

    def _shares(self, output: DecoderOutput, row: int, count: int) -> dict[str, NDArray[np.floating]]:
        """Return, for models that copy, the probability that each token was generated, or copied from each stream."""
        gate = output.aux.get("gate")
        if gate is None:
            return {}
        shares = gate[row, :count].float().cpu().numpy()
        return {name: shares[:, place] for place, name in enumerate([GENERATED, *self.model.spec.copied])}
