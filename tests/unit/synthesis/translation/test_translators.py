"""Translators: each kind against what it wraps, and what a faulty one meets."""

import json
import sys
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import tiny_models
import torch
import transformers
from checkpoints import marian, nllb, t5

from postedit.core.config import load_config
from postedit.core.errors import PosteditError
from postedit.editing.post_editor import PostEditor
from postedit.synthesis.translation.translator_config import TextTranslatorConfig
from postedit.synthesis.translation.translators import (
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
        ("print('one')", r"returned 1 line for 3; it must return one for each, in order"),
        ("import sys; print('out of memory', file=sys.stderr); sys.exit(7)", r"ended with status 7: out of memory"),
        ("import sys; sys.exit('loading ' * 200 + 'out of memory')", r"status 1: .{,500}loading out of memory$"),
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


@pytest.mark.parametrize(("end", "expected"), [("\\r\\n", "A B"), ("\\x0b\\n", "A B"), ("\\u2028C\\n", "A B C")])
def test_a_translation_is_one_line_whatever_separates_its_parts(end: str, expected: str) -> None:
    program = f"import sys; sys.stdout.buffer.write('A\\x85B{end}'.encode())"
    assert open_translator(command(program)).translate(["a"]) == [expected]


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


@pytest.mark.slow
@pytest.mark.parametrize("codes", [{}, {"src_lang": "eng_Latn", "tgt_lang": "deu_Latn"}], ids=["t5", "nllb"])
def test_checkpoints_translate_as_the_library_does(tmp_path: Path, codes: dict[str, str]) -> None:
    folder = str((nllb if codes else t5)(tmp_path / "checkpoint"))
    translator = open_translator(config(kind="huggingface", model=folder, beam=2, max_ratio=1.0, **codes))
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
        config(kind="ctranslate2", model=converted, tokenizer=folder, beam=2, max_ratio=1.0, **codes)
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


def converted(folder: Path, model: Path) -> dict[str, Any]:
    """Convert a checkpoint for CTranslate2, and return the options that name it."""
    ctranslate2.converters.TransformersConverter(str(folder)).convert(str(model))
    return {"kind": "ctranslate2", "model": str(model), "tokenizer": str(folder)}


def limit_tokens(folder: Path, most: int) -> None:
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "model_max_length": most}))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["huggingface", "ctranslate2"])
def test_a_text_over_the_limit_of_the_model_is_not_cut(tmp_path: Path, kind: str) -> None:
    folder = t5(tmp_path / "checkpoint")
    model = {"model": str(folder)} if kind == "huggingface" else converted(folder, tmp_path / "model")
    asked, texts = config(**{"kind": kind, "beam": 1, **model}), [*TEXTS, "house " * 20]
    tokens = len(transformers.AutoTokenizer.from_pretrained(folder).encode(texts[-1]))
    limit_tokens(folder, tokens)
    assert None not in open_translator(asked).translate(texts)
    limit_tokens(folder, tokens - 1)
    *others, last = open_translator(asked).translate(texts)
    assert last is None
    assert None not in others


@pytest.mark.parametrize("kind", ["huggingface", "ctranslate2"])
def test_a_translation_fits_into_the_positions_of_the_model(tmp_path: Path, kind: str) -> None:
    folder, positions = marian(tmp_path / "checkpoint"), 200
    model = {"model": str(folder)} if kind == "huggingface" else converted(folder, tmp_path / "model")
    limit_tokens(folder, 512 if kind == "huggingface" else positions)  # CTranslate2 knows it from the tokenizer alone
    asked = config(**{"kind": kind, "beam": 1, "max_ratio": 9.0, **model})
    short, long = open_translator(asked).translate(["house " * 40, "house " * positions])
    assert short is not None
    assert long is None


def test_ctranslate2_says_that_a_text_is_too_long_for_the_model(tmp_path: Path) -> None:
    translator = open_translator(config(**converted(marian(tmp_path / "checkpoint"), tmp_path / "model")))
    with pytest.raises(TranslatorError, match=r"model: cannot translate: .*; if texts are too long, set model_max"):
        translator.translate(["house " * 250])


def test_a_language_that_the_tokenizer_does_not_have(tmp_path: Path) -> None:
    folder = str(nllb(tmp_path / "checkpoint"))
    with pytest.raises(TranslatorError, match="tgt_lang: the tokenizer has no language german"):
        open_translator(config(kind="huggingface", model=folder, src_lang="eng_Latn", tgt_lang="german"))


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
