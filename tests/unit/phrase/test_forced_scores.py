import pytest

from postedit.phrase.phrase_editor import PhraseEditor

SRC, MT = "the house is green .", "der Haus ist grün ,"


def features(editor: PhraseEditor, output: str) -> dict[str, float]:
    (scored,) = editor.score([SRC], [MT], [output])
    return dict(scored.features or {})


def test_mt_itself_has_no_edits(editor: PhraseEditor) -> None:
    found = features(editor, MT)
    assert found["language model"] < 0.0
    assert set(list(found.values())[1:]) == {0.0}


@pytest.mark.parametrize(
    ("output", "edits", "changed", "length"),
    [
        ("das Haus ist grün .", 2, 2, 0),
        ("der Haus ist ganz grün ,", 1, 1, 1),
        ("der Haus ist ,", 1, 1, -1),
        ("etwas ganz anderes", 5, 5, -2),
        ("", 5, 5, -5),
    ],
)
def test_edits_that_were_never_seen_count_word_by_word(
    editor: PhraseEditor, output: str, edits: int, changed: int, length: int
) -> None:
    found = features(editor, output)
    assert (found["edits"], found["words changed"], found["length"]) == (edits, changed, length)


def test_edits_that_were_seen_score_higher(editor: PhraseEditor) -> None:
    seen, never = editor.score([SRC] * 2, [MT] * 2, ["das Haus ist grün ,", "rot Haus ist grün ,"])
    assert seen.score > never.score + 1.0
