"""The model that comes with postedit is whole, small, and does what its card says."""

import json
from pathlib import Path
from typing import Any

import pytest

from postedit import PostEditor, shipped
from postedit.evaluate.scores import score_system

SAMPLE = Path(__file__).resolve().parents[3] / "examples/mlqe-pe.en-zh"


def lines(name: str) -> list[str]:
    return (SAMPLE / name).read_text(encoding="utf-8").split("\n")[:60]


def test_the_shipped_model_is_the_default() -> None:
    assert PostEditor.load(device="cpu").sources == (shipped.MODEL,)


def test_the_shipped_model_is_under_40_megabytes_with_a_model_card() -> None:
    files = [path for path in shipped.MODEL.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 40e6
    card = (shipped.MODEL / "README.md").read_text(encoding="utf-8")
    assert all(f"## {part}" in card for part in ("Data", "Scores", "Limits"))
    provenance = json.loads((shipped.MODEL / "provenance.json").read_text(encoding="utf-8"))
    assert provenance["recipe"]["data"]["files"]


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="needs the sample in examples/")
def test_it_makes_unseen_translations_better() -> None:
    src, mt, pe = (lines(f"test.{side}") for side in ("src", "mt", "pe"))
    outputs = [edit.text for edit in PostEditor.load(device="cpu").edit(src, mt)]
    assert score_system("", outputs, pe, mt).ter < score_system("", mt, pe, mt).ter - 1.0


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="needs the sample in examples/")
def test_swapped_source_and_translation_are_detected() -> None:
    editor, src, mt = PostEditor.load(device="cpu"), lines("test.src")[:20], lines("test.mt")[:20]
    assert editor.seem_swapped(mt, src)
    assert not editor.seem_swapped(src, mt)


def test_edit_without_a_model_says_which_one_it_takes(run: Any, tmp_path: Path) -> None:
    for side in ("src", "mt"):
        (tmp_path / side).write_text("\n".join(lines(f"test.{side}")[:2]) + "\n", encoding="utf-8")
    result = run("edit", "--src", tmp_path / "src", "--mt", tmp_path / "mt")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("\n") == 2
    assert "Model: wiki.en-zh (encyclopaedic text, English to Chinese)" in result.stderr
    for verb in ("edit", "explain"):
        result = run(verb, "--src", tmp_path / "src", "--mt", tmp_path / "mt", "--search", tmp_path / "none.toml")
        assert result.stderr == f"error: {tmp_path / 'none.toml'}: no such file of search options\n"
