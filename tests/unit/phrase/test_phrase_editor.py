import logging
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.phrase.small_corpus import TRIPLETS, split

from postedit.core.editor import Constraints, Segment
from postedit.core.errors import DataError
from postedit.core.search_config import SearchConfig
from postedit.editing.iterated import Iterated
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_model import PhraseModel, SplitTriplet, learn
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig
from postedit.text.edits import apply_edits

SRC, MT = "the house is green .", "der Haus ist grün ,"
WORDS = sorted({word for _, mt, _ in TRIPLETS for word in mt.split()})


def test_what_was_corrected_before_is_corrected(editor: PhraseEditor) -> None:
    (found,) = editor.edit([SRC], [MT])
    assert (found.text, found.changed) == ("das Haus ist grün .", True)
    assert [edit.mt_span for edit in found.edits] == [(0, 3), (18, 19)]
    assert all(0.5 < confidence < 1.0 for confidence in found.confidences)
    assert len(found.confidences) == len(found.token_scores) == len(found.token_spans) == 2


def test_confidence_is_the_sigmoid_of_the_score_lost_without_the_edit(editor: PhraseEditor) -> None:
    (found,) = editor.edit([SRC], [MT])
    for edit, confidence in zip(found.edits, found.confidences, strict=True):
        without = apply_edits(MT, found.text, [other for other in found.edits if other != edit])
        (scored,) = editor.score([SRC], [MT], [without])
        assert confidence == pytest.approx(1 / (1 + math.exp(scored.score - found.score)))


def test_what_was_kept_is_evidence_against_an_edit(editor: PhraseEditor) -> None:
    for mt in ("der Baum ist alt .", "ein Baum , ein Haus ."):
        assert editor.edit(["the tree is old ."], [mt])[0].text is mt


@given(
    st.lists(st.sampled_from([*WORDS, "neu", "\u200b", "🙂"]), max_size=9),
    st.sampled_from([" ", "  ", " \t ", " \u00a0 "]),
    st.sampled_from(["", " ", "\t"]),
)
def test_all_that_is_not_edited_keeps_its_bytes(model: PhraseModel, words: list[str], gap: str, edge: str) -> None:
    editor = PhraseEditor(model, PhraseConfig(order=3), PhraseTextConfig(), SearchConfig())
    mt = f"{edge}{gap.join(words)}{edge}"
    (found,) = editor.edit([SRC], [mt], beam=3, n_best=3)
    for one in (found, *found.alternatives):
        assert apply_edits(mt, one.text, one.edits) == one.text
        assert one.changed == (one.text != mt)
        assert one.changed or one.text is mt
        assert len(one.edits) == len(one.confidences)


def test_outputs_are_different_and_mt_is_among_them(editor: PhraseEditor) -> None:
    (found,) = editor.edit([SRC], [MT], beam=50, n_best=50)
    texts = [one.text for one in (found, *found.alternatives)]
    assert len(texts) == len(set(texts)) == 4
    assert MT in texts
    scores = [one.score for one in (found, *found.alternatives)]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("count", [2, 3])
def test_mt_is_on_the_list_however_short_it_is(editor: PhraseEditor, count: int) -> None:
    (found,) = editor.edit([SRC], [MT], beam=count, n_best=count)
    (scored,) = editor.score([SRC], [MT], [MT])
    (unchanged,) = [one for one in (found, *found.alternatives) if not one.changed]
    assert (unchanged.text, unchanged.features) == (MT, pytest.approx(scored.features))
    assert len(found.alternatives) == count, "as many are better"


def test_every_output_has_the_score_that_it_gets_when_given(editor: PhraseEditor) -> None:
    (found,) = editor.edit([SRC], [MT], beam=50, n_best=50)
    outputs = (found, *found.alternatives)
    given_scores = editor.score([SRC] * len(outputs), [MT] * len(outputs), [one.text for one in outputs])
    for one, scored in zip(outputs, given_scores):
        assert scored.score == pytest.approx(one.score)
        assert scored.features == pytest.approx(one.features)
        assert scored.text == one.text


def test_passes_say_what_they_changed() -> None:
    triplets = [("s t", "p q ,", "p r ,"), ("s t", "p r ,", "p r v w ."), ("u", "k l", "k l")] * 4
    config = PhraseConfig(order=3)
    editor = PhraseEditor(learn(split(triplets), config), config, PhraseTextConfig(), SearchConfig())
    (found,) = Iterated(editor, 2).edit(["s t"], ["p q ,"])
    assert (found.text, found.changed) == ("p r v w .", True)
    assert [(edit.mt_span, edit.pe_span) for edit in found.edits] == [((2, 3), (2, 3)), ((4, 5), (4, 9))]
    assert len(found.confidences) == 2
    (scored,) = editor.score(["s t"], ["p q ,"], [found.text])
    assert (found.score, found.features) == (scored.score, scored.features)


def test_a_text_of_which_nothing_would_be_left_stays() -> None:
    triplets = [("s t", "p weg", "p"), ("s u", "q weg", "q")] * 9
    config = PhraseConfig(order=2)
    editor = PhraseEditor(learn(split(triplets), config), config, PhraseTextConfig(), SearchConfig())
    one, alone = editor.edit(["s t", "s"], ["p weg", "weg"])
    assert (one.text, one.skipped) == ("p", None)
    assert (alone.text, alone.changed, alone.skipped) == ("weg", False, "damaged")


def test_what_leaves_something_comes_before_what_leaves_nothing() -> None:
    triplets = [("s t", "p weg", "p"), ("s u", "weg q", "q"), ("s", "weg a", "a")] * 9
    config = PhraseConfig(order=2)
    editor = PhraseEditor(learn(split(triplets), config), config, PhraseTextConfig(), SearchConfig())
    (listed,) = editor.edit(["s"], ["weg weg"], beam=10, n_best=10)
    assert [one.text for one in (listed, *listed.alternatives)] == ["weg", "weg weg"]
    assert [one.skipped for one in (listed, *listed.alternatives)] == [None, None]
    (alone,) = editor.edit(["s"], ["weg weg"])
    assert (alone.text, alone.skipped, alone.alternatives) == ("weg", None, ())


@pytest.mark.parametrize(("src", "mt"), [("", "das Haus"), (" ", "das Haus"), ("house", ""), ("house", "  ")])
def test_blank_texts_stay_as_they_are(editor: PhraseEditor, src: str, mt: str) -> None:
    (found,) = editor.edit([src], [mt])
    assert (found.text, found.skipped) == (mt, "empty")
    assert editor.score([src], [mt], ["x"])[0].skipped == "empty"


def test_long_texts_stay_as_they_are(editor: PhraseEditor) -> None:
    (long, short) = editor.edit([SRC] * 2, [MT, "der Haus"], search=SearchConfig(max_input=5, edit_cost=0.0))
    assert (long.skipped, short.skipped) == (None, None)
    (long,) = editor.edit([SRC], [MT], search=SearchConfig(max_input=4))
    assert (long.text, long.skipped) == (MT, "too long")


def test_no_segments(editor: PhraseEditor) -> None:
    assert editor.edit([], []) == []
    assert editor.score([], [], []) == []


def test_a_cost_of_edits_makes_fewer(editor: PhraseEditor) -> None:
    assert not editor.edit([SRC], [MT], search=SearchConfig(edit_cost=100.0))[0].changed


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"max_edits": 2}, "max_edits"),
        ({"max_edits": 0}, "max_edits"),
        ({"banned": ("x",)}, "banned"),
        ({"no_repeat": 2}, "no_repeat"),
        ({"cut_input": True, "mt_candidate": False}, "cut_input"),
        ({"beam": 2, "coverage_penalty": 1.0}, "coverage_penalty"),
        ({"beam": 2, "mbr": 1.0}, "mbr"),
    ],
)
def test_search_options_without_effect_are_refused(editor: PhraseEditor, options: dict[str, object], name: str) -> None:
    with pytest.raises(DataError, match=rf"search\.{name} is for neural models"):
        editor.edit([SRC], [MT], search=SearchConfig(**options))


@pytest.mark.parametrize(
    "options",
    [{"no_unk": True}, {"length_penalty": 0.5, "max_ratio": 3.0}, {"mt_candidate": False}, {"shortlist": 9}],
)
def test_options_of_token_search_are_refused(editor: PhraseEditor, options: dict[str, object]) -> None:
    names = ", ".join(f"search.{name}" for name in options)
    with pytest.raises(DataError, match=rf"{names}: no effect on an editor that does not write token by token"):
        editor.edit([SRC], [MT], search=SearchConfig(**options))
    own = PhraseEditor(editor.model, editor.config, editor.text, SearchConfig(**options))
    assert own.edit([SRC], [MT], search=own.search.with_options(max_input=99)) == editor.edit([SRC], [MT])


def test_segments_that_cannot_be_edited_are_refused(editor: PhraseEditor) -> None:
    with pytest.raises(DataError, match="segment 2 has no mt"):
        editor.edit([SRC, SRC], [MT, None])
    with pytest.raises(DataError, match="takes no constraints"):
        editor.edit_segments([Segment(SRC, MT, Constraints(prefix="das"))])


def raw_editor(tokenizer: str, triplets: list[tuple[str, str, str]]) -> PhraseEditor:
    text = PhraseTextConfig(tokenizer=tokenizer, src_lang="en", tgt_lang="de")
    rows = [
        SplitTriplet(*(text.splitter(side).words(line) for side, line in zip(("src", "mt", "pe"), triplet)))
        for triplet in triplets
    ]
    config = PhraseConfig(order=3)
    return PhraseEditor(learn(rows, config), config, text, SearchConfig())


def test_running_text_is_divided_into_words() -> None:
    triplets = [(f"The house {x}.", f"Der Haus {x}.", f"Das Haus {x}.") for x in ("burns", "falls", "stands", "is old")]
    editor = raw_editor("moses", triplets)
    (found,) = editor.edit(["The house sleeps."], ["Der Haus sleeps."])
    assert (found.text, editor.abilities.tokenises) == ("Das Haus sleeps.", True)
    assert editor.word_spans("mt", "Haus.") == [(0, 4), (4, 5)]


def test_swapped_sides_are_noticed_by_their_languages() -> None:
    src, mt = ["The house at the river is much older than the bridge ."], ["Das Haus am Fluss ist viel älter ."]
    editor = PhraseEditor.empty(PhraseTextConfig(src_lang="en", tgt_lang="de"))
    assert editor.seem_swapped(mt, src)
    assert not editor.seem_swapped(src, mt)
    assert not PhraseEditor.empty(PhraseTextConfig()).seem_swapped(mt, src)


def test_characters_are_words_in_scripts_without_spaces() -> None:
    triplets = [(f"Open {x}.", f"{x}を開ける。", f"{x}を開く。") for x in ("画像", "図", "表", "窓")]
    editor = raw_editor("characters", triplets)
    (found,) = editor.edit(["Open Photoshop."], ["Photoshop を開ける。"])
    assert found.text == "Photoshop を開く。"
    assert editor.words("mt", "図を") == ["図", "を"]


def test_joined_words_agree_between_editing_and_scoring(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    config = PhraseConfig(order=3, join_source=True)
    rows = [SplitTriplet(*(text.split() for text in triplet)) for triplet in TRIPLETS]
    editor = PhraseEditor(learn(rows, config), config, PhraseTextConfig(), SearchConfig())
    (found,) = editor.edit([SRC], [MT])
    assert editor.score([SRC], [MT], [found.text])[0].score == pytest.approx(found.score)
    assert not caplog.records
