"""Transformer blocks, and the transference model made of them, against the layers of torch.nn with the same weights."""

import pytest
import torch
from torch import Tensor, nn

from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.core.special_tokens import BOS, PAD
from postedit.core.types import AttentionKey, Batch, Stream
from postedit.models.transference import Transference, TransferenceConfig
from postedit.nn.attention import MultiHeadAttention
from postedit.nn.cache import DecoderCache
from postedit.nn.embeddings import sinusoids
from postedit.nn.transformer import Norm, ScaledEmbedding, TransformerLayer, TransformerStack

DIM, HEADS, FEED_FORWARD, LAYERS = 12, 3, 20, 3
NORMS: list[Norm] = ["pre", "post"]
SIZES = (DIM, HEADS, FEED_FORWARD, 0.0)


@pytest.fixture(autouse=True)
def _fixed() -> None:
    torch.manual_seed(0)


def scatter(module: nn.Module) -> nn.Module:
    """Give every parameter random values, biases and normalisation included."""
    for parameter in module.parameters():
        parameter.data = parameter.data.double() + 0.3 * torch.randn(parameter.shape, dtype=torch.float64)
    return module.eval().requires_grad_(False)


def text(rows: int, length: int) -> tuple[Tensor, Tensor]:
    """Return random vectors and a mask of rows with 1, 2, ... up to `length` real positions."""
    lengths = torch.linspace(1, length, rows).round().long()
    return torch.randn(rows, length, DIM, dtype=torch.float64), torch.arange(length) < lengths.unsqueeze(1)


def causal(length: int) -> Tensor:
    """What torch.nn must not see: all later positions."""
    return torch.ones(length, length, dtype=torch.bool).triu(1)


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    theirs.in_proj_weight.data = torch.cat([ours.query.weight, ours.key_value.weight])
    theirs.in_proj_bias.data = torch.cat([ours.query.bias, ours.key_value.bias])
    copy_layer(ours.output, theirs.out_proj)


def copy_layer(ours: nn.Module, theirs: nn.Module) -> None:
    theirs.load_state_dict(ours.state_dict())


def copy_block(ours: TransformerLayer, theirs: nn.Module) -> None:
    """Copy a layer into an nn.TransformerEncoderLayer or nn.TransformerDecoderLayer."""
    copy_attention(ours.self_attention, theirs.self_attn)
    for attention in ours.cross_attentions:
        copy_attention(attention, theirs.multihead_attn)
    for i, norm in enumerate(ours.norms, start=1):
        copy_layer(norm, getattr(theirs, f"norm{i}"))
    copy_layer(ours.inner, theirs.linear1)
    copy_layer(ours.outer, theirs.linear2)


def torch_stack(ours: TransformerStack, norm: Norm, decoder: bool) -> nn.Module:
    """Return torch's stack of layers with the weights of `ours`."""
    layer_class, stack_class = (
        (nn.TransformerDecoderLayer, nn.TransformerDecoder)
        if decoder
        else (nn.TransformerEncoderLayer, nn.TransformerEncoder)
    )
    layer = layer_class(DIM, HEADS, FEED_FORWARD, 0.0, batch_first=True, norm_first=norm == "pre", dtype=torch.float64)
    kwargs = {} if decoder else {"enable_nested_tensor": False}
    final = nn.LayerNorm(DIM, dtype=torch.float64) if norm == "pre" else None
    stack = stack_class(layer, len(ours.layers), norm=final, **kwargs).eval().requires_grad_(False)
    for own, theirs in zip(ours.layers, stack.layers, strict=True):
        copy_block(own, theirs)
    if final is not None:
        copy_layer(ours.final_norm, stack.norm)
    return stack


def assert_equal(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("need_weights", [True, False])
def test_multi_head_attention(need_weights: bool) -> None:
    ours = scatter(MultiHeadAttention(DIM, HEADS, 0.0))
    theirs = nn.MultiheadAttention(DIM, HEADS, batch_first=True, dtype=torch.float64).eval()
    copy_attention(ours, theirs)
    queries, _ = text(4, 5)
    memory, mask = text(4, 7)
    mixed, weights = ours(queries, ours.project(memory), mask.unsqueeze(1), need_weights)
    expected, expected_weights = theirs(queries, memory, memory, key_padding_mask=~mask)
    assert_equal(mixed, expected)
    if need_weights:
        assert_equal(weights, expected_weights)
    else:
        assert weights is None


@pytest.mark.parametrize("norm", NORMS)
def test_encoder_stack(norm: Norm) -> None:
    ours = scatter(TransformerStack(LAYERS, *SIZES, norm))
    x, mask = text(4, 6)
    expected = torch_stack(ours, norm, decoder=False)(x, src_key_padding_mask=~mask)
    assert_equal(ours.encode(x, mask).x_NKD[mask], expected[mask])


@pytest.mark.parametrize("norm", NORMS)
def test_second_encoder_is_a_decoder_without_causal_mask(norm: Norm) -> None:
    ours = scatter(TransformerStack(LAYERS, *SIZES, norm, memories=1))
    x, mask = text(4, 6)
    memory, memory_mask = text(4, 8)
    theirs = torch_stack(ours, norm, decoder=True)
    expected = theirs(x, memory, tgt_key_padding_mask=~mask, memory_key_padding_mask=~memory_mask)
    actual = ours.encode(x, mask, [ours.project(memory, memory_mask)], need_weights=True)
    assert_equal(actual.x_NKD[mask], expected[mask])


@pytest.mark.parametrize("pieces", [[5], [1, 3, 1], [2, 3]])
@pytest.mark.parametrize("norm", NORMS)
def test_decoder_stack_at_once_and_in_pieces(norm: Norm, pieces: list[int]) -> None:
    ours = scatter(TransformerStack(LAYERS, *SIZES, norm, memories=1))
    x, _ = text(4, 5)
    memory, memory_mask = text(4, 7)
    theirs = torch_stack(ours, norm, decoder=True)
    expected = theirs(x, memory, tgt_mask=causal(5), memory_key_padding_mask=~memory_mask)
    cache, outputs = DecoderCache(), []
    for chunk in x.split(pieces, 1):
        slots = cache.next_slots(chunk[..., 0])
        output, cache = ours.decode(chunk, slots, cache, [ours.project(memory, memory_mask)])
        outputs.append(output.x_NKD)
    assert_equal(torch.cat(outputs, 1), expected)


@pytest.mark.parametrize("norm", NORMS)
def test_cross_attention_is_the_head_average_of_the_last_layer(norm: Norm) -> None:
    ours = scatter(TransformerStack(1, *SIZES, norm, memories=1))
    x, mask = text(4, 6)
    memory, memory_mask = text(4, 8)
    layer = torch_stack(ours, norm, decoder=True).layers[0]
    attended = layer.self_attn(
        *[layer.norm1(x) if norm == "pre" else x] * 3, key_padding_mask=~mask, need_weights=False
    )[0]
    query = layer.norm2(x + attended) if norm == "pre" else layer.norm1(x + attended)
    _, expected = layer.multihead_attn(query, memory, memory, key_padding_mask=~memory_mask)
    weights = ours.encode(x, mask, [ours.project(memory, memory_mask)], need_weights=True).weights
    (weights,) = weights
    assert_equal(weights[mask], expected[mask])


@pytest.mark.parametrize("dim", [8, 7])
def test_sinusoids_are_those_of_the_formula(dim: int) -> None:
    positions = torch.tensor([[0, 1, 7], [100, 4, 999]])
    actual = sinusoids(positions, dim, torch.float64)
    half = (dim + 1) // 2
    for row, column in torch.cartesian_prod(torch.arange(2), torch.arange(3)).tolist():
        position = positions[row, column].double()
        for i in range(half):
            angle = position / 10_000.0 ** (2 * i / dim)
            assert_equal(actual[row, column, i], angle.sin())
            if half + i < dim:
                assert_equal(actual[row, column, half + i], angle.cos())


def test_scaled_embedding_without_positions_counts_from_zero() -> None:
    embedding = scatter(ScaledEmbedding(nn.Embedding(9, DIM), 0.0))
    ids = torch.tensor([[3, 8, 0], [1, 1, 2]])
    expected = embedding.table.weight[ids] * DIM**0.5 + sinusoids(torch.tensor([0, 1, 2]), DIM, torch.float64)
    assert_equal(embedding(ids), expected)
    assert_equal(embedding(ids[:, 1:], torch.tensor([[1, 2]])), expected[:, 1:])


def stream(*texts: list[int]) -> Stream:
    ids = nn.utils.rnn.pad_sequence([torch.tensor(ids) for ids in texts], batch_first=True, padding_value=PAD)
    return Stream(ids, torch.arange(ids.size(1)) < torch.tensor([[len(ids)] for ids in texts]))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("tied", [True, False])
def test_transference_assembled_from_torch_layers(norm: Norm, tied: bool) -> None:
    config = TransferenceConfig(
        layers_src=2, layers_mt=3, layers_pe=1, dim=DIM, heads=HEADS, feed_forward=FEED_FORWARD, norm=norm,
        share_embeddings="mt-pe" if tied else "none", tie_output=tied,
    )  # fmt: skip
    pe = VocabularyInfo(17, "pe")
    model = scatter(Transference(config, Vocabularies({"src": VocabularyInfo(14, "src"), "mt": pe}, pe)))
    src = stream([6, 7, 8, 9, 2], [10, 2], [2])
    mt = stream([6, 2], [7, 8, 9, 16, 10, 11, 2], [12, 13, 2])
    prefix = torch.tensor([[BOS, 6, 7, 8], [BOS, 2, 9, 9], [BOS, 16, 15, 14]])
    output, _ = model.decode(prefix, model.encode(Batch({"src": src, "mt": mt})))

    def embed(table: nn.Embedding, ids: Tensor) -> Tensor:
        return table(ids) * DIM**0.5 + sinusoids(torch.arange(ids.size(1)), DIM, torch.float64)

    no_src, no_mt = ~src.mask, ~mt.mask
    encoded_src = torch_stack(model.encoder_src, norm, decoder=False)(
        embed(model.embed_src.table, src.ids), src_key_padding_mask=no_src
    )
    encoded_mt = torch_stack(model.encoder_mt, norm, decoder=True)(
        embed(model.embed_mt.table, mt.ids), encoded_src, tgt_key_padding_mask=no_mt, memory_key_padding_mask=no_src
    )
    features = torch_stack(model.decoder, norm, decoder=True)(
        embed(model.embed_pe.table, prefix), encoded_mt, tgt_mask=causal(4), memory_key_padding_mask=no_mt
    )
    weight = model.embed_pe.table.weight if tied else model.head.weight
    assert (model.embed_mt.table is model.embed_pe.table) == tied
    assert_equal(output.log_probs, (features @ weight.T + model.head.bias).log_softmax(-1))
    assert output.attention.keys() == {AttentionKey("src", "soft"), AttentionKey("mt", "soft")}
