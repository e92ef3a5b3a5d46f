"""From texts to hypotheses: a search over a model's symbols, told by texts what to write and what not to."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import torch
from torch import Tensor

from postedit.core.errors import DataError
from postedit.core.model import Constraint, Seq2Seq
from postedit.core.special_tokens import EOS, PAD
from postedit.core.token_spelling import Spelling
from postedit.core.types import Batch
from postedit.editing.segments import Segment
from postedit.search import (
    Drafted,
    Guidance,
    Hypothesis,
    SearchSettings,
    beam_search,
    force,
    greedy,
    length_limits,
)
from postedit.search.edit_distance import Distances, EditCost, Keep, MaxEdits
from postedit.search.guidance import Bias, Goal
from postedit.search.lexical_constraints import Banned, Beginning, Missing, NoUnknown, Reading, Required
from postedit.search.repetition import NoRepeat
from postedit.text.processor import TextProcessor
from postedit.text.steps import with_steps
from postedit.text.words import splitter

_WIDEST: Final = 4
"""How many times as wide as asked for a beam becomes to fill an n-best list with outputs that differ as text."""


_BESIDE_REQUIRED: Final = 2
"""By how much a beam is wider than the pieces of required words: a place for each number of them, and some choice."""


_WIDER_AGAIN: Final = 4
_LEAST_AGAIN: Final = 8
"""How much wider the beam is, and how wide at least, in which an output is sought when none was found."""


class Searcher:
    """Searches for outputs as `settings` say.

    Args:
        model: any model or ensemble.
        processor: its text processing.
        settings: for all segments.

    Raises:
        DataError: if a word that is banned or required cannot be written in the model's pieces.
    """

    def __init__(self, model: Seq2Seq, processor: TextProcessor, settings: SearchSettings) -> None:
        self._model, self._processor, self._settings = model, processor, settings
        self._banned = Banned(self._spelling, map(self._spelt, settings.banned)) if settings.banned else None
        self._unknown = NoUnknown() if settings.no_unk else None
        for term in settings.required:
            self._spelt(term.target)

    def search(self, batch: Batch, segments: Sequence[Segment]) -> list[list[Hypothesis]]:
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
        settings = self._settings
        if settings.n_best == 1:
            return self._found(batch, segments, settings)
        settings = replace(settings, n_best=settings.beam)
        lists = [self._different(*one) for one in zip(segments, self._found(batch, segments, settings), strict=True)]
        beam = 2 * settings.beam
        while beam <= _WIDEST * settings.beam:
            short = [
                row for row, found in enumerate(lists) if len(found) < self._settings.n_best and not found[0].stuck
            ]
            if not short:
                break
            part = _rows(batch, short)
            more = self._found(part, [segments[row] for row in short], replace(settings, beam=beam, n_best=beam))
            for row, found in zip(short, more, strict=True):
                lists[row] = self._different(segments[row], [*lists[row], *found])
            beam *= 2
        lists = [found[: self._settings.n_best] for found in lists]
        return self._with_mt(batch, segments, lists)

    def is_mt(self, segment: Segment, hypothesis: Hypothesis) -> bool:
        """Whether an output is mt as it stands."""
        return bool(segment.mt.strip()) and not self._processor.render(segment.mt, hypothesis.tokens).changed

    def drafts(self, segment: Segment) -> bool:
        """Whether the output of a segment is that of greedy search, and mt may be a draft of it."""
        greedily = self._settings.beam == 1 and self._settings.n_best == 1
        return (
            greedily
            and self._model.spec.parallel
            and bool(segment.mt)
            and not any(required_of(segment, self._settings))
        )

    def drafted(self, batch: Batch, segments: Sequence[Segment]) -> Drafted:
        """Return segments as `decode.DraftSearch` wants them."""
        guidance = self._guidance(segments, [frozenset()] * len(segments), batch.device)
        return Drafted(batch, self._pieces([segment.mt for segment in segments]), self.limits(batch), guidance)

    def guides(self, segments: Sequence[Segment]) -> bool:
        """Whether anything is demanded of the outputs of these segments, or favoured."""
        return self._settings.guides or any(segment.prefix for segment in segments)

    def limits(self, batch: Batch) -> Tensor:
        """Return Long[B], how many symbols each output may have."""
        spec, settings = self._model.spec, self._settings
        return length_limits(batch, settings.max_ratio, settings.max_extra, spec.writes, spec.longest)

    def _found(self, batch: Batch, segments: Sequence[Segment], settings: SearchSettings) -> list[list[Hypothesis]]:
        """Search, each segment with a beam that suits it alone; those that are stuck once more, with a wider one."""
        required = [frozenset(map(self._spelt, required_of(segment, self._settings))) for segment in segments]
        beams = {row: self._beam(settings, phrases) for row, phrases in enumerate(required)}
        found: dict[int, list[Hypothesis]] = {}
        while beams:
            for beam in sorted(set(beams.values())):
                rows = [row for row, own in beams.items() if own == beam]
                part, phrases = [segments[row] for row in rows], [required[row] for row in rows]
                batch_of_rows = batch if len(rows) == len(segments) else _rows(batch, rows)
                together = self._found_together(batch_of_rows, part, replace(settings, beam=beam), phrases)
                found.update(zip(rows, together, strict=True))
            beams = {
                row: max(_LEAST_AGAIN, _WIDER_AGAIN * beam)
                for row, beam in beams.items()
                if found[row][0].stuck and beam == self._beam(settings, required[row])
            }
        return [found[row] for row in range(len(segments))]

    def _beam(self, settings: SearchSettings, required: frozenset[str]) -> int:
        """Return the beam of a segment: wider than the words that are required have pieces."""
        if not required:
            return settings.beam
        return max(settings.beam, Required.count(self._spelling, required) + _BESIDE_REQUIRED)

    def _found_together(
        self, batch: Batch, segments: Sequence[Segment], settings: SearchSettings, required: Sequence[frozenset[str]]
    ) -> list[list[Hypothesis]]:
        limits, guidance = self.limits(batch), self._guidance(segments, required, batch.device)
        if settings.beam > 1:
            return beam_search(self._model, batch, limits, settings, guidance)
        return [[best] for best in greedy(self._model, batch, limits, guidance)]

    def _guidance(
        self, segments: Sequence[Segment], required: Sequence[frozenset[str]], device: torch.device
    ) -> Guidance:
        """Return what settings and segments demand. An end is sought as they stand: the beginning comes first."""
        guards: list[Constraint] = []
        goals: list[Goal] = []
        biases: list[Bias] = []
        settings, size, count = self._settings, self._spelling.size, len(segments)
        if any(segment.prefix for segment in segments):
            beginnings = [self._beginning(segment.prefix) for segment in segments]
            guards.append(Beginning(self._spelling).start(beginnings, size, device))
        if self._banned is not None:
            guards.append(self._banned.start([Reading()] * count, size, device))
        if self._unknown is not None:
            guards.append(self._unknown.start([None] * count, size, device))
        if any(required):
            machine = Required(self._spelling, frozenset().union(*required))
            goals.append(machine.start(map(Missing, required), size, device))
        if settings.no_repeat or settings.needs_mt:
            mt = self._pieces([segment.mt for segment in segments])
            src = self._pieces([segment.src for segment in segments])
            mt_ids, lengths = _padded(mt, device), torch.tensor([len(ids) for ids in mt], device=device)
            if settings.no_repeat:
                guards.append(NoRepeat.of(settings.no_repeat, (mt_ids, _padded(src, device)), size))
            if settings.max_edits is not None:
                guards.append(MaxEdits(Distances.of(mt_ids, lengths), settings.max_edits, size))
            if settings.edit_cost:
                biases.append(EditCost(Distances.of(mt_ids, lengths), settings.edit_cost, size))
            if settings.keep:
                known = [a + b for a, b in zip(mt, src, strict=True)] if settings.keep_src else mt
                biases.append(Keep.of(_padded(known, device), settings.keep, size))
        return Guidance(tuple(guards), tuple(goals), tuple(biases))

    def _different(self, segment: Segment, found: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return the hypotheses whose text is none of those before."""
        by_text: dict[str, Hypothesis] = {}
        for hypothesis in found:
            by_text.setdefault(self._processor.render(segment.mt, hypothesis.tokens).text, hypothesis)
        return list(by_text.values())

    def _with_mt(
        self, batch: Batch, segments: Sequence[Segment], lists: Sequence[list[Hypothesis]]
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
                others = sorted([*others, unchanged], key=self._settings.rank, reverse=True)
                result[row] = [best, *others]
        return result

    def _mt_paths(self, batch: Batch, segments: Sequence[Segment]) -> list[list[int]]:
        """Return what the model would have to write for mt, without EOS."""
        pieces = self._pieces([segment.mt for segment in segments])
        if self._model.spec.writes != "steps":
            return pieces
        stream = batch.streams["mt"]
        read = [ids[mask].tolist() for ids, mask in zip(stream.ids, stream.mask, strict=True)]
        return [with_steps(mt, [*pe, EOS])[:-1] for mt, pe in zip(read, pieces, strict=True)]

    @property
    def _spelling(self) -> Spelling:
        return self._processor.vocabulary("pe").spelling

    def _pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """Return texts in the model's output symbols, without EOS."""
        return [ids[:-1] for ids in self._processor.encode_batch("pe", texts)]

    def _spelt(self, phrase: str) -> str:
        """Return a phrase as the model spells it: divided into words, in the case in which it is given."""
        config = self._processor.config
        return self._spell(" ".join(splitter(config.tokenizer, config.tgt_lang).words(phrase)), phrase).strip(" ")

    def _beginning(self, prefix: str) -> str:
        """Return a beginning of an output as the model spells it; white space at its end counts."""
        text = self._spell(" ".join(self._processor.words("pe", prefix)), prefix)
        return f"{text} " if prefix[-1:].isspace() else text

    def _spell(self, text: str, given: str) -> str:
        """Return `text` as the model spells it.

        Raises:
            DataError: naming what was `given`, if it cannot be written.
        """
        found = self._spelling.spell(self._processor.vocabulary("pe").encode(text))
        if given.strip() and (not found.strip(" ") or self._spelling.shortest(found) is None):
            raise DataError(f"{given!r} cannot be written with the pieces that this model has; leave it out")
        return found


def required_of(segment: Segment, settings: SearchSettings) -> list[str]:
    """Return the words and phrases that the output of a segment must have."""
    return [*segment.required, *(term.target for term in settings.required if _has(segment.src, term.source))]


def _has(text: str, phrase: str) -> bool:
    """Return whether a text has a phrase as whole words; the empty one is everywhere."""
    return not phrase or re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) is not None


def _rows(batch: Batch, rows: Sequence[int]) -> Batch:
    """Return some sentences of a batch."""
    index = torch.tensor(rows, device=batch.device)
    return Batch({name: stream.select(index) for name, stream in batch.streams.items()})


def _padded(texts: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return Long[B,L], L at least 1."""
    width = max(1, *map(len, texts))
    return torch.tensor([[*ids, *[PAD] * (width - len(ids))] for ids in texts], device=device)
