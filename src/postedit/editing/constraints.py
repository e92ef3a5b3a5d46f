"""Build the guidance of a search from the search options and the constraints of segments, in the tokens of a model."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import torch
from torch import Tensor

from postedit.core.editor import Segment
from postedit.core.errors import DataError
from postedit.core.model import Constraint
from postedit.core.search_config import SearchConfig
from postedit.core.special_tokens import PAD
from postedit.core.token_spelling import Spelling
from postedit.editing.results import has_phrase
from postedit.editing.segments import EncodedSegment
from postedit.search.edit_distance import Distances, EditCost, MaxEdits, PostEditPenalty
from postedit.search.guidance import Bias, Goal, Guidance
from postedit.search.lexical_constraints import Banned, BannedPhrases, Beginning, MissingPhrases, NoUnknown, Required
from postedit.search.repetition import NoRepeat
from postedit.text.processor import TextProcessor
from postedit.text.words import splitter

_BESIDE_REQUIRED: Final = 2
"""How much wider a beam is than the number of required tokens: a hypothesis for each count written, and a spare."""


class GuidanceBuilder:
    """Builds the guidance of batches.

    Raises:
        DataError: here and in `required`, if a required or banned word cannot be written in the tokens of the model.
    """

    def __init__(self, processor: TextProcessor, config: SearchConfig) -> None:
        self._processor, self._config = processor, config
        self._banned = frozenset(map(self._spelt, config.banned))
        self._ban = Banned(self._spelling, self._banned) if self._banned else None
        self._unknown = NoUnknown() if config.no_unk else None
        for term in config.required:
            self._spelt(term.target)

    def required(self, segment: EncodedSegment) -> frozenset[str]:
        """Return the required phrases of a segment, as the model spells them."""
        return frozenset(map(self._spelt, required_of(segment.segment, self._config)))

    def beam(self, beam: int, required: frozenset[str]) -> int:
        """Return the beam width for a segment: `beam`, or more if its required phrases have many tokens."""
        return max(beam, Required.count(self._spelling, required) + _BESIDE_REQUIRED) if required else beam

    def applies_to(self, segments: Sequence[EncodedSegment]) -> bool:
        """Return whether tokens are forbidden or penalised in the outputs of these segments."""
        given = (segment.segment.constraints for segment in segments)
        return self._config.guides or any(one.prefix or one.banned for one in given)

    def mt_tokens(self, segments: Sequence[EncodedSegment]) -> list[list[int]]:
        """Return the target tokens, without EOS, that the model would write for the mt of each segment."""
        return self._tokens(segments, [segment.mt for segment in segments])

    def _tokens(self, segments: Sequence[EncodedSegment], texts: Sequence[str]) -> list[list[int]]:
        """Return the target tokens of texts, without EOS; unknown words of mt have its copied tokens."""
        return [ids[:-1] for ids in self._processor.encode_batch("pe", texts, [segment.mt for segment in segments])]

    def of(
        self, segments: Sequence[EncodedSegment], required: Sequence[frozenset[str]], device: torch.device
    ) -> Guidance:
        """Return the guidance of a batch.

        The prefix is the first guard because, at the length limit, a row writes the missing tokens of guards in order.
        """
        guards: list[Constraint] = []
        goals: list[Goal] = []
        biases: list[Bias] = []
        config, size, count = self._config, self._spelling.size, len(segments)
        if any(segment.segment.constraints.prefix for segment in segments):
            beginnings = [self._beginning(segment.segment.constraints.prefix) for segment in segments]
            guards.append(Beginning(self._spelling).start(beginnings, size, device))
        banned = [self._banned | self._banned_in(segment) for segment in segments]
        if any(banned):
            phrases = frozenset().union(*banned)
            ban = Banned(self._spelling, phrases) if self._ban is None or phrases != self._banned else self._ban
            guards.append(ban.start(map(BannedPhrases, banned), size, device))
        if self._unknown is not None:
            guards.append(self._unknown.start([None] * count, size, device))
        if any(required):
            automaton = Required(self._spelling, frozenset().union(*required))
            goals.append(automaton.start(map(MissingPhrases, required), size, device))
        if config.no_repeat or config.needs_mt:
            mt, src = self.mt_tokens(segments), self._tokens(segments, [segment.src for segment in segments])
            mt_ids, lengths = _padded(mt, device), torch.tensor([len(ids) for ids in mt], device=device)
            if config.no_repeat:
                guards.append(NoRepeat.of(config.no_repeat, (mt_ids, _padded(src, device)), size))
            if config.max_edits is not None:
                guards.append(MaxEdits(Distances.of(mt_ids, lengths), config.max_edits, size))
            if config.edit_cost:
                biases.append(EditCost(Distances.of(mt_ids, lengths), config.edit_cost, size))
            if config.post_edit_penalty:
                known = [a + b for a, b in zip(mt, src, strict=True)] if config.exempt_src else mt
                biases.append(PostEditPenalty.of(_padded(known, device), config.post_edit_penalty, size))
        return Guidance(tuple(guards), tuple(goals), tuple(biases))

    def _banned_in(self, segment: EncodedSegment) -> frozenset[str]:
        """Return the phrases banned in this segment, as the model spells them, except those that it cannot write."""
        found = []
        for phrase in segment.segment.constraints.banned:
            with suppress(DataError):
                found.append(self._spelt(phrase))
        return frozenset(found)

    @property
    def _spelling(self) -> Spelling:
        return self._processor.vocabulary("pe").spelling

    def _spelt(self, phrase: str) -> str:
        """Return a phrase as the model spells it: tokenised, in the case in which it was given."""
        config = self._processor.config
        return self._spell(" ".join(splitter(config.tokenizer, config.tgt_lang).words(phrase)), phrase).strip(" ")

    def _beginning(self, prefix: str) -> str:
        text = self._spell(" ".join(self._processor.words("pe", prefix)), prefix)
        return f"{text} " if prefix[-1:].isspace() else text  # white space at the end of a prefix counts

    def _spell(self, text: str, given: str) -> str:
        """Return `text` as the model spells it; error messages quote `given`, the user's text."""
        found = self._spelling.spell(self._processor.vocabulary("pe").encode(text))
        if given.strip() and (not found.strip(" ") or self._spelling.shortest(found) is None):
            raise DataError(f"{given!r} cannot be written with the tokens of this model; leave it out")
        return found


def required_of(segment: Segment, config: SearchConfig) -> list[str]:
    """Return the phrases that a segment and the options require; terms with a source apply only where src has it."""
    required = list(segment.constraints.required)
    for term in config.required:
        if not term.source or has_phrase(segment.src, term.source):
            required.append(term.target)
    return required


def _padded(texts: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return the token ids of texts, padded, as Long[B,L] with L at least 1."""
    width = max(1, *map(len, texts))
    return torch.tensor([[*ids, *[PAD] * (width - len(ids))] for ids in texts], device=device)
