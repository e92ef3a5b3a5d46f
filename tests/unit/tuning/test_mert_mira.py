"""Searches for weights: MERT against trying every point, MIRA on what can be learnt."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postedit.evaluate.metrics import additive_metric
from postedit.tuning.mert_mira import line_optimum, mert, mira
from postedit.tuning.nbest_lists import NBestEntry, NBestLists, NBestPool

NOWHERE = -np.inf


def random_lists(seed: int, features: int = 3, metric: str = "ter", *, whole: bool = False) -> NBestLists:
    """Return lists of any lengths; with `whole`, features are small integers, so that many sums are equal."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 7, rng.integers(1, 6))
    first = np.concatenate([[0], np.cumsum(counts)])
    size = int(first[-1])
    values = rng.integers(-2, 3, (size, features)).astype(float) if whole else rng.standard_normal((size, features))
    lengths = np.repeat(rng.integers(4, 9, len(counts)), counts)
    matches = [np.maximum(0, rng.integers(0, lengths + 1) - n) for n in range(4)]
    bleu = [*matches, *(np.maximum(lengths - n, 1) for n in range(4)), lengths, lengths]
    ter = [rng.integers(0, 6, size), lengths]
    counted = np.stack(ter if metric == "ter" else bleu, 1).astype(float)
    return NBestLists(values, counted, first, additive_metric(metric))


def slow_losses(lists: NBestLists, points: np.ndarray) -> np.ndarray:
    """Float[P]: the loss at each of the weights Float[P,F], every output of every sentence being tried at each."""
    sums = np.zeros((len(lists.features), len(points)))
    for column, weights in zip(lists.features.T, points.T):  # in order, so that equal rows have equal sums
        sums += column[:, None] * weights
    total = np.zeros((len(points), lists.statistics.shape[1]))
    for begin, end in zip(lists.first, lists.first[1:]):
        total += lists.statistics[begin + sums[begin:end].argmax(0)]
    return lists.metric.loss(total)


tried = settings(max_examples=120, derandomize=True)


@pytest.mark.slow
@tried
@given(st.integers(0, 2**32), st.sampled_from(["ter", "bleu"]), st.booleans(), st.booleans())
def test_no_point_of_a_dense_grid_is_better_than_the_optimum(
    seed: int, metric: str, whole: bool, bounded: bool
) -> None:
    lists = random_lists(seed, metric=metric, whole=whole)
    rng = np.random.default_rng(seed + 1)
    weights, direction = rng.standard_normal((2, 3))
    low, high = (sorted(rng.uniform(-3.0, 3.0, 2))) if bounded else (-np.inf, np.inf)
    found = line_optimum(lists, weights, direction, low, high)
    assert low <= found.step <= high
    steps = np.array([found.step, *np.linspace(max(low, -40.0), min(high, 40.0), 5001)])
    losses = slow_losses(lists, weights + steps[:, None] * direction)
    assert losses[0] == pytest.approx(found.loss, abs=1e-9)
    assert (found.loss <= losses + 1e-9).all()


def test_the_optimum_of_a_line_is_the_middle_of_the_best_stretch() -> None:
    # Two outputs of one sentence cross at 1, of the other at 3: between them both have no error.
    features = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
    counts = np.array([[0.0, 5.0], [2.0, 5.0], [0.0, 5.0], [2.0, 5.0]])
    lists = NBestLists(features, counts, np.array([0, 2, 4]), additive_metric("ter"))
    found = line_optimum(lists, np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert (found.step, found.loss) == (2.0, 0.0)
    # Of what a bound leaves, again the middle; and at the end of the line, a step beyond the last corner.
    assert line_optimum(lists, np.array([1.0, 0.0]), np.array([0.0, 1.0]), high=2.0).step == 1.5
    worse = NBestLists(features[:2], counts[:2], np.array([0, 2]), additive_metric("ter"))
    assert line_optimum(worse, np.array([1.0, 0.0]), np.array([0.0, 1.0])).step == 1.5
    assert line_optimum(worse, np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.25, 0.25).step == 0.25


@settings(max_examples=40, derandomize=True)
@given(st.integers(0, 2**32), st.sampled_from(["ter", "bleu"]))
def test_mert_of_two_weights_is_as_good_as_trying_all_of_them(seed: int, metric: str) -> None:
    lists = random_lists(seed, features=2, metric=metric)
    weights = mert(lists, np.array([1.0, 0.0]), np.array([1e-3, NOWHERE]), restarts=1)
    assert weights[0] > 0.0
    angles = np.linspace(-np.pi / 2, np.pi / 2, 5001)[1:-1]
    assert (lists.loss(weights) <= slow_losses(lists, np.stack([np.cos(angles), np.sin(angles)], 1)) + 1e-9).all()


@settings(max_examples=25, derandomize=True)
@given(st.integers(0, 2**32))
def test_mert_never_ends_worse_than_it_began_and_repeats_with_a_seed(seed: int) -> None:
    lists = random_lists(seed, features=4)
    start, lower = np.array([0.5, 0.5, 0.0, 0.0]), np.array([1e-3, 1e-3, NOWHERE, NOWHERE])
    weights = mert(lists, start, lower, restarts=3, seed=seed)
    assert lists.loss(weights) <= lists.loss(start)
    assert (weights * lists.scales >= lower).all()
    assert weights.tolist() == mert(lists, start, lower, restarts=3, seed=seed).tolist()


def learnable(metric: str) -> NBestLists:
    """Return lists in which edits are known from three features together, and from none alone."""
    rng = np.random.default_rng(3)
    features = rng.standard_normal((60 * 8, 4)) * np.array([1.0, 10.0, 0.1, 1.0])
    good = features @ np.array([1.0, -0.1, 10.0, 0.0])
    edits = np.clip(np.round(4.0 - 2.0 * good), 0, 12)
    if metric == "ter":
        counted = np.stack([edits, np.full(len(edits), 12)], 1)
    else:
        matches = [np.maximum(12 - n - (n + 1) * edits, 0) for n in range(4)]
        counted = np.stack(
            [*matches, *(np.full(len(edits), 12 - n) for n in range(4)), *[np.full(len(edits), 12)] * 2], 1
        )
    return NBestLists(features, counted.astype(float), np.arange(0, 481, 8), additive_metric(metric))


@pytest.mark.parametrize("metric", ["ter", "bleu"])
@pytest.mark.parametrize("search", [mert, mira])
def test_weights_that_explain_the_errors_are_found_whatever_the_scale(search, metric: str) -> None:
    lists = learnable(metric)
    start = np.array([1.0, 0.0, 0.0, 0.0])
    weights = search(lists, start, np.full(4, NOWHERE), seed=5)
    perfect = lists.loss(np.array([1.0, -0.1, 10.0, 0.0]))
    assert lists.loss(start) > perfect + 5.0
    assert lists.loss(weights) < perfect + 1.0
    assert weights.tolist() == search(lists, start, np.full(4, NOWHERE), seed=5).tolist()


def test_of_stretches_with_the_same_loss_the_longest_is_taken() -> None:
    features, counted = np.array([[2.0, -1.0], [3.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 2.0], [1.0, 2.0], [0.0, 2.0]])
    lists = NBestLists(features, counted, np.array([0, 3]), additive_metric("ter"))
    found = line_optimum(lists, np.array([1.0, 0.0]), np.array([0.0, 1.0]), -2.0, 10.0)  # corners at -1 and 3
    assert (found.step, found.loss) == (6.5, 0.0)


@pytest.mark.parametrize(("bound", "least"), [(10.0, NOWHERE), (10.0, 0.01), (0.6, NOWHERE)])
def test_mira_moves_weights_just_far_enough_from_fear_to_hope(bound: float, least: float) -> None:
    features = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, -9.0]])
    counted = np.array([[0.0, 2.0], [2.0, 2.0], [3.0, 2.0]])  # the third is worse than the second, but not feared
    lists = NBestLists(features, counted, np.array([0, 3]), additive_metric("ter"))
    start, lower = np.array([2.0, 0.0]), np.array([least, NOWHERE])
    apart = (features[0] - features[1]) / lists.scales
    step = min(bound, (2.0 - (features[0] - features[1]) @ start) / (apart @ apart))
    expected = np.maximum(start + step * apart / lists.scales, lower)
    assert lists.loss(start) > lists.loss(expected) == 0.0
    assert mira(lists, start, lower, passes=1, bound=bound) == pytest.approx(expected)
    assert mira(lists, start, lower, passes=1, bound=1e-3) == pytest.approx(start)  # which changes no output


def test_mira_returns_the_mean_of_the_weights_in_a_pass() -> None:
    features, counted = np.array([[0.0, 1.0], [1.0, 0.0]] * 2), np.array([[0.0, 2.0], [2.0, 2.0]] * 2)
    lists = NBestLists(features, counted, np.array([0, 2, 4]), additive_metric("ter"))
    found = mira(lists, np.array([2.0, 0.0]), np.full(2, NOWHERE), passes=1, bound=0.2)
    assert found == pytest.approx(np.array([0.8, 1.2]))  # of [1.2, 0.8] and [0.4, 1.6], after each sentence


def test_mira_keeps_weights_above_their_bounds() -> None:
    lists = learnable("ter")
    weights = mira(lists, np.array([1.0, 1.0, 1.0, 1.0]), np.array([1e-3, 1e-3, NOWHERE, NOWHERE]))
    assert (weights[:2] * lists.scales[:2] >= 1e-3).all()
    assert lists.loss(weights) < lists.loss(np.ones(4))


def test_lists_grow_by_new_hypotheses() -> None:
    pool = NBestPool(["x", "y"], ["a b", "c"], additive_metric("ter"))
    assert (
        pool.add([[NBestEntry("a b", {"x": 1.0}), NBestEntry("a", {"x": 2.0, "y": 3.0})], [NBestEntry("d", {})]]) == 3
    )
    assert pool.add([[NBestEntry("a", {"x": 9.0})], [NBestEntry("c", {"y": 1.0}), NBestEntry("d", {"x": 9.0})]]) == 1
    lists = pool.lists()
    assert len(pool) == 4
    assert lists.first.tolist() == [0, 2, 4]
    assert lists.features.tolist() == [[1.0, 0.0], [2.0, 3.0], [0.0, 0.0], [0.0, 1.0]]
    assert lists.statistics.tolist() == [[0.0, 2.0], [1.0, 2.0], [1.0, 1.0], [0.0, 1.0]]
    assert lists.best(np.array([0.0, 1.0])).tolist() == [1, 3]
    assert lists.best(np.array([0.0, 0.0])).tolist() == [0, 2]  # of equals, the first
    with pytest.raises(ValueError, match="every sentence needs an output"):
        NBestPool(["x"], ["a"], additive_metric("ter")).lists()


def test_a_feature_equal_for_all_outputs_of_a_sentence_has_no_scale() -> None:
    lists = random_lists(4)
    counts = np.diff(lists.first)
    constant = np.repeat(np.random.default_rng(1).uniform(0.1, 0.9, len(counts)), counts)
    means = np.add.reduceat(constant, lists.first[:-1]) / counts
    assert (np.repeat(means, counts) != constant).any()  # sums are rounded
    features = np.column_stack([lists.features, constant])
    scales = replace(lists, features=features).scales
    assert scales[-1] == 1.0
    assert (scales[:-1] == lists.scales).all()


def test_mert_takes_the_best_of_all_restarts() -> None:
    start, lower = np.array([1.0, 0.0, 0.0, 0.0]), np.array([1e-3, NOWHERE, NOWHERE, NOWHERE])
    gains = []
    for seed in range(6):
        lists = random_lists(seed, features=4)
        losses = [lists.loss(mert(lists, start, lower, restarts=restarts)) for restarts in (0, 6)]
        gains.append(losses[0] - losses[1])
    assert min(gains) == 0.0 < max(gains)


def plain_mira(lists: NBestLists, start: np.ndarray, lower: np.ndarray, bound: float, seed: int) -> np.ndarray:
    """Return what two passes of MIRA find, with each sum and choice written out."""
    order, scales, metric = np.random.default_rng(seed), lists.scales, lists.metric
    weights, past = np.maximum(start * scales, lower * scales), np.zeros(lists.statistics.shape[1])
    found = [weights]
    for _ in range(2):
        seen = []
        for sentence in order.permutation(len(lists.first) - 1).tolist():
            rows = range(lists.first[sentence], lists.first[sentence + 1])
            features = {row: lists.features[row] / scales for row in rows}
            context = {row: past + lists.statistics[row] for row in rows}
            words_lost = {row: float(metric.loss(context[row])) * context[row][-1] / 100.0 for row in rows}
            score = {row: float(features[row] @ weights) for row in rows}
            hope = max(rows, key=lambda row: score[row] - words_lost[row])
            fear = max(rows, key=lambda row: score[row] + words_lost[row])
            apart = features[hope] - features[fear]
            missing = words_lost[fear] - words_lost[hope] - float(apart @ weights)
            if hope != fear and missing > 0.0:
                weights = np.maximum(weights + min(bound, missing / float(apart @ apart)) * apart, lower * scales)
            past = 0.999 * context[hope]
            seen.append(weights)
        found.append(np.mean(seen, 0))
    return min((one / scales for one in found), key=lists.loss)


@pytest.mark.parametrize("metric", ["ter", "bleu"])
def test_mira_does_what_its_paper_says(metric: str) -> None:
    start, lower = np.array([1.0, 0.0, 0.5]), np.array([1e-3, NOWHERE, NOWHERE])
    moved = 0
    for seed in range(20):
        lists = random_lists(seed, metric=metric)
        found = mira(lists, start, lower, passes=2, bound=0.3, seed=seed)
        assert found == pytest.approx(plain_mira(lists, start, lower, 0.3, seed))
        moved += found.tolist() != start.tolist()
    assert moved > 5
