"""Word alignments from attention: each word of the output and the word of an input that it looked at most."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from postedit.evaluate.alignment import Alignment, Link
from postedit.explain.explained_sentence import OUTPUT, Reading, Span

_WORD: Final = re.compile(r"[^ \t\r\n]+")


def links(sentence: Reading, stream: str) -> Alignment | None:
    """Return a link from the word of `stream` with most attention to each word of the output.

    Words are what stands between spaces, however the model divides text: the weights of the model's words that make up
    one of them are added up for an input, and averaged for the output. Ends and STEPs take no part.

    Returns:
        None if the model shows no attention to the stream, or its words cannot be found in the texts.
    """
    weights = sentence.words.over(stream)
    if weights is None:
        return None
    text = {"src": sentence.src, "mt": sentence.mt}[stream]
    columns = _members(text, sentence.places[stream])
    rows = _members(sentence.output, sentence.places[OUTPUT])
    if not columns.size or not rows.size or not columns.sum(1).all() or not rows.sum(1).all():
        return None
    mean = rows / rows.sum(1, keepdims=True)
    best = (mean @ weights @ columns.T).argmax(1)
    return frozenset(Link(int(source), target) for target, source in enumerate(best))


def words(text: str) -> list[str]:
    """Return what stands between spaces."""
    return _WORD.findall(text)


def _members(text: str, places: Sequence[Span | None]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Float[words between spaces, words of the model]: 1 where one is part of the other."""
    spans = [Span(match.start(), match.end()) for match in _WORD.finditer(text)]
    members = np.zeros((len(spans), len(places)))
    for row, span in enumerate(spans):
        for column, place in enumerate(places):
            members[row, column] = place is not None and place.meets(span)
    return members
