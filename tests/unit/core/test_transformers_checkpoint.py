import json
import sys
from pathlib import Path

import pytest
import transformers
from checkpoints import CHAT, bart, causal, marian, nllb, t5

from postedit.core.errors import RecipeError, library
from postedit.core.special_tokens import BOS, EOS, PAD, SEP, STEP, UNK
from postedit.core.transformers_checkpoint import RowNumbering, TransformersCheckpoint


def test_reserved_symbols_have_the_checkpoints_rows_or_new_ones() -> None:
    table = RowNumbering(rows=6, pad=5, eos=0, unk=1).table()
    assert [table[symbol] for symbol in (PAD, EOS, UNK)] == [5, 0, 1]
    assert [table[symbol] for symbol in (BOS, STEP, SEP)] == [6, 7, 8]
    assert table[6:] == [2, 3, 4]


def test_rows_that_a_checkpoint_lacks_are_new() -> None:
    table = RowNumbering(rows=3, pad=None, eos=2, unk=None).table()
    assert sorted(table) == list(range(3 + 5))
    assert table[EOS] == 2
    assert table[6:] == [0, 1]


def test_the_codes_of_languages_stand_where_the_tokenizer_puts_one(tmp_path: Path) -> None:
    checkpoint = TransformersCheckpoint(str(nllb(tmp_path / "nllb")))
    english, german = checkpoint.row("eng_Latn"), checkpoint.row("deu_Latn")
    assert checkpoint.around("eng_Latn", "deu_Latn") == ([english], [])
    assert checkpoint.around("deu_Latn", "eng_Latn") == ([german], [])
    assert checkpoint.start("deu_Latn") == [2, german]


@pytest.mark.parametrize(("src", "tgt", "missing"), [(None, "deu_Latn", "src_lang"), ("eng_Latn", None, "tgt_lang")])
def test_a_checkpoint_with_codes_needs_them(tmp_path: Path, src: str | None, tgt: str | None, missing: str) -> None:
    with pytest.raises(RecipeError, match=rf"set model\.{missing} to one, such as eng_Latn"):
        TransformersCheckpoint(str(nllb(tmp_path / "nllb"))).around(src, tgt)


def test_codes_of_marian_stand_before_the_source_and_name_the_target(tmp_path: Path) -> None:
    checkpoint = TransformersCheckpoint(str(marian(tmp_path / "marian", ">>deu<<")))
    german, pad = checkpoint.row(">>deu<<"), checkpoint.numbering.pad
    assert checkpoint.tokenizer(">>deu<< the house")["input_ids"][0] == german
    assert checkpoint.around(None, ">>deu<<") == ([german], [])
    assert checkpoint.start(">>deu<<") == [pad]
    assert checkpoint.tokens.rows.index(german) in checkpoint.tokens.controls


def test_without_languages_the_tokenizer_s_own_special_tokens_remain(tmp_path: Path) -> None:
    assert TransformersCheckpoint(str(marian(tmp_path / "marian"))).around(None, None) == ([], [])
    assert TransformersCheckpoint(str(bart(tmp_path / "bart"))).around(None, None) == ([0], [])
    assert TransformersCheckpoint(str(bart(tmp_path / "bart2"))).start(None) == [2, 0]
    assert TransformersCheckpoint(str(t5(tmp_path / "t5"))).start(None) == [0]


def test_an_unknown_language_code_is_named_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r'no language code "de_Latn"; did you mean "deu_Latn"'):
        TransformersCheckpoint(str(nllb(tmp_path / "nllb"))).start("de_Latn")


@pytest.mark.parametrize("name", ["./none", "/none/at/all", "~/none-at-all"])
def test_a_folder_that_is_not_there(name: str) -> None:
    with pytest.raises(RecipeError, match="no such folder"):
        _ = TransformersCheckpoint(name).settings


def test_an_ordinary_piece_is_no_language_code(tmp_path: Path) -> None:
    checkpoint = TransformersCheckpoint(str(nllb(tmp_path / "nllb")))
    assert "ei" in checkpoint.tokenizer.get_vocab()
    with pytest.raises(RecipeError, match='no language code "ei"'):
        checkpoint.around("ei", "deu_Latn")
    with pytest.raises(RecipeError, match='no language code "ei"'):
        checkpoint.start("ei")


def test_a_network_with_two_vocabularies_is_refused(tmp_path: Path) -> None:
    nllb(tmp_path / "nllb")
    config = transformers.FSMTConfig(langs=["en", "de"], src_vocab_size=60, tgt_vocab_size=60, d_model=8)
    config.save_pretrained(tmp_path / "nllb")
    with pytest.raises(RecipeError, match="is a fsmt, which has no single vocabulary"):
        _ = TransformersCheckpoint(str(tmp_path / "nllb")).numbering


def test_a_folder_that_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="not a usable checkpoint"):
        _ = TransformersCheckpoint(str(tmp_path)).settings


def test_a_network_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", "vocab_size": 9}))
    with pytest.raises(RecipeError, match=r"gpt2, which is not a sequence-to-sequence model; .* such as Marian"):
        TransformersCheckpoint(str(tmp_path)).check_kind("sequence-to-sequence")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "marian", "vocab_size": 9}))
    with pytest.raises(RecipeError, match=r"marian, which is not a causal language model; .* such as Llama"):
        TransformersCheckpoint(str(tmp_path)).check_kind("causal language")


def test_a_tokenizer_of_another_checkpoint_is_refused(tmp_path: Path) -> None:
    folder = t5(tmp_path / "t5")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": 12}))
    with pytest.raises(RecipeError, match="but its tables have 12 rows"):
        _ = TransformersCheckpoint(str(folder)).numbering


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(RecipeError, match=r"a checkpoint needs transformers; .*'postedit\[pretrained\]'"):
        library("transformers", "a checkpoint")


@pytest.mark.parametrize("date", ["{{ strftime_now('%d %b %Y') }}", "{% set f = '%Y-%m-%d' %}{{ strftime_now(f) }}"])
def test_a_prompt_has_the_same_date_every_day(tmp_path: Path, date: str) -> None:
    known = "{% if strftime_now is defined %}" + date + "{% endif %}\n"
    checkpoint = TransformersCheckpoint(str(causal(tmp_path / "small", chat=known + CHAT)))
    parts, _ = checkpoint.prompt("Correct {src} as {mt}.", None)
    text = checkpoint.tokenizer.decode(parts[0])
    assert text.startswith(("26 Jul 2024", "2024-07-26"))
    plain = TransformersCheckpoint(str(causal(tmp_path / "plain", chat=f" \n{CHAT}")))
    start = plain.tokenizer.apply_chat_template([{"role": "user", "content": "Correct "}], tokenize=False)
    found = plain.tokenizer.decode(plain.prompt("Correct {src} as {mt}.", None)[0][0])
    assert start.startswith(found.rstrip()), "a template without a date is used as it is"
