import random

from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq

from postedit.core.special_tokens import EOS, STEP
from postedit.text.edits import target_of, with_deletions, with_steps, without_steps

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


def test_what_is_kept_is_written_and_what_is_deleted_is_a_step() -> None:
    assert with_deletions([A, B, EOS], [A, B, EOS]) == [A, B, EOS]
    assert with_deletions([A, B, EOS], [A, C, EOS]) == [A, C, STEP, EOS]  # an insertion, then a deletion
    assert with_deletions([A, B, EOS], [B, EOS]) == [STEP, B, EOS]
    assert with_deletions([A, EOS], [A, Q, EOS]) == [A, Q, EOS]
    assert with_deletions([A, EOS], [A, A, EOS]) == [A, A, EOS]  # the first is kept, and the second inserted at the end
    assert with_deletions([A, A, EOS], [A, EOS]).count(STEP) == 1
    assert with_deletions([EOS], [A, EOS]) == [A, EOS]
    assert with_deletions([A, EOS], [EOS]) == [STEP, EOS]


@given(texts, texts)
def test_operations_are_as_few_as_can_be_and_make_the_post_edit(mt: list[int], pe: list[int]) -> None:
    operations = with_deletions(mt, pe)
    rest, written = list(mt), []
    for token in operations:
        if token == STEP:
            rest.pop(0)
        elif rest and token == rest[0]:
            written.append(rest.pop(0))
        else:
            written.append(token)
    assert (written, rest) == (pe, [])
    common = LCSseq.similarity(mt, pe)
    assert len(operations) == len(mt) + len(pe) - common, "KEEPs, and the insertions and deletions of a shortest script"
    assert without_steps(operations) == pe


def longest_common_subsequence(one: list[int], other: list[int]) -> int:
    """Return its length, by dynamic programming over all pairs of prefixes."""
    lengths = [0] * (len(other) + 1)
    for symbol in one:
        diagonal = 0
        for at, second in enumerate(other, start=1):
            diagonal, lengths[at] = (
                lengths[at],
                diagonal + 1 if symbol == second else max(lengths[at], lengths[at - 1]),
            )
    return lengths[-1]


def test_long_texts_too_follow_a_longest_common_subsequence() -> None:
    """The library compares texts of more than 64 and of more than 128 tokens in other ways than short ones."""
    rng = random.Random(1)
    for size in (3, 12, 60) * 5:
        mt, pe = ([*rng.choices(range(6, 6 + size), k=rng.randint(60, 150)), EOS] for _ in range(2))
        common = longest_common_subsequence(mt, pe)
        assert len(with_deletions(mt, pe)) == len(mt) + len(pe) - common
        position, at = 0, -1  # of the last match
        kept = 0
        for symbol in with_steps(mt, pe):
            position += symbol == STEP
            if symbol == mt[position] and position > at:
                kept, at = kept + 1, position
        assert kept >= common


def test_the_target_has_the_form_that_a_model_writes() -> None:
    mt, pe = [A, B, EOS], [B, EOS]
    assert target_of("tokens", mt, pe) == pe
    assert target_of("steps", mt, pe) == with_steps(mt, pe)
    assert target_of("operations", mt, pe) == [STEP, B, EOS]
