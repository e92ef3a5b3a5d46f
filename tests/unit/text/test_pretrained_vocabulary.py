import json
from pathlib import Path

import pytest
from checkpoints import KINDS, TEXTS, bart, marian, t5
from hypothesis import given, settings
from hypothesis import strategies as st

from postedit.core.checksums import record_folder
from postedit.core.errors import DataError, ModelFolderError, RecipeError
from postedit.core.special_tokens import EOS, SPECIAL_TOKENS, UNK
from postedit.core.transformers_checkpoint import PretrainedTokens, TransformersCheckpoint
from postedit.text.config import GROUPS, TextConfig, VocabularyConfig
from postedit.text.edits import apply_edits
from postedit.text.pretrained_vocabulary import PretrainedVocabulary, _pieces, checkpoint_vocabularies
from postedit.text.processor import TextProcessor


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return KINDS[request.param](tmp_path_factory.mktemp("checkpoint") / request.param)


@pytest.fixture(scope="module")
def processor(folder: Path) -> TextProcessor:
    config = TextConfig(vocabulary=VocabularyConfig(checkpoint=str(folder), sharing="mt-pe"))
    return TextProcessor.fit(config, lambda: iter(()))


def test_all_sides_have_the_symbols_of_one_table(processor: TextProcessor, folder: Path) -> None:
    infos = processor.vocabularies
    assert infos.streams["src"] == infos.streams["mt"] == infos.target
    rows = json.loads((folder / "config.json").read_text())["vocab_size"]
    new = 5 if folder.name == "bare" else 3  # BOS, STEP and SEP, and what a bare tokenizer lacks
    assert infos.target.size == rows + new


def test_pieces_are_those_of_the_librarys_tokenizer(processor: TextProcessor, folder: Path) -> None:
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    own = {tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id}
    symbol = {row: number for number, row in enumerate(row for row in range(9999) if row not in own)}
    for text in TEXTS:
        expected = [symbol[row] + len(SPECIAL_TOKENS) for row in tokenizer(text, add_special_tokens=False)["input_ids"]]
        assert processor.vocabulary("src").encode(text) == expected
        expected = [
            symbol[row] + len(SPECIAL_TOKENS)
            for row in tokenizer(text_target=text, add_special_tokens=False)["input_ids"]
        ]
        assert processor.vocabulary("pe").encode(text) == expected
        assert processor.vocabulary("pe").decode(processor.vocabulary("pe").encode(text)) == text


CONTROLS = ["</s>", "<pad>", "<s>", "<mask>", "eng_Latn"]


@pytest.mark.parametrize("text", [*CONTROLS, "ein <pad> Haus", "<s>ein</s>", "<s> ein"])
def test_no_text_holds_a_control_symbol(processor: TextProcessor, text: str) -> None:
    vocabulary = processor.vocabulary("mt")
    assert not set(vocabulary.readable(vocabulary.encode(text))) & set(CONTROLS)


@pytest.mark.parametrize("control", CONTROLS)
def test_control_symbols_have_no_text(processor: TextProcessor, control: str) -> None:
    vocabulary = processor.vocabulary("pe")
    names = vocabulary.readable(range(vocabulary.size))
    if control in names:
        ids = [*vocabulary.encode("ein"), names.index(control), *vocabulary.encode("Haus")]
        assert vocabulary.decode(ids).replace(" ", "") == "einHaus"


@settings(max_examples=60, derandomize=True)
@given(
    mt=st.text(max_size=30)
    | st.lists(st.sampled_from(["ein", "Haus", "…", "½", "😀", "\u200b", "ﬁn", "  "])).map(" ".join)
)
def test_unedited_mt_comes_back_byte_for_byte(processor: TextProcessor, mt: str) -> None:
    try:
        ids = processor.encode_batch("pe", [mt])[0]
    except DataError:
        return  # half a surrogate pair
    rendering = processor.render(mt, ids)
    assert rendering.text == mt
    assert not rendering.changed


@pytest.mark.parametrize(
    ("mt", "words", "pe", "expected"),
    [
        ("ein Haus … geht", "ein Haus geht", "zwei Haus geht", "zwei Haus geht"),
        ("ein … 😀 Haus", "ein … 😀 Haus", "zwei … 😀 Haus", "zwei … 😀 Haus"),
        ("ein ½ Haus", "ein ½ Haus", "ein ½ Häuser", "ein ½ Häuser"),
        ("ein \u200b Haus .", "ein \u200b Haus .", "ein \u200b Häuser .", "ein \u200b Häuser ."),
    ],
)
def test_words_that_stay_are_unchanged(processor: TextProcessor, mt: str, words: str, pe: str, expected: str) -> None:
    rendering = processor.render(mt, processor.encode_batch("pe", [pe])[0])
    assert rendering.text == expected
    assert apply_edits(mt, rendering.text, rendering.edits) == rendering.text


def test_new_unknown_tokens_are_left_out(tmp_path: Path) -> None:
    config = TextConfig(vocabulary=VocabularyConfig(checkpoint=str(t5(tmp_path / "t5"))))
    processor = TextProcessor.fit(config, lambda: iter(()))
    pe = processor.vocabulary("pe")
    rendering = processor.render("ein Haus", [*pe.encode("ein"), UNK, *pe.encode("Häuser"), EOS])
    assert rendering.text == "ein Häuser"


def test_rows_without_a_piece_have_no_text(tmp_path: Path) -> None:
    config = TextConfig(vocabulary=VocabularyConfig(checkpoint=str(t5(tmp_path / "t5"))))
    pe = TextProcessor.fit(config, lambda: iter(())).vocabulary("pe")
    filler = pe.size - 1
    assert pe.decode([*pe.encode("ein"), filler, *pe.encode("Haus")]) == "ein Haus"
    assert pe.readable([filler])[0].startswith("<row ")


def test_words_are_numbered_as_in_the_text(processor: TextProcessor) -> None:
    vocabulary = processor.vocabulary("pe")
    ids = vocabulary.encode("ein Haus geht nicht .")
    index = vocabulary.word_index([*ids, EOS])
    assert index[-1] == -1
    words = ["".join(vocabulary.readable([i for i, n in zip(ids, index) if n == number])) for number in range(5)]
    assert [word.replace("▁", "") for word in words] == ["ein", "Haus", "geht", "nicht", "."]


def test_words_after_tokens_without_a_piece_keep_their_numbers(tmp_path: Path) -> None:
    config = TextConfig(vocabulary=VocabularyConfig(checkpoint=str(t5(tmp_path / "t5"))))
    pe = TextProcessor.fit(config, lambda: iter(())).vocabulary("pe")
    one, other = pe.encode("ein"), pe.encode("Haus")
    index = pe.word_index([UNK, *one, pe.size - 1, *other])
    assert pe.decode([UNK, *one, pe.size - 1, *other]).split() == ["\ufffd", "ein", "Haus"]
    assert index == [0, *[1] * len(one), -1, *[2] * len(other)]


def test_letters_are_no_spaces_where_spaces_are_written_otherwise(tmp_path: Path) -> None:
    symbols = PretrainedTokens((*SPECIAL_TOKENS, "▁ko", "čka", "▁pije"), tuple(range(9)), frozenset())
    pieces = _pieces("t5", TransformersCheckpoint(str(t5(tmp_path / "t5"))).tokenizer, ["mt"])
    assert PretrainedVocabulary(symbols, pieces).word_index([6, 7, 8, EOS]) == [0, 0, 1, -1]


def test_a_saved_vocabulary_needs_no_checkpoint(processor: TextProcessor, tmp_path: Path) -> None:
    processor.save(tmp_path)
    loaded = TextProcessor.load(tmp_path)
    assert loaded.vocabularies == processor.vocabularies
    texts = [*TEXTS, "ein 😀 …", ""]
    for side in ("src", "mt", "pe"):
        assert loaded.encode_batch(side, texts) == processor.encode_batch(side, texts)


@pytest.mark.parametrize(
    "damage", ["{", "{}", '{"names": [], "rows": []}', '{"tokenizer": "{}", "names": [], "rows": []}']
)
def test_a_damaged_vocabulary_is_named(processor: TextProcessor, tmp_path: Path, damage: str) -> None:
    processor.save(tmp_path)
    (tmp_path / "vocabulary.src.json").write_text(damage)
    with pytest.raises(ModelFolderError, match=r"vocabulary\.src\.json: not the content that was written"):
        TextProcessor.load(tmp_path)
    record_folder(tmp_path)
    with pytest.raises(ModelFolderError, match=r"vocabulary\.src\.json: the vocabulary is damaged"):
        TextProcessor.load(tmp_path)


def test_half_a_surrogate_pair_is_named(processor: TextProcessor) -> None:
    with pytest.raises(DataError, match="text 2 of 2 is not valid Unicode"):
        processor.vocabulary("src").encode_batch(["ein", "\ud800"])


def test_marian_needs_two_vocabularies(tmp_path: Path) -> None:
    folder = marian(tmp_path / "marian")
    with pytest.raises(RecipeError, match=r'set text\.vocabulary\.sharing = "mt-pe"'):
        checkpoint_vocabularies(str(folder), GROUPS["joint"])
    assert isinstance(checkpoint_vocabularies(str(folder), GROUPS["mt-pe"])["mt-pe"], PretrainedVocabulary)


def test_a_checkpoint_that_reads_and_writes_different_symbols_is_refused(tmp_path: Path) -> None:
    folder = marian(tmp_path / "marian")
    (folder / "target_vocab.json").write_text((folder / "vocab.json").read_text())
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "MarianTokenizer", "separate_vocabs": true}')
    with pytest.raises(RecipeError, match="one vocabulary for what it reads and another for what it writes"):
        checkpoint_vocabularies(str(folder), GROUPS["mt-pe"])


def test_one_vocabulary_may_serve_all_sides(tmp_path: Path) -> None:
    assert list(checkpoint_vocabularies(str(bart(tmp_path / "bart")), GROUPS["joint"])) == ["joint"]
