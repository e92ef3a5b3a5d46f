"""Corrections of a project that are like a segment, by an index that follows the memory."""

import threading
from collections import OrderedDict
from typing import Any, Final

from postedit.adapt.correction_memory import CorrectionMemory, MemoryPosition
from postedit.adapt.nearest import Near, NearestTriplets

_MOST: Final = 5
"""Matches of a segment."""

_LEAST: Final = 0.5
"""Similarity below which a match is no help."""

_MOST_PROJECTS: Final = 8
"""Projects whose indexes are kept; those used longest ago go first."""


class CorrectionMatches:
    """The corrections of a database, found by similarity.

    The index of a project is made when a segment of it is first asked for, and read on from there.

    Args:
        memory: with the corrections.
    """

    def __init__(self, memory: CorrectionMemory) -> None:
        self._memory, self._lock = memory, threading.Lock()
        self._indexes: OrderedDict[str, _Index] = OrderedDict()

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
        with self._lock:
            index = self._indexes.setdefault(project, _Index())
            self._indexes.move_to_end(project)
            if len(self._indexes) > _MOST_PROJECTS:
                self._indexes.popitem(last=False)
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


class _Index:
    """The corrections of one project."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nearest, self._position = NearestTriplets(), MemoryPosition(0, 0)

    def find(self, memory: CorrectionMemory, src: str, mt: str, least: float) -> list[Near]:
        """Return the nearest corrections, more than are shown: some may be the same, or of the segment itself."""
        with self._lock:
            self._follow(memory)
            return self._nearest.find(src, mt, 2 * _MOST, least)

    def _follow(self, memory: CorrectionMemory) -> None:
        now, known = memory.position, self._position
        if now == known:
            return
        if now.edition != known.edition or memory.mark(known.last) != known.mark:  # it is another memory
            self._nearest, known = NearestTriplets(), MemoryPosition(now.edition, 0)
        for entry in memory.entries(known.last, now.last):
            if entry.undoes is None:
                self._nearest.add(entry.number, entry.correction.src, entry.correction.mt)
            else:
                self._nearest.remove(entry.undoes)
        self._position = now
