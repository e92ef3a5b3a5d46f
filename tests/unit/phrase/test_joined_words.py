import numpy as np

from postedit.phrase.joined_words import NOT_JOINED, join_words, joined_ids


def test_words_with_other_sources_are_other_words() -> None:
    words, sources = np.array([3, 3, 4, 3], np.int32), np.array([7, 8, 7, 7], np.int32)
    joined = join_words(words, sources)
    ids = joined_ids(joined, words, sources).tolist()
    assert ids[0] == ids[3]
    assert sorted(set(ids)) == [0, 1, 2]
    assert joined_ids(joined, words[:2], np.array([9, 8], np.int32)).tolist() == [-1, ids[1]]


def test_words_stay_as_they_are_if_they_are_not_joined() -> None:
    words = np.array([3, 0, 4], np.int32)
    assert joined_ids(NOT_JOINED, words, words).tolist() == [3, 0, 4]
