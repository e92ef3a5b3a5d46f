"""Reasons for the edits of a phrase-based model, from what it was trained on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.phrase.small_corpus import TRIPLETS, split
from tests.unit.phrase.test_phrase_editor import raw_editor

from postedit.core.edit_reasons import EditReason, SourceReason, TrainingReason
from postedit.core.editor import PostEdit
from postedit.core.search_config import SearchConfig
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_model import PhraseModel, learn
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig

SRC, MT = "the house is green .", "der Haus ist grün ,"
WORDS = sorted({word for _, mt, _ in TRIPLETS for word in mt.split()})


def reasons(found: PostEdit, edit: int, kind: type[EditReason]) -> list[EditReason]:
    return [one for one in found.edits[edit].reasons if isinstance(one, kind)]


def test_triplets_of_training_that_made_an_edit_are_counted_and_shown(editor: PhraseEditor) -> None:
    (found,) = editor.edit([SRC], [MT], evidence=True)
    (first,), (last,) = (reasons(found, number, TrainingReason) for number in (0, 1))
    assert isinstance(first, TrainingReason)
    assert isinstance(last, TrainingReason)
    assert (first.made, first.kept, first.otherwise) == (3, 0, 0)  # "der Haus"
    examples = [(one.before, one.after) for one in first.examples]
    assert ("der Haus brennt ,", "das Haus brennt .") in examples
    assert len(examples) == len(set(examples)) == 3
    assert (last.made, last.kept, last.otherwise) == (9, 0, 0)  # a comma at the end; the other one is within a text
    assert last.examples[0].before.startswith("… ")


def test_words_of_the_source_are_named_if_they_speak_for_an_edit(editor: PhraseEditor) -> None:
    (found,) = editor.edit([SRC], [MT], evidence=True)
    (source,) = reasons(found, 0, SourceReason)
    assert isinstance(source, SourceReason)
    assert ("house", (4, 9)) in [(word.text, word.span) for word in source.words]
    assert all(SRC[slice(*word.span)] == word.text and word.nats is None for word in source.words)
    (other,) = editor.edit(["a tree falls ,"], [MT], evidence=True)
    assert reasons(other, 0, TrainingReason)
    assert not reasons(other, 0, SourceReason)


@given(st.lists(st.sampled_from([*WORDS, "neu"]), min_size=1, max_size=9))
def test_every_edit_has_reasons_and_outputs_do_not_depend_on_them(model: PhraseModel, words: list[str]) -> None:
    editor, mt = PhraseEditor(model, PhraseConfig(order=3), PhraseTextConfig(), SearchConfig()), " ".join(words)
    options = {"beam": 4, "n_best": 4}
    (plain,), (found,) = editor.edit([SRC], [mt], **options), editor.edit([SRC], [mt], evidence=True, **options)
    outputs = list(zip((plain, *plain.alternatives), (found, *found.alternatives), strict=True))
    for one, other in outputs:
        assert (one.text, one.score, one.confidences) == (other.text, other.score, other.confidences)
        assert not any(edit.reasons for edit in one.edits)
        assert all(edit.reasons for edit in other.edits)


def test_attention_alone_asks_for_no_reasons(editor: PhraseEditor) -> None:
    assert editor.abilities.evidence
    assert editor.abilities.reasons
    (found,) = editor.edit([SRC], [MT], evidence="attention")
    assert found.evidence is None
    assert not any(edit.reasons for edit in found.edits)


def test_adjacent_edits_that_are_shown_as_one_have_the_reasons_of_both() -> None:
    one = [("a b .", "m n .", "x n ."), ("a c .", "m o .", "x o .")]
    other = [("d e .", "p q .", "p y ."), ("f e .", "r q .", "r y .")]
    config = PhraseConfig(order=3)
    editor = PhraseEditor(learn(split((one + other) * 5), config), config, PhraseTextConfig(), SearchConfig())
    (found,) = editor.edit(["a e ."], ["m q ."], evidence=True)
    assert (found.text, len(found.edits)) == ("x y .", 1)
    assert [one.made for one in found.edits[0].reasons if isinstance(one, TrainingReason)] == [10, 10]


def test_examples_have_words_of_mt_that_are_not_joined_with_source_words() -> None:
    config = PhraseConfig(order=3, join_source=True)
    editor = PhraseEditor(learn(split(TRIPLETS), config), config, PhraseTextConfig(), SearchConfig())
    (found,) = editor.edit([SRC], [MT], evidence=True)
    (training,) = reasons(found, 0, TrainingReason)
    assert isinstance(training, TrainingReason)
    assert {"der Haus ist alt ,"} <= {one.before for one in training.examples}


@pytest.mark.parametrize(
    ("tokenizer", "before", "after", "src", "mt"),
    [
        ("moses", "Der Haus {}.", "Das Haus {}.", "The house sleeps.", "Der Haus sleeps."),
        ("characters", "{}を開ける。", "{}を開く。", "The house sleeps.", "sleeps を開ける。"),
    ],
)
def test_examples_are_written_as_running_text(tokenizer: str, before: str, after: str, src: str, mt: str) -> None:
    verbs = ("burns", "falls", "stands", "goes")
    editor = raw_editor(tokenizer, [(f"The house {x}.", before.format(x), after.format(x)) for x in verbs])
    (found,) = editor.edit([src], [mt], evidence=True)
    training, *_ = reasons(found, 0, TrainingReason)
    assert isinstance(training, TrainingReason)
    shown = {(before.format(verb), after.format(verb)) for verb in verbs}
    assert {(one.before, one.after) for one in training.examples} <= shown
