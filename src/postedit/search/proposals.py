"""What to propose: where the output stands in its draft, and how far the draft is worth following."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

Context = Literal["start", "in step", "pair", "symbol", "guess"]
"""How the place in the draft was found: at its start; as all that was proposed is accepted; where the last two symbols
of the output, or its last one, are found in the draft; or by the guess that a symbol was replaced."""

_FURTHEST: Final = 64  # symbols; no call proposes more, for what follows a rejected symbol is wasted

# Of the symbols proposed in each context, the share accepted before the first that is rejected; as post-editors
# would have it on the WMT18 dev sets. Only where to start: each search learns its own.
_ACCEPTED: Final[Mapping[Context, float]] = {"start": 0.95, "in step": 0.9, "pair": 0.8, "symbol": 0.75, "guess": 0.3}
_WEIGHT: Final = 20.0  # symbols' worth of experience


class Acceptance:
    """How probable it is, in each context, that a proposed symbol is accepted if those before it are."""

    def __init__(self) -> None:
        """Start with what is usual."""
        self._accepted = {context: _WEIGHT * share for context, share in _ACCEPTED.items()}
        self._proposed = dict.fromkeys(_ACCEPTED, _WEIGHT)

    def learn(self, context: Context, accepted: int, *, rejected: bool) -> None:
        """Add a proposal of which so many symbols were accepted, and then one rejected or none."""
        self._accepted[context] += accepted
        self._proposed[context] += accepted + rejected

    def reach(self, context: Context, call_cost: float) -> int:
        """Return how many symbols to propose, so that a written symbol costs least.

        With a of the proposed symbols accepted a call writes a + 1. It costs its w + 1 tokens, and this row's share
        of what a call costs besides them, `call_cost` in tokens.
        """
        probability = self._accepted[context] / self._proposed[context]
        best, reach, written, reached = 1.0 / (call_cost + 1.0), 0, 1.0, 1.0
        for width in range(1, _FURTHEST + 1):
            reached *= probability
            written += reached
            rate = written / (call_cost + 1.0 + width)
            if rate <= best:
                break  # the gain of one more symbol only falls
            best, reach = rate, width
        return reach


@dataclass
class Proposer:
    """Follows one draft.

    Args:
        draft: symbols with EOS.
        at: where in it the output is thought to go on; its length if nowhere.
        context: why there.
    """

    draft: Sequence[int]
    at: int = 0
    context: Context = "start"
    _places: dict[int, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self._places = {}
        for place, symbol in enumerate(self.draft[:-1]):
            self._places.setdefault(symbol, []).append(place)

    def propose(self, reach: int) -> list[int]:
        """Return the next symbols of the draft, at most `reach`."""
        return list(self.draft[self.at : self.at + max(0, reach)])

    def follow(self, written: Sequence[int], agreed: int, *, rejected: bool) -> None:
        """Find where the draft goes on.

        Args:
            written: the whole output, without EOS.
            agreed: how many symbols of the last proposal were accepted.
            rejected: whether the model then wrote another symbol than proposed.
        """
        self.at += agreed
        if not rejected and self.at < len(self.draft) and self.draft[self.at] == written[-1]:
            self.at, self.context = self.at + 1, "in step"
            return
        places = self._places.get(written[-1], [])
        pairs = [place for place in places if place and len(written) > 1 and self.draft[place - 1] == written[-2]]
        if places:
            self.context = "pair" if pairs else "symbol"
            # Of several places the nearest, ahead rather than behind.
            self.at = 1 + min(pairs or places, key=lambda place: (abs(place - self.at), place < self.at))
        else:
            self.at, self.context = min(self.at + 1, len(self.draft)), "guess"
