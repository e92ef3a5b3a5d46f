import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postedit.core.errors import DataError, ModelFolderError
from postedit.core.special_tokens import EOS, SEP, SPECIAL_TOKENS, STEP, UNK
from postedit.text.config import SMALLEST
from postedit.text.vocabulary import LimitedVocabulary, Vocabulary

TEXTS = [
    "the house is red , the mouse is not .",
    "das Haus ist rot , die Maus nicht .",
    "the </s> houses </s> of </s> the </s> <pad> <s> mice <unk>",
    "10,000 Häuser und 10,000 Mäuse",
] * 10


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.train(TEXTS, 340)


@given(text=st.text(max_size=60))
@settings(max_examples=400)
def test_any_text_comes_back(vocabulary: Vocabulary, text: str) -> None:
    ids = vocabulary.encode(text)
    assert vocabulary.decode(ids) == text
    assert all(len(SPECIAL_TOKENS) <= i < vocabulary.size for i in ids)


@pytest.mark.parametrize("symbol", SPECIAL_TOKENS)
def test_text_that_spells_a_symbol_stays_text(symbol: str) -> None:
    vocabulary = Vocabulary.train([f"a {symbol} b {symbol}{symbol}"] * 50, 600)
    ids = vocabulary.encode(f"{symbol} x{symbol}")
    assert min(ids) >= len(SPECIAL_TOKENS)
    assert vocabulary.decode(ids) == f"{symbol} x{symbol}"


def test_symbols_have_no_text(vocabulary: Vocabulary) -> None:
    ids = vocabulary.encode("the house")
    assert vocabulary.decode([STEP, *ids[:1], SEP, *ids[1:], EOS]) == "the house"


def test_bytes_that_are_no_character_become_a_replacement(vocabulary: Vocabulary) -> None:
    first_half = vocabulary.encode("ж")[:2]  # the space, and the first of two bytes
    assert vocabulary.decode(first_half) == "\ufffd"


def test_training_makes_pieces_of_words_and_starts_with_the_symbols(vocabulary: Vocabulary) -> None:
    assert vocabulary.readable(range(len(SPECIAL_TOKENS))) == list(SPECIAL_TOKENS)
    assert vocabulary.readable(vocabulary.encode("the mouse")) == ["▁the", "▁mouse"]
    assert SMALLEST < vocabulary.size <= 340


def test_pairs_that_occur_once_are_not_merged() -> None:
    vocabulary = Vocabulary.train(["ab ab xy"], 400)
    assert vocabulary.readable(vocabulary.encode("ab xy")) == ["▁ab", "▁", "x", "y"]


def test_no_piece_joins_a_word_and_its_punctuation() -> None:
    vocabulary = Vocabulary.train(["Ende. Ende, Ende! 12kg"] * 50, 400)
    assert vocabulary.readable(vocabulary.encode("Ende. 12kg")) == ["▁Ende", ".", "▁12", "kg"]


@pytest.mark.slow
def test_equal_texts_give_an_equal_vocabulary_in_any_process(vocabulary: Vocabulary) -> None:
    code = f"from postedit.text.vocabulary import Vocabulary; print(Vocabulary.train({TEXTS!r}, 340).fingerprint)"
    environment = {"RAYON_NUM_THREADS": "1", "PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7"}
    output = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert output.stdout.strip() == vocabulary.fingerprint


def test_fingerprints_differ_when_pieces_differ(vocabulary: Vocabulary) -> None:
    assert Vocabulary.train(TEXTS, 300).fingerprint != vocabulary.fingerprint
    assert (vocabulary.info.size, vocabulary.info.fingerprint) == (vocabulary.size, vocabulary.fingerprint)


def test_batch_is_the_same_as_one_by_one(vocabulary: Vocabulary) -> None:
    assert vocabulary.encode_batch(TEXTS) == [vocabulary.encode(text) for text in TEXTS]
    assert vocabulary.encode_batch([]) == []
    assert vocabulary.encode_batch([""]) == [[]]


def test_word_index_counts_words(vocabulary: Vocabulary) -> None:
    ids = vocabulary.encode("the xyzq house.")
    pieces, index = vocabulary.readable([*ids, EOS]), vocabulary.word_index([*ids, EOS])
    words: dict[int, str] = {}
    for piece, word in zip(pieces, index):
        words[word] = words.get(word, "") + piece.removeprefix("▁")
    assert words == {0: "the", 1: "xyzq", 2: "house.", -1: "</s>"}


@given(ids=st.lists(st.integers(0, 300), max_size=30))
def test_word_index_of_any_ids_agrees_with_the_words_of_their_text(vocabulary: Vocabulary, ids: list[int]) -> None:
    index = vocabulary.word_index(ids)
    assert [word == -1 for word in index] == [i < len(SPECIAL_TOKENS) for i in ids]
    shown = [word for piece, word in zip(vocabulary.readable(ids), index) if word >= 0 and piece.strip("▁ \t\r\n")]
    words = re.findall(r"[^ \t\r\n]+", vocabulary.decode(ids))
    assert sorted(set(shown)) == list(range(len(words)))
    assert shown == sorted(shown)


@given(ids=st.lists(st.integers(0, 40), max_size=20))
def test_word_index_counts_unknown_words_of_a_limited_vocabulary(vocabulary: Vocabulary, ids: list[int]) -> None:
    limited = LimitedVocabulary.of(vocabulary, ["the house is red", "the house"], 39, copied=2)
    index = limited.word_index(ids)
    assert [word == -1 for word in index] == [i != UNK and i < len(SPECIAL_TOKENS) for i in ids]
    words = re.findall(r"[^ \t\r\n]+", limited.decode(ids))
    for i, word in zip(ids, index, strict=True):
        if i == UNK or i >= limited.size - 2:
            assert words[word].startswith("\ufffd")
    assert max(index, default=-1) in (len(words) - 1, len(words))  # a last space begins a word without letters


def test_saved_and_loaded_is_the_same(vocabulary: Vocabulary, tmp_path: Path) -> None:
    vocabulary.save(tmp_path / "v.json")
    loaded = Vocabulary.load(tmp_path / "v.json")
    assert loaded.fingerprint == vocabulary.fingerprint
    assert loaded.encode("die </s> Mäuse") == vocabulary.encode("die </s> Mäuse")


def test_missing_and_damaged_files_are_explained(vocabulary: Vocabulary, tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match=r"v\.json: the vocabulary is missing"):
        Vocabulary.load(tmp_path / "v.json")
    vocabulary.save(tmp_path / "v.json")
    text = (tmp_path / "v.json").read_text()
    for damaged in (text[: len(text) // 2], "{}", "", text.replace('"<pad>"', '"<bad>"')):
        (tmp_path / "v.json").write_text(damaged)
        with pytest.raises(ModelFolderError, match="damaged"):
            Vocabulary.load(tmp_path / "v.json")


def test_half_a_surrogate_pair_is_refused_by_number(vocabulary: Vocabulary) -> None:
    with pytest.raises(DataError, match="text 2 of 2 is not valid Unicode"):
        vocabulary.encode_batch(["good", "bad \ud83d"])


def test_too_small_a_size_is_refused() -> None:
    with pytest.raises(ValueError, match=str(SMALLEST)):
        Vocabulary.train(TEXTS, SMALLEST - 1)


def test_rare_tokens_are_unknown_in_a_limited_vocabulary(vocabulary: Vocabulary, tmp_path: Path) -> None:
    limited = LimitedVocabulary.of(vocabulary, ["the house is red", "the house", "red , the"], len(SPECIAL_TOKENS) + 3)
    assert set(limited.readable(range(len(SPECIAL_TOKENS), limited.size))) == {"▁the", "▁house", "▁red"}
    ids = limited.encode("the red mouse is red")
    assert UNK in ids
    assert ids.count(limited.encode("red")[0]) == 2
    assert limited.decode(limited.encode("the red house")) == "the red house"
    assert limited.decode([UNK, *limited.encode("house"), UNK, UNK]) == "\ufffd house \ufffd \ufffd"
    limited.save(tmp_path / "limited.json")
    again = LimitedVocabulary.load(tmp_path / "limited.json")
    assert (again.tokens, again.fingerprint) == (limited.tokens, limited.fingerprint)
    assert again.encode("the red mouse") == limited.encode("the red mouse")
    (tmp_path / "limited.json").write_text("{}")
    with pytest.raises(ModelFolderError, match="damaged"):
        LimitedVocabulary.load(tmp_path / "limited.json")


def test_of_equally_frequent_tokens_those_learnt_first_are_kept(vocabulary: Vocabulary) -> None:
    kept = min(vocabulary.encode("house") + vocabulary.encode("red"))
    limited = LimitedVocabulary.of(vocabulary, ["the house", "the red"], len(SPECIAL_TOKENS) + 2)
    assert limited.tokens[-2:] == tuple(vocabulary.tokens[i] for i in sorted([*vocabulary.encode("the"), kept]))


def test_unknown_tokens_of_the_text_beside_are_told_apart(vocabulary: Vocabulary, tmp_path: Path) -> None:
    limited = LimitedVocabulary.of(vocabulary, ["the house is red", "the house"], len(SPECIAL_TOKENS) + 3, copied=2)
    known = limited.size - 2
    assert limited.info.copied == 2
    assert limited.readable(range(known, limited.size)) == ["▁<unk-1>", "▁<unk-2>"]
    assert limited.spelling.texts[known:] == ("", "")
    (alone,) = limited.encode_batch(["the mouse das mouse rot"])
    (beside,) = limited.encode_beside(["the mouse das mouse rot"], ["das the mouse ist rot"])
    (the,) = limited.encode("the")
    assert alone == [the, UNK, UNK, UNK, UNK]
    assert beside == [the, known + 1, known, known + 1, UNK]  # there are two such tokens, and rot is the fourth
    assert limited.decode_beside(beside, "das the mouse ist rot") == "the mouse das mouse \ufffd"
    assert limited.decode_beside(beside, "das the") == "the \ufffd das \ufffd \ufffd"
    assert limited.decode(beside) == limited.decode(alone) == "the \ufffd \ufffd \ufffd \ufffd"
    limited.save(tmp_path / "limited.json")
    again = LimitedVocabulary.load(tmp_path / "limited.json")
    assert again.encode_beside(["the mouse das mouse rot"], ["das the mouse ist rot"]) == [beside]
    assert (again.info, again.fingerprint) == (limited.info, limited.fingerprint)
