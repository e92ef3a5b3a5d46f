"""Evidence about an output: attention, probabilities and runners-up, over tokens or over words."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.scripts import has_unspaced_run
from postedit.core.special_tokens import SPECIAL_TOKENS, UNK

if TYPE_CHECKING:
    from postedit.core.types import AttentionKey

_SPACE: Final = "▁"  # stands for the space before a word in the spelling of tokens

_PART: Final = "\ufffd"  # spelling of a token that is part of a character

_TOLERANCE: Final = 1e-2
"""How far the sum of a row may be from 1, since attention may have been computed in half precision."""

_KINDS: Final = ("soft", "copy", "hard")

GENERATED: Final = "generated"  # key of the share of a word that is generated, not copied


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another probable token (or word) at a position, and its natural-log probability."""

    text: str
    log_prob: float


@dataclass(frozen=True, eq=False, slots=True)
class Evidence:
    """The attention and the probabilities of the K tokens (or words) of an output.

    Raises:
        ValueError: if lengths or shapes do not match, or rows of attention do not sum to 1.
    """

    streams: Mapping[str, tuple[str, ...]]  # tokens of each input text, by stream
    output: tuple[str, ...]
    log_probs: tuple[float, ...]  # natural-log probability of each token; empty if not known
    attention: "Mapping[AttentionKey, NDArray[np.floating]]"  # Float[K,S]; S covers the streams of the key, in order
    runners_up: tuple[tuple[Alternative, ...], ...] = ()  # by token, best first; empty if not known
    # Float[K] by origin (`GENERATED`, or the stream that a token is copied from); the shares of a token sum to 1
    shares: Mapping[str, NDArray[np.floating]] = field(default_factory=dict)
    # natural-log probability of each token when a stream is emptied, by that stream
    without: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    losses: NDArray[np.floating] | None = None  # Float[K,W], nats that each token loses without each of W words of src

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Evidence):
            return NotImplemented
        return all(_is_same(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))

    def __hash__(self) -> int:
        return hash((self.output, self.log_probs))

    def __post_init__(self) -> None:
        count = len(self.output)
        if self.log_probs and len(self.log_probs) != count:
            raise ValueError(f"{count} output tokens with {len(self.log_probs)} log-probabilities")
        if self.runners_up and len(self.runners_up) != count:
            raise ValueError(f"{count} output tokens with runners-up of {len(self.runners_up)}")
        for name, log_probs in self.without.items():
            if len(log_probs) != count:
                raise ValueError(f"{count} output tokens, {len(log_probs)} log-probabilities without {name}")
        for name, share in self.shares.items():
            if share.shape != (count,):
                raise ValueError(f"shares {name} have the shape {share.shape}, not ({count},)")
        for key, weights in self.attention.items():
            if not self.streams.keys() >= set(key.streams):
                raise ValueError(f"attention over {key.stream}, but the streams are {', '.join(self.streams)}")
            shape = (count, sum(len(self.streams[name]) for name in key.streams))
            if weights.shape != shape:
                raise ValueError(f"attention {key} has the shape {weights.shape}, not {shape}")
            if not np.allclose(weights.sum(1, dtype=np.float64), 1.0, atol=_TOLERANCE):
                raise ValueError(f"rows of attention {key} do not sum to 1")

    def by_stream(self, key: "AttentionKey") -> dict[str, NDArray[np.floating]]:
        """Return the attention under `key` as Float[K,S] for each of its streams; rows sum to 1 over all of them."""
        ends = np.cumsum([len(self.streams[name]) for name in key.streams])
        return dict(zip(key.streams, np.split(self.attention[key], ends[:-1], axis=1), strict=True))

    def over(self, stream: str) -> NDArray[np.floating] | None:
        """Return the attention Float[K,S] to one stream; None if there is none.

        Rows are scaled to sum to 1, and a row of zeros becomes uniform. Soft attention is preferred to copy attention,
        and copy attention to hard attention.
        """
        keys = [key for kind in _KINDS for key in self.attention if key.kind == kind and stream in key.streams]
        if not keys:
            return None
        weights = np.asarray(self.by_stream(keys[0])[stream], dtype=np.float64)
        totals = weights.sum(1, keepdims=True)
        uniform = np.full_like(weights, 1.0 / max(1, weights.shape[1]))
        return np.where(totals > 0.0, weights / np.where(totals > 0.0, totals, 1.0), uniform)

    def shared_weights(self) -> NDArray[np.float64] | None:
        """Return the share Float[K] of src in a joint attention over src and mt; None if there is no such attention."""
        for key in self.attention:
            if {"src", "mt"} <= set(key.streams):
                return np.asarray(self.by_stream(key)["src"].sum(1, dtype=np.float64))
        return None

    def to_words(self, stream_word_index: Mapping[str, Sequence[int]], output_word_index: Sequence[int]) -> "Evidence":
        """Return the evidence over words instead of tokens.

        Attention is summed over the tokens of an input word and averaged over those of an output word.
        Log-probabilities and losses are summed. The runners-up of a word are those of its least probable token, each
        preceded by the word's tokens before it, and followed by an ellipsis if the word has tokens after it.

        Args:
            stream_word_index: by stream, the number of the word that each token belongs to (`Vocabulary.word_index`); a
                token with a negative number is a word by itself.
            output_word_index: the same for the tokens of the output.

        Raises:
            ValueError: if a word index does not have one number per token.
        """
        streams = {name: _Words(tokens, stream_word_index[name], name) for name, tokens in self.streams.items()}
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
            log_probs=output.sums(self.log_probs) if self.log_probs else (),
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
            others = self.runners_up[least]
            result.append(tuple(Alternative(_text([*before, one.text]) + rest, one.log_prob) for one in others))
        return tuple(result)

    def by_word(self) -> "Evidence":
        """Return the evidence over words instead of tokens; see `word_starts`."""
        streams = {name: word_starts(tokens) for name, tokens in self.streams.items()}
        return self.to_words(streams, word_starts(self.output))


class _Words:
    """Words made of tokens, with their texts and `members` Float[words,tokens], 1 where a token belongs to a word."""

    def __init__(self, tokens: Sequence[str], index: Sequence[int], name: str) -> None:
        if len(index) != len(tokens):
            raise ValueError(f"the word index of {name} has {len(index)} numbers for {len(tokens)} tokens")
        self.positions = list(_groups(index).values())
        self.members = np.zeros((len(self.positions), len(tokens)))
        for row, positions in enumerate(self.positions):
            self.members[row, positions] = 1.0
        self.texts = tuple(_text([tokens[position] for position in positions]) for positions in self.positions)

    def sums(self, values: Sequence[float]) -> tuple[float, ...]:
        """Return, for each word, the sum of the values of its tokens."""
        return tuple(sum(values[position] for position in positions) for positions in self.positions)


def _groups(index: Sequence[int]) -> dict[tuple[int, int], list[int]]:
    """Return the positions of the tokens of each word, in order; a token with a negative number is its own word."""
    groups: dict[tuple[int, int], list[int]] = {}
    for position, word in enumerate(index):
        groups.setdefault((word, position if word < 0 else 0), []).append(position)
    return groups


def special_words(tokens: Sequence[str]) -> frozenset[int]:
    """Return the indices of the words of `Evidence.by_word` that are special tokens."""
    return frozenset(row for row, (word, _) in enumerate(_groups(word_starts(tokens))) if word < 0)


def _text(tokens: Sequence[str]) -> str:
    word = "".join(tokens)
    return word.replace(_SPACE, " ").strip() or word


def word_starts(tokens: Sequence[str]) -> list[int]:
    """Return the number of the word of each token, in rising order; -1 for special tokens, and a space before UNK.

    A word begins at each token with the mark of a space. In running text without spaces, each token is a word, but
    tokens that are parts of one character stay together.
    """
    spaced = list(accumulate(token.startswith(_SPACE) for token in tokens))
    texts: defaultdict[int, str] = defaultdict(str)
    for token, number in zip(tokens, spaced, strict=True):
        if token not in SPECIAL_TOKENS:  # a STEP may stand between any two tokens
            texts[number] += token.replace(_PART, "")
    running = {number for number, text in texts.items() if has_unspaced_run(text)}
    word, index, before = 0, [], ""
    for token, after, number in zip(tokens, [*tokens[1:], ""], spaced):
        is_space = token == _SPACE and after == SPECIAL_TOKENS[UNK]
        if is_space or token in SPECIAL_TOKENS:
            word += is_space
            index.append(-1)
            continue
        goes_on = before == _SPACE or (before.endswith(_PART) and token.startswith(_PART))
        word += (token.startswith(_SPACE) or number in running) and not goes_on
        index.append(word)
        before = token
    return index


def _is_same(one: object, other: object) -> bool:
    """Return whether two values are equal, comparing any arrays in them element by element."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)  # type: ignore[arg-type]
    return bool(one == other)
