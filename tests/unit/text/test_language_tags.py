import pytest

from postedit.text.language_tags import base_language, language_pair, same_language, same_pair


@pytest.mark.parametrize("tag", ["pt", "pt-BR", "PT_br", " pt-Latn-BR "])
def test_the_region_does_not_count(tag: str) -> None:
    assert base_language(tag) == "pt"
    assert same_language(tag, "pt-PT")
    assert not same_language(tag, "es")


@pytest.mark.parametrize("tag", ["zh-TW", "zh_HK", "zh-Hant", "zh-Hant-CN", "ZH-hant-TW"])
def test_traditional_chinese_is_not_simplified(tag: str) -> None:
    assert same_language(tag, "zh-MO")
    for other in ("zh", "zh-CN", "zh-Hans", "zh-Hans-HK"):
        assert not same_language(tag, other)
        assert same_language("zh-SG", other)


def test_scripts_differ_only_if_both_are_known() -> None:
    assert not same_language("sr-Latn", "sr-Cyrl-RS")
    assert same_language("sr", "sr-Cyrl")
    assert same_language("sr-Latn-RS", "sr-Latn")


def test_gettext_names_scripts_by_modifiers() -> None:
    assert base_language("sr_RS@latin") == "sr"
    assert same_language("sr@latin", "sr-Latn")
    assert not same_language("sr@latin", "sr-Cyrl")
    assert same_language("uz@cyrillic", "uz-Cyrl-UZ")
    assert same_language("ca@valencia", "ca")


@pytest.mark.parametrize(("former", "now"), [("iw", "he"), ("iw-IL", "he"), ("in", "id")])
def test_former_codes_name_the_same_languages(former: str, now: str) -> None:
    assert same_language(former, now)


def test_a_pair_names_two_languages() -> None:
    assert language_pair("en : pt-BR") == ("en", "pt-BR")
    assert language_pair("") == ("", "")


@pytest.mark.parametrize("text", ["en", "en:", ":de", " : ", "en:de:fr", " "])
def test_other_texts_name_no_pair(text: str) -> None:
    with pytest.raises(ValueError, match='must be two languages, such as "en:de"'):
        language_pair(text)


def test_pairs_are_the_same_as_far_as_both_are_known() -> None:
    assert same_pair(("en", "de"), ("en-GB", ""))
    assert same_pair(("", "de-AT"), ("en", "de"))
    assert not same_pair(("en", "de"), ("", "fr"))
