"""Search for corrections of a project similar to a segment, by an index that follows the memory."""

import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from postedit.adapt.correction_memory import CorrectionMemory, MemoryPosition
from postedit.adapt.nearest import Near, NearestTriplets
from postedit.core.errors import OutputError

_MOST: Final = 5
"""Maximum number of matches per segment."""

_LEAST: Final = 0.5
"""Lowest similarity of a match; less similar corrections do not help."""

_MOST_PROJECTS: Final = 8
"""Projects whose indexes are kept; the least recently used are dropped."""

_AT_ONCE: Final = 1000
"""Maximum number of entries that an index reads while a request waits; more are read in a separate thread."""

_PATIENCE: Final = 1.0
"""Seconds that a request waits for an index, at most; after that, it gets no matches."""


class CorrectionMatches:
    """The corrections of a database, found by similarity.

    The index of a project is built at the first search, and then updated at each search. If that takes long, a single
    thread builds one index at a time, and there are no matches until it is built.

    Args:
        memory: the memory with the corrections.
    """

    def __init__(self, memory: CorrectionMemory) -> None:
        self._memory, self._lock = memory, threading.Lock()
        self._indexes: OrderedDict[str, _Index] = OrderedDict()
        self._builder = ThreadPoolExecutor(1, "matches")

    def close(self) -> None:
        """Drop all indexes, including those that are being built."""
        for project in [*self._indexes]:
            self._drop(project)
        self._builder.shutdown(cancel_futures=True)

    def drop_deleted(self) -> None:
        """Drop the indexes with corrections that any process has deleted; if the database is away, drop all."""
        with self._lock:
            indexes = [*self._indexes.items()]
        for project, index in indexes:
            try:
                is_deleted = index.is_of_another(self._memory.of(project))
            except OutputError:
                is_deleted = True
            if is_deleted:
                self._drop(project)

    def find(self, project: str, src: str, mt: str, without: int | None = None) -> list[dict[str, Any]]:
        """Return the corrections of a project most similar to a segment, as the API gives them, best first.

        Args:
            project: id of the project.
            src: source of the segment.
            mt: machine translation of the segment; may be empty.
            without: number of the correction learnt from the segment itself, which is left out; None: none was.

        Raises:
            OutputError: if the corrections cannot be read.
        """
        memory = self._memory.of(project)
        index = self._index(project)
        if index.entries_behind(memory) > _AT_ONCE and not self._is_made(index, memory):
            return []
        scale = 1 if mt.strip() else 2  # similarity is the mean of both sides; without mt, only the source counts
        near = [one for one in index.find(memory, src, mt, _LEAST / scale) if one.number != without][:_MOST]
        corrections = memory.by_number(one.number for one in near)
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for number, similarity in near:
            one = corrections.get(number)
            if one is not None:  # None: deleted meanwhile
                values = {
                    "src": one.src,
                    "mt": one.mt,
                    "target": one.pe,
                    "score": scale * similarity,
                    "origin": "correction",
                }
                found.setdefault((one.src, one.pe), {**values, "author": one.author, "number": number})
        return list(found.values())

    def _index(self, project: str) -> "_Index":
        with self._lock:
            index = self._indexes.setdefault(project, _Index())
            self._indexes.move_to_end(project)
            if len(self._indexes) > _MOST_PROJECTS:
                self._indexes.popitem(last=False)[1].is_dropped = True
            return index

    def _drop(self, project: str) -> None:
        with self._lock:
            index = self._indexes.pop(project, None)
        if index is not None:
            index.is_dropped = True

    def _is_made(self, index: "_Index", memory: CorrectionMemory) -> bool:
        """Have the builder thread bring an index up to date; return whether that is done within `_PATIENCE`."""
        with self._lock:
            if index.making is None or index.making.done():
                index.making = self._builder.submit(index.follow, memory)
            making = index.making
        try:
            making.result(_PATIENCE)
        except TimeoutError:
            return False
        return True


class _Index:
    """The index of the corrections of one project."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nearest, self._position = NearestTriplets(), MemoryPosition(0, 0)
        self.making: Future[None] | None = None
        self.is_dropped = False  # so that building it can stop early

    def is_of_another(self, memory: CorrectionMemory) -> bool:
        """Return whether what was read is no longer in the memory, since it was deleted, or a backup was restored.

        Deletions in other projects do not count.
        """
        known = self._position
        return memory.mark(known.last) != known.mark

    def entries_behind(self, memory: CorrectionMemory) -> int:
        """Return how many entries are still to be read, at most."""
        known = 0 if self.is_of_another(memory) else self._position.last
        return memory.position.last - known

    def find(self, memory: CorrectionMemory, src: str, mt: str, least: float) -> list[Near]:
        """Return more of the nearest corrections than are shown, as some may be equal, or of the segment itself."""
        if not self._lock.acquire(timeout=_PATIENCE):
            return []
        try:
            self._follow(memory)
            return self._nearest.find(src, mt, 2 * _MOST, least)
        finally:
            self._lock.release()

    def follow(self, memory: CorrectionMemory) -> None:
        """Read the new entries of the memory."""
        with self._lock:
            self._follow(memory)

    def _follow(self, memory: CorrectionMemory) -> None:
        now = memory.position
        try:
            if self.is_of_another(memory):
                self._forget()
            for entry in memory.entries(self._position.last, now.last):
                if self.is_dropped:
                    break
                if entry.undoes is None:
                    self._nearest.add(entry.number, entry.correction.src, entry.correction.mt)
                else:
                    self._nearest.remove(entry.undoes)
            self._position = now
            if self.is_dropped or self.is_of_another(memory):  # deleted while it was read
                self._forget()
        except BaseException:  # the index may have read only some of the entries
            self._forget()
            raise

    def _forget(self) -> None:
        self._nearest, self._position = NearestTriplets(), MemoryPosition(0, 0)
