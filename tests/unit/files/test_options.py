"""Options for translation files: what is refused, and the sentence for it."""

from typing import Any

import pytest

from postedit.core.errors import DataError
from postedit.files.options import FilesConfig


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
