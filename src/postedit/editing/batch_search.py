"""Search for the outputs of one batch of segments: greedy or beam search, n-best lists of distinct texts."""

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from postedit.core.model import Seq2Seq
from postedit.core.search_config import SearchConfig
from postedit.core.special_tokens import EOS
from postedit.core.types import Batch
from postedit.editing.constraints import SegmentConstraints
from postedit.editing.segments import EncodedSegment
from postedit.search import Drafted, Hypothesis, beam_search, force, greedy, length_limits
from postedit.text.processor import TextProcessor
from postedit.text.steps import with_steps

_WIDEST: Final = 4
"""How many times wider than asked for a beam becomes to fill an n-best list with distinct texts."""

_WIDER_AGAIN: Final = 4
_LEAST_AGAIN: Final = 8
"""How much wider the beam is, and how wide at least, when a segment is searched again because nothing was found."""


class BatchSearch:
    """Searches for the outputs of batches.

    Args:
        model: any model or ensemble.
        processor: its text processing.
        config: the search options, for all segments.

    Raises:
        DataError: if a banned or required word cannot be written in the tokens of the model.
    """

    def __init__(self, model: Seq2Seq, processor: TextProcessor, config: SearchConfig) -> None:
        self._model, self._processor, self._config = model, processor, config
        self.constraints = SegmentConstraints(processor, config)

    def search(self, batch: Batch, segments: Sequence[EncodedSegment]) -> list[list[Hypothesis]]:
        """Return the outputs of each segment, best first, as the model reads the segments in `batch`.

        With `n_best` of 1 that is one. Else no two of them are the same as text; where a beam holds too few of those,
        one up to four times as wide is asked for more. And the list always has mt itself, with the score that the
        model gives it: as found, or at its rank in addition to the others, but never in front of what was found to be
        the best.

        Returns:
            One `stuck` hypothesis alone for a segment of which no output is found that has, and has not, all that it
            must, not even with a beam that is four times as wide, and eight at least.

        Raises:
            DataError: if a word that a segment requires cannot be written in the model's pieces.
            ModelFolderError: if the model gives nothing that it may write a probability.
        """
        config = self._config
        if config.n_best == 1:
            return self._found(batch, segments, config)
        config = config.with_options(n_best=config.beam)
        lists = [self._different(*one) for one in zip(segments, self._found(batch, segments, config), strict=True)]
        beam = 2 * config.beam
        while beam <= _WIDEST * config.beam:
            short = [row for row, found in enumerate(lists) if len(found) < self._config.n_best and not found[0].stuck]
            if not short:
                break
            part = _rows(batch, short)
            more = self._found(part, [segments[row] for row in short], config.with_options(beam=beam, n_best=beam))
            for row, found in zip(short, more, strict=True):
                lists[row] = self._different(segments[row], [*lists[row], *found])
            beam *= 2
        lists = [found[: self._config.n_best] for found in lists]
        return self._with_mt(batch, segments, lists)

    def is_mt(self, segment: EncodedSegment, hypothesis: Hypothesis) -> bool:
        """Whether an output is mt as it stands."""
        return bool(segment.mt.strip()) and not self._processor.render(segment.mt, hypothesis.tokens).changed

    def uses_draft(self, segment: EncodedSegment) -> bool:
        """Return whether a segment is searched greedily with its mt as draft."""
        greedily = self._config.beam == 1 and self._config.n_best == 1
        return greedily and self._model.spec.parallel and bool(segment.mt) and not self.constraints.required(segment)

    def drafted(self, batch: Batch, segments: Sequence[EncodedSegment]) -> Drafted:
        """Return a batch with its drafts, for `DraftSearch`."""
        guidance = self.constraints.guidance(segments, [frozenset()] * len(segments), batch.device)
        drafts = self.constraints.tokens([segment.mt for segment in segments])
        return Drafted(batch, drafts, self.limits(batch), guidance)

    def limits(self, batch: Batch) -> Tensor:
        """Return the maximum number of tokens of each output, Long[B]."""
        spec, config = self._model.spec, self._config
        return length_limits(batch, config.max_ratio, config.max_extra, spec.writes, spec.longest)

    def _found(self, batch: Batch, segments: Sequence[EncodedSegment], config: SearchConfig) -> list[list[Hypothesis]]:
        """Search, each segment with a beam that suits it alone; those that are stuck once more, with a wider one."""
        required = [self.constraints.required(segment) for segment in segments]
        beams = {row: self.constraints.beam(config.beam, phrases) for row, phrases in enumerate(required)}
        found: dict[int, list[Hypothesis]] = {}
        while beams:
            for beam in sorted(set(beams.values())):
                rows = [row for row, own in beams.items() if own == beam]
                part, phrases = [segments[row] for row in rows], [required[row] for row in rows]
                batch_of_rows = batch if len(rows) == len(segments) else _rows(batch, rows)
                together = self._found_together(batch_of_rows, part, config.with_options(beam=beam), phrases)
                found.update(zip(rows, together, strict=True))
            beams = {
                row: max(_LEAST_AGAIN, _WIDER_AGAIN * beam)
                for row, beam in beams.items()
                if found[row][0].stuck and beam == self.constraints.beam(config.beam, required[row])
            }
        return [found[row] for row in range(len(segments))]

    def _found_together(
        self, batch: Batch, segments: Sequence[EncodedSegment], config: SearchConfig, required: Sequence[frozenset[str]]
    ) -> list[list[Hypothesis]]:
        limits, guidance = self.limits(batch), self.constraints.guidance(segments, required, batch.device)
        if config.beam > 1:
            return beam_search(self._model, batch, limits, config, guidance)
        return [[best] for best in greedy(self._model, batch, limits, guidance)]

    def _different(self, segment: EncodedSegment, found: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return the hypotheses whose text is none of those before."""
        by_text: dict[str, Hypothesis] = {}
        for hypothesis in found:
            by_text.setdefault(self._processor.render(segment.mt, hypothesis.tokens).text, hypothesis)
        return list(by_text.values())

    def _with_mt(
        self, batch: Batch, segments: Sequence[EncodedSegment], lists: Sequence[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Return the lists with mt in each of them, but where there is none, or it is longer than the model writes."""
        paths, longest = self._mt_paths(batch, segments), self._model.spec.longest
        without = [
            row
            for row, (segment, found) in enumerate(zip(segments, lists, strict=True))
            if segment.mt.strip()
            and not found[0].stuck
            and (longest is None or len(paths[row]) < longest)
            and not any(self.is_mt(segment, one) for one in found)
        ]
        result = list(lists)
        if without:
            scored = force(self._model, _rows(batch, without), [paths[row] for row in without])
            for row, unchanged in zip(without, scored, strict=True):
                best, *others = lists[row]
                # Nothing that holds outputs near to mt costs mt anything, so it has no bias.
                others = sorted([*others, unchanged], key=lambda one: one.rank(self._config), reverse=True)
                result[row] = [best, *others]
        return result

    def _mt_paths(self, batch: Batch, segments: Sequence[EncodedSegment]) -> list[list[int]]:
        """Return what the model would have to write for mt, without EOS."""
        tokens = self.constraints.tokens([segment.mt for segment in segments])
        if self._model.spec.writes != "steps":
            return tokens
        stream = batch.streams["mt"]
        read = [ids[mask].tolist() for ids, mask in zip(stream.ids, stream.mask, strict=True)]
        return [with_steps(mt, [*pe, EOS])[:-1] for mt, pe in zip(read, tokens, strict=True)]


def _rows(batch: Batch, rows: Sequence[int]) -> Batch:
    """Return some sentences of a batch."""
    index = torch.tensor(rows, device=batch.device)
    return Batch({name: stream.select(index) for name, stream in batch.streams.items()})
