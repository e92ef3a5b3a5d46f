"""What an editor returns: the correction of a segment."""

import logging
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final, Literal

from postedit.explain.evidence import Evidence
from postedit.search.rescoring import Candidate
from postedit.text.edits import Edit
from postedit.text.processor import Rendering, TextProcessor
from postedit.text.words import PlainSplitter

_log = logging.getLogger(__name__)

_DIVIDING: Final = " \t\r\n"
"""The characters between words, as vocabularies count them."""

Skipped = Literal["empty", "too long", "no memory", "impossible"]


@dataclass(frozen=True, slots=True)
class PostEdit:
    """The correction of one segment.

    Args:
        text: the corrected translation; the very string mt if nothing changed. Where no mt was given, it counts as
            empty, or as the draft that the model's first stage wrote.
        changed: whether it differs from mt.
        score: natural-log probability of the model's output, its end included; 0 if the model was not asked.
        token_scores: that of each piece, and of the end.
        edits: what changed, in characters of mt and of text.
        hit_limit: the output is as long as it may be, and probably cut off.
        skipped: why the segment stays as it is: mt or another text the model reads is blank; or a side has more pieces
            than `decode.max_input`, or all together more than the model can read; or memory did not suffice; or no
            output was found that has, and has not, all that it must, in a wider beam neither.
        evidence: attention behind the output, if asked for.
        alternatives: the next best corrections, best first, if asked for; no two with the same text. Then mt itself is
            always on the list, as the best one or here, with `changed` False and the score that the model gives it.
        draft: what the first stage wrote and this corrects; None if mt was given, or there is no first stage.
        features: what a combination of models weighs, by name: the score of each member, words, and words that the
            inputs do not have; None if they were not needed.
        pieces: for each edit, from where to where (exclusive) in `token_scores` the pieces are that stand for it: those
            of the words it wrote; of a deletion, those of the word that comes next, or the end.
        confidences: of each edit; see `confidence`. With a gate, the probability that the edit (or, for a gate of
            sentences, the correction) makes mt better.
        reverted: how many edits of the model were taken back, by a gate or for want of confidence. `score`,
            `token_scores` and `evidence` are of all that the model wrote.
    """

    text: str
    changed: bool
    score: float
    token_scores: tuple[float, ...]
    edits: tuple[Edit, ...]
    hit_limit: bool = False
    skipped: Skipped | None = None
    evidence: Evidence | None = None
    alternatives: tuple["PostEdit", ...] = ()
    draft: str | None = None
    features: Mapping[str, float] | None = None
    pieces: tuple[tuple[int, int], ...] = ()
    confidences: tuple[float, ...] = ()
    reverted: int = 0


def unchanged(mt: str, reason: Skipped) -> PostEdit:
    """Return what stands for a segment that stays as it is."""
    return PostEdit(mt, False, 0.0, (), (), skipped=reason)


def rendered(processor: TextProcessor, mt: str, candidate: Candidate) -> PostEdit:
    """Return a correction of `mt` as text."""
    hypothesis = candidate.hypothesis
    if hypothesis.stuck:
        return unchanged(mt, "impossible")
    found = processor.render(mt, hypothesis.tokens)
    pieces = pieces_of(processor, found, hypothesis.tokens)
    return PostEdit(
        found.text,
        found.changed,
        hypothesis.score,
        hypothesis.token_scores,
        found.edits,
        hypothesis.hit_limit,
        features=candidate.features,
        pieces=pieces,
        confidences=tuple(confidence(hypothesis.token_scores[start:end]) for start, end in pieces),
    )


def confidence(token_scores: Sequence[float]) -> float:
    """Return the confidence of an edit, in all of the package: the probability of its `PostEdit.pieces`.

    It is the product of their probabilities, each given both texts and all that was written before: how likely the
    model would be to write just this edit there. So longer edits have less, and edits are comparable as events are.

    Args:
        token_scores: natural-log probabilities of the pieces.
    """
    return math.exp(min(0.0, sum(token_scores)))


def pieces_of(processor: TextProcessor, found: Rendering, ids: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return for each edit from where to where in `ids` the pieces are that stand for it; see `PostEdit.pieces`.

    Words as decoded and the rendered text differ in spacing and case, so that places are compared by counting the
    characters that are no spaces.
    """
    if not found.edits:
        return ()
    vocabulary = processor.vocabulary("pe")
    words = PlainSplitter().words(vocabulary.decode(ids))
    ends = list(accumulate(len(word) for word in words))
    starts = _first_pieces(vocabulary.word_index(ids), len(words))
    visible = [0, *accumulate(letter not in _DIVIDING for letter in found.text)]
    result = []
    for edit in found.edits:
        start, end = (visible[place] for place in edit.pe_span)
        first = min(bisect_right(ends, start), len(words))
        last = min(max(first, bisect_left(ends, end)), len(words))
        result.append((starts[first], starts[last + 1]))
    return tuple(result)


def _first_pieces(index: Sequence[int], words: int) -> list[int]:
    """Return the place of the first piece of each word, that of the end, and what follows the end."""
    places = {word: place for place, word in reversed(list(enumerate(index))) if word >= 0}
    starts = [len(index), len(index) + 1]
    for word in reversed(range(words)):
        starts.insert(0, places.get(word, starts[0]))
    return starts


def rendered_list(
    processor: TextProcessor, mt: str, candidates: Sequence[Candidate], evidence: Evidence | None
) -> PostEdit:
    """Return the first of the corrections of `mt` with its evidence, the others as its alternatives."""
    best, *others = (rendered(processor, mt, candidate) for candidate in candidates)
    return replace(best, evidence=evidence, alternatives=tuple(others))


def as_given(result: PostEdit, mt: str, output: str) -> PostEdit:
    """Return a scored output as it was given: with edits of words only where the model would write it just so."""
    if result.text == output:
        return result
    whole = (Edit("replace", (0, len(mt)), (0, len(output))),) if output != mt else ()
    pieces = tuple((0, len(result.token_scores)) for _ in whole)
    confidences = tuple(confidence(result.token_scores) for _ in whole)
    return replace(result, text=output, changed=output != mt, edits=whole, pieces=pieces, confidences=confidences)


def warn(results: Sequence[PostEdit]) -> None:
    """Log what the reader of the results should know of."""
    for warning in _warnings(results):
        _log.warning(warning)


def _warnings(results: Sequence[PostEdit]) -> Iterator[str]:
    for found, what in (
        (
            [result.hit_limit for result in results],
            "outputs reached the maximum length (decode.max_ratio, decode.max_extra) and may be cut off",
        ),
        (
            [result.skipped == "too long" for result in results],
            "segments are too long (for decode.max_input, or the model) and stay as they are",
        ),
        (
            [result.skipped == "no memory" for result in results],
            "segments do not fit into memory and stay as they are",
        ),
        (
            [result.skipped == "impossible" for result in results],
            "segments stay as they are, because no output was found that has all that is required, and nothing banned",
        ),
    ):
        if any(found):
            yield f"{sum(found)} of {len(results)} {what}; the first one is number {found.index(True) + 1}"
