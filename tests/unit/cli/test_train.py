import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.phrase.small_corpus import write_recipe

from postedit.cli.train import describe_phrases
from postedit.evaluate.scores import score_system, score_systems
from postedit.jobs.phrase_training import PhraseRun
from postedit.jobs.training import RunResult


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    best = SimpleNamespace(metrics={"ter": 25.5, "bleu": 61.0, "nll": 1.0})
    training = SimpleNamespace(steps=1200, reason="60 minutes are over", exported="average", chosen=best)

    def train(recipe: Any, folder: Path, resume: bool, console: Any, accept_changed_data: bool = False) -> RunResult:
        found.append((recipe, folder, resume))
        base = score_system("unedited MT", ["a b c d"], ["a b c e"], None)
        return RunResult(folder, folder / "model", training, base)  # type: ignore[arg-type]

    monkeypatch.setattr("postedit.shipped.find_recipe", lambda path: path)
    monkeypatch.setattr("postedit.phrase.phrase_recipe.is_phrase_recipe", lambda path, overrides: False)
    monkeypatch.setattr("postedit.recipe.load_recipe", lambda path, overrides, drafted: (path, tuple(overrides)))
    monkeypatch.setattr("postedit.jobs.training.train", train)
    return found


def test_recipe_folder_and_overrides_are_handed_on(run: Any, calls: list[Any], tmp_path: Path) -> None:
    result = run("train", "some/small.toml", "--out", tmp_path, "--set", "train.lr=3", "--set", "a.b=c", "--resume")
    assert result.exit_code == 0
    assert calls == [((Path("some/small.toml"), ("train.lr=3", "a.b=c")), tmp_path, True)]


def test_the_run_is_named_after_the_recipe(run: Any, calls: list[Any]) -> None:
    run("train", "some/small.toml")
    assert calls == [((Path("some/small.toml"), ()), Path("runs/small"), False)]


def test_the_end_shows_the_score_beside_doing_nothing(run: Any, calls: list[Any]) -> None:
    out = run("train", "x.toml").stdout
    assert "1,200 updates; ended because 60 minutes are over" in out
    assert "unedited MT: TER 25.00" in out
    assert "model:       TER 25.50  BLEU 61.00  (average, greedy search)" in out
    assert "case:mixed" in out


def test_all_faults_of_a_recipe_are_told_at_once(run: Any, tmp_path: Path) -> None:
    recipe = tmp_path / "bad.toml"
    recipe.write_text('[model]\nname = "transferense"\n[train]\nlr = "fast"\n[data]\ntrain = "none"\ndev = "none"\n')
    result = run("train", recipe)
    assert result.exit_code == 1
    assert result.stdout == ""
    for part in ('did you mean "transference"', "train.lr", "none.src"):
        assert part in result.stderr


def test_what_would_have_no_effect_is_refused(run: Any, tmp_path: Path) -> None:
    result = run("train", tmp_path / "any.toml", "--accept-changed-data")
    assert (result.exit_code, "--accept-changed-data is for --resume" in result.stderr) == (1, True)


def test_a_recipe_from_a_stream_is_refused(run: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "recipe.toml")
    result = run("train", tmp_path / "recipe.toml")
    assert (result.exit_code, "is a stream, but a recipe is read more than once" in result.stderr) == (1, True)


def test_several_seeds_end_with_their_ensemble(run: Any, calls: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from postedit.jobs import training

    def train_seeds(recipe: Any, folder: Path, seeds: int, resume: bool, console: Any, accept: bool) -> list[RunResult]:
        return [training.train(recipe, folder / f"seed-{number + 1}", resume, console) for number in range(seeds)]

    monkeypatch.setattr("postedit.jobs.training.train_seeds", train_seeds)
    out = run("train", "some/small.toml", "--seeds", "2").stdout
    assert [folder for _, folder, _ in calls] == [Path(f"runs/small/seed-{number}") for number in (1, 2)]
    models = "runs/small/seed-1/model runs/small/seed-2/model"
    assert f"As an ensemble: postedit edit {models} --src FILE --mt FILE" in out
    assert run("train", "some/small.toml", "--seeds", "1").exit_code == 2


def test_only_the_main_process_reports_the_result(run: Any, calls: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.jobs.training.is_main_process", lambda: False)
    assert run("train", "x.toml").stdout == ""
    assert len(calls) == 1


@pytest.mark.parametrize(("output", "told"), [("a b c d", True), ("a b c e", False)])
def test_a_phrase_based_model_that_edits_nothing_says_so(output: str, told: bool) -> None:
    unedited, scores = score_systems({"phrase-based": [output]}, ["a b c e"], ["a b c d"])
    shown = describe_phrases(PhraseRun(Path("model"), unedited, scores, 7000))
    assert shown.startswith("Learnt from 7,000 triplets.")
    assert ("leaves all of dev unedited" in shown) is told


def test_a_phrase_based_model_is_trained_and_tuned(run: Any, tmp_path: Path) -> None:
    recipe, out = write_recipe(tmp_path), tmp_path / "run"
    result = run("train", recipe, "--out", out)
    assert result.exit_code == 0
    assert "Learnt from 30 triplets." in result.stdout
    assert "dev, unedited MT: TER" in result.stdout
    assert "round 1: dev, TER+BLEU" in result.stderr
    assert "cannot be used" not in result.stderr
    dev = [part for side in ("src", "mt", "pe") for part in (f"--{side}", tmp_path / f"dev.{side}")]
    tuned = run("tune", out / "model", *dev, "--out", tmp_path / "other", "--rounds", "1", "--tokenize", "characters")
    assert "warning: pe seems to be in a script with spaces between words" in tuned.stderr
    tuned = run("tune", out / "model", *dev, "--out", tmp_path / "tuned", "--rounds", "1")
    assert (tuned.exit_code, "warning" in tuned.stderr) == (0, False)
    edited = run("edit", tmp_path / "tuned", "--src", tmp_path / "dev.src", "--mt", tmp_path / "dev.mt")
    assert edited.stdout.splitlines()[3] == "das Haus brennt ."
    assert "--seeds: nothing" in run("train", recipe, "--out", tmp_path / "more", "--seeds", "2").stderr
