import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.explain.sentences import BOTH, sentence

from postedit.core.evidence import Evidence
from postedit.explain.explained_sentence import explained_sentence
from postedit.explain.focus import (
    FocusMeasure,
    Lead,
    Step,
    WordKind,
    claim_table,
    decoding_leads,
    default_measure,
    focus_table,
    source_table,
    src_weights,
    steps,
)
from postedit.explain.sentence_records import sentence_from_record, sentence_to_record

WORD_EDITOR = SimpleNamespace(
    words=lambda side, text: text.split(),
    word_spans=lambda side, text: [found.span() for found in re.finditer(r"\S+", text)],
)


def joint(*weights: float) -> dict[str, object]:
    """Return evidence with one attention over both texts, each row with this weight on src, all on its first word."""
    rows = np.zeros((4, 8))
    rows[:, 0], rows[:, 4] = weights, [1 - weight for weight in weights]
    return {"attention": {BOTH: rows}}


def test_leads_by_attention_are_those_of_the_paper() -> None:
    one = sentence(**joint(0.7, 0.6, 0.4, 0.39))
    assert default_measure(one.words) is FocusMeasure.attention
    found = steps(one, FocusMeasure.attention, 0.6)
    assert [step.lead for step in found] == [Lead.src, Lead.both, Lead.both, Lead.mt]  # t and 1 - t are "both"
    assert [step.kind for step in found] == [WordKind.kept, WordKind.changed, WordKind.kept, WordKind.ends]


def test_decoding_steps_are_counted_by_token_as_in_the_paper() -> None:
    """The word "rote" is written in two steps, one led by each text; as a word it is led by both."""
    tokens = ("▁das", "▁ro", "te", "▁Haus", "</s>")
    rows = np.zeros((5, 8))
    rows[:, 0], rows[:, 4] = (0.7, 0.9, 0.1, 0.39, 0.5), (0.3, 0.1, 0.9, 0.61, 0.5)
    streams = {"src": ("▁the", "▁red", "▁house", "</s>"), "mt": ("▁das", "▁blaue", "▁Haus", "</s>")}
    evidence = Evidence(streams, tokens, (-0.1,) * 5, {BOTH: rows})
    texts = {"src": "the red house", "mt": "das blaue Haus"}
    one = explained_sentence(WORD_EDITOR, texts, "das rote Haus", (), (), evidence)
    assert decoding_leads([one], 0.6) == [Lead.src, Lead.src, Lead.mt, Lead.mt, Lead.both]
    assert [step.lead for step in steps(one, FocusMeasure.attention)] == [Lead.src, Lead.both, Lead.mt, Lead.both]
    assert sentence_from_record(sentence_to_record(one)).step_weights == pytest.approx(one.step_weights)
    table = focus_table([steps(one, FocusMeasure.attention)], FocusMeasure.attention, 0.6, decoding_leads([one]))
    assert table.rows[-1].values == pytest.approx((5, 40.0, 40.0, 20.0, 0.0))


def test_leads_by_occlusion() -> None:
    full = (-0.1, -0.1, -0.1, -0.1)
    without = {"src": (-2.1, -0.1, -1.1, -0.1), "mt": (-0.1, -3.1, -1.1, -0.12)}
    one = sentence(log_probs=full, without=without)
    assert default_measure(one.words) is FocusMeasure.occlusion
    np.testing.assert_allclose(src_weights(one.words, FocusMeasure.occlusion), [1.0, 0.0, 0.5, np.nan])
    leads = [step.lead for step in steps(one, FocusMeasure.occlusion)]
    assert leads == [Lead.src, Lead.mt, Lead.both, Lead.neither]


def test_a_token_impossible_without_either_text_is_led_by_both() -> None:
    never = (float("-inf"),) * 4
    one = sentence(without={"src": never, "mt": (float("-inf"), -0.7, float("-inf"), -0.7)})
    assert [step.lead for step in steps(one, FocusMeasure.occlusion)] == [Lead.both, Lead.src, Lead.both, Lead.src]


def test_a_text_that_hurts_leads_nothing() -> None:
    one = sentence(log_probs=(-1.0,) * 4, without={"src": (-0.5,) * 4, "mt": (-2.0,) * 4})
    assert {step.lead for step in steps(one, FocusMeasure.occlusion)} == {Lead.mt}


def test_a_model_of_one_text_has_no_measure() -> None:
    words = sentence().words
    assert default_measure(words) is None
    for measure in FocusMeasure:
        with pytest.raises(ValueError, match="the model"):
            src_weights(words, measure)


@pytest.mark.parametrize("threshold", [0.4, 1.0, 1.5])
def test_the_threshold_must_make_sense(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        steps(sentence(**joint(1, 1, 1, 1)), FocusMeasure.attention, threshold)


@pytest.mark.parametrize(
    ("pe", "needed"),
    [
        ("das rote Haus", [False, True, False]),  # what the model did
        ("das blaue Haus", [False, False, False]),  # nothing had to be done
        ("ein blaue Haus", [True, False, False]),  # another word
    ],
)
def test_the_truth_is_where_a_human_changed_mt(pe: str, needed: list[bool]) -> None:
    one = replace(sentence(**joint(1, 1, 1, 1)), pe=pe, pe_words=tuple(pe.split()))
    assert [step.needed for step in steps(one, FocusMeasure.attention)] == [*needed, None]


def test_inserted_words_are_a_kind_of_their_own() -> None:
    rows = np.full((5, 8), 1 / 8)
    one = sentence(mt="das rote Haus", output="das sehr rote Haus", attention={BOTH: rows})
    assert [step.kind for step in steps(one, FocusMeasure.attention)][:4] == [
        WordKind.kept,
        WordKind.inserted,
        WordKind.kept,
        WordKind.kept,
    ]
    truth = replace(one, pe_words=("das", "ganz", "rote", "Haus"))
    assert [step.needed for step in steps(truth, FocusMeasure.attention)] == [False, True, False, False, None]


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.floats(0.5, 0.99))
def test_shares_of_a_row_add_up(weights: list[float], threshold: float) -> None:
    one = sentence(**joint(*weights))
    table = focus_table([steps(one, FocusMeasure.attention, threshold)], FocusMeasure.attention, threshold)
    for row in table.rows:
        if row.values[0]:
            assert sum(row.values[1:]) == pytest.approx(100)  # type: ignore[arg-type]
    counts = {row.labels[0]: row.values[0] for row in table.rows}
    assert counts["all"] == 4 == sum(counts[str(kind)] for kind in WordKind)  # type: ignore[misc]


def test_the_claim_is_a_difference() -> None:
    one = replace(sentence(**joint(0.1, 0.9, 0.1, 0.1)), pe_words=("das", "rote", "Haus"))
    table = claim_table([steps(one, FocusMeasure.attention)] * 30, 200)
    assert table is not None
    assert [row.labels[0] for row in table.rows] == ["edited less kept", "mt wrong less mt right"]
    assert [row.values[0] for row in table.rows] == [100.0, 100.0]
    assert all(row.values[3] is not None and row.values[3] < 0.01 for row in table.rows)
    assert claim_table([steps(sentence(mt="das rote Haus", **joint(1, 1, 1, 1)), FocusMeasure.attention)], 100) is None


def test_few_edits_say_little_beside_many_words_that_were_kept() -> None:
    kept = [Step(Lead.mt, WordKind.kept, None)] * 20
    edited = [[Step(lead, WordKind.changed, None)] for lead in (*[Lead.src] * 2, *[Lead.mt] * 8)]
    table = claim_table([[*kept, *(edited[row] if row < 10 else [])] for row in range(60)], 1000)
    assert table is not None
    difference, low, _, p = table.rows[0].values
    assert difference == 20.0
    assert low is not None
    assert p is not None
    assert low <= 0.0
    assert p > 0.05


@pytest.mark.parametrize(("edited", "is_sure"), [(1, False), (9, False), (10, True)])
def test_a_claim_of_few_sentences_has_no_interval(edited: int, is_sure: bool) -> None:
    kept, changed = Step(Lead.mt, WordKind.kept, None), Step(Lead.src, WordKind.changed, None)
    table = claim_table([[kept, changed]] * edited + [[kept]] * 12, 100)
    assert table is not None
    difference, *others = table.rows[0].values
    assert difference == 100.0
    assert [one is not None for one in others] == [is_sure] * 3


def test_copying_is_counted_by_kind() -> None:
    assert source_table([sentence()]) is None
    shares = {"generated": np.array([0.1, 0.8, 0.1, 0.0]), "mt": np.array([0.9, 0.2, 0.9, 1.0])}
    table = source_table([sentence(shares=shares)])
    assert table is not None
    assert {row.labels[0]: row.values for row in table.rows}["changed"] == (1, pytest.approx(80), pytest.approx(20))
