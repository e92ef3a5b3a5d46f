"""Work on the segments of a window: in batches of like length that fit into memory, with the results in order."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import BOS, EOS, PAD
from postedit.core.types import AttentionKey, Batch, DecoderOutput, Stream
from postedit.data.batching import collate
from postedit.editing.batches import in_batches
from postedit.editing.log_linear_features import featured
from postedit.editing.searching import Searcher
from postedit.editing.segments import Segment, sides_of
from postedit.explain.evidence import GENERATED, Alternative, Evidence, word_starts
from postedit.search import DraftSearch, Hypothesis, Sampling, SearchSettings, force, sample
from postedit.search.rescoring import Candidate, LogLinear, rank
from postedit.text.config import Side
from postedit.text.processor import TextProcessor

# With mt as draft, this many sentences pass through each slot of a batch: those that finish early make room for others.
_SENTENCES_A_SLOT: Final = 4

# Sentences are taken up in groups of this share of the slots, which are encoded together: larger ones leave slots empty
# for longer, smaller ones make small products (ADR 29).
_GROUP_SHARE: Final = 0.5

Detail = Literal["attention", "reasons", "losses"]
"""How much evidence is wanted, each with what stands before it: `reasons` are runners-up, and the scores without either
text; `losses`, what it loses without each word of src, if it is not mt."""

RUNNERS_UP: Final = 5
"""How many other pieces evidence names for each place."""


@dataclass(frozen=True)
class WindowSearch:
    """A model, and how it is asked for the outputs of segments.

    Args:
        model: any model or ensemble.
        processor: its text processing.
        settings: how to search.
        budget: pieces of a batch, hypotheses included.
        log_linear: what ranks the outputs that are found, if they are not to be ranked as search does.
    """

    model: Seq2Seq
    processor: TextProcessor
    settings: SearchSettings
    budget: int
    log_linear: LogLinear | None = None

    @cached_property
    def _searcher(self) -> Searcher:
        settings = self.settings if self.log_linear is None else replace(self.settings, n_best=self.settings.beam)
        return Searcher(self.model, self.processor, settings)

    def find(self, segments: Sequence[Segment]) -> list[list[Candidate] | None]:
        """Return the outputs of each segment of a window, best first; None where memory does not suffice.

        Greedy search takes mt for a draft, but of segments that require words.

        Raises:
            DataError, ModelFolderError: as `Searcher.search`.
        """
        results: list[list[Candidate] | None] = [None] * len(segments)
        drafted = [self.log_linear is None and self._searcher.drafts(segment) for segment in segments]
        one_by_one = max(1, self.budget // self.settings.beam)
        for drafts, work, budget in (
            (True, self._with_drafts, _SENTENCES_A_SLOT * self.budget),
            (False, self._search_batch, one_by_one),
        ):
            kind = [row for row, chosen in enumerate(drafted) if chosen == drafts]
            part = [segments[row] for row in kind]
            found = in_batches([segment.length for segment in part], budget, partial(_of_rows, work, part))
            for row, candidates in zip(kind, found, strict=True):
                results[row] = candidates
        return results

    def draw(self, segments: Sequence[Segment], sampling: Sampling) -> list[list[Candidate] | None]:
        """Return outputs of each segment that are drawn at random, in no order; None where memory does not suffice.

        What settings demand of outputs, but for their length, is not asked of these.

        Raises:
            ModelFolderError: if the model gives nothing that it may write a probability.
        """

        def work(rows: list[int]) -> Iterable[list[Candidate]]:
            batch = self._batch([segments[row] for row in rows])
            drawn = sample(self.model, batch, self._searcher.limits(batch), sampling)
            return [list(map(Candidate, outputs)) for outputs in drawn]

        return in_batches([segment.length for segment in segments], max(1, self.budget // sampling.count), work)

    def force(self, segments: Sequence[Segment], paths: Sequence[Sequence[int]]) -> list[Candidate | None]:
        """Return the score and the features of one output a segment, given as what the model would have to write."""

        def work(rows: list[int]) -> Iterable[Candidate]:
            chosen = [segments[row] for row in rows]
            batch = self._batch(chosen)
            forced = force(self.model, batch, [paths[row] for row in rows])
            return [only for (only,) in self._featured(batch, chosen, [[one] for one in forced])]

        lengths = [max(segment.length, len(path)) for segment, path in zip(segments, paths, strict=True)]
        return in_batches(lengths, self.budget, work)

    def evidence(
        self, segments: Sequence[Segment], found: Sequence[Sequence[Candidate] | None], wanted: bool | Detail
    ) -> list[Evidence | None]:
        """Return the evidence behind the best output of each segment; None where memory ends, or it is stuck.

        True wants `reasons`.
        """
        if not wanted:
            return [None] * len(segments)
        detail: Detail = "reasons" if wanted is True else wanted
        best = [None if candidates is None else candidates[0].hypothesis for candidates in found]
        kept = [(row, one) for row, one in enumerate(best) if one is not None and not one.stuck]

        def work(places: list[int]) -> Iterable[Evidence]:
            batch = self._batch([segments[kept[place][0]] for place in places])
            return self._evidence(batch, [kept[place][1] for place in places], detail)

        results: list[Evidence | None] = [None] * len(segments)
        of = {row: (segments[row], hypothesis) for row, hypothesis in kept}
        reasons = in_batches([segments[row].length for row, _ in kept], self.budget, work)
        losses = detail == "losses"
        for (row, _), evidence in zip(kept, reasons, strict=True):
            if evidence is not None and losses and "src" in segments[row].ids and not self._searcher.is_mt(*of[row]):
                evidence = replace(evidence, losses=self._losses(*of[row], evidence))
            results[row] = evidence
        return results

    def _losses(self, segment: Segment, hypothesis: Hypothesis, evidence: Evidence) -> NDArray[np.floating] | None:
        """Return Float[K,W], what each piece loses without each of the W words of src; None if src is not read."""
        if "src" not in sides_of(self.model):
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
            for one in force(self.model, self._batch(part), [hypothesis.tokens] * len(part))
        ]
        return np.array(evidence.log_probs)[:, None] - np.array(scores).T if scores else None

    def _with_drafts(self, segments: Sequence[Segment]) -> list[list[Candidate]]:
        """Search greedily with mt as draft; those that are stuck are searched for without one."""
        found = list(self._follow_drafts(segments))
        stuck = [row for row, candidates in enumerate(found) if candidates[0].hypothesis.stuck]
        if stuck:
            for row, candidates in zip(stuck, self._search_batch([segments[row] for row in stuck]), strict=True):
                found[row] = candidates
        return found

    def _follow_drafts(self, segments: Sequence[Segment]) -> Iterator[list[Candidate]]:
        """Search greedily with mt as draft; segments are of like length."""
        slots = math.ceil(len(segments) / _SENTENCES_A_SLOT)
        # Sentences of which anything is demanded come one batch after the other, and not into the places of others.
        size = slots if self._searcher.guides(segments) else max(1, int(slots * _GROUP_SHARE))
        parts = (segments[start : start + size] for start in range(0, len(segments), size))
        groups = (self._searcher.drafted(self._batch(part), part) for part in parts)
        for hypotheses in DraftSearch(self.model, slots, shortlist=self.settings.shortlist)(groups):
            yield from ([Candidate(hypothesis)] for hypothesis in hypotheses)

    def _search_batch(self, segments: Sequence[Segment]) -> list[list[Candidate]]:
        batch = self._batch(segments)
        lists = self._searcher.search(batch, segments)
        if self.log_linear is None:
            return [list(map(Candidate, one)) for one in lists]
        featured = self._featured(batch, segments, lists)
        return [self._ranked(segment, one) for segment, one in zip(segments, featured, strict=True)]

    def _ranked(self, segment: Segment, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the n best; mt stays on every list of more than one."""
        assert self.log_linear is not None
        count = self.settings.n_best
        ranked = rank(candidates, self.log_linear.weights)
        if count == 1:
            return ranked[:1]
        return [*ranked[:count], *(one for one in ranked[count:] if self._searcher.is_mt(segment, one.hypothesis))]

    def _featured(
        self, batch: Batch, segments: Sequence[Segment], found: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Candidate]]:
        """Return what was found with the features of a log-linear model."""
        texts: list[dict[Side, str]] = [{"src": segment.src, "mt": segment.mt} for segment in segments]
        free = ("mt",) if self.log_linear is None else self.log_linear.known
        return featured(self.model, self.processor, free, batch, texts, found)

    def _batch(self, segments: Sequence[Segment]) -> Batch:
        sides = sides_of(self.model)
        return collate({side: [segment.ids[side] for segment in segments] for side in sides}, sides).to(self._device)

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    @torch.inference_mode()
    def _evidence(self, batch: Batch, hypotheses: Sequence[Hypothesis], detail: Detail) -> Iterator[Evidence]:
        """Read the outputs once more, all tokens in one call, for what the model looked at."""
        read = [[BOS, *hypothesis.tokens] for hypothesis in hypotheses]
        longest = max(len(tokens) for tokens in read)
        tokens = torch.tensor([row + [PAD] * (longest - len(row)) for row in read], device=self._device)
        output, _ = self.model.decode(tokens, self.model.encode(batch))
        with_reasons = detail != "attention"
        without = self._without(batch, hypotheses) if with_reasons else {}
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
            written = [*hypothesis.tokens, EOS]
            pieces = self.processor.vocabulary("pe").pieces(written)
            yield Evidence(
                streams,
                tuple(pieces),
                hypothesis.token_scores,
                weights,
                self._runners_up(output, tokens.shape, row, written) if with_reasons else (),
                self._shares(output, row, count),
                {side: scores[row] for side, scores in without.items()},
            )

    def _without(self, batch: Batch, hypotheses: Sequence[Hypothesis]) -> dict[str, list[tuple[float, ...]]]:
        """Return the scores of all pieces when one of the texts has nothing but its end, by that text."""
        if len(batch.streams) == 1:
            return {}
        end = torch.full((batch.rows, 1), EOS, device=self._device)
        empty = Stream(end, torch.ones_like(end, dtype=torch.bool))
        outputs = [hypothesis.tokens for hypothesis in hypotheses]
        return {
            side: [one.token_scores for one in force(self.model, Batch({**batch.streams, side: empty}), outputs)]
            for side in batch.streams
        }

    def _runners_up(
        self, output: DecoderOutput, shape: torch.Size, row: int, written: Sequence[int]
    ) -> tuple[tuple[Alternative, ...], ...]:
        """Return for each place what else was most probable there; only one row's distributions are held at a time."""
        mask = torch.zeros(shape, dtype=torch.bool, device=self._device)
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
        """Return where each piece comes from, of a model that says so."""
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


def _of_rows(
    work: Callable[[Sequence[Segment]], list[list[Candidate]]], segments: Sequence[Segment], rows: list[int]
) -> list[list[Candidate]]:
    return work([segments[row] for row in rows])
