"""Guards and prices that hold an output near to mt, against all outputs there are."""

import pytest
import torch
from guarded import FIRST, assert_the_way_to_the_end, outputs, passing, total
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from postedit.core.special_tokens import PAD, STEP
from postedit.search.edit_distance import Distances, EditCost, MaxEdits, PostEditPenalty

LETTERS = 3
SIZE = FIRST + LETTERS
letters = st.integers(FIRST, SIZE - 1)
texts = st.lists(letters, max_size=5)
tried = settings(max_examples=25, derandomize=True)


def distances(mt: list[int], columns: int = 1) -> Distances:
    return Distances.of(torch.tensor([mt + [PAD] * columns]), torch.tensor([len(mt)]))


@tried
@given(mt=texts, most=st.integers(0, 4), columns=st.integers(1, 3))
def test_exactly_the_outputs_within_the_bound_may_be_written(mt: list[int], most: int, columns: int) -> None:
    guard = MaxEdits(distances(mt, columns), most, SIZE)
    within = {output for output in outputs(LETTERS, 5) if Levenshtein.distance(mt, output) <= most}
    assert passing(guard, LETTERS, 5) == within


@tried
@given(mt=texts, written=texts, most=st.integers(0, 4))
def test_the_end_is_as_near_as_the_bound_allows(mt: list[int], written: list[int], most: int) -> None:
    guard = MaxEdits(distances(mt), most, SIZE)
    for token in written:
        if not guard.allowed()[0, token]:
            break
        guard = guard.advance(torch.tensor([token]))
    assert_the_way_to_the_end(guard)
    nothing = MaxEdits(distances(mt), most, SIZE)
    assert int(nothing.to_end()) == max(0, len(mt) - most)  # an output has at least so many symbols


@tried
@given(mt=texts, output=texts, steps=st.lists(st.integers(0, 5), max_size=3))
def test_an_output_costs_its_edits_wherever_steps_stand(mt: list[int], output: list[int], steps: list[int]) -> None:
    for place in steps:
        output = [*output[:place], STEP, *output[place:]]
    text = [token for token in output if token != STEP]
    assert total(EditCost(distances(mt), 0.7, SIZE), output) == pytest.approx(-0.7 * Levenshtein.distance(mt, text))


@tried
@given(known=texts, output=texts)
def test_the_penalty_counts_what_is_new(known: list[int], output: list[int]) -> None:
    bias = PostEditPenalty.of(torch.tensor([[*known, PAD]]), 0.5, SIZE)
    assert total(bias, [*output, STEP]) == pytest.approx(-0.5 * sum(token not in known for token in output))


def test_the_penalty_is_exact_whatever_the_default_type_is() -> None:
    torch.set_default_dtype(torch.bfloat16)
    try:
        bias = PostEditPenalty.of(torch.tensor([[PAD]]), 0.3, SIZE)
    finally:
        torch.set_default_dtype(torch.float32)
    assert total(bias, [FIRST]) == pytest.approx(-0.3)
