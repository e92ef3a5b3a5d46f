"""The coverage penalty: beam search returns the best output under it, and each output has the bias that it reports."""

import itertools
import random

import numpy as np
import pytest
import torch
from tiny import ARCHITECTURE_NAMES, TOLERANCES, Sentence, batch_of, build, random_sentences, vocabularies

from postedit.core.errors import DataError
from postedit.core.model import Seq2Seq
from postedit.core.special_tokens import BOS, EOS, SPECIAL_TOKENS
from postedit.core.types import AttentionKey
from postedit.search import SearchConfig, beam_search, force
from postedit.search.coverage import Coverage

SIZE, PRICE, LIMIT = len(SPECIAL_TOKENS) + 3, 2.5, 3
KEYS = {
    "transference": AttentionKey("mt", "soft"),
    "m-cgru": AttentionKey("mt", "soft"),
    "copycat-src": AttentionKey("mt", "copy"),
    "pointer-generator": AttentionKey("mt", "copy"),
    "shared-attention": AttentionKey("src+mt", "soft"),
    "transformer/src": AttentionKey("src", "soft"),
}


@pytest.fixture(scope="module", params=KEYS)
def model(request: pytest.FixtureRequest) -> Seq2Seq:
    found = build(request.param, torch.float64, seed=5, sizes=vocabularies(target=SIZE)).requires_grad_(False)
    found.name = request.param
    return found


def cost(model: Seq2Seq, sentence: Sentence, tokens: list[int]) -> tuple[float, float]:
    """Return log-probability and cost of an output, by the formula: b (sum of max(1, attention of a token)) - b n."""
    output, _ = model.decode(torch.tensor([[BOS, *tokens]]), model.encode(batch_of([sentence])))
    labels = [*tokens, EOS]
    score = sum(float(output.log_probs[0, step, label]) for step, label in enumerate(labels))
    key = model.spec.coverage_key
    ids = [token for name in key.streams for token in sentence.inputs[name]]
    seen = output.attention[key][0].sum(0).numpy()
    counted = [total for token, total in zip(ids, seen, strict=True) if token != EOS]
    return score, -(PRICE * sum(np.maximum(1.0, counted)) - PRICE * len(counted)) if counted else 0.0


def test_the_attention_that_is_counted(model: Seq2Seq) -> None:
    assert model.spec.coverage_key == KEYS[model.name]


def test_beam_search_returns_the_best_output_under_the_penalty(model: Seq2Seq) -> None:
    sentences = random_sentences(random.Random(3), model, 3, longest=4)
    settings = SearchConfig(beam=60, n_best=3, coverage_penalty=PRICE)
    found = beam_search(model, batch_of(sentences), torch.full((3,), LIMIT), settings)
    letters = range(len(SPECIAL_TOKENS), SIZE)
    for sentence, (best, *others) in zip(sentences, found, strict=True):
        ranks = {}
        # Other special tokens may be written too: what search found is among what is compared.
        texts = [*itertools.chain.from_iterable(itertools.product(letters, repeat=n) for n in range(LIMIT + 1))]
        for tokens in {*texts, best.tokens, *(one.tokens for one in others)}:
            ranks[tokens] = sum(cost(model, sentence, list(tokens))) / settings.normaliser(len(tokens) + 1)
        assert best.rank(settings) == pytest.approx(max(ranks.values()), abs=TOLERANCES[torch.float64] * 100)
        for one in (best, *others):
            score, bias = cost(model, sentence, list(one.tokens))
            assert (one.score, one.bias) == pytest.approx((score, bias), abs=1e-9)
    outputs = [best.tokens for best, *_ in found]
    forced = force(model, batch_of(sentences), outputs, PRICE)
    assert [one.bias for one in forced] == pytest.approx([best.bias for best, *_ in found], abs=1e-9)


@pytest.mark.parametrize("name", ARCHITECTURE_NAMES)
def test_every_model_with_soft_attention_has_the_penalty(name: str) -> None:
    model = build(name, torch.float64, seed=6, sizes=vocabularies(target=SIZE)).requires_grad_(False)
    sentences = random_sentences(random.Random(7), model, 2, longest=4)
    settings = SearchConfig(beam=3, coverage_penalty=PRICE)
    key = model.spec.coverage_key
    assert (key is None) == all(one.kind == "hard" for one in model.spec.attention)
    if key is None:
        return
    for sentence, (best, *_) in zip(
        sentences, beam_search(model, batch_of(sentences), torch.full((2,), LIMIT), settings)
    ):
        if "+" not in name and len(key.streams) == 1:
            assert best.bias == pytest.approx(cost(model, sentence, list(best.tokens))[1], abs=1e-9)


def test_only_attention_beyond_one_costs(model: Seq2Seq) -> None:
    sentences = random_sentences(random.Random(5), model, 2, longest=4)
    batch = batch_of(sentences)
    coverage = Coverage.of(model, batch, PRICE)
    width = coverage.counted.size(1)
    weights = torch.zeros(2, 1, width, dtype=torch.float64)
    weights[:, 0, 0] = 0.75
    ones = coverage.counted[:, 0].double()
    attention = {coverage.key: weights}
    coverage, first = coverage.after(attention)
    coverage, second = coverage.after(attention)
    assert first.tolist() == [0.0, 0.0]
    torch.testing.assert_close(second, -PRICE * 0.5 * ones)


def test_hard_attention_alone_cannot_be_counted() -> None:
    model = build("gru-hard", torch.float64)
    with pytest.raises(DataError, match="needs soft attention, which this model does not have"):
        Coverage.of(model, batch_of(random_sentences(random.Random(5), model, 2)), PRICE)


def test_greedy_search_has_no_coverage_penalty() -> None:
    with pytest.raises(DataError, match="use beam 2 or more"):
        SearchConfig(coverage_penalty=1.0)
    assert SearchConfig(beam=4, coverage_penalty=1.0).with_options(beam=1).coverage_penalty == 0.0
    assert "coverage_penalty" not in SearchConfig(beam=4).outcome()
    assert SearchConfig(beam=4, coverage_penalty=1.0).outcome()["coverage_penalty"] == 1.0
