import pytest

from postedit.data.triplets import Triplet
from postedit.text.config import TextConfig, VocabularyConfig
from postedit.text.processor import TextProcessor
from postedit.text.swapped_sides import languages_seem_swapped, seem_swapped

ENGLISH = ["The house at the river is much older than the bridge .", "Nobody has ever asked them about their reasons ."]
GERMAN = ["Das Haus am Fluss ist viel älter als die Brücke .", "Niemand hat sie jemals nach ihren Gründen gefragt ."]
RUSSIAN = ["Дом у реки намного старше моста .", "Никто никогда не спрашивал их о причинах ."]
UNKNOWN = ("", "")


def processor(mt: list[str], sharing: str) -> TextProcessor:
    config = TextConfig(vocabulary=VocabularyConfig(size=400, sharing=sharing))
    triplets = [Triplet(*texts) for texts in zip(ENGLISH, mt, mt)]
    return TextProcessor.fit(config, lambda: triplets)


@pytest.mark.parametrize("languages", [("en", "de"), ("en-US", "de_AT")])
def test_known_languages_tell(languages: tuple[str, str]) -> None:
    assert languages_seem_swapped(languages, GERMAN, ENGLISH)
    assert not languages_seem_swapped(languages, ENGLISH, GERMAN)
    assert seem_swapped(processor(GERMAN, "joint"), languages, GERMAN, ENGLISH)


def test_one_side_alone_does_not() -> None:
    assert not languages_seem_swapped(("en", "de"), GERMAN, GERMAN)
    assert not languages_seem_swapped(("en", "de"), ["OK"], ["OK"])
    assert not languages_seem_swapped(("en", "de"), [""], [""])


@pytest.mark.parametrize("mt", [GERMAN, RUSSIAN])
def test_vocabularies_tell_scripts_and_languages_apart(mt: list[str]) -> None:
    texts = processor(mt, "mt-pe")
    assert seem_swapped(texts, UNKNOWN, mt, ENGLISH)
    assert not seem_swapped(texts, UNKNOWN, ENGLISH, mt)
    assert not seem_swapped(texts, UNKNOWN, [], [])


def test_one_vocabulary_of_unknown_languages_tells_nothing() -> None:
    assert not seem_swapped(processor(GERMAN, "joint"), UNKNOWN, GERMAN, ENGLISH)


@pytest.mark.parametrize("languages", [("xx", "de"), ("de", "de-AT"), ("en", ""), UNKNOWN])
def test_languages_that_cannot_be_told_apart(languages: tuple[str, str]) -> None:
    assert not languages_seem_swapped(languages, GERMAN, ENGLISH)


@pytest.mark.parametrize("languages", [("en", "ru"), ("en-US", "ru-RU")])
def test_scripts_tell_even_in_one_word(languages: tuple[str, str]) -> None:
    assert languages_seem_swapped(languages, ["Да"], ["Yes"])
    assert languages_seem_swapped(languages, ["Откройте Excel."], ["Open Excel."])
    assert not languages_seem_swapped(languages, ["Yes"], ["Да"])
    assert not languages_seem_swapped(languages, ["Excel"], ["Excel"])
    assert not languages_seem_swapped(languages, ["Да"], ["Да"])
    assert not languages_seem_swapped(languages, ["1"], ["2"])


def test_scripts_that_share_letters_do_not_tell() -> None:
    assert not languages_seem_swapped(("zh", "ja"), ["東京"], ["東京"])
