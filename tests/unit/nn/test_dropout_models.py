"""Dropout where the models apply it: what each layer reads in training is what it reads otherwise, or 0, and scaled.

A layer's input is compared with the value before dropout. Both are recorded by hooks in the same pass, so a model from
which a dropout is removed, or one that draws a mask anew at every step where it must not, fails.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor, nn

from postedit.core.config import Config
from postedit.core.model import Seq2Seq, Vocabularies, VocabularyInfo
from postedit.core.special_tokens import BOS, EOS, STEP
from postedit.core.types import Batch, Stream, Target
from postedit.models.conditional_gru import (
    CGRU,
    CharacterLevel,
    CharacterLevelConfig,
    ConditionalGRUConfig,
    GRUHard,
    MCGRUHard,
)
from postedit.models.cross_encoder import CrossEncoder, CrossEncoderConfig
from postedit.models.draft_and_refine import AttentionNMT, AttentionNMTConfig, DoubleAttention, DoubleAttentionConfig
from postedit.models.edit_operations import ChainedEditOperations, ChainedEditOperationsConfig
from postedit.models.shared_attention import FlatAttention, LSTMConfig, MergedAttention, SharedAttention
from postedit.models.transformer import DualTransformer
from postedit.models.transformer_base import DualSourceConfig
from postedit.nn.attention import MultiHeadAttention
from postedit.nn.cache import KeyValue
from postedit.nn.heads import SoftmaxHead
from postedit.nn.recurrent import BiGRU

P = 0.25
ROWS, STEPS, WIDTH = 40, 6, 16
PE = VocabularyInfo(30, "pe")
VOCABULARIES = Vocabularies({"src": PE, "mt": PE}, PE)
PAPERS_GRU = [CGRU, GRUHard, MCGRUHard]
TRANSLATORS = [(AttentionNMT, AttentionNMTConfig), (DoubleAttention, DoubleAttentionConfig)]
LSTMS = [SharedAttention, FlatAttention, MergedAttention]


def build(model_class: type[Seq2Seq], config: Config) -> Seq2Seq:
    torch.manual_seed(0)
    model = model_class(config, VOCABULARIES).double().train()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


@contextmanager
def recorded(*modules: nn.Module) -> Iterator[dict[nn.Module, list[tuple[Tensor, Tensor]]]]:
    """Record the first input and output of each call of the modules; of a head, the input twice."""
    calls: dict[nn.Module, list[tuple[Tensor, Tensor]]] = {module: [] for module in modules}

    def record(module: nn.Module, inputs: tuple[Tensor, ...], output: object) -> None:
        first = output[0] if isinstance(output, tuple) else output
        first = inputs[0] if isinstance(module, SoftmaxHead) else first
        calls[module].append((inputs[0].detach().clone(), first.detach().clone()))

    handles = [module.register_forward_hook(record) for module in modules]
    yield calls
    for handle in handles:
        handle.remove()


def inputs_of(calls: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Return the inputs of successive steps, Float[N,K,D]."""
    return torch.stack([given for given, _ in calls], 1)


def texts(model: Seq2Seq) -> Batch:
    ids = torch.randint(7, PE.size, (ROWS, STEPS), generator=torch.Generator().manual_seed(1))
    ids[:, -1] = EOS
    return Batch({name: Stream(ids, torch.ones_like(ids, dtype=torch.bool)) for name in model.spec.inputs})


def prefix() -> Tensor:
    tokens = torch.randint(7, PE.size, (ROWS, STEPS), generator=torch.Generator().manual_seed(2))
    tokens[:, 0], tokens[:, 3] = BOS, STEP
    return tokens


def run(model: Seq2Seq) -> None:
    with torch.no_grad():
        model.decode(prefix(), model.encode(texts(model)))


def kept(after: Tensor, before: Tensor) -> Tensor:
    """Return 1 where a unit was kept and scaled by 1/(1-P), 0 where it was dropped; anything else fails."""
    ratio = torch.where(before.abs() > 1e-12, after / before, torch.nan) * (1 - P)
    known = ratio[~ratio.isnan()]
    torch.testing.assert_close(known, known.round(), rtol=0, atol=1e-9)
    assert set(known.round().unique().tolist()) == {0.0, 1.0}
    assert known.mean().item() == pytest.approx(1 - P, abs=0.1), "the expectation stays"
    return ratio.round()


def assert_units_are_dropped(after: Tensor, before: Tensor) -> None:
    """Single units Float[N,K,D] are dropped, others at every step."""
    units = kept(after, before)
    assert (units != units[:, :1]).any()
    assert (units != units[..., :1]).any()


def assert_dropped_at_every_step_alike(after: Tensor, before: Tensor) -> None:
    """The units Float[N,K,D] that are dropped are the same at every step of a row, and others in other rows."""
    units = kept(after, before)
    first = units.nan_to_num(-1.0).amax(1, keepdim=True).expand_as(units)  # of steps where the unit is not 0 by itself
    assert torch.equal(units[~units.isnan()], first[~units.isnan()])
    assert (units != units[:1]).any()
    assert (units != units[..., :1]).any()


def assert_words_are_dropped(after: Tensor, before: Tensor) -> None:
    """All units of a position are dropped, or none."""
    units = kept(after, before)
    assert torch.equal(units, units[..., :1].expand_as(units))
    assert (units != units[:, :1]).any()


def assert_states_are_dropped(model: Seq2Seq, encoder: BiGRU) -> None:
    """In each direction the gates read a state with the same units dropped at every step."""
    cells = (encoder.forwards, encoder.backwards)
    with recorded(*cells, *(cell.state for cell in cells)) as calls:
        run(model)
    for cell in cells:
        # What a cell returns is its next state.
        states = torch.stack([state for _, state in calls[cell][:-1]], 1)
        assert_dropped_at_every_step_alike(inputs_of(calls[cell.state][1:]), states)


def embedded(model: Seq2Seq, table: nn.Embedding, ids: Tensor) -> Tensor:
    return table(ids).detach() * model.embedding_scale


@pytest.mark.parametrize("model_class", PAPERS_GRU)
def test_whole_words_are_dropped_from_inputs_and_pe(model_class: type[Seq2Seq]) -> None:
    config = ConditionalGRUConfig(embedding=WIDTH, hidden=WIDTH, attention=8, dropout_rnn=0.0, dropout_word=P)
    model = build(model_class, config)
    with recorded(*model.encoders.values(), model.deep_embedding, model.gru1.input) as calls:
        run(model)
    for name, encoder in model.encoders.items():
        ids = texts(model).streams[name].ids
        assert_words_are_dropped(calls[encoder][0][0], embedded(model, model.embed_inputs[name], ids))
    pe = embedded(model, model.embed_pe, prefix())
    for layer in (model.deep_embedding, model.gru1.input):
        assert_words_are_dropped(calls[layer][0][0][..., :WIDTH], pe)


@pytest.mark.parametrize("model_class", PAPERS_GRU)
def test_recurrent_dropout_of_conditional_grus(model_class: type[Seq2Seq]) -> None:
    config = ConditionalGRUConfig(embedding=WIDTH, hidden=WIDTH, attention=8, dropout_rnn=P, dropout_word=0.0)
    model = build(model_class, config)
    cells = [model.gru1] if model.gru2 is None else [model.gru1, model.gru2]
    encoder = model.encoders["mt"]
    assert_states_are_dropped(model, encoder)
    layers = [layer for cell in cells for layer in (cell, cell.state)]
    with recorded(*layers, *(cell.input for cell in cells), model.deep_context, encoder) as calls:
        run(model)
    ids = texts(model).streams["mt"].ids
    assert_dropped_at_every_step_alike(calls[encoder][0][0], embedded(model, model.embed_inputs["mt"], ids))
    fed = calls[model.gru1.input][0][0]
    assert_dropped_at_every_step_alike(fed[..., :WIDTH], embedded(model, model.embed_pe, prefix()))
    last = cells[-1]  # its state is what the first cell reads at the next step
    states = torch.stack([state for _, state in calls[last][:-1]], 1)
    assert_dropped_at_every_step_alike(inputs_of(calls[model.gru1.state][1:]), states)
    contexts = calls[model.deep_context][0][0]
    if model.gru2 is None:
        assert_dropped_at_every_step_alike(fed[..., WIDTH:], contexts)  # the hard-attended annotation
        return
    middle = torch.stack([state for _, state in calls[model.gru1]], 1)
    assert_dropped_at_every_step_alike(inputs_of(calls[model.gru2.state]), middle)
    units = kept(inputs_of(calls[model.gru1.state][1:]), states), kept(inputs_of(calls[model.gru2.state]), middle)
    assert (units[0] != units[1][:, 1:]).any(), "each GRU has its own mask"
    assert_dropped_at_every_step_alike(inputs_of(calls[model.gru2.input]), contexts)
    if model.hard:
        with recorded(model.encoders["mt"], model.gru1.input) as calls:
            run(model)
        annotations, fed = calls[model.encoders["mt"]][0][1], calls[model.gru1.input][0][0]
        positions = (prefix() == STEP).cumsum(1).unsqueeze(-1).expand(-1, -1, 2 * WIDTH)
        assert_dropped_at_every_step_alike(fed[..., WIDTH:], annotations.gather(1, positions))


@pytest.mark.parametrize(("model_class", "config_class"), TRANSLATORS)
def test_recurrent_dropout_of_translators(model_class: type[Seq2Seq], config_class: type[Config]) -> None:
    model = build(model_class, config_class(embedding=WIDTH, hidden=WIDTH, attention=8, maxout=8, dropout=P))
    readout = model.readout
    layers = (model.gru, model.gru.state, model.gru.input, model.gru_context, readout.context, readout.embedding)
    with recorded(*layers) as calls:
        run(model)
    states = torch.stack([state for _, state in calls[model.gru][:-1]], 1)
    assert_dropped_at_every_step_alike(inputs_of(calls[model.gru.state][1:]), states)
    assert_dropped_at_every_step_alike(inputs_of(calls[model.gru_context]), calls[readout.context][0][0])
    for layer in (model.gru.input, readout.embedding):
        assert_dropped_at_every_step_alike(calls[layer][0][0], embedded(model, model.embed_pe, prefix()))
    for name, input_layers in model.input_layers.items():
        with recorded(input_layers.encoder) as calls:
            run(model)
        ids = texts(model).streams[name].ids
        assert_dropped_at_every_step_alike(calls[input_layers.encoder][0][0], embedded(model, input_layers.table, ids))
        assert_states_are_dropped(model, input_layers.encoder)


def test_recurrent_dropout_over_the_segments_of_the_character_level_model() -> None:
    sizes = {"embedding": WIDTH, "hidden": WIDTH, "attention": 8, "filters": (5, 4), "segment": 2, "highway": 1}
    model = build(CharacterLevel, CharacterLevelConfig(**sizes, dropout_rnn=P))
    assert_states_are_dropped(model, model.encoders["src"].rnn)


def test_edit_operations_drop_units_of_embeddings_and_of_the_deep_output() -> None:
    model = build(ChainedEditOperations, ChainedEditOperationsConfig(embedding=WIDTH, hidden=WIDTH, dropout=P))
    deep, translator = (model.deep_state, model.deep_operation, model.deep_context), model.translator
    read = [(model.embed_operations, model.deep_operation), (model.embed_src, translator.encoder)]
    batch = Batch(texts(model).streams, Target(prefix(), torch.ones_like(prefix(), dtype=torch.bool)))
    layers = {*(layer for pair in read for layer in pair), *deep, translator.features, translator.lstm}
    with recorded(*layers, model.embed_mt, model.encoder, model.head, translator.head) as calls, torch.no_grad():
        model(batch)
    for table, reader in read:
        assert_units_are_dropped(calls[reader][0][0], calls[table][0][1])
    for call, reader in enumerate((model.encoder, translator.lstm)):
        assert_units_are_dropped(calls[reader][0][0], calls[model.embed_mt][call][1])
    features = sum(calls[layer][0][1] for layer in deep)
    assert_units_are_dropped(calls[model.head][0][0], features.tanh())
    assert_units_are_dropped(calls[translator.head][0][0], calls[translator.features][0][1].tanh())


@pytest.mark.parametrize("model_class", LSTMS)
def test_lstms_drop_units_of_the_attentional_state_and_between_layers(model_class: type[Seq2Seq]) -> None:
    model = build(model_class, LSTMConfig(embedding=WIDTH, hidden=WIDTH, dropout=P))
    first, second = model.cells
    with recorded(first, second, model.attentional) as calls, torch.no_grad():
        _, state = model.decode(prefix(), model.encode(texts(model)))
    before = torch.stack([output for _, output in calls[model.attentional]], 1).tanh()
    attentional = state.history["u"][:, 1:]
    assert_units_are_dropped(attentional, before)
    fed = inputs_of(calls[first])[..., WIDTH:]
    assert torch.equal(fed[:, 1:], attentional[:, :-1]), "the decoder is fed what was dropped from"
    states = torch.stack([output for _, output in calls[first]], 1)
    assert_units_are_dropped(inputs_of(calls[second]), states)
    assert model.encoders["src"].lstm.dropout == P  # PyTorch's own, between layers


def transformer(norm: str = "post", **options: float) -> Seq2Seq:
    sizes = {"layers_encoder": 1, "layers_pe": 1, "dim": WIDTH, "heads": 2, "feed_forward": WIDTH}
    return build(DualTransformer, DualSourceConfig(**sizes, norm=norm, **options))


def test_transformer_layers_drop_units_of_every_sublayer_and_inner_units() -> None:
    model = transformer(dropout=P)
    for layer in (model.decoder.blocks()[0], model.encoder_mt.blocks()[0]):
        attentions = [layer.self_attention, *layer.cross_attentions]
        with recorded(layer, *attentions, *layer.norms, layer.inner, layer.outer) as calls:
            run(model)
        residual = calls[layer][0][0]
        for sublayer, norm in zip([*attentions, layer.outer], layer.norms, strict=True):
            total, normalised = calls[norm][0]
            assert_units_are_dropped(total - residual, calls[sublayer][0][1])
            residual = normalised
        assert_units_are_dropped(calls[layer.outer][0][0], calls[layer.inner][0][1].relu())


def test_the_view_of_mt_in_a_cross_encoder_has_dropout() -> None:
    sizes = {"layers_src": 1, "layers_mt": 1, "layers_pe": 1, "dim": WIDTH, "heads": 2, "feed_forward": WIDTH}
    model = build(CrossEncoder, CrossEncoderConfig(**sizes, norm="post", dropout=P, dropout_attention=0.5))
    (view,) = model.views
    with recorded(view, view.attention, view.layer_norm) as calls:
        run(model)
    total, attended = calls[view.layer_norm][0][0], calls[view.attention][0][1]
    assert_units_are_dropped(total - calls[view][0][0], attended)
    assert view.attention.dropout == 0.5


def test_dropout_of_attention_and_of_inner_units_can_be_off_by_themselves() -> None:
    """As in tensor2tensor's transformer_base_v1."""
    model = transformer(dropout=P, dropout_attention=0.0, dropout_inner=0.0)
    layer = model.decoder.blocks()[0]
    with recorded(layer, layer.self_attention, layer.norms[0], layer.inner, layer.outer) as calls:
        run(model)
    assert torch.equal(calls[layer.outer][0][0], calls[layer.inner][0][1].relu())
    assert_units_are_dropped(calls[layer.norms[0]][0][0] - calls[layer][0][0], calls[layer.self_attention][0][1])
    assert layer.self_attention.dropout == layer.cross_attentions[0].dropout == 0.0


def test_transformers_drop_units_of_embeddings() -> None:
    model = transformer(dropout=P)
    with torch.no_grad():
        dropped = model.embed_pe(prefix())
        assert_units_are_dropped(dropped, model.eval().embed_pe(prefix()))


def test_attention_drops_single_weights() -> None:
    """With one position every weight is 1, and what is read of a row is its value, scaled, or nothing."""
    torch.manual_seed(0)
    attention = MultiHeadAttention(WIDTH, heads=2, dropout=P).double().train()
    values = torch.ones(ROWS, 2, 1, WIDTH // 2, dtype=torch.float64)
    with recorded(attention.output) as calls, torch.no_grad():
        attention(torch.randn(ROWS, STEPS, WIDTH, dtype=torch.float64), KeyValue(values, values), None)
    read = calls[attention.output][0][0].unflatten(-1, (2, -1))
    heads = kept(read, torch.ones_like(read))
    assert torch.equal(heads, heads[..., :1].expand_as(heads))
    assert (heads[:, :, 0] != heads[:, :, 1]).any()


GRU = {"embedding": WIDTH, "hidden": WIDTH, "attention": 8}


@pytest.mark.parametrize(
    ("model_class", "config"),
    [
        *((one, ConditionalGRUConfig(**GRU, dropout_rnn=P, dropout_word=P)) for one in PAPERS_GRU),
        *((one, kind(**GRU, maxout=8, dropout=P)) for one, kind in TRANSLATORS),
        *((one, LSTMConfig(embedding=WIDTH, hidden=WIDTH, dropout=P)) for one in LSTMS),
        (DualTransformer, DualSourceConfig(layers_encoder=1, layers_pe=1, dim=WIDTH, heads=2, feed_forward=WIDTH)),
    ],
)
def test_nothing_is_dropped_in_evaluation(model_class: type[Seq2Seq], config: Config) -> None:
    nothing = {name: 0.0 for name in type(config).model_fields if name.startswith("dropout")}
    without = build(model_class, config.model_copy(update=nothing))
    model = build(model_class, config)

    def log_probs(one: Seq2Seq) -> Tensor:
        with torch.no_grad():
            return one.decode(prefix(), one.encode(texts(one)))[0].log_probs

    assert not torch.equal(log_probs(model), log_probs(model))
    torch.testing.assert_close(log_probs(model.eval()), log_probs(without), rtol=0, atol=1e-12)
