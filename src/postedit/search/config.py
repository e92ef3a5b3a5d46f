"""All that may be said about a search, in one record."""

import math
from dataclasses import dataclass
from typing import Literal, overload

from torch import Tensor

from postedit.core.errors import DataError
from postedit.search.hypothesis import Hypothesis

Normalisation = Literal["power", "wu"]


@dataclass(frozen=True, slots=True)
class Term:
    """A word or phrase that an output must have: every output, or those whose source has `source` as whole words."""

    target: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How outputs are searched for, the same for every segment.

    Args:
        beam: live hypotheses a sentence; 1 is greedy search.
        n_best: how many outputs a sentence, at most `beam`.
        length_penalty: the exponent a of the length by which scores are divided; 0 ranks by probability alone.
        normalisation: of an output of n symbols, its EOS included: "power" divides by n ** a (Marian's form; with
            a = 1 the mean of a symbol), "wu" by ((5 + n) / 6) ** a (Wu et al. 2016, equation 14).
        max_ratio: an output has at most `max_ratio` times the symbols of mt ...
        max_extra: ... plus `max_extra`.
        shortlist: 0, or how many of the first symbols of the vocabulary greedy search may write, besides those of mt
            and src: faster, but outputs may differ, and scores are those among these symbols. Used where mt is a
            draft: not in a beam, nor by recurrent decoders, nor with what guides a search.
        keep: the post-editing penalty in nats: what each symbol costs that is not in mt; 0 is off.
        keep_src: symbols of src are free of that penalty too.
        edit_cost: nats that each edit costs, by the Levenshtein distance of mt and output in symbols; 0 is off.
        max_edits: the largest Levenshtein distance of mt and output in symbols; None is off.
        no_repeat: n-grams of so many symbols do not come more often than in mt or src, or once; 0 is off.
        no_unk: the symbol for what is unknown is never written.
        banned: words and phrases that are never written.
        required: words and phrases that outputs must have.

    Raises:
        DataError: naming an option that is out of range.
    """

    beam: int = 1
    n_best: int = 1
    length_penalty: float = 1.0
    normalisation: Normalisation = "power"
    max_ratio: float = 1.5
    max_extra: int = 10
    shortlist: int = 0
    keep: float = 0.0
    keep_src: bool = False
    edit_cost: float = 0.0
    max_edits: int | None = None
    no_repeat: int = 0
    no_unk: bool = False
    banned: tuple[str, ...] = ()
    required: tuple[Term, ...] = ()

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise DataError(f"beam must be at least 1, not {self.beam}")
        if not 1 <= self.n_best <= self.beam:
            raise DataError(f"n_best must be between 1 and beam ({self.beam}), not {self.n_best}")
        if self.normalisation not in ("power", "wu"):
            raise DataError(f'normalisation must be "power" or "wu", not {self.normalisation!r}')
        least = {
            name: getattr(self, name) for name in ("length_penalty", "shortlist", "keep", "edit_cost", "no_repeat")
        }
        for name, value in (least | {"max_edits": self.max_edits or 0}).items():
            if not 0 <= value < math.inf:
                raise DataError(f"{name} must be a number of at least 0, not {value}")
        if not 0 < self.max_ratio < math.inf:
            raise DataError(f"max_ratio must be a number above 0, not {self.max_ratio}")
        if not all(phrase.strip() for phrase in (*self.banned, *(term.target for term in self.required))):
            raise DataError("a word or phrase that is banned or required is blank; leave it out")

    def rank(self, hypothesis: Hypothesis) -> float:
        """Return what outputs are ranked by: the log-probability with biases, normalised."""
        return (hypothesis.score + hypothesis.bias) / self.normaliser(len(hypothesis.token_scores))

    @overload
    def normaliser(self, length: int) -> float: ...
    @overload
    def normaliser(self, length: Tensor) -> Tensor: ...
    def normaliser(self, length: int | Tensor) -> float | Tensor:
        """Return what the score of an output of `length` symbols, its EOS included, is divided by."""
        base: float | Tensor = length if self.normalisation == "power" else (5 + length) / 6
        result: float | Tensor = base**self.length_penalty
        return result

    @property
    def guides(self) -> bool:
        """Whether anything is forbidden or favoured, whatever the segment."""
        return self.needs_mt or self.no_repeat > 0 or self.no_unk or bool(self.banned)

    @property
    def needs_mt(self) -> bool:
        """Whether outputs are compared with mt."""
        return self.keep > 0.0 or self.edit_cost > 0.0 or self.max_edits is not None
