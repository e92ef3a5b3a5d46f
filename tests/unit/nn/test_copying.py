"""Copying: losses and gradients where padding is computed, finite at any size, and where only copying can be right."""

import math
import random
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from postedit.core.model import Seq2Seq, Vocabularies, VocabularyInfo
from postedit.core.special_tokens import EOS, PAD, SPECIAL_TOKENS
from postedit.core.types import Batch, Shortlist, Stream, Target
from postedit.models.copycat import Copycat, CopycatConfig
from postedit.models.transformer import Transformer, TransformerConfig
from postedit.nn import copying, heads
from postedit.nn.copying import CopyDistribution, CopySource, pointer_log_weights, sigmoid_gates, softmax_gates
from postedit.nn.heads import SoftmaxDistribution
from postedit.search import greedy

N, K, D, V = 3, 4, 5, 9
LENGTHS = (6, 4)  # of two copied texts


def parts(seed: int = 0, spread: float = 1.0) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Leaves (features, weight, bias, gate logits, copy scores of each text), and ids and masks of the texts."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return (spread * torch.randn(shape, generator=generator, dtype=torch.float64)).requires_grad_()

    leaves = [normal(N, K, D), normal(V, D), normal(V), normal(N, K, 1 + len(LENGTHS))]
    leaves += [normal(N, K, length) for length in LENGTHS]
    ids = [torch.randint(0, V, (N, length), generator=generator) for length in LENGTHS]
    ids[0][0] = ids[0][0, 0]  # one symbol throughout
    real = [torch.randint(1, length + 1, (N, 1), generator=generator) for length in LENGTHS]
    masks = [torch.arange(length) < count for length, count in zip(LENGTHS, real)]
    return leaves, ids, masks


def distribution(leaves: list[Tensor], ids: list[Tensor], masks: list[Tensor]) -> CopyDistribution:
    features, weight, bias, gates, *scores = leaves
    copied = tuple(
        CopySource(score.masked_fill(~mask.unsqueeze(1), -math.inf).log_softmax(-1), symbols, mask)
        for score, symbols, mask in zip(scores, ids, masks)
    )
    return CopyDistribution(SoftmaxDistribution(features, weight, bias), softmax_gates(gates), copied)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_computing_padding_changes_no_loss_and_no_gradient(monkeypatch: pytest.MonkeyPatch, smoothing: float) -> None:
    leaves, ids, masks = parts(3)
    labels = torch.randint(0, V, (N, K), generator=torch.Generator().manual_seed(3))
    mask = torch.tensor([[True] * 4, [True, True, False, False], [False] * 4])
    wanted = distribution(leaves, ids, masks).label_loss(labels, mask, smoothing)
    wanted_gradients = torch.autograd.grad(wanted.loss, leaves)
    monkeypatch.setattr(copying, "label_positions", lambda mask: torch.arange(mask.numel()))
    found = distribution(leaves, ids, masks).label_loss(labels, mask, smoothing)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(torch.autograd.grad(found.loss, leaves), wanted_gradients)


class Waits(TorchDispatchMode):
    """Knows which operations made the host wait for values, if the device were another."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket in (torch.ops.aten.nonzero, torch.ops.aten._local_scalar_dense):
            self.found.append(str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_where_padding_is_computed_the_host_never_waits(monkeypatch: pytest.MonkeyPatch, smoothing: float) -> None:
    leaves, ids, masks = parts(3)
    labels, mask = torch.zeros(N, K, dtype=torch.long), torch.ones(N, K, dtype=torch.bool)
    with Waits() as here:
        distribution(leaves, ids, masks).label_loss(labels, mask, smoothing)
    assert here.found == ["aten.nonzero.default"]
    monkeypatch.setattr(copying, "label_positions", lambda mask: torch.arange(mask.numel()))
    with Waits() as there:
        torch.autograd.grad(distribution(leaves, ids, masks).label_loss(labels, mask, smoothing).loss, leaves)
    assert there.found == []


def test_the_smoothed_loss_is_that_of_the_log_probabilities() -> None:
    mixture = distribution(*parts())  # in which a text repeats a token
    labels, log_probs = torch.randint(0, V, (N, K)), mixture.log_probs()
    expected = -0.9 * log_probs.gather(2, labels.unsqueeze(2)).sum() - 0.1 * log_probs.mean(2).sum()
    torch.testing.assert_close(mixture.label_loss(labels, torch.ones_like(labels).bool(), 0.1).loss, expected)


def test_gradients_under_autocast_are_summed_in_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over many chunks: a sum in bfloat16 would stop to grow when a chunk adds less than half of its last place."""
    monkeypatch.setitem(heads._CHUNK_LOGITS, "cpu", V)
    count = 600
    features, weight, bias = torch.ones(count, 1, D), torch.zeros(V, D), torch.zeros(V)
    copied = CopySource(torch.zeros(count, 1, 1), torch.ones(count, 1, dtype=torch.long), torch.ones(count, 1).bool())
    generator = SoftmaxDistribution(features, weight.requires_grad_(), bias.requires_grad_())
    labels = torch.zeros(count, 1, dtype=torch.long)  # which are not the token that can be copied
    with torch.autocast("cpu", torch.bfloat16):
        found = CopyDistribution(generator, torch.full((count, 1, 2), math.log(0.5)), (copied,))
        loss = found.label_loss(labels, torch.ones_like(labels).bool()).loss
    expected = torch.full((V,), count / V)
    expected[0] -= count
    d_weight, d_bias = torch.autograd.grad(loss, (weight, bias))
    torch.testing.assert_close(d_bias, expected, rtol=5e-3, atol=0)
    torch.testing.assert_close(d_weight, expected.unsqueeze(1).expand(-1, D), rtol=5e-3, atol=0)


def test_tokens_that_are_not_on_a_shortlist_are_not_copied() -> None:
    mixture, shortlist = distribution(*parts()), Shortlist(3, torch.tensor([5, 8]))
    gate, generated = mixture.log_gates_NKG[..., :1].exp(), mixture.generator.log_probs()
    copied = mixture.log_probs().exp() - gate * generated.exp()
    expected = gate * generated[..., shortlist.token_ids].softmax(-1) + copied[..., shortlist.token_ids]
    torch.testing.assert_close(mixture.among(shortlist).exp(), expected / expected.sum(-1, keepdim=True))


def test_logits_and_shares_of_any_size_give_finite_losses_and_gradients() -> None:
    leaves, ids, masks = parts(3, spread=300.0)
    found = distribution(leaves, ids, masks)
    torch.testing.assert_close(found.log_probs().logsumexp(-1), torch.zeros(N, K, dtype=torch.float64))
    loss = found.label_loss(torch.zeros(N, K, dtype=torch.long), torch.ones(N, K, dtype=torch.bool), 0.1).loss
    assert loss.isfinite()
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(loss, leaves))
    gates = sigmoid_gates(torch.tensor([[800.0, -800.0]], dtype=torch.float64))
    torch.testing.assert_close(gates[0, :, 0], torch.tensor([0.0, -800.0], dtype=torch.float64))
    torch.testing.assert_close(gates[0, :, 1], torch.tensor([-800.0, 0.0], dtype=torch.float64))


def test_a_pointer_sees_real_positions_only() -> None:
    mask = torch.tensor([[True, True, False]])
    log_weights = pointer_log_weights(torch.randn(1, 2, D), torch.randn(1, 3, D), mask, scale=0.5)
    assert (log_weights[..., 2] == -math.inf).all()
    torch.testing.assert_close(log_weights.exp().sum(-1), torch.ones(1, 2))


def test_a_pointer_is_not_rounded_under_autocast() -> None:
    torch.manual_seed(0)
    queries, memory, mask = 20 * torch.randn(1, 2, D), 20 * torch.randn(1, 3, D), torch.ones(1, 3, dtype=torch.bool)
    with torch.autocast("cpu", torch.bfloat16):
        found = pointer_log_weights(queries, memory, mask)
    assert torch.equal(found, pointer_log_weights(queries, memory, mask))


def test_the_loss_holds_no_tensor_of_all_positions_times_all_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    """Autograd keeps what backward needs: nothing there may be larger than the logits of a chunk."""
    leaves, ids, masks = parts()
    vocabulary, positions_a_chunk, largest = 5000, 2, 0
    monkeypatch.setitem(heads._CHUNK_LOGITS, "cpu", vocabulary * positions_a_chunk)

    def keep(tensor: Tensor) -> Tensor:
        nonlocal largest
        largest = max(largest, tensor.untyped_storage().nbytes() // tensor.element_size())
        return tensor

    leaves[1] = torch.randn(vocabulary, D, dtype=torch.float64, requires_grad=True)
    leaves[2] = torch.zeros(vocabulary, dtype=torch.float64, requires_grad=True)
    found = distribution(leaves, ids, masks)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = found.label_loss(torch.zeros(N, K, dtype=torch.long), torch.ones(N, K, dtype=torch.bool), 0.1).loss
    loss.backward()
    assert largest == vocabulary * D  # the weight itself; a chunk has less


COMMON, NAMES, NEW_NAMES = range(len(SPECIAL_TOKENS), 26), range(26, 1000), range(1000, 1200)
"""Symbols of which there are few, of which there are many, and which training never shows."""


def copying_task(rng: random.Random, names: range, count: int) -> Batch:
    """Texts that are to be written as they are: some common symbols and one name."""
    texts = []
    for _ in range(count):
        text = [rng.choice(COMMON) for _ in range(rng.randint(2, 5))]
        text.insert(rng.randint(0, len(text)), rng.choice(names))
        texts.append(text)
    columns = max(map(len, texts)) + 1
    ids = torch.tensor([[*text, EOS] + [PAD] * (columns - len(text) - 1) for text in texts])
    mask = torch.arange(columns) < torch.tensor([[len(text) + 1] for text in texts])
    return Batch({"mt": Stream(ids, mask)}, Target(ids.clone(), mask))


def accuracy(model: Seq2Seq, batch: Batch) -> float:
    """Return the share of texts that come out right, every symbol of them."""
    found = greedy(model.eval(), Batch(batch.streams), torch.full((batch.rows,), 10))
    assert batch.target is not None
    right = [
        list(hypothesis.tokens) == ids[mask].tolist()[:-1]
        for hypothesis, ids, mask in zip(found, batch.target.ids, batch.target.mask)
    ]
    return sum(right) / len(right)


@pytest.mark.slow
@pytest.mark.parametrize("copies", [True, False])
def test_symbols_that_training_never_showed_can_only_be_copied(copies: bool) -> None:
    torch.manual_seed(5)
    rng = random.Random(5)
    info = VocabularyInfo(NEW_NAMES.stop, "all")
    vocabularies = Vocabularies({"mt": info}, info)
    sizes = {"dim": 32, "heads": 4, "feed_forward": 64, "layers_pe": 1, "dropout": 0.0, "share_embeddings": "mt-pe"}
    model: Seq2Seq
    if copies:
        model = Copycat(CopycatConfig(layers_mt=1, **sizes), vocabularies)
    else:
        model = Transformer(TransformerConfig(input="mt", layers_encoder=1, **sizes), vocabularies)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for _ in range(600):
        loss = model.train()(copying_task(rng, NAMES, 32))
        optimizer.zero_grad()
        (loss.loss / loss.tokens).backward()
        optimizer.step()
    assert accuracy(model, copying_task(rng, NAMES, 100)) > 0.8
    new = accuracy(model, copying_task(rng, NEW_NAMES, 100))
    assert new > 0.7 if copies else new == 0.0
