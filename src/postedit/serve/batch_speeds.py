"""How fast a model is, by the size of batches."""

from typing import Final

_SMOOTHING: Final = 0.2
"""Weight of the latest batch in the measured speed."""


class BatchSpeeds:
    """Tokens a second of a process of one model, by the power of two of the tokens of a batch.

    Large batches are several times as fast. By one speed for all, a service under load would take the speed of small
    batches for its own, refuse requests that make batches large, and become slower the more it is asked.
    """

    def __init__(self) -> None:
        self._speeds: dict[int, float] = {}

    def __bool__(self) -> bool:
        """Return whether a batch has been measured."""
        return bool(self._speeds)

    def add(self, tokens: int, seconds: float) -> None:
        """Take a batch into account."""
        latest = tokens / max(seconds, 1e-6)
        known = self._speeds.get(tokens.bit_length(), latest)
        self._speeds[tokens.bit_length()] = known + _SMOOTHING * (latest - known)

    def seconds_for(self, tokens: float) -> float:
        """Return the time of some tokens, as if in batches of the largest size measured that is not above them."""
        sizes = [size for size in self._speeds if size <= int(tokens).bit_length()] or [min(self._speeds)]
        return tokens / self._speeds[max(sizes)]

    def tokens_in(self, seconds: float) -> int:
        """Return the tokens of a batch that takes some time."""
        return int(max(self._speeds.values()) * seconds)
