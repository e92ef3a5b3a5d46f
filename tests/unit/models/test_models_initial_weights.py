"""Fresh weights are those that the pages of the architectures describe: how fast a model learns depends on them.

Matrices start Glorot-uniform, those that multiply recurrent states orthogonal, each gate by itself; biases start at 0.
"""

import math
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from postedit.core.config import Config
from postedit.core.model import Seq2Seq, Vocabularies, VocabularyInfo
from postedit.core.special_tokens import PAD
from postedit.models.conditional_gru import (
    MCGRU,
    CGRUHard,
    CharacterLevel,
    CharacterLevelConfig,
    ConditionalGRUConfig,
    SymmetricAttention,
    SymmetricAttentionConfig,
)
from postedit.models.copycat import CopyTransformer, CopyTransformerConfig
from postedit.models.cross_encoder import CrossEncoder, CrossEncoderConfig
from postedit.models.draft_and_refine import (
    AttentionNMT,
    AttentionNMTConfig,
    DoubleAttention,
    DoubleAttentionConfig,
    Translator,
)
from postedit.models.edit_operations import (
    ChainedEditOperations,
    ChainedEditOperationsConfig,
    EditOperations,
    EditOperationsConfig,
)
from postedit.models.pointer_generator import PointerGenerator, PointerGeneratorConfig
from postedit.models.shared_attention import LSTMConfig, MergedAttention
from postedit.models.transformer import DualTransformer
from postedit.models.transformer_base import DualSourceConfig
from postedit.nn.attention import MultiHeadAttention
from postedit.nn.pooling import HighwayLayer
from postedit.nn.recurrent import GRUCell

WIDTH = 24
PE = VocabularyInfo(200, "pe")
VOCABULARIES = Vocabularies({"src": PE, "mt": PE}, PE)
GRU = {"embedding": WIDTH, "hidden": WIDTH}
TRANSFORMER = {"dim": WIDTH, "heads": 2, "feed_forward": 40, "layers_pe": 1}
SCALED, PLAIN = WIDTH**-0.5, 1.0  # deviations of embeddings: of those that are multiplied by sqrt(WIDTH), and of others

MODELS: dict[type[Seq2Seq], tuple[Config, float]] = {
    MCGRU: (ConditionalGRUConfig(**GRU), SCALED),
    CGRUHard: (ConditionalGRUConfig(**GRU), SCALED),
    SymmetricAttention: (SymmetricAttentionConfig(**GRU), SCALED),
    CharacterLevel: (CharacterLevelConfig(**GRU, filters=(9, 8, 7), highway=2), SCALED),
    AttentionNMT: (AttentionNMTConfig(**GRU, attention=20, maxout=16), SCALED),
    DoubleAttention: (DoubleAttentionConfig(**GRU, attention=20, maxout=16), SCALED),
    PointerGenerator: (PointerGeneratorConfig(**GRU), PLAIN),
    EditOperations: (EditOperationsConfig(**GRU), PLAIN),
    ChainedEditOperations: (ChainedEditOperationsConfig(**GRU), PLAIN),
    DualTransformer: (DualSourceConfig(**TRANSFORMER, layers_encoder=1, tie_output=False), SCALED),
    CrossEncoder: (CrossEncoderConfig(**TRANSFORMER, layers_src=1, layers_mt=1), SCALED),
    CopyTransformer: (CopyTransformerConfig(**TRANSFORMER, layers_mt=1), SCALED),
}


def fresh(model_class: type[Seq2Seq]) -> Seq2Seq:
    torch.manual_seed(0)
    return model_class(MODELS[model_class][0], VOCABULARIES)


def stacked(model: nn.Module) -> Iterator[tuple[Tensor, int, bool]]:
    """Yield the weights that are stacked matrices, their number, and whether they multiply recurrent states."""
    for module in model.modules():
        match module:
            case GRUCell():
                yield from ((module.input.weight, 3, False), (module.state.weight, 3, True))
            case nn.LSTM() | nn.LSTMCell():
                for name, weight in module.named_parameters():
                    if name.startswith("weight"):
                        yield weight, 4, name.startswith("weight_hh")
            case Translator():
                yield module.gru_context.weight, 3, False
            case MultiHeadAttention():
                yield module.key_value.weight, 2, False


def is_own_of_pytorch(model: Seq2Seq, name: str) -> bool:
    """Whether a parameter starts as PyTorch's linear layers do: that is so in the gates of Transformers that copy."""
    return isinstance(model, CopyTransformer) and name.startswith("gate.")


def assert_glorot(name: str, weight: Tensor) -> None:
    """Uniform between +-sqrt(6 / (inputs + outputs)) (Glorot and Bengio 2010, equation 16)."""
    places = math.prod(weight.shape[2:])  # of a convolution
    bound = math.sqrt(6 / (places * (weight.size(0) + weight.size(1))))
    assert 0.85 * bound < weight.abs().max() <= bound, name
    assert weight.std() == pytest.approx(bound / 3**0.5, rel=0.3), name


@pytest.mark.parametrize("model_class", MODELS)
@torch.no_grad()
def test_matrices_and_embeddings_start_as_the_pages_say(model_class: type[Seq2Seq]) -> None:
    model, deviation = fresh(model_class), MODELS[model_class][1]
    blocks = {weight: (count, is_recurrent) for weight, count, is_recurrent in stacked(model)}
    tables = {module.weight for module in model.modules() if isinstance(module, nn.Embedding)}
    for name, weight in model.named_parameters():
        if weight.dim() < 2 or is_own_of_pytorch(model, name):
            continue
        if weight in tables:
            assert weight[PAD + 1 :].std() == pytest.approx(deviation, rel=0.05), name
            continue
        count, is_recurrent = blocks.get(weight, (1, False))
        for block in weight.chunk(count):
            if is_recurrent:
                torch.testing.assert_close(block @ block.T, torch.eye(len(block)), rtol=0, atol=1e-5)
            else:
                assert_glorot(name, block)


@pytest.mark.parametrize("model_class", MODELS)
def test_biases_start_at_zero(model_class: type[Seq2Seq]) -> None:
    """Except those of the gates of highways, and those by which an LSTM forgets nothing at first."""
    model, others = fresh(model_class), {}
    for module in model.modules():
        match module:
            case HighwayLayer():
                others[module.gate.bias] = torch.full((len(module.gate.bias),), -1.0)
            case nn.LSTM() | nn.LSTMCell():
                for name, bias in module.named_parameters():
                    if name.startswith("bias_ih"):
                        others[bias] = torch.eye(4)[1].repeat_interleave(len(bias) // 4)
    norms = {module.weight for module in model.modules() if isinstance(module, nn.LayerNorm)}
    for name, bias in model.named_parameters():
        if bias.dim() == 1 and bias not in norms and not is_own_of_pytorch(model, name):
            assert torch.equal(bias.detach(), others.get(bias, torch.zeros(len(bias)))), name


@pytest.mark.parametrize("model_class", [DualTransformer, CrossEncoder])
def test_the_embedding_of_padding_starts_at_zero(model_class: type[Seq2Seq]) -> None:
    tables = [module.weight for module in fresh(model_class).modules() if isinstance(module, nn.Embedding)]
    assert all(not table[PAD].any() and table[PAD + 1 :].any(1).all() for table in tables)


def test_all_weights_of_lstm_models_start_within_their_option() -> None:
    torch.manual_seed(0)
    model = MergedAttention(LSTMConfig(embedding=WIDTH, hidden=WIDTH, init=0.3), VOCABULARIES)
    for name, weight in model.named_parameters():
        assert 0.27 < weight.abs().max() <= 0.3, name
        assert weight.mean().abs() < 0.06, name
