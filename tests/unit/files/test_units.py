"""What files say about their units."""

import pytest

from postedit.files.units import percentage


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["85"], 85.0),
        ([" 85.5 % "], 85.5),
        ([None, "", "good", "7%"], 7.0),
        (["85 or so"], None),
        ([f"85{' ' * 1_000_000}or so"], None),  # quadratic time would take hours
    ],
)
def test_the_first_percentage_counts(values: list[str | None], found: float | None) -> None:
    assert percentage(*values) == found
