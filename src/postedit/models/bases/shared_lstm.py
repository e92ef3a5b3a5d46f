"""The LSTM models of Jauregi Unanue et al. 2018, which share all but how their decoder attends.

Two bidirectional LSTM encoders, a decoder that attends with "general" scores and predicts from an attentional state, as
Luong et al. 2015 have it; each file in `models` says what is attended to, and gives the equations.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from postedit.core.config import Config
from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies
from postedit.core.types import AttentionKey, Batch, DecoderOutput
from postedit.nn.dropout import dropout
from postedit.nn.embeddings import Sharing, embedding_tables
from postedit.nn.heads import SoftmaxHead
from postedit.nn.memory import Memory

_STREAMS = ("src", "mt")


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
        description="all weights are drawn from -init .. init; OpenNMT's 0.1 suits states 500 wide, narrower ones "
        "learn sooner with more: 0.1 sqrt(500 / hidden)",
    )


class EncodedText(NamedTuple):
    """A text: annotations Float[N,S,D], zero on padding, and the last states h and c, Float[N,layers,D] each."""

    annotations_NSD: Tensor
    h_NLD: Tensor
    c_NLD: Tensor


class BiLSTM(nn.Module):
    """LSTM layers that read a text in both directions; states of both are joined, [forward; backward]."""

    def __init__(self, input_dim: int, dim: int, layers: int, dropout_rate: float) -> None:
        """Create layers whose joined states are `dim` wide."""
        super().__init__()
        between = dropout_rate if layers > 1 else 0.0
        self.lstm = nn.LSTM(input_dim, dim // 2, layers, batch_first=True, dropout=between, bidirectional=True)

    def forward(self, x_NSE: Tensor, mask_NS: Tensor) -> EncodedText:
        """Encode texts with mask Bool[N,S]; neither direction meets padding."""
        packed = pack_padded_sequence(x_NSE, mask_NS.sum(1).cpu(), batch_first=True, enforce_sorted=False)
        outputs, (h, c) = self.lstm(packed)
        annotations_NSD, _ = pad_packed_sequence(outputs, batch_first=True, total_length=mask_NS.size(1))
        return EncodedText(annotations_NSD, _both_directions(h), _both_directions(c))


def _both_directions(states: Tensor) -> Tensor:
    """Return Float[N,layers,D], the states of both directions concatenated, from Float[layers*2,N,D/2]."""
    return states.view(-1, 2, *states.shape[1:]).permute(2, 0, 1, 3).flatten(2)


class LSTMModel(Seq2Seq["LSTMState"]):
    """Base of the family; a subclass makes of encoded texts what is attended to, and attends.

    For each token: s = LSTM([E[y]; u]) on top of s, u being the last attentional state (input feeding), which is 0 at
    first; c and weights from attention with s; u = tanh(W_c [c; s]); p = softmax(W_o u). Scores are s^T W h.

    The paper writes the state that attention asks with as s_{i-1}, the one that has read y_{i-1}, and refers to OpenNMT
    for the rest, whose attentional state and input feeding are those of Luong et al. 2015 (eq. 5, and 3.3). It does
    not say how the decoder starts from two encoders; here at the mean of their last states. A width of 500 in both
    directions together is OpenNMT's reading of its option.
    """

    config_class: ClassVar = LSTMConfig
    inputs: ClassVar = _STREAMS
    keys: ClassVar[frozenset[AttentionKey]]

    def __init__(self, config: LSTMConfig, vocabularies: Vocabularies) -> None:
        """Create a model with fresh weights.

        Raises:
            RecipeError: if streams that share embeddings have different vocabularies.
        """
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
        self.build_attention(hidden)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -config.init, config.init)

    @abstractmethod
    def build_attention(self, dim: int) -> None:
        """Create the weights of attention, for annotations and states of width `dim`."""

    @abstractmethod
    def memory_tensors(self, texts: Mapping[str, Tensor], masks: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return what to keep of annotations Float[N,S,D] and masks Bool[N,S] by stream."""

    @abstractmethod
    def attend(self, s_ND: Tensor, memory: Memory) -> tuple[Tensor, dict[AttentionKey, Tensor]]:
        """Return the context Float[N,D] and the weights Float[N,S] by key."""

    def encode(self, batch: Batch) -> "LSTMState":
        """Encode both texts; keep what is attended to, and the start state."""
        texts, masks, starts = {}, {}, []
        for name in self.inputs:
            stream = batch.streams[name]
            encoded: EncodedText = self.encoders[name](self.embed_inputs[name](stream.ids), stream.mask)
            texts[name], masks[name] = encoded.annotations_NSD, stream.mask
            starts.append(torch.stack([encoded.h_NLD, encoded.c_NLD], 1))
        states = (sum(starts) / len(starts)).unsqueeze(1)  # type: ignore[union-attr]
        attentional = states.new_zeros(batch.rows, 1, states.size(-1))
        return LSTMState(Memory.of(**self.memory_tensors(texts, masks)), states, attentional)

    def decode(self, tokens: Tensor, state: "LSTMState") -> tuple[DecoderOutput, "LSTMState"]:
        """Read K more target tokens Long[N,K]; predict the one after each of them."""
        h, c = (part.unbind(1) for part in state.states[:, -1].unbind(1))
        u_ND = state.attentional_NKD[:, -1]
        states, attentional = [state.states[:, -1]], [u_ND]
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
        after = LSTMState(state.memory, torch.stack(states, 1), attentional_NKD)
        return DecoderOutput(self.head(attentional_NKD[:, 1:]), attention), after

    def _step(
        self, x_NX: Tensor, h: tuple[Tensor, ...], c: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return the states of all layers after one more input."""
        new_h, new_c = [], []
        for layer, cell in enumerate(self.cells):
            x_NX = x_NX if layer == 0 else dropout(x_NX, self.dropout, self.training)
            x_NX, new = cast(nn.LSTMCell, cell)(x_NX, (h[layer], c[layer]))
            new_h.append(x_NX)
            new_c.append(new)
        return tuple(new_h), tuple(new_c)


@dataclass(frozen=True, eq=False, slots=True)
class LSTMState:
    """What is attended to, and the decoder states of the last call.

    Args:
        memory: of the inputs.
        trail: Float[N,K+1,2,layers,D], h and c before the last call and after each of its K tokens.
        fed_NKD: Float[N,K+1,D], likewise the attentional state.
    """

    memory: Memory
    states: Tensor
    attentional_NKD: Tensor

    def select(self, rows: Tensor) -> Self:
        """Return the rows Long[M] in that order."""
        return type(self)(self.memory.select(rows), self.states[rows], self.attentional_NKD[rows])

    def rollback(self, keep: Tensor) -> Self:
        """Return the state after only the first `keep` Long[N] tokens of the last decode, row by row."""
        rows = torch.arange(keep.size(0), device=keep.device)
        states, attentional_NKD = self.states[rows, keep], self.attentional_NKD[rows, keep]
        return type(self)(self.memory, states.unsqueeze(1), attentional_NKD.unsqueeze(1))

    def join(self, other: Self) -> Self:
        """Return the rows of both, those of `other` last."""
        states = torch.cat([self.states[:, -1:], other.states[:, -1:]])
        attentional_NKD = torch.cat([self.attentional_NKD[:, -1:], other.attentional_NKD[:, -1:]])
        return type(self)(self.memory.join(other.memory), states, attentional_NKD)


def general_scores(s_ND: Tensor, keys_NSD: Tensor, mask_NS: Tensor) -> Tensor:
    """Return s^T W h, Float[N,S], of keys W h; -inf on padding."""
    scores_NS = torch.bmm(keys_NSD, s_ND.to(keys_NSD.dtype).unsqueeze(2)).squeeze(2)
    return scores_NS.masked_fill(~mask_NS, -torch.inf)


def weighted_sum(weights_NS: Tensor, values_NSD: Tensor) -> Tensor:
    """Return the sum of values, weighted, Float[N,D]."""
    return torch.bmm(weights_NS.to(values_NSD.dtype).unsqueeze(1), values_NSD).squeeze(1)
