"""Search for the outputs of any number of segments: in batches of similar length that fit into memory, in order."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final

from postedit.core.model import Seq2Seq
from postedit.core.search_config import SearchConfig
from postedit.core.types import Batch
from postedit.data.collate import collate
from postedit.editing.batch_search import BatchSearch
from postedit.editing.batches import in_batches
from postedit.editing.segments import EncodedSegment, inputs_of
from postedit.search import DraftSearch, Hypothesis, Sampling, force, sample
from postedit.search.rescoring import LogLinear, member_features, rank, word_features
from postedit.text.processor import TextProcessor

# With mt as draft, this many sentences pass through each slot of a batch: others take the place of those that finish.
_SENTENCES_A_SLOT: Final = 4

# Sentences are taken up in groups of this share of the slots, which are encoded together: larger ones leave slots empty
# for longer, smaller ones make small products (ADR 27).
_GROUP_SHARE: Final = 0.5


@dataclass(frozen=True)
class SegmentSearch:
    """A model and the way its outputs are searched for.

    Args:
        model: any model or ensemble.
        processor: its text processing.
        config: search options; `batch_tokens` counts hypotheses too.
        log_linear: ranks the outputs found, in place of the rank of the search.
    """

    model: Seq2Seq
    processor: TextProcessor
    config: SearchConfig
    log_linear: LogLinear | None = None

    @cached_property
    def batch_search(self) -> BatchSearch:
        """The search for single batches."""
        config = self.config if self.log_linear is None else self.config.with_options(n_best=self.config.beam)
        return BatchSearch(self.model, self.processor, config)

    def find(self, segments: Sequence[EncodedSegment]) -> list[list[Hypothesis] | None]:
        """Return the outputs of each segment, best first; None where memory does not suffice.

        Greedy search uses mt as a draft, except for segments with required words.

        Raises:
            DataError, ModelFolderError: as `BatchSearch.search`.
        """
        results: list[list[Hypothesis] | None] = [None] * len(segments)
        drafted = [self.log_linear is None and self.batch_search.uses_draft(segment) for segment in segments]
        one_by_one = max(1, self.config.batch_tokens // self.config.beam)
        for drafts, work, budget in (
            (True, self._with_drafts, _SENTENCES_A_SLOT * self.config.batch_tokens),
            (False, self._search_batch, one_by_one),
        ):
            kind = [row for row, chosen in enumerate(drafted) if chosen == drafts]
            part = [segments[row] for row in kind]
            found = in_batches([segment.length for segment in part], budget, partial(_of_rows, work, part))
            for row, candidates in zip(kind, found, strict=True):
                results[row] = candidates
        return results

    def draw(self, segments: Sequence[EncodedSegment], sampling: Sampling) -> list[list[Hypothesis] | None]:
        """Return outputs sampled at random for each segment, unordered; None where memory does not suffice.

        Of the search options, only the length limits apply.

        Raises:
            ModelFolderError: if the model gives every token the probability 0.
        """

        def work(rows: list[int]) -> Iterable[list[Hypothesis]]:
            batch = self._batch([segments[row] for row in rows])
            return sample(self.model, batch, self.batch_search.limits(batch), sampling)

        budget = max(1, self.config.batch_tokens // sampling.count)
        return in_batches([segment.length for segment in segments], budget, work)

    def force(self, segments: Sequence[EncodedSegment], paths: Sequence[Sequence[int]]) -> list[Hypothesis | None]:
        """Return the scores and features of one given output per segment, as tokens that the model would write."""

        def work(rows: list[int]) -> Iterable[Hypothesis]:
            chosen = [segments[row] for row in rows]
            batch = self._batch(chosen)
            forced = force(self.model, batch, [paths[row] for row in rows])
            return [only for (only,) in self._featured(batch, chosen, [[one] for one in forced])]

        lengths = [max(segment.length, len(path)) for segment, path in zip(segments, paths, strict=True)]
        return in_batches(lengths, self.config.batch_tokens, work)

    def _with_drafts(self, segments: Sequence[EncodedSegment]) -> list[list[Hypothesis]]:
        """Search greedily with mt as draft; segments that are stuck are searched again without one."""
        found = list(self._follow_drafts(segments))
        stuck = [row for row, candidates in enumerate(found) if candidates[0].stuck]
        if stuck:
            for row, candidates in zip(stuck, self._search_batch([segments[row] for row in stuck]), strict=True):
                found[row] = candidates
        return found

    def _follow_drafts(self, segments: Sequence[EncodedSegment]) -> Iterator[list[Hypothesis]]:
        """Search segments of similar length greedily, with mt as draft."""
        slots = math.ceil(len(segments) / _SENTENCES_A_SLOT)
        # Segments with constraints are searched batch after batch: they do not take the places of others.
        size = slots if self.batch_search.constraints.applies_to(segments) else max(1, int(slots * _GROUP_SHARE))
        parts = (segments[start : start + size] for start in range(0, len(segments), size))
        groups = (self.batch_search.drafted(self._batch(part), part) for part in parts)
        for hypotheses in DraftSearch(self.model, slots, shortlist=self.config.shortlist)(groups):
            yield from ([hypothesis] for hypothesis in hypotheses)

    def _search_batch(self, segments: Sequence[EncodedSegment]) -> list[list[Hypothesis]]:
        batch = self._batch(segments)
        lists = self.batch_search.search(batch, segments)
        if self.log_linear is None:
            return lists
        featured = self._featured(batch, segments, lists)
        return [self._ranked(segment, one) for segment, one in zip(segments, featured, strict=True)]

    def _ranked(self, segment: EncodedSegment, candidates: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return the n best; an n-best list always contains mt."""
        assert self.log_linear is not None
        count = self.config.n_best
        ranked = rank(candidates, self.log_linear.weights)
        if count == 1:
            return ranked[:1]
        return [*ranked[:count], *(one for one in ranked[count:] if self.batch_search.is_mt(segment, one))]

    def _featured(
        self, batch: Batch, segments: Sequence[EncodedSegment], found: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses with the features of a log-linear combination."""
        exempt = ("mt",) if self.log_linear is None else self.log_linear.known
        scores = member_features(self.model, batch, found)
        return [self._with_features(exempt, *one) for one in zip(segments, found, scores, strict=True)]

    def _with_features(
        self,
        exempt: Sequence[str],
        segment: EncodedSegment,
        found: Sequence[Hypothesis],
        scores: Sequence[dict[str, float]],
    ) -> list[Hypothesis]:
        mt = self.processor.words("mt", segment.mt)
        known = {
            *(mt if "mt" in exempt else ()),
            *(self.processor.words("src", segment.src) if "src" in exempt else ()),
        }
        written = [self.processor.written(mt, one.tokens) for one in found]
        return [
            replace(one, features={**said, **word_features(words, known)})
            for one, said, words in zip(found, scores, written, strict=True)
        ]

    def _batch(self, segments: Sequence[EncodedSegment]) -> Batch:
        return batch_of(self.model, segments)


def batch_of(model: Seq2Seq, segments: Sequence[EncodedSegment]) -> Batch:
    """Return what the model reads of the segments, padded, on its device."""
    sides = inputs_of(model)
    return collate({side: [segment.ids[side] for segment in segments] for side in sides}, sides).to(
        next(model.parameters()).device
    )


def _of_rows(
    work: Callable[[Sequence[EncodedSegment]], list[list[Hypothesis]]],
    segments: Sequence[EncodedSegment],
    rows: list[int],
) -> list[list[Hypothesis]]:
    return work([segments[row] for row in rows])
