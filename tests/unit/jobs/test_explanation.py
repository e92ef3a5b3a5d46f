"""Explanations are of the text that an editor returns."""

import json
from pathlib import Path

import pytest

from postedit import PostEditor
from postedit.adapt import Correction, CorrectionMemory, load_learning
from postedit.core.edit_reasons import SourceReason
from postedit.core.editor import segments_of
from postedit.explain.reasons import COVERED
from postedit.explain.sentence_records import sentence_to_record
from postedit.jobs.explanation import explain, reasons_of_edits

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


@pytest.mark.slow
def test_reasons_are_asked_for_in_the_same_way_of_every_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.explain.reasons.MIN_LOSS", 0.05)  # these edits hardly rest on the source
    neural = PostEditor.load(device="cpu")
    segments = segments_of(SRC, MT)
    results = neural.edit_segments(segments, evidence="losses")
    found = reasons_of_edits(neural, segments, results)
    assert [len(one) for one in found] == [len(one.edits) for one in results]
    sources = [reason for one in found for reasons in one for reason in reasons]
    assert any(reason.words for reason in sources if isinstance(reason, SourceReason))
    for segment, one in zip(segments, found, strict=True):
        for reason in (reason for reasons in one for reason in reasons):
            assert isinstance(reason, SourceReason)
            assert not reason.words or sum(word.nats or 0.0 for word in reason.words) >= COVERED * 0.05
            assert all(segment.src[slice(*word.span)] == word.text for word in reason.words)

    with CorrectionMemory(tmp_path / "memory.db") as memory:
        memory.add([Correction(f"see {x}", f"siehe diese Seite {x}", f"siehe jene Seite {x}") for x in "abc"])
        phrases = load_learning("none", memory)
        others = segments_of(["see"], ["siehe diese Seite neu"])
        (corrected,) = phrases.edit_segments(others, evidence="losses")
        assert reasons_of_edits(phrases, others, [corrected]) == [[corrected.edits[0].reasons]]
        assert corrected.edits[0].reasons


def test_without_losses_words_are_named_without_nats() -> None:
    neural, segments = PostEditor.load(device="cpu"), segments_of(SRC, MT)
    found = reasons_of_edits(neural, segments, neural.edit_segments(segments, evidence="reasons"), "reasons")
    words = [word for one in found for reasons in one for reason in reasons for word in reason.words]  # type: ignore[union-attr]
    assert words
    assert all(word.nats is None for word in words)
