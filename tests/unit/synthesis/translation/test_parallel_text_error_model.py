"""Triplets whose mt a model of errors draws."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny_models
import torch
from synth_tools import read, refused, sentences, write

from postedit.core.errors import DataError
from postedit.editing.post_editor import PostEditor
from postedit.synthesis.translation import parallel_text

Synth = Callable[..., Any]


@pytest.fixture(autouse=True)
def anything_is_text(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models that have learnt nothing draw single bytes, which are seldom text."""
    if "broken" not in request.fixturenames:
        monkeypatch.setattr(parallel_text, "_is_broken", lambda drawn: False)


def options(folder: Path, **others: Any) -> dict[str, Any]:
    pe = sentences(15)
    write(folder / "text.pe", pe)
    write(folder / "text.src", [f"{line} x" for line in pe])
    if not (folder / "model").exists():
        tiny_models.folder().save(folder / "model")
    model = str(folder / "model")
    return {"kind": "errors", "src": "text.src", "pe": "text.pe", "model": model, "chunk_lines": 4, **others}


def test_parallel_text_and_a_model_of_errors_make_triplets(synth: Synth, tmp_path: Path) -> None:
    result = synth(options(tmp_path))
    assert result.exit_code == 0, result.output
    pairs = list(zip(*(read(tmp_path / f"out.{side}") for side in ("src", "mt", "pe")), strict=True))
    assert pairs
    assert all(src == f"{pe} x" for src, _, pe in pairs)
    assert any(mt != pe for _, mt, pe in pairs)
    recipe = json.loads((tmp_path / "out.json").read_text())["recipe"]
    assert (recipe["kind"], recipe["temperature"], recipe["seed"]) == ("errors", 1.0, 1)


def test_the_model_is_loaded_once(synth: Synth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load, loaded = PostEditor.load, []

    def counted(*arguments: Any, **options: Any) -> Any:
        loaded.append(arguments)
        return load(*arguments, **options)

    monkeypatch.setattr(PostEditor, "load", counted)
    assert synth(options(tmp_path)).exit_code == 0
    assert len(loaded) == 1


@pytest.mark.slow
def test_the_seed_decides_what_is_drawn(synth: Synth, tmp_path: Path) -> None:
    runs = {"one": [], "again": [], "other": ["--set", "synth.seed=2"]}
    drawn = {}
    for name, arguments in runs.items():
        result = synth(options(tmp_path, out=str(tmp_path / name)), *arguments)
        assert result.exit_code == 0, result.output
        drawn[name] = read(tmp_path / f"{name}.mt")
    assert drawn["one"] == drawn["again"]
    assert drawn["one"] != drawn["other"]


@pytest.mark.slow
def test_equal_lines_in_different_chunks_get_errors_of_their_own(synth: Synth, tmp_path: Path) -> None:
    recipe = options(tmp_path, chunk_lines=1)
    for side in ("src", "pe"):
        write(tmp_path / f"text.{side}", ["das Haus geht"] * 10)
    assert synth(recipe).exit_code == 0
    assert len(set(read(tmp_path / "out.mt"))) > 1


@pytest.mark.slow
def test_another_choice_draws_nothing_and_another_seed_draws_anew(synth: Synth, tmp_path: Path) -> None:
    assert synth(options(tmp_path, out=str(tmp_path / "real"))).exit_code == 0
    result = synth(options(tmp_path, real="real", mismatch=0.5))
    assert result.exit_code == 0, result.output
    assert "1 of 2: sampling of errors" in result.stderr
    before = (tmp_path / "out.translated.mt").stat().st_mtime_ns
    assert synth(options(tmp_path, real="real", mismatch=0.1), "--resume").exit_code == 0
    assert (tmp_path / "out.translated.mt").stat().st_mtime_ns == before
    drawn = read(tmp_path / "out.translated.mt")
    assert synth(options(tmp_path, real="real", mismatch=1.0, seed=2), "--resume").exit_code == 0
    assert read(tmp_path / "out.translated.mt") != drawn


@pytest.mark.slow
def test_an_interrupted_job_ends_the_same(synth: Synth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert synth(options(tmp_path, out=str(tmp_path / "whole"))).exit_code == 0
    draw, calls = PostEditor.draw, []

    def draw_twice(self: PostEditor, *arguments: Any) -> Any:
        calls.append(1)
        if len(calls) > 2:
            raise DataError("interrupted")
        return draw(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(PostEditor, "draw", draw_twice)
        assert synth(options(tmp_path)).exit_code == 1
    assert 0 < len(read(tmp_path / "out.mt.partial")) < 15
    assert synth(options(tmp_path), "--resume").exit_code == 0
    assert read(tmp_path / "out.mt") == read(tmp_path / "whole.mt")


def test_a_changed_model_does_not_resume_samples_of_another(synth: Synth, tmp_path: Path) -> None:
    recipe = options(tmp_path, real="real", mismatch=1.0)
    assert synth(options(tmp_path, out=str(tmp_path / "real"))).exit_code == 0
    assert synth(recipe).exit_code == 0
    drawn = read(tmp_path / "out.translated.mt")
    tiny_models.folder("m-cgru").save(tmp_path / "model")
    result = synth(recipe, "--resume")
    assert "already done" not in result.stderr
    assert read(tmp_path / "out.translated.mt") != drawn


def test_lines_too_long_for_the_model_are_left_out_and_counted(synth: Synth, tmp_path: Path) -> None:
    recipe = options(tmp_path)
    write(tmp_path / "text.src", ["das Haus", "Haus " * 3000])
    write(tmp_path / "text.pe", ["das Haus", "Haus " * 3000])
    result = synth(recipe)
    assert result.exit_code == 0, result.output
    assert read(tmp_path / "out.src") == ["das Haus"]
    assert "1 too long for the model" in result.stdout


@pytest.mark.parametrize("broken", [{"text": "das \0"}, {"skipped": "damaged"}])
def test_samples_that_are_no_text_are_left_out_and_counted(
    synth: Synth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: dict[str, str]
) -> None:
    recipe, draw = options(tmp_path), PostEditor.draw

    def one_broken(self: PostEditor, *arguments: Any) -> Any:
        first, *others = draw(self, *arguments)
        return [replace(first, **broken), *(replace(other, text="das\x0bHaus") for other in others)]

    monkeypatch.setattr(PostEditor, "draw", one_broken)
    result = synth(recipe)
    assert result.exit_code == 0, result.output
    assert f"{-(-15 // 4)} drawn with broken characters" in result.stdout
    assert set(read(tmp_path / "out.mt")) == {"das Haus"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"temperature": 0}, "synth.temperature"),
        ({"temperature": 1e-46}, "synth.temperature"),
        ({"device": "gpu"}, "synth.device"),
        ({"model": "/none"}, "synth.model: /none"),
        ({"translator": "x"}, "synth.translator"),
        ({"pe": "none"}, "synth.pe: "),
    ],
)
def test_faults_are_reported_before_work(synth: Synth, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    assert message in refused(synth(options(tmp_path, **change)))
    assert not list(tmp_path.glob("out*"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_named(synth: Synth, tmp_path: Path) -> None:
    assert "synth.device: is cuda, but PyTorch finds no GPU here" in refused(synth(options(tmp_path, device="cuda")))


def test_a_translator_is_no_model_of_errors(synth: Synth, tmp_path: Path) -> None:
    tiny_models.folder("transformer", input="src").save(tmp_path / "model")
    result = synth(options(tmp_path))
    assert 'reads src only, so it translates and is not an error model; use kind = "forward"' in refused(result)
    assert not list(tmp_path.glob("out*"))
