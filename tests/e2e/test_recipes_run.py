"""Every recipe is trained at a tiny size, through all its stages, and its model corrects a line."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/unit"), str(ROOT / "tests/contract")]
from checkpoints import CHAT, bart, causal, nllb  # noqa: E402

from postedit import PostEditor  # noqa: E402
from postedit.core.config import read_toml  # noqa: E402
from postedit.jobs.training import train  # noqa: E402
from postedit.phrase.phrase_recipe import is_phrase_recipe  # noqa: E402
from postedit.recipe import Recipe, parse_recipe  # noqa: E402

SIZES = {"embedding": 8, "hidden": 8, "attention": 8, "maxout": 8, "dim": 8, "heads": 2, "feed_forward": 8}
TRAIN = {"max_steps": 2, "validate_every": 1, "batch_tokens": 300, "precision": "fp32", "log_every": 1}
TEXTS = {"src": "the house", "mt": "das Haus", "pe": "das Häuschen"}


@pytest.fixture(autouse=True)
def nonsense_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave blanks and bytes that are no text in outputs: models that are hardly trained write little else."""
    monkeypatch.setattr("postedit.editing.soundness.keeps_text_sound", lambda *arguments: True)
    monkeypatch.setattr("postedit.editing.soundness.empties", lambda *arguments: False)


def recipes() -> list[Path]:
    """Return the recipes that train a neural model; those of artificial data and of cleaning have their own tests."""
    found = [*sorted((ROOT / "recipes").glob("*.toml")), *sorted((ROOT / "recipes/reference").glob("*.toml"))]
    return [path for path in found if "[synth]" not in path.read_text() and not is_phrase_recipe(path)]


def tiny_model(options: Mapping[str, Any]) -> dict[str, Any]:
    tiny = {name: SIZES.get(name, 1 if name.startswith("layers") else value) for name, value in options.items()}
    return tiny if "layers" not in tiny else {**tiny, "layers": 2}


def tiny_train(options: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in options.items() if name not in ("max_epochs", "max_minutes", "init")}
    return {**kept, **TRAIN}


def tiny(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a recipe with tiny sizes and few updates; what they are made of stays."""
    values["model"], values["train"] = tiny_model(values["model"]), tiny_train(values["train"])
    if "checkpoint" not in values.get("text", {}).get("vocabulary", {}):
        values["text"] = {**values.get("text", {}), "vocabulary": {**values["text"].get("vocabulary", {}), "size": 300}}
    values["text"].get("vocabulary", {}).pop("sizes", None)
    if "draft" in values:
        values["draft"] = {**values["draft"], "model": tiny_model(values["draft"]["model"])}
        values["draft"]["train"] = tiny_train(values["draft"]["train"])
    for stage in values.get("stage", []):
        stage["train"] = tiny_train(stage.get("train", {}))
    values["data"] = {**values["data"], "dir": "."}
    values["search"] = {**values.get("search", {}), "beam": 2, "max_extra": 2, "max_ratio": 1.0}
    return values


def write_data(recipe: Recipe, folder: Path) -> None:
    """Write the files that a recipe and its stages name."""
    for data in (recipe.data, *(stage.data for _, stage in recipe.stages())):
        for _, files in data.sources:
            for side in files.sides:
                name = Path(getattr(files, side)).name
                text = TEXTS["src" if name.endswith("src") else side]
                (folder / name).write_text(f"{text}\n" * 6, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("path", recipes(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_recipe_runs_through_all_its_stages(path: Path, tmp_path: Path) -> None:
    values = read_toml(path)
    if "checkpoint" in values["model"]:
        if values["model"]["name"] == "causal":
            checkpoint = causal(tmp_path / "causal", chat=CHAT, max_position_embeddings=2000)
        else:
            checkpoint = nllb(tmp_path / "nllb") if path.stem.endswith("lora") else bart(tmp_path / "bart")
        values["model"]["checkpoint"] = values["text"]["vocabulary"]["checkpoint"] = str(checkpoint)
        values["data"]["max_length"] = 20
    values = tiny(values)
    write_data(parse_recipe(values, path.name, None), tmp_path)
    recipe = parse_recipe(values, path.name, tmp_path)
    result = train(recipe, tmp_path / "run", console=Console(quiet=True))
    stages = [name for name, _ in recipe.stages()]
    assert [stage for stage in stages if (tmp_path / "run/stages" / stage / "model/config.json").exists()] == stages
    assert (recipe.draft is not None) == (tmp_path / "run/draft/model/config.json").exists()
    (found,) = PostEditor.load(result.model).edit([TEXTS["src"]], [TEXTS["mt"]])
    assert found.skipped is None
