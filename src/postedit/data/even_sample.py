"""Some of very many triplets, evenly spread over all of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from postedit.data.compression import raw_lines
from postedit.data.triplets import TripletFiles

Item = TypeVar("Item")


def count_lines(files: TripletFiles | Sequence[TripletFiles]) -> int:
    """Return how many lines there are, without a look into them: about as many as triplets.

    Raises:
        DataError: if a file cannot be read.
    """
    sources = [files] if isinstance(files, TripletFiles) else files
    return sum(1 for source in sources for _ in raw_lines(source.paths[0]))


def spread(items: Iterable[Item], total: int, wanted: int) -> Iterator[Item]:
    """Yield `wanted` of `total` items in their order, as evenly as can be; all if there are no more than wanted.

    Nothing is kept in memory, and the same items are chosen each time. Of items after the first `total`, there are
    just as many in proportion.
    """
    for number, item in enumerate(items):
        if total <= wanted or (number + 1) * wanted // total > number * wanted // total:
            yield item
