from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacremoses import MosesTruecaser

from postedit.core.errors import ModelFolderError
from postedit.text.truecase import Truecaser, sentence_starts
from postedit.text.words import capitalise

SENTENCES = [
    line.split() for line in ["Er sah das Haus .", "Wir sehen das Tor .", "Das iPhone ist neu .", "Ich mag Adobe ."]
]


@pytest.fixture(scope="module")
def truecaser() -> Truecaser:
    return Truecaser.train(SENTENCES)


def test_only_starts_of_sentences_are_lowered(truecaser: Truecaser) -> None:
    assert truecaser.truecase(["Das", "Haus", "Das", ".", '"', "Das", "DAS"]) == [
        "das",
        "Haus",
        "Das",
        ".",
        '"',
        "das",
        "DAS",
    ]
    assert truecaser.truecase(["Adobe", "mag"]) == ["Adobe", "mag"]
    assert truecaser.truecase(["Unbekannt"]) == ["Unbekannt"]
    assert truecaser.truecase([]) == []


@pytest.mark.slow
@given(st.lists(st.lists(st.sampled_from(["das", "Das", "DAS", "Ist", "ist", ".", ":", "(", "<b>", "7"]))))
def test_it_learns_what_moses_learns(sentences: list[list[str]]) -> None:
    best = MosesTruecaser().train(sentences)["best"]
    ours = Truecaser.train(iter(sentences))
    assert ours._lower == {word for word in best.values() if word[:1].islower()}


@pytest.mark.slow
@given(words=st.lists(st.sampled_from(["das", "Das", "DAS", "ist", "Ist", ".", "!", "(", "İst", "ß", "IPhone", "x"])))
def test_truecasing_can_be_undone_and_keeps_the_number_of_words(truecaser: Truecaser, words: list[str]) -> None:
    cased = truecaser.truecase(words)
    assert len(cased) == len(words)
    for before, after, start in zip(words, cased, sentence_starts(words)):
        assert after == before or (start and capitalise(after) == before)


@pytest.mark.parametrize(("lower", "word"), [("ǉudi", "Ǉudi"), ("ა", "Ა")])
def test_words_that_capitalising_would_not_restore_stay(lower: str, word: str) -> None:
    assert Truecaser([lower]).truecase([word]) == [word]


def test_sentence_starts_look_through_openings_but_not_colons() -> None:
    assert sentence_starts(["„", "Ja", "!", "(", "so", ":", "so", ")", "."]) == [
        False,
        True,
        False,
        False,
        True,
        *[False] * 4,
    ]


def test_sentences_end_at_the_full_stop_of_armenian() -> None:
    assert sentence_starts(["Սա", "է", "։", "Այն"]) == [True, False, False, True]


def test_saved_and_loaded_is_the_same(truecaser: Truecaser, tmp_path: Path) -> None:
    truecaser.save(tmp_path / "t.json")
    assert Truecaser.load(tmp_path / "t.json").truecase(["Das"]) == ["das"]
    truecaser.save(tmp_path / "u.json")
    assert (tmp_path / "u.json").read_bytes() == (tmp_path / "t.json").read_bytes()


@pytest.mark.parametrize("content", ["", "[]", '{"lower": [1]}', '{"lower": 3}', '{"upper": []}'])
def test_damaged_files_are_explained(tmp_path: Path, content: str) -> None:
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(ModelFolderError, match=r"t\.json: the truecasing model is damaged"):
        Truecaser.load(tmp_path / "t.json")
    with pytest.raises(ModelFolderError, match=r"none\.json: the truecasing model is missing"):
        Truecaser.load(tmp_path / "none.json")
