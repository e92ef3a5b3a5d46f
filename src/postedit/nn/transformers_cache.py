"""The decoder cache of a network from the Transformers library, as an immutable value.

The library's caches grow by whole columns, one for all rows, and have no row-wise rollback. This cache is therefore cut
back to the columns that all rows share; the tokens that longer rows have beyond them are decoded again with the next
call. That costs nothing while rows have equal lengths, and is correct for any causal decoder. Rows that join others
share no columns with them, so all their tokens are decoded again.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import torch
from torch import Tensor

from postedit.nn.cache import KeyValue
from postedit.nn.tensors import join_rows


@dataclass(frozen=True, eq=False, slots=True)
class DecoderInput:
    """The input of one decoder call."""

    layers: tuple[KeyValue, ...]  # cached keys and values, of the columns that need not be decoded again
    tokens: Tensor  # Long[N,W], the tokens of the next columns; tokens after the new ones of a row are ignored
    offsets: Tensor | None  # Long[N], the number of columns before the new tokens of each row; None: 0 in every row
    count: int  # K, the number of new tokens
    cache: "TransformersCache"  # the cache after the call, without the new `layers`

    def select_new(self, values: Tensor) -> Tensor:
        """Return the part of `values` [N,W,...] at the new tokens of each row, [N,K,...]."""
        if self.offsets is None:
            return values
        columns = self.offsets.unsqueeze(1) + torch.arange(self.count, device=values.device)
        return values.gather(1, columns.unsqueeze(-1).expand(-1, -1, values.size(-1)))

    def cache_after(self, layers: tuple[KeyValue, ...], prefix: int) -> "TransformersCache":
        """Return the cache after the call returned `layers`, whose first `prefix` new columns hold no tokens."""
        return replace(self.cache, layers=layers, prefix=self.cache.prefix + prefix)


@dataclass(frozen=True, eq=False, slots=True)
class TransformersCache:
    """The tokens decoded so far, with keys and values of the columns that all rows share."""

    layers: tuple[KeyValue, ...] = ()  # keys and values of the first columns; empty if there are none
    prefix: int = 0  # the number of these columns that come before the first token
    tokens: Tensor | None = None  # Long[N,L], all tokens
    lengths: Tensor | None = None  # Long[N], number of tokens in each row; later ones are stale; None: L in every row
    last: int = 0  # the most tokens that a rollback can remove: K of the last call

    def next_input(self, tokens: Tensor) -> DecoderInput:
        """Return the decoder input for the next `tokens` Long[N,K]."""
        count = tokens.size(1)
        if self.tokens is None:
            return DecoderInput((), tokens, None, count, TransformersCache(tokens=tokens, last=count))
        lengths = None if self.lengths is None else self.lengths + count
        grown = replace(self, layers=(), tokens=self._append(tokens), lengths=lengths, last=count)
        length = self.tokens.size(1)
        shared = 0 if not self.layers else length if self.lengths is None else int(self.lengths.min())
        layers = tuple(KeyValue(*(part[:, :, : self.prefix + shared] for part in layer)) for layer in self.layers)
        if self.lengths is None and shared == length:
            return DecoderInput(layers, tokens, None, count, grown)
        lengths = tokens.new_full((len(tokens),), length) if self.lengths is None else self.lengths
        assert grown.tokens is not None
        return DecoderInput(layers, grown.tokens[:, shared:], lengths - shared, count, grown)

    def select(self, rows: Tensor) -> Self:
        """Return the rows with indices `rows` Long[M], in that order."""
        return replace(
            self,
            layers=tuple(KeyValue(layer.k_NHSE[rows], layer.v_NHSE[rows]) for layer in self.layers),
            tokens=None if self.tokens is None else self.tokens[rows],
            lengths=None if self.lengths is None else self.lengths[rows],
        )

    def rollback(self, keep: Tensor) -> Self:
        """Return the cache after only the first `keep` Long[N] tokens of each row in the last call."""
        if self.tokens is None:
            return self
        lengths = keep - self.last + (self.tokens.size(1) if self.lengths is None else self.lengths)
        longest = int(lengths.max())
        equal = bool((lengths == longest).all())
        return replace(self, tokens=self.tokens[:, :longest], lengths=None if equal else lengths, last=0)

    def join(self, other: Self, counts: tuple[int, int], device: torch.device) -> Self:
        """Return the rows of both caches, those of `other` last; all tokens will be decoded again.

        `counts` holds the number of rows of each.
        """
        if self.tokens is None and other.tokens is None:
            return self
        parts = [
            torch.empty((count, 0), dtype=torch.long, device=device) if cache.tokens is None else cache.tokens
            for cache, count in zip((self, other), counts, strict=True)
        ]
        lengths = [
            torch.full((count,), tokens.size(1), device=device) if cache.lengths is None else cache.lengths
            for cache, tokens, count in zip((self, other), parts, counts, strict=True)
        ]
        return type(self)(tokens=join_rows(*parts), lengths=torch.cat(lengths))

    def _append(self, tokens: Tensor) -> Tensor:
        """Return all tokens with `tokens` Long[N,K] after those of each row."""
        assert self.tokens is not None
        if self.lengths is None:
            return torch.cat([self.tokens, tokens], 1)
        longest = int(self.lengths.max())
        columns = self.lengths.unsqueeze(1) + torch.arange(tokens.size(1), device=tokens.device)
        return torch.cat([self.tokens[:, :longest], torch.zeros_like(tokens)], 1).scatter(1, columns, tokens)


def cache_name() -> str:
    """Return the library's name of its cache, as an argument and in outputs; it was renamed in version 5.24."""
    from transformers.modeling_outputs import Seq2SeqLMOutput

    return "cache" if any(field.name == "cache" for field in fields(Seq2SeqLMOutput)) else "past_key_values"


def to_library(own: tuple[KeyValue, ...], cross: tuple[KeyValue, ...]) -> Any:
    """Return a cache of the library with these keys and values, which the library does not change in place."""
    from transformers import DynamicCache, EncoderDecoderCache
    from transformers.cache_utils import DynamicLayer

    caches = []
    for layers in (own, cross):
        cache = DynamicCache()
        for keys, values in layers:
            layer = DynamicLayer()  # type: ignore[no-untyped-call]  # the library does not type it
            layer.lazy_initialization(keys, values)
            layer.keys, layer.values = keys, values  # `update` would copy them
            cache.layers.append(layer)
        caches.append(cache)
    return EncoderDecoderCache(*caches)


def from_library(cache: Any) -> tuple[tuple[KeyValue, ...], tuple[KeyValue, ...]]:
    """Return the keys and values in the library's cache, layer by layer: of self-attention, and of cross-attention."""
    own, cross = (
        tuple(KeyValue(layer.keys, layer.values) for layer in part.layers)
        for part in (cache.self_attention_cache, cache.cross_attention_cache)
    )
    return own, cross
