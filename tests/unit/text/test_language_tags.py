import pytest

from postedit.text.language_tags import base_language, same_language


@pytest.mark.parametrize("tag", ["pt", "pt-BR", "PT_br", " pt-Latn-BR "])
def test_script_and_region_do_not_count(tag: str) -> None:
    assert base_language(tag) == "pt"
    assert same_language(tag, "pt-PT")
    assert not same_language(tag, "es")
