"""What comes with postedit is found from any folder, by name."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from postedit.cli.main import app
from postedit.data.triplets import TripletFiles, check_files
from postedit.recipe import load_recipe
from postedit.shipped import EXAMPLES, RECIPES, find_recipe

ROOT = Path(__file__).parents[2]


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


def test_recipes_of_a_kind_are_listed(tmp_path: Path) -> None:
    line = ["data", "clean", "x", "--recipe", "recipes/clean/other.toml", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, line)
    assert result.exit_code == 1
    assert "(known: help, transference)" in " ".join(result.stderr.split())


def test_models_lists_the_recipes_that_come_with_postedit(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["models"])
    assert "transference-small " in result.stdout


def test_a_shipped_recipe_finds_the_shipped_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_recipe(find_recipe(Path("demo"))).data.train


def test_samples_are_whole() -> None:
    assert {path.name for path in EXAMPLES.iterdir()} == {"help", "mlqe-pe.en-de", "mlqe-pe.en-zh"}
    assert check_files(TripletFiles.of(EXAMPLES / "mlqe-pe.en-de" / "test")) == 500


def _options(line: str) -> list[str]:
    """Return the long options of a line of `deploy/`."""
    return re.findall(r"--[a-z-]+(?=[ \n\"])", line)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    """Nothing is said against the unit, but that its program is not installed here; another one stands in for it."""
    unit = (ROOT / "deploy/postedit.service").read_text()
    program = "/opt/postedit/bin/postedit"
    assert f"ExecStart={program} serve " in unit
    path = tmp_path / "postedit.service"
    path.write_text(unit.replace(program, sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_starts_the_service_again_until_its_database_is_there() -> None:
    """Without a pause, systemd gives up after five starts within ten seconds; one without a database takes two."""
    (pause,) = re.findall(r"^RestartSec=(\d+)$", (ROOT / "deploy/postedit.service").read_text(), re.MULTILINE)
    assert 4 * int(pause) > 10


def test_what_the_image_is_made_of_is_there() -> None:
    text = (ROOT / "deploy/Containerfile").read_text()
    copied = [one for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.M) for one in line.split()[:-1]]
    assert "src" in copied
    assert [one for one in copied if not (ROOT / one).exists()] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extras,) = re.findall(r"'\.\[(.*)\]'", text)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert {project["readme"], *project.get("license-files", [])} <= set(copied)
    python = re.search(r"python:(\d+\.\d+)-slim", text)
    assert python is not None
    assert f">={python[1]}" in project["requires-python"]


@pytest.mark.parametrize("name", ["Containerfile", "postedit.service"])
def test_the_command_of_a_deployment_has_options_that_there_are(name: str) -> None:
    text = (ROOT / "deploy" / name).read_text()
    lines = re.findall(r"^(?:CMD|ExecStart=|#.*--config).*$", text, re.M)
    given = {one for line in lines for one in _options(line + " ")} - {"--rm"}
    assert {"--config", "--data"} <= given
    known = {option for one in get_command(app).commands["serve"].params for option in one.opts}  # type: ignore[attr-defined]
    assert given <= known
