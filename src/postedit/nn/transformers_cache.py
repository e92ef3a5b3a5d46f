"""Decoders of the Transformers library: what they have read, as a value.

The library's caches grow in whole columns, one for all rows, and know no row-wise rollback. So the cache here is cut
back to the columns that all rows share, and what longer rows have beyond them is read again with the next tokens.
That costs nothing while rows are equally long, and is right for any network whose decoder looks back only. Rows that
join others share no columns with them, so all is read again.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from postedit.nn.attention import KeyValue
from postedit.nn.packing import join_rows


@dataclass(frozen=True, eq=False, slots=True)
class Pending:
    """What a network reads in one call.

    Args:
        layers: keys and values of the columns that it need not read again.
        tokens: Long[N,W], the tokens of the next columns; what stands behind the new ones of a row is of no account.
        rest: Long[N], how many columns of each row come before its new tokens; None if there are none in any row.
        count: K, how many of the tokens are new.
        grown: all that is decoded after the call, but for its layers.
    """

    layers: tuple[KeyValue, ...]
    tokens: Tensor
    rest: Tensor | None
    count: int
    grown: "Past"

    def select_new(self, values: Tensor) -> Tensor:
        """Return [N,K,...] of [N,W,...]: at the new tokens of each row."""
        if self.rest is None:
            return values
        columns = self.rest.unsqueeze(1) + torch.arange(self.count, device=values.device)
        return values.gather(1, columns.unsqueeze(-1).expand(-1, -1, values.size(-1)))

    def after(self, layers: tuple[KeyValue, ...], lead: int) -> "Past":
        """Return what was read when the call left `layers`, the first `lead` new columns of them being no tokens."""
        return replace(self.grown, layers=layers, lead=self.grown.lead + lead)


@dataclass(frozen=True, eq=False, slots=True)
class Past:
    """The tokens decoded so far.

    Args:
        layers: keys and values of the first columns, empty if none are kept.
        lead: how many of these columns come before the first token.
        tokens: Long[N,L], all tokens.
        lengths: Long[N], how many of them each row has; None if all have L. What is behind them is stale.
        last: K of the last call, the furthest a rollback may go.
    """

    layers: tuple[KeyValue, ...] = ()
    lead: int = 0
    tokens: Tensor | None = None
    lengths: Tensor | None = None
    last: int = 0

    def pending(self, tokens: Tensor) -> Pending:
        """Return what a network reads to decode `tokens` Long[N,K]."""
        count = tokens.size(1)
        if self.tokens is None:
            return Pending((), tokens, None, count, Past(tokens=tokens, last=count))
        grown = replace(self, layers=(), tokens=self._with(tokens), lengths=self._plus(count), last=count)
        held = self.tokens.size(1)
        shared = 0 if not self.layers else held if self.lengths is None else int(self.lengths.min())
        layers = tuple(KeyValue(*(part[:, :, : self.lead + shared] for part in layer)) for layer in self.layers)
        if self.lengths is None and shared == held:
            return Pending(layers, tokens, None, count, grown)
        lengths = tokens.new_full((len(tokens),), held) if self.lengths is None else self.lengths
        assert grown.tokens is not None
        return Pending(layers, grown.tokens[:, shared:], lengths - shared, count, grown)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return replace(
            self,
            layers=tuple(KeyValue(layer.k_NHSE[rows], layer.v_NHSE[rows]) for layer in self.layers),
            tokens=None if self.tokens is None else self.tokens[rows],
            lengths=None if self.lengths is None else self.lengths[rows],
        )

    def rollback(self, keep: Tensor) -> Self:
        """Return what there was after only the first `keep` Long[N] tokens of the last call, row by row."""
        if self.tokens is None:
            return self
        lengths = keep - self.last + (self.tokens.size(1) if self.lengths is None else self.lengths)
        longest = int(lengths.max())
        equal = bool((lengths == longest).all())
        return replace(self, tokens=self.tokens[:, :longest], lengths=None if equal else lengths, last=0)

    def join(self, other: Self, counts: tuple[int, int]) -> Self:
        """Return the rows of both, `counts` of them, whose tokens will all be read again."""
        held = [part.tokens if part.tokens is not None else None for part in (self, other)]
        if held[0] is None and held[1] is None:
            return self
        device = next(tokens.device for tokens in held if tokens is not None)
        parts = [
            torch.empty((count, 0), dtype=torch.long, device=device) if tokens is None else tokens
            for tokens, count in zip(held, counts, strict=True)
        ]
        lengths = [
            torch.full((count,), tokens.size(1), device=device) if past.lengths is None else past.lengths
            for past, tokens, count in zip((self, other), parts, counts, strict=True)
        ]
        return type(self)(tokens=join_rows(*parts), lengths=torch.cat(lengths))

    def _with(self, tokens: Tensor) -> Tensor:
        """Return all tokens with `tokens` Long[N,K] after them, row by row."""
        assert self.tokens is not None
        if self.lengths is None:
            return torch.cat([self.tokens, tokens], 1)
        longest = int(self.lengths.max())
        places = self.lengths.unsqueeze(1) + torch.arange(tokens.size(1), device=tokens.device)
        return torch.cat([self.tokens[:, :longest], torch.zeros_like(tokens)], 1).scatter(1, places, tokens)

    def _plus(self, count: int) -> Tensor | None:
        return None if self.lengths is None else self.lengths + count


def to_library(own: tuple[KeyValue, ...], cross: tuple[KeyValue, ...]) -> Any:
    """Return the library's cache of self-attention and of attention to the encoder, which it will not change."""
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
    """Return the layers of both parts of the library's cache."""
    own, cross = (
        tuple(KeyValue(layer.keys, layer.values) for layer in part.layers)
        for part in (cache.self_attention_cache, cache.cross_attention_cache)
    )
    return own, cross
