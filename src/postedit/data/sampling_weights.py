"""How much of a source of triplets an epoch reads."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """How much of a part an epoch reads.

    Args:
        weight: how often each of its triplets comes in an epoch; a fraction leaves the others to the epochs after it.
        from_epoch: complete epochs after which it takes part.
        until_epoch: complete epochs after which it does so no more; None: always.
    """

    weight: float = 1.0
    from_epoch: int = 0
    until_epoch: int | None = None

    def has(self, epoch: int) -> bool:
        """Return whether the part takes part in an epoch."""
        return epoch >= self.from_epoch and (self.until_epoch is None or epoch < self.until_epoch)

    def stretch(self, rows: int, epoch: int) -> tuple[int, int]:
        """Return from where to where in the tape of a part of so many rows an epoch goes."""
        if not self.has(epoch):
            return 0, 0
        turn = epoch - self.from_epoch
        return round(self.weight * rows * turn), round(self.weight * rows * (turn + 1))
