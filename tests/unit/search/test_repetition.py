"""No n-gram more often than there is a reason for, against all outputs there are."""

from collections import Counter

import torch
from guarded import FIRST, outputs, passing
from hypothesis import given, settings
from hypothesis import strategies as st

from postedit.core.special_tokens import EOS, PAD, STEP
from postedit.search.repetition import NoRepeat

LETTERS = 2
SIZE = FIRST + LETTERS
texts = st.lists(st.integers(FIRST, SIZE - 1), max_size=6)


def n_grams(n: int, text: tuple[int, ...] | list[int]) -> Counter[tuple[int, ...]]:
    return Counter(tuple(text[start : start + n]) for start in range(len(text) - n + 1))


@settings(max_examples=25, derandomize=True)
@given(n=st.integers(1, 3), mt=texts, src=texts)
def test_n_grams_come_as_often_as_in_an_input_or_once(n: int, mt: list[int], src: list[int]) -> None:
    known = tuple(torch.tensor([[*text, PAD]]) for text in (mt, src))
    guard = NoRepeat.of(n, known, SIZE)
    often = [n_grams(n, text) for text in (mt, src)]
    few = {
        output
        for output in outputs(LETTERS, 6)
        if all(count <= max(1, often[0][one], often[1][one]) for one, count in n_grams(n, output).items())
    }
    assert passing(guard, LETTERS, 6) == few


def test_steps_and_waiting_rows_are_skipped_and_select_moves_rows() -> None:
    guard = NoRepeat.of(2, (torch.full((2, 1), PAD),), SIZE)
    for tokens in ([6, PAD], [STEP, 7], [7, PAD], [6, 7]):
        guard = guard.advance(torch.tensor(tokens))
    allowed = guard.select(torch.tensor([1, 0])).allowed()[:, FIRST:]
    assert allowed.tolist() == [[True, False], [True, False]]  # 77 and no 777; 676 and no 6767
    assert guard.allowed()[:, [EOS, STEP]].all()
    assert (guard.to_end().tolist(), guard.closing().tolist()) == ([0, 0], [EOS, EOS])
