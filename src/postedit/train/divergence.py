"""Where the loss goes, told from the noise of batches."""

from dataclasses import dataclass
from typing import Final

STRETCH: Final = 20
"""Updates whose mean loss counts."""

_RISE: Final = 3.0
"""Nats per label. Harder data of a curriculum should cost less; a model that has fallen back to guessing costs more."""


@dataclass(slots=True)
class Trend:
    """The mean loss of stretches of updates.

    Args:
        start: the last step before the stretch that is under way.
        loss: its sum so far, in nats.
        tokens: its labels so far.
        lowest: the lowest mean of earlier stretches, in nats per label.
    """

    start: int = 0
    loss: float = 0.0
    tokens: float = 0.0
    lowest: float | None = None

    def rise(self, loss: float, tokens: float, step: int) -> float | None:
        """Return the mean of the stretch that ends at `step`, if one does and it is far above the lowest, or None.

        Args:
            loss: sum over the updates since the last call.
            tokens: their labels.
            step: the number of the last of them.
        """
        self.loss += loss
        self.tokens += tokens
        if step - self.start < STRETCH:
            return None
        mean = self.loss / self.tokens
        self.start, self.loss, self.tokens = step, 0.0, 0.0
        if self.lowest is not None and mean > self.lowest + _RISE:
            return mean
        self.lowest = mean if self.lowest is None else min(mean, self.lowest)
        return None
