"""Work on segments in batches: of similar length, within a token budget, and smaller where memory runs out."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

import numpy as np
import torch

from postedit.data.collate import length_batches

_log = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")

# Messages of the CPU's allocator and of cuBLAS for lack of memory; PyTorch has no type for these.
_OUT_OF_MEMORY: Final = ("DefaultCPUAllocator", "CUBLAS_STATUS_ALLOC_FAILED")


def in_batches(
    items: Sequence[Item], lengths: Sequence[int], budget: int, work: Callable[[list[Item]], Iterable[Result]]
) -> list[Result | None]:
    """Return the result of `work` for each item, in order; None for an item that does not fit into memory even alone.

    A batch that does not fit into memory is halved, and so are all later batches of more than half its size. `lengths`
    are the tokens of each item; `budget` limits the items x longest length of a batch, except that a longer item is a
    batch by itself. `work` receives the items of a batch, the longest first.
    """
    results: list[Result | None] = [None] * len(items)
    waiting = [batch.tolist() for batch in reversed(length_batches(np.asarray(lengths, dtype=np.int64), budget))]
    ceiling: int | None = None
    while waiting:
        rows = waiting.pop()
        cost = len(rows) * max(lengths[row] for row in rows)
        halves = [rows[len(rows) // 2 :], rows[: len(rows) // 2]]  # the last one is popped next
        if len(rows) > 1 and ceiling is not None and cost > ceiling:
            waiting += halves
            continue
        found = _unless_memory_ends(work, [items[row] for row in rows])
        if found is not None:
            for row, result in zip(rows, found, strict=True):
                results[row] = result
        elif len(rows) > 1:
            ceiling = cost // 2
            _log.warning("out of memory with %d tokens in a batch; going on with %d", cost, ceiling)
            waiting += halves
    return results


def _unless_memory_ends(work: Callable[[list[Item]], Iterable[Result]], items: list[Item]) -> list[Result] | None:
    try:
        return list(work(items))
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
    # Not inside the except block, where the error still holds references to tensors.
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.empty_cache()
    return None


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error reports that the CPU or another device has run out of memory."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _OUT_OF_MEMORY)
