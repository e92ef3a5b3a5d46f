"""R-Drop: two passes with different dropout shall agree (Liang et al. 2021, section 2)."""

import torch
from torch import Tensor, nn

from postedit.core.model import Seq2Seq
from postedit.core.types import Batch, LabelLoss
from postedit.train.label_scores import symmetric_divergence


class RDropLoss(nn.Module):
    """Calls as a model does in training, and returns the loss of two passes and their divergence, per pass.

    loss = (L_1 + L_2) / 2 + strength / 2 * (KL(p_1||p_2) + KL(p_2||p_1)) / 2

    That is half of the paper's loss, so that learning rate and clipping mean what they mean without it. Both
    passes are one, over a batch that has every sentence twice.

    Args:
        model: which is trained.
        strength: the paper's alpha, above 0.
    """

    def __init__(self, model: Seq2Seq, strength: float) -> None:
        super().__init__()
        self.model = model
        self.strength = strength

    def forward(self, batch: Batch, smoothing: float = 0.0) -> LabelLoss:
        """Return the loss of a batch, whose labels count once.

        Raises:
            ValueError: if the batch has no target.
        """
        if batch.target is None:
            raise ValueError("the loss needs a batch with a target")
        twice = torch.arange(batch.rows, device=batch.device).repeat(2)
        target = batch.target.select(twice)
        both = Batch({name: stream.select(twice) for name, stream in batch.streams.items()}, target)
        output, _ = self.model.decode(target.inputs, self.model.encode(both))
        entropy = output.distribution.label_loss(target.ids, target.mask, smoothing)
        one, other = _halves(target.mask, batch.rows)
        divergence = symmetric_divergence(output.distribution, one, other, self.model.spec.vocabularies.target.size)
        loss = (entropy.loss + self.strength * divergence / 2) / 2
        return LabelLoss(loss, entropy.nll / 2, batch.target.mask.sum())


def _halves(mask: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """Return the mask of the first `rows` rows alone, and that of the others."""
    first = (torch.arange(mask.size(0), device=mask.device) < rows).unsqueeze(1)
    return mask & first, mask & ~first
