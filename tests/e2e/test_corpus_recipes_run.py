"""Recipes that train no neural model run on a few lines: those of cleaning, of artificial triplets, and of phrases."""

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from test_recipes_run import recipes as neural_recipes
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/unit"), str(ROOT / "tests/contract")]
import tiny_models  # noqa: E402
from checkpoints import t5  # noqa: E402

from postedit.cli.main import app  # noqa: E402
from postedit.core.config import read_toml  # noqa: E402
from postedit.core.search_config import SearchConfig  # noqa: E402

SAMPLE = ROOT / "examples/mlqe-pe.en-de/train"
SIDES = ("src", "mt", "pe")
LINES = 40

CLEAN = sorted((ROOT / "recipes/clean").glob("*.toml"))
SYNTH = sorted(path for path in (ROOT / "recipes").rglob("*.toml") if "synth" in read_toml(path))
PHRASES = ROOT / "recipes/phrase-based.toml"


def test_every_recipe_is_run_by_a_test() -> None:
    found = set((ROOT / "recipes").rglob("*.toml"))
    assert found == {*neural_recipes(), *CLEAN, *SYNTH, PHRASES}


@pytest.fixture(autouse=True)
def nonsense_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave bytes that are no text in outputs: models that have learnt nothing write little else."""
    monkeypatch.setattr("postedit.editing.soundness.keeps_text_sound", lambda *arguments: True)
    monkeypatch.setattr("postedit.editing.soundness.empties", lambda *arguments: False)
    monkeypatch.setattr("postedit.editing.post_editor.without_damaged", lambda mt, result: result)
    monkeypatch.setattr("postedit.synthesis.translation.parallel_text._is_broken", lambda drawn: False)


def lines(side: str) -> list[str]:
    """Return short texts, with mt as wrong as the output of models that have learnt nothing."""
    end = "goes" if side == "src" else "geht"
    return ["x" if side == "mt" else f"{number % 7} Haus {number % 5} {end}" for number in range(LINES)]


def run(*arguments: object) -> None:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output


def written(prefix: Path) -> dict[str, list[str]]:
    found = {side: Path(f"{prefix}.{side}").read_text("utf-8").splitlines() for side in SIDES}
    assert len({len(texts) for texts in found.values()}) == 1
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", CLEAN, ids=lambda path: path.stem)
def test_cleaning(path: Path, tmp_path: Path) -> None:
    options = ["--recipe", path, "--set", "src_lang=en", "--set", "tgt_lang=de", "--workers", 1]
    run("data", "clean", SAMPLE, "--out", tmp_path / "out", *options)
    assert 500 < len(written(tmp_path / "out")["src"]) <= len(Path(f"{SAMPLE}.src").read_text("utf-8").splitlines())


def write_inputs(folder: Path) -> None:
    """Write all files that recipes of artificial triplets name, under each of their names."""
    for prefix in ("train", "real", "noise", "text", "translate"):
        for side in SIDES:
            text = "".join(f"{line}\n" for line in lines(side))
            Path(f"{folder}/{prefix}.{side}").write_text(text, "utf-8")
    for name in ("news.de", "german.pe"):
        (folder / name).write_text("".join(f"{line}\n" for line in lines("pe")), "utf-8")


def models_of(recipe: dict[str, object], folder: Path) -> list[str]:
    """Make the models that a recipe names, tiny ones, and return the options that name them."""
    options = []
    if "model" in recipe:
        tiny_models.folder().save(folder / "errors")
        options.append(f"synth.model={folder}/errors")
    for name in ("translator", "back", "forward"):
        if isinstance(translator := recipe.get(name), dict):
            model = folder / name
            if translator["kind"] == "postedit":
                tiny = tiny_models.folder("transformer", input="src")
                replace(tiny, search=SearchConfig(max_ratio=0.1, max_extra=5)).save(model)
            else:
                torch.manual_seed(1)  # other weights might write nothing but blanks
                t5(model)
            options.append(f"synth.{name}.model={model}")
    return options


@pytest.mark.slow
@pytest.mark.parametrize("path", SYNTH, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_artificial_triplets(path: Path, tmp_path: Path) -> None:
    recipe = read_toml(path)["synth"]
    write_inputs(tmp_path)
    options = [f"synth.dir={tmp_path}", f"synth.out={tmp_path}/out", *models_of(recipe, tmp_path)]
    if "mismatch" in recipe:
        options.append("synth.mismatch=1")  # edit rates of these models are never distributed as real ones are
    if recipe["kind"] == "roundtrip" and find_spec("kenlm") is None:
        options.append("synth.choose=1")
    run("synth", path, "--workers", 1, *(word for option in options for word in ("--set", option)))
    found = written(tmp_path / "out")
    assert found["src"]
    if recipe["kind"] == "mix":
        assert len(found["src"]) == LINES * sum(round(corpus.get("copies", 1)) for corpus in recipe["corpus"])
    else:
        assert set(found["pe"]) <= set(lines("pe"))


@pytest.mark.slow
def test_phrases(tmp_path: Path) -> None:
    sides = {"src": "{0} goes", "mt": "die {0} geht", "pe": "das {0} geht"}
    for side, text in sides.items():
        for name, first in (("train", 0), ("dev", LINES), ("test", 2 * LINES)):
            rows = "".join(f"{text.format(f'w{number}')}\n" for number in range(first, first + LINES))
            (tmp_path / f"{name}.{side}").write_text(rows, "utf-8")
    run("train", PHRASES, "--out", tmp_path / "run", "--set", f"data.dir={tmp_path}")
    files = ["--src", tmp_path / "test.src", "--mt", tmp_path / "test.mt", "--out", tmp_path / "out"]
    run("edit", tmp_path / "run/model", *files)
    assert (tmp_path / "out").read_bytes() == (tmp_path / "test.pe").read_bytes()
