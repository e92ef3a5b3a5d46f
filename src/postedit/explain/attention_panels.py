"""The attention of a sentence stream by stream, in the order in which it is shown."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from postedit.core.evidence import Evidence

NAMES: Final = {"src": "source", "mt": "machine translation"}
_KINDS: Final = {"soft": "attention over", "copy": "copying from", "hard": "position in"}


@dataclass(frozen=True, eq=False, slots=True)
class Panel:
    """The attention Float[K,S] of one kind to one stream; of a joint attention, the part that is on the stream."""

    stream: str
    kind: str
    weights: NDArray[np.floating]

    @property
    def title(self) -> str:
        """What it shows."""
        return f"{_KINDS.get(self.kind, self.kind)} the {NAMES.get(self.stream, self.stream)}"


def panels(evidence: Evidence) -> list[Panel]:
    """Return all attention: to the source first, and soft before copying before the position of hard attention."""
    streams, kinds = [*NAMES, *evidence.streams], list(_KINDS)
    found = [
        Panel(stream, key.kind, weights)
        for key in evidence.attention
        for stream, weights in evidence.by_stream(key).items()
    ]
    return sorted(found, key=lambda panel: (streams.index(panel.stream), kinds.index(panel.kind)))
