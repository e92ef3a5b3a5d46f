"""Attention to keys and values in slots (see `nn.cache`), for causal networks from the Transformers library.

The library's own caches change in place, cannot roll back single rows, and drop keys that have left a sliding window.
Here a cache keeps all keys of all layers, token i of a row in slot i, and a mask says which slots a token attends to.
So layers with and without a window are rolled back, reordered and joined in the same way.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import Tensor, nn

from postedit.core.errors import library
from postedit.core.types import AttentionKey
from postedit.nn.cache import CacheSlots, DecoderCache, DenseKeyValueCache, KeyValue
from postedit.nn.shared_rows import SharedRows
from postedit.nn.tensors import at_least_float

NAME: Final = "postedit-slots"
"""Name under which the attention function is registered with the library."""


def register() -> None:
    """Register the attention function with the library."""
    transformers = library("transformers", "the architecture causal")
    transformers.AttentionInterface.register(NAME, _attend)


@dataclass(eq=False)
class SlotCall:
    """One call of a network: what its attention reads, and what it leaves behind.

    It is passed to the attention function as the argument `call`. The library's own cache argument cannot be used,
    because in training it is dropped by layers that are computed again in the backward pass.
    """

    slots: CacheSlots
    old: DenseKeyValueCache | None  # keys and values of earlier calls; None if there are none
    watched: int  # index of the layer whose attention weights can be computed
    kept: bool = True  # whether keys and values are kept for later calls
    shared: bool = False  # whether a row holds several sequences, whose positions are not their slots
    new: dict[int, KeyValue] = field(default_factory=dict)  # keys and values of each layer after the call, if kept
    weights: Callable[[], Tensor] | None = None  # computes the attention weights Float[N,heads,K,L] of that layer
    _masks: dict[int | None, Tensor | None] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Tensor, cache: DecoderCache, watched: int, *, kept: bool = True) -> "SlotCall":
        """Return a call that reads `rows` Long[N,K] after the tokens in the cache."""
        old = cache.key_values
        assert old is None or isinstance(old, DenseKeyValueCache)
        return cls(cache.next_slots(rows), old, watched, kept)

    @classmethod
    def of_shared(cls, rows: SharedRows, watched: int) -> "SlotCall":
        """Return a call that reads rows of several sequences, and keeps nothing."""
        return cls(CacheSlots(rows.position_RL, rows.mask, ragged=False), None, watched, kept=False, shared=True)

    def run(self, network: Any, rows: Tensor) -> Tensor:
        """Return the features Float[N,K,D] that a causal network computes from `rows` Long[N,K]."""
        # A mask of four dimensions keeps the library from making one; the attention function has its own.
        unused = torch.ones((1, 1, 1, 1), dtype=torch.bool, device=rows.device)
        features: Tensor = network(
            input_ids=rows,
            attention_mask=unused,
            position_ids=self.slots.positions,
            use_cache=False,
            call=self,
        ).last_hidden_state
        return features

    def extended(self, own: KeyValue, layer: int) -> KeyValue:
        """Return the keys and values of all tokens in a layer, with those of the new tokens written to their slots.

        A layer that is computed again in the backward pass gets the same keys and values.
        """
        whole = own if self.old is None else self.old.layers[layer].append(own, self.slots.write)
        if self.kept:
            self.new.setdefault(layer, whole)
        return whole

    def cache_after(self, cache: DecoderCache) -> DecoderCache:
        """Return `cache` after the call."""
        return cache.advanced(DenseKeyValueCache(tuple(self.new.values())), self.slots.positions.size(1))

    def mask(self, window: int | None, length: int) -> Tensor | None:
        """Return Bool[N or 1,1,K,L], True at slots that a token attends to; None: to all slots up to its own."""
        window = None if window is None or window >= length else window
        if window not in self._masks:
            self._masks[window] = self._mask(window, length)
        return self._masks[window]

    def _mask(self, window: int | None, length: int) -> Tensor | None:
        positions, earlier = self.slots.positions, self.slots.mask
        if window is None:
            is_needed = self.shared or self.old is not None
            return earlier.unsqueeze(1) if is_needed and earlier is not None else None
        if self.shared:  # each sequence is contiguous, so slots are as far apart as positions
            positions = torch.arange(length, device=positions.device).unsqueeze(0)
        near = positions.unsqueeze(-1) - torch.arange(length, device=positions.device) < window
        return (near if earlier is None else near & earlier).unsqueeze(1)


class TextAttention(Mapping[AttentionKey, Tensor]):
    """A mapping with one attention matrix, computed on first access, because only evidence needs it."""

    def __init__(self, key: AttentionKey, compute: Callable[[], Tensor]) -> None:
        self._key, self._compute = key, compute
        self._weights: Tensor | None = None

    def __getitem__(self, key: AttentionKey) -> Tensor:
        if key != self._key:
            raise KeyError(key)
        if self._weights is None:
            self._weights = self._compute()
        return self._weights

    def __iter__(self) -> Iterator[AttentionKey]:
        return iter((self._key,))

    def __len__(self) -> int:
        return 1


def _attend(
    module: Any,
    q_NHKE: Tensor,
    k_NGLE: Tensor,
    v_NGLE: Tensor,
    _: Tensor | None,
    *,
    call: SlotCall,
    scaling: float,
    dropout: float = 0.0,
    softcap: float | None = None,
    sliding_window: int | None = None,
    **__: Any,
) -> tuple[Tensor, None]:
    """Return the attention output Float[N,K,H,E]; the library calls this. Each of G groups of heads shares keys.

    The library passes the keys and values of the new tokens; `call` adds those of earlier tokens.
    """
    from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward

    k_NGLE, v_NGLE = call.extended(KeyValue(k_NGLE, v_NGLE), module.layer_idx)
    mask = call.mask(sliding_window, k_NGLE.size(2))

    def weights() -> Tensor:
        k_NHLE = repeat_kv(k_NGLE, q_NHKE.size(1) // k_NGLE.size(1))
        scores = q_NHKE @ k_NHLE.transpose(2, 3) * scaling
        if softcap is not None:
            scores = torch.tanh(scores / softcap) * softcap
        attended = mask
        if attended is None:
            attended = torch.ones(scores.shape[2:], dtype=torch.bool, device=scores.device)
            attended = attended.tril(scores.size(3) - scores.size(2))
        scores = scores.masked_fill(~attended, -torch.inf)
        return scores.softmax(-1, dtype=at_least_float(scores.dtype)).to(scores.dtype)

    if call.kept and call.weights is None and module.layer_idx == call.watched:
        call.weights = weights
    if softcap is None:
        return sdpa_attention_forward(module, q_NHKE, k_NGLE, v_NGLE, mask, dropout, scaling)
    v_NHLE = repeat_kv(v_NGLE, q_NHKE.size(1) // v_NGLE.size(1))
    output = nn.functional.dropout(weights(), dropout) @ v_NHLE
    return output.transpose(1, 2).contiguous(), None
