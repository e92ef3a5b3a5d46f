"""Figures of confirmed segments."""

import pytest

from postedit.serve.segment_figures import figures_of


@pytest.mark.parametrize(
    ("mt", "target", "words", "edits"),
    [
        ("die Haus ist rot.", "das Haus ist rot.", 5, 1),
        ("\u70b9\u51fb\u4fdd\u5b58\u6309\u94ae\u3002", "\u70b9\u51fb\u5220\u9664\u6309\u94ae\u3002", 7, 2),
        ("\u6253\u5f00 Word \u6587\u4ef6", "\u6253\u5f00 Word \u6587\u6863", 5, 1),
    ],
)
def test_words_are_characters_in_scripts_without_spaces(mt: str, target: str, words: int, edits: int) -> None:
    found = figures_of(mt, target, None, [])
    assert (found.words, found.edits_of_mt) == (words, edits)
