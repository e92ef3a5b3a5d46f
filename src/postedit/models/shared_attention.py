"""The LSTM models of Jauregi Unanue et al. 2018: a base class, and three models that differ in attention.

They have two bidirectional LSTM encoders, and a decoder with "general" attention scores and an attentional state (Luong
et al. 2015).
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from postedit.core.config import Config
from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.nn.attention import general_attention
from postedit.nn.dropout import dropout
from postedit.nn.embeddings import Sharing, embedding_tables
from postedit.nn.heads import SoftmaxHead
from postedit.nn.memory import Memory
from postedit.nn.recurrent import BiLSTM, RecurrentState

_BOTH = AttentionKey("src+mt", "soft")


class LSTMConfig(Config):
    """Sizes; the defaults are the paper's (table 1)."""

    embedding: int = Field(300, ge=1, description="width of word vectors")
    hidden: int = Field(500, ge=2, multiple_of=2, description="width of states; half of it for each encoder direction")
    layers: int = Field(2, ge=1, description="layers of each encoder and of the decoder")
    dropout: float = Field(0.3, ge=0, lt=1, description="between layers, and on the attentional state")
    input_feeding: bool = Field(True, description="the decoder reads its last attentional state with each token")
    share_embeddings: Sharing = Field("none", description="streams that share an embedding table with pe")
    init: float = Field(
        0.1,
        gt=0,
        description="all weights are drawn uniformly from -init to init; 0.1, as in OpenNMT, suits states 500 wide; "
        "narrower ones learn faster with 0.1 sqrt(500 / hidden)",
    )


def _general_attention(s_ND: Tensor, memory: Memory, prefix: str = "") -> tuple[Tensor, Tensor]:
    """Return the context Float[N,D] and the weights Float[N,S] of attention with scores s^T k, where k = W h."""
    keys_NSD, values_NSD, mask_NS = (memory[f"{prefix}{part}"] for part in ("keys", "values", "mask"))
    context_NKD, weights_NKS = general_attention(s_ND.unsqueeze(1), keys_NSD, values_NSD, mask_NS)
    return context_NKD.squeeze(1), weights_NKS.squeeze(1)


class LSTMModel(Seq2Seq[RecurrentState]):
    """Base class of the family: a subclass creates the weights of its attention, and computes it.

    For each token, s = LSTM([E[y]; u]), where u is the last attentional state (input feeding), initially 0; attention
    with the query s gives the context c and the weights; u = tanh(W_c [c; s]); p = softmax(W_o u). Scores are s^T W h.

    The paper writes the query of attention as s_{i-1}, the state that has read y_{i-1}, and for the rest refers to
    OpenNMT, whose attentional state and input feeding are those of Luong et al. 2015 (equation 5, and section 3.3). It
    does not say how two encoders initialise the decoder; here the initial state is the mean of their last states. The
    width of 500 is taken to cover both directions together, as in OpenNMT. Both inputs end in EOS, unlike in OpenNMT.

    Raises:
        RecipeError: if streams that share embeddings have different vocabularies.
    """

    config_class: ClassVar = LSTMConfig
    inputs: ClassVar = ("src", "mt")
    keys: ClassVar[frozenset[AttentionKey]] = frozenset({_BOTH})

    def __init__(self, config: LSTMConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights."""
        super().__init__()
        self.spec = ModelSpec(self.inputs, vocabularies, self.keys, parallel=False)
        self.dropout, self.input_feeding = config.dropout, config.input_feeding
        width, hidden = config.embedding, config.hidden
        tables, self.embed_pe = embedding_tables(vocabularies, self.inputs, width, config.share_embeddings)
        self.embed_inputs = nn.ModuleDict(tables)
        self.encoders = nn.ModuleDict(
            {name: BiLSTM(width, hidden, config.layers, config.dropout) for name in self.inputs}
        )
        first = width + hidden if config.input_feeding else width
        self.cells = nn.ModuleList(nn.LSTMCell(hidden if layer else first, hidden) for layer in range(config.layers))
        self.attentional = nn.Linear(2 * hidden, hidden, bias=False)
        self.head = SoftmaxHead(hidden, vocabularies.target.size)
        self.create_attention(hidden)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -config.init, config.init)

    @abstractmethod
    def create_attention(self, dim: int) -> None:
        """Create the attention weights, for annotations and states of width `dim`."""

    @abstractmethod
    def memory_tensors(self, texts: Mapping[str, Tensor], masks: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the memory tensors, by name, given the annotations Float[N,S,D] and masks Bool[N,S] by stream."""

    @abstractmethod
    def attend(self, s_ND: Tensor, memory: Memory) -> tuple[Tensor, dict[AttentionKey, Tensor]]:
        """Attend with the query s; return the context Float[N,D], and the weights Float[N,S] by attention key."""

    def encode(self, batch: Batch) -> RecurrentState:
        """Encode both texts into the memory of attention and the initial decoder state."""
        texts, masks, starts = {}, {}, []
        for name in self.inputs:
            stream = batch.streams[name]
            texts[name], start = self.encoders[name](self.embed_inputs[name](stream.ids), stream.mask)
            masks[name] = stream.mask
            starts.append(start)
        states = (sum(starts) / len(starts)).unsqueeze(1)
        history = {"h and c": states, "u": states.new_zeros(batch.rows, 1, states.size(-1))}
        return RecurrentState(Memory.of(**self.memory_tensors(texts, masks)), history)

    def decode(self, tokens: Tensor, state: RecurrentState) -> tuple[DecoderOutput, RecurrentState]:
        """Read K more target tokens Long[N,K], and predict the token that follows each of them."""
        states, attentional = [state.current("h and c")], [state.current("u")]  # Float[N,2,layers,D], Float[N,D]
        (h, c), u_ND = (part.unbind(1) for part in states[0].unbind(1)), attentional[0]
        weights: dict[AttentionKey, list[Tensor]] = {key: [] for key in self.keys}
        for embedded in self.embed_pe(tokens).unbind(1):
            h, c = self._step(torch.cat([embedded, u_ND], -1) if self.input_feeding else embedded, h, c)
            context, step_weights = self.attend(h[-1], state.memory)
            u_ND = dropout(torch.tanh(self.attentional(torch.cat([context, h[-1]], -1))), self.dropout, self.training)
            states.append(torch.stack([torch.stack(h, 1), torch.stack(c, 1)], 1))
            attentional.append(u_ND)
            for key, weight in step_weights.items():
                weights[key].append(weight)
        attentional_NKD = torch.stack(attentional, 1)
        attention = {key: torch.stack(rows, 1) for key, rows in weights.items()}
        history = {"h and c": torch.stack(states, 1), "u": attentional_NKD}
        return DecoderOutput(self.head(attentional_NKD[:, 1:]), attention), RecurrentState(state.memory, history)

    def _step(
        self, x_NX: Tensor, h: tuple[Tensor, ...], c: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return the states h and c of all layers after reading one more input."""
        new_h, new_c = [], []
        for layer, cell in enumerate(self.cells):
            x_NX = x_NX if layer == 0 else dropout(x_NX, self.dropout, self.training)
            x_NX, new = cast(nn.LSTMCell, cell)(x_NX, (h[layer], c[layer]))
            new_h.append(x_NX)
            new_c.append(new)
        return tuple(new_h), tuple(new_c)


class SharedAttention(LSTMModel):
    """One attention over the states of both encoders (section 3).

    h_join = {h_src; h_mt} (eq. 8); e = s^T W h_join (eq. 9), alpha = softmax(e) over both (eq. 10), c = sum alpha h.
    """

    def create_attention(self, dim: int) -> None:
        """Create W."""
        self.score = nn.Linear(dim, dim, bias=False)

    def memory_tensors(self, texts: Mapping[str, Tensor], masks: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return annotations and W h of both texts, concatenated."""
        annotations_NSD = torch.cat([texts[name] for name in self.inputs], 1)
        mask = torch.cat([masks[name] for name in self.inputs], 1)
        return {"values": annotations_NSD, "keys": self.score(annotations_NSD), "mask": mask}

    def attend(self, s_ND: Tensor, memory: Memory) -> tuple[Tensor, dict[AttentionKey, Tensor]]:
        """Attend to both texts with one softmax."""
        context_ND, weights_NS = _general_attention(s_ND, memory)
        return context_ND, {_BOTH: weights_NS}


class FlatAttention(SharedAttention):
    """Flat attention (Libovický and Helcl 2017; section 2.1): each text k has its own W and its own projection U.

    e_k = s^T W_k h_k; alpha = softmax over the positions of both texts (eq. 5); c = sum alpha U_k h_k (eq. 6). The
    experiment of section 4.4 adds only U to shared attention, whose W serves both texts; a W for each follows the cited
    work.
    """

    def create_attention(self, dim: int) -> None:
        """Create W and U for each text."""
        self.scores = nn.ModuleDict({name: nn.Linear(dim, dim, bias=False) for name in self.inputs})
        self.projections = nn.ModuleDict({name: nn.Linear(dim, dim, bias=False) for name in self.inputs})

    def memory_tensors(self, texts: Mapping[str, Tensor], masks: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return W h and U h of both texts, concatenated."""
        keys = [cast(Tensor, self.scores[name](texts[name])) for name in self.inputs]
        values = [cast(Tensor, self.projections[name](texts[name])) for name in self.inputs]
        mask = torch.cat([masks[name] for name in self.inputs], 1)
        return {"keys": torch.cat(keys, 1), "values": torch.cat(values, 1), "mask": mask}


class MergedAttention(LSTMModel):
    """Merged attention (Chatterjee et al. 2017; section 2.1): one attention for each text k, merged by a linear layer.

    c_k = sum softmax(s^T W_k h_k) h_k; c = [c_src; c_mt] W_ct + b_ct (eq. 4).
    """

    keys: ClassVar = frozenset(AttentionKey(name, "soft") for name in LSTMModel.inputs)

    def create_attention(self, dim: int) -> None:
        """Create W for each text, and the merging layer."""
        self.scores = nn.ModuleDict({name: nn.Linear(dim, dim, bias=False) for name in self.inputs})
        self.merge = nn.Linear(len(self.inputs) * dim, dim)

    def memory_tensors(self, texts: Mapping[str, Tensor], masks: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the annotations and W h of each text."""
        tensors: dict[str, Tensor] = {}
        for name, text in texts.items():
            tensors |= {f"{name}.values": text, f"{name}.keys": self.scores[name](text), f"{name}.mask": masks[name]}
        return tensors

    def attend(self, s_ND: Tensor, memory: Memory) -> tuple[Tensor, dict[AttentionKey, Tensor]]:
        """Attend to each text, and merge the contexts."""
        contexts, weights = [], {}
        for name in self.inputs:
            context_ND, weights[AttentionKey(name, "soft")] = _general_attention(s_ND, memory, f"{name}.")
            contexts.append(context_ND)
        return self.merge(torch.cat(contexts, -1)), weights
