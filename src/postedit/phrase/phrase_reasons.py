"""Reasons for edits of a phrase-based model: corrections and triplets that made the same edit, and source words."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.core.edit_reasons import (
    EXAMPLES,
    CitedWord,
    CorrectionReason,
    EditReason,
    NamedCorrection,
    SourceReason,
    TrainingExample,
    TrainingReason,
)
from postedit.phrase.edit_candidates import EDITS, SOURCE_AGREES, Sentence
from postedit.phrase.edit_support import EditSupport, edit_support, repeated_segment
from postedit.phrase.pair_table import EMPTY
from postedit.phrase.phrase_model import PhraseModel
from postedit.phrase.phrase_options import PhraseTextConfig
from postedit.phrase.source_alignment import source_places
from postedit.phrase.triplet_index import ROW, target_of
from postedit.text.words import Splitter

_AROUND: Final = 3
"""Maximum number of words that an example shows on each side of the phrase."""


class FoundEdit(NamedTuple):
    """An edit in an output of a search.

    Args:
        span: the words of mt that it replaces.
        new: the words that replace them, Int32[n].
        features: the features of the edit, Float64[F], see `edit_candidates.FEATURES`.
    """

    span: tuple[int, int]
    new: NDArray[np.int32]
    features: NDArray[np.float64]


class PhraseReasons:
    """Finds reasons for edits, by the lookups that proposed them.

    The reasons for an edit are the corrections that made it. If its score is from training, they are also the triplets
    that made it and, if the source supported it, words of the source.

    Args:
        model: the model that made the edits.
        text: how texts are divided into words.
        sample: the maximum number of places of a phrase that the model looks at.
    """

    def __init__(self, model: PhraseModel, text: PhraseTextConfig, sample: int) -> None:
        self._model, self._text, self._sample = model, text, sample

    def of_edits(self, sentence: Sentence, src: str, edits: Iterable[FoundEdit]) -> list[tuple[EditReason, ...]]:
        """Return the reasons for each of the edits that a search found for a sentence with this source."""
        repeated = self._repeated(sentence)
        return [(repeated,) if repeated else self._of_edit(sentence, src, edit) for edit in edits]

    def _of_edit(self, sentence: Sentence, src: str, edit: FoundEdit) -> tuple[EditReason, ...]:
        proposed = edit._replace(span=(edit.span[0] + 1, edit.span[1] + 1))  # counting the word for the beginning
        by_training = edit.features[EDITS] > 0.0
        trained = self._training(sentence, src, proposed) if by_training else ()
        return (*self._corrections(sentence, proposed), *trained)

    def _corrections(self, sentence: Sentence, edit: FoundEdit) -> Iterator[EditReason]:
        """Yield the corrections that made an edit, if there are any."""
        index = self._model.knowledge.corrections
        support = edit_support(sentence, index, edit.span, edit.new, self._sample, False, True)
        if not support.made:
            return
        rows = list(dict.fromkeys(index.cells[support.places, ROW].tolist()))
        otherwise = int(support.looked - support.made - support.kept)
        yield CorrectionReason(int(support.made), int(support.kept), otherwise, self._named(rows))

    def _named(self, rows: list[int]) -> tuple[NamedCorrection, ...]:
        """Return the first EXAMPLES of these rows of the index of corrections, by their numbers in the memory."""
        return tuple(NamedCorrection(int(self._model.knowledge.numbers[row])) for row in rows[:EXAMPLES])

    def _repeated(self, sentence: Sentence) -> CorrectionReason | None:
        """Return the corrections of the same segment, or None if there are none."""
        found = repeated_segment(sentence, self._model.knowledge)
        if found is None:
            return None
        return CorrectionReason(
            len(found.rows), found.left, found.otherwise, self._named(found.rows), same_segment=True
        )

    def _training(self, sentence: Sentence, src: str, edit: FoundEdit) -> Iterator[EditReason]:
        """Yield the triplets that made an edit, and the words of the source if these supported it."""
        index = self._model.knowledge.trained
        support = edit_support(sentence, index, edit.span, edit.new, self._sample, True, False)
        if not support.made:
            return
        otherwise = int(support.looked - support.made - support.kept)
        yield TrainingReason(int(support.made), int(support.kept), otherwise, self._examples(support))
        if edit.features[SOURCE_AGREES] * self._model.weights[1 + SOURCE_AGREES] > 0.0:
            widest = edit_support(sentence, index, edit.span, edit.new, self._sample, True, True)
            yield from self._source(sentence, src, widest)

    def _source(self, sentence: Sentence, src: str, support: EditSupport) -> Iterator[SourceReason]:
        """Yield the words of the source that the phrase of an edit comes from, if they can be found in its text."""
        spans = self._text.splitter("src").spans(src)
        if spans is None:
            return
        places = source_places(self._model.knowledge.translations, sentence.src, sentence.mt)
        phrase = places[support.start : support.start + support.length]
        words = [spans[place] for place in sorted(set(phrase[phrase >= 0].tolist()))]
        if words:
            yield SourceReason(tuple(CitedWord(src[one.start : one.end], (one.start, one.end)) for one in words))

    def _examples(self, support: EditSupport) -> tuple[TrainingExample, ...]:
        found: dict[TrainingExample, None] = {}
        for place in support.places.tolist():
            if len(found) < EXAMPLES:
                found[self._example(place, int(support.length))] = None
        return tuple(found)

    def _example(self, place: int, length: int) -> TrainingExample:
        index = self._model.knowledge.trained
        row, target = int(index.cells[place, ROW]), target_of(index, place, length)
        before = self._excerpt(self._mt_words, index.mt_starts[row : row + 2], place, length)
        after = self._excerpt(index.pe.words, index.pe_starts[row : row + 2], int(target.start), int(target.length))
        return TrainingExample(before, after)

    def _excerpt(self, words: NDArray[Any], bounds: NDArray[np.int64], place: int, length: int) -> str:
        """Return some words of a text and those around them, with an ellipsis where words are left out."""
        first, last = int(bounds[0]) + 1, int(bounds[1]) - 1  # without the words for beginning and end
        start, end = max(first, place - _AROUND), min(last, place + length + _AROUND)
        splitter: Splitter = self._text.splitter("mt")
        text = splitter.join([self._model.words.words[word] for word in words[start:end].tolist()])
        return f"{'… ' if start > first else ''}{text}{' …' if end < last else ''}"

    @cached_property
    def _mt_words(self) -> NDArray[Any]:
        """The words of mt of all training triplets, Int[W]; the index may hold them joined with source words."""
        asked, joined = self._model.knowledge.trained.mt.words, self._model.joined
        words: NDArray[Any] = asked
        if joined.keys.size:
            used = joined.keys != EMPTY
            unjoined = np.zeros(int(joined.ids[used].max()) + 1, np.int64)
            unjoined[joined.ids[used]] = joined.keys[used] >> 32
            words = unjoined[asked]
        return words
