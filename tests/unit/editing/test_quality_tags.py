"""Quality tags of words and gaps: which edits they allow."""

from pathlib import Path

import pytest

from postedit.editing.quality_tags import QualityTags
from postedit.text.edits import edits_between


@pytest.mark.parametrize(
    ("bad", "text", "allowed"),
    [
        (4, "the cat has sat", True),  # the gap before "sat"
        (4, "the dog sat", False),
        (4, "the cat lay", False),
        (4, "the cat", False),
        (4, "the cat has lain", True),
        (2, "the cat has sat", False),
        (5, "the cat lay", True),
        (5, "the cat", True),
        (5, "the cat sat here", False),
        (6, "the cat sat here", True),
    ],
)
def test_only_edits_of_bad_words_and_gaps_are_allowed(tmp_path: Path, bad: int, text: str, allowed: bool) -> None:
    mt, tags, tagged = "the cat sat", tmp_path / "tags", tmp_path / "mt"
    tagged.write_text(f"{mt}\n", encoding="utf-8")
    tags.write_text(" ".join("BAD" if place == bad else "OK" for place in range(7)) + "\n", encoding="utf-8")
    found = QualityTags(tags, tagged)
    assert found.allow(mt, [(0, 3), (4, 7), (8, 11)], text, edits_between(mt, text)) == [allowed]
    assert found.allow("another", [(0, 7)], "other", edits_between("another", "other")) == [True]


def test_what_is_bad_for_one_of_two_sources_is_bad(tmp_path: Path) -> None:
    tags, tagged = tmp_path / "tags", tmp_path / "mt"
    tagged.write_text("the cat\nthe cat\n", encoding="utf-8")
    tags.write_text("OK BAD OK OK OK\nOK OK OK OK BAD\n", encoding="utf-8")
    found = QualityTags(tags, tagged)
    assert found.of("the cat") == [False, True, False, False, True]
    tags.write_text("OK BAD OK OK BAD\nOK OK OK OK OK\n", encoding="utf-8")
    assert QualityTags(tags, tagged).fingerprint == found.fingerprint
    tags.write_text("OK BAD OK OK OK\nOK OK OK OK OK\n", encoding="utf-8")
    assert QualityTags(tags, tagged).fingerprint != found.fingerprint
