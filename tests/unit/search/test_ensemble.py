"""Ensembles (weights, spaces, streams, devices), forced scoring, and log-linear ranking."""

import math
from dataclasses import replace
from typing import Any, ClassVar

import pytest
import tiny_models
import torch
from torch import Tensor, nn

from postedit.core.config import Config, load_config
from postedit.core.errors import DataError, ModelFolderError
from postedit.core.model import ModelSpec, Seq2Seq, Vocabularies, VocabularyInfo
from postedit.core.special_tokens import BOS, EOS
from postedit.core.types import AttentionKey, Batch, DecoderOutput, Stream
from postedit.models import ARCHITECTURES
from postedit.search import Ensemble, Hypothesis, SearchConfig, beam_search, force, force_lists, forced, greedy
from postedit.search.ensemble import LogProbDistribution, Space
from postedit.search.rescoring import member_features, rank, weighted_sum, word_features

SIZE = 9


def stream(rows: int = 2) -> Stream:
    ids = torch.full((rows, 3), 6)
    return Stream(ids, torch.ones_like(ids, dtype=torch.bool))


class Fixed(Seq2Seq):
    """Always gives the same probabilities; remembers where what it read was."""

    config_class: ClassVar = Config
    inputs: ClassVar = ("mt",)

    def __init__(self, probabilities: list[float], inputs: tuple[str, ...] = ("mt",), device: str = "cpu") -> None:
        super().__init__()
        info = VocabularyInfo(SIZE, "letters")
        self.spec = ModelSpec(inputs, Vocabularies(dict.fromkeys(inputs, info), info), frozenset(), parallel=True)
        self.probabilities = torch.tensor(probabilities, dtype=torch.float64)
        self.weight = nn.Parameter(torch.zeros(1, device=device))
        self.seen: list[torch.device] = []

    def encode(self, batch: Batch) -> "Fixed.Here":
        self.seen += [batch.streams[name].ids.device for name in self.spec.inputs]
        return Fixed.Here(self)

    def decode(self, tokens: Tensor, state: Any) -> tuple[DecoderOutput, Any]:
        self.seen.append(tokens.device)
        self.read = tokens.tolist() if tokens.device.type == "cpu" else None
        return DecoderOutput(LogProbDistribution(self.probabilities.log().expand(*tokens.shape, SIZE)), {}), state

    class Here:
        def __init__(self, model: "Fixed") -> None:
            self.model = model

        def select(self, rows: Tensor) -> "Fixed.Here":
            self.model.seen.append(rows.device)
            return self

        rollback = select

        def join(self, other: "Fixed.Here") -> "Fixed.Here":
            return other


P = [0.0, 0.0, 0.1, 0.2, 0.1, 0.1, 0.3, 0.1, 0.1]
Q = [0.0, 0.0, 0.3, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1]


@pytest.mark.parametrize("space", ["log", "probability"])
def test_weights_and_space_are_those_of_the_formula(space: Space) -> None:
    model = Ensemble([Fixed(P), Fixed(Q)], [3.0, 1.0], space)
    output, _ = model.decode(torch.full((1, 1), BOS), model.encode(Batch({"mt": stream(1)})))
    if space == "probability":
        expected = [0.75 * p + 0.25 * q for p, q in zip(P, Q)]
    else:
        products = [p**0.75 * q**0.25 for p, q in zip(P, Q)]
        expected = [product / sum(products) for product in products]
    assert output.log_probs[0, 0].exp().tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1.0], "1 weights for 2 models"), ([1.0, 1.0, 1.0], "3 weights for 2"), ([1.0, 0.0], "above 0, not 0.0")]
    + [([1.0, wrong], "above 0") for wrong in (-1.0, math.inf, math.nan)],
)
def test_weights_that_make_no_ensemble(weights: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Ensemble([Fixed(P), Fixed(Q)], weights)


def test_an_ensemble_of_nothing() -> None:
    with pytest.raises(ModelFolderError, match="at least one model"):
        Ensemble([])


def test_members_of_other_target_vocabularies_are_named() -> None:
    other = Fixed(Q)
    vocabularies = replace(other.spec.vocabularies, target=VocabularyInfo(SIZE, "other letters"))
    other.spec = replace(other.spec, vocabularies=vocabularies)
    with pytest.raises(ModelFolderError, match="model 2 writes another target vocabulary than model 1"):
        Ensemble([Fixed(P), other])


def test_members_get_inputs_on_their_devices_and_outputs_come_back() -> None:
    here, there = Fixed(P), Fixed(Q, ("src",), device="meta")
    model = Ensemble([here, there])
    assert model.spec.inputs == ("mt", "src")
    batch = Batch({"mt": stream(), "src": stream()})
    state = model.encode(batch)
    output, state = model.decode(torch.full((2, 1), BOS), state)
    state.select(torch.tensor([0])).rollback(torch.tensor([1]))
    assert [device.type for device in here.seen] == ["cpu"] * 4
    assert [device.type for device in there.seen] == ["meta"] * 4
    assert output.log_probs.device.type == "cpu"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU beside the CPU")
def test_members_on_two_devices_search_like_members_on_one() -> None:
    text = tiny_models.processor()
    batch = Batch(
        {side: Stream(torch.tensor([[7, 8, 3]]), torch.ones(1, 3, dtype=torch.bool)) for side in ("src", "mt")}
    )
    limits = torch.tensor([6])
    found = []
    for place in ("cpu", "cuda"):
        members = [tiny_models.folder(name, text).model.double() for name in ("transference", "m-cgru")]
        model = Ensemble([members[0], members[1].to(place)]).eval()
        found.append((greedy(model, batch, limits), beam_search(model, batch, limits, SearchConfig(beam=3))))
    assert [one.tokens for one in found[0][0]] == [one.tokens for one in found[1][0]]
    assert [one[0].tokens for one in found[0][1]] == [one[0].tokens for one in found[1][1]]


def test_any_inputs_go_together() -> None:
    text = tiny_models.processor()
    members = [tiny_models.folder("transformer", text, input=reads).model for reads in ("mt", "src", "src+mt")]
    model = Ensemble([*members, tiny_models.folder("m-cgru", text).model], [1, 2, 3, 4])
    ids = {side: text.encode_batch(side, ["the house"])[0] for side in ("src", "mt")}
    streams = {
        side: Stream(torch.tensor([row]), torch.ones(1, len(row), dtype=torch.bool)) for side, row in ids.items()
    }
    (found,) = greedy(model, Batch(streams), torch.tensor([5]))
    (forced,) = force(model, Batch(streams), [found.tokens])
    assert forced.token_scores == pytest.approx(found.token_scores, abs=1e-5)


def test_the_gate_is_the_mean_of_those_of_members() -> None:
    text = tiny_models.processor()
    sizes = {"dim": 8, "heads": 2, "feed_forward": 8, "layers_pe": 1}
    built = []
    for name, layers in (("copycat", "layers_mt"), ("copycat-src", "layers_encoder")):
        config = load_config(ARCHITECTURES[name].config_class, {**sizes, layers: 1}, name)
        built.append(ARCHITECTURES[name].build(config, text.vocabularies).eval())
    members = [built[0], tiny_models.folder("transference", text).model, built[1]]
    model = Ensemble(members, (0.5, 0.2, 0.3))
    assert model.spec.copied == ("mt", "src")
    ids = {side: torch.tensor(text.encode_batch(side, ["the house"])) for side in ("src", "mt")}
    batch = Batch({side: Stream(row, torch.ones_like(row, dtype=torch.bool)) for side, row in ids.items()})
    tokens = torch.tensor([[BOS, 6]])
    found, alone, _, dual = (one.decode(tokens, one.encode(batch))[0].aux for one in (model, *members))
    assert members[2].spec.copied == ("mt", "src")
    mt, src = alone["gate"], dual["gate"]
    expected = [0.5 * mt[..., 0] + 0.2 + 0.3 * src[..., 0], 0.5 * mt[..., 1] + 0.3 * src[..., 1], 0.3 * src[..., 2]]
    torch.testing.assert_close(found["gate"], torch.stack(expected, -1))
    torch.set_default_dtype(torch.bfloat16)  # as applications do
    try:
        assert model.decode(tokens, model.encode(batch))[0].aux["gate"].dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)
    assert not Ensemble(members[1:2]).decode(tokens, Ensemble(members[1:2]).encode(batch))[0].aux


def test_what_search_relies_on_is_what_all_members_can_do() -> None:
    members = [Fixed(P), Fixed(Q), Fixed(P), Fixed(Q)]
    for member, longest, parallel in zip(members, (None, 9, 12, None), (True, True, False, True), strict=True):
        member.spec = replace(member.spec, longest=longest, parallel=parallel)
        member.constraints = lambda batch, longest=longest: [longest]  # type: ignore[method-assign]
    assert [Ensemble(some).spec.longest for some in (members, members[::2], members[:1])] == [9, 12, None]
    assert [Ensemble(some).spec.parallel for some in (members, members[:2])] == [False, True]
    assert Ensemble(members).constraints(Batch({"mt": stream()})) == [None, 9, 12, None]


class Attending(Fixed):
    """Attends to the three positions of its inputs with the given weights, always."""

    def __init__(self, weights: dict[str, list[float]]) -> None:
        super().__init__(P, tuple(weights) or ("mt",))
        self.attention = {AttentionKey(name, "soft"): torch.tensor(row) for name, row in weights.items()}
        self.spec = replace(self.spec, attention=frozenset(self.attention))

    def decode(self, tokens: Tensor, state: Any) -> tuple[DecoderOutput, Any]:
        output, state = super().decode(tokens, state)
        attention = {key: row.expand(*tokens.shape, 3) for key, row in self.attention.items()}
        return replace(output, attention=attention), state


def test_attention_is_the_weighted_mean_over_the_members_that_have_it() -> None:
    members = [Attending({"mt": [0.5, 0.3, 0.2]}), Attending({"mt": [0.2, 0.0, 0.8], "src": [0.1, 0.9, 0.0]}), Fixed(P)]
    model = Ensemble(members, [1.0, 2.0, 5.0])
    batch = Batch({"mt": stream(), "src": stream()})
    output, _ = model.decode(torch.full((2, 4), BOS), model.encode(batch))
    expected = {"mt": [0.3, 0.1, 0.6], "src": [0.1, 0.9, 0.0]}
    assert {key.stream for key in output.attention} == {*expected}
    for key, weights in output.attention.items():
        torch.testing.assert_close(weights, torch.tensor(expected[key.stream]).expand(2, 4, 3))


def logs(probabilities: list[float], tokens: list[int]) -> list[float]:
    return [math.log(probabilities[token]) if probabilities[token] else -math.inf for token in [*tokens, EOS]]


def test_given_outputs_get_the_probabilities_of_their_symbols_in_one_call() -> None:
    model = Fixed(P)
    short, long = force(model, Batch({"mt": stream()}), [[6], [7, 8, 6, 4]])
    assert (short.tokens, long.tokens) == ((6,), (7, 8, 6, 4))
    assert list(short.token_scores) == pytest.approx(logs(P, [6]))
    assert list(long.token_scores) == pytest.approx(logs(P, [7, 8, 6, 4]))
    assert model.read == [[BOS, 6, 0, 0, 0], [BOS, 7, 8, 6, 4]]
    assert not long.hit_limit


def test_lists_of_any_length_and_no_more_rows_at_once_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forced, "_LARGEST", 2 * 3 * SIZE)  # two rows
    model = Fixed(P)
    lists = [[[6], [7, 8]], [], [[], [4], [5]]]
    found = force_lists(model, Batch({"mt": stream(3)}), lists)
    assert [[list(one.tokens) for one in sentence] for sentence in found] == lists
    assert found[2][0].token_scores == pytest.approx(logs(P, []))
    assert model.read == [[BOS, 5]]  # the last of three calls


def test_tokens_that_a_model_cannot_write_have_score_minus_infinity() -> None:
    (found,) = force(Fixed(P), Batch({"mt": stream(1)}), [[1, 6]])
    assert found.score == -math.inf


def test_outputs_of_other_sentences_are_refused() -> None:
    with pytest.raises(ValueError, match="outputs of 1 sentences for a batch of 2"):
        force(Fixed(P), Batch({"mt": stream()}), [[6]])


def test_member_features_equal_the_scores_of_members_alone() -> None:
    lists = [[Hypothesis((6, 7), (0.0, 0.0, 0.0))], [Hypothesis((1,), (0.0, 0.0))]]
    found = member_features(Ensemble([Fixed(P), Fixed(Q)]), Batch({"mt": stream()}), lists)
    assert found[0][0] == pytest.approx({"model 1": sum(logs(P, [6, 7])), "model 2": sum(logs(Q, [6, 7]))})
    assert found[1][0] == {"model 1": -1e4, "model 2": -1e4}  # sums with -inf would not be numbers


def test_the_penalty_counts_each_word_that_is_not_known() -> None:
    assert word_features(["a", "new", "a", "new"], {"a", "b"}) == {"length": 4.0, "post_edit_penalty": 2.0}


def test_ranking_by_weighted_sums_keeps_the_order_of_equals() -> None:
    features = [{"x": 1.0, "y": 1.0}, {"x": 3.0, "y": 0.0}, {"x": 0.0, "y": 1.5}]
    candidates = [Hypothesis((n,), (0.0,), features=one) for n, one in enumerate(features)]
    assert [one.tokens[0] for one in rank(candidates, {"x": 1.0, "y": 2.0})] == [0, 1, 2]
    assert [one.tokens[0] for one in rank(candidates, {"y": 1.0})] == [2, 0, 1]
    assert weighted_sum({"x": 2.0}, {"x": 0.5, "not there": 7.0}) == 1.0
