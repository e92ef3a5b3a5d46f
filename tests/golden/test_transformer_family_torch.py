"""The Transformer family, against models assembled here from torch.nn's attention, linear and norm layers."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from postedit.core.config import Config
from postedit.core.model import Seq2Seq, Vocabularies, VocabularyInfo
from postedit.core.special_tokens import BOS, EOS, PAD, SEP
from postedit.core.types import AttentionKey, Batch, DecoderOutput, Stream
from postedit.models.concat_encoders import ConcatEncoders, ConcatEncodersConfig, JointEncoder, JointEncoderConfig
from postedit.models.copycat import (
    Copycat,
    CopycatConfig,
    CopycatDualConfig,
    CopycatSrc,
    CopycatTrg,
    CopyTransformer,
    CopyTransformerConfig,
)
from postedit.models.cross_encoder import CrossEncoder, CrossEncoderConfig
from postedit.models.transference import Transference, TransferenceConfig
from postedit.models.transformer import DualTransformer, Transformer, TransformerConfig
from postedit.models.transformer_base import DualSourceConfig
from postedit.nn.attention import MultiHeadAttention
from postedit.nn.transformer import Norm, TransformerLayer, TransformerStack

DIM, HEADS, FEED_FORWARD = 12, 3, 20
NORMS: list[Norm] = ["pre", "post"]
SIZES = {"dim": DIM, "heads": HEADS, "feed_forward": FEED_FORWARD}
PE = VocabularyInfo(17, "pe")
APART = Vocabularies({"src": VocabularyInfo(14, "src"), "mt": PE}, PE)
TOGETHER = Vocabularies({"src": PE, "mt": PE}, PE)


def attend(ours: MultiHeadAttention, queries: Tensor, memory: Tensor, blocked: Tensor) -> tuple[Tensor, Tensor]:
    """Attention by torch's own layer with the weights of `ours`; `blocked` Bool[N,K,S] is what must not be seen."""
    theirs = nn.MultiheadAttention(DIM, HEADS, batch_first=True, dtype=torch.float64).eval().requires_grad_(False)
    theirs.in_proj_weight.data = torch.cat([ours.query.weight, ours.key_value.weight])
    theirs.in_proj_bias.data = torch.cat([ours.query.bias, ours.key_value.bias])
    theirs.out_proj.load_state_dict(ours.output.state_dict())
    mixed, weights = theirs(queries, memory, memory, attn_mask=blocked.repeat_interleave(HEADS, 0))
    return mixed, weights


attend_by_torch = attend


class Read(NamedTuple):
    """What a sublayer returned, before any normalisation: its sum with the residual, and alone."""

    sum: Tensor
    attended: Tensor


def sublayer(
    norm: Norm, layer_norm: nn.Module, x: Tensor, work: Callable[[Tensor], Tensor], reads: list[Read] | None = None
) -> Tensor:
    """One sublayer; what it returned is added to `reads`."""
    change = work(layer_norm(x)) if norm == "pre" else work(x)
    total = x + change
    if reads is not None:
        reads.append(Read(total, change))
    return total if norm == "pre" else layer_norm(total)


def run_layer(
    ours: TransformerLayer, norm: Norm, x: Tensor, blocked: Tensor, memories: Sequence[tuple[Tensor, Tensor]]
) -> tuple[Tensor, list[Tensor], list[Read]]:
    """One layer; `memories` are texts and Bool[N,S], their padding. Returns weights and reads of cross-attentions."""
    reads: list[Read] = []
    norms = list(ours.norms)
    x = sublayer(norm, norms[0], x, lambda y: attend(ours.self_attention, y, y, blocked)[0])
    weights = []
    for attention, layer_norm, (memory, padding) in zip(ours.cross_attentions, norms[1:-1], memories, strict=True):
        unseen = padding.unsqueeze(1).expand(-1, x.size(1), -1)

        def look(y: Tensor, attention=attention, memory=memory, unseen=unseen) -> Tensor:
            mixed, weight = attend(attention, y, memory, unseen)
            weights.append(weight)
            return mixed

        x = sublayer(norm, layer_norm, x, look, reads)
    return sublayer(norm, norms[-1], x, lambda y: ours.outer(ours.inner(y).relu())), weights, reads


def run_stack(
    ours: TransformerStack,
    norm: Norm,
    x: Tensor,
    blocked: Tensor,
    memories: Sequence[Sequence[tuple[Tensor, Tensor]]] = (),
) -> tuple[Tensor, list[Tensor], list[Read]]:
    """All layers; `memories` are those of each layer. Returns weights and reads of the last one's cross-attentions."""
    weights: list[Tensor] = []
    reads: list[Read] = []
    for i, layer in enumerate(ours.blocks()):
        x, weights, reads = run_layer(layer, norm, x, blocked, memories[i] if memories else [])
    return (ours.final_norm(x) if norm == "pre" else x), weights, reads


def encode(ours: TransformerStack, norm: Norm, x: Tensor, padding: Tensor) -> Tensor:
    return run_stack(ours, norm, x, padding.unsqueeze(1).expand(-1, x.size(1), -1))[0]


def decode(model: Seq2Seq, norm: Norm, memories: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, list[Tensor]]:
    """Log-probabilities after PREFIX, every layer attending to the same memories; and the last weights."""
    return decode_layers(model, norm, [memories] * len(model.decoder.layers))


def decode_layers(
    model: Seq2Seq, norm: Norm, memories: Sequence[Sequence[tuple[Tensor, Tensor]]]
) -> tuple[Tensor, list[Tensor]]:
    x, weights, _ = run_decoder(model, norm, memories)
    return nn.functional.log_softmax(x @ model.head.weight.T + model.head.bias, -1), weights


def run_decoder(
    model: Seq2Seq, norm: Norm, memories: Sequence[Sequence[tuple[Tensor, Tensor]]]
) -> tuple[Tensor, list[Tensor], list[Read]]:
    length = PREFIX.size(1)
    later = torch.ones(length, length, dtype=torch.bool).triu(1).expand(len(PREFIX), -1, -1)
    return run_stack(model.decoder, norm, embed(model.embed_pe.table, PREFIX), later, memories)


def embed(table: nn.Embedding, ids: Tensor, positions: Tensor | None = None) -> Tensor:
    """Embeddings times sqrt(d), plus sines and then cosines of the positions."""
    if positions is None:
        positions = torch.arange(ids.size(1)).expand_as(ids)
    rates = 10_000.0 ** (-2.0 * torch.arange(DIM // 2, dtype=torch.float64) / DIM)
    angles = positions.unsqueeze(-1) * rates
    return table.weight[ids] * DIM**0.5 + torch.cat([angles.sin(), angles.cos()], -1)


def stream(*texts: list[int]) -> Stream:
    ids = nn.utils.rnn.pad_sequence([torch.tensor(ids) for ids in texts], batch_first=True, padding_value=PAD)
    return Stream(ids, torch.arange(ids.size(1)) < torch.tensor([[len(ids)] for ids in texts]))


SRC = stream([6, 7, 8, 9, EOS], [10, EOS], [EOS])
MT = stream([6, EOS], [7, 8, 9, 16, 10, 11, EOS], [12, 13, EOS])
PREFIX = torch.tensor([[BOS, 6, 7, 8], [BOS, EOS, 9, 9], [BOS, 16, 15, 14]])


def scattered(model_class: type[Seq2Seq], config: Config, vocabularies: Vocabularies) -> Seq2Seq:
    torch.manual_seed(0)
    model = model_class(config, vocabularies)
    for parameter in model.parameters():
        parameter.data = parameter.data.double() + 0.3 * torch.randn(parameter.shape, dtype=torch.float64)
    return model.eval().requires_grad_(False)


def compare(
    model: Seq2Seq, expected: Tensor, attention: dict[AttentionKey, Tensor], streams: dict[str, Stream] | None = None
) -> DecoderOutput:
    streams = streams or {"src": SRC, "mt": MT}
    output, _ = model.decode(PREFIX, model.encode(Batch(streams)))
    torch.testing.assert_close(output.log_probs, expected, rtol=0, atol=1e-12)
    assert output.attention.keys() == attention.keys()
    for key, weights in attention.items():
        torch.testing.assert_close(output.attention[key], weights, rtol=0, atol=1e-12)
    return output


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("shared", [True, False])
def test_dual_transformer(norm: Norm, shared: bool) -> None:
    config = DualSourceConfig(
        layers_encoder=2, layers_pe=2, norm=norm, share_encoders=shared,
        share_embeddings="all" if shared else "mt-pe", **SIZES,
    )  # fmt: skip
    model = scattered(DualTransformer, config, TOGETHER if shared else APART)
    mt = encode(model.encoder_mt, norm, embed(model.embed_mt.table, MT.ids), ~MT.mask)
    src = encode(model.encoder_src, norm, embed(model.embed_src.table, SRC.ids), ~SRC.mask)
    expected, (to_mt, to_src) = decode(model, norm, [(mt, ~MT.mask), (src, ~SRC.mask)])
    compare(model, expected, {AttentionKey("mt", "soft"): to_mt, AttentionKey("src", "soft"): to_src})
    assert (model.encoder_mt is model.encoder_src) == shared


@pytest.mark.parametrize("norm", NORMS)
def test_concat_encoders(norm: Norm) -> None:
    model = scattered(
        ConcatEncoders, ConcatEncodersConfig(layers_src=1, layers_mt=2, layers_pe=2, norm=norm, **SIZES), APART
    )
    src = encode(model.encoder_src, norm, embed(model.embed_src.table, SRC.ids), ~SRC.mask)
    mt = encode(model.encoder_mt, norm, embed(model.embed_mt.table, MT.ids), ~MT.mask)
    padding = torch.cat([~SRC.mask, ~MT.mask], 1)
    expected, (weights,) = decode(model, norm, [(torch.cat([src, mt], 1), padding)])
    compare(model, expected, {AttentionKey("src+mt", "soft"): weights})


@pytest.mark.parametrize("norm", NORMS)
def test_joint_encoder(norm: Norm) -> None:
    config = JointEncoderConfig(layers_src=1, layers_mt=2, layers_joint=2, layers_pe=1, norm=norm, **SIZES)
    model = scattered(JointEncoder, config, APART)
    src = encode(model.encoder_src, norm, embed(model.embed_src.table, SRC.ids), ~SRC.mask)
    mt = encode(model.encoder_mt, norm, embed(model.embed_mt.table, MT.ids), ~MT.mask)
    padding = torch.cat([~SRC.mask, ~MT.mask], 1)
    both = encode(model.encoder_joint, norm, torch.cat([src, mt], 1), padding)
    expected, (weights,) = decode(model, norm, [(both, padding)])
    compare(model, expected, {AttentionKey("src+mt", "soft"): weights})


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("tied", [True, False])
def test_transference(norm: Norm, tied: bool) -> None:
    config = TransferenceConfig(
        layers_src=2, layers_mt=3, layers_pe=1, norm=norm,
        share_embeddings="mt-pe" if tied else "none", tie_output=tied, **SIZES,
    )  # fmt: skip
    model = scattered(Transference, config, APART)
    src = encode(model.encoder_src, norm, embed(model.embed_src.table, SRC.ids), ~SRC.mask)
    unseen = (~MT.mask).unsqueeze(1).expand(-1, MT.ids.size(1), -1)
    embedded = embed(model.embed_mt.table, MT.ids)
    mt, (mt_to_src,), _ = run_stack(model.encoder_mt, norm, embedded, unseen, [[(src, ~SRC.mask)]] * 3)
    expected, (to_mt,) = decode(model, norm, [(mt, ~MT.mask)])
    compare(model, expected, {AttentionKey("mt", "soft"): to_mt, AttentionKey("src", "soft"): to_mt @ mt_to_src})
    assert (model.embed_mt.table is model.embed_pe.table) == (model.head.weight is model.embed_pe.table.weight) == tied


@pytest.mark.parametrize("norm", NORMS)
def test_cross_encoder(norm: Norm) -> None:
    config = CrossEncoderConfig(layers_src=1, layers_mt=2, layers_pe=2, norm=norm, **SIZES)
    model = scattered(CrossEncoder, config, APART)
    src = encode(model.encoder_src, norm, embed(model.embed_src.table, SRC.ids), ~SRC.mask)
    mt = encode(model.encoder_mt, norm, embed(model.embed_mt.table, MT.ids), ~MT.mask)
    unseen = (~SRC.mask).unsqueeze(1).expand(-1, mt.size(1), -1)
    layers = []
    for view in model.views:
        seen = sublayer(norm, view.layer_norm, mt, lambda y, view=view: attend(view.attention, y, src, unseen)[0])
        layers.append([(src, ~SRC.mask), (seen, ~MT.mask)])
    expected, (to_src, to_mt) = decode_layers(model, norm, layers)
    compare(model, expected, {AttentionKey("src", "soft"): to_src, AttentionKey("mt", "soft"): to_mt})


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["src", "mt"])
def test_transformer_over_one_text(norm: Norm, name: str) -> None:
    config = TransformerConfig(
        input=name, layers_encoder=2, layers_pe=1, norm=norm, share_embeddings="mt-pe", **SIZES
    )  # fmt: skip
    model = scattered(Transformer, config, APART)
    text = {"src": SRC, "mt": MT}[name]
    memory = encode(model.encoder, norm, embed(model.embed.table, text.ids), ~text.mask)
    expected, (weights,) = decode(model, norm, [(memory, ~text.mask)])
    compare(model, expected, {AttentionKey(name, "soft"): weights}, {name: text})
    assert model.spec.inputs == (name,)


def test_transformer_over_both_texts_reads_them_as_one() -> None:
    """Each row is computed alone and without padding: src, SEP instead of its EOS, mt."""
    config = TransformerConfig(input="src+mt", layers_encoder=2, layers_pe=1, **SIZES)
    model = scattered(Transformer, config, TOGETHER)
    output, _ = model.decode(PREFIX, model.encode(Batch({"src": SRC, "mt": MT})))
    for row, (src, mt) in enumerate(zip(SRC.ids, MT.ids)):
        src, mt = src[SRC.mask[row]], mt[MT.mask[row]]
        ids = torch.cat([src[:-1], torch.tensor([SEP]), mt]).unsqueeze(0)
        padding = torch.zeros_like(ids, dtype=torch.bool)
        memory = encode(model.encoder, "pre", embed(model.embed.table, ids), padding)
        repeated = memory.expand(len(PREFIX), -1, -1), padding.expand(len(PREFIX), -1)
        expected, (weights,) = decode(model, "pre", [repeated])
        torch.testing.assert_close(output.log_probs[row], expected[row], rtol=0, atol=1e-12)
        real = torch.cat([SRC.mask[row], MT.mask[row]])
        attention = output.attention[AttentionKey("src+mt", "soft")][row]
        torch.testing.assert_close(attention[:, real], weights[row], rtol=0, atol=1e-12)
        assert not attention[:, ~real].any()


def mixture(model: Seq2Seq, x: Tensor, shares: Tensor, copied: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """log of shares[0] softmax(W x + b) + the other shares of what is copied: weights Float[N,K,S] and symbols."""
    p = shares[..., :1] * (x @ model.head.weight.T + model.head.bias).softmax(-1)
    for share, (weights, ids) in zip(shares[..., 1:].unbind(-1), copied, strict=True):
        one_hot = nn.functional.one_hot(ids, p.size(-1)).double()
        p = p + share.unsqueeze(-1) * (weights @ one_hot)
    return p.log()


def point(queries: Tensor, memory: Tensor, padding: Tensor, scale: float = 1.0) -> Tensor:
    return (scale * queries @ memory.mT).masked_fill(padding.unsqueeze(1), -torch.inf).softmax(-1)


def share_logits(model: Seq2Seq, read: Tensor, bias: bool) -> Tensor:
    """What the gate computes; equations 2 and 5 have no bias."""
    weighted = read @ model.gate.weight.T
    assert (model.gate.bias is not None) == bias
    return weighted + model.gate.bias if bias else weighted


QUERIES = pytest.mark.parametrize(("query", "bias"), [("sum", True), ("attended", False)])
"""The reading that is the default, and that of the authors' release."""


@QUERIES
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("scaled", [True, False])
def test_copycat(norm: Norm, scaled: bool, query: str, bias: bool) -> None:
    options = {"scale_copy": scaled, "copy_query": query, "gate_bias": bias}
    config = CopycatConfig(layers_mt=1, layers_pe=2, norm=norm, **options, **SIZES)
    model = scattered(Copycat, config, APART)
    mt = encode(model.encoder, norm, embed(model.embed_mt.table, MT.ids), ~MT.mask)
    x, (soft,), (found,) = run_decoder(model, norm, [[(mt, ~MT.mask)]] * 2)
    read = getattr(found, query)
    weights = point(read, mt, ~MT.mask, DIM**-0.5 if scaled else 1.0)
    share = share_logits(model, read, bias).sigmoid()
    shares = torch.cat([share, 1 - share], -1)
    attention = {AttentionKey("mt", "soft"): soft, AttentionKey("mt", "copy"): weights}
    output = compare(model, mixture(model, x, shares, [(weights, MT.ids)]), attention, {"mt": MT})
    torch.testing.assert_close(output.aux["gate"], shares, rtol=0, atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_copy_transformer_copies_by_its_first_head(norm: Norm) -> None:
    config = CopyTransformerConfig(layers_mt=1, layers_pe=2, norm=norm, **SIZES)
    model = scattered(CopyTransformer, config, APART)
    mt = encode(model.encoder, norm, embed(model.embed_mt.table, MT.ids), ~MT.mask)
    inputs: list[Tensor] = []
    last = model.decoder.blocks()[-1]
    with pytest.MonkeyPatch.context() as patch:  # what the last cross-attention reads, from the layers assembled here
        patch.setitem(globals(), "attend", lambda *given: inputs.append(given[1]) or attend_by_torch(*given))
        x, (soft,), _ = run_decoder(model, norm, [[(mt, ~MT.mask)]] * 2)
    ours, width = last.cross_attentions[0], DIM // HEADS
    queries = inputs[-1] @ ours.query.weight[:width].T + ours.query.bias[:width]
    keys = mt @ ours.key_value.weight[:width].T + ours.key_value.bias[:width]
    weights = point(queries, keys, ~MT.mask, width**-0.5)
    share = (x @ model.gate.weight.T + model.gate.bias).sigmoid()
    shares = torch.cat([share, 1 - share], -1)
    attention = {AttentionKey("mt", "soft"): soft, AttentionKey("mt", "copy"): weights}
    output = compare(model, mixture(model, x, shares, [(weights, MT.ids)]), attention, {"mt": MT})
    torch.testing.assert_close(output.aux["gate"], shares, rtol=0, atol=1e-12)


@QUERIES
@pytest.mark.parametrize("norm", NORMS)
def test_copycat_trg_points_from_behind_the_attention_to_mt(norm: Norm, query: str, bias: bool) -> None:
    config = CopycatDualConfig(
        layers_encoder=1, layers_pe=2, norm=norm, share_encoders=False, share_embeddings="mt-pe",
        copy_query=query, gate_bias=bias, **SIZES,
    )  # fmt: skip
    model = scattered(CopycatTrg, config, APART)
    mt = encode(model.encoder_mt, norm, embed(model.embed_mt.table, MT.ids), ~MT.mask)
    src = encode(model.encoder_src, norm, embed(model.embed_src.table, SRC.ids), ~SRC.mask)
    x, (to_mt, to_src), (found, _) = run_decoder(model, norm, [[(mt, ~MT.mask), (src, ~SRC.mask)]] * 2)
    read = getattr(found, query)
    weights = point(read, mt, ~MT.mask)
    share = share_logits(model, read, bias).sigmoid()
    shares = torch.cat([share, 1 - share], -1)
    soft = {AttentionKey("mt", "soft"): to_mt, AttentionKey("src", "soft"): to_src}
    attention = soft | {AttentionKey("mt", "copy"): weights}
    output = compare(model, mixture(model, x, shares, [(weights, MT.ids)]), attention)
    torch.testing.assert_close(output.aux["gate"], shares, rtol=0, atol=1e-12)


@QUERIES
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("shared", [True, False])
def test_copycat_src_has_a_pointer_to_each_text_and_three_shares(
    norm: Norm, shared: bool, query: str, bias: bool
) -> None:
    options = {"share_encoders": shared, "copy_query": query, "gate_bias": bias}
    config = CopycatDualConfig(layers_encoder=2, layers_pe=2, norm=norm, **options, **SIZES)
    model = scattered(CopycatSrc, config, TOGETHER)
    mt = encode(model.encoder_mt, norm, embed(model.embed_mt.table, MT.ids), ~MT.mask)
    src = encode(model.encoder_src, norm, embed(model.embed_src.table, SRC.ids), ~SRC.mask)
    x, (to_mt, to_src), found = run_decoder(model, norm, [[(mt, ~MT.mask), (src, ~SRC.mask)]] * 2)
    of_mt, of_src = (getattr(one, query) for one in found)
    from_mt, from_src = point(of_mt, mt, ~MT.mask), point(of_src, src, ~SRC.mask)
    shares = share_logits(model, of_src, bias).softmax(-1)
    attention = {
        AttentionKey("mt", "soft"): to_mt,
        AttentionKey("src", "soft"): to_src,
        AttentionKey("mt", "copy"): from_mt,
        AttentionKey("src", "copy"): from_src,
    }
    expected = mixture(model, x, shares, [(from_mt, MT.ids), (from_src, SRC.ids)])
    output = compare(model, expected, attention)
    torch.testing.assert_close(output.aux["gate"], shares, rtol=0, atol=1e-12)
