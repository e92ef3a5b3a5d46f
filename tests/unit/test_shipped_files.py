"""What comes with postedit is found from any folder, by name."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from postedit.cli.main import app
from postedit.data.triplets import TripletFiles, check_files
from postedit.recipe import load_recipe
from postedit.shipped import EXAMPLES, RECIPES, find_recipe


@pytest.mark.parametrize(
    ("name", "kind", "found"),
    [
        ("transference-small", "", "transference-small.toml"),
        ("transference-small.toml", "", "transference-small.toml"),
        ("recipes/transference-small.toml", "", "transference-small.toml"),
        ("reference/generic", "", "reference/generic.toml"),
        ("noise", "synth", "synth/noise.toml"),
        ("synth/noise", "synth", "synth/noise.toml"),
        ("transference", "clean", "clean/transference.toml"),
        ("transference", "", "transference.toml"),
    ],
)
def test_recipes_are_found_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str, found: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_recipe(Path(name), kind) == RECIPES / found


def test_a_file_comes_before_a_recipe_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("demo.toml").touch()
    Path("demo").mkdir()
    assert find_recipe(Path("demo.toml")) == Path("demo.toml")
    assert find_recipe(Path("demo")) == RECIPES / "demo.toml", "a folder is no recipe"


@pytest.mark.parametrize("verb", [["train", "nosie"], ["synth", "nosie"], ["data", "clean", "x", "--recipe", "nosie"]])
def test_commands_name_the_nearest_recipe(tmp_path: Path, verb: list[str]) -> None:
    more = ["--out", str(tmp_path / "out")] if "clean" in verb else []
    result = CliRunner().invoke(app, [*verb, *more])
    assert result.exit_code == 1
    assert 'did you mean "' in result.stderr
    assert "noise" in result.stderr


def test_models_lists_the_recipes_that_come_with_postedit(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["models"])
    assert "transference-small " in result.stdout


def test_a_shipped_recipe_finds_the_shipped_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_recipe(find_recipe(Path("demo"))).data.train


def test_samples_are_whole() -> None:
    assert {path.name for path in EXAMPLES.iterdir()} == {"mlqe-pe.en-de", "mlqe-pe.en-zh"}
    assert check_files(TripletFiles.of(EXAMPLES / "mlqe-pe.en-de" / "test")) == 500
