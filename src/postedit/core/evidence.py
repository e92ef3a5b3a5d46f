"""What a model looked at when it wrote an output: one record a sentence, over pieces or over words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.special_tokens import SYMBOLS

if TYPE_CHECKING:
    from postedit.core.types import AttentionKey

_SPACE: Final = "▁"
"""How `Vocabulary.pieces` shows the space before a word."""

_TOLERANCE: Final = 1e-2
"""How far from 1 the weights of a row may sum: attention may have been computed in half precision."""

_KINDS: Final = ("soft", "copy", "hard")

GENERATED: Final = "generated"
"""The name of the share of a word that is not copied."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A piece (or word) that the model might have written at a place, and its natural-log probability."""

    text: str
    log_prob: float


@dataclass(frozen=True, eq=False, slots=True)
class Evidence:
    """The attention and the certainty behind each output piece (or word).

    Args:
        streams: the pieces of each input text, by stream name.
        output: the K pieces written.
        log_probs: natural logarithm of the probability of each of them.
        attention: Float[K,S] by key, S the pieces of the key's streams, one after the other; each row sums to 1.
        runners_up: for each output piece, what else was most probable there, best first; empty if not known.
        shares: of a model that copies, Float[K] by where a piece comes from: `GENERATED`, or the name of the stream
            it is copied from; the shares of a piece sum to 1.
        losses: Float[K,W], the nats that each piece loses when a word of src, its end aside, is left out; None if that
            was not asked for.
        without: of a model of several streams, by stream, the K natural-log probabilities when that stream is empty.

    Raises:
        ValueError: if the lengths do not fit each other, or rows of attention do not sum to 1.
    """

    streams: Mapping[str, tuple[str, ...]]
    output: tuple[str, ...]
    log_probs: tuple[float, ...]
    attention: "Mapping[AttentionKey, NDArray[np.floating]]"
    runners_up: tuple[tuple[Alternative, ...], ...] = ()
    shares: Mapping[str, NDArray[np.floating]] = field(default_factory=dict)
    without: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    losses: NDArray[np.floating] | None = None

    def __post_init__(self) -> None:
        if len(self.log_probs) != len(self.output):
            raise ValueError(f"{len(self.output)} output pieces with {len(self.log_probs)} log-probabilities")
        if self.runners_up and len(self.runners_up) != len(self.output):
            raise ValueError(f"{len(self.output)} output pieces with runners-up of {len(self.runners_up)}")
        for name, log_probs in self.without.items():
            if len(log_probs) != len(self.output):
                raise ValueError(f"{len(self.output)} output pieces, {len(log_probs)} log-probabilities without {name}")
        for name, share in self.shares.items():
            if share.shape != (len(self.output),):
                raise ValueError(f"shares {name} have the shape {share.shape}, not ({len(self.output)},)")
        for key, weights in self.attention.items():
            if not self.streams.keys() >= set(key.streams):
                raise ValueError(f"attention over {key.stream}, but the streams are {', '.join(self.streams)}")
            shape = (len(self.output), sum(len(self.streams[name]) for name in key.streams))
            if weights.shape != shape:
                raise ValueError(f"attention {key} has the shape {weights.shape}, not {shape}")
            if not np.allclose(weights.sum(1, dtype=np.float64), 1.0, atol=_TOLERANCE):
                raise ValueError(f"rows of attention {key} do not sum to 1")

    def by_stream(self, key: "AttentionKey") -> dict[str, NDArray[np.floating]]:
        """Return the attention under `key` as Float[K,S] for each of its streams, which share a sum of 1."""
        ends = np.cumsum([len(self.streams[name]) for name in key.streams])
        return dict(zip(key.streams, np.split(self.attention[key], ends[:-1], axis=1), strict=True))

    def over(self, stream: str) -> NDArray[np.floating] | None:
        """Return the attention Float[K,S] to one stream, each row's sum made 1; None if there is none.

        Of several kinds, soft attention is taken before copying and that before the position of hard attention. A row
        of a joint attention that gives the stream nothing at all is uniform.
        """
        keys = [key for kind in _KINDS for key in self.attention if key.kind == kind and stream in key.streams]
        if not keys:
            return None
        weights = np.asarray(self.by_stream(keys[0])[stream], dtype=np.float64)
        totals = weights.sum(1, keepdims=True)
        uniform = np.full_like(weights, 1.0 / max(1, weights.shape[1]))
        return np.where(totals > 0.0, weights / np.where(totals > 0.0, totals, 1.0), uniform)

    def to_words(self, stream_word_index: Mapping[str, Sequence[int]], output_word_index: Sequence[int]) -> "Evidence":
        """Return the same evidence over words.

        A word's weight is the sum over its input pieces and the mean over its output pieces, so rows still sum
        to 1; its log-probability is the sum over its pieces. Its runners-up are those of the piece that was least
        probable, with the pieces before it and, if others would follow, an ellipsis.

        Args:
            stream_word_index: for each stream and each of its pieces, the number of the word it is part of, as
                `Vocabulary.word_index` gives it; a piece with a negative number is a word by itself.
            output_word_index: likewise for the output.

        Raises:
            ValueError: if a word index has not one number a piece.
        """
        streams = {name: _Words(pieces, stream_word_index[name], name) for name, pieces in self.streams.items()}
        output = _Words(self.output, output_word_index, "output")
        mean = output.members / output.members.sum(1, keepdims=True)
        attention = {
            key: np.concatenate(
                [mean @ weights @ streams[name].members.T for name, weights in self.by_stream(key).items()], 1
            )
            for key in self.attention
        }
        return Evidence(
            streams={name: words.texts for name, words in streams.items()},
            output=output.texts,
            log_probs=output.sums(self.log_probs),
            attention=attention,
            runners_up=self._runners_up(output.positions) if self.runners_up else (),
            shares={name: mean @ share for name, share in self.shares.items()},
            without={name: output.sums(log_probs) for name, log_probs in self.without.items()},
            losses=None if self.losses is None else output.members @ self.losses,
        )

    def _runners_up(self, words: Sequence[Sequence[int]]) -> tuple[tuple[Alternative, ...], ...]:
        result = []
        for positions in words:
            least = min(positions, key=lambda position: self.log_probs[position])
            before = [self.output[position] for position in positions if position < least]
            rest = "…" if least != positions[-1] else ""
            result.append(
                tuple(
                    Alternative(_text([*before, other.text]) + rest, other.log_prob) for other in self.runners_up[least]
                )
            )
        return tuple(result)

    def by_word(self) -> "Evidence":
        """Return the same evidence over words, which start where a piece carries the mark of a space."""
        streams = {name: word_starts(pieces) for name, pieces in self.streams.items()}
        return self.to_words(streams, word_starts(self.output))


class _Words:
    """The words that pieces make up: their texts, and `members` Float[words,pieces], 1 where a piece belongs."""

    def __init__(self, pieces: Sequence[str], index: Sequence[int], name: str) -> None:
        if len(index) != len(pieces):
            raise ValueError(f"the word index of {name} has {len(index)} numbers for {len(pieces)} pieces")
        groups = _groups(index)
        self.members = np.zeros((len(groups), len(pieces)))
        for row, positions in enumerate(groups.values()):
            self.members[row, positions] = 1.0
        self.positions = list(groups.values())
        self.texts = tuple(_text([pieces[position] for position in positions]) for positions in groups.values())

    def sums(self, values: Sequence[float]) -> tuple[float, ...]:
        """Return the sum of the values of each word's pieces."""
        return tuple(sum(values[position] for position in positions) for positions in self.positions)


def _groups(index: Sequence[int]) -> dict[tuple[int, int], list[int]]:
    """Return the places of the pieces of each word, in order; a negative number is a word by itself."""
    groups: dict[tuple[int, int], list[int]] = {}
    for position, word in enumerate(index):
        groups.setdefault((word, position if word < 0 else 0), []).append(position)
    return groups


def symbol_words(pieces: Sequence[str]) -> frozenset[int]:
    """Return which words of `Evidence.by_word` are symbols (ends, STEPs); a text may have a word spelt like one."""
    return frozenset(row for row, (word, _) in enumerate(_groups(word_starts(pieces))) if word < 0)


def _text(pieces: Sequence[str]) -> str:
    word = "".join(pieces)
    return word.replace(_SPACE, " ").strip() or word


def word_starts(pieces: Sequence[str]) -> list[int]:
    """Return the number of the word that each piece is part of, from 1 (0 before the first mark); -1 for symbols."""
    word, index = 0, []
    for piece in pieces:
        word += piece.startswith(_SPACE)
        index.append(-1 if piece in SYMBOLS else word)
    return index
