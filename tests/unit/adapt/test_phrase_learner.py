"""What corrections change: at once, as if in any order, and without a trace once undone."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.phrase.small_corpus import TRIPLETS, split

from postedit.adapt import phrase_learner
from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import Entry
from postedit.adapt.phrase_learner import PhraseLearner
from postedit.core.edit_reasons import CorrectionReason, NamedCorrection
from postedit.core.search_config import SearchConfig
from postedit.phrase.decoder import sentence_of
from postedit.phrase.edit_candidates import DOUBT, candidates_of, new_scratch
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_model import PhraseModel, learn
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig
from postedit.phrase.scored_edits import REPEATED
from postedit.phrase.source_alignment import single_text
from postedit.phrase.word_ids import BEGIN, END_OF_TEXT
from postedit.text.edits import apply_edits

CONFIG = PhraseConfig(order=3)
KEPT = ("der Hund schläft", "eine Katze .", "die neue Taste ist gelb .")
OTHERS = [
    Correction("press the new button .", "drücken Sie die neue Taste ,", "klicken Sie auf die neue Schaltfläche ."),
    Correction("the dog sleeps .", "der Hund schläft ,", "der Hund schläft ."),
    Correction("the tree is green .", "der Baum ist grün .", "die Eiche ist grün ."),
    Correction("a cat .", "eine Katze .", "eine Katze ."),
    Correction("press the key .", "drücken Sie die Taste .", "drücken Sie die Taste ."),
    Correction("the zwirn is blue .", "der Baum ist blau .", "der Zwirn ist blau ."),
]
INSERTED = [
    Correction("see the page for help .", "siehe Seite Hilfe .", "siehe die Seite zur Hilfe ."),
    Correction("click OK", "klicken Sie auf OK und Fenster zu", "klicken Sie auf OK und das Fenster dann zu"),
    Correction(
        "only the man walks",
        "der nur Mann geht heute in den großen Wald hinein .",
        "der Mann geht heute in den großen Wald quer hinein .",
    ),
]
OTHER_SRC = "another source"
"""With it, a segment is not the same as one that was corrected, so that its phrases count."""

SEGMENTS = [
    ("the zwirn is new .", "der Haus ist neu ,"),
    *((src, mt) for src, mt, _ in TRIPLETS),
    *((one.src, one.mt) for one in OTHERS),
    ("the house is green .", "der Haus ist grün ,"),
]
JOINED = PhraseConfig(order=3, join_source=True)
MODELS = {
    "trained": (learn(split(TRIPLETS), CONFIG), CONFIG),
    "joined": (learn(split(TRIPLETS), JOINED), JOINED),
    "empty": (PhraseEditor.empty(PhraseTextConfig()).model, CONFIG),
}


def editor_of(model: PhraseModel, config: PhraseConfig = CONFIG) -> PhraseEditor:
    return PhraseEditor(model, config, PhraseTextConfig(), SearchConfig())


def empty_editor() -> PhraseEditor:
    return PhraseEditor.empty(PhraseTextConfig())


def entries(corrections: Sequence[Correction], first: int = 1) -> list[Entry]:
    return [Entry(number, one, None) for number, one in enumerate(corrections, start=first)]


def everything(editor: PhraseEditor) -> list[tuple[str, float]]:
    """Return all outputs with their scores, to the bit."""
    found = editor.edit([src for src, _ in SEGMENTS], [mt for _, mt in SEGMENTS], beam=8, n_best=8)
    return [(one.text, one.score) for best in found for one in (best, *best.alternatives)]


def phrases(editor: PhraseEditor) -> list[list[tuple[int, int, list[str], list[float]]]]:
    """Return the edits that corrections propose for each segment, with their features."""
    known, words, found = editor.model.knowledge, editor.model.words, []
    for src, mt in SEGMENTS:
        others: dict[str, int] = {}
        asked = np.array([BEGIN, *words.find(mt.split(), others), END_OF_TEXT], np.int32)
        source = np.array(words.find(src.split(), others), np.int32)
        sentence = sentence_of(single_text(asked), editor.model.joined, single_text(source), known.translations, 0)
        edits = candidates_of(sentence, known.corrections, known.lexicon, known.translations, 64, False, new_scratch())
        rows = zip(edits.spans.tolist(), edits.features.tolist(), strict=True)
        texts = [words.words[word] for word in edits.words]
        found.append(sorted((start, end, texts[at : at + size], row) for (start, end, at, size), row in rows))
    return found


def learnt_by(editor: PhraseEditor, *corrections: Correction) -> PhraseLearner:
    learner = PhraseLearner(editor)
    for entry in entries(corrections):
        learner.learn_entries([entry])
    return learner


@pytest.mark.parametrize(("model", "config"), MODELS.values(), ids=MODELS)
def test_before_any_correction_nothing_changes(model: PhraseModel, config: PhraseConfig) -> None:
    editor = editor_of(model, config)
    before = everything(editor)
    PhraseLearner(editor)
    assert everything(editor) == before


@pytest.mark.parametrize("copies", [1, 60], ids=["one by one", "sorted together"])
@pytest.mark.parametrize(("model", "config"), MODELS.values(), ids=MODELS)
def test_to_undo_a_correction_is_never_to_have_learnt_it(
    model: PhraseModel, config: PhraseConfig, copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phrase_learner, "_WATCHED", 3)
    given = OTHERS * copies
    for undone in (0, len(OTHERS) // 2, len(given) - 1):
        without, editor = editor_of(model, config), editor_of(model, config)
        PhraseLearner(without).learn_entries([one for one in entries(given) if one.number != undone + 1])
        learner = PhraseLearner(editor)
        learner.learn_entries(entries(given))
        learner.learn_entries([Entry(1000, given[undone], undone + 1)])
        assert everything(editor) == everything(without)


@pytest.mark.parametrize(("model", "config"), MODELS.values(), ids=MODELS)
def test_words_that_only_an_undone_correction_had_are_as_new_as_before(
    model: PhraseModel, config: PhraseConfig
) -> None:
    src, mt = "the tree zwirn garn faden is green .", "der Baum Zwirn Garn Faden ist grün ."
    correction = Correction(src, mt, "der Baum Zwirn Garn Faden ist blau .")
    found = []
    for more in ([], [Entry(100, correction, None), Entry(101, correction, 100)]):
        editor = editor_of(model, config)
        PhraseLearner(editor).learn_entries([*entries(OTHERS), *more])
        (best,) = editor.edit([src], [mt], beam=8, n_best=8)
        assert best.alternatives, "corrections propose edits, so that likeness counts"
        found.append([(one.text, one.score) for one in (best, *best.alternatives)])
    assert found[0] == found[1]


@pytest.mark.parametrize("watched", [2, pytest.param(200, marks=pytest.mark.slow)])
@settings(max_examples=20)
@given(steps=st.lists(st.tuples(st.integers(0, len(OTHERS) - 1), st.integers(-9, 9)), min_size=1, max_size=12))
def test_any_way_to_the_same_corrections_leads_to_the_same_editor(watched: int, steps: list[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phrase_learner, "_WATCHED", watched)
        for model, config in MODELS.values():
            check_any_way(model, config, steps)


def check_any_way(model: PhraseModel, config: PhraseConfig, steps: list[tuple[int, int]]) -> None:
    """Check that learning and undoing leads to the editor that has learnt what is left."""
    editor, other = editor_of(model, config), editor_of(model, config)
    learner, present, log = PhraseLearner(editor), dict[int, Correction](), list[Entry]()
    for number, (row, undo) in enumerate(steps, start=1):
        if undo >= 0 and present:
            chosen = sorted(present)[undo % len(present)]
            log.append(Entry(number, present.pop(chosen), chosen))
        else:
            present[number] = OTHERS[row]
            log.append(Entry(number, OTHERS[row], None))
        learner.learn_entries(log[-1:])
    again = PhraseLearner(other)
    again.learn_entries([Entry(number, one, None) for number, one in present.items()])
    expected = everything(editor)
    assert everything(other) == expected
    again.forget_all()
    again.learn_entries(log)
    assert everything(other) == expected


@pytest.mark.slow
def test_the_order_of_independent_corrections_does_not_matter() -> None:
    independent = [OTHERS[0], Correction("a cat", "eine Katze", "die Katze"), Correction("two dogs", "Hunde", "Hunde")]
    one, other = empty_editor(), empty_editor()
    PhraseLearner(one).learn_entries(entries(independent))
    PhraseLearner(other).learn_entries(entries(independent[::-1]))
    assert phrases(one) == phrases(other)
    assert one.model.knowledge.correction_weights.tolist() == other.model.knowledge.correction_weights.tolist()


@pytest.mark.parametrize(
    "correction",
    [*INSERTED, Correction("see the page for help", "siehe die Seite für Hilfe", "siehe Hilfeseite für Unterstützung")],
    ids=["two insertions", "insertions around a word", "far apart", "replacements"],
)
@pytest.mark.parametrize("name", ["trained", "empty"])
def test_an_accepted_correction_is_proposed_by_the_third_time(name: str, correction: Correction) -> None:
    editor = editor_of(*MODELS[name])
    learnt_by(editor, correction, correction)
    assert editor.edit([OTHER_SRC], [correction.mt])[0].text == correction.pe


def test_it_is_proposed_though_corrections_are_rarely_right() -> None:
    again = Correction("see the page", "siehe die Seite hier", "siehe jene Seite hier")
    noise = [Correction(f"a {number}", "ein Wort steht", f"ein {number} steht") for number in range(30)]
    editor = empty_editor()
    learnt_by(editor)
    before = editor.model.knowledge.correction_weights[DOUBT]
    learnt_by(editor, *noise, again, again)
    assert editor.edit([OTHER_SRC], [again.mt])[0].text == again.pe
    assert editor.model.knowledge.correction_weights[DOUBT] < before - 0.5


def judged(gains: Sequence[float], right: int) -> list[phrase_learner._Judged]:
    """Return edits of which the first ones are right."""
    return [phrase_learner._Judged(gain, number < right) for number, gain in enumerate(gains)]


def test_gains_that_tell_nothing_are_not_trusted_however_large() -> None:
    told = [*judged([2.0] * 20, 18), *judged([-0.5] * 20, 2)]
    assert 2.0 + phrase_learner._doubt(told) > 0.5
    assert phrase_learner._doubt(judged([-0.5] * 40, 40)) == 0.0, "beyond the weights nothing is trusted"
    untold = [*judged([3.0] * 20, 3), *judged([0.5] * 20, 3)]
    assert 3.0 + phrase_learner._doubt(untold) < 0.0, "15 % of the edits with any gain are right"


def test_doubt_is_the_mode_of_its_posterior() -> None:
    gains, right = np.array([0.3, 1.2, -0.4, 2.2, 0.9]), np.array([1.0, 0.0, 0.0, 1.0, 1.0])

    def loss(slope: float, constant: float) -> float:
        scores = slope * gains + constant
        fit = np.logaddexp(0.0, scores).sum() - (right * scores).sum()
        return float(fit + (slope - 1.0) ** 2 / (2 * 0.5**2) + (constant + 1.0) ** 2 / 2)

    grid = [(slope, constant) for slope in np.arange(0.0, 2.5, 0.02) for constant in np.arange(-3.0, 1.0, 0.02)]
    slope, constant = min(grid, key=lambda pair: loss(*pair))
    edits = [phrase_learner._Judged(float(gain), bool(one)) for gain, one in zip(gains, right, strict=True)]
    assert phrase_learner._doubt(edits) == pytest.approx(constant / slope, abs=0.02)
    assert phrase_learner._doubt(edits[::-1]) == phrase_learner._doubt(edits)
    assert phrase_learner._doubt([]) == -1.0


@pytest.mark.parametrize(
    ("mt", "pe", "proposed"),
    [
        ("nimm diese Seite da", "nimm jene Seite da", True),
        ("nimm diese Tasse", "nimm jene Tasse", False),
        ("siehe diese da", "siehe diese da", True),
    ],
)
def test_edits_are_judged_by_their_gains_even_if_nearly_proposed(
    mt: str, pe: str, proposed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[Sequence[tuple[float, bool]]] = []
    monkeypatch.setattr(phrase_learner, "_doubt", lambda found: judged.append(found) or 0.0)
    editor = empty_editor()
    learner = learnt_by(editor, Correction("s", "siehe diese Seite 0 .", "siehe jene Seite 0 ."))
    (found,) = editor.edit(["t"], [mt], beam=2, n_best=2)
    (changed,) = (one for one in (found, *found.alternatives) if one.changed)
    assert (found is changed) is proposed
    learner.learn_entries([Entry(2, Correction("t", mt, pe), None)])
    ((gain, right),) = judged[-1]
    assert (gain, right) == (pytest.approx(changed.score), pe != mt)


def test_the_latest_edits_count_from_however_many_corrections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrase_learner, "_MOST_JUDGED", 3)
    one, two, three = judged([0.1], 1), judged([0.2, 0.3], 1), judged([0.4, 0.5], 1)
    assert list(phrase_learner._latest([one, two, three])) == [three, two]
    assert list(phrase_learner._latest([one, two, [], [], three[:1], []])) == [[], three[:1], [], [], two]
    assert list(phrase_learner._latest([one, []])) == [[], one]


def test_what_was_rejected_is_not_proposed_again_in_the_same_context() -> None:
    src, mt = "the house is green .", "der Haus ist grün ,"
    editor = editor_of(*MODELS["trained"])
    assert editor.edit([src], [mt])[0].text == "das Haus ist grün ."
    learner = learnt_by(editor, Correction(OTHER_SRC, mt, mt))
    (found,) = editor.edit([src], [mt], beam=9, n_best=9)
    assert found.text is mt
    assert found.alternatives == ()
    learner.learn_entries([Entry(2, Correction(OTHER_SRC, mt, mt), 1)])
    assert editor.edit([src], [mt])[0].text == "das Haus ist grün ."


def test_of_contradicting_corrections_the_later_one_wins() -> None:
    first = Correction("press enter now", "jetzt Enter drücken bitte", "jetzt Eingabe drücken bitte")
    second = Correction("press enter now", "jetzt Enter drücken bitte", "jetzt Eingabetaste drücken bitte")
    for corrections in ([first, second], [second, first]):
        editor = empty_editor()
        learnt_by(editor, *corrections)
        found = editor.edit([OTHER_SRC], [first.mt], beam=3, n_best=3)[0]
        assert [one.text for one in (found, *found.alternatives) if one.changed] == [corrections[-1].pe]


def test_to_undo_one_of_the_last_corrections_judges_only_those_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrase_learner, "_WATCHED", 5)
    learner, corrections = PhraseLearner(empty_editor()), OTHERS * 5
    learner.learn_entries(entries(corrections))
    judged, judge = [], learner._judge
    monkeypatch.setattr(learner, "_judge", lambda one: (judged.append(one.number), judge(one))[1])
    last = len(corrections)
    for number in range(1, 6):
        learner.learn_entries([Entry(last + number, Correction("a", f"b{number}", "c"), None)])
    judged.clear()
    learner.learn_entries([Entry(100, corrections[0], last + 3)])
    assert judged == [last + 4, last + 5]
    judged.clear()
    learner.learn_entries([Entry(101, corrections[0], 1)])
    assert judged == [last, last + 1, last + 2, last + 4, last + 5]


def test_each_correction_is_progress_and_so_is_each_that_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrase_learner, "_WATCHED", 5)
    one, other, corrections, calls = empty_editor(), empty_editor(), OTHERS * 5, list[str]()
    PhraseLearner(one).learn_entries(entries(corrections))
    monkeypatch.setattr(phrase_learner, "_AT_ONCE", 4)
    PhraseLearner(other).learn_entries(entries(corrections), lambda: calls.append("progress"))
    assert len(calls) == len(corrections) + math.ceil((len(corrections) - 5) / 4) + 5
    assert everything(other) == everything(one)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12), st.lists(st.sampled_from("abcd"), min_size=1))
def test_the_same_segment_becomes_what_it_became_before(mt: list[str], pe: list[str]) -> None:
    editor, correction = empty_editor(), Correction("x y", " ".join(mt), " ".join(pe))
    learner = learnt_by(editor, correction)
    assert editor.edit([correction.src], [correction.mt])[0].text == correction.pe
    learner.learn_entries([Entry(2, Correction("x y", correction.mt, correction.mt), None)])
    assert editor.edit([correction.src], [correction.mt])[0].text == correction.mt


def test_a_segment_with_another_source_is_not_the_same() -> None:
    editor = empty_editor()
    learnt_by(editor, Correction("save", "Sichern", "Speichern"))
    assert editor.edit(["save"], ["Sichern"])[0].score == REPEATED
    assert editor.edit(["back up"], ["Sichern"])[0].score < REPEATED


def test_a_rewritten_sentence_can_be_rejected() -> None:
    src, mt, pe = "a b c d e f g", "eins zwei drei vier fünf sechs sieben", "o p q r s t u"
    editor = empty_editor()
    learnt_by(editor, Correction(src, mt, pe), Correction(src, mt, pe), Correction(src, mt, mt))
    assert editor.edit([OTHER_SRC], [mt])[0].text is mt


def test_the_cost_of_edits_holds_for_corrections_too() -> None:
    editor = empty_editor()
    learnt_by(editor, OTHERS[0], OTHERS[0])
    texts = ["another source"], [OTHERS[0].mt]
    assert editor.edit(*texts)[0].changed
    assert not editor.edit(*texts, search=SearchConfig(edit_cost=50.0))[0].changed


def test_old_corrections_count_less_unless_they_were_made_twice() -> None:
    once, twice = Correction("a", "ein Haus dort", "das Haus dort"), Correction("b", "eine Tür hier", "die Tür hier")
    others = [Correction("c", f"x{number} y{number}", f"x{number} y{number}") for number in range(400)]
    editor = empty_editor()
    learner = learnt_by(editor, once, twice, twice)
    gains = []
    for _ in range(2):
        gains.append([editor.edit(["another source"], [one.mt])[0].score for one in (once, twice)])
        learner.learn_entries(entries(others, 4))
    assert gains[0][0] > gains[1][0]
    assert gains[0][1] == pytest.approx(gains[1][1])


def test_corrections_count_less_in_a_segment_that_is_unlike_theirs() -> None:
    once, twice = Correction("a", "ein Haus dort", "das Haus dort"), Correction("b", "eine Tür hier", "die Tür hier")
    editor = empty_editor()
    learnt_by(editor, once, twice, twice)
    (near, near_twice), (far, far_twice) = (
        [edit.score for edit in editor.edit([OTHER_SRC] * 2, [f"{one.mt} {more}" for one in (once, twice)])]
        for more in ("fern", "fern fremd blau gelb rot")
    )
    assert near > far
    assert near_twice == pytest.approx(far_twice)  # made twice without exception


def test_words_that_training_did_not_have_are_learnt() -> None:
    editor = editor_of(*MODELS["trained"])
    new = Correction("open the Zwirn now", "öffnen Sie das Garn jetzt", "öffnen Sie den Zwirn jetzt")
    learner = learnt_by(editor, new, new)
    assert editor.edit([OTHER_SRC], [new.mt])[0].text == new.pe
    (scored,) = editor.score([OTHER_SRC], [new.mt], [new.pe])
    assert scored.score == pytest.approx(editor.edit([OTHER_SRC], [new.mt])[0].score)
    learner.forget_all()
    assert "Zwirn" not in editor.model.words.words


def test_corrections_that_are_too_long_are_left_out() -> None:
    model, config = MODELS["trained"]
    editor = PhraseEditor(model, config, PhraseTextConfig(), SearchConfig(max_input=5))
    learner = learnt_by(editor, OTHERS[0])
    assert editor.model.knowledge.corrections.mt.order.size == 0
    learner.learn_entries([Entry(2, OTHERS[0], 1)])


def test_to_undo_a_correction_that_was_left_out_undoes_no_other() -> None:
    model, config = MODELS["empty"]
    editor = PhraseEditor(model, config, PhraseTextConfig(), SearchConfig(max_input=5))
    left_out, learnt = (Correction("a", f"{word} alt", f"{word} neu") for word in ("viel " * 5, "es"))
    learner = learnt_by(editor, left_out, learnt)
    learner.learn_entries([Entry(3, left_out, 1)])
    assert editor.edit(["a"], ["es alt"])[0].text == "es neu"
    learner.learn_entries([Entry(4, learnt, 2)])
    assert editor.edit(["a"], ["es alt"])[0].text == "es alt"


def test_a_correction_that_is_undone_in_the_same_breath_leaves_nothing() -> None:
    editor = empty_editor()
    PhraseLearner(editor).learn_entries([*entries(OTHERS[:1]), Entry(2, OTHERS[0], 1)])
    assert editor.model.knowledge.corrections.mt.order.size == 0


@pytest.mark.parametrize("corrections", [OTHERS, [Correction("a house", "Katze", "Hund")]], ids=["many", "one"])
def test_the_trained_model_stays_as_it_is(corrections: list[Correction]) -> None:
    model, config = MODELS["joined"]
    arrays = {name: array.copy() for name, array in model.to_arrays().items()}
    learnt_by(editor_of(model, config), *corrections)
    assert all((array == arrays[name]).all() for name, array in model.to_arrays().items())


def test_a_word_corrected_twice_is_corrected_in_other_text() -> None:
    texts = [("a b", "rot Taste neben"), ("c d", "links Taste unten drei"), ("e f g", "dann Taste vier fünf sechs .")]
    editor = empty_editor()
    learner = PhraseLearner(editor)
    for number, (src, mt) in enumerate(texts[:2], start=1):
        assert editor.edit(*zip(texts[2], strict=True))[0].text == texts[2][1]
        learner.learn_entries([Entry(number, Correction(src, mt, mt.replace("Taste", "Knopf")), None)])
    assert editor.edit(*zip(texts[2], strict=True))[0].text == "dann Knopf vier fünf sechs ."


def test_a_word_of_many_characters_is_replaced_as_a_whole() -> None:
    texts = [
        "支援テクノロジーとの対話も提供します。",
        "テクノロジーとニーズが進展します。",
        "類似のテクノロジーを保存するため。",
    ]
    editor = PhraseEditor.empty(PhraseTextConfig(tokenizer="characters"))
    learnt_by(editor, *(Correction("a", mt, mt.replace("テクノロジー", "技術")) for mt in texts[:2]))
    assert editor.edit(["a"], texts[2:])[0].text == "類似の技術を保存するため。"


@pytest.mark.parametrize("later", [0, 63, 64, 200])
def test_a_repeated_segment_is_known_after_many_of_its_template(later: int) -> None:
    first = Correction(
        "Select the check box next to Alpha .", "Wählen Sie das Kästchen neben dem Alpha .", "Aktivieren Sie Alpha ."
    )
    template = ("Select the check box next to Item{} .", *["Wählen Sie das Kästchen neben dem Item{} ."] * 2)
    others = [Correction(*(text.format(number) for text in template)) for number in range(later)]
    editor = empty_editor()
    learnt_by(editor, first, *others)
    (found,) = editor.edit([first.src], [first.mt], evidence=True)
    assert found.text == first.pe
    assert all(edit.reasons for edit in found.edits)


@pytest.mark.parametrize(
    ("tokenizer", "mt", "pe"),
    [
        ("characters", "打开表格", "打开 Word, Excel"),
        ("moses", "Jetzt : speichern", "Jetzt: speichern"),
        ("moses", "Jetzt: speichern", "Jetzt : speichern"),
        ("none", "der  Haus", "das Haus"),
        ("none", "das  Haus", "das Haus"),
    ],
)
def test_a_repeated_segment_has_the_spacing_of_its_correction(
    tokenizer: Literal["none", "moses", "characters"], mt: str, pe: str
) -> None:
    editor = PhraseEditor.empty(PhraseTextConfig(tokenizer=tokenizer, src_lang="en", tgt_lang="de"))
    before = editor.edit(["a b"], [mt], n_best=2, beam=2)
    learner = learnt_by(editor, Correction("a b", mt, pe), Correction("a b", mt, mt), Correction("a b", mt, pe))
    (found,) = editor.edit(["a b"], [mt], evidence=True, n_best=2, beam=2)
    assert (found.text, found.changed) == (pe, True)
    assert apply_edits(mt, pe, found.edits) == pe
    assert len(found.edits) == len(found.confidences) == len(found.token_scores) == len(found.token_spans) > 0
    assert [one.text for one in found.alternatives] == [mt]
    reason = CorrectionReason(2, 1, 0, (NamedCorrection(3), NamedCorrection(1)), same_segment=True)
    assert all(edit.reasons == (reason,) for edit in found.edits)
    learner.learn_entries([Entry(4, Correction("a b", mt, pe), 3)])
    assert editor.edit(["a b"], [mt])[0].text == mt
    learner.learn_entries([Entry(5, Correction("a b", mt, mt), 2), Entry(6, Correction("a b", mt, pe), 1)])
    assert editor.edit(["a b"], [mt], n_best=2, beam=2) == before
