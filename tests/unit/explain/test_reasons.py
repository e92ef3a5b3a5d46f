from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.explain.sentences import sentence

from postedit.core.edit_reasons import CitedWord, SourceReason
from postedit.core.editor import Edit
from postedit.explain.attention_views import attention_alignment
from postedit.explain.explained_sentence import OUTPUT, Span
from postedit.explain.reasons import count_corrections, edit_reasons, shortest_span, source_reason


def test_a_replacement_cites_what_its_word_looked_at() -> None:
    one = sentence()
    (reason,) = edit_reasons(7, one)
    assert reason.to_dict(one) == {
        "line": 7,
        "kind": "replace",
        "mt_span": [4, 9],
        "pe_span": [4, 8],
        "old": "blaue",
        "new": "rote",
        "confidence": 0.5,
        "evidence": {
            "src": {"span": [4, 7], "text": "red", "weight": 0.9615},
            "mt": {"span": [4, 9], "text": "blaue", "weight": 0.9615},
        },
        "in_source": True,
    }


def test_edits_of_an_editor_without_confidences_have_reasons() -> None:
    one = replace(sentence(), confidences=())
    (reason,) = edit_reasons(7, one)
    assert reason.src is not None
    assert reason.to_dict(one)["confidence"] is None


def test_losses_are_cited_in_place_of_attention() -> None:
    losses = np.zeros((4, 3))
    losses[1] = [-1.0, 0.0, 2.0]  # without "the" the edit would be surer; without "house" it would not be made
    (reason,) = edit_reasons(1, sentence(losses=losses))
    assert reason.src is not None
    assert reason.src.span == Span(8, 13)
    assert reason.mt is not None
    assert reason.mt.span == Span(4, 9)


@pytest.mark.parametrize(("loss", "is_cited"), [(0.01, False), (0.09, False), (0.11, True)])
def test_words_are_cited_if_the_edit_loses_enough_without_them(loss: float, is_cited: bool) -> None:
    """Three words of 0.09 nats are below the bound of 0.3 together; the text then says that the reason is elsewhere."""
    one = sentence(losses=np.full((4, 3), loss))
    (reason,) = edit_reasons(1, one)
    assert (reason.src is not None) == is_cited
    assert reason.is_elsewhere != is_cited
    assert reason.to_dict(one)["in_source"] == is_cited
    assert [text.startswith("not in the source") for text in reason.texts] == ([] if is_cited else [True])
    (found,) = source_reason(one, one.edits[0])
    assert isinstance(found, SourceReason)
    assert bool(found.words) == is_cited


def test_the_nats_of_cited_words_are_in_the_record() -> None:
    losses = np.zeros((4, 3))
    losses[1] = [0.25, 2.0, 0.0]
    one = sentence(losses=losses)
    (reason,) = edit_reasons(1, one)
    assert reason.to_dict(one)["evidence"]["src"] == {"span": [4, 7], "text": "red", "weight": 0.8889, "nats": 2.0}


def test_attention_does_not_say_that_the_reason_is_elsewhere() -> None:
    (reason,) = edit_reasons(1, sentence())
    assert not reason.is_elsewhere


def test_a_source_without_evidence_is_not_known_to_be_the_reason() -> None:
    one = replace(sentence(), spans={**sentence().spans, "src": (None,) * 4})
    (reason,) = edit_reasons(1, one)
    record = reason.to_dict(one)
    assert (record["evidence"]["src"], record["in_source"]) == (None, None)


@pytest.mark.parametrize(
    ("losses", "stands_out"),
    [
        ([0.1, 0.0, 2.0], True),
        ([0.0, 0.0, 0.6], False),  # without "house" it is still more than half as probable
        ([2.0, 2.0, 2.0], False),  # no word matters more than others
    ],
)
def test_a_citation_stands_out_if_its_words_matter_much(losses: list[float], stands_out: bool) -> None:
    (reason,) = edit_reasons(1, sentence(losses=np.array([losses] * 4)))
    assert reason.src is not None
    assert reason.src.stands_out == stands_out


@pytest.mark.parametrize(("losses", "stands_out"), [([0.1, 0.0, 2.0, 0.0], False), ([0.0, 0.0, 0.0, 2.0], True)])
@pytest.mark.parametrize("stop", ["。", "۔", "։", "።", "။"])
def test_a_full_stop_is_explained_by_punctuation_or_not_at_all(
    stop: str, losses: list[float], stands_out: bool
) -> None:
    one = sentence(src="meet at noon .", mt="ok .", output=f"ok {stop}", losses=np.array([losses] * 3))
    one = replace(one, edits=(Edit("replace", (3, 4), (3, 4)),), confidences=(0.9,))
    (reason,) = edit_reasons(1, one)
    assert reason.src is not None
    assert reason.src.stands_out == stands_out


def test_the_edited_words_themselves_do_not_stand_out() -> None:
    (reason,) = edit_reasons(1, sentence())
    assert reason.mt is not None
    assert not reason.mt.stands_out


def test_corrections_are_counted_by_their_words() -> None:
    counts = count_corrections(["a , b .", "c .", "d"], ["a ， b 。", "c 。", "d"])
    assert counts == {(",", "，"): 1, (".", "。"): 2}


def test_a_word_with_infinite_influence_is_cited_with_weight_one() -> None:
    losses = np.zeros((4, 3))
    losses[1] = [np.inf, 0.0, np.nan]
    (reason,) = edit_reasons(1, sentence(losses=losses))
    assert reason.src is not None
    assert (reason.src.span, reason.src.weight) == (Span(0, 3), 1.0)


def test_a_deletion_rests_on_the_word_after_it() -> None:
    one = replace(sentence(output="das Haus"), edits=(Edit("delete", (4, 10), (4, 4)),))
    (reason,) = edit_reasons(1, one)
    assert reason.src is not None
    assert one.src[reason.src.span.start : reason.src.span.end] == "red"  # that of "Haus"
    at_end = replace(one, edits=(Edit("delete", (9, 14), (8, 8)),))
    assert next(edit_reasons(1, at_end)).confidence == pytest.approx(0.5)


def test_no_attention_no_evidence() -> None:
    (reason,) = edit_reasons(1, sentence(attention={}))
    assert reason.src is None
    assert reason.mt is None
    assert reason.confidence == pytest.approx(0.5)


def test_words_that_cannot_be_found_are_not_cited() -> None:
    one = sentence()
    (reason,) = edit_reasons(1, replace(one, spans={**one.spans, "src": (None,) * 4}))
    assert reason.src is None


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=9), st.floats(0.05, 0.95))
def test_no_shorter_run_holds_as_much(weights: list[float], least: float) -> None:
    shares = np.array(weights) / sum(weights)
    first, last = shortest_span(shares, least)
    assert shares[first:last].sum() >= least - 1e-9
    shorter = last - first - 1
    assert all(shares[start : start + shorter].sum() < least + 1e-9 for start in range(len(shares)))


def test_links_are_of_words_between_spaces() -> None:
    one = sentence(src="the red house.", mt="das rote Haus.", output="das rote Haus.")
    assert attention_alignment(one, "src") is not None
    # The same attention where the model knows the full stop as a word of its own.
    starts = {"src": 8, "mt": 9, OUTPUT: 9}
    spans = {name: (*found[:2], Span(starts[name], 13), Span(13, 14), None) for name, found in one.spans.items()}
    attention = {key: np.eye(5) for key in one.words.attention}
    words = replace(
        one.words,
        streams=dict.fromkeys(one.words.streams, (*"abcd", "</s>")),
        output=(*"abcd", "</s>"),
        log_probs=(0.0,) * 5,
        runners_up=(),
        attention=attention,
    )
    found = attention_alignment(replace(one, words=words, spans=spans), "src")
    assert found is not None
    assert sorted(map(str, found)) == ["0-0", "1-1", "2-2"]


def test_no_links_without_attention_or_places() -> None:
    one = sentence()
    assert attention_alignment(sentence(attention={}), "src") is None
    assert attention_alignment(replace(one, spans={**one.spans, OUTPUT: (None,) * 4}), "src") is None


def test_cited_words_of_the_source_are_a_reason_with_the_nats_of_each() -> None:
    losses = np.zeros((4, 3))
    losses[1] = [0.5, 2.0, 0.1]
    one = sentence(losses=losses)
    (reason,) = source_reason(one, one.edits[0])
    assert reason == SourceReason((CitedWord("red", (4, 7), 2.0),))
    (by_attention,) = source_reason(sentence(), one.edits[0])
    assert by_attention == SourceReason((CitedWord("red", (4, 7)),))
    assert source_reason(sentence(attention={}), one.edits[0]) == ()
