import pytest

from postedit.text.language_tags import base_language, same_language


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
