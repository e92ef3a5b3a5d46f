"""Which loss a run minimises: the model's own, or one built on it."""

from torch import nn

from postedit.core.errors import RecipeError
from postedit.core.model import Seq2Seq
from postedit.train.config import TrainConfig
from postedit.train.rdrop import RDropLoss
from postedit.train.risk import Propose, RiskLoss


def build_loss(model: Seq2Seq, config: TrainConfig, propose: Propose | None) -> nn.Module:
    """Return what is called with a batch and the label smoothing, and returns a `LabelLoss`; often `model` itself.

    Args:
        model: which is trained.
        config: the `[train]` section.
        propose: finds candidates, where `config` has a risk.

    Raises:
        RecipeError: if there is a risk, but nothing that finds candidates.
    """
    if config.rdrop > 0.0:
        return RDropLoss(model, config.rdrop)
    if config.risk is None or not config.has_risk:
        return model
    if propose is None:
        raise RecipeError("train.risk needs candidates of the model's outputs; leave it out here, or set weight = 0")
    return RiskLoss(model, propose, config.risk.weight, config.risk.sharpness)
