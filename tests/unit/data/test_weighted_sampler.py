import json
from collections import Counter
from dataclasses import asdict
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.core.errors import DataError
from postedit.core.types import Batch
from postedit.data.batching import BatchStream, Position
from postedit.data.corpus import Corpus, write_corpus
from postedit.data.triplets import SamplingWeight, Triplet
from postedit.data.weighted_sampler import WeightedSampler
from postedit.text.processor import TextProcessor

INPUTS = ("src", "mt")
CUTS = (0, 70, 75, 100)  # three sources, of 70, 5 and 25 triplets


@pytest.fixture
def three(small_blocks: None, tmp_path: Path, triplets: list[Triplet], processor: TextProcessor) -> Corpus:
    sources = [triplets[first:last] for first, last in pairwise(CUTS)]
    return write_corpus(tmp_path / "three.arrow", sources, processor, 100)


def numbers(batch: Batch, processor: TextProcessor) -> list[int]:
    """The number at the start of src, by which the made triplets are told apart."""
    stream = batch.streams["src"]
    return [
        int(processor.vocabulary("src").decode(ids[mask].tolist()).split()[0])
        for ids, mask in zip(stream.ids, stream.mask)
    ]


def epochs(corpus: Corpus, weights: list[SamplingWeight], count: int, processor: TextProcessor) -> list[Counter[int]]:
    found = [Counter[int]() for _ in range(count)]
    epoch = 0
    for batch, position in BatchStream(corpus, INPUTS, 90, 1, sampling_weights=weights):
        found[epoch].update(numbers(batch, processor))
        epoch = position.epoch
        if epoch >= count:
            return found
    raise AssertionError("the stream has no end")


def test_sources_are_parts_with_blocks_of_their_own(three: Corpus) -> None:
    assert [part.rows for part in three.parts] == [70, 5, 25]
    assert [part.blocks for part in three.parts] == [9, 1, 4]
    assert sum(three.block_size(block) for block in range(three.blocks)) == len(three) == 100


@given(weight=st.floats(0.01, 5.0), rows=st.integers(1, 1000), start=st.integers(0, 3))
def test_epochs_take_one_stretch_of_the_tape_after_the_other(weight: float, rows: int, start: int) -> None:
    source = SamplingWeight(weight, start, start + 20)
    stretches = [source.row_range(rows, epoch) for epoch in range(start + 22)]
    inside = stretches[start : start + 20]
    assert inside[0][0] == 0
    assert all(one[1] == other[0] for one, other in pairwise(inside))
    assert all(abs(last - first - weight * rows) <= 1.0 for first, last in inside)
    assert {(0, 0)} == {*stretches[:start], *stretches[start + 20 :], (0, 0)}


def test_each_triplet_comes_as_often_as_its_weight_says(three: Corpus, processor: TextProcessor) -> None:
    found = epochs(three, [SamplingWeight(), SamplingWeight(3.0), SamplingWeight(0.2)], 5, processor)
    for counts in found:
        assert {counts[number] for number in range(70)} == {1}
        assert {counts[number] for number in range(70, 75)} == {3}
        assert sum(counts[number] for number in range(75, 100)) == 5
    rare = [{number for number in counts if number >= 75} for counts in found]
    assert set.union(*rare) == set(range(75, 100))
    assert rare[0] != set(range(75, 80))


def test_blocks_are_in_another_order_in_each_epoch_and_pass(three: Corpus) -> None:
    whole, half = (WeightedSampler(three, [SamplingWeight(weight)] * 3, 1) for weight in (1.0, 0.5))
    assert whole.block_slices(0) != whole.block_slices(1)
    first, *others = (set(half.block_slices(epoch)) for epoch in (0, 2, 4))
    assert first not in others, "each pass, of two epochs, begins with other blocks"


def test_parts_of_the_same_size_have_orders_of_their_own(
    small_blocks: None, tmp_path: Path, triplets: list[Triplet], processor: TextProcessor
) -> None:
    sources = [triplets[first : first + 50] for first in (0, 50)]
    corpus = write_corpus(tmp_path / "two.arrow", sources, processor, 100)
    slices = WeightedSampler(corpus, [SamplingWeight(0.5)] * 2, 1).block_slices(0)
    one, other = (
        {part.block - of.first for part in slices if of.first <= part.block < of.first + of.blocks}
        for of in corpus.parts
    )
    assert one != other, "half an epoch begins with other blocks of each"


def test_a_curriculum_by_epochs(three: Corpus, processor: TextProcessor) -> None:
    weights = [SamplingWeight(until_epoch=2), SamplingWeight(from_epoch=1), SamplingWeight(2.0, 2)]
    found = epochs(three, weights, 4, processor)
    sizes = [
        [sum(counts[number] for number in range(first, last)) for first, last in pairwise(CUTS)] for counts in found
    ]
    assert sizes == [[70, 0, 0], [70, 5, 0], [0, 5, 50], [0, 5, 50]]
    assert [WeightedSampler(three, weights, 1).rows_per_part(epoch) for epoch in range(4)] == [
        tuple(size) for size in sizes
    ]


def test_resuming_from_any_position_gives_what_would_have_followed(three: Corpus, processor: TextProcessor) -> None:
    weights = [SamplingWeight(0.3), SamplingWeight(2.5, 1), SamplingWeight(until_epoch=1)]

    def stream(position: Position) -> BatchStream:
        return BatchStream(three, INPUTS, 90, 1, position=position, sampling_weights=weights)

    whole = list(islice(stream(Position()), 40))
    assert whole[-1][1].epoch > 2
    for done, (_, position) in enumerate(whole[:-1]):
        saved = Position(**json.loads(json.dumps(asdict(position))))
        batch, after = next(iter(stream(saved)))
        assert (numbers(batch, processor), after) == (numbers(whole[done + 1][0], processor), whole[done + 1][1])


def test_an_epoch_without_a_triplet_is_passed_over(three: Corpus) -> None:
    weights = [SamplingWeight(until_epoch=1), SamplingWeight(0.05, 1), SamplingWeight(until_epoch=1)]
    stream = iter(BatchStream(three, INPUTS, 90, 1, sampling_weights=weights))
    seen = [position.epoch for _, position in islice(stream, 60)]
    assert max(seen) > 20
    with pytest.raises(DataError, match="no source has triplets after 1 epochs"):
        list(islice(BatchStream(three, INPUTS, 90, 1, sampling_weights=[SamplingWeight(until_epoch=1)] * 3), 60))


def test_there_is_a_share_for_each_part(three: Corpus) -> None:
    with pytest.raises(ValueError, match="has 3 parts, not 2"):
        WeightedSampler(three, [SamplingWeight(), SamplingWeight()], 1)
