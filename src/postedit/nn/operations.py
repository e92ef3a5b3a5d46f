"""Edit operations over mt: KEEP or DEL the token at the current position, or INS (insert) a token before it.

The operation follows from the token and the position: the token of mt at the position is a KEEP, any other token is an
INS, and STEP, which is not part of the text, is a DEL. KEEP and DEL move on by one position. So a sequence of
operations is a sequence of target tokens, and search, guidance and rendering need to know nothing else. The position is
a function of mt and the tokens written so far. To insert a copy of the token at the position, KEEP it, then INS it.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import torch
import torch.nn.functional as F
from rapidfuzz.distance import Levenshtein
from torch import Tensor

from postedit.core.special_tokens import EOS, STEP
from postedit.core.types import LabelLoss, Shortlist, Stream, Target
from postedit.nn.hard_attention import StepGrammar
from postedit.nn.heads import SoftmaxDistribution, recomputed_label_loss
from postedit.nn.tensors import at_least_float


class Operations(NamedTuple):
    """The operations that target tokens stand for, and the positions to which they lead."""

    kept: Tensor  # Bool[N,K], whether each token is a KEEP
    positions: Tensor  # Long[N,K], the position in mt after each token, which never exceeds the last one


def operations_of(tokens_NK: Tensor, ids_NS: Tensor, start_N: Tensor, last_N: Tensor) -> Operations:
    """Return the operations that `tokens_NK` stand for on mt `ids_NS`, starting from the positions `start_N`."""
    position, kept, positions = start_N, [], []
    for token in tokens_NK.unbind(1):
        kept.append(token == token_at(ids_NS, position))
        position = torch.minimum(position + (kept[-1] | (token == STEP)), last_N)
        positions.append(position)
    return Operations(torch.stack(kept, 1), torch.stack(positions, 1))


def token_at(ids_NS: Tensor, position_N: Tensor) -> Tensor:
    """Return Long[N]: the token of mt at each position."""
    return ids_NS.gather(1, position_N.unsqueeze(1)).squeeze(1)


def edit_alignment(mt: Stream, pe: Target) -> Tensor:
    """Return Bool[B,T,S], True where a shortest edit script keeps token s of mt as token t of pe or replaces it."""
    aligned = torch.zeros(*pe.ids.shape, mt.ids.size(1), dtype=torch.bool)
    for row, (ids, target) in enumerate(zip(_tokens(mt), _tokens(pe), strict=True)):
        for code in Levenshtein.opcodes(ids, target):
            if code.tag in ("equal", "replace"):
                aligned[row, range(code.dest_start, code.dest_end), range(code.src_start, code.src_end)] = True
    return aligned.to(mt.ids.device)


def _tokens(text: Stream | Target) -> list[list[int]]:
    pairs = zip(text.ids.tolist(), text.mask.sum(1).tolist(), strict=True)
    return [ids[:length] for ids, length in pairs]


@dataclass(frozen=True, eq=False, slots=True)
class OperationGrammar(StepGrammar):
    """The tokens allowed at each position of mt, so that the operations pass over all of mt and no more.

    EOS is allowed only at the last position, where it keeps the EOS of mt, and DEL only before it.
    """

    ids: Tensor  # Long[N,S], mt

    @classmethod
    def over(cls, ids: Tensor, lengths: Tensor, vocabulary: int) -> Self:
        """Return the grammar at the start of the output, for mt Long[N,S] of these lengths Long[N]."""
        return cls(torch.zeros_like(lengths), lengths - 1, vocabulary, ids)

    def closing(self) -> Tensor:
        """Return Long[N,2]: DEL, and the token that KEEP writes; at the last position, EOS twice."""
        deleted = torch.where(self.position >= self.last, EOS, STEP)
        return torch.stack([deleted, token_at(self.ids, self.position)], 1)

    def advance(self, tokens: Tensor) -> Self:
        """Return the grammar after `tokens` Long[N]."""
        positions = operations_of(tokens.unsqueeze(1), self.ids, self.position, self.last).positions
        return type(self)(positions.squeeze(1), self.last, self.vocabulary, self.ids)

    def select(self, rows: Tensor) -> Self:
        """Return the rows with indices `rows` Long[M], in that order."""
        return type(self)(self.position[rows], self.last[rows], self.vocabulary, self.ids[rows])


@dataclass(frozen=True, eq=False, slots=True)
class OperationDistribution:
    """A distribution over operations as one over target tokens: KEEP takes the place of the token that it keeps.

    `operations` has V + 1 entries: the insertion of each token, with DEL in place of STEP, and finally KEEP.
    """

    operations: SoftmaxDistribution
    kept_NK: Tensor  # Long[N,K], the token that KEEP writes

    def log_probs(self) -> Tensor:
        """Return the natural-log probabilities Float[N,K,V], at least in single precision."""
        logits = self._logits()
        return F.log_softmax(logits, -1, dtype=at_least_float(logits.dtype))

    def among(self, shortlist: Shortlist) -> Tensor:
        """Return the natural-log probabilities Float[N,K,C], renormalised over the tokens of a shortlist."""
        logits = self._logits()
        return shortlist.normalised(logits.to(at_least_float(logits.dtype))[..., shortlist.token_ids])

    def at(self, mask: Tensor) -> Self:
        """Return the distributions at the M positions where `mask` Bool[N,K] is True, in order, with shape [M,1]."""
        return type(self)(self.operations.at(mask), self.kept_NK[mask].unsqueeze(1))

    def label_loss(self, labels: Tensor, mask: Tensor, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of `labels` Long[N,K] where `mask` Bool[N,K] is True; computes logits twice, in chunks."""
        h_NKD, w_VD, b_V = self.operations.features_NKD, self.operations.weight_VD, self.operations.bias_V

        def log_probs(h_MD: Tensor, kept_M: Tensor) -> Tensor:
            chunk = SoftmaxDistribution(h_MD.unsqueeze(1), w_VD, b_V)
            return type(self)(chunk, kept_M.unsqueeze(1)).log_probs().squeeze(1)

        return recomputed_label_loss(log_probs, (h_NKD, self.kept_NK), len(b_V), labels, mask, smoothing)

    def _logits(self) -> Tensor:
        """Return Float[N,K,V], the logit of each token."""
        inserted, keep = self.operations.logits().tensor_split((-1,), -1)
        return inserted.scatter(-1, self.kept_NK.unsqueeze(-1), keep)
