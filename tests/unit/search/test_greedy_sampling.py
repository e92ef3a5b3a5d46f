"""Samples come from the model's own distribution, made conditional on its grammar and on the longest output."""

import math
import random
from collections import Counter

import pytest
import torch
from tiny import batch_of, build, random_sentences
from written import A, B, C, Table, batch, limits

from postedit.core.errors import DataError, ModelFolderError
from postedit.core.special_tokens import EOS, PAD, STEP
from postedit.search import Sampling, sample

TABLE: dict[tuple[int, ...], dict[int, float]] = {
    (): {A: 0.5, B: 0.3, EOS: 0.2},
    (A,): {A: 0.1, C: 0.6, EOS: 0.3},
    (B,): {B: 0.9, EOS: 0.1},
    (A, A): {C: 0.9, EOS: 0.1},
    (A, C): {A: 0.25, EOS: 0.75},
    (B, B): {A: 0.5, EOS: 0.5},
}


def exhaustive(
    temperature: float, top_k: int, limit: int, written: tuple[int, ...] = ()
) -> dict[tuple[int, ...], float]:
    """Return the probability of every output of `TABLE`, by its definition."""
    if len(written) == limit:
        return {written: 1.0}
    shares = {symbol: p ** (1.0 / temperature) for symbol, p in TABLE.get(written, {EOS: 1.0}).items()}
    best = sorted(shares, key=lambda symbol: -shares[symbol])[: top_k or None]
    total = sum(shares[symbol] for symbol in best)
    found: dict[tuple[int, ...], float] = {}
    for symbol in best:
        rest = {written: 1.0} if symbol == EOS else exhaustive(temperature, top_k, limit, (*written, symbol))
        for output, p in rest.items():
            found[output] = found.get(output, 0.0) + shares[symbol] / total * p
    return found


@pytest.mark.parametrize(
    ("temperature", "top_k", "limit"), [(1.0, 0, 5), (1.0, 0, 2), (0.5, 0, 5), (2.0, 0, 3), (1.0, 2, 5), (1.0, 1, 5)]
)
def test_frequencies_are_those_of_the_exhaustive_distribution(temperature: float, top_k: int, limit: int) -> None:
    expected = exhaustive(temperature, top_k, limit)
    assert sum(expected.values()) == pytest.approx(1.0)
    torch.manual_seed(7)
    count = 4000
    lists = sample(Table(TABLE), batch(2), limits(limit, limit), Sampling(count, temperature, top_k))
    for found in lists:
        frequencies = Counter(hypothesis.tokens for hypothesis in found)
        assert set(frequencies) <= set(expected)
        for output, p in expected.items():
            assert abs(frequencies[output] / count - p) <= 5.0 * math.sqrt(p * (1.0 - p) / count) + 1e-9, output


def test_scores_are_those_of_the_model_whatever_the_temperature() -> None:
    torch.manual_seed(3)
    (found,) = sample(Table(TABLE), batch(), limits(5), Sampling(50, temperature=3.0))
    exact = exhaustive(1.0, 0, 5)
    for hypothesis in found:
        assert math.exp(hypothesis.score) == pytest.approx(exact[hypothesis.tokens])


@pytest.mark.parametrize("name", ["m-cgru-hard", "gru-hard"])
def test_the_grammar_of_hard_attention_is_kept(name: str) -> None:
    model = build(name, torch.float64)
    sentences = random_sentences(random.Random(4), model, 4)
    batch_ = batch_of(sentences)
    lengths = batch_.streams["mt"].lengths.tolist()
    torch.manual_seed(1)
    for found, length in zip(sample(model, batch_, limits(2, 2, 20, 20), Sampling(8)), lengths):
        for hypothesis in found:
            assert hypothesis.tokens.count(STEP) == length - 1
            assert PAD not in hypothesis.tokens


def test_a_model_that_gives_nothing_a_probability_is_refused() -> None:
    with pytest.raises(ModelFolderError, match="assigns zero probability to every allowed token"):
        sample(Table({(): {A: 0.0}}), batch(), limits(3), Sampling())
    with pytest.raises(ModelFolderError, match="assigns zero probability to every allowed token"):
        sample(Table({(): {A: math.nan}}), batch(), limits(3), Sampling())


@pytest.mark.parametrize(
    ("options", "name"), [({"count": 0}, "count"), ({"temperature": 0.0}, "temperature"), ({"top_k": -1}, "top_k")]
)
def test_options_out_of_range_are_named(options: dict[str, float], name: str) -> None:
    with pytest.raises(DataError, match=name):
        Sampling(**options)  # type: ignore[arg-type]


def test_outputs_are_as_long_as_they_may_be_and_say_so() -> None:
    torch.manual_seed(0)
    for limit, (hypothesis,) in zip(
        (1, 4), sample(Table({}, {A: 0.999, EOS: 0.001}), batch(2), limits(1, 4), Sampling())
    ):
        assert hypothesis.tokens == (A,) * limit
        assert hypothesis.hit_limit
