"""Triplets whose mt a model of errors draws."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_models
from synth_tools import read, sentences, write

Synth = Callable[..., Any]


def options(folder: Path, **others: Any) -> dict[str, Any]:
    pe = sentences(30)
    write(folder / "text.pe", pe)
    write(folder / "text.src", [f"{line} x" for line in pe])
    if not (folder / "model").exists():
        tiny_models.folder().save(folder / "model")
    model = str(folder / "model")
    return {"kind": "errors", "src": "text.src", "pe": "text.pe", "model": model, "chunk_lines": 7, **others}


def test_parallel_text_and_a_model_of_errors_make_triplets(synth: Synth, tmp_path: Path) -> None:
    result = synth(options(tmp_path))
    assert result.exit_code == 0, result.output
    pairs = list(zip(*(read(tmp_path / f"out.{side}") for side in ("src", "mt", "pe")), strict=True))
    assert pairs
    assert all(src == f"{pe} x" for src, _, pe in pairs)
    assert any(mt != pe for _, mt, pe in pairs)
    recipe = json.loads((tmp_path / "out.json").read_text())["recipe"]
    assert (recipe["kind"], recipe["temperature"], recipe["seed"]) == ("errors", 1.0, 1)


def test_the_seed_and_nothing_else_decides_what_is_drawn(synth: Synth, tmp_path: Path) -> None:
    runs = {
        "one": [],
        "again": ["--workers", "2"],
        "other": ["--set", "synth.seed=2"],
    }
    drawn = {}
    for name, arguments in runs.items():
        result = synth(options(tmp_path, out=str(tmp_path / name)), *arguments)
        assert result.exit_code == 0, result.output
        drawn[name] = read(tmp_path / f"{name}.mt")
    assert drawn["one"] == drawn["again"]
    assert drawn["one"] != drawn["other"]


def test_equal_lines_in_different_chunks_get_errors_of_their_own(synth: Synth, tmp_path: Path) -> None:
    recipe = options(tmp_path, chunk_lines=1)
    for side in ("src", "pe"):
        write(tmp_path / f"text.{side}", ["das Haus geht"] * 10)
    assert synth(recipe).exit_code == 0
    assert len(set(read(tmp_path / "out.mt"))) > 1


def test_another_choice_draws_nothing_and_another_seed_draws_anew(synth: Synth, tmp_path: Path) -> None:
    assert synth(options(tmp_path, out=str(tmp_path / "real"))).exit_code == 0
    result = synth(options(tmp_path, real="real", mismatch=0.5))
    assert result.exit_code == 0, result.output
    assert "1 of 2: errors" in result.stderr
    before = (tmp_path / "out.translated.mt").stat().st_mtime_ns
    assert synth(options(tmp_path, real="real", mismatch=0.1), "--resume").exit_code == 0
    assert (tmp_path / "out.translated.mt").stat().st_mtime_ns == before
    drawn = read(tmp_path / "out.translated.mt")
    assert synth(options(tmp_path, real="real", mismatch=1.0, seed=2), "--resume").exit_code == 0
    assert read(tmp_path / "out.translated.mt") != drawn


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"temperature": 0}, "synth.temperature"),
        ({"model": "/none"}, "/none"),
        ({"translator": "x"}, "synth.translator"),
        ({"pe": "none"}, "synth.pe: "),
    ],
)
def test_what_is_wrong_is_named(synth: Synth, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    result = synth(options(tmp_path, **change))
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_translator_is_no_model_of_errors(synth: Synth, tmp_path: Path) -> None:
    tiny_models.folder("transformer", input="src").save(tmp_path / "model")
    result = synth(options(tmp_path))
    assert result.exit_code == 1
    assert 'reads src alone, so it translates, and makes no errors in pe; take kind = "forward"' in result.stderr
