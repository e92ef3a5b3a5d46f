"""Constraints and biases of a search, from search options and the constraints of segments, in the tokens of a model."""

import re
from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from postedit.core.errors import DataError
from postedit.core.model import Constraint
from postedit.core.search_config import SearchConfig
from postedit.core.special_tokens import PAD
from postedit.core.token_spelling import Spelling
from postedit.editing.segments import EncodedSegment
from postedit.search.edit_distance import Distances, EditCost, Keep, MaxEdits
from postedit.search.guidance import Bias, Goal, Guidance
from postedit.search.lexical_constraints import Banned, Beginning, Missing, NoUnknown, Reading, Required
from postedit.search.repetition import NoRepeat
from postedit.text.processor import TextProcessor
from postedit.text.words import splitter

_BESIDE_REQUIRED: Final = 2
"""How much wider a beam is than required words have tokens: a hypothesis for each number of them, and some choice."""


class SegmentConstraints:
    """Turns what is required and forbidden into guidance for a search.

    Args:
        processor: the text processing of the model.
        config: the search options.

    Raises:
        DataError: if a banned or required word cannot be written in the tokens of the model.
    """

    def __init__(self, processor: TextProcessor, config: SearchConfig) -> None:
        self._processor, self._config = processor, config
        self._banned = Banned(self._spelling, map(self._spelt, config.banned)) if config.banned else None
        self._unknown = NoUnknown() if config.no_unk else None
        for term in config.required:
            self._spelt(term.target)

    def required(self, segment: EncodedSegment) -> frozenset[str]:
        """Return the phrases that the output of a segment contains, as the model spells them.

        Raises:
            DataError: if one cannot be written in the tokens of the model.
        """
        return frozenset(map(self._spelt, required_of(segment, self._config)))

    def beam(self, beam: int, required: frozenset[str]) -> int:
        """Return the beam of a segment: `beam`, or wider than its required words have tokens."""
        return max(beam, Required.count(self._spelling, required) + _BESIDE_REQUIRED) if required else beam

    def applies_to(self, segments: Sequence[EncodedSegment]) -> bool:
        """Return whether anything is forbidden or favoured in the outputs of these segments."""
        return self._config.guides or any(segment.segment.constraints.prefix for segment in segments)

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return texts in target tokens, without EOS."""
        return [ids[:-1] for ids in self._processor.encode_batch("pe", texts)]

    def guidance(
        self, segments: Sequence[EncodedSegment], required: Sequence[frozenset[str]], device: torch.device
    ) -> Guidance:
        """Return the guidance of a batch; guards lead to an end in their order, the prefix first."""
        guards: list[Constraint] = []
        goals: list[Goal] = []
        biases: list[Bias] = []
        config, size, count = self._config, self._spelling.size, len(segments)
        if any(segment.segment.constraints.prefix for segment in segments):
            beginnings = [self._beginning(segment.segment.constraints.prefix) for segment in segments]
            guards.append(Beginning(self._spelling).start(beginnings, size, device))
        if self._banned is not None:
            guards.append(self._banned.start([Reading()] * count, size, device))
        if self._unknown is not None:
            guards.append(self._unknown.start([None] * count, size, device))
        if any(required):
            machine = Required(self._spelling, frozenset().union(*required))
            goals.append(machine.start(map(Missing, required), size, device))
        if config.no_repeat or config.needs_mt:
            mt = self.tokens([segment.mt for segment in segments])
            src = self.tokens([segment.src for segment in segments])
            mt_ids, lengths = _padded(mt, device), torch.tensor([len(ids) for ids in mt], device=device)
            if config.no_repeat:
                guards.append(NoRepeat.of(config.no_repeat, (mt_ids, _padded(src, device)), size))
            if config.max_edits is not None:
                guards.append(MaxEdits(Distances.of(mt_ids, lengths), config.max_edits, size))
            if config.edit_cost:
                biases.append(EditCost(Distances.of(mt_ids, lengths), config.edit_cost, size))
            if config.post_edit_penalty:
                known = [a + b for a, b in zip(mt, src, strict=True)] if config.exempt_src else mt
                biases.append(Keep.of(_padded(known, device), config.post_edit_penalty, size))
        return Guidance(tuple(guards), tuple(goals), tuple(biases))

    @property
    def _spelling(self) -> Spelling:
        return self._processor.vocabulary("pe").spelling

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
            raise DataError(f"{given!r} cannot be written with the tokens of this model; leave it out")
        return found


def required_of(segment: EncodedSegment, config: SearchConfig) -> list[str]:
    """Return the words and phrases that the output of a segment contains."""
    terms = (term.target for term in config.required if _has(segment.src, term.source))
    return [*segment.segment.constraints.required, *terms]


def _has(text: str, phrase: str) -> bool:
    """Return whether a text has a phrase as whole words; the empty one is everywhere."""
    return not phrase or re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) is not None


def _padded(texts: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return Long[B,L], L at least 1."""
    width = max(1, *map(len, texts))
    return torch.tensor([[*ids, *[PAD] * (width - len(ids))] for ids in texts], device=device)
