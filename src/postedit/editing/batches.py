"""Work on a window of segments in batches: of like length, within a token budget, and as small as memory demands."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

import numpy as np
import torch

from postedit.data.collate import length_batches

_log = logging.getLogger(__name__)

Result = TypeVar("Result")

# How the CPU's allocator and cuBLAS say that there is no memory; PyTorch has no type for these.
_OUT_OF_MEMORY: Final = ("DefaultCPUAllocator", "CUBLAS_STATUS_ALLOC_FAILED")


def in_batches(
    lengths: Sequence[int], budget: int, work: Callable[[list[int]], Iterable[Result]]
) -> list[Result | None]:
    """Do `work` on all rows of a window, and return what it makes of each, in order.

    When a batch does not fit into memory, it is done in halves, and so are all later ones that are as large.

    Args:
        lengths: pieces of the longest text of each row.
        budget: rows x pieces of a batch; a single longer row is a batch, too.
        work: takes numbers of rows, longest first, and returns one result for each of them.

    Returns:
        A result for each row; None for a row that does not even fit alone.
    """
    results: list[Result | None] = [None] * len(lengths)
    waiting = [batch.tolist() for batch in reversed(length_batches(np.asarray(lengths, dtype=np.int64), budget))]
    ceiling: int | None = None
    while waiting:
        rows = waiting.pop()
        cost = len(rows) * max(lengths[row] for row in rows)
        if len(rows) > 1 and ceiling is not None and cost > ceiling:
            waiting += _halves(rows)
            continue
        found = _unless_memory_ends(work, rows)
        if found is not None:
            for row, result in zip(rows, found, strict=True):
                results[row] = result
        elif len(rows) > 1:
            ceiling = cost // 2
            _log.warning("out of memory with %d pieces in a batch; going on with %d", cost, ceiling)
            waiting += _halves(rows)
    return results


def _halves(rows: list[int]) -> list[list[int]]:
    """Return both halves, the first one last: it is taken next."""
    middle = len(rows) // 2
    return [rows[middle:], rows[:middle]]


def _unless_memory_ends(work: Callable[[list[int]], Iterable[Result]], rows: list[int]) -> list[Result] | None:
    """Return the work on `rows`, or None if memory does not suffice, once what it took is free again."""
    try:
        return list(work(rows))
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
    # Out of the except block, whose error holds on to the tensors.
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.empty_cache()
    return None


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory, of a device or of the CPU, does not suffice."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _OUT_OF_MEMORY)
