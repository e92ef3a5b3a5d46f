import pytest

from postedit.data.triplets import Triplet
from postedit.text.config import TextConfig, VocabularyConfig
from postedit.text.processor import TextProcessor
from postedit.text.swapped_sides import languages_seem_swapped, seem_swapped

ENGLISH = ["The house at the river is much older than the bridge .", "Nobody has ever asked them about their reasons ."]
GERMAN = ["Das Haus am Fluss ist viel älter als die Brücke .", "Niemand hat sie jemals nach ihren Gründen gefragt ."]
RUSSIAN = ["Дом у реки намного старше моста .", "Никто никогда не спрашивал их о причинах ."]


def processor(mt: list[str], sharing: str, **languages: str) -> TextProcessor:
    config = TextConfig(vocabulary=VocabularyConfig(size=400, sharing=sharing), **languages)
    triplets = [Triplet(*texts) for texts in zip(ENGLISH, mt, mt)]
    return TextProcessor.fit(config, lambda: triplets)


@pytest.mark.parametrize(("source", "target"), [("en", "de"), ("en-US", "de_AT")])
def test_known_languages_tell(source: str, target: str) -> None:
    texts = processor(GERMAN, "joint", src_lang=source, tgt_lang=target)
    assert seem_swapped(texts, GERMAN, ENGLISH)
    assert not seem_swapped(texts, ENGLISH, GERMAN)


def test_one_side_alone_does_not() -> None:
    texts = processor(GERMAN, "joint", src_lang="en", tgt_lang="de")
    assert not seem_swapped(texts, GERMAN, GERMAN)
    assert not seem_swapped(texts, ["OK"], ["OK"])
    assert not seem_swapped(texts, [""], [""])


@pytest.mark.parametrize("mt", [GERMAN, RUSSIAN])
def test_vocabularies_tell_scripts_and_languages_apart(mt: list[str]) -> None:
    texts = processor(mt, "mt-pe")
    assert seem_swapped(texts, mt, ENGLISH)
    assert not seem_swapped(texts, ENGLISH, mt)
    assert not seem_swapped(texts, [], [])


def test_one_vocabulary_of_unknown_languages_tells_nothing() -> None:
    assert not seem_swapped(processor(GERMAN, "joint"), GERMAN, ENGLISH)


@pytest.mark.parametrize("languages", [{"src_lang": "xx", "tgt_lang": "de"}, {"src_lang": "de", "tgt_lang": "de-AT"}])
def test_languages_that_cannot_be_told_apart(languages: dict[str, str]) -> None:
    assert not seem_swapped(processor(GERMAN, "joint", **languages), GERMAN, ENGLISH)


@pytest.mark.parametrize(("source", "target"), [("en", "ru"), ("en-US", "ru-RU")])
def test_scripts_tell_even_in_one_word(source: str, target: str) -> None:
    texts = processor(RUSSIAN, "joint", src_lang=source, tgt_lang=target)
    assert seem_swapped(texts, ["Да"], ["Yes"])
    assert seem_swapped(texts, ["Откройте Excel."], ["Open Excel."])
    assert not seem_swapped(texts, ["Yes"], ["Да"])
    assert not seem_swapped(texts, ["Excel"], ["Excel"])
    assert not seem_swapped(texts, ["Да"], ["Да"])
    assert not seem_swapped(texts, ["1"], ["2"])


def test_scripts_that_share_letters_do_not_tell() -> None:
    texts = processor(RUSSIAN, "joint", src_lang="zh", tgt_lang="ja")
    assert not seem_swapped(texts, ["東京"], ["東京"])


def test_languages_alone_tell_without_a_vocabulary() -> None:
    assert languages_seem_swapped("en", "de", GERMAN, ENGLISH)
    assert not languages_seem_swapped("en", "de", ENGLISH, GERMAN)
    assert not languages_seem_swapped("en", None, GERMAN, ENGLISH)
    assert not languages_seem_swapped(None, None, GERMAN, ENGLISH)
