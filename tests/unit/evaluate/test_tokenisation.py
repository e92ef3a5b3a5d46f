from unicodedata import normalize

import pytest

from postedit.evaluate.tokenisation import (
    Tokenize,
    tokenisation_differences,
    tokenisation_signs,
    unexpected_tokenisation,
)

RUNNING = ["He came, he saw.", "Is it? Yes, it is!"] * 5
TOKENISED = ["He came , he saw .", "Is it ? Yes , it is !"] * 5


def test_forms() -> None:
    assert tokenisation_signs(RUNNING).form == "running text"
    assert tokenisation_signs(TOKENISED).form == "tokenised"
    assert tokenisation_signs(["no sign of it"] * 9).form is None


@pytest.mark.parametrize(
    ("word", "mark"), [("کتاب", "۔"), ("كتاب", "،"), ("किताबें", "।"), ("ቤት", "።"), ("տուն", "։"), ("စာ", "။")]
)
def test_forms_of_other_scripts(word: str, mark: str) -> None:
    assert tokenisation_signs([f"{word} {word}{mark}"] * 9).form == "running text"
    assert tokenisation_signs([f"{word} {word} {mark}"] * 9).form == "tokenised"


@pytest.mark.parametrize("line", ["ファイルを保存できませんでした", "ﾌｧｲﾙｦﾎｿﾞﾝﾃﾞｷﾏｾﾝﾃﾞｼﾀ", "ไม่สามารถบันทึกไฟล์ได้"])
def test_text_without_spaces_is_unsegmented(line: str) -> None:
    assert tokenisation_signs([line]).unsegmented
    assert not tokenisation_signs([" ".join(line)]).unsegmented


def test_differing_tokenisation_is_reported() -> None:
    (found,) = tokenisation_differences("hyp", RUNNING, "pe", TOKENISED)
    assert "hyp seems to be running text and pe tokenised" in found
    assert tokenisation_differences("hyp", TOKENISED, "pe", TOKENISED) == []


@pytest.mark.parametrize("line", ["我们在这里保存文件。", "我 们 在 这 里 保 存 文 件 。"])
def test_unsegmented_text_beside_segmented_text_is_reported(line: str) -> None:
    reference = ["我们 在 这里 保存 文件 。"] * 10
    (found,) = tokenisation_differences("hyp", [line] * 10, "pe", reference)
    assert "do not seem to be tokenised alike" in found
    assert tokenisation_differences("hyp", ["我们 在 那里 存 文件 。"] * 10, "pe", reference) == []


@pytest.mark.parametrize(
    ("line", "said"), [("it &apos;s so", "XML escapes"), ("un@@ done", "subwords"), ("▁so it is", "subwords")]
)
def test_escapes_and_subwords_are_reported(line: str, said: str) -> None:
    (found,) = tokenisation_differences("hyp", [line] * 10, "pe", ["it is so"] * 10)
    assert said in found


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["It Is\r", "So\r"], "hyp has Windows line ends, and pe has not"),
        (["it is", "so"], "hyp has hardly any capital letters and pe has"),
    ],
)
def test_line_ends_and_case_are_reported(lines: list[str], said: str) -> None:
    reference = ["It Is", "So"]
    (found,) = tokenisation_differences("hyp", lines * 9, "pe", reference * 9)
    assert said in found
    assert tokenisation_differences("hyp", lines, "pe", lines) == []


def test_marks_that_are_encoded_differently_are_reported() -> None:
    composed, apart = ["Tiếng Việt"] * 9, [normalize("NFD", "Tiếng Việt")] * 9
    (found,) = tokenisation_differences("hyp", apart, "pe", composed)
    assert found.startswith("hyp has letters that are not encoded in Unicode's form NFC, and pe has none")
    (found,) = tokenisation_differences("hyp", composed, "pe", apart)
    assert found.startswith("pe has letters that are not encoded in Unicode's form NFC, and hyp has none")
    assert tokenisation_differences("hyp", apart, "pe", apart) == []


def test_letters_that_unicode_divides_are_not_said_to_be_apart() -> None:
    letter, apart = "\u09df", normalize("NFC", "\u09df")  # a letter of Bengali, which NFC divides
    (found,) = tokenisation_differences("hyp", [f"সম{letter}"] * 9, "pe", [f"সম{apart}"] * 9)
    assert found.startswith("hyp has letters that are not encoded")
    assert "apart" not in found


def test_line_ends_of_the_reference_are_reported() -> None:
    (found,) = tokenisation_differences("mt", ["It Is", "So"] * 9, "pe", ["It Is\r", "So\r"] * 9)
    assert found.startswith("pe has Windows line ends, and mt has not")


def test_tokenize_option_must_fit_the_text() -> None:
    assert "leave out --tokenize 13a" in unexpected_tokenisation("pe", TOKENISED, "13a")[0]
    assert "--tokenize 13a counts" in unexpected_tokenisation("pe", RUNNING, "none")[0]
    assert (
        unexpected_tokenisation("pe", TOKENISED, "none")
        == unexpected_tokenisation("pe", RUNNING, "13a")
        == unexpected_tokenisation("pe", ["a"], "13a")
        == []
    )


def test_empty_lines_of_either_side_are_reported() -> None:
    text, gaps = ["a b", "c", "d"], ["a b", " ", ""]
    assert tokenisation_differences("hyp", [""], "pe", [""]) == []
    assert tokenisation_differences("hyp", gaps, "pe", text) == [
        "hyp has 2 empty lines where pe has text (first: line 2)"
    ]
    assert tokenisation_differences("hyp", text, "pe", gaps) == [
        "pe has 2 empty lines where hyp has text (first: line 2)"
    ]


@pytest.mark.parametrize(
    "line", ["我们在那里保存了所有重要的文件。", "ファイルを保存してから閉じてください。", "เราบันทึกไฟล์ไว้ที่นั่นทั้งหมด"]
)
@pytest.mark.parametrize("tokenize", ["none", "13a"])
def test_text_without_spaces_is_unexpected(line: str, tokenize: Tokenize) -> None:
    (found,) = unexpected_tokenisation("pe", [line] * 10, tokenize)
    assert "no spaces between words" in found
    assert "give --tokenize characters" in found
    assert unexpected_tokenisation("pe", [line] * 10, "characters") == []
    assert tokenisation_differences("hyp", [line] * 10, "pe", [line] * 10) == []  # said once


@pytest.mark.parametrize("line", ["我们 在 那里 保存 了 文件 。", "เรา บันทึก ไฟล์ ไว้ ที่ นั่น", "Donaudampfschifffahrt 公司"])
def test_segmented_text_is_expected(line: str) -> None:
    assert unexpected_tokenisation("pe", [line] * 10, "none") == []


def test_characters_are_counted_only_in_scripts_without_spaces() -> None:
    assert "leave out --tokenize characters" in unexpected_tokenisation("pe", RUNNING, "characters")[0]
    assert unexpected_tokenisation("pe", ["", " "], "characters") == []
    spaced, joined = ["我们 在 那里 保存 了 文件 。"] * 20, ["我们在那里保存了文件。"] * 20
    assert tokenisation_differences("hyp", spaced, "pe", joined)
    assert tokenisation_differences("hyp", spaced, "pe", joined, spaces=False) == []


@pytest.mark.parametrize(("line", "form"), [("a .", "tokenised"), ("a.", "running text")])
def test_a_form_takes_five_signs(line: str, form: str) -> None:
    assert [tokenisation_signs([line] * count).form for count in (4, 5)] == [None, form]
