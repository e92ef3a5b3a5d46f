"""Explanations are of the text that an editor returns."""

import json

import pytest

from postedit import PostEditor
from postedit.explain.sentence_records import sentence_to_record
from postedit.jobs.explanation import explain

SRC, MT = ["Hello 😀 world .", "He has twelve children ."], ["你好 😀 世界 .", "他有十二个孩子."]


@pytest.fixture(autouse=True)
def nonsense_is_text() -> None:
    """Leave the check for sound text as it is."""


def test_evidence_is_of_the_text_left_after_edits_are_taken_back() -> None:
    editor = PostEditor.load(device="cpu")
    reverted, _ = editor.edit(SRC, MT)
    assert reverted.reverted
    for sentence, text in zip(explain(editor, SRC, MT), editor.edit(SRC, MT), strict=True):
        assert sentence is not None
        assert "".join(sentence.output_words()) == "".join(text.text.split())
        assert "\ufffd" not in json.dumps(sentence_to_record(sentence), ensure_ascii=False)
