"""The recurrent models of Junczys-Dowmunt and Grundkiewicz 2017: a base class and five models that differ in attention.

Encoders are bidirectional GRUs, the decoder is a GRU with attention, and the output layer is deep. Two further models
build on these: the character-level model of Varis and Bojar 2017, which has the same decoder but other encoders, and
that of Pal et al. 2017, which trains a model from mt to pe together with one from pe to mt.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar, NamedTuple, cast

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from postedit.core.config import Config
from postedit.core.model import Constraint, ModelSpec, Seq2Seq, Vocabularies
from postedit.core.types import AttentionKey, Batch, DecoderOutput, Stream, Target
from postedit.nn.attention import AdditiveAttention
from postedit.nn.dropout import keep_mask, variational_dropout, word_dropout
from postedit.nn.embeddings import Sharing, embedding_tables, require_one_vocabulary
from postedit.nn.hard_attention import StepGrammar, hard_positions
from postedit.nn.heads import SoftmaxHead
from postedit.nn.memory import Memory
from postedit.nn.operations import edit_alignment
from postedit.nn.pooling import PoolingEncoder
from postedit.nn.recurrent import BiGRU, GRUCell, RecurrentState

HARD = AttentionKey("mt", "hard")


class ConditionalGRUConfig(Config):
    """Sizes; the defaults are the paper's (section 5.2)."""

    embedding: int = Field(512, ge=1, description="width of embeddings, and of the deep output layer")
    hidden: int = Field(1024, ge=1, description="width of the RNN states; annotations are twice as wide")
    attention: int | None = Field(
        None, ge=1, description="width of the soft attention layers; as wide as annotations if unset"
    )
    dropout_rnn: float = Field(0.2, ge=0, lt=1, description="variational, over GRU inputs and states")
    dropout_word: float = Field(0.2, ge=0, lt=1, description="of whole words, in inputs and pe")
    share_embeddings: Sharing = Field("none", description="streams that share an embedding table with pe")
    tie_output: bool = Field(False, description="the output layer's weights are the embeddings of pe")


class _StepMasks(NamedTuple):
    """Dropout masks for the states of both GRUs, the soft contexts and the hard context; None: nothing is dropped."""

    state1: Tensor | None = None
    state2: Tensor | None = None
    context: Tensor | None = None
    hard: Tensor | None = None


class ConditionalGRUModel(Seq2Seq[RecurrentState]):
    """Base class of the family: a subclass sets its `inputs`, those with `soft` attention, and `hard` attention to mt.

    s0 = tanh(W_init [mean of each input's annotations]); for each token s' = GRU1(s, x), c = [ATT(C, s') of each text
    with soft attention], s = GRU2(s', c), t = tanh(W1 s + W2 E[y] + W3 c), p = softmax(W_o t). x is E[y], or
    [E[y]; h_a] under hard attention, where h_a is the annotation of mt at the attended position. A model with only hard
    attention has no GRU2: s = s', and c = h_a.

    The paper omits biases from its formulas (footnote 2), and gives neither the width of the attention layer nor what
    the decoder reads first. Here every tanh, sigmoid and final softmax has a bias in its argument, and GRUs have two,
    as in PyTorch; the attention layer is as wide as the annotations, as in the Nematus model that the paper follows;
    BOS, read first, has its own embedding. Embeddings are multiplied by sqrt(width), as in a Transformer; E[y] is the
    product. A table initialised with deviation 1/sqrt(width) then suits both the input and a tied output layer.

    Raises:
        RecipeError: if streams that share embeddings, or mt and pe under hard attention, have different vocabularies.
    """

    config_class: ClassVar = ConditionalGRUConfig
    soft: ClassVar[tuple[str, ...]]
    hard: ClassVar[bool] = False

    def __init__(self, config: ConditionalGRUConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        super().__init__()
        keys = {AttentionKey(name, "soft") for name in self.soft} | ({HARD} if self.hard else set())
        self.spec = ModelSpec(self.inputs, vocabularies, frozenset(keys), parallel=False, writes=self.writes)
        if self.hard:
            require_one_vocabulary(vocabularies, "mt", "hard attention, which finds the tokens of mt in pe,")
        self.dropout_rnn, self.dropout_word = config.dropout_rnn, config.dropout_word
        width, hidden = config.embedding, config.hidden
        self.embedding_scale = width**0.5
        annotation = 2 * hidden
        contexts = annotation * (len(self.soft) or 1)
        tables, self.embed_pe = embedding_tables(vocabularies, self.inputs, width, config.share_embeddings)
        self.embed_inputs = nn.ModuleDict(tables)
        self.encoders = nn.ModuleDict({name: self.create_encoder(config) for name in self.inputs})
        self.attentions = nn.ModuleDict(
            {name: AdditiveAttention(hidden, annotation, config.attention or annotation) for name in self.soft}
        )
        self.init = nn.Linear(annotation * len(self.inputs), hidden)
        self.gru1 = GRUCell(width + annotation if self.hard else width, hidden)
        self.gru2 = GRUCell(contexts, hidden) if self.soft else None
        self.deep_state = nn.Linear(hidden, width)
        self.deep_embedding = nn.Linear(width, width, bias=False)
        self.deep_context = nn.Linear(contexts, width, bias=False)
        self.head = SoftmaxHead(width, vocabularies.target.size, tied=self.embed_pe if config.tie_output else None)
        for layer in (self.init, self.deep_state, self.deep_embedding, self.deep_context):
            nn.init.xavier_uniform_(layer.weight)
        for table in (*tables.values(), self.embed_pe):
            nn.init.normal_(table.weight, std=width**-0.5)
        nn.init.zeros_(self.init.bias)
        nn.init.zeros_(self.deep_state.bias)

    def create_encoder(self, config: ConditionalGRUConfig) -> nn.Module:
        """Return an encoder with fresh weights, whose annotations are twice as wide as `hidden`."""
        return BiGRU(config.embedding, config.hidden, config.dropout_rnn)

    def annotate(self, name: str, x_NSE: Tensor, mask_NS: Tensor) -> dict[str, Tensor]:
        """Return the annotations of an embedded input (zero on padding) and their mask, by name in the memory."""
        return {f"{name}.annotations": self.encoders[name](x_NSE, mask_NS), f"{name}.mask": mask_NS}

    def encode(self, batch: Batch) -> RecurrentState:
        """Encode all inputs into annotations, attention keys and the initial decoder state."""
        tensors: dict[str, Tensor] = {}
        means = []
        for name in self.inputs:
            stream = batch.streams[name]
            tensors |= self.annotate(name, self._embed(self.embed_inputs[name], stream.ids), stream.mask)
            annotations_NSC, lengths_N = tensors[f"{name}.annotations"], tensors[f"{name}.mask"].sum(1)
            means.append(annotations_NSC.sum(1) / lengths_N.unsqueeze(1).to(annotations_NSC.dtype))
            if name in self.soft:
                tensors[f"{name}.keys"] = cast(AdditiveAttention, self.attentions[name]).project(annotations_NSC)
        history = {"s": torch.tanh(self.init(torch.cat(means, -1))).unsqueeze(1)}
        if self.hard:
            history["position"] = torch.zeros(batch.rows, 1, dtype=torch.long, device=batch.device)
        return RecurrentState(Memory.of(**tensors), history)

    def decode(self, tokens: Tensor, state: RecurrentState) -> tuple[DecoderOutput, RecurrentState]:
        """Read K more target tokens Long[N,K], and predict the token that follows each of them."""
        memory, history = state.memory, {}
        embedded_NKE = self._embed(self.embed_pe, tokens)
        masks = self._masks(embedded_NKE)
        inputs_NKX = embedded_NKE
        if self.hard:
            start_N = state.current("position")
            positions_NK = hard_positions(start_N, memory["mt.mask"].sum(1) - 1, tokens)
            history["position"] = torch.cat([start_N.unsqueeze(1), positions_NK], 1)
            annotations_NSC = memory["mt.annotations"]
            hard_NKC = annotations_NSC.gather(1, positions_NK.unsqueeze(-1).expand(-1, -1, annotations_NSC.size(-1)))
            dropped_NKC = hard_NKC if masks.hard is None else hard_NKC * masks.hard.unsqueeze(1)
            inputs_NKX = torch.cat([embedded_NKE, dropped_NKC], -1)
        states_NKD, contexts_NKC, attention = self._run_decoder(inputs_NKX, state, masks)
        contexts_NKC = hard_NKC if contexts_NKC is None else contexts_NKC
        if self.hard:
            attention[HARD] = F.one_hot(positions_NK, memory["mt.mask"].size(1)).to(states_NKD.dtype)
        features_NKE = torch.tanh(
            self.deep_state(states_NKD[:, 1:]) + self.deep_embedding(embedded_NKE) + self.deep_context(contexts_NKC)
        )
        return DecoderOutput(self.head(features_NKE), attention), RecurrentState(memory, {"s": states_NKD, **history})

    def constraints(self, batch: Batch) -> tuple[Constraint, ...]:
        """Return the grammar of STEP and EOS under hard attention; no constraints without it."""
        if not self.hard:
            return ()
        return (StepGrammar.of(batch.streams["mt"].lengths, self.spec.vocabularies.target.size),)

    def _run_decoder(
        self, inputs_NKX: Tensor, state: RecurrentState, masks: _StepMasks
    ) -> tuple[Tensor, Tensor | None, dict[AttentionKey, Tensor]]:
        """Return the states Float[N,K+1,D] from the start, soft contexts Float[N,K,C] or None, and soft attention."""
        memory, s_ND = state.memory, state.current("s")
        states, contexts = [s_ND], []
        weights: dict[str, list[Tensor]] = {name: [] for name in self.soft}
        texts = {name: [memory[f"{name}.{part}"] for part in ("keys", "annotations", "mask")] for name in self.soft}
        for projected in self.gru1.project(inputs_NKX).unbind(1):
            s_ND = self.gru1(projected, s_ND, masks.state1)
            if self.gru2 is not None:
                parts = []
                for name in self.soft:
                    context, weight = self.attentions[name](s_ND, *texts[name])
                    parts.append(context)
                    weights[name].append(weight)
                context_NC = torch.cat(parts, -1)
                dropped_NC = context_NC if masks.context is None else context_NC * masks.context
                s_ND = self.gru2(self.gru2.project(dropped_NC), s_ND, masks.state2)
                contexts.append(context_NC)
            states.append(s_ND)
        attention = {AttentionKey(name, "soft"): torch.stack(weights[name], 1) for name in self.soft}
        return torch.stack(states, 1), torch.stack(contexts, 1) if contexts else None, attention

    def _embed(self, table: nn.Module, ids: Tensor) -> Tensor:
        x = word_dropout(table(ids) * self.embedding_scale, self.dropout_word, self.training)
        return variational_dropout(x, self.dropout_rnn, self.training)

    def _masks(self, like: Tensor) -> _StepMasks:
        """Return the dropout masks that all steps of this call share."""
        if not self.training or self.dropout_rnn == 0.0:
            return _StepMasks()
        hidden, contexts = self.init.out_features, self.deep_context.in_features

        def mask(width: int) -> Tensor:
            return keep_mask(like, (like.size(0), width), self.dropout_rnn)

        return _StepMasks(
            mask(hidden),
            mask(hidden) if self.soft else None,
            mask(contexts) if self.soft else None,
            mask(2 * hidden) if self.hard else None,
        )


class CGRU(ConditionalGRUModel):
    """p(pe | mt) with soft attention (section 3).

    s0 = tanh(W_init mean h); then for each token s' = GRU1(s, E[y]), c = ATT(C, s'), s = GRU2(s', c) (eq. 2),
    t = tanh(W1 s + W2 E[y] + W3 c), p = softmax(W_o t).
    """

    inputs: ClassVar = ("mt",)
    soft: ClassVar = ("mt",)


class SymmetricAttentionConfig(ConditionalGRUConfig):
    """Sizes of both models, and the weights of the agreement of their attentions."""

    agreement: float = Field(1.0, ge=0, description="nats for each token whose attention agrees in both directions")
    prior: float = Field(
        0.0, ge=0, description="nats for each token whose attention, in either direction, agrees with the fewest edits"
    )


class SymmetricAttention(CGRU):
    """p(pe | mt), trained together with p(mt | pe) so that their attentions agree (Pal et al. 2017).

    There are two CGRUs: one from mt to pe, the only one used after training, and one from pe to mt, `reverse`. Let a_ti
    be the attention of the first to token i of mt when it writes token t of pe, and b_it that of the second to token t
    of pe when it writes token i of mt. The loss of a sentence has the trace bonus of Cohn et al. 2016, section 4.4:

    L = -log p(pe | mt) - log p(mt | pe) - sum over t and i of (agreement * a_ti b_it + prior * z_ti (a_ti + b_it))

    where z_ti is 1 if the fewest edits from mt to pe align token t of pe with token i of mt, and else 0. EOS counts as
    a token of both texts. This class was written without the text of the paper: symmetric attention, and the use of
    alignments computed beforehand, follow descriptions of it; the agreement term follows the cited work. Two choices
    are ours: alignments enter as a third party of the agreement (the prior), and the model of each direction is a CGRU.

    Raises:
        RecipeError: if `prior` is not 0, and mt does not have the vocabulary of pe.
    """

    config_class: ClassVar = SymmetricAttentionConfig
    training_only: ClassVar = ("reverse.",)

    def __init__(self, config: SymmetricAttentionConfig, vocabularies: Vocabularies) -> None:
        """Create both models with fresh weights."""
        super().__init__(config, vocabularies)
        self.agreement, self.prior = config.agreement, config.prior
        if self.prior:
            require_one_vocabulary(vocabularies, "mt", "model.prior, which aligns mt and pe,")
        self.reverse = CGRU(config, Vocabularies({"mt": vocabularies.target}, vocabularies.streams["mt"]))

    def joint_loss(
        self, batch: Batch, state: RecurrentState, attention: Mapping[AttentionKey, Tensor], smoothing: float
    ) -> Tensor:
        """Return the loss of mt given pe, minus the agreement of the two attentions with each other and the prior."""
        assert batch.target is not None
        mt, pe = batch.streams["mt"], batch.target
        back = Batch({"mt": Stream(pe.ids, pe.mask)}, Target(mt.ids, mt.mask))
        loss, output = self.reverse.teacher_forced(back, smoothing)
        # Attention to padding is 0, so a product is 0 where either of its tokens is padding.
        key = AttentionKey("mt", "soft")
        there_BTS, back_BTS = attention[key], output.attention[key].transpose(1, 2)
        agreed = self.agreement * (there_BTS * back_BTS).sum()
        if self.prior:
            agreed = agreed + self.prior * (edit_alignment(mt, pe) * (there_BTS + back_BTS)).sum()
        return loss.loss - agreed.to(loss.loss.dtype)


class GRUHard(ConditionalGRUModel):
    """p(pe with STEPs | mt) with hard monotonic attention only (section 4.1): each STEP moves it to the next position.

    s0 = tanh(W_init mean h); then for each token a = a + [y is STEP], s = GRU(s, [E[y]; h_a]) (eq. 3),
    t = tanh(W1 s + W2 E[y] + W3 h_a), p = softmax(W_o t). The paper counts positions from 1, this code from 0. The
    grammar of STEP and EOS is described in `nn.hard_attention`.
    """

    inputs: ClassVar = ("mt",)
    soft: ClassVar = ()
    hard: ClassVar = True
    writes: ClassVar = "steps"


class CGRUHard(ConditionalGRUModel):
    """p(pe with STEPs | mt) with hard and soft attention to mt (section 4.2).

    s0 = tanh(W_init mean h); then for each token a = a + [y is STEP], s' = GRU1(s, [E[y]; h_a]), c = ATT(C, s'),
    s = GRU2(s', c) (eq. 4), t = tanh(W1 s + W2 E[y] + W3 c), p = softmax(W_o t). The deep output layer reads c but not
    h_a, as in CGRU, since the paper says that the rest of the model is unchanged.
    """

    inputs: ClassVar = ("mt",)
    soft: ClassVar = ("mt",)
    hard: ClassVar = True
    writes: ClassVar = "steps"


class MCGRU(ConditionalGRUModel):
    """p(pe | mt, src) with soft attention to both inputs at every step (sections 3 and 4.3).

    s0 = tanh(W_init [mean h_mt; mean h_src]); then for each token s' = GRU1(s, E[y]), c = [ATT(C_mt, s');
    ATT(C_src, s')], s = GRU2(s', c) (eq. 5), t = tanh(W1 s + W2 E[y] + W3 c), p = softmax(W_o t).
    """

    inputs: ClassVar = ("mt", "src")
    soft: ClassVar = ("mt", "src")


class MCGRUHard(ConditionalGRUModel):
    """p(pe with STEPs | mt, src) with hard attention to mt, and soft attention to mt and src (section 4.4).

    s0 = tanh(W_init [mean h_mt; mean h_src]); then for each token a = a + [y is STEP], s' = GRU1(s, [E[y]; h_mt,a]),
    c = [ATT(C_mt, s'); ATT(C_src, s')], s = GRU2(s', c), t = tanh(W1 s + W2 E[y] + W3 c), p = softmax(W_o t).
    """

    inputs: ClassVar = ("mt", "src")
    soft: ClassVar = ("mt", "src")
    hard: ClassVar = True
    writes: ClassVar = "steps"


class CharacterLevelConfig(ConditionalGRUConfig):
    """Sizes; the defaults are those of the cited encoder (Lee et al. 2017, table 1), where it gives them."""

    embedding: int = Field(128, ge=1, description="width of embeddings, and of the deep output layer")
    hidden: int = Field(512, ge=1, description="width of the RNN states; annotations are twice as wide")
    filters: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (200, 200, 250, 250, 300, 300, 300, 300),
        min_length=1,
        strict=False,
        description="how many convolutions look at 1, 2, 3 ... characters",
    )
    segment: int = Field(5, ge=1, description="characters whose convolutions are pooled into one annotation")
    highway: int = Field(4, ge=0, description="highway layers between pooling and RNN")
    dropout_word: float = Field(0.0, ge=0, lt=1, description="of whole characters, in inputs and pe")


class CharacterLevel(ConditionalGRUModel):
    """p(pe | mt, src) over characters, with encoders that pool characters into segments (Varis and Bojar 2017).

    Each text is encoded by convolutions, max-pooling over segments, highway layers and a bi-GRU (`nn.pooling`); the
    rest is the decoder of M-CGRU, with soft attention to the segments of both texts. The paper names the encoder, which
    is that of Lee et al. 2017, and a character-level decoder that attends to both texts; that this decoder is a
    conditional GRU with concatenated contexts is our interpretation. The attention reported for a character is an equal
    share of the attention to its segment. Characters are the tokens of the vocabulary; at its smallest size, bytes.
    """

    config_class: ClassVar = CharacterLevelConfig
    inputs: ClassVar = ("mt", "src")
    soft: ClassVar = ("mt", "src")

    def create_encoder(self, config: ConditionalGRUConfig) -> nn.Module:
        """Return an encoder with fresh weights that pools characters into segments."""
        assert isinstance(config, CharacterLevelConfig)
        sizes = config.embedding, config.filters, config.segment, config.highway, config.hidden
        return PoolingEncoder(*sizes, config.dropout_rnn)

    def annotate(self, name: str, x_NSE: Tensor, mask_NS: Tensor) -> dict[str, Tensor]:
        """Return the annotations of segments, their mask, and the mask of the characters, by name."""
        segments = self.encoders[name](x_NSE, mask_NS)
        return {
            f"{name}.annotations": segments.annotations,
            f"{name}.mask": segments.mask,
            f"{name}.characters": mask_NS,
        }

    def decode(self, tokens: Tensor, state: RecurrentState) -> tuple[DecoderOutput, RecurrentState]:
        """Read K more characters Long[N,K], and predict the character that follows each of them."""
        output, after = super().decode(tokens, state)
        attention = {}
        for key, weights_NKP in output.attention.items():
            encoder = cast(PoolingEncoder, self.encoders[key.stream])
            attention[key] = encoder.spread(weights_NKP, state.memory[f"{key.stream}.characters"])
        return replace(output, attention=attention), after
