from typing import Any

import pytest

from postedit.core.config import load_config
from postedit.core.errors import RecipeError
from postedit.data.cleaning.config import CleanConfig
from postedit.data.cleaning.filters import filters_of, hosts, normalisations_of, numbers, placeholders
from postedit.data.triplets import Triplet

OFF = {"language": {"on": False}}


def verdict(name: Any, src: str, pe: str, mt: str = "x", **values: Any) -> str | None:
    config = load_config(CleanConfig, {**OFF, **values}, "test")
    return filters_of(config, ("src", "pe") if mt == "x" else ("src", "mt", "pe"))[name](Triplet(src, mt, pe))


class TestLength:
    def test_limits_are_inclusive(self) -> None:
        limits = {"length": {"min": 2, "max": 3}}
        assert verdict("length", "a b", "a b c", **limits) is None
        assert verdict("length", "a", "a b", **limits) == "src has 1 words"
        assert verdict("length", "a b", "a b c d", **limits) == "pe has 4 words"

    def test_defaults_are_those_of_the_paper(self) -> None:
        assert verdict("length", "a " * 100, "a") is None
        assert verdict("length", "a " * 101, "a") == "src has 101 words"

    def test_every_side_counts(self) -> None:
        assert verdict("length", "a", "a", mt="a " * 101) == "mt has 101 words"

    def test_limits_that_no_text_keeps(self) -> None:
        with pytest.raises(RecipeError, match="length: min is 5 and max is 4"):
            verdict("length", "a", "a", length={"min": 5, "max": 4})


def test_ratio() -> None:
    assert verdict("ratio", "a", "a b c", ratio={"max": 3.0}) is None
    assert verdict("ratio", "a", "a b c d", ratio={"max": 3.0}) == "pe has 4 words and src has 1"
    assert verdict("ratio", "a", "请前往 b c", ratio={"max": 3.0}) is None  # one of the two ratios suffices
    src = "Please go to the following page and choose a new password:"
    assert verdict("ratio", src, "กรุณาไปที่หน้านี้และเลือกรหัสผ่านใหม่:", mt="ไปที่หน้านี้") is None
    assert verdict("ratio", src, "请前往以下页面，并选择新密码：", mt="请前往以下页面") is None
    assert verdict("ratio", src, "是", mt="请前往以下页面") == "src has 11 words and mt has 1"
    assert verdict("ratio", "a b", "a b", mt="a b c d e f g", ratio={"max": 3.0}) == "mt has 7 words and src has 2"


class TestCopy:
    def test_copies(self) -> None:
        reason = "100% of the words are copied from src"
        assert verdict("copy_of_source", "click the OK button", "Click the OK button") == reason
        assert verdict("copy_of_source", "click the OK button", "klicken Sie auf OK") is None

    def test_mt_equal_to_src_is_kept(self) -> None:
        assert verdict("copy_of_source", "click the OK button", "klicken Sie auf OK", mt="click the OK button") is None

    def test_short_copies_may_be_names(self) -> None:
        assert verdict("copy_of_source", "Adobe Photoshop", "Adobe Photoshop") is None
        assert verdict("copy_of_source", "Adobe Photoshop", "Adobe Photoshop", copy_of_source={"min_words": 2})

    def test_nearly_a_copy(self) -> None:
        near = ("a b c d e f g h i j", "a b c d X f g h i j")
        assert verdict("copy_of_source", *near) == "90% of the words are copied from src"
        assert verdict("copy_of_source", *near, copy_of_source={"similarity": 1.0}) is None
        assert verdict("copy_of_source", "a b c", "a b c d", copy_of_source={"similarity": 0.75})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("press <b>OK</b> or <br/>", {"<b>", "</b>", "<br>", "OK"} - {"OK"} - {"<br>"} | {"<br>"}),
        ('<a href="x">here</a>', {"<a>", "</a>"}),
        ("{0} of {{name}} in ${dir}", {"{0}", "{{name}}", "${dir}"}),
        ("{ 0 }", {"{0}"}),
        ("%s of %1$d, %(user)s, %.2f, %1", {"%s", "%1$d", "%(user)s", "%.2f", "%1"}),
        ("100% done, 5 % discount, 3 < 4 and 5 > 2, 50%", set()),
        ("nothing", set()),
    ],
)
def test_placeholders(text: str, expected: set[str]) -> None:
    assert placeholders(text) == {part.replace("<br/>", "<br>") for part in expected}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://www.example.com/en/x.", {"example.com"}),
        ("www.example.com, ftp://files.example.org/", {"example.com", "files.example.org"}),
        ("mail me@Example.com.", {"example.com"}),
        ("me @ home", set()),
        ("See WWW.A.COM", {"a.com"}),
        ("访问www.a.com获取，或https://b.cn。 c@d.org给我", {"a.com", "b.cn", "d.org"}),
        ("राम www.a.com। https://b.com, c@d.org।", {"a.com", "b.com", "d.org"}),
        (
            "„www.a.com“ «https://b.com» `ftp://c.org` **www.d.org** https://e.org…",
            {"a.com", "b.com", "c.org", "d.org", "e.org"},
        ),
        ("https://例え.jp/x, https://müller.de, http://भारत.भारत/", {"例え.jp", "müller.de", "भारत.भारत"}),
        (
            "HTTP://A.com#x http://u:p@b.com?q http://localhost:80/ http://10.0.0.1 http://my_host/ _http://c_",
            {"a.com", "b.com", "localhost:80", "10.0.0.1", "my_host", "c"},
        ),
        ("www.a.com:ssa, www.b.com'dan, www.c.com에서", {"a.com", "b.com", "c.com"}),
    ],
)
def test_hosts(text: str, expected: set[str]) -> None:
    assert hosts(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [("1,234.56", "1.234,56"), ("20,000", "20 000"), ("10:30", "10.30"), ("٤٢", "42"), ("1’000", "1000")],
)
def test_numbers_are_the_same_in_any_notation(one: str, other: str) -> None:
    assert numbers(one, 2) == numbers(other, 2) != set()


@pytest.mark.parametrize(
    "other",
    ["31.5.2018", "31.05.2018", "2018-05-31", "31-5-2018", "2018/5/31", "31. 5. 2018", "May 31, 2018", "٣١/٥/٢٠١٨"],
)
def test_dates_are_the_same_in_any_order(other: str) -> None:
    assert numbers("until 5/31/2018, at 10:30", 2) == numbers(f"{other}; 10.30", 2) == {"31", "2018", "1030"}
    assert numbers("31.5.2018", 2) != numbers("30.5.2018", 2)
    assert numbers("SSH-1.2.12", 2) == numbers("SSH 1.2.12", 2)  # version numbers look like dates


@pytest.mark.parametrize(
    "text", ["10.0.0.1", "192.168.10.20", "1.234.567", "12.34.567", "3.10", "1.2.3.2018", "12:30:2018"]
)
def test_what_is_no_date_stays_one_number(text: str) -> None:
    assert numbers(text, 1) == {"".join(filter(str.isdigit, text))}


def test_numbers_that_stand_side_by_side_stay_two() -> None:
    assert numbers("in 2010 100 people", 2) == {"2010", "100"}


def test_mismatches_say_who_has_what() -> None:
    assert verdict("numbers", "in 1999", "1998") == "only src has 1999; only pe has 1998"
    assert verdict("numbers", "3 files", "drei Dateien") is None
    assert verdict("numbers", "3 files", "drei Dateien", numbers={"min_digits": 1}) == "only src has 3"
    assert verdict("placeholders", "%s", "%d") == "only src has %s; only pe has %d"
    assert verdict("urls", "www.a.com/en", "www.a.com/de") is None
    assert verdict("numbers", "1000 1001 1002 1003 1004", "x") == "only src has 1000, 1001, 1002 and 2 more"


def test_a_wrong_number_in_the_translation_is_what_post_editing_is_for() -> None:
    assert verdict("numbers", "in 1999", "1999", mt="1998") is None


class TestLanguage:
    def check(self, src: str, pe: str, **options: Any) -> str | None:
        return verdict("language", src, pe, src_lang="en", tgt_lang="de", language={"on": True, **options})

    def test_right_languages(self) -> None:
        assert self.check("The file could not be opened.", "Die Datei konnte nicht geöffnet werden.") is None

    def test_wrong_languages(self) -> None:
        assert (self.check("Le fichier n'a pas pu être ouvert.", "Die Datei ist da.") or "").startswith(
            "src is fr, not en"
        )
        reason = self.check("The file is there.", "无法打开这个文件，因为它已经被另一个程序使用。")
        assert (reason or "").startswith("pe is zh, not de (margin ")

    def test_segments_of_uncertain_language_stay(self) -> None:
        assert self.check("OK", "OK") is None
        assert self.check("Photo", "Photo") is None

    def test_only_the_sides_asked_for(self) -> None:
        assert self.check("Le fichier n'a pas pu être ouvert.", "Die Datei ist da.", sides=["pe"]) is None

    def test_unknown_languages(self) -> None:
        with pytest.raises(RecipeError, match=r'language: "xx" is not known; use one of .* en, .*language\.on=false'):
            verdict("language", "a", "b", src_lang="en", tgt_lang="xx", language={"on": True})

    def test_the_region_and_script_of_a_language_do_not_count(self) -> None:
        tags = {"src_lang": "en-GB", "tgt_lang": "sr-Latn", "language": {"on": True}}
        assert verdict("language", "The word that you are looking for is not here.", "Reč nije ovde.", **tags) is None

    def test_languages_must_be_given(self) -> None:
        with pytest.raises(RecipeError, match=r"language.on needs src_lang and tgt_lang.*--set language.on=false"):
            verdict("language", "a", "b", language={"on": True})


def test_filters_can_be_switched_off() -> None:
    names = ("length", "ratio", "copy_of_source", "placeholders", "urls", "numbers", "language")
    config = load_config(CleanConfig, {name: {"on": False} for name in names}, "test")
    assert list(filters_of(config, ("src", "pe"))) == ["unusable"]


@pytest.mark.parametrize("language", ["en", "en-GB"])
def test_punctuation_follows_the_language_of_a_region(language: str) -> None:
    (normalise,) = normalisations_of(
        load_config(CleanConfig, {"punctuation": True, "src_lang": "en", "tgt_lang": "de", **OFF}, "options"), language
    )
    assert normalise('He said "yes", twice.') == 'He said "yes," twice.'
