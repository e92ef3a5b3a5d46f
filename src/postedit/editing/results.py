"""Turn hypotheses into corrections (text, and edits with confidences), and check constraints."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress, pairwise
from typing import TYPE_CHECKING

from postedit.core.editor import Edit, PostEdit, Skipped
from postedit.core.evidence import Evidence
from postedit.editing.edit_tokens import token_spans
from postedit.text.edits import apply_edits
from postedit.text.words import Splitter, character_joins

if TYPE_CHECKING:
    from postedit.search import Hypothesis
    from postedit.text.processor import TextProcessor


def unchanged(mt: str, reason: Skipped) -> PostEdit:
    """Return the result of a segment that stays as it is, with the reason why it was skipped."""
    return PostEdit(mt, False, skipped=reason)


def to_post_edit(
    processor: "TextProcessor", mt: str, hypotheses: "Sequence[Hypothesis] | None", evidence: Evidence | None
) -> PostEdit:
    """Return the first hypothesis as the correction, others as alternatives; if None, mt, skipped as "no memory"."""
    if hypotheses is None:
        return unchanged(mt, "no memory")
    best, *others = (_rendered(processor, mt, hypothesis) for hypothesis in hypotheses)
    return replace(best, evidence=evidence, alternatives=tuple(others))


def _rendered(processor: "TextProcessor", mt: str, hypothesis: "Hypothesis") -> PostEdit:
    if hypothesis.stuck:
        return unchanged(mt, "impossible")
    found = processor.render(mt, hypothesis.tokens)
    spans = token_spans(processor, mt, found, hypothesis.tokens)
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
    """Return the confidence of an edit: the probability of its tokens (`PostEdit.token_spans`).

    This is the product of the token probabilities, each given both inputs and all earlier tokens; it falls with length.
    """
    return math.exp(min(0.0, sum(token_scores)))


def with_text(result: PostEdit, mt: str, output: str) -> PostEdit:
    """Return a scored result with the text `output`; if the model writes another, one edit replaces all of mt."""
    if result.text == output:
        return result
    whole = (Edit("replace", (0, len(mt)), (0, len(output))),) if output != mt else ()
    spans = tuple((0, len(result.token_scores)) for _ in whole)
    confidences = tuple(confidence(result.token_scores) for _ in whole)
    return replace(result, text=output, changed=output != mt, edits=whole, token_spans=spans, confidences=confidences)


def keep_edits(mt: str, result: PostEdit, kept: Sequence[bool]) -> PostEdit:
    """Return a correction of `mt` with only the edits marked True in `kept`; the others are reverted.

    Scores, evidence and alternatives remain those of the whole output; mt is not cut off, even if that was.
    """
    if all(kept):
        return result
    edits = list(compress(result.edits, kept))
    text = apply_edits(mt, result.text, edits)
    text = mt if text == mt else text
    return replace(
        result,
        text=text,
        changed=text != mt,
        edits=_moved(edits),
        hit_limit=result.hit_limit and text != mt,
        token_spans=tuple(compress(result.token_spans, kept)),
        confidences=tuple(compress(result.confidences, kept)),
        reverted=result.reverted + len(result.edits) - len(edits),
    )


def _moved(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Return edits with each `pe_span` adjusted to the text in which only these edits are made."""
    moved, growth = [], 0
    for edit in edits:
        start = edit.mt_span[0] + growth
        length = edit.pe_span[1] - edit.pe_span[0]
        moved.append(replace(edit, pe_span=(start, start + length)))
        growth += length - (edit.mt_span[1] - edit.mt_span[0])
    return tuple(moved)


def enforce_constraints(
    mt: str, result: PostEdit, prefix: str, required: Sequence[str], splitter: Splitter
) -> PostEdit:
    """Return the result with prefix and required phrases spelt exactly as given; "impossible" if no output has them.

    Search enforces constraints on tokens, but detokenising may change the spaces in a phrase. Outputs whose text does
    not satisfy the constraints are removed, even the best one; mt stays as an alternative. The first letter of a
    required phrase may be upper case in the output.
    """
    if result.skipped or not (prefix or required):
        return result

    def restored(text: str) -> str | None:
        return _restored(text, prefix, required, splitter)

    kept: list[PostEdit] = []
    for one in (replace(result, alternatives=()), *result.alternatives):
        text = restored(one.text)
        if text is not None:
            kept.append(with_text(one, mt, text))
        elif one.text == mt:
            kept.append(one)
    best = next((one for one in kept if restored(one.text) is not None), None)
    if best is None:
        return unchanged(mt, "impossible")
    return replace(best, alternatives=tuple(one for one in kept if one is not best))


class _WholeWords:
    """Finds matches of a pattern that begin and end at word boundaries."""

    def __init__(self, pattern: str) -> None:
        self._pattern = re.compile(pattern)

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first such match, or None."""
        found = self._pattern.search(text)
        while found is not None and any(_is_within(text, place) for place in found.span()):
            found = self._pattern.search(text, found.start() + 1)
        return found


def _restored(text: str, prefix: str, required: Sequence[str], splitter: Splitter) -> str | None:
    """Return `text` with the constraints spelt as given, or None if it does not satisfy all of them."""
    phrases = [(_WholeWords(_any_case(one.strip())), _spaced(splitter.words(one)), one) for one in required]
    for written, spaced, phrase in phrases:
        found = None if written.search(text) else spaced.search(text)
        if found:
            # Keep the first letter: it may be upper case at the beginning of a sentence.
            text = f"{text[: found.start() + 1]}{phrase.strip()[1:]}{text[found.end() :]}"
    begun = _begun(text, prefix)
    return begun if begun is not None and all(written.search(begun) for written, _, _ in phrases) else None


def has_phrase(text: str, phrase: str) -> bool:
    """Return whether a text contains a phrase as whole words, by the word boundaries of search (`character_joins`)."""
    return _WholeWords(re.escape(phrase.strip())).search(text) is not None


def _spaced(words: Sequence[str]) -> _WholeWords:
    """Return a pattern for adjacent words; white space between them is optional unless two would become one word."""
    gaps = [
        r"\s+" if character_joins(left[-1]) and character_joins(right[0]) else r"\s*" for left, right in pairwise(words)
    ]
    first, *others = (_any_case(words[0]), *map(re.escape, words[1:])) if words else (r"(?!)",)
    return _WholeWords(first + "".join(gap + word for gap, word in zip(gaps, others, strict=True)))


def _any_case(phrase: str) -> str:
    """Return a pattern for a phrase whose first letter may also be upper case."""
    first = phrase[:1]
    return f"(?:{re.escape(first)}|{re.escape(first.upper())}){re.escape(phrase[1:])}"


def _is_within(text: str, place: int) -> bool:
    """Return whether a position lies between two characters of one word."""
    return 0 < place < len(text) and character_joins(text[place - 1]) and character_joins(text[place])


def _begun(text: str, prefix: str) -> str | None:
    """Return `text` with the prefix spelt as given; None if it lacks the prefix, ignoring white space and case."""
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
