from pathlib import Path
from typing import Any

import pytest
import tiny_models
from tests.unit.cli.commands import refused

from postedit.cli.models import count_parameters
from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.core.registry import ENTRY_POINTS, Registry
from postedit.models import ARCHITECTURES
from postedit.recipe import load_recipe


def recipe(folder: Path, sharing: str = "joint") -> Path:
    model = {"share_embeddings": "all" if sharing == "joint" else "none"}
    text = {"vocabulary": {"size": 300, "sharing": sharing}}
    return tiny_models.write_recipe(folder / f"{sharing}.toml", model=model, text=text)


def test_every_architecture_is_listed(run: Any, tmp_path: Path) -> None:
    result = run("models", "--recipes", tmp_path)
    assert result.exit_code == 0
    for architecture in ARCHITECTURES.values():
        (line,) = [line for line in result.stdout.splitlines() if line.split()[:1] == [architecture.name]]
        assert architecture.paper in line
        assert architecture.summary in line


def test_a_broken_package_does_not_hide_other_architectures(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "broken_models-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken_models\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\nbroken = broken_models:Mine")
    (tmp_path / "broken_models.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("postedit.models.ARCHITECTURES", Registry(ARCHITECTURES[name] for name in ("m-cgru", "cgru")))
    result = run("models", "--recipes", tmp_path)
    assert result.exit_code == 0
    assert "ZeroDivisionError: division by zero" in result.stdout
    assert "m-cgru" in result.stdout


def test_help_says_what_the_command_alone_lists(run: Any) -> None:
    shown = run("models", "--help").stdout
    assert "Without a command, list the architectures" in " ".join(shown.split())


def test_the_parameters_are_those_of_the_real_model(tmp_path: Path) -> None:
    checked = load_recipe(recipe(tmp_path), check_data=False)
    one = VocabularyInfo(300, "same")
    model = checked.architecture.build(checked.model, Vocabularies({"src": one, "mt": one}, one))
    assert count_parameters(checked) == sum(parameter.numel() for parameter in model.parameters())


def test_separate_vocabularies_are_counted_apart(run: Any, tmp_path: Path) -> None:
    joint, separate = (load_recipe(recipe(tmp_path, name), check_data=False) for name in ("joint", "separate"))
    assert count_parameters(separate) > count_parameters(joint)
    out = run("models", "--recipes", tmp_path).stdout
    assert f"{count_parameters(joint):,}" in out
    assert f"{count_parameters(separate):,}" in out


def test_recipes_show_what_their_models_read_and_their_sizes(run: Any, tmp_path: Path) -> None:
    tiny_models.write_recipe(tmp_path / "one.toml", "transformer", model={"input": "src", "feed_forward": 11})
    tiny_models.write_recipe(tmp_path / "two.toml", "transformer", model={"input": "src+mt"})
    rows = [line.split() for line in run("models", "--recipes", tmp_path).stdout.splitlines()]
    (one,) = [row for row in rows if row[:1] == [str(tmp_path / "one.toml")]]
    (two,) = [row for row in rows if row[:1] == [str(tmp_path / "two.toml")]]
    assert one[1:4] == ["transformer", "src", "dim"]
    assert two[1:5] == ["transformer", "src", "mt", "dim"]
    assert "feed_forward 11," in " ".join(one)


def test_a_folder_of_recipes_that_is_not_there(run: Any, tmp_path: Path) -> None:
    assert "none: no such folder of recipes" in refused(run("models", "--recipes", tmp_path / "none"))
