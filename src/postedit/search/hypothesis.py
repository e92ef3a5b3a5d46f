"""What search returns."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """An output sentence.

    Args:
        tokens: target symbols, without BOS and EOS.
        token_scores: natural-log probability of each token and of EOS after them; one more than tokens.
        hit_limit: True if EOS was the only symbol allowed, because the output was as long as it may be.
        bias: what guidance adds to the score when outputs are ranked; at most 0.
        stuck: True if it has no end, because guidance left nothing that could be written next.
    """

    tokens: tuple[int, ...]
    token_scores: tuple[float, ...]
    hit_limit: bool = False
    bias: float = 0.0
    stuck: bool = False

    @property
    def score(self) -> float:
        """The natural-log probability of the sentence with its EOS."""
        return sum(self.token_scores)

    def normalised(self, length_penalty: float) -> float:
        """Return what beam search ranks by: (score + bias) / (number of symbols with EOS) ** length_penalty."""
        return (self.score + self.bias) / math.pow(len(self.token_scores), length_penalty)


STUCK = Hypothesis((), (), stuck=True)
"""What stands for the outputs of a sentence if there are none."""
