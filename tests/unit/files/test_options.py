"""Options for translation files: what is refused, and the sentence for it."""

from typing import Any

import pytest

from postedit.core.errors import DataError
from postedit.files.marked_text import MarkedText
from postedit.files.options import FilesConfig, UnitState
from postedit.files.units import Unit


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"languages": "en-de"}, r'languages: must be two languages, such as "en:de" \(found \'en-de\'\)'),
        ({"languages": "en:"}, "languages: must be two languages"),
        ({"min_match": 90, "max_match": 50}, r"max_match \(50\) is below min_match \(90\)"),
    ],
)
def test_an_option_without_meaning_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        FilesConfig(**values)


def test_ranges_of_one_match_and_without_end_are_accepted() -> None:
    assert FilesConfig(min_match=75, max_match=75).max_match == 75
    assert FilesConfig(min_match=75, languages="en:de").max_match is None


@pytest.mark.parametrize(
    ("unit", "reason"),
    [
        ({}, None),
        ({"source": " "}, "no source"),
        ({"origin": "human", "state": UnitState.INITIAL}, None),  # a draft
        ({"origin": "human", "state": UnitState.TRANSLATED}, "origin"),
        ({"origin": "human", "state": UnitState.REJECTED}, None),
        ({"origin": "human"}, "origin"),
        ({"score": 50.0}, None),
        ({"score": 49.9}, "match"),
        ({"score": 75.0}, None),
        ({"score": 75.1}, "match"),
    ],
)
def test_units_are_edited_by_source_origin_state_and_match(unit: dict[str, Any], reason: str | None) -> None:
    made = Unit(**{"id": "1", "target": MarkedText("b"), **unit, "source": MarkedText(unit.get("source", "a"))})
    assert FilesConfig(min_match=50, max_match=75).reason_not_to_edit(made) == reason


@pytest.mark.parametrize(("origin", "reason"), [("unknown", None), ("machine", "origin")])
def test_an_origin_that_the_file_does_not_say_is_unknown(origin: str, reason: str | None) -> None:
    made = Unit("1", MarkedText("a"), MarkedText("b"))
    assert FilesConfig(origins=(origin,)).reason_not_to_edit(made) == reason
