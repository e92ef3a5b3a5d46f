import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from postedit.text.words import (
    _WHOLE,
    UNSPACED,
    CharacterSplitter,
    MosesSplitter,
    PlainSplitter,
    Word,
    align,
    capitalise,
    compared_words,
    splitter,
)

ODD = st.text(alphabet="aB1.,'\"-( \u00a0\u3000\t\r\x01\u200d👨ह्", max_size=20)


def test_plain_words_are_divided_by_ascii_spacing_only() -> None:
    line = " a  b\u00a0c\td\u3000e\x85f\r"
    assert PlainSplitter().words(line) == ["a", "b\u00a0c", "d\u3000e\x85f"]
    assert PlainSplitter().words("") == PlainSplitter().words(" \r") == []


def test_plain_spans_are_the_raw_characters() -> None:
    assert PlainSplitter().spans("  ab c\r") == [Word("ab", 2, 4), Word("c", 5, 6)]


def test_moses_divides_and_joins_punctuation() -> None:
    moses = splitter("moses", "de")
    words = moses.words('Er sagte: "Hallo, z.B. Welt!"')
    assert words == ["Er", "sagte", ":", '"', "Hallo", ",", "z.B.", "Welt", "!", '"']
    assert moses.join(words) == 'Er sagte: "Hallo, z.B. Welt!"'
    assert moses.gaps(words) == [" ", "", " ", "", "", " ", " ", "", ""]


@pytest.mark.parametrize("language", ["fr", "fr-FR", "fr_CA"])
def test_moses_takes_the_rules_of_the_language_of_a_region(language: str) -> None:
    moses = splitter("moses", language)
    assert moses.words("L'écran d'accueil") == ["L'", "écran", "d'", "accueil"]
    assert moses.join(["Prêt", "?"]) == "Prêt ?"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ne", "उसले गर्\u200dयो। हो॥"),
        ("si", "ශ්\u200dරී ලංකා, ඔව්."),
        ("fa", "می\u200cخواهم، خوبی؟ بله؛ نه"),
        ("ur", "وہ یہاں ہے۔"),
        ("fr", "un cafe\u0301 noir, l'e\u0301te\u0301."),
        ("vi", "xo\u0301a te\u0323\u0302p."),
        ("yo", "Ọ̀gá àgbà pa fáìlì náà rẹ́, kò sì sí."),
        ("th", "เก็บไฟล์นี้ กำ (5)"),
        ("hy", "Նա եկավ՝ տուն։"),
        ("am", "ሰላም፣ ዓለም።"),
        ("km", "អ្នកនិពន្ធបើក ថតឯកសារ។"),
        ("my", "ဖိုင်ကို၊ ဖွင့်သည်။"),
        ("en", "a \u2764\ufe0f, a \U0001f44d\U0001f3fd and a \U0001f468\u200d\U0001f469"),
        ("en", "from \U0001f1e9\U0001f1ea \U0001f1eb\U0001f1f7 to \U0001f3f4\U000e0067\U000e0062\U000e007f"),
    ],
)
def test_moses_joins_marks_joiners_and_stops_of_all_scripts(language: str, text: str) -> None:
    moses = splitter("moses", language)
    assert moses.join(moses.words(text)) == text
    assert moses.gaps(moses.words(text)) is not None


@pytest.mark.parametrize("text", ["xo\u0301a te\u0323\u0302p", "Ọ̀gá rẹ́", "เก็บไฟล์นี้", "हिन्दी फ़ाइल", "ឯកសារ ថ្មី"])
def test_moses_does_not_divide_words_at_their_combining_marks(text: str) -> None:
    assert splitter("moses", "vi").words(text) == text.split()


def test_moses_does_not_escape() -> None:
    assert splitter("moses", "en").words("a & b | [c] <d>") == ["a", "&", "b", "|", "[", "c", "]", "<", "d", ">"]
    assert splitter("moses", "en").join(["&amp;"]) == "&amp;"


def test_splitters_are_made_once_per_language() -> None:
    assert splitter("moses", "de") is splitter("moses", "de") is not splitter("moses", "en")
    assert isinstance(splitter("moses", "de"), MosesSplitter)


@pytest.mark.slow
@given(line=ODD)
@example("x\x01y")
@settings(max_examples=300)
def test_moses_spans_cover_all_that_is_visible(line: str) -> None:
    moses = splitter("moses", "en")
    spans = moses.spans(line)
    assert spans is not None
    assert [word.text for word in spans] == moses.words(line)
    end = 0
    for word in spans:
        outside = line[end : word.start]
        assert all(character.isspace() or character < " " for character in outside)
        assert "".join(c for c in line[word.start : word.end] if c >= " ") == word.text
        end = word.end


def test_text_that_the_tokeniser_rewrites_has_no_spans() -> None:
    assert splitter("moses", "en").spans("DOTMULTI is a word ...") is None


def test_words_that_the_detokeniser_rewrites_have_no_gaps() -> None:
    assert splitter("moses", "en").gaps(["a", "@-@", "b"]) is None


@pytest.mark.parametrize("line", ["a b c", "ab c", "a x b", "", "a"])
def test_align_refuses_words_that_are_not_the_text(line: str) -> None:
    assert align(["a", "b"], line) is None


def test_align_finds_control_characters_that_are_words_themselves() -> None:
    assert align(["a", "b"], "a\u00a0\x02b\r") == [Word("a", 0, 1), Word("b", 3, 4)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("สี่สี", "สี่ สี"),
        ("น้ำ", "น้ำ"),
        ("ນ້ຳ", "ນ້ຳ"),
        ("ផ្តាច់។", "ផ្តា ច់ ។"),
        ("သင်္ဘောမြန်", "သ င်္ဘော မြ န်"),
        ("ใช้ Python", "ใ ช้ Python"),
        ("ガカ\u3099", "ガ カ \u3099"),  # models were trained on words divided so
    ],
)
def test_signs_stay_with_the_letter_below_or_above_them(text: str, words: str) -> None:
    assert CharacterSplitter().words(text) == words.split()


@pytest.mark.parametrize("text", ["時々2回", "人々PCを", "二〇24年", "ｶﾅの2"])
def test_marks_and_kana_of_all_widths_are_characters(text: str) -> None:
    words = CharacterSplitter().words(text)
    assert words == [*(one for one in re.findall(r"[A-Z0-9]+|.", text))]
    assert CharacterSplitter().join(words) == text


@pytest.mark.parametrize(
    "words", [["नमस्ते", "दुनिया"], ["cafe\u0301", "noir"], ["می\u200cخواهم", "ශ්\u200dරී", "র\u200d্যাব"]]
)
def test_letters_keep_their_combining_marks_and_joiners(words: list[str]) -> None:
    assert CharacterSplitter().words(f"打开{' '.join(words)}。") == ["打", "开", *words, "。"]
    assert CharacterSplitter().join(words) == " ".join(words)


@given(st.text())
def test_texts_in_scripts_with_spaces_are_compared_by_words(line: str) -> None:
    assert compared_words("Öffnen Sie\u00a0打开 Word。") == ["Öffnen", "Sie", "打", "开", "Word。"]
    if not re.search(f"[{UNSPACED}]", line):
        assert compared_words(line) == line.split()


def test_letters_whose_capitals_begin_no_words_stay() -> None:
    words = ("\u10d0\u10ee\u10d0\u10da\u10d8", "ßa", "ŉa", "1a", "", "été", "ǆa")
    assert list(map(capitalise, words)) == [*words[:5], "Été", "ǅa"]


@pytest.mark.parametrize(("language", "capital"), [("tr", "İçin"), ("az-AZ", "İçin"), ("en", "Için"), ("", "Için")])
def test_the_capital_of_i_has_a_dot_in_turkish(language: str, capital: str) -> None:
    assert capitalise("için", language) == capital
    assert capitalise("ışık", language) == "Işık"


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("tr", "Türkiye'nin %50'si, 12,5'e 'böldü' ve %3,5.", "Türkiye'nin %50'si , 12,5'e ' böldü ' ve %3,5 ."),
        ("tr", "TL12,50'ye v1,5'i.", "TL12,50'ye v1,5'i ."),
        ("uk-UA", "Об'єкт п’ять (комп'ютер) 'так'.", "Об'єкт п’ять ( комп'ютер ) ' так ' ."),
        ("fa", "گفت: «بله»، رفت.", "گفت : « بله » ، رفت ."),
        ("ru", "Файл «а» (б).", "Файл « а » ( б ) ."),
        ("uz", "O'zbekiston, o‘zbek!", "O'zbekiston , o‘zbek !"),
        ("he", 'ד"ר מצה"ל, צה״ל צ׳ק אי־אפשר ב־iPhone!', 'ד"ר מצה"ל , צה״ל צ׳ק אי־אפשר ב־iPhone !'),
    ],
)
def test_marks_of_a_language_stay_as_it_writes_them(language: str, text: str, words: str) -> None:
    splitter = MosesSplitter(language)
    assert splitter.words(text) == words.split()
    assert splitter.join(words.split()) == text


def test_percentages_with_suffixes_are_whole_after_a_comma_without_space() -> None:
    assert MosesSplitter("tr").words("yarısı,%50'si") == ["yarısı", ",", "%50'si"]


def test_lines_with_too_many_marks_within_words_are_divided_too() -> None:
    words = MosesSplitter("tr").words("PDF'yi " * 1500)
    assert "".join(words) == "PDF'yi" * 1500


@pytest.mark.parametrize(("language", "word"), [("tr", "ev'e"), ("tr", "12'ye"), ("uk", "п'ять"), ("he", 'צה"ל')])
def test_words_with_marks_are_sought_only_where_words_begin(language: str, word: str) -> None:
    """If a match could begin at each letter of a long word, the time would be quadratic in its length."""
    pattern = re.compile(_WHOLE[language])
    assert pattern.match(word)
    assert not any(pattern.match(word, place) for place in range(1, word.index(word[-2])))
    assert not any(pattern.match(3 * word[0] + word, place) for place in (1, 2, 3))
