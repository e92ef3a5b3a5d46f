"""When mt is the better output."""

import pytest

from postedit.core.search_config import SearchConfig
from postedit.search import Hypothesis

MT = Hypothesis((6, 7), (-1.0, -1.0, -1.0))


@pytest.mark.parametrize(
    ("found", "length_penalty", "yields"),
    [
        (Hypothesis((6,), (-1.0, -1.5)), 0.0, False),
        (Hypothesis((6,), (-1.0, -1.5)), 1.0, True),  # by token, mt is the better one
        (Hypothesis((6,), (-1.0, -1.0)), 1.0, False),  # as good
        (Hypothesis((6,), (-1.0, -1.5), bias=-0.6), 0.0, True),
        (Hypothesis((6,), (-0.1, -0.1), hit_limit=True), 1.0, True),
    ],
)
def test_an_output_yields_to_mt_that_is_better_or_to_any_if_cut_off(
    found: Hypothesis, length_penalty: float, yields: bool
) -> None:
    assert found.yields_to(MT, SearchConfig(length_penalty=length_penalty)) == yields
