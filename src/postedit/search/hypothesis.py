"""Hypotheses: the outputs of a search."""

from collections.abc import Mapping
from dataclasses import dataclass

from postedit.core.search_config import SearchConfig


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """An output sentence.

    Args:
        tokens: target tokens, without BOS and EOS.
        token_scores: natural-log probability of each token and of EOS after them; one more than tokens.
        hit_limit: True if only EOS was allowed, because the output had the maximum length.
        bias: sum of the biases, added to the score when outputs are ranked; at most 0.
        stuck: True if it has no end, because constraints left no token to write next.
        features: features of a log-linear combination, by name, if they were asked for.
    """

    tokens: tuple[int, ...]
    token_scores: tuple[float, ...]
    hit_limit: bool = False
    bias: float = 0.0
    stuck: bool = False
    features: Mapping[str, float] | None = None

    @property
    def score(self) -> float:
        """The natural-log probability of the sentence with its EOS."""
        return sum(self.token_scores)

    def rank(self, config: SearchConfig) -> float:
        """Return what outputs are ranked by: log-probability and bias, normalised by length."""
        return (self.score + self.bias) / config.normaliser(len(self.token_scores))


STUCK = Hypothesis((), (), stuck=True)
"""The only output of a sentence for which constraints allow none."""
