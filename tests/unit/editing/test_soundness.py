"""Outputs hold no damaged text, whatever a model writes."""

import re
from dataclasses import replace
from itertools import accumulate
from types import SimpleNamespace
from typing import cast

import pytest
import tiny_models

from postedit import PostEditor
from postedit.core.editor import Constraints, Edit, PostEdit, Segment
from postedit.core.evidence import Evidence
from postedit.editing.soundness import checked, distinct, revert_damage, without_damaged
from postedit.search import Sampling
from postedit.text.edits import changes
from postedit.text.processor import TextProcessor

KNOWN = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZäöüß ,.!?。，按继续")


@pytest.fixture(autouse=True)
def nonsense_is_text() -> None:
    """Test the check itself."""


def lacks(character: str) -> bool:
    return character not in KNOWN


def corrected(mt: str, pe: str) -> PostEdit:
    """Return a correction of texts whose words are divided by single spaces."""
    starts, ends = _bounds(mt), _bounds(pe)
    edits = tuple(
        Edit(change.op, (starts[change.mt[0]], starts[change.mt[1]]), (ends[change.pe[0]], ends[change.pe[1]]))
        for change in changes(mt.split(" "), pe.split(" "))
    )
    count = len(edits)
    return PostEdit(pe, True, -1.0, (-1.0,), edits, token_spans=((0, 1),) * count, confidences=(0.5,) * count)


def _bounds(text: str) -> list[int]:
    """Return where each word begins, and the end; a word has the space before it."""
    return [0, *accumulate(len(word) for word in re.findall(r" ?[^ ]+", text))]


@pytest.mark.parametrize(
    ("src", "mt", "pe", "expected"),
    [
        ("press OK 😀 .", "按 OK 😀 继续 .", "按 OK \ufffd 继续 。", "按 OK 😀 继续 。"),
        ("press OK 😀 .", "按 OK 😀 继续 .", "按 OK 继续 。", "按 OK 😀 继续 。"),
        ("press 😀 .", "按 OK .", "按 😀 .", "按 😀 ."),
        ("press .", "按 OK .", "按 😎 OK 。", "按 OK 。"),
        ("hello", "مرحبا OK", "مرح OK", "مرحبا OK"),
        ("a \ufffd", "a \ufffd b", "a \ufffd c", "a \ufffd c"),
        ("it goes", "es geht .", "es ging !", "es ging !"),
        ("eldest son", "长 子 长 子 .", "长 子 .", "长 子 ."),
        ("go 😀 😀 .", "按 😀 😀 .", "按 😀 .", "按 😀 😀 ."),
        ("go 😀 😀 .", "按😀 .", "继续😀 .", "继续😀 ."),
    ],
)
def test_an_edit_that_damages_text_is_taken_back(src: str, mt: str, pe: str, expected: str) -> None:
    result = revert_damage(src, mt, corrected(mt, pe), lacks)
    assert result.text == expected
    assert result.changed == (expected != mt)


def test_mt_stays_if_no_single_edit_causes_the_damage() -> None:
    whole = PostEdit(
        "\ufffd\ufffd",
        True,
        -1.0,
        (-1.0,),
        (Edit("replace", (0, 2), (0, 2)),),
        token_spans=((0, 1),),
        confidences=(0.1,),
    )
    result = revert_damage("x", "ab", whole, lacks)
    assert (result.text, result.changed, result.reverted) == ("ab", False, 1)


@pytest.mark.parametrize("pe", ["", " "])
def test_an_output_that_leaves_nothing_of_mt_is_taken_back(pe: str) -> None:
    edits = (Edit("delete", (0, 7), (0, len(pe))),)
    emptied = PostEdit(pe, True, -1.0, (-1.0,), edits, token_spans=((0, 1),), confidences=(0.9,))
    result = revert_damage("it goes", "es geht", emptied, lacks)
    assert (result.text, result.changed, result.reverted, result.edits) == ("es geht", False, 1, ())
    edits = (Edit("delete", (0, 2), (0, 0)), Edit("replace", (2, 7), (0, 2)))
    partly = replace(emptied, text=" \ufffd", edits=edits, token_spans=((0, 1),) * 2, confidences=(0.9,) * 2)
    assert revert_damage("it goes", "es     ", partly, lacks).text == "es     ", "what sound edits alone would leave"
    drawn = without_damaged("es geht", PostEdit(pe, True))
    assert (drawn.text, drawn.skipped) == ("es geht", "damaged")
    assert without_damaged(" ", PostEdit(pe, True)).text == pe


def test_alternatives_are_sound_too() -> None:
    other = corrected("按 OK .", "按 \ufffd .")
    result = revert_damage("press", "按 OK .", PostEdit("按 OK .", False, alternatives=(other,)), lacks)
    assert [one.text for one in result.alternatives] == ["按 OK ."]


@pytest.mark.parametrize(("text", "skipped"), [("长子 !", None), ("a \ufffd", "damaged")])
def test_a_translation_is_damaged_by_replacement_characters_alone(text: str, skipped: str | None) -> None:
    result = revert_damage(
        "eldest son", None, PostEdit(text, True, -1.0, (-1.0,), (Edit("insert", (0, 0), (0, 1)),)), lacks
    )
    assert result.skipped == skipped
    assert result.text == ("" if skipped else text)


def test_samples_that_are_no_text_become_mt() -> None:
    other = PostEdit("c \ufffd", True)
    result = without_damaged("a", PostEdit("b", True, alternatives=(other,)))
    assert (result.text, [(one.text, one.skipped) for one in result.alternatives]) == ("b", [("a", "damaged")])
    assert without_damaged("\ufffd", PostEdit("\ufffd b", True)).text == "\ufffd b"


def test_texts_that_become_equal_are_listed_once_with_own_scores() -> None:
    listed = (
        replace(corrected("a b .", "X b ."), score=-2.0),
        replace(corrected("a b .", "X \ufffd ."), score=-2.5),
        PostEdit("a b .", False, -3.0),
        replace(corrected("a b .", "\ufffd b ."), score=-4.0),
    )
    best = replace(corrected("a b .", "\ufffd b ."), score=-1.0, alternatives=listed)
    found = distinct(revert_damage("a b", "a b .", best, lacks))
    entries = [(one.text, one.score, one.reverted) for one in (found, *found.alternatives)]
    assert entries == [("a b .", -3.0, 1), ("X b .", -2.0, 0)]
    alone = distinct(revert_damage("a b", "a b .", replace(best, alternatives=listed[:2]), lacks))
    assert [(one.text, one.score) for one in (alone, *alone.alternatives)] == [("a b .", -1.0), ("X b .", -2.0)]
    assert distinct(listed[0]) is listed[0]


def test_evidence_of_an_output_stays_with_its_scores() -> None:
    evidence = Evidence({}, ("a",), (-1.0,), {})
    own = PostEdit("a b .", False, -3.0)
    best = replace(corrected("a b .", "\ufffd b ."), score=-1.0, alternatives=(own,), input_cut=True)
    found = distinct(revert_damage("a b", "a b .", replace(best, evidence=evidence), lacks))
    assert (found.score, found.evidence, found.alternatives, found.input_cut) == (-1.0, evidence, (), True)
    assert distinct(revert_damage("a b", "a b .", best, lacks)).input_cut


@pytest.mark.parametrize(
    ("mt", "pe", "expected"),
    [
        ("cargando [ %s ]...", "cargando [ %s", "cargando [ %s ]..."),
        ("pulse [ OK ] .", "pulse [ OK !", "pulse [ OK ] ."),
        ("a ( b ) c", "x ( b c", "x ( b ) c"),
        ("a ( b ) c", "a b c", "a b c"),
        ("a ( b ) c", "( a b ) c", "( a b ) c"),
        ("a b ) c", "a ( b ) c", "a ( b ) c"),
        ("a b ) c", "a b c", "a b c"),
        ("a ( b ) c", "a ( b ] c", "a ( b ) c"),
        ("«a b » c", "«a b c", "«a b » c"),
        ("按 ( 长 ) 子", "按 （ 长 ） 子", "按 （ 长 ） 子"),
        ("按 ( 长 ) 子", "按 （ 长 ) 子", "按 ( 长 ) 子"),
        ("长 【 a", "长 [ a", "长 【 a"),
        ("( a x )", "( b x ]", "( b x )"),
        ("( a ) [ b ]", "[ a ) b ]", "( a ) [ b ]"),
        ("«a» b", "«a» «b «c", "«a» b"),
        ("a b \u2068x\u2069 c", "d b \u2068x c", "d b \u2068x\u2069 c"),
        ("a \u2068x\u2069 c", "b \u2067x\u2069 c", "b \u2067x\u2069 c"),
        ("a b \u202bx\u202c c", "d b x\u202c c", "d b \u202bx\u202c c"),
        ("a \u2066x\u2069 c", "b x c", "b x c"),
    ],
)
def test_edits_that_leave_brackets_unpaired_are_taken_back(mt: str, pe: str, expected: str) -> None:
    result = revert_damage("x", mt, corrected(mt, pe), lambda character: False)
    assert (result.text, result.reverted) == (expected, len(corrected(mt, pe).edits) - len(result.edits))


@pytest.mark.parametrize(
    ("src", "mt", "pe"),
    [
        ("1) Open", "1. Öffne", "1) Öffnen"),
        ("a) go b) stay", "a. gehe b. bleibe", "a) gehen b) bleiben"),
        ("Thanks :)", "Danke", "Danke :)"),
        ("in [0, 1)", "in [0, 1]", "in [0, 1)"),
        ('the "file" here', "der Datei hier", "die »Datei» hier"),
        ('a "b" "c"', "»a» b c", "a »b» »c»"),
    ],
)
def test_brackets_without_partners_may_be_those_of_the_source(src: str, mt: str, pe: str) -> None:
    assert revert_damage(src, mt, corrected(mt, pe), lambda character: False).text == pe


@pytest.mark.parametrize(
    ("src", "mt", "pe", "prefix", "required"),
    [
        ("Open", "1. Öffne", "1) Öffnen", "1)", []),
        ("Open", "1. Öffne", "1) Öffnen", "", ["1)"]),
        ("Open", "1. Öffne", "1) Öffnen :)", "1)", [":)"]),
        ("1) Open", "1. Öffne", "1) Öffnen :)", "", [":)"]),
        ("Open", "a b", "a （b）", "", ["（b）"]),
        ("Open", "a b", "a 😀", "", ["😀"]),
    ],
)
def test_what_the_user_requires_is_no_damage(src: str, mt: str, pe: str, prefix: str, required: list[str]) -> None:
    processor = SimpleNamespace(config=SimpleNamespace(tokenizer="none", tgt_lang=None), lacks="😀".__eq__)
    segment = Segment(src, mt, Constraints(prefix=prefix))
    found = checked(cast(TextProcessor, processor), segment, required, corrected(mt, pe))
    assert (found.text, found.skipped) == (pe, None)


def test_only_as_many_brackets_as_in_the_source_may_lack_partners() -> None:
    found = revert_damage(
        "1) Open", "1. Öffne a b", corrected("1. Öffne a b", "1) Öffnen a) b"), lambda character: False
    )
    assert found.text == "1. Öffne a b"
    assert revert_damage("x", "a b", corrected("a b", "a» b"), lambda character: False).text == "a b"


@pytest.mark.parametrize(
    ("mt", "pe", "expected"),
    [
        ("(ver menú) de aquí", "（ver menú） de allí", "(ver menú) de allí"),
        ("a/b c .", "a／b c 。", "a/b c ."),
        ("a b （c）", "a ， b （c）", "a ， b （c）"),
        ("OK .", "按 OK 。", "按 OK 。"),
        ("확인 .", "확인 。", "확인 。"),
    ],
)
def test_wide_forms_are_written_only_beside_east_asian_text(mt: str, pe: str, expected: str) -> None:
    assert revert_damage("（x）", mt, corrected(mt, pe), lambda character: False).text == expected


@pytest.mark.parametrize("pe", ["Adobe Photoshop（2021）", "１００％"])
def test_wide_forms_may_stand_alone_in_texts_of_east_asia(pe: str) -> None:
    for language, expected in (("ja", pe), ("zh-TW", pe), ("es", "a b"), ("", "a b")):
        found = revert_damage("x", "a b", corrected("a b", pe), lambda character: False, language=language)
        assert found.text == expected


def test_banned_words_do_not_come_back_with_edits_that_are_taken_back() -> None:
    processor = SimpleNamespace(config=SimpleNamespace(tokenizer="none", tgt_lang=None), lacks="😀".__eq__)
    mt = "a 😀 b"
    kept = replace(corrected(mt, "a d b"), alternatives=(corrected(mt, "c d b"),))
    banned = Segment("Open", mt, Constraints(banned=("😀",)))
    found = checked(cast(TextProcessor, processor), banned, (), kept)
    assert (found.text, found.skipped, found.alternatives) == (mt, "impossible", ())
    found = checked(cast(TextProcessor, processor), Segment("Open", mt), (), kept, banned=("b",))
    assert (found.text, found.skipped, found.alternatives) == (mt, "impossible", ())
    found = checked(cast(TextProcessor, processor), Segment("Open", mt), (), kept)
    assert (found.text, found.skipped) == (mt, None)


def test_the_text_that_an_output_is_made_from_is_not_restored() -> None:
    processor = SimpleNamespace(config=SimpleNamespace(tokenizer="none", tgt_lang=None), lacks="😀".__eq__)
    article = "a ( b ) c 😀 . d ."
    blank = PostEdit("", True, edits=(Edit("delete", (0, len(article)), (0, 0)),), token_spans=((0, 0),))
    for summary in (corrected(article, "a ( b d ."), corrected(article, "d ."), blank):
        given = cast(TextProcessor, processor), Segment(article, article), (), summary
        assert len(checked(*given).text) > len(summary.text)
        assert checked(*given, corrects_mt=False) == summary
    segment = Segment(article, article, Constraints(banned=("e",)))
    found = checked(cast(TextProcessor, processor), segment, (), corrected(article, "a e"), corrects_mt=False)
    assert (found.skipped, found.reverted) == ("impossible", 0)


def test_an_output_that_does_not_correct_mt_stays_as_it_is() -> None:
    folder = tiny_models.nonsense("transference")
    editor, article = PostEditor(folder.model, folder.processor, folder.search), "das ( Haus ) 😀 geht"
    read_only = editor.search.with_options(cut_input=True)
    (kept,) = editor.edit([article], [article])
    (written,) = editor.edit([article], [article], search=read_only)
    assert kept.text == article, "nonsense is no text"
    assert kept.reverted
    assert (written.skipped, written.reverted) == (None, 0)
    assert written.text != article
    editor.search = read_only
    (drawn,) = editor.draw([article], [article], Sampling(1))
    assert drawn.skipped is None


@pytest.mark.parametrize("corrects_mt", [True, False])
def test_an_output_with_a_banned_word_is_none_however_it_came_there(corrects_mt: bool) -> None:
    options = SimpleNamespace(tokenizer="none", tgt_lang=None)
    processor = cast(TextProcessor, SimpleNamespace(config=options, lacks=lambda character: False))
    mt = "a b c"
    written = replace(corrected(mt, "a d c"), alternatives=(corrected(mt, "a e c"), PostEdit(mt, False)))
    for banned, kept in (("d", ()), ("e", (mt,)), ("b", ("a e c", mt))):
        segment = Segment("x", mt, Constraints(banned=(banned,)))
        found = checked(processor, segment, (), written, corrects_mt=corrects_mt)
        assert (found.text, found.skipped) == ((mt, "impossible") if banned == "d" else ("a d c", None))
        assert tuple(one.text for one in found.alternatives) == kept
