"""A paged cache agrees with a dense cache however rows join, leave, are reordered or rolled back."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from postedit.nn.cache import DecoderCache, DenseKeyValueCache, KeyValue
from postedit.nn.int8.paged_cache import PAGE_BITS, PagedKeyValueCache
from postedit.nn.tensors import Packing

LAYERS = 2


def page(tokens_M: Tensor) -> Tensor:
    return torch.stack([torch.stack([tokens_M, -tokens_M], 1).double() * (layer + 1) for layer in range(LAYERS)])


def both(tokens_NK: Tensor) -> tuple[DenseKeyValueCache, PagedKeyValueCache]:
    """Return what is kept of tokens, whose keys are themselves and whose values are less than nothing."""
    first = KeyValue(tokens_NK[:, None, :, None].double(), -tokens_NK[:, None, :, None].double())
    dense = DenseKeyValueCache(tuple(KeyValue(*(part * (layer + 1) for part in first)) for layer in range(LAYERS)))
    return dense, PagedKeyValueCache(
        (page(tokens_NK.flatten()),), torch.arange(1, tokens_NK.numel() + 1).view_as(tokens_NK)
    )


def written(kept: PagedKeyValueCache) -> Tensor:
    """Return Float[L,N,S,2], keys and values of slots; zeros where there is no token."""
    found = torch.zeros(LAYERS, *kept.slots_NS.shape, 2, dtype=torch.double)
    for number, one in enumerate(kept.pages):
        here = (kept.slots_NS > 0) & (kept.slots_NS >> PAGE_BITS == number)
        found[:, here] = one[:, (kept.slots_NS[here] & (2**PAGE_BITS - 1)) - 1]
    return found


@given(st.data())
def test_paged_and_dense_caches_agree_after_any_operations(data: st.DataObject) -> None:
    new = iter(range(1, 10**6))
    dense = pages = DecoderCache()
    older: list[tuple[PagedKeyValueCache, Tensor]] = []
    rows = data.draw(st.integers(1, 4), "rows")
    for _ in range(data.draw(st.integers(1, 8), "calls")):
        count = data.draw(st.integers(1, 4), "tokens")
        tokens = torch.tensor([[next(new) for _ in range(count)] for _ in range(rows)])
        slots, kept = dense.next_slots(tokens), both(tokens)
        past, grown = dense.key_values, kept[0]
        if past is not None:
            assert isinstance(past, DenseKeyValueCache)
            layers = zip(past.layers, kept[0].layers, strict=True)
            grown = DenseKeyValueCache(tuple(layer.append(new, slots.write) for layer, new in layers))
        dense = dense.advanced(grown, count)
        pages_before, page = pages.key_values, kept[1]
        if pages_before is not None:
            assert isinstance(pages_before, PagedKeyValueCache)
            page = pages_before.append(page, slots.write)
        pages = pages.advanced(page, count)
        what = data.draw(st.sampled_from(["go on", "roll back", "select", "join"]))
        if what == "roll back":
            keep = torch.tensor(data.draw(st.lists(st.integers(0, count), min_size=rows, max_size=rows)))
            dense, pages = dense.rollback(keep), pages.rollback(keep)
        elif what == "select":
            order = torch.tensor(data.draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=5)))
            dense, pages, rows = dense.select(order), pages.select(order), len(order)
        elif what == "join":
            read = data.draw(st.integers(0, 3), "tokens of those that join")
            others = DecoderCache(), DecoderCache()
            if read:
                tokens = torch.tensor([[next(new) for _ in range(read)] for _ in range(2)])
                others = tuple(one.advanced(kept, read) for one, kept in zip(others, both(tokens), strict=True))
            counts, device = (rows, 2), tokens.device
            if data.draw(st.booleans(), "behind"):
                dense, pages = (one.join(other, counts, device) for one, other in zip((dense, pages), others))
            else:
                dense, pages = (other.join(one, counts[::-1], device) for one, other in zip((dense, pages), others))
            rows += 2
        assert isinstance(dense.key_values, DenseKeyValueCache)
        assert isinstance(pages.key_values, PagedKeyValueCache)
        expected = torch.stack([torch.cat([part[:, 0] for part in layer], -1) for layer in dense.key_values.layers])
        assert torch.equal(written(pages.key_values), expected)
        older.append((pages.key_values, expected))
    for one, expected in older:
        assert torch.equal(written(one), expected)


def test_pages_are_shared_and_forgotten_when_nobody_needs_them() -> None:
    (_, first), (_, second) = both(torch.tensor([[1, 2], [3, 4]])), both(torch.tensor([[5, 6, 7]]))
    joined = first.join(second)
    assert [id(one) for one in joined.pages] == [id(first.pages[0]), id(second.pages[0])]
    assert written(joined)[0, :, :, 0].tolist() == [[1, 2, 0], [3, 4, 0], [5, 6, 7]]
    last = joined.select(torch.tensor([2, 2]))
    assert [id(one) for one in last.pages] == [id(second.pages[0])]
    assert written(last)[0, :, :, 0].tolist() == [[5, 6, 7], [5, 6, 7]]
    assert joined.select(torch.tensor([1, 0])).pages == joined.pages[:1]


def test_rows_before_their_first_token_have_no_page() -> None:
    _, kept = both(torch.tensor([[1, 2]]))
    nothing = kept.empty(3)
    assert nothing.slots_NS.shape == (3, 0)
    assert not nothing.addresses().size
    assert written(nothing.join(kept))[0, :, :, 0].tolist() == [[0, 0]] * 3 + [[1, 2]]
    assert nothing.select(torch.tensor([0])).pages == ()


def test_a_blank_page_has_places_for_the_real_tokens_of_every_layer() -> None:
    packing = Packing.of(torch.tensor([[True, False, True], [False, True, False]]))
    kept = PagedKeyValueCache.allocate(3, 8, (2, 3), packing)
    assert kept.slots_NS.tolist() == [[1, 0, 2], [0, 3, 0]]
    assert kept.pages[0].shape == (3, 3, 8)
    assert PagedKeyValueCache.allocate(1, 8, (2, 3)).slots_NS.tolist() == [[1, 2, 3], [4, 5, 6]]
    ((start,), (way,)) = kept.addresses().tolist()
    assert start + way == kept.pages[0][1].data_ptr()
    assert PagedKeyValueCache.allocate(1, 8, (2, 3)).addresses()[1].tolist() == [0]
