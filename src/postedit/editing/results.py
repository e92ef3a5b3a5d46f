"""From hypotheses to corrections: text, edits with their confidence, and checks that the text is sound."""

import logging
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Final

from postedit.core.editor import Edit, PostEdit, Skipped
from postedit.core.evidence import Evidence
from postedit.search import Hypothesis
from postedit.text.edits import apply_edits
from postedit.text.processor import Rendering, TextProcessor
from postedit.text.words import PlainSplitter, Splitter

_log = logging.getLogger(__name__)

_DIVIDING: Final = " \t\r\n"
"""The characters between words, as vocabularies count them."""

_REPLACEMENT: Final = "\ufffd"
"""What bytes that are no UTF-8 decode to."""


def unchanged(mt: str, reason: Skipped) -> PostEdit:
    """Return the result of a segment that stays as it is."""
    return PostEdit(mt, False, skipped=reason)


def to_post_edit(
    processor: TextProcessor, mt: str, hypotheses: Sequence[Hypothesis], evidence: Evidence | None
) -> PostEdit:
    """Return the first hypothesis as the correction of `mt`, with its evidence and the others as alternatives."""
    best, *others = (_rendered(processor, mt, hypothesis) for hypothesis in hypotheses)
    return replace(best, evidence=evidence, alternatives=tuple(others))


def _rendered(processor: TextProcessor, mt: str, hypothesis: Hypothesis) -> PostEdit:
    if hypothesis.stuck:
        return unchanged(mt, "impossible")
    found = processor.render(mt, hypothesis.tokens)
    spans = token_spans(processor, found, hypothesis.tokens)
    return PostEdit(
        found.text,
        found.changed,
        hypothesis.score,
        hypothesis.token_scores,
        found.edits,
        hypothesis.hit_limit,
        features=hypothesis.features,
        token_spans=spans,
        confidences=tuple(confidence(hypothesis.token_scores[start:end]) for start, end in spans),
    )


def confidence(token_scores: Sequence[float]) -> float:
    """Return the confidence of an edit, in all of the package: the probability of its `PostEdit.token_spans`.

    It is the product of their probabilities, each given both texts and all that was written before: how likely the
    model would be to write just this edit there. So longer edits have less, and edits are comparable as events are.

    Args:
        token_scores: natural-log probabilities of the pieces.
    """
    return math.exp(min(0.0, sum(token_scores)))


def token_spans(processor: TextProcessor, found: Rendering, ids: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return for each edit from where to where in `ids` the pieces are that stand for it; see `PostEdit.token_spans`.

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


def as_given(result: PostEdit, mt: str, output: str) -> PostEdit:
    """Return a scored output as it was given: with edits of words only where the model would write it just so."""
    if result.text == output:
        return result
    whole = (Edit("replace", (0, len(mt)), (0, len(output))),) if output != mt else ()
    spans = tuple((0, len(result.token_scores)) for _ in whole)
    confidences = tuple(confidence(result.token_scores) for _ in whole)
    return replace(result, text=output, changed=output != mt, edits=whole, token_spans=spans, confidences=confidences)


def keep_edits(mt: str, result: PostEdit, kept: Sequence[bool]) -> PostEdit:
    """Return a correction with only the edits that are `kept`; where the others were, the text is as in `mt`.

    Scores, evidence and alternatives stay those of the whole output.

    Args:
        mt: the machine translation.
        result: its correction.
        kept: for each edit, whether it stays.
    """
    if all(kept):
        return result
    edits, spans, confidences = _chosen(result, kept)
    text = apply_edits(mt, result.text, edits)
    text = mt if text == mt else text
    return replace(
        result,
        text=text,
        changed=text != mt,
        edits=_moved(edits),
        token_spans=spans,
        confidences=confidences,
        reverted=result.reverted + len(result.edits) - len(edits),
    )


def _chosen(
    result: PostEdit, kept: Sequence[bool]
) -> tuple[list[Edit], tuple[tuple[int, int], ...], tuple[float, ...]]:
    places = [place for place, stays in enumerate(kept) if stays]
    return (
        [result.edits[place] for place in places],
        tuple(result.token_spans[place] for place in places) if result.token_spans else (),
        tuple(result.confidences[place] for place in places),
    )


def _moved(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Return edits with the spans they have in the text when there are no others."""
    moved, growth = [], 0
    for edit in edits:
        start = edit.mt_span[0] + growth
        length = edit.pe_span[1] - edit.pe_span[0]
        moved.append(replace(edit, pe_span=(start, start + length)))
        growth += length - (edit.mt_span[1] - edit.mt_span[0])
    return tuple(moved)


def sound(src: str, mt: str, result: PostEdit, lacks: Callable[[str], bool]) -> PostEdit:
    """Return a correction without the edits that damage text; mt itself if that does not suffice.

    No output holds a replacement character that mt has not, and characters that the vocabulary lacks (which it spells
    byte by byte) are copied whole: an edit that removes one, or writes one that neither src nor mt has, is taken back.

    Args:
        src: the source.
        mt: the machine translation.
        result: its correction.
        lacks: whether the vocabulary has no token for a character.
    """
    alternatives = tuple(sound(src, mt, one, lacks) for one in result.alternatives)
    kept = [is_sound(src, mt, result, edit, lacks) for edit in result.edits]
    if all(kept):
        return replace(result, alternatives=alternatives) if alternatives != result.alternatives else result
    mended = keep_edits(mt, result, kept)
    if _adds_replacement(mt, mended.text):
        mended = replace(unchanged(mt, "damaged"), reverted=len(result.edits))
    return replace(mended, alternatives=alternatives)


def is_sound(src: str, mt: str, result: PostEdit, edit: Edit, lacks: Callable[[str], bool]) -> bool:
    """Return whether an edit leaves text sound; see `sound`."""
    old, new = mt[slice(*edit.mt_span)], result.text[slice(*edit.pe_span)]
    if old.isascii() and new.isascii():
        return True
    removed = {character for character in old if character not in new and lacks(character)}
    invented = {character for character in new if character not in mt and character not in src and lacks(character)}
    return not removed and not invented and not _adds_replacement(old, new)


def _adds_replacement(mt: str, text: str) -> bool:
    return text.count(_REPLACEMENT) > mt.count(_REPLACEMENT)


def meet_constraints(mt: str, result: PostEdit, prefix: str, required: Sequence[str], splitter: Splitter) -> PostEdit:
    """Return the result with constraints written as they were given; "impossible" if no output satisfies them.

    Search works on tokens, and a tokeniser's inverse may write a phrase with other spaces. Outputs whose text does not
    satisfy the constraints are left out, the best one included; mt stays as an alternative.

    Args:
        mt: the machine translation.
        result: its correction, with alternatives.
        prefix: text that the output begins with, to the character.
        required: words and phrases that the output contains; they may begin with a capital.
        splitter: divides phrases into the words of the model.
    """
    if result.skipped or not (prefix or required):
        return result

    def restored(text: str) -> str | None:
        return _restored(text, prefix, required, splitter)

    kept: list[PostEdit] = []
    for one in (replace(result, alternatives=()), *result.alternatives):
        text = restored(one.text)
        if text is not None:
            kept.append(as_given(one, mt, text))
        elif one.text == mt:
            kept.append(one)
    best = next((one for one in kept if restored(one.text) is not None), None)
    if best is None:
        return unchanged(mt, "impossible")
    return replace(best, alternatives=tuple(one for one in kept if one is not best))


def _restored(text: str, prefix: str, required: Sequence[str], splitter: Splitter) -> str | None:
    """Return `text` with the constraints as they were given, or None if it does not satisfy them all."""
    phrases = [(_written(phrase), _spaced(splitter.words(phrase)), phrase) for phrase in required]
    for written, spaced, phrase in phrases:
        found = None if written.search(text) else spaced.search(text)
        if found:
            # The first letter stays: it may be the capital of a sentence.
            text = f"{text[: found.start() + 1]}{phrase.strip()[1:]}{text[found.end() :]}"
    begun = _begun(text, prefix)
    return begun if begun is not None and all(written.search(begun) for written, _, _ in phrases) else None


def _written(phrase: str) -> re.Pattern[str]:
    return _as_words(_any_case(phrase.strip()))


def _spaced(words: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern of words with or without white space between, but for what would become one word."""
    gaps = [r"\s+" if left[-1].isalnum() and right[0].isalnum() else r"\s*" for left, right in pairwise(words)]
    first, *others = (_any_case(words[0]), *map(re.escape, words[1:])) if words else (r"(?!)",)
    return _as_words(first + "".join(gap + word for gap, word in zip(gaps, others, strict=True)))


def _any_case(phrase: str) -> str:
    """Return a pattern for a phrase whose first letter may be a capital."""
    first = phrase[:1]
    return f"(?:{re.escape(first)}|{re.escape(first.upper())}){re.escape(phrase[1:])}"


def _as_words(pattern: str) -> re.Pattern[str]:
    """Return a pattern that is no part of a longer word."""
    within = r"(?<=\w)\w"
    return re.compile(f"(?!{within}){pattern}(?!{within})")


def _begun(text: str, prefix: str) -> str | None:
    """Return `text` with the given prefix in place of its own, which differs in spaces and case at most, or None."""
    if text.startswith(prefix):
        return text
    end = 0
    for character in "".join(prefix.split()):
        while end < len(text) and text[end].isspace():
            end += 1
        if end == len(text) or text[end].lower() != character.lower():
            return None
        end += 1
    rest = text[end:]
    return prefix + (rest.lstrip() if prefix[-1].isspace() else rest)


def warn(results: Sequence[PostEdit]) -> None:
    """Log what the reader of the results should know of."""
    for warning in _warnings(results):
        _log.warning(warning)


def _warnings(results: Sequence[PostEdit]) -> Iterator[str]:
    for found, what in (
        (
            [result.hit_limit for result in results],
            "outputs reached the maximum length (search.max_ratio, search.max_extra) and may be cut off",
        ),
        (
            [result.skipped == "too long" for result in results],
            "segments are too long (for search.max_input, or the model) and stay as they are",
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
