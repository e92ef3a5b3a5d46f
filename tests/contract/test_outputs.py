"""Laws 1, 2, 6 and 7: what a model says, what it may depend on, and what it learns from."""

import random
from dataclasses import replace

import pytest
import torch
from tiny import (
    DTYPES,
    ENSEMBLES,
    SUBJECT_NAMES,
    alone,
    assert_close,
    batch_of,
    build,
    decoding_parameters,
    dtype_of,
    random_prefix,
    random_sentences,
)
from torch import Tensor

from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import BOS, EOS
from postedit.core.types import Batch, DecoderOutput, LabelLoss, Shortlist
from postedit.nn.heads import SoftmaxDistribution


def teacher_forced(model: Seq2Seq, batch: Batch) -> DecoderOutput:
    assert batch.target is not None
    return model.decode(batch.target.inputs, model.encode(batch))[0]


def test_law_1_log_probs_are_normalised(model: Seq2Seq) -> None:
    sentences = random_sentences(random.Random(1), model, count=4)
    batch = batch_of(sentences)
    log_probs = teacher_forced(model, batch).log_probs
    assert batch.target is not None
    assert log_probs.shape == (*batch.target.ids.shape, model.spec.vocabularies.target.size)
    assert log_probs.dtype == dtype_of(model)
    assert_close(log_probs.logsumexp(-1), torch.zeros_like(log_probs[..., 0]))


def test_law_1_selected_positions_keep_their_log_probs(model: Seq2Seq) -> None:
    rng = random.Random(1)
    state = model.encode(batch_of(random_sentences(rng, model, count=3)))
    output, _ = model.decode(torch.tensor([random_prefix(rng, model, 4) for _ in range(3)]), state)
    mask = torch.tensor([[rng.random() < 0.5 for _ in range(4)] for _ in range(3)])
    picked = output.distribution.at(mask).log_probs()
    assert picked.shape[1:] == (1, output.log_probs.size(2))
    assert_close(picked.squeeze(1), output.log_probs[mask])


def test_law_1_log_probs_over_a_shortlist_are_normalised(model: Seq2Seq) -> None:
    rng = random.Random(2)
    sentences = random_sentences(rng, model, count=3)
    state, size = model.encode(batch_of(sentences)), model.spec.vocabularies.target.size
    output, _ = model.decode(torch.tensor([random_prefix(rng, model, 3) for _ in range(3)]), state)
    everything = output.distribution.among(Shortlist(size, torch.empty(0, dtype=torch.long)))
    assert_close(everything, output.log_probs)
    others = torch.tensor([symbol for symbol in range(8, size) if rng.random() < 0.6])
    shortlist = Shortlist(8, others)
    said = output.distribution.among(shortlist)
    assert said.shape == (3, 3, shortlist.size)
    assert_close(said.logsumexp(-1), torch.zeros_like(said[..., 0]))
    if type(output.distribution) is SoftmaxDistribution:
        assert_close(said, output.log_probs[..., shortlist.token_ids].log_softmax(-1))


def test_a_pretrained_model_holds_logits_of_few_positions_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, rng = build("pretrained", torch.float64).requires_grad_(False), random.Random(3)
    state = model.encode(batch_of(random_sentences(rng, model, count=5)))
    output, _ = model.decode(torch.tensor([random_prefix(rng, model, 2) for _ in range(5)]), state)
    shortlist, held, logits = Shortlist(8, torch.tensor([9])), [], SoftmaxDistribution.logits

    def watched(self: SoftmaxDistribution) -> Tensor:
        held.append(len(self.features_NKD))
        return logits(self)

    monkeypatch.setattr(SoftmaxDistribution, "logits", watched)
    whole = output.distribution.among(shortlist)
    monkeypatch.setattr("postedit.nn.renumbering._SHORTLIST_POSITIONS", 2)
    assert_close(output.distribution.among(shortlist), whole)
    assert held == [5, 2, 2, 1]


def test_law_2_attention_is_a_distribution_over_real_tokens(model: Seq2Seq) -> None:
    batch = batch_of(random_sentences(random.Random(2), model, count=4), columns=2)
    output = teacher_forced(model, batch)
    assert batch.target is not None
    assert set(output.attention) == model.spec.attention
    for key, weights in output.attention.items():
        mask = torch.cat([batch.streams[name].mask for name in key.streams], 1)
        assert weights.shape == (*batch.target.ids.shape, mask.size(1))
        assert (weights >= 0).all()
        assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
        padding = ~mask.unsqueeze(1).expand_as(weights)
        assert (weights[padding] == 0).all()


def test_law_2_attention_depends_on_the_stream_attended_to(model: Seq2Seq) -> None:
    first, second = (batch_of(random_sentences(random.Random(seed), model, count=1, longest=6)) for seed in (5, 6))
    depends = [key for key in model.spec.attention if key.kind != "hard"]  # that depends on what is written
    for key, name in sorted((attention, stream) for attention in depends for stream in attention.streams):
        assert first.streams[name].ids.size(1) > 1, "one position is always attended to with weight 1"
        weights = teacher_forced(model, first).attention[key]
        changed = dict(first.streams) | {name: second.streams[name]}
        other = teacher_forced(model, Batch(changed, first.target)).attention[key]
        assert weights.shape != other.shape or not torch.allclose(weights, other)


@pytest.mark.parametrize("seed", range(3))
def test_law_6_padding_and_the_batch_change_nothing(model: Seq2Seq, seed: int) -> None:
    rng = random.Random(seed)
    sentences = random_sentences(rng, model, count=5)
    tokens = [random_prefix(rng, model, length=4) for _ in sentences]
    batch = batch_of(sentences, columns=seed, junk=rng)
    output, _ = model.decode(torch.tensor(tokens), model.encode(batch))
    for row, (sentence, prefix) in enumerate(zip(sentences, tokens)):
        assert_close(output.log_probs[row], alone(model, sentence, prefix))
        single, _ = model.decode(torch.tensor([prefix]), model.encode(batch_of([sentence])))
        for key, weights in single.attention.items():
            real = torch.cat([batch.streams[name].mask[row] for name in key.streams])
            assert_close(output.attention[key][row][:, real], weights[0])


def test_law_6_the_loss_of_a_batch_is_the_sum_of_its_segments(model: Seq2Seq) -> None:
    rng = random.Random(3)
    sentences = random_sentences(rng, model, count=5)
    together = model(batch_of(sentences, columns=2, junk=rng), smoothing=0.1)
    apart = [model(batch_of([sentence]), smoothing=0.1) for sentence in sentences]
    assert_close(together.loss / together.tokens, sum(part.loss for part in apart) / together.tokens)
    assert_close(together.nll / together.tokens, sum(part.nll for part in apart) / together.tokens)
    assert together.tokens == sum(part.tokens for part in apart) == sum(len(sentence.pe) for sentence in sentences)


def test_the_output_depends_on_every_input(model: Seq2Seq) -> None:
    first, second = random_sentences(random.Random(4), model, count=2)
    prefix = random_prefix(random.Random(4), model, length=3)
    for name in model.spec.streams:
        changed = type(first)({**first.inputs, name: second.inputs[name]}, first.pe)
        difference = alone(model, first, prefix) - alone(model, changed, prefix)
        assert (difference.abs().amax(-1) > 1e-4).all(), f"{name} has no influence"


def test_the_error_for_a_missing_stream_names_it_and_the_others(model: Seq2Seq) -> None:
    (sentence,) = random_sentences(random.Random(10), model, count=1)
    streams = {name: stream for name, stream in batch_of([sentence]).streams.items() if name in model.spec.inputs}
    for name in model.spec.inputs:
        other = "src" if name == "mt" else "mt"
        given = {key: stream for key, stream in streams.items() if key != name} or {other: streams[name]}
        with pytest.raises(ValueError, match=f'reads "{name}", but the batch has {other} alone'):
            model.encode(Batch(given))


def test_hints_that_a_batch_lacks_are_as_empty_ones(model: Seq2Seq) -> None:
    (sentence,) = random_sentences(random.Random(10), model, count=1)
    without = {name: sentence.inputs[name] for name in model.spec.inputs}
    empty = {**without, **{name: [EOS] for name in model.spec.hints.names}}
    one, other = (alone(model, replace(sentence, inputs=inputs), [BOS]) for inputs in (without, empty))
    assert_close(one, other)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("name", SUBJECT_NAMES)
class TestTraining:
    def test_law_7_every_trained_parameter_gets_a_gradient(self, name: str, dtype: torch.dtype) -> None:
        model = build(name, dtype).train()
        torch.manual_seed(7)
        model(batch_of(random_sentences(random.Random(7), model, count=8)), smoothing=0.1).loss.backward()
        # An ensemble is not trained as a whole: its loss is that of what its members decode.
        trained = decoding_parameters(model) if name in ENSEMBLES else dict(model.named_parameters())
        for parameter_name, parameter in trained.items():
            if not parameter.requires_grad:
                assert parameter.grad is None, parameter_name
                continue
            assert parameter.grad is not None, parameter_name
            assert parameter.grad.isfinite().all(), parameter_name
            # What is added to all keys adds the same to all scores of a query, which a softmax does not see. Our own
            # layers have no such bias; those of a library may.
            if not parameter_name.endswith("k_proj.bias"):
                assert parameter.grad.abs().max() > 1e-6, parameter_name

    @pytest.mark.parametrize("smoothing", [0.0, 0.1])
    def test_law_7_the_loss_equals_that_of_log_probs(self, name: str, dtype: torch.dtype, smoothing: float) -> None:
        model = build(name, dtype)
        batch = batch_of(random_sentences(random.Random(8), model, count=4))
        losses = [model(batch, smoothing), loss_of_log_probs(teacher_forced(model, batch).log_probs, batch, smoothing)]
        gradients = [gradients_of(loss.loss / loss.tokens, model) for loss in losses]
        assert_close(losses[0].loss / losses[0].tokens, losses[1].loss / losses[1].tokens)
        assert_close(losses[0].nll / losses[0].tokens, losses[1].nll / losses[1].tokens)
        # `causal` reads prompt and pe in one pass for the loss, else in two. Norms of the library round gradients to
        # single precision, so the two differ by that.
        precision = torch.float32 if name.partition("/")[0] == "causal" else dtype
        for parameter_name in gradients[1]:
            assert_close(*(gradient[parameter_name].to(precision) for gradient in gradients))


@pytest.mark.parametrize("name", SUBJECT_NAMES)
def test_autocast_to_bf16_changes_loss_and_log_probs_little(name: str) -> None:
    model = build(name, torch.float32)
    batch = batch_of(random_sentences(random.Random(9), model, count=4))
    results = []
    for precision in (torch.float32, torch.bfloat16):
        with torch.autocast("cpu", precision, enabled=precision is torch.bfloat16):
            # The loss comes first: before version 2.11, PyTorch used weights in bfloat16 again that have no gradient.
            loss = model(batch)
            with torch.no_grad():
                log_probs = teacher_forced(model, batch).log_probs.float()
        gradients_of(loss.loss, model)
        results.append((log_probs, (loss.loss / loss.tokens).detach()))
    (exact, exact_loss), (rounded, rounded_loss) = results
    assert 0.0 < (rounded.exp() - exact.exp()).abs().mean() < 0.01
    assert abs(rounded_loss - exact_loss) < 0.05 * exact_loss


def loss_of_log_probs(log_probs: Tensor, batch: Batch, smoothing: float) -> LabelLoss:
    assert batch.target is not None
    ids, mask = batch.target.ids, batch.target.mask
    nll = -log_probs.gather(-1, ids.unsqueeze(-1)).squeeze(-1)[mask]
    uniform = -log_probs.mean(-1)[mask]
    return LabelLoss(((1 - smoothing) * nll + smoothing * uniform).sum(), nll.sum().detach(), mask.sum())


def gradients_of(loss: Tensor, model: Seq2Seq) -> dict[str, Tensor]:
    names, parameters = zip(*decoding_parameters(model).items())
    return dict(zip(names, torch.autograd.grad(loss, parameters)))
