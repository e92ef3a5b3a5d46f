"""The gain of each possible decision of a gate on a dev set: the edits that it saves a post-editor."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from postedit.editing.results import keep_edits
from postedit.evaluate.ter import count_edits
from postedit.gate.edit_features import Judged, words_changed

Floats = NDArray[np.float64]
Kept = tuple[bool, ...]


class Outcomes:
    """Gains by segment and by the edits that are kept, each computed once.

    The gain is the number of TER edits between mt and pe, less that between the returned text and pe.
    """

    def __init__(self, mt: Sequence[str], pe: Sequence[str], judged: Sequence[Judged]) -> None:
        self.mt, self.pe, self.judged = mt, pe, judged
        self._before = [count.edits for count in count_edits(mt, pe)]
        self._gains: dict[tuple[int, Kept], float] = {}
        self._words: dict[tuple[int, Kept], int] = {}

    def __len__(self) -> int:
        return len(self.mt)

    def gains(self, rows: Sequence[int], kept: Sequence[Kept]) -> Floats:
        """Return Float[n]: the gain of each segment with the given edits kept."""
        self._count(rows, kept)
        return np.array([self._gains[row, mask] if any(mask) else 0.0 for row, mask in zip(rows, kept)])

    def words(self, rows: Sequence[int], kept: Sequence[Kept]) -> list[int]:
        """Return the number of changed words of each segment."""
        self._count(rows, kept)
        return [self._words[row, mask] if any(mask) else 0 for row, mask in zip(rows, kept)]

    def _count(self, rows: Sequence[int], kept: Sequence[Kept]) -> None:
        new = [one for one in dict.fromkeys(zip(rows, kept)) if any(one[1]) and one not in self._gains]
        texts = [keep_edits(self.mt[row], self.judged[row].result, mask).text for row, mask in new]
        counts = count_edits(texts, [self.pe[row] for row, _ in new])
        for (row, mask), text, count in zip(new, texts, counts):
            self._gains[row, mask] = float(self._before[row] - count.edits)
            self._words[row, mask] = words_changed(self.mt[row], text)


def everything(outcomes: Outcomes, rows: Sequence[int]) -> list[Kept]:
    """Return the masks of segments in which nothing is taken back."""
    return [(True,) * len(outcomes.judged[row].result.edits) for row in rows]
