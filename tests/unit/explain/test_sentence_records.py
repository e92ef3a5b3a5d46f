import json
from dataclasses import fields, replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.test_edit_reasons import REASONS
from tests.unit.explain.sentences import sentence

from postedit.core.evidence import Evidence
from postedit.explain.explained_sentence import ExplainedSentence
from postedit.explain.sentence_records import sentence_from_record, sentence_to_record

WORDS = st.lists(st.text(st.characters(exclude_categories=["Cs", "Z", "C"]), min_size=1), min_size=3, max_size=5)


def written_and_read(one: ExplainedSentence) -> ExplainedSentence:
    return sentence_from_record(json.loads(json.dumps(sentence_to_record(one), allow_nan=False)))


def same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, ExplainedSentence | Evidence):
        for field in fields(one):
            same(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, np.ndarray):
        np.testing.assert_allclose(other, one, atol=1e-6)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, tuple) and one and isinstance(one[0], float):
        np.testing.assert_allclose(other, one, atol=1e-6)
    else:
        assert one == other


@given(WORDS, WORDS, WORDS)
def test_a_record_is_read_as_it_was_written(src: list[str], mt: list[str], output: list[str]) -> None:
    one = sentence(" ".join(src), " ".join(mt), " ".join(output))
    same(one, written_and_read(one))


def test_all_that_may_be_known_is_kept() -> None:
    rows = 4
    one = sentence(
        shares={"generated": np.full(rows, 0.25), "mt": np.full(rows, 0.75)},
        without={"src": (-1.0,) * rows, "mt": (-2.0,) * rows},
        losses=np.arange(12.0).reshape(rows, 3),
    )
    same(one, written_and_read(one))
    judged = replace(one, pe="das rote Haus", pe_words=("das", "rote", "Haus"))
    same(judged, written_and_read(judged))


def test_reasons_of_edits_and_unknown_probabilities_are_kept() -> None:
    one = sentence(log_probs=(), runners_up=())
    with_reasons = replace(one, edits=(replace(one.edits[0], reasons=REASONS),))
    same(with_reasons, written_and_read(with_reasons))
    assert written_and_read(with_reasons).edits[0].reasons == REASONS


def test_a_record_that_was_read_is_written_identically() -> None:
    once = written_and_read(sentence(losses=np.full((4, 3), 1 / 3)))
    assert sentence_to_record(once) == sentence_to_record(written_and_read(once))


def test_infinite_losses_can_be_written() -> None:
    losses = np.array([[np.inf, np.nan, -np.inf]] * 4)
    read = written_and_read(sentence(losses=losses, without={"src": (-np.inf,) * 4, "mt": (-1.0,) * 4}))
    assert read.words.losses is not None
    assert read.words.losses[0].tolist() == [1e6, 0.0, -1e6]
    assert read.words.without["src"][0] == -1e6
