"""Words as numbers, against `str.split` and a dictionary."""

import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from postedit.evaluate.ter_words import number_words

SPACES = [chr(i) for i in range(sys.maxunicode + 1) if chr(i).isspace()]
texts = st.text(max_size=12) | st.text(
    st.sampled_from([*SPACES, "a", "b", "ä", "ß", "😀", "\x00", "\u200b"]), max_size=12
)
sides = st.lists(texts, max_size=6)


@settings(max_examples=300)
@given(sides, sides)
def test_words_are_those_of_split_and_equal_words_have_equal_numbers(one: list[str], two: list[str]) -> None:
    numbered, count = number_words(one, two)
    numbers: dict[str, int] = {}
    for side, found in zip((one, two), numbered, strict=True):
        words = [text.split() for text in side]
        expected = [numbers.setdefault(word, len(numbers)) for text in words for word in text]
        assert found.ids.tolist() == expected
        assert found.ends.tolist() == [sum(map(len, words[:end])) for end in range(len(words) + 1)]
    assert count == len(numbers)


def test_many_words_are_kept_apart() -> None:
    words = [f"w{i}" for i in range(20_000)]
    (once, twice), count = number_words([" ".join(words)], words)
    assert count == len(words)
    assert once.ids.tolist() == twice.ids.tolist() == list(range(len(words)))
