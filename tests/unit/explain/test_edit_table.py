from dataclasses import replace

import pytest
from tests.unit.explain.sentences import sentence

from postedit.core.edit_reasons import CorrectionReason, EditReason, TrainingReason
from postedit.core.editor import Edit
from postedit.explain.edit_table import edit_table
from postedit.explain.explained_sentence import ExplainedSentence, Span

TAUGHT = CorrectionReason(2, 0, 0, ())
TRAINED = TrainingReason(3, 1, 0, ())


def explained(*reasons: EditReason, pe: str | None = None) -> ExplainedSentence:
    """Return a sentence whose one edit, "blaue" to "rote", has these reasons."""
    made = sentence()
    edits = tuple(replace(one, reasons=reasons) for one in made.edits)
    return replace(made, edits=edits, pe=pe, pe_words=None if pe is None else tuple(pe.split()))


def judged(edit: Edit, pe: str) -> float | None:
    """Return the percentage of one edit, of "das blaue Haus", where a human changed mt too."""
    one = replace(explained(pe=pe), edits=(edit,))
    return edit_table([one]).rows[0].values[2]


def test_edits_are_counted_by_the_kinds_of_their_reasons() -> None:
    unedited = sentence(mt="das rote Haus")
    table = edit_table([explained(TAUGHT, TAUGHT), explained(TAUGHT, TRAINED), explained(), unedited])
    assert {row.labels[0]: row.values for row in table.rows} == {
        "all": (3, 100.0),
        "corrections": (2, pytest.approx(200 / 3)),
        "training": (1, pytest.approx(100 / 3)),
        "no reason given": (1, pytest.approx(100 / 3)),
    }
    assert table.header() == ["reason", "edits", "% of all"]
    assert table.note.startswith("3 of 4 sentences")


def test_human_post_edits_tell_where_mt_was_wrong() -> None:
    table = edit_table([explained(TAUGHT, pe="das grüne Haus"), explained(TRAINED, pe="das blaue Haus")])
    assert [(row.labels[0], row.values[2]) for row in table.rows] == [
        ("all", 50.0), ("corrections", 100.0), ("training", 0.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("edit", "pe", "needed"),
    [
        (Edit("replace", (4, 9), (4, 8)), "das blaue Auto", False),  # the words are neighbours
        (Edit("replace", (4, 9), (4, 8)), "das alte blaue Haus", False),  # likewise: what stands before them
        (Edit("delete", (0, 4), (0, 0)), "der blaue Haus", True),
        (Edit("insert", (14, 14), (14, 18)), "das blaue Haus dort", True),
        (Edit("insert", (4, 4), (4, 9)), "das grüne Haus", False),
        (Edit("insert", (4, 4), (4, 9)), "das alte blaue Haus", True),  # at either side of the space
        (Edit("insert", (3, 3), (3, 8)), "das alte blaue Haus", True),
        (Edit("insert", (0, 0), (0, 4)), "nun das blaue Haus", True),
        (Edit("insert", (0, 0), (0, 4)), "das blaue Haus dort", False),
    ],
)
def test_edits_meet_what_a_human_changed_at_the_same_place(edit: Edit, pe: str, needed: bool) -> None:
    assert judged(edit, pe) == (100.0 if needed else 0.0)


def test_neighbours_are_other_places_where_words_touch() -> None:
    made = sentence("the red house", "das blaue Haus", "das rote Haus")
    touching = {"mt": (Span(0, 4), Span(4, 10), Span(10, 14), None)}
    one = replace(made, spans={**made.spans, **touching}, pe="x", pe_words=("das", "alte", "blaue", "Haus"))
    assert edit_table([replace(one, edits=(Edit("replace", (4, 10), (4, 8)),))]).rows[0].values[2] == 0.0
    assert edit_table([replace(one, edits=(Edit("replace", (0, 10), (0, 8)),))]).rows[0].values[2] == 100.0


@pytest.mark.parametrize(
    ("edit", "needed"),
    [
        (Edit("replace", (3, 5), (3, 6)), True),  # 開く
        (Edit("replace", (9, 12), (10, 14)), False),  # 出ます
        (Edit("insert", (6, 6), (7, 8)), True),  # a space
        (Edit("insert", (9, 9), (10, 11)), False),
    ],
)
def test_an_edit_in_text_without_spaces_is_judged_by_its_place(edit: Edit, needed: bool) -> None:
    mt, pe = "設定を開くと画面が出ます。", "設定を閉じると 画面が出ます。"
    made = sentence(mt=mt, output=mt)
    one = replace(made, edits=(edit,), pe=pe, pe_words=tuple(pe.split()))
    assert edit_table([one]).rows[0].values[2] == (100.0 if needed else 0.0)


def test_without_mt_nothing_is_known_of_where_it_is_wrong() -> None:
    one = explained(TRAINED, pe="das grüne Haus")
    spans = {name: found for name, found in one.spans.items() if name != "mt"}
    assert edit_table([replace(one, spans=spans)]).rows[0].values == (1, 100.0, None)


def test_words_without_a_place_leave_open_where_mt_is_wrong() -> None:
    one = explained(TRAINED, pe="das grüne Haus")
    spans = {**one.spans, "mt": (Span(0, 3), None, Span(10, 14), None)}
    assert edit_table([replace(one, spans=spans)]).rows[0].values == (1, 100.0, None)


def test_a_sentence_with_several_edits_is_edited_once() -> None:
    one = explained(TAUGHT)
    table = edit_table([replace(one, edits=one.edits * 2), sentence(mt="das rote Haus")])
    assert table.rows[0].values == (2, 100.0)
    assert table.note.startswith("1 of 2 sentences")


def test_no_edits_have_a_table_too() -> None:
    unedited = sentence(mt="das rote Haus")
    assert [row.values for row in edit_table([unedited, unedited]).rows] == [(0, None)]
