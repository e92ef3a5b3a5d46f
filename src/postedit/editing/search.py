"""Search for the outputs of any number of segments, in batches that fit into memory; n-best lists of distinct texts."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

import torch
from torch import Tensor

from postedit.core.model import Seq2Seq
from postedit.core.search_config import SearchConfig
from postedit.core.special_tokens import EOS
from postedit.core.types import Batch
from postedit.editing.batches import in_batches
from postedit.editing.constraints import GuidanceBuilder
from postedit.editing.output_ranking import OutputRanking
from postedit.editing.segments import EncodedSegment, batch_of
from postedit.search import (
    DraftGroup,
    DraftSearch,
    Hypothesis,
    Sampling,
    beam_search,
    force,
    greedy,
    length_limits,
    sample,
)
from postedit.search.rescoring import LogLinear, member_features, word_features
from postedit.text.edits import target_of
from postedit.text.processor import TextProcessor

# With mt as draft, about this many sentences use each row of a batch in turn: when one finishes, another takes its row.
_SENTENCES_PER_ROW: Final = 4

# Sentences are encoded in groups whose size is this share of the rows: larger groups leave rows empty for longer,
# smaller groups lead to small matrix products (ADR 27, decision 6).
_GROUP_SHARE: Final = 0.5

_WIDEST: Final = 4  # largest factor by which a beam is widened to fill an n-best list with distinct texts

_RETRY_FACTOR: Final = 4
_RETRY_MINIMUM: Final = 8
"""Factor by which the beam is widened, and its minimum width, when a stuck segment is searched again."""


class SegmentSearch:
    """Searches for the outputs of segments; greedy search uses mt as draft, except for segments with required words.

    `config.batch_tokens` counts the tokens of every hypothesis in a beam. If `log_linear` is given, it ranks the
    outputs in place of the search; if `config.mbr` is above 0, they are then ordered by risk.
    """

    def __init__(
        self, model: Seq2Seq, processor: TextProcessor, config: SearchConfig, log_linear: LogLinear | None = None
    ) -> None:
        self._model, self._processor, self._config, self._log_linear = model, processor, config, log_linear
        self._ranking = OutputRanking(processor, config, log_linear)
        self._n_best = config.n_best if log_linear is None and not config.mbr else config.beam

    @cached_property
    def _guidance(self) -> GuidanceBuilder:
        return GuidanceBuilder(self._processor, self._config)

    def find(self, segments: Sequence[EncodedSegment]) -> list[list[Hypothesis] | None]:
        """Return the outputs of each segment, best first; None for a segment that does not fit into memory.

        With `mt_candidate`, mt is the first output if its forced score ranks it above everything that the search found,
        or if the length limit ended the best output found, unless the constraints exclude mt. With `n_best` above 1,
        outputs have distinct texts; if a beam holds too few, beams up to four times as wide are tried, which add to the
        list after the first; and mt is always on it, with its score, unless it is blank or too long for the model.
        If no output satisfies the constraints of a segment, it is searched again with a beam four times as wide, at
        least eight; if that fails too, its only hypothesis is `stuck`.

        Raises:
            DataError: if a required or banned word cannot be written in the tokens of the model.
            ModelFolderError: if the model gives no allowed token a probability.
        """
        tokens = self._config.batch_tokens
        drafted = [self._uses_draft(segment) for segment in segments]
        with_draft = [segment for segment, chosen in zip(segments, drafted, strict=True) if chosen]
        without = [segment for segment, chosen in zip(segments, drafted, strict=True) if not chosen]
        from_draft = iter(_batched(with_draft, _SENTENCES_PER_ROW * tokens, self._search_with_drafts))
        from_others = iter(_batched(without, max(1, tokens // self._config.beam), self._search_batch))
        return [next(from_draft if chosen else from_others) for chosen in drafted]

    def draw(self, segments: Sequence[EncodedSegment], sampling: Sampling) -> list[list[Hypothesis] | None]:
        """Return outputs sampled at random for each segment, unordered; None for one that does not fit into memory."""

        def work(part: Sequence[EncodedSegment]) -> Iterable[list[Hypothesis]]:
            batch = batch_of(self._model, part)
            return sample(self._model, batch, self._limits(batch), sampling)

        budget = max(1, self._config.batch_tokens // sampling.count)
        return _batched(segments, budget, work)

    def force(self, segments: Sequence[EncodedSegment]) -> list[list[Hypothesis] | None]:
        """Return the given output of each segment with scores and features; None for one that memory cannot hold."""

        def work(part: Sequence[EncodedSegment]) -> Iterable[list[Hypothesis]]:
            batch = batch_of(self._model, part)
            forced = force(self._model, batch, [segment.output for segment in part])
            return self._featured(batch, part, [[one] for one in forced])

        lengths = [max(segment.length, len(segment.output)) for segment in segments]
        return in_batches(segments, lengths, self._config.batch_tokens, work)

    def _uses_draft(self, segment: EncodedSegment) -> bool:
        if self._config.beam > 1 or self._log_linear is not None or not self._model.spec.parallel:
            return False
        if self._config.shortlist and self._guidance.applies_to([segment]):
            return False  # a guided batch is decoded from the whole vocabulary
        return bool(segment.mt) and not self._guidance.required(segment)

    def _search_with_drafts(self, segments: Sequence[EncodedSegment]) -> list[list[Hypothesis]]:
        """Search greedily with mt as draft; segments that are stuck are searched again without a draft."""
        found = list(self._draft_search(segments))
        # The draft search knows the score of mt only without guidance, and only if the output may be as long as mt.
        guided = self._guidance.applies_to(segments)
        unsure = [row for row, (only,) in enumerate(found) if guided or only.hit_limit]
        better = self._with_mt([segments[row] for row in unsure], [found[row] for row in unsure])
        for row, hypotheses in zip(unsure, better, strict=True):
            found[row] = hypotheses
        stuck = [row for row, (only,) in enumerate(found) if only.stuck]
        if stuck:
            for row, hypotheses in zip(stuck, self._search_batch([segments[row] for row in stuck]), strict=True):
                found[row] = hypotheses
        return found

    def _draft_search(self, segments: Sequence[EncodedSegment]) -> Iterator[list[Hypothesis]]:
        rows = math.ceil(len(segments) / _SENTENCES_PER_ROW)
        # Segments with guidance are searched one batch at a time: a group does not reuse the rows of another.
        size = rows if self._guidance.applies_to(segments) else max(1, int(rows * _GROUP_SHARE))
        groups = (self._draft_group(segments[start : start + size]) for start in range(0, len(segments), size))
        ranking = self._config if self._config.mt_candidate else None
        search = DraftSearch(self._model, rows, shortlist=self._config.shortlist, ranking=ranking)
        for hypotheses in search(groups):
            yield from ([hypothesis] for hypothesis in hypotheses)

    def _draft_group(self, segments: Sequence[EncodedSegment]) -> DraftGroup:
        batch = batch_of(self._model, segments)
        guidance = self._guidance.of(segments, [frozenset()] * len(segments), batch.device)
        drafts = self._guidance.mt_tokens(segments)
        return DraftGroup(batch, drafts, self._limits(batch), guidance)

    def _search_batch(self, segments: Sequence[EncodedSegment]) -> list[list[Hypothesis]]:
        batch = batch_of(self._model, segments)
        if self._n_best == 1:
            return self._with_mt(segments, self._best(batch, segments, self._config))
        searched = self._distinct_lists(batch, segments)
        lists = self._with_mt(segments, searched)
        if self._log_linear is not None:
            lists = self._featured(batch, segments, lists)
        return [self._ranking.n_best(*one) for one in zip(segments, lists, searched, strict=True)]

    def _distinct_lists(self, batch: Batch, segments: Sequence[EncodedSegment]) -> list[list[Hypothesis]]:
        """Return up to `n_best` outputs with distinct texts; if the beam holds too few, wider ones are searched."""
        config = self._config.model_copy(update={"n_best": self._config.beam})  # unchecked: also with cut_input
        lists = [self._distinct(*one) for one in zip(segments, self._best(batch, segments, config), strict=True)]
        beam = 2 * config.beam
        while beam <= _WIDEST * config.beam:
            short = [row for row, found in enumerate(lists) if len(found) < self._n_best and not found[0].stuck]
            if not short:
                break
            part = [segments[row] for row in short]
            more = self._best(_rows(batch, short), part, config.model_copy(update={"beam": beam, "n_best": beam}))
            for row, found in zip(short, more, strict=True):
                first, *others = lists[row]  # stays first: it is what a search with n_best = 1 returns
                others = sorted([*others, *found], key=lambda one: one.rank(config), reverse=True)
                lists[row] = self._distinct(segments[row], [first, *others])
            beam *= 2
        return [found[: self._n_best] for found in lists]

    def _best(self, batch: Batch, segments: Sequence[EncodedSegment], config: SearchConfig) -> list[list[Hypothesis]]:
        """Search each segment with the beam width that it needs, and stuck segments once more with a wider beam."""
        required = [self._guidance.required(segment) for segment in segments]
        usual = [self._guidance.beam(config.beam, phrases) for phrases in required]
        beams = dict(enumerate(usual))
        found: dict[int, list[Hypothesis]] = {}
        while beams:
            for beam in sorted(set(beams.values())):
                rows = [row for row, own in beams.items() if own == beam]
                part = batch if len(rows) == len(segments) else _rows(batch, rows)
                guidance = self._guidance.of(
                    [segments[row] for row in rows], [required[row] for row in rows], batch.device
                )
                if beam > 1:
                    wide = config.model_copy(update={"beam": beam})
                    lists = beam_search(self._model, part, self._limits(part), wide, guidance)
                else:
                    lists = [[best] for best in greedy(self._model, part, self._limits(part), guidance)]
                found.update(zip(rows, lists, strict=True))
            beams = {
                row: max(_RETRY_MINIMUM, _RETRY_FACTOR * beam)
                for row, beam in beams.items()
                if found[row][0].stuck and beam == usual[row]
            }
        return [found[row] for row in range(len(segments))]

    def _distinct(self, segment: EncodedSegment, found: Sequence[Hypothesis]) -> list[Hypothesis]:
        by_text: dict[str, Hypothesis] = {}
        for hypothesis in found:
            by_text.setdefault(self._processor.render(segment.mt, hypothesis.tokens).text, hypothesis)
        return list(by_text.values())

    def _with_mt(self, segments: Sequence[EncodedSegment], lists: Sequence[list[Hypothesis]]) -> list[list[Hypothesis]]:
        """Return the lists with mt added to each; of an n-best list of length 1, only the better of the two is kept.

        mt is not added where it is blank or longer than the model can write, nor to stuck segments. It comes first only
        with `mt_candidate`, and if it satisfies the constraints.
        """
        result = list(lists)
        if self._n_best == 1 and not self._config.mt_candidate:
            return result
        rows = [
            row
            for row, (segment, found) in enumerate(zip(segments, lists, strict=True))
            if segment.mt.strip() and not found[0].stuck and not any(self._ranking.is_mt(segment, one) for one in found)
        ]
        scored = _batched([segments[row] for row in rows], self._config.batch_tokens, self._force_mt)
        for row, unchanged in zip(rows, scored, strict=True):
            if unchanged:
                ranked = self._ranking.with_mt(segments[row], lists[row], unchanged[0])
                result[row] = ranked[:1] if self._n_best == 1 else ranked
        return result

    def _force_mt(self, segments: Sequence[EncodedSegment]) -> list[list[Hypothesis]]:
        """Return, for each segment, mt as a scored output; an empty list if it is too long for the model to write."""
        batch, longest = batch_of(self._model, segments), self._model.spec.longest
        paths = self._mt_paths(batch, segments)
        possible = [row for row, path in enumerate(paths) if longest is None or len(path) < longest]
        price, given = self._config.coverage_penalty, [paths[row] for row in possible]
        scored = force(self._model, _rows(batch, possible), given, price) if possible else []
        found: list[list[Hypothesis]] = [[] for _ in segments]
        for row, one in zip(possible, scored, strict=True):
            found[row] = [one]
        return found

    def _mt_paths(self, batch: Batch, segments: Sequence[EncodedSegment]) -> list[list[int]]:
        """Return the tokens that the model would write for mt, without EOS."""
        tokens = self._guidance.mt_tokens(segments)
        if (writes := self._model.spec.writes) == "tokens":
            return tokens
        stream = batch.streams["mt"]
        read = [ids[mask].tolist() for ids, mask in zip(stream.ids, stream.mask, strict=True)]
        return [target_of(writes, mt, [*pe, EOS])[:-1] for mt, pe in zip(read, tokens, strict=True)]

    def _limits(self, batch: Batch) -> Tensor:
        """Return the maximum number of tokens of each output, Long[B]."""
        spec, config = self._model.spec, self._config
        return length_limits(batch, config.max_ratio, config.max_extra, spec.writes, spec.longest)

    def _featured(
        self, batch: Batch, segments: Sequence[EncodedSegment], found: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses with the features of a log-linear combination: member scores, length and penalty."""
        exempt = ("mt",) if self._log_linear is None else self._log_linear.known
        result = []
        for segment, hypotheses, scores in zip(
            segments, found, member_features(self._model, batch, found), strict=True
        ):
            mt = self._processor.words("mt", segment.mt)
            src = self._processor.words("src", segment.src) if "src" in exempt else ()
            known = {*(mt if "mt" in exempt else ()), *src}
            words = [word_features(self._processor.written(mt, one.tokens), known) for one in hypotheses]
            result.append(
                [
                    replace(one, features={**own, **more})
                    for one, own, more in zip(hypotheses, scores, words, strict=True)
                ]
            )
        return result


def _batched(
    segments: Sequence[EncodedSegment],
    budget: int,
    work: Callable[[Sequence[EncodedSegment]], Iterable[list[Hypothesis]]],
) -> list[list[Hypothesis] | None]:
    return in_batches(segments, [one.length for one in segments], budget, work)


def _rows(batch: Batch, rows: Sequence[int]) -> Batch:
    """Return the batch that has only these rows."""
    index = torch.tensor(rows, device=batch.device)
    return Batch({name: stream.select(index) for name, stream in batch.streams.items()})
