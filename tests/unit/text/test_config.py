import pytest

from postedit.core.config import load_config
from postedit.core.errors import RecipeError
from postedit.text.config import GROUPS, SIDES, TextConfig


def test_every_sharing_serves_every_side_once() -> None:
    for groups in GROUPS.values():
        assert sorted(side for sides in groups.values() for side in sides) == sorted(SIDES)


def test_sizes_override_the_common_size() -> None:
    values = {"vocabulary": {"sharing": "mt-pe", "size": 500, "sizes": {"src": 400}}}
    config = load_config(TextConfig, values, "recipe")
    assert [config.vocabulary.size_of(name) for name in ("src", "mt-pe")] == [400, 500]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tokenizer": "moses", "src_lang": "en"}, "needs src_lang and tgt_lang"),
        ({"vocabulary": {"sizes": {"src": 4000}}}, 'the vocabularies are joint, not "src"'),
        ({"vocabulary": {"sharing": "separate", "sizes": {"pe": 100}}}, "pe must be at least 262"),
        ({"vocabulary": {"size": 100}}, "vocabulary.size"),
        ({"tokenizer": "spacy"}, "tokenizer"),
    ],
)
def test_contradictory_text_options_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        load_config(TextConfig, values, "recipe")
