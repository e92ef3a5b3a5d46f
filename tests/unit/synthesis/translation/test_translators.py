"""Translators: each kind against what it wraps, and what a faulty one meets."""

import sys
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import tiny_models
import torch
import transformers
from checkpoints import nllb, t5

from postedit.core.config import load_config
from postedit.core.errors import PosteditError, RecipeError
from postedit.editing.post_editor import PostEditor
from postedit.synthesis.translation.translators import (
    TextTranslatorConfig,
    TranslatorError,
    open_translator,
    translator_fingerprints,
)

TEXTS = ["the house", "", "two house not the two house goes .", "goes"]


def config(**options: Any) -> TextTranslatorConfig:
    return load_config(TextTranslatorConfig, options, "recipe")


def command(program: str) -> TextTranslatorConfig:
    return config(kind="command", command=[sys.executable, "-c", program])


def test_a_command_reads_lines_and_writes_as_many() -> None:
    translator = open_translator(command("import sys\nfor line in sys.stdin: print(line.strip().upper() + ' ü')"))
    assert translator.translate(TEXTS) == [f"{text.upper()} ü" if text else "" for text in TEXTS]


def test_nothing_is_asked_for_blank_lines() -> None:
    assert open_translator(command("raise SystemExit(3)")).translate(["", "  "]) == ["", "  "]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("print('one')", r"returned 1 lines for 3; it must return one for each, in order"),
        ("import sys; print('out of memory', file=sys.stderr); sys.exit(7)", r"ended with status 7: out of memory"),
        ("import os; os.kill(os.getpid(), 9)", r"ended with signal 9"),
        ("import sys; sys.stdout.buffer.write(b'a\\nb\\n\\xff\\n')", r"byte 4 of its output is not UTF-8"),
    ],
)
def test_a_command_that_fails_is_named(program: str, message: str) -> None:
    with pytest.raises(TranslatorError, match=message):
        open_translator(command(program)).translate(TEXTS)


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(TranslatorError, match="no-such-program: cannot be started"):
        open_translator(config(kind="command", command=["no-such-program"])).translate(TEXTS)


def test_a_model_of_postedit_translates(tmp_path: Path) -> None:
    tiny_models.folder("transformer", input="src").save(tmp_path / "model")
    editor = PostEditor.load(tmp_path / "model", device="cpu")
    translator = open_translator(config(kind="postedit", model=str(tmp_path / "model"), beam=2))
    assert translator.translate(TEXTS) == [
        " ".join(edit.text.splitlines()) if text else "" for text, edit in zip(TEXTS, editor.edit(TEXTS, beam=2))
    ]


def test_a_model_that_needs_mt_is_no_translator(tmp_path: Path) -> None:
    tiny_models.folder().save(tmp_path / "model")
    with pytest.raises(TranslatorError, match="corrects translations and makes none"):
        open_translator(config(kind="postedit", model=str(tmp_path / "model")))


@pytest.mark.parametrize("codes", [{}, {"src_lang": "eng_Latn", "tgt_lang": "deu_Latn"}], ids=["t5", "nllb"])
def test_checkpoints_translate_as_the_library_does(tmp_path: Path, codes: dict[str, str]) -> None:
    folder = str((nllb if codes else t5)(tmp_path / "checkpoint"))
    translator = open_translator(config(kind="huggingface", model=folder, beam=2, batch=1, max_ratio=1.0, **codes))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    forced = {"forced_bos_token_id": tokenizer.convert_tokens_to_ids("deu_Latn")} if codes else {}
    expected = []
    for text in TEXTS:
        inputs = tokenizer([text], return_tensors="pt")
        with torch.inference_mode():
            written = model.generate(**inputs, num_beams=2, max_new_tokens=inputs["input_ids"].shape[1] + 10, **forced)
        expected.append(tokenizer.decode(written[0], skip_special_tokens=True) if text else "")
    assert translator.translate(TEXTS) == expected


@pytest.mark.parametrize("codes", [{}, {"src_lang": "eng_Latn", "tgt_lang": "deu_Latn"}], ids=["t5", "nllb"])
def test_ctranslate2_translates_as_it_does_by_itself(tmp_path: Path, codes: dict[str, str]) -> None:
    folder = str((nllb if codes else t5)(tmp_path / "checkpoint"))
    converted = str(tmp_path / "converted")
    ctranslate2.converters.TransformersConverter(folder).convert(converted)
    translator = open_translator(
        config(kind="ctranslate2", model=converted, tokenizer=folder, beam=2, batch=1, max_ratio=1.0, **codes)
    )
    tokenizer, model = transformers.AutoTokenizer.from_pretrained(folder), ctranslate2.Translator(converted)
    expected = []
    for text in TEXTS:
        pieces = tokenizer.convert_ids_to_tokens(tokenizer.encode(text))
        prefix = [["deu_Latn"]] if codes else None
        result = model.translate_batch(
            [pieces], target_prefix=prefix, beam_size=2, max_decoding_length=len(pieces) + 10
        )[0]
        ids = tokenizer.convert_tokens_to_ids(result.hypotheses[0])
        expected.append(tokenizer.decode(ids, skip_special_tokens=True) if text else "")
    assert translator.translate(TEXTS) == expected
    assert "deu" not in "".join(translator.translate(TEXTS))


def test_a_language_that_the_tokenizer_does_not_have(tmp_path: Path) -> None:
    folder = str(nllb(tmp_path / "checkpoint"))
    with pytest.raises(TranslatorError, match="tgt_lang: the tokenizer has no language german"):
        open_translator(config(kind="huggingface", model=folder, src_lang="eng_Latn", tgt_lang="german"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "command"}, "command: missing"),
        ({"kind": "huggingface"}, "model: missing"),
        ({"kind": "marian"}, "kind: "),
        ({"kind": "command", "command": ["x"], "beams": 3}, 'did you mean "beam"'),
        ({"kind": "command", "command": ["x"], "beam": 5}, r'beam: has no effect with kind = "command"; leave it out'),
        ({"kind": "postedit", "model": "x", "batch": 8}, r"batch: .* \(only for ctranslate2, huggingface\)"),
        ({"kind": "huggingface", "model": "x", "tokenizer": "y"}, r"tokenizer: .* \(only for ctranslate2\)"),
        ({"kind": "ctranslate2", "model": "x", "command": ["y"]}, r"command: .* \(only for command\)"),
        ({"kind": "postedit", "model": "x", "src_lang": "en", "max_extra": 1}, "src_lang: .*; max_extra: "),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        config(**options)


@pytest.mark.parametrize("kind", ["huggingface", "ctranslate2"])
def test_a_checkpoint_is_known_by_the_files_that_affect_its_output(tmp_path: Path, kind: str) -> None:
    for name in ("model", "tokenizer"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    tokenizer = {"tokenizer": str(tmp_path / "tokenizer")} if kind == "ctranslate2" else {}
    asked = config(kind=kind, model=str(tmp_path / "model"), **tokenizer)
    before = translator_fingerprints(asked)
    assert len(before) == (2 if kind == "ctranslate2" else 1)
    (tmp_path / "model/README.md").write_text("a note")
    assert translator_fingerprints(asked) == before
    (tmp_path / "model/config.json").write_text("{ }")
    assert translator_fingerprints(asked)[0] != before[0]


def test_commands_and_checkpoints_elsewhere_have_no_fingerprint() -> None:
    assert translator_fingerprints(command("")) == []
    assert translator_fingerprints(config(kind="huggingface", model="name/model")) == []


@pytest.mark.parametrize("kind", ["huggingface", "ctranslate2", "postedit"])
def test_a_model_that_is_not_there(kind: str) -> None:
    with pytest.raises(PosteditError, match=r"/none: no such"):
        open_translator(config(kind=kind, model="./none"))
