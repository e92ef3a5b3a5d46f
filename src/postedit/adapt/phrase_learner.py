"""A phrase-based editor that follows a memory, so that corrections take effect at once."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import Entry
from postedit.adapt.remembering import say_nothing
from postedit.phrase.correction_index import AlignedTriplet, CorrectionIndex, GrowingArray, single_index
from postedit.phrase.decoder import SearchLimits, edit_texts
from postedit.phrase.edit_alignment import Spellings, linked, spellings
from postedit.phrase.edit_candidates import CORRECTIONS, DOUBT, EDITS
from postedit.phrase.pair_table import key_of
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.scored_edits import Knowledge
from postedit.phrase.source_alignment import (
    JoinedWords,
    enlarged,
    joined_ids,
    number_joined,
    single_text,
    source_words,
)
from postedit.phrase.triplet_index import makes_change
from postedit.phrase.word_ids import BEGIN, END_OF_TEXT, WordIds
from postedit.text.config import SIDES

Ids = NDArray[np.int32]

_WATCHED: Final = 200
"""Number of latest corrections whose edits are judged; if one of them is undone, those after it are judged again."""

_MOST_JUDGED: Final = 64
"""Number of latest edits, approximately, that decide how far the memory can be trusted."""

_AT_ONCE: Final = 20_000
"""Number of corrections that are indexed at once: fewer are sorted more often, more give no sign for long."""

_NEARLY: Final = 1.0  # edits that score lower than no edit by up to this much are judged too
_TRUST: Final = np.array([1.0, -1.0])  # prior means of slope and constant
_SPREAD: Final = np.array([0.5, 1.0])  # their prior standard deviations
_LEAST_SLOPE: Final = 0.05
_NEWTON_STEPS: Final = 15


class _Known(NamedTuple):
    """A correction: its number, the indexed triplet, the ids of the source, and the texts of source and mt."""

    number: int
    triplet: AlignedTriplet
    src: Ids
    segment: tuple[str, str]


class _Judged(NamedTuple):
    """An edit that earlier corrections proposed: its gain in score, and whether the post-editor made it too."""

    gain: float
    right: bool


class PhraseLearner:
    """An index of a memory's corrections for a phrase-based editor; see `remembering.Learner`.

    Corrections are aligned with the probabilities of training, which they do not change. So the known phrases depend on
    which corrections there are, but not on their order. The order decides only how old they are, and which of several
    contradictory corrections is the latest.

    How far corrections are trusted is measured: before a correction is learnt, the edits that earlier ones propose are
    compared with it. A logistic regression, which predicts from their gains whether they are right, then gives a
    constant that is added to the weight of "doubt", so that those edits are proposed that are more probably right than
    wrong.

    Args:
        editor: editor that learns; its model changes.
    """

    def __init__(self, editor: PhraseEditor) -> None:
        self._editor, self._trained = editor, editor.model
        self._known: list[_Known] = []
        self._judged: dict[int, list[_Judged]] = {}  # judged edits of the latest corrections, by number
        # Half a word is never right, where words are characters; half of several words may be.
        self._whole = editor.text.tokenizer == "characters"
        self._index = CorrectionIndex(whole=self._whole)
        self.forget_all()

    def learn_entries(self, entries: Iterable[Entry], progress: Callable[[], None] = say_nothing) -> None:
        """Take over further entries; corrections with a text longer than `search.max_input` are left out."""
        undone: set[int] = set()
        learnt = len(self._known)
        for entry in entries:
            progress()
            if entry.undoes is not None:
                undone.add(entry.undoes)
            elif (aligned := self.aligned(entry.correction)) is not None:
                segment = entry.correction.src, entry.correction.mt
                self._known.append(_Known(entry.number, *aligned, segment))
                self._corrected.setdefault(segment, {})[entry.number] = entry.correction.pe
        if undone:
            learnt = self._forget(undone, learnt)
        unwatched = max(learnt, len(self._known) - _WATCHED)
        for start in range(learnt, unwatched, _AT_ONCE):
            part = self._known[start : min(start + _AT_ONCE, unwatched)]
            self._index.add([(one.number, one.triplet) for one in part])
            progress()
        for one in self._known[unwatched:]:
            self._judged[one.number] = self._judge(one)
            self._index.add([(one.number, one.triplet)])
            progress()
        for number in list(self._judged)[: -2 * _WATCHED]:  # keep more than are watched, as some may be undone
            del self._judged[number]
        self._change_model()

    def _forget(self, undone: set[int], learnt: int) -> int:
        """Remove corrections, and return how many of the first `learnt` ones are still learnt afterwards.

        Corrections that follow an undone one were judged by means of it, so the watched ones of them must be learnt
        again.
        """
        found = {self._row(number) for number in undone}
        rows = sorted(row for row in found if row < len(self._known) and self._known[row].number in undone)
        first = self._known[rows[0]].number if rows else math.inf
        for row in reversed(rows):
            known = self._known.pop(row)
            self._index.remove(known.number)
            del self._corrected[known.segment][known.number]
        learnt -= sum(row < learnt for row in rows)
        self._judged = {number: edits for number, edits in self._judged.items() if number < first}
        watched = range(max(0, len(self._known) - _WATCHED), learnt)
        again = next((row for row in watched if self._known[row].number not in self._judged), learnt)
        if again < learnt:
            self._index.truncate(self._known[again].number)
        return again

    def _row(self, number: int) -> int:
        """Return the row of the first known correction whose number is not below `number`."""
        return bisect_left(self._known, number, key=lambda one: one.number)

    def forget_all(self) -> None:
        """Return to the model as it was trained."""
        self._words, self._joined = WordIds(self._trained.words.own), _JoinedIds(self._trained.joined)
        spelt = spellings(self._words.words)
        self._letters, self._starts = GrowingArray(spelt.letters), GrowingArray(spelt.starts)
        self._known, self._judged, self._index = [], {}, CorrectionIndex(whole=self._whole)
        self._corrected: dict[tuple[str, str], dict[int, str]] = {}
        self._change_model()

    def _change_model(self) -> None:
        watched = [self._judged[one.number] for one in self._known[-_WATCHED:]]
        doubt = _doubt([edit for edits in _latest(watched) for edit in edits])
        self._editor.model = replace(
            self._trained,
            words=self._words,
            knowledge=self._knowledge(doubt),
            joined=self._joined.words,
            corrected=self._corrected,
        )

    def _knowledge(self, doubt: float, allowance: float = 0.0) -> Knowledge:
        """Return the knowledge that proposes edits, with `doubt` and `allowance` added to weights of corrections."""
        weights = self._trained.knowledge.correction_weights.copy()
        weights[DOUBT] += doubt
        weights[EDITS] += allowance
        return self._trained.knowledge._replace(
            corrections=self._index.index,
            ranks=self._index.ranks,
            sources=self._index.sources,
            numbers=self._index.numbers,
            bags=self._index.bags,
            bag_starts=self._index.bag_starts,
            counts=self._index.counts,
            correction_weights=weights,
        )

    def aligned(self, correction: Correction) -> tuple[AlignedTriplet, Ids] | None:
        """Return a correction in its indexed form and the ids of its source; None if it is too long.

        Words that are new get ids.
        """
        sides = [self._editor.words(side, getattr(correction, side)) for side in SIDES]
        if max(map(len, sides)) > self._editor.search.max_input:
            return None
        src, mt, pe = (np.array(self._words.add(words), np.int32) for words in sides)
        mt, pe = (np.concatenate([[BEGIN], ids, [END_OF_TEXT]]).astype(np.int32) for ids in (mt, pe))
        new = spellings(self._words.words[len(self._starts) - 1 :])
        self._starts.extend(new.starts[1:] + len(self._letters))
        self._letters.extend(new.letters)
        links = linked(self._trained.edits, Spellings(self._letters.values, self._starts.values), mt, pe)
        sources = source_words(self._trained.knowledge.translations, src, mt)
        asked = self._joined.add(mt, sources)
        return AlignedTriplet(asked, mt, pe, links, sources, int(key_of(src))), src

    def _judge(self, known: _Known) -> list[_Judged]:
        """Return the edits that earlier corrections propose, or nearly propose, for the segment of a correction."""
        mt, src = single_text(known.triplet.mt), single_text(known.src)
        limits = SearchLimits(1, self._editor.config.paths, self._editor.config.sample)
        knowledge = self._knowledge(0.0, _NEARLY)
        found = edit_texts(mt, self._joined.words, src, knowledge, self._trained.weights, limits)
        own, judged = single_index(known.triplet), []
        for edit in np.flatnonzero(found.evidence[:, DOUBT] * found.evidence[:, CORRECTIONS]):
            (start, end), new = found.spans[edit], found.words[slice(*found.first_word[edit : edit + 2])]
            right = bool(makes_change(own, start + 1, end - start, new))
            judged.append(_Judged(float(found.gains[edit]) - _NEARLY, right))
        return judged


def _latest(judged: Sequence[list[_Judged]]) -> Iterator[list[_Judged]]:
    """Yield the edits of the latest corrections, the last one first, until there are `_MOST_JUDGED` edits."""
    count = 0
    for edits in reversed(judged):
        if count >= _MOST_JUDGED:
            return
        yield edits
        count += len(edits)


def _doubt(judged: Sequence[_Judged]) -> float:
    """Return the constant to add to gains so that edits with a gain above 0 are right more probably than not.

    The log-odds of an edit being right are modelled as a linear function of its gain. If gains say little, as in text
    whose errors do not recur, the slope is small; without a slope, edits with a large gain would be taken for right.
    The constant is never positive, so edits are never trusted more than the weights say: what is right in this document
    need not be right in the next.
    """
    ordered = sorted(judged)  # so that sums do not depend on the order of corrections
    inputs = np.array([(edit.gain, 1.0) for edit in ordered]).reshape(-1, 2)
    right = np.array([edit.right for edit in ordered], float)
    found = _TRUST.copy()
    for _ in range(_NEWTON_STEPS):
        likely = 1.0 / (1.0 + np.exp(-(inputs @ found)))
        ascent = inputs.T @ (right - likely) - (found - _TRUST) / _SPREAD**2
        curvature = (inputs.T * (likely * (1.0 - likely))) @ inputs + np.diag(_SPREAD**-2)
        found += np.clip(np.linalg.solve(curvature, ascent), -1.0, 1.0)
    slope, constant = found
    return min(0.0, float(constant / max(slope, _LEAST_SLOPE)))


class _JoinedIds:
    """A growing table of ids of words joined with source words."""

    def __init__(self, trained: JoinedWords) -> None:
        self.words = trained
        self._known = len(trained.keys) and int(trained.ids.max()) + 1
        self._shared = True  # whether `words` belongs to the trained model, so that it must not change

    def add(self, words: Ids, sources: Ids) -> Ids:
        """Return the ids of words Int32[n] with sources Int32[n]; the words themselves if the model joins none."""
        if not len(self.words.keys):
            return words
        if self._shared or 2 * (self._known + len(words)) > len(self.words.keys):
            self.words, self._shared = enlarged(self.words), False
        self._known = number_joined(self.words, self._known, words, sources)
        found: Ids = joined_ids(self.words, words, sources)
        return found
