"""Views of the attention of a sentence: panels by stream for pages and figures, and word alignments."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.evidence import Evidence
from postedit.evaluate.alignment import Alignment, Link, word_spans
from postedit.explain.explained_sentence import OUTPUT, ExplainedSentence, Span

STREAM_NAMES: Final = {"src": "source", "mt": "machine translation"}
_KINDS: Final = {"soft": "attention over", "copy": "copying from", "hard": "position in"}


@dataclass(frozen=True, eq=False, slots=True)
class AttentionPanel:
    """The weights Float[K,S] of one kind of attention to one stream; of a joint attention, the part on that stream."""

    stream: str
    kind: str
    weights: NDArray[np.floating]

    @property
    def title(self) -> str:
        """A caption such as "attention over the source"."""
        return f"{_KINDS.get(self.kind, self.kind)} the {STREAM_NAMES.get(self.stream, self.stream)}"


def attention_panels(evidence: Evidence) -> list[AttentionPanel]:
    """Return the attention panels in order: src before mt and, for each stream, soft, copy and hard attention."""
    streams, kinds = [*STREAM_NAMES, *evidence.streams], list(_KINDS)
    found = [
        AttentionPanel(stream, key.kind, weights)
        for key in evidence.attention
        for stream, weights in evidence.by_stream(key).items()
    ]
    return sorted(found, key=lambda panel: (streams.index(panel.stream), kinds.index(panel.kind)))


def attention_alignment(sentence: ExplainedSentence, stream: str) -> Alignment | None:
    """Return an alignment that links each output word to the word of `stream` that gets most attention.

    Words here are separated by spaces: the attention between the model's own words is summed over an input word and
    averaged over an output word. Returns None if there is no attention to the stream, or if the model's words cannot be
    found in the texts.
    """
    weights = sentence.words.over(stream)
    if weights is None:
        return None
    text = {"src": sentence.src, "mt": sentence.mt}[stream]
    columns = _membership(text, sentence.spans[stream])
    rows = _membership(sentence.output, sentence.spans[OUTPUT])
    if not columns.size or not rows.size or not columns.sum(1).all() or not rows.sum(1).all():
        return None
    mean = rows / rows.sum(1, keepdims=True)
    best = (mean @ weights @ columns.T).argmax(1)
    return frozenset(Link(int(source), target) for target, source in enumerate(best))


def _membership(text: str, model_words: Sequence[Span | None]) -> NDArray[np.float64]:
    """Return 1 where a word between spaces and a word of the model overlap, else 0, Float[words,model words]."""
    spans = [Span(start, end) for start, end in word_spans(text)]
    members = [[word is not None and word.overlaps(span) for word in model_words] for span in spans]
    return np.array(members, np.float64).reshape(len(spans), len(model_words))
