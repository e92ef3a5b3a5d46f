"""What a model looked at when it wrote an output: one record a sentence, over pieces or over words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.types import AttentionKey

_TOLERANCE: Final = 1e-2
"""How far from 1 the weights of a row may sum: attention may have been computed in half precision."""


@dataclass(frozen=True, eq=False, slots=True)
class Evidence:
    """The attention and the certainty behind each output piece (or word).

    Args:
        streams: the pieces of each input text, by stream name.
        output: the K pieces written.
        log_probs: natural logarithm of the probability of each of them.
        attention: Float[K,S] by key, S the pieces of the key's stream; each row sums to 1.

    Raises:
        ValueError: if the lengths do not fit each other, or rows of attention do not sum to 1.
    """

    streams: Mapping[str, tuple[str, ...]]
    output: tuple[str, ...]
    log_probs: tuple[float, ...]
    attention: Mapping[AttentionKey, NDArray[np.floating]]

    def __post_init__(self) -> None:
        if len(self.log_probs) != len(self.output):
            raise ValueError(f"{len(self.output)} output pieces with {len(self.log_probs)} log-probabilities")
        for key, weights in self.attention.items():
            if key.stream not in self.streams:
                raise ValueError(f"attention over {key.stream}, but the streams are {', '.join(self.streams)}")
            shape = (len(self.output), len(self.streams[key.stream]))
            if weights.shape != shape:
                raise ValueError(f"attention {key} has the shape {weights.shape}, not {shape}")
            if not np.allclose(weights.sum(1, dtype=np.float64), 1.0, atol=_TOLERANCE):
                raise ValueError(f"rows of attention {key} do not sum to 1")

    def to_words(self, stream_word_index: Mapping[str, Sequence[int]], output_word_index: Sequence[int]) -> "Evidence":
        """Return the same evidence over words.

        A word's weight is the sum over its input pieces and the mean over its output pieces, so rows still sum
        to 1; its log-probability is the sum over its pieces.

        Args:
            stream_word_index: for each stream and each of its pieces, the number of the word it is part of,
                counted from 0.
            output_word_index: likewise for the output.

        Raises:
            ValueError: if a word index has not one number a piece, or leaves words out.
        """
        spread = {name: _membership(stream_word_index[name], pieces, name) for name, pieces in self.streams.items()}
        gather = _membership(output_word_index, self.output, "output")
        mean = gather / gather.sum(1, keepdims=True)
        return Evidence(
            streams={name: _join(stream_word_index[name], pieces) for name, pieces in self.streams.items()},
            output=_join(output_word_index, self.output),
            log_probs=tuple((gather @ np.array(self.log_probs, dtype=np.float64)).tolist()),
            attention={key: mean @ weights @ spread[key.stream].T for key, weights in self.attention.items()},
        )


def _membership(index: Sequence[int], pieces: Sequence[str], name: str) -> NDArray[np.float64]:
    """Return Float[words,pieces], 1 where a piece is part of a word."""
    if len(index) != len(pieces):
        raise ValueError(f"the word index of {name} has {len(index)} numbers for {len(pieces)} pieces")
    words = max(index, default=-1) + 1
    if sorted(set(index)) != list(range(words)):
        raise ValueError(f"the word index of {name} must count words from 0 without a gap: {list(index)}")
    return np.equal.outer(np.arange(words), np.array(index, dtype=np.int64)).astype(np.float64)


def _join(index: Sequence[int], pieces: Sequence[str]) -> tuple[str, ...]:
    words = [""] * (max(index, default=-1) + 1)
    for word, piece in zip(index, pieces, strict=True):
        words[word] += piece
    return tuple(word.strip() for word in words)
