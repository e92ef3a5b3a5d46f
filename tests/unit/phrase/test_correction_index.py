import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from postedit.phrase.correction_index import AlignedTriplet, CorrectionIndex, GrowingArray
from postedit.phrase.edit_alignment import UNLINKED
from postedit.phrase.triplet_index import LONGEST, ROW, gone_on
from postedit.phrase.word_ids import BEGIN, END_OF_TEXT

WORDS = st.lists(st.integers(3, 5), max_size=10)
TEXTS = st.lists(st.tuples(WORDS, WORDS), max_size=6)


def aligned(mt: list[int], pe: list[int]) -> AlignedTriplet:
    old, new = (np.array([BEGIN, *words, END_OF_TEXT], np.int32) for words in (mt, pe))
    links = np.full(len(new), UNLINKED, np.int32)
    links[0], links[-1] = 0, len(old) - 1
    return AlignedTriplet(old, old, new, links, np.zeros(len(old), np.int32), 0)


def occurrences(index, phrase: list[int]) -> list[tuple[int, int]]:
    """Return the triplet and the place in its mt of each occurrence that the index finds."""
    low, high = 0, 0
    for depth, word in enumerate(phrase):
        low, high = gone_on(index.mt, low, high, depth, word)
    found = []
    for place in index.mt.order[low:high].tolist():
        row = int(index.cells[place, ROW])
        found.append((row, place - int(index.mt_starts[row])))
    return sorted(found)


def check_texts(index, texts: dict[int, tuple[list[int], list[int]]]) -> None:
    """Check the texts of triplets, by their rows."""
    for row, (mt, pe) in texts.items():
        assert index.mt.words[index.mt_starts[row] : index.mt_starts[row + 1] - 1].tolist() == [BEGIN, *mt, END_OF_TEXT]
        assert index.pe.words[index.pe_starts[row] : index.pe_starts[row + 1] - 1].tolist() == [BEGIN, *pe, END_OF_TEXT]


def expected(texts: dict[int, list[int]], phrase: list[int]) -> list[tuple[int, int]]:
    bounded = {row: [BEGIN, *words, END_OF_TEXT] for row, words in texts.items()}
    return sorted(
        (row, at)
        for row, words in bounded.items()
        for at in range(len(words))
        if words[at : at + len(phrase)] == phrase
    )


@given(TEXTS, st.sets(st.integers(0, 5)), st.lists(st.integers(2, 5), min_size=1, max_size=LONGEST), st.booleans())
def test_all_places_of_the_triplets_that_were_not_removed_are_found(
    texts: list[tuple[list[int], list[int]]], removed: set[int], phrase: list[int], together: bool
) -> None:
    index, triplets = CorrectionIndex(), list(enumerate(aligned(*pair) for pair in texts))
    if together:
        index.add([*triplets, *((100 + number, aligned([], [])) for number in range(40))])
        index.truncate(100)
    else:
        for one in triplets:
            index.add([one])
    for number in removed:
        index.remove(number)
    left = {row: pair for row, pair in enumerate(texts) if row not in removed}
    assert occurrences(index.index, phrase) == expected({row: mt for row, (mt, _) in left.items()}, phrase)
    check_texts(index.index, left)


def test_many_new_triplets_do_not_bring_back_removed_ones() -> None:
    index = CorrectionIndex()
    index.add([(number, aligned([3, 4], [3])) for number in range(3)])
    index.remove(1)
    index.add([(10 + number, aligned([5, 3], [3])) for number in range(40)])
    assert occurrences(index.index, [3, 4]) == [(0, 1), (2, 1)]
    assert len(occurrences(index.index, [5, 3])) == 40
    assert index.ranks.tolist() == [1, 1, 2, *range(3, 43)]


@given(TEXTS, TEXTS, st.lists(st.integers(2, 5), min_size=1, max_size=4))
def test_a_truncated_index_is_as_if_the_rest_had_never_been_added(
    texts: list[tuple[list[int], list[int]]], others: list[tuple[list[int], list[int]]], phrase: list[int]
) -> None:
    index, first = CorrectionIndex(), len(texts)
    index.add(list(enumerate(aligned(*pair) for pair in texts)))
    index.add([(first + number, aligned(*pair)) for number, pair in enumerate(others)])
    index.truncate(first)
    index.add([(first + number, aligned(*pair)) for number, pair in enumerate(others[::-1])])
    left = dict(enumerate([*texts, *others[::-1]]))
    assert occurrences(index.index, phrase) == expected({row: mt for row, (mt, _) in left.items()}, phrase)
    check_texts(index.index, left)
    for row, (mt, _) in left.items():
        bag = index.bags[slice(*index.bag_starts[row : row + 2])]
        assert bag.tolist() == sorted({BEGIN, *mt, END_OF_TEXT})


@given(TEXTS, TEXTS, st.sets(st.integers(0, 5)), st.integers(0, 6))
def test_words_and_ranks_are_those_of_the_triplets_that_are_left(
    texts: list[tuple[list[int], list[int]]], others: list[tuple[list[int], list[int]]], removed: set[int], end: int
) -> None:
    index = CorrectionIndex()
    index.add(list(enumerate(aligned(*pair) for pair in texts)))
    for number in sorted(removed):
        index.remove(number)
    index.truncate(end)
    index.add([(10 + number, aligned(*pair)) for number, pair in enumerate(others)])
    kept = [number < len(texts) and number not in removed for number in range(min(end, len(texts)))]
    left = [mt for (mt, _), is_kept in zip(texts, kept) if is_kept] + [mt for mt, _ in others]
    for word, count in enumerate(index.counts.tolist()):
        assert count == sum(word in {BEGIN, *mt, END_OF_TEXT} for mt in left)
    assert index.ranks.tolist() == np.cumsum([*kept, *[True] * len(others)]).tolist()
    assert len(index.sources) == len(index.numbers) == len(kept) + len(others)


@given(st.lists(st.lists(st.integers(), max_size=5), max_size=8))
def test_arrays_grow_by_rows(parts: list[list[int]]) -> None:
    array = GrowingArray(np.empty(0, object))
    for part in parts:
        array.extend(part)
    assert array.values.tolist() == [value for part in parts for value in part]
    array.truncate(len(array) // 2)
    assert len(array.values) == len(array) == sum(map(len, parts)) // 2
