"""Sentences explained, put together by hand."""

import numpy as np

from postedit.core.editor import Edit
from postedit.core.evidence import Alternative, Evidence
from postedit.core.types import AttentionKey
from postedit.explain.explained_sentence import OUTPUT, ExplainedSentence, Span

SRC, MT, BOTH = AttentionKey("src", "soft"), AttentionKey("mt", "soft"), AttentionKey("src+mt", "soft")


def places(text: str, words: list[str]) -> tuple[Span | None, ...]:
    """Return where the words stand, and None for an end after them."""
    found: list[Span | None] = []
    position = 0
    for word in words:
        position = text.index(word, position)
        found.append(Span(position, position + len(word)))
        position += len(word)
    return (*found, None)


def sentence(
    src: str = "the red house", mt: str = "das blaue Haus", output: str = "das rote Haus", **changes: object
) -> ExplainedSentence:
    """Return a sentence of words between spaces; the attention of each word is on the word at its own place."""
    texts = {"src": src.split(), "mt": mt.split(), OUTPUT: output.split()}
    rows = len(texts[OUTPUT]) + 1
    attention = {}
    for key in (SRC, MT):
        weights = np.full((rows, len(texts[key.stream]) + 1), 0.02)
        for row in range(rows):
            weights[row, min(row, weights.shape[1] - 1)] = 1.0
        attention[key] = weights / weights.sum(1, keepdims=True)
    values: dict[str, object] = {
        "streams": {side: (*texts[side], "</s>") for side in ("src", "mt")},
        "output": (*texts[OUTPUT], "</s>"),
        "log_probs": tuple(float(np.log(0.5)) for _ in range(rows)),
        "attention": attention,
        "runners_up": ((Alternative("other", -2.0), Alternative("never", -20.0)),) * rows,
        **changes,
    }
    start, end = mt.find(" "), mt.rfind(" ")
    edits = () if mt == output else (Edit("replace", (start + 1, end), (output.find(" ") + 1, output.rfind(" "))),)
    found = {"src": places(src, texts["src"]), "mt": places(mt, texts["mt"]), OUTPUT: places(output, texts[OUTPUT])}
    ends = {name: frozenset({len(of) - 1}) for name, of in found.items()}
    return ExplainedSentence(src, mt, output, edits, (0.5,) * len(edits), Evidence(**values), found, ends)  # type: ignore[arg-type]
