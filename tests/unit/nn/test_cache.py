"""The cache of a decoder: tokens stand at their own slots, whatever was rolled back."""

import pytest
import torch
from torch import Tensor

from postedit.nn.cache import DecoderCache, DenseKeyValueCache, KeyValue


def call(cache: DecoderCache, tokens: list[list[int]]) -> tuple[DecoderCache, Tensor, Tensor | None]:
    """Decode with one layer whose keys and values are the tokens; return the cache, positions and mask."""
    ids = torch.tensor(tokens)
    slots = cache.next_slots(ids)
    new = KeyValue(ids[:, None, :, None].double(), -ids[:, None, :, None].double())
    layer = new if cache.key_values is None else held(cache).append(new, slots.write)
    return cache.advanced(DenseKeyValueCache((layer,)), ids.size(1)), slots.positions, slots.mask


def held(cache: DecoderCache) -> KeyValue:
    assert isinstance(cache.key_values, DenseKeyValueCache)
    return cache.key_values.layers[0]


def seen(cache: DecoderCache, mask: Tensor | None) -> list[list[int]]:
    """Return, for each row, the tokens that its last query sees."""
    keys = held(cache).k_NHSE[:, 0, :, 0].long()
    assert torch.equal(keys, -held(cache).v_NHSE[:, 0, :, 0].long())
    if mask is None:
        return keys.tolist()
    last = mask[:, -1].expand(keys.size(0), -1)
    return [row[allowed].tolist() for row, allowed in zip(keys, last)]


def test_rows_of_equal_length_append_and_a_single_token_needs_no_mask() -> None:
    cache, positions, mask = call(DecoderCache(), [[1, 2], [3, 4]])
    assert positions.tolist() == [[0, 1]]
    assert mask is not None
    assert mask.tolist() == [[[True, False], [True, True]]]
    cache, positions, mask = call(cache, [[5], [6]])
    assert positions.tolist() == [[2]]
    assert mask is None
    assert seen(cache, mask) == [[1, 2, 5], [3, 4, 6]]


def test_ragged_rollback_then_decode_writes_each_row_at_its_own_slots() -> None:
    cache, _, _ = call(DecoderCache(), [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    cache = cache.rollback(torch.tensor([0, 3, 1]))
    assert cache.length is None
    assert cache.lengths is not None
    assert cache.lengths.tolist() == [0, 3, 1]
    cache, positions, mask = call(cache, [[10, 11], [12, 13], [14, 15]])
    assert positions.tolist() == [[0, 1], [3, 4], [1, 2]]
    assert seen(cache, mask) == [[10, 11], [4, 5, 6, 12, 13], [7, 14, 15]]
    cache, _, mask = call(cache, [[16], [17], [18]])
    assert seen(cache, mask) == [[10, 11, 16], [4, 5, 6, 12, 13, 17], [7, 14, 15, 18]]


@pytest.mark.parametrize("keep", [0, 2])
def test_rollback_to_one_length_leaves_rows_of_equal_length(keep: int) -> None:
    cache, _, _ = call(DecoderCache(), [[1], [2]])
    cache, _, _ = call(cache, [[3, 4], [5, 6]])
    cache = cache.rollback(torch.tensor([keep, keep]))
    assert (cache.length, cache.lengths) == (1 + keep, None)
    assert held(cache).k_NHSE.size(2) == 1 + keep
    cache, _, mask = call(cache, [[7], [8]])
    assert seen(cache, mask) == [[*[1, 3, 4][: 1 + keep], 7], [*[2, 5, 6][: 1 + keep], 8]]


def test_rows_that_become_equally_long_again_are_a_plain_cache_again() -> None:
    cache, _, _ = call(DecoderCache(), [[1, 2], [3, 4]])
    cache, _, _ = call(cache.rollback(torch.tensor([1, 2])), [[5, 6], [7, 8]])
    cache = cache.rollback(torch.tensor([2, 1]))
    assert (cache.length, cache.lengths) == (3, None)
    cache, _, mask = call(cache, [[9], [10]])
    assert mask is None
    assert seen(cache, mask) == [[1, 5, 6, 9], [3, 4, 7, 10]]


@pytest.mark.parametrize("keep", [[2, 2], [1, 2]], ids=["equal", "ragged"])
def test_what_was_rolled_back_or_joined_is_not_rolled_back_again(keep: list[int]) -> None:
    cache, _, _ = call(DecoderCache(), [[1, 2, 3], [4, 5, 6]])
    kept = cache.rollback(torch.tensor(keep))
    equal, different = (cache.join(other, (2, 2), torch.device("cpu")) for other in (cache, kept))
    for one, lengths in ((kept, keep), (equal, [3] * 4), (different, [3, 3, *keep])):
        again = one.rollback(torch.zeros(len(lengths), dtype=torch.long))
        found = [again.length] * len(lengths) if again.lengths is None else again.lengths.tolist()
        assert found == lengths


def test_slots_that_no_token_has_yet_hold_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention to them is 0, and 0 times the rubbish in fresh memory could be NaN."""
    cache, _, _ = call(DecoderCache(), [[1, 2], [3, 4]])
    monkeypatch.setattr(torch.Tensor, "new_empty", lambda self, *shape: self.new_full(shape, torch.nan))
    cache, _, _ = call(cache.rollback(torch.tensor([0, 2])), [[5], [6]])
    assert held(cache).k_NHSE.isfinite().all()
