"""Draft proposals: the position of the output in its draft, and the number of draft tokens worth proposing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

Context = Literal["start", "in step", "pair", "token", "guess"]
"""How the position in the draft was found: it is the start ("start"); the whole proposal was accepted ("in step"); the
last two tokens of the output ("pair"), or only the last one ("token"), are in the draft; or by the guess that a token
was substituted ("guess")."""

_FURTHEST: Final = 64  # largest number of tokens proposed in a call; those after a rejected token are wasted

# The probability that a proposed token is accepted if those before it are, by context, measured on the post-edits of
# the WMT18 dev sets. These are initial values, which each search updates for itself.
_ACCEPTED: Final[Mapping[Context, float]] = {"start": 0.95, "in step": 0.9, "pair": 0.8, "token": 0.75, "guess": 0.3}
_WEIGHT: Final = 20.0  # number of observed tokens that an initial value counts for


class Acceptance:
    """A running estimate, by context, of the probability that a proposed token is accepted if those before it are."""

    def __init__(self) -> None:
        self._accepted = {context: _WEIGHT * share for context, share in _ACCEPTED.items()}
        self._proposed = dict.fromkeys(_ACCEPTED, _WEIGHT)

    def learn(self, context: Context, accepted: int, *, rejected: bool) -> None:
        """Record that `accepted` tokens of a proposal were accepted, and whether the next one was `rejected`."""
        self._accepted[context] += accepted
        self._proposed[context] += accepted + rejected

    def reach(self, context: Context, call_cost: float) -> int:
        """Return the number of tokens to propose that minimises the expected cost per written token.

        A call in which `a` proposed tokens are accepted writes a + 1 tokens. For `width` proposed tokens it costs
        width + 1 tokens, plus `call_cost`, this row's share of the fixed cost of a call, also in tokens.
        """
        probability = self._accepted[context] / self._proposed[context]
        best, reach, written, reached = 1.0 / (call_cost + 1.0), 0, 1.0, 1.0
        for width in range(1, _FURTHEST + 1):
            reached *= probability
            written += reached
            rate = written / (call_cost + 1.0 + width)
            if rate <= best:
                break  # each further token gains less than the one before
            best, reach = rate, width
        return reach


@dataclass
class DraftFollower:
    """The position of one output in its draft."""

    draft: Sequence[int]  # tokens of the draft, with EOS
    at: int = 0  # position in the draft where the output is expected to continue; the draft's length if nowhere
    context: Context = "start"  # how that position was found
    _places: dict[int, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self._places = {}
        for place, token in enumerate(self.draft[:-1]):
            self._places.setdefault(token, []).append(place)

    def propose(self, reach: int) -> list[int]:
        """Return the next tokens of the draft, at most `reach`."""
        return list(self.draft[self.at : self.at + max(0, reach)])

    def follow(self, written: Sequence[int], agreed: int) -> None:
        """Find the position where the draft continues after `written`, which is the whole output without EOS.

        `agreed` tokens of the last proposal were accepted.
        """
        self.at += agreed
        if self.at < len(self.draft) and self.draft[self.at] == written[-1]:
            self.at, self.context = self.at + 1, "in step"
            return
        places = self._places.get(written[-1], [])
        pairs = [place for place in places if place and len(written) > 1 and self.draft[place - 1] == written[-2]]
        if places:
            self.context = "pair" if pairs else "token"
            # The nearest position is taken; of two equally near ones, the one ahead.
            self.at = 1 + min(pairs or places, key=lambda place: (abs(place - self.at), place < self.at))
        else:
            self.at, self.context = min(self.at + 1, len(self.draft)), "guess"
