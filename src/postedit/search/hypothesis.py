"""Hypotheses: the outputs of a search."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from postedit.core.errors import ModelFolderError
from postedit.core.search_config import SearchConfig


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """An output sentence with the log-probabilities of its tokens."""

    tokens: tuple[int, ...]  # target tokens, without BOS and EOS
    token_scores: tuple[float, ...]  # natural-log probability of each token, then of EOS (unless `stuck`)
    hit_limit: bool = False  # whether the length limit forced it to end
    bias: float = 0.0  # sum of the biases, added to the score when outputs are ranked; at most 0
    stuck: bool = False  # whether it is unfinished because constraints left no token to write next
    features: Mapping[str, float] | None = None  # features of a log-linear combination, by name; None: not requested

    @property
    def score(self) -> float:
        """The natural-log probability of the sentence, EOS included."""
        return sum(self.token_scores)

    def rank(self, config: SearchConfig) -> float:
        """Return the value by which outputs are ranked: the sum of score and bias, normalised by length."""
        return (self.score + self.bias) / config.normaliser(len(self.token_scores))

    def yields_to(self, unchanged: "Hypothesis", config: SearchConfig) -> bool:
        """Return whether mt, `unchanged`, is the better output: it ranks higher, or the length limit cut this one off.

        An output that was cut off usually repeats a phrase, which gets more probable each time, so the mean probability
        of its tokens can exceed that of mt.
        """
        return self.hit_limit or unchanged.rank(config) > self.rank(config)


STUCK = Hypothesis((), (), stuck=True)  # returned for a sentence for which constraints allow no output


def require_possible(score: float) -> None:
    """Stop the search at a token or sentence of probability 0; otherwise the search might never end.

    Raises:
        ModelFolderError: if the natural-log probability `score` is -inf or NaN.
    """
    if not score > -math.inf:
        raise ModelFolderError(
            "the model assigns zero probability to every allowed token: its weights are damaged, or training diverged"
        )
