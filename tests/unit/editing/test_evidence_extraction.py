"""What an editor says of the reasons for its outputs."""

import numpy as np
import pytest
from tests.unit import tiny_models

from postedit.core.editor import Segment
from postedit.core.special_tokens import EOS
from postedit.editing.post_editor import PostEditor
from postedit.editing.search import SegmentSearch
from postedit.editing.segments import EncodedSegment
from postedit.search import SearchConfig

SRC, MT = ["the house goes", "it goes"], ["das Haus geht", "es geht"]


@pytest.fixture(scope="module")
def editor() -> PostEditor:
    folder = tiny_models.folder("transference")
    return PostEditor(folder.model, folder.processor, folder.search)


def test_runners_up_are_the_most_probable_others(editor: PostEditor) -> None:
    for edit in editor.edit(SRC, MT, beam=1, evidence=True):
        evidence = edit.evidence
        assert evidence is not None
        assert len(evidence.runners_up) == len(evidence.output)
        for piece, log_prob, others in zip(evidence.output, evidence.log_probs, evidence.runners_up, strict=True):
            assert len(others) == 5
            if piece != "\ufffd":  # parts of characters all look like this
                assert piece not in [other.text for other in others]
            scores = [other.log_prob for other in others]
            assert scores == sorted(scores, reverse=True)
            if not edit.hit_limit:
                assert scores[0] <= log_prob + 1e-4  # greedy search wrote the best


def test_without_a_text_the_scores_are_those_of_an_empty_one(editor: PostEditor) -> None:
    (edit,) = editor.score(SRC[:1], MT[:1], ["das Haus"], evidence=True)
    assert edit.evidence is not None
    assert edit.evidence.without.keys() == {"src", "mt"}
    processor = editor.processor
    ids = {"src": [EOS], "mt": processor.encode_batch("mt", MT[:1])[0]}
    output = processor.encode_batch("pe", ["das Haus"])[0][:-1]
    search = SegmentSearch(editor.model, processor, editor.search)
    ((forced,),) = search.force([EncodedSegment(Segment("", MT[0]), ids, output)])  # type: ignore[misc]
    assert edit.evidence.without["src"] == pytest.approx(forced.token_scores, abs=1e-5)


def test_losses_are_differences_of_forced_scores(editor: PostEditor) -> None:
    for edit, src, mt in zip(editor.edit(SRC, MT, evidence="losses"), SRC, MT, strict=True):
        assert edit.evidence is not None
        losses = edit.evidence.losses
        assert losses is not None
        words = src.split()
        assert losses.shape == (len(edit.evidence.output), len(words))
        np.testing.assert_allclose(edit.evidence.by_word().losses.sum(0), losses.sum(0), atol=1e-6)  # type: ignore[union-attr]
        scored = editor.score([src], [mt], [edit.text])[0]
        if np.isclose(scored.score, edit.score, atol=1e-4):  # else search divided the text into other tokens
            for place in range(len(words)):
                less = " ".join(words[:place] + words[place + 1 :])
                without = editor.score([less], [mt], [edit.text])[0]
                assert losses[:, place].sum() == pytest.approx(edit.score - without.score, abs=1e-3)


def test_evidence_that_was_not_requested_is_absent(editor: PostEditor) -> None:
    (edit,) = editor.edit(SRC[:1], MT[:1], evidence=True)
    assert edit.evidence is not None
    assert edit.evidence.losses is None
    assert not edit.evidence.shares  # the model does not copy
    assert editor.edit(SRC[:1], MT[:1])[0].evidence is None


def test_a_given_output_is_read_with_attention_too(editor: PostEditor) -> None:
    for edit, mt in zip(editor.score(SRC, MT, MT, evidence=True), MT, strict=True):
        assert edit.text == mt
        assert edit.evidence is not None
        assert edit.evidence.by_word().output == (*mt.split(), "</s>")
        over = edit.evidence.over("src")
        assert over is not None
        np.testing.assert_allclose(over.sum(1), 1.0, atol=1e-5)


def test_segments_without_an_output_have_no_evidence(editor: PostEditor) -> None:
    search = SearchConfig(beam=1, max_edits=0, banned=("Haus",))
    (edit,) = editor.edit(SRC[:1], MT[:1], search=search, evidence=True)
    assert edit.skipped == "impossible"
    assert edit.evidence is None
