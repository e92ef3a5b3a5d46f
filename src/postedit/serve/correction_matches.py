"""Corrections of a project that are like a segment, by an index that follows the memory."""

import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from postedit.adapt.correction_memory import CorrectionMemory, MemoryPosition
from postedit.adapt.nearest import Near, NearestTriplets
from postedit.core.errors import OutputError

_MOST: Final = 5
"""Matches of a segment."""

_LEAST: Final = 0.5
"""Similarity below which a match is no help."""

_MOST_PROJECTS: Final = 8
"""Projects whose indexes are kept; those used longest ago go first."""

_AT_ONCE: Final = 1000
"""Entries that an index reads while somebody waits for matches; more are read in a thread of their own."""

_PATIENCE: Final = 1.0
"""Seconds that somebody waits for an index; meanwhile there are no matches."""


class CorrectionMatches:
    """The corrections of a database, found by similarity.

    The index of a project is made when a segment of it is first asked for, and read on from there. Where that takes
    long, one index is made at a time, and there are no matches until it is made.

    Args:
        memory: with the corrections.
    """

    def __init__(self, memory: CorrectionMemory) -> None:
        self._memory, self._lock = memory, threading.Lock()
        self._indexes: OrderedDict[str, _Index] = OrderedDict()
        self._builder = ThreadPoolExecutor(1, "matches")

    def close(self) -> None:
        """Let go of all indexes, also of those that are being made."""
        for project in [*self._indexes]:
            self._drop(project)
        self._builder.shutdown(cancel_futures=True)

    def drop_deleted(self) -> None:
        """Let go of the indexes whose corrections have been deleted, by any process; of all if nobody can say."""
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
        """Return corrections of a project that are like a segment, the nearest first.

        Args:
            project: its id.
            src: of the segment.
            mt: of the segment; may be empty.
            without: the number of the correction that was learnt from the segment itself.

        Raises:
            OutputError: if they cannot be read.
        """
        memory = self._memory.of(project)
        index = self._index(project)
        if index.entries_behind(memory) > _AT_ONCE and not self._is_made(index, memory):
            return []
        scale = 1 if mt.strip() else 2  # without mt, the source alone tells: similarity is the mean of both sides
        near = [one for one in index.find(memory, src, mt, _LEAST / scale) if one.number != without][:_MOST]
        corrections = memory.by_number(one.number for one in near)
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for number, similarity in near:
            one = corrections.get(number)
            if one is not None:  # else it was deleted meanwhile
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
        """Let an index be made by the one thread that does so, and return whether it is within `_PATIENCE`."""
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
    """The corrections of one project."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nearest, self._position = NearestTriplets(), MemoryPosition(0, 0)
        self.making: Future[None] | None = None
        self.is_dropped = False  # so that it need not be made to the end

    def is_of_another(self, memory: CorrectionMemory) -> bool:
        """Return whether what was read is no longer in the memory: it was deleted, or a backup was put back.

        What other projects delete changes nothing here.
        """
        known = self._position
        return memory.mark(known.last) != known.mark

    def entries_behind(self, memory: CorrectionMemory) -> int:
        """Return how many entries are to be read, at most."""
        known = 0 if self.is_of_another(memory) else self._position.last
        return memory.position.last - known

    def find(self, memory: CorrectionMemory, src: str, mt: str, least: float) -> list[Near]:
        """Return the nearest corrections, more than are shown: some may be the same, or of the segment itself."""
        if not self._lock.acquire(timeout=_PATIENCE):
            return []
        try:
            self._follow(memory)
            return self._nearest.find(src, mt, 2 * _MOST, least)
        finally:
            self._lock.release()

    def follow(self, memory: CorrectionMemory) -> None:
        """Read what the memory has got since."""
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
        except BaseException:  # half of the entries may have been read
            self._forget()
            raise

    def _forget(self) -> None:
        self._nearest, self._position = NearestTriplets(), MemoryPosition(0, 0)
