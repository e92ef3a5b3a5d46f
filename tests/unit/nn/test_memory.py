"""Memory of the inputs: select moves it only where a sentence moves."""

import torch

from postedit.nn.memory import Memory


def memory() -> Memory:
    return Memory.of(keys=torch.arange(6.0).view(3, 2), mask=torch.tensor([[True], [False], [True]]))


def test_reordering_the_hypotheses_of_a_sentence_copies_nothing() -> None:
    expanded = memory().select(torch.tensor([0, 0, 1, 1, 2, 2]))
    assert expanded.select(torch.tensor([1, 0, 2, 2, 5, 4])) is expanded
    assert expanded.select(torch.tensor([1, 0, 4, 4, 2, 3])) is not expanded
    assert expanded.select(torch.tensor([0, 2, 4])) is not expanded


def test_exchanging_two_sentences_with_equal_rows_elsewhere_is_seen() -> None:
    assert memory().select(torch.tensor([0, 2, 1]))["keys"].tolist() == [[0.0, 1.0], [4.0, 5.0], [2.0, 3.0]]


def test_sentences_that_are_joined_stay_different_ones() -> None:
    both = memory().join(Memory.of(keys=-memory()["keys"] - 9.0, mask=memory()["mask"]))
    exchanged = both.select(torch.tensor([3, 4, 5, 0, 1, 2]))
    assert torch.equal(exchanged["keys"], torch.cat([both["keys"][3:], both["keys"][:3]]))
