from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq

from postedit.core.special_tokens import EOS, STEP
from postedit.text.edits import with_steps, without_steps

texts = st.lists(st.integers(6, 12), max_size=12).map(lambda symbols: [*symbols, EOS])
A, B, C, Q = 6, 7, 8, 9


def test_the_rules_of_the_paper() -> None:
    assert with_steps([A, B, EOS], [A, B, EOS]) == [A, STEP, B, STEP, EOS]
    assert with_steps([A, B, EOS], [A, C, EOS]) == [A, STEP, C, STEP, EOS]  # a deletion, then an insertion
    assert with_steps([A, B, EOS], [A, EOS]) == [A, STEP, STEP, EOS]
    assert with_steps([A, EOS], [A, Q, EOS]) == [A, Q, STEP, EOS]
    assert with_steps([A, B, EOS], [B, EOS]) == [STEP, B, STEP, EOS]


def test_an_insertion_before_the_first_match_stands_at_the_first_position() -> None:
    assert with_steps([A, EOS], [Q, A, EOS]) == [Q, A, STEP, EOS]


def test_empty_texts() -> None:
    assert with_steps([EOS], [EOS]) == [EOS]
    assert with_steps([EOS], [A, EOS]) == [A, EOS]
    assert with_steps([A, EOS], [EOS]) == [STEP, EOS]


@given(texts, texts)
def test_the_post_edit_comes_back_and_the_path_ends_at_the_end_of_mt(mt: list[int], pe: list[int]) -> None:
    sequence = with_steps(mt, pe)
    assert without_steps(sequence) == pe
    assert sequence.count(STEP) == len(mt) - 1
    assert sequence[-1] == EOS


@given(texts, texts)
def test_as_many_symbols_as_can_be_are_written_at_their_own_position(mt: list[int], pe: list[int]) -> None:
    position, kept = 0, 0
    matched = set()
    for symbol in with_steps(mt, pe):
        if symbol == STEP:
            position += 1
        elif symbol == mt[position] and position not in matched:
            matched.add(position)
            kept += 1
    assert kept >= LCSseq.similarity(mt[:-1], pe[:-1]) + 1
