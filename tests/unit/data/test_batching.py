import json
import threading
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice, pairwise
from pathlib import Path
from queue import Queue

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from postedit.core.special_tokens import EOS, PAD
from postedit.core.types import Batch
from postedit.data.batching import BatchStream, Position, UpdateSize, ordered_batches, prefetch
from postedit.data.collate import collate, length_batches
from postedit.data.corpus import Corpus, write_corpus
from postedit.data.triplets import Triplet
from postedit.text.processor import TextProcessor

INPUTS = ("src", "mt")
BUDGET = 90


def ids(batch: Batch) -> tuple[list[list[int]], ...]:
    assert batch.target is not None
    return tuple(part.ids.tolist() for part in (*batch.streams.values(), batch.target))


def rows(batch: Batch) -> list[tuple[int, ...]]:
    """The real ids of src, which tell the made triplets apart."""
    stream = batch.streams["src"]
    return [tuple(row[mask].tolist()) for row, mask in zip(stream.ids, stream.mask)]


def stream(corpus: Corpus, **options: object) -> BatchStream:
    return BatchStream(corpus, INPUTS, BUDGET, 1, **options)  # type: ignore[arg-type]


def epoch(corpus: Corpus, seed: int = 1, number: int = 0) -> list[Batch]:
    batches = []
    for batch, position in BatchStream(corpus, INPUTS, BUDGET, seed, position=Position(number)):
        batches.append(batch)
        if position.epoch > number:
            return batches
    raise AssertionError("the stream has no end")


def test_collate_pads_and_marks_what_is_real() -> None:
    batch = collate({"src": [[7, 8, EOS], [9, EOS]], "mt": [[6, EOS], [7, EOS]], "pe": [[EOS], [8, EOS]]}, INPUTS)
    assert list(batch.streams) == ["src", "mt"]
    assert batch.streams["src"].ids.tolist() == [[7, 8, EOS], [9, EOS, PAD]]
    assert batch.streams["src"].mask.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target is not None
    assert batch.target.ids.tolist() == [[EOS, PAD], [8, EOS]]
    assert batch.target.ids.dtype == torch.long


def test_collate_without_post_edits_has_no_target() -> None:
    batch = collate({"mt": [[6, EOS]]}, ["mt"])
    assert batch.target is None
    assert list(batch.streams) == ["mt"]


@given(lengths=st.lists(st.integers(1, 40), max_size=60), budget=st.integers(1, 200))
def test_length_batches_hold_every_row_once_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = length_batches(np.array(lengths, dtype=np.int64), budget)
    assert sorted(int(row) for batch in batches for row in batch) == list(range(len(lengths)))
    longest = [max(lengths[row] for row in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)
    for batch, length in zip(batches, longest):
        assert len(batch) * length <= budget or len(batch) == 1
    for batch, after in pairwise(batches):  # no batch could have taken one row more
        assert (len(batch) + 1) * max(lengths[batch[0]], lengths[after[0]]) > budget


def test_an_epoch_has_every_triplet_once_and_keeps_its_sides_together(
    small: Corpus, triplets: list[Triplet], processor: TextProcessor
) -> None:
    expected = {(triplet.src, triplet.mt, triplet.pe) for triplet in triplets}
    decode = processor.vocabulary("src").decode
    for batches in (epoch(small), ordered_batches(small, INPUTS, BUDGET)):
        found = [texts for batch in batches for texts in zip(*([decode(row) for row in part] for part in ids(batch)))]
        assert set(found) == expected
        assert len(found) == 100


def test_budget_counts_padding_on_all_sides(small: Corpus) -> None:
    for batch in [*epoch(small), *ordered_batches(small, INPUTS, BUDGET)]:
        assert batch.rows * max(len(part[0]) for part in ids(batch)) <= BUDGET


def test_order_depends_on_seed_and_epoch_only(small: Corpus) -> None:
    first = [ids(batch) for batch in epoch(small)]
    assert first == [ids(batch) for batch in epoch(Corpus.open(small.path))]
    for other in (epoch(small, seed=2), epoch(small, number=1)):
        assert [ids(batch) for batch in other] != first


def test_batches_are_not_the_same_in_each_epoch(small: Corpus) -> None:
    together = [{frozenset(rows(batch)) for batch in epoch(small, number=number)} for number in (0, 1)]
    assert len(together[0] & together[1]) < len(together[0]) / 2


def test_a_corpus_of_one_block_has_other_batches_in_each_epoch(tmp_path: Path, processor: TextProcessor) -> None:
    same_length = [Triplet(f"{number:02d} a", "b", "c") for number in range(60)]
    corpus = write_corpus(tmp_path / "c.arrow", [same_length], processor, 100)
    assert corpus.blocks == 1
    epochs = [{frozenset(rows(batch)) for batch in epoch(corpus, number=number)} for number in range(3)]
    assert not any(one & other for one, other in pairwise([*epochs, epochs[0]]))


def test_batches_come_in_no_order_of_length_and_in_another_one_each_epoch(
    tmp_path: Path, processor: TextProcessor
) -> None:
    lengths = [4, 6, 9, 13, 19, 28, 42, 63]  # so far apart that jitter exchanges none
    corpus = write_corpus(tmp_path / "c.arrow", [[Triplet("a " * n, "b", "c") for n in lengths]], processor, 500)
    orders = []
    for number in range(4):
        update = next(BatchStream(corpus, INPUTS, 1, 1, position=Position(number)).updates(UpdateSize(len(lengths))))
        orders.append([one.streams["src"].ids.size(1) for one in update.batches])
    assert all(sorted(order) == sorted(orders[0]) for order in orders)
    assert all(order not in (sorted(order), sorted(order, reverse=True)) for order in orders)
    assert len(set(map(tuple, orders))) == len(orders)


def test_resuming_from_any_position_gives_what_would_have_followed(small: Corpus) -> None:
    whole = list(islice(stream(small), 2 * len(epoch(small)) + 3))
    assert {position.epoch for _, position in whole} == {0, 1, 2}
    for done, (_, position) in enumerate(whole[:-1]):
        saved = Position(**json.loads(json.dumps(asdict(position))))
        batch, after = next(iter(stream(small, position=saved)))
        assert (ids(batch), after) == (ids(whole[done + 1][0]), whole[done + 1][1])


def test_resuming_reads_only_the_window_it_is_in(small: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    position = next(position for _, position in stream(small) if position.window == 3 and position.batch == 1)
    reads: list[int] = []
    original = small.read
    monkeypatch.setattr(small, "read", lambda blocks, sides: reads.append(len(blocks)) or original(blocks, sides))
    next(iter(stream(small, position=position)))
    assert reads == [3]


@pytest.mark.parametrize("world", [2, 3])
def test_processes_share_one_sequence(small: Corpus, world: int) -> None:
    steps = 25
    alone = list(islice(stream(small), steps * world))
    for rank in range(world):
        own = list(islice(stream(small, rank=rank, world=world), steps))
        assert [ids(batch) for batch, _ in own] == [ids(batch) for batch, _ in alone[rank::world]]
        assert [position for _, position in own] == [position for _, position in alone[world - 1 :: world]]


@pytest.mark.parametrize("size", [UpdateSize(3), UpdateSize(labels=1), UpdateSize(labels=60)])
def test_an_update_is_the_same_however_many_processes_share_it(small: Corpus, size: UpdateSize) -> None:
    steps = 30
    alone = list(islice(stream(small).updates(size), steps))
    assert all(portion.counts for portion in alone)
    for world in (2, 3, 5):
        portions = [list(islice(stream(small, rank=rank, world=world).updates(size), steps)) for rank in range(world)]
        for whole, *shares in zip(alone, *portions):
            assert {share.position for share in shares} == {whole.position}
            counted = [ids(batch) for share in shares if share.counts for batch in share.batches]
            assert sorted(counted) == sorted(map(ids, whole.batches))
            assert all(ids(batch) == ids(whole.batches[0]) for s in shares if not s.counts for batch in s.batches)


def test_an_update_has_as_many_batches_as_have_so_many_labels(small: Corpus) -> None:
    for portion in islice(stream(small).updates(UpdateSize(labels=60)), 30):
        labels = [int(batch.target.mask.sum()) for batch in portion.batches if batch.target is not None]
        assert sum(labels) >= 60 > sum(labels[:-1])


def test_a_position_between_updates_is_reached_by_any_number_of_processes(small: Corpus) -> None:
    size = UpdateSize(labels=60)
    whole = list(islice(stream(small).updates(size), 20))
    after = whole[9].position
    own = list(islice(stream(small, position=after, rank=1, world=2).updates(size), 10))
    other = list(islice(stream(small, position=after, world=2).updates(size), 10))
    assert [portion.position for portion in own] == [portion.position for portion in whole[10:]]
    assert [ids(portion.batches[0]) for portion in other] == [ids(portion.batches[0]) for portion in whole[10:]]


def test_seen_counts_the_triplets_of_the_epoch(small: Corpus) -> None:
    seen = 0
    for batch, position in stream(small):
        seen += batch.rows
        if position.epoch:
            break
        assert position.seen == seen
    assert position == Position(epoch=1)
    assert seen == 100


@pytest.mark.usefixtures("small_blocks")
def test_one_window_is_shuffled_fully(tmp_path: Path, triplets: list[Triplet], processor: TextProcessor) -> None:
    same_length = [Triplet(f"{number:02d} a", "b", "c") for number in range(20)]
    corpus = write_corpus(tmp_path / "c.arrow", [same_length], processor, 100)
    assert corpus.blocks == 3
    texts = processor.encode_batch("src", [triplet.src for triplet in same_length])
    number = {tuple(row): number for number, row in enumerate(texts)}
    batches = [[number[row] for row in rows(batch)] for batch in epoch(corpus)]
    assert sorted(order := [number for batch in batches for number in batch]) == list(range(20)) != order
    assert any(max(batch) // 8 != min(batch) // 8 for batch in batches)


def test_a_row_above_the_budget_is_a_batch_of_its_own(small: Corpus) -> None:
    batches = list(ordered_batches(small, INPUTS, 1))
    assert [batch.rows for batch in batches] == [1] * 100


@pytest.mark.parametrize("position", [Position(0, 5), Position(0, 0, 999)])
def test_a_position_of_another_corpus_is_refused(small: Corpus, position: Position) -> None:
    with pytest.raises(ValueError, match="is not a position in"):
        next(iter(stream(small, position=position)))


@pytest.mark.parametrize("options", [{"rank": 2, "world": 2}, {"rank": -1}])
def test_numbers_out_of_range_are_refused(small: Corpus, options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="rank < world"):
        stream(small, **options)


def test_batches_ahead_are_the_same_and_made_before_they_are_asked_for() -> None:
    made: Queue[int] = Queue()

    def items() -> Iterator[int]:
        for number in range(6):
            made.put(number)
            yield number

    coming = prefetch(items(), 2)
    assert next(coming) == 0
    assert [made.get(timeout=300) for _ in range(3)] == [0, 1, 2]
    assert list(coming) == [1, 2, 3, 4, 5]


def test_an_error_ahead_is_raised_in_its_place() -> None:
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("no more")

    coming = prefetch(items(), 2)
    assert [next(coming), next(coming)] == [1, 2]
    with pytest.raises(ValueError, match="no more"):
        next(coming)


def test_closing_a_prefetcher_early_ends_its_thread() -> None:
    before = set(threading.enumerate())
    coming = prefetch(iter(range(1000)), 3)
    next(coming)
    new = set(threading.enumerate()) - before
    assert new
    coming.close()
    assert not new & set(threading.enumerate())
