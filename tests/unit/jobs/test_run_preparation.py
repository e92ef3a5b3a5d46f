"""The folder of a run, which processes that were started alike share, and in which runs may have been killed."""

from pathlib import Path
from typing import Any

import pytest
import tiny_models
from rich.console import Console

from postedit.core.errors import DataError, RecipeError
from postedit.jobs import provenance, run_preparation, training
from postedit.recipe import Recipe, load_recipe


def written(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    tiny_models.write_triplets(folder)
    return tiny_models.write_recipe(folder / "recipe.toml")


def with_other_process(monkeypatch: pytest.MonkeyPatch, other: Recipe, resume: bool = False) -> None:
    """Let a second process of each run have the recipe `other`."""
    sent: list[Any] = []
    monkeypatch.setattr(run_preparation, "gather_object", lambda own: sent.extend(own) or own)
    run_preparation.check_same_options(other, resume, False)
    monkeypatch.setattr(run_preparation, "gather_object", lambda own: [*own, *sent])


def test_processes_with_different_options_are_told_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    with_other_process(monkeypatch, load_recipe(path, ["train.lr=1.0", "train.max_steps=9"]), resume=True)
    recipe = load_recipe(path)
    with pytest.raises(RecipeError) as caught:
        training.train(recipe, tmp_path / "run", console=Console(quiet=True))
    assert str(caught.value) == (
        "the processes of this run differ: --resume is False in the first, True in process 1; "
        f"train.lr is {recipe.train.lr} in the first, 1.0 in process 1; "
        f"train.max_steps is {recipe.train.max_steps} in the first, 9 in process 1; "
        "start all with the same recipe and options"
    )
    assert not (tmp_path / "run").exists()


def test_processes_may_have_the_same_files_in_other_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, recipe = written(tmp_path), load_recipe(written(tmp_path / "there"))
    with_other_process(monkeypatch, load_recipe(path))
    run_preparation.check_same_options(recipe, False, False)
    with_other_process(monkeypatch, load_recipe(path, ["data.dev=train"]))
    with pytest.raises(RecipeError, match=r"data\.dev"):
        run_preparation.check_same_options(recipe, False, False)


def test_remains_of_runs_killed_on_other_machines_are_removed(tmp_path: Path) -> None:
    recipe, folder, console = load_recipe(written(tmp_path)), tmp_path / "run", Console(quiet=True)
    for name in ("text", "corpus"):
        (folder / f".{name}.0badcafe-7-0.tmp").mkdir(parents=True)
    run_preparation.learn_text(recipe, folder, None, console)
    run_preparation.write_corpora(recipe.data, "tokens", folder, console)
    assert sorted(path.name for path in folder.iterdir()) == ["corpus", "data.json", "manifest.json", "text"]


@pytest.mark.parametrize("content", ["", "[]", "3", "[" * 100_000, '{"starts": 3}', '{"starts": [3]}'])
def test_a_damaged_record_of_starts_is_named(tmp_path: Path, content: str) -> None:
    recipe = load_recipe(written(tmp_path))
    (tmp_path / "environment.json").write_text(content)
    with pytest.raises(DataError, match=r"environment\.json: .*; restore it, or delete it to go on"):
        provenance.provenance(recipe, tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"train": 3}', '{"train": [{"files": 3}]}'])
def test_a_damaged_manifest_is_named(tmp_path: Path, content: str) -> None:
    recipe, folder = load_recipe(written(tmp_path)), tmp_path / "run"
    (folder / "corpus").mkdir(parents=True)
    recipe.save(folder / "recipe.toml")
    (folder / "manifest.json").write_text(content)
    with (
        pytest.raises(DataError, match=r"manifest\.json: damaged.*delete this file"),
        run_preparation.locked_run(recipe, folder, resume=True),
    ):
        pass


def test_refused_data_leaves_no_empty_folder(tmp_path: Path) -> None:
    recipe = load_recipe(written(tmp_path))
    (tmp_path / "train.mt").write_text("too few lines\n")
    with pytest.raises(DataError), run_preparation.locked_run(recipe, tmp_path / "run", resume=False):
        pass
    assert not (tmp_path / "run").exists()
