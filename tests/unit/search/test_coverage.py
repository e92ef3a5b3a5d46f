"""The coverage penalty of whole outputs."""

import torch

from postedit.core.types import AttentionKey
from postedit.search.coverage import Coverage

KEY = AttentionKey("mt", "soft")


def test_whole_outputs_pay_for_their_own_steps_alone() -> None:
    counted = torch.tensor([[True, True, False]] * 2)
    coverage = Coverage(KEY, 2.0, counted, torch.zeros(2, 3, dtype=torch.float64))
    attention = torch.eye(3, dtype=torch.float64)[torch.tensor([[0, 0, 1, 1, 2], [0, 1, 1, 1, 2]])]
    steps = torch.tensor([[True, True, False, False, False], [True] * 5])
    assert coverage.of_outputs({KEY: attention}, steps).tolist() == [-2.0, -4.0]
    paid = torch.zeros(2, dtype=torch.float64)
    for step in attention.unbind(1):
        coverage, price = coverage.after({KEY: step.unsqueeze(1)})
        paid = paid + price
    assert paid.tolist() == [-4.0, -4.0]
