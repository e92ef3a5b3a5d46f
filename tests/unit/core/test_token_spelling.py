"""The spelling of tokens: the shortest way to write a text, against all ways."""

import itertools

import pytest

from postedit.core.token_spelling import Spelling

PIECES = ["a", "b", "ab", "bab", "aa"]
SPELLING = Spelling(["", *PIECES], str.isalpha)


@pytest.mark.parametrize("text", ["", "a", "ab", "aab", "abab", "babab", "aabbab", "abc", "c", "ca"])
def test_no_tokens_spell_a_text_in_a_shorter_way(text: str) -> None:
    counts = range(len(text) + 1)
    ways = itertools.chain.from_iterable(itertools.product(range(1, SPELLING.size), repeat=count) for count in counts)
    fewest = next((len(way) for way in ways if SPELLING.spell(way) == text), None)
    found = SPELLING.shortest(text)
    assert (None if found is None else len(found)) == fewest
    assert found is None or SPELLING.spell(found) == text


@pytest.mark.parametrize("text", ["aabbab", "cab"])
def test_the_next_tokens_lead_along_the_shortest_way_from_each_position(text: str) -> None:
    tokens = SPELLING.next_tokens(text)
    for start in range(len(text) + 1):
        assert SPELLING.follow(text, tokens, start) == SPELLING.shortest(text[start:])
