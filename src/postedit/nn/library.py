"""Decoders of the Transformers library: what they have read, as a value.

The library's caches grow in whole columns, one for all rows, and know no row-wise rollback. So the cache here is cut
back to the columns that all rows share, and what longer rows have beyond them is read again with the next tokens.
That costs nothing while rows are equally long, and is right for any network whose decoder looks back only.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from postedit.nn.attention import KeyValue


@dataclass(frozen=True, eq=False, slots=True)
class Pending:
    """What a network reads in one call.

    Args:
        layers: keys and values of the columns that it need not read again.
        columns: how many those are.
        tokens: Long[N,W], the tokens of the next columns; what stands behind the new ones of a row is of no account.
        rest: Long[N], how many columns of each row come before its new tokens; None if there are none in any row.
        count: K, how many of the tokens are new.
    """

    layers: tuple[KeyValue, ...]
    columns: int
    tokens: Tensor
    rest: Tensor | None
    count: int

    def select_new(self, values: Tensor) -> Tensor:
        """Return [N,K,...] of [N,W,...]: at the new tokens of each row."""
        if self.rest is None:
            return values
        columns = self.rest.unsqueeze(1) + torch.arange(self.count, device=values.device)
        return values.gather(1, columns.unsqueeze(-1).expand(-1, -1, values.size(-1)))

    def after(self, layers: tuple[KeyValue, ...], lead: int) -> "Past":
        """Return what was read when the call left `layers`, the first `lead` new columns of them being no tokens."""
        lengths = None if self.rest is None else self.rest + self.count
        return Past(layers, self.columns + lead, self.tokens, lengths, self.count)


@dataclass(frozen=True, eq=False, slots=True)
class Past:
    """The tokens decoded so far.

    Args:
        layers: keys and values of all columns, empty before the first call.
        columns: how many of them come before the tail.
        tail: Long[N,W], the tokens of the last columns.
        lengths: Long[N], how many of the tail each row has; None if all have W. What is behind them is stale.
        last: K of the last call, the furthest a rollback may go.
    """

    layers: tuple[KeyValue, ...] = ()
    columns: int = 0
    tail: Tensor | None = None
    lengths: Tensor | None = None
    last: int = 0

    def pending(self, tokens: Tensor) -> Pending:
        """Return what a network reads to decode `tokens` Long[N,K]."""
        count = tokens.size(1)
        if self.tail is None:
            return Pending((), 0, tokens, None, count)
        shared = self.tail.size(1) if self.lengths is None else int(self.lengths.min())
        columns = self.columns + shared
        layers = tuple(KeyValue(*(part[:, :, :columns] for part in layer)) for layer in self.layers)
        if self.lengths is None:
            return Pending(layers, columns, tokens, None, count)
        rest = self.lengths - shared
        again = self.tail[:, shared : shared + int(rest.max())]
        places = rest.unsqueeze(1) + torch.arange(count, device=tokens.device)
        tokens = torch.cat([again, torch.zeros_like(tokens)], 1).scatter(1, places, tokens)
        return Pending(layers, columns, tokens, rest, count)

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return replace(
            self,
            layers=tuple(KeyValue(layer.k_NHSE[rows], layer.v_NHSE[rows]) for layer in self.layers),
            tail=None if self.tail is None else self.tail[rows],
            lengths=None if self.lengths is None else self.lengths[rows],
        )

    def rollback(self, keep: Tensor) -> Self:
        """Return what there was after only the first `keep` Long[N] tokens of the last call, row by row."""
        if self.tail is None:
            return self
        lengths = keep - self.last + (self.tail.size(1) if self.lengths is None else self.lengths)
        longest = int(lengths.max())
        equal = bool((lengths == longest).all())
        return replace(self, tail=self.tail[:, :longest], lengths=None if equal else lengths, last=0)


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
