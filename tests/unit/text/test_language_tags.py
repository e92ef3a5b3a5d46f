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
