"""Scripts of characters."""

import pytest

from postedit.core.scripts import has_unspaced, has_unspaced_run, letter_script, letters_by_script


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["ファイルを開く"], True),
        (["Open it", "ファイルを開く"], True),
        (["ﾌｧｲﾙを開く"], True),
        (["ファイル を 開く"], False),
        (["Datei öffnen", ""], False),
        ([], False),
    ],
)
def test_one_of_the_texts_has_running_text_without_spaces(texts: list[str], expected: bool) -> None:
    assert has_unspaced_run(*texts) is expected


@pytest.mark.parametrize(("text", "expected"), [("開く", True), ("a か", True), ("Файл", False), ("", False)])
def test_one_character_without_spaces_is_enough(text: str, expected: bool) -> None:
    assert has_unspaced(text) is expected


def test_letters_have_scripts_and_other_characters_are_not_counted() -> None:
    assert [letter_script(letter) for letter in "aж開か\ue000"] == ["LATIN", "CYRILLIC", "CJK", "HIRAGANA", ""]
    assert letters_by_script(["ab 1", "ж!"]) == {"LATIN": 2, "CYRILLIC": 1}
