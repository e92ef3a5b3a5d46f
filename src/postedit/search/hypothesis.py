"""Hypotheses: the outputs of a search."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from postedit.core.errors import ModelFolderError
from postedit.core.search_config import SearchConfig


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """An output sentence."""

    tokens: tuple[int, ...]  # target tokens, without BOS and EOS
    token_scores: tuple[float, ...]  # natural-log probability of each token and of EOS after them; one more than tokens
    hit_limit: bool = False  # the length limit forced its end
    bias: float = 0.0  # sum of the biases, added to the score when outputs are ranked; at most 0
    stuck: bool = False  # it has no end, because constraints left no token to write next
    features: Mapping[str, float] | None = None  # features of a log-linear combination, by name, if they were asked for

    @property
    def score(self) -> float:
        """The natural-log probability of the sentence with its EOS."""
        return sum(self.token_scores)

    def rank(self, config: SearchConfig) -> float:
        """Return the value by which outputs are ranked: log-probability and bias, normalised by length."""
        return (self.score + self.bias) / config.normaliser(len(self.token_scores))

    def yields_to(self, unchanged: "Hypothesis", config: SearchConfig) -> bool:
        """Return whether mt, `unchanged`, is the better output: it ranks higher, or this has no end of its own.

        An output that the length limit ended is mostly a repeated phrase, each time more probable, so that the mean
        probability of its tokens may be higher than that of mt.
        """
        return self.hit_limit or unchanged.rank(config) > self.rank(config)


STUCK = Hypothesis((), (), stuck=True)  # the only output of a sentence for which constraints allow none


def require_possible(score: float) -> None:
    """Stop the search at a token or sentence of probability 0; otherwise it would wait for an end that never comes.

    Raises:
        ModelFolderError: if the natural-log probability `score` is -inf or not a number.
    """
    if not score > -math.inf:
        raise ModelFolderError(
            "the model assigns zero probability to every allowed token: its weights are damaged, or training diverged"
        )
