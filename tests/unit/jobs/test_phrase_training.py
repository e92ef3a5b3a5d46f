import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from rich.console import Console
from tests.unit.phrase.small_corpus import TRIPLETS, write_recipe

from postedit import PostEditor
from postedit.core.editor import PostEdit
from postedit.core.errors import DataError, OutputError, RecipeError
from postedit.data.lines import DevTexts
from postedit.jobs.dev_overlap import uses_of
from postedit.jobs.phrase_training import PhraseRun, _scale, retune, train_phrases
from postedit.jobs.run_preparation import check_start
from postedit.jobs.training import train
from postedit.phrase.phrase_folder import PhraseFolder
from postedit.phrase.phrase_options import PhraseTextConfig, PhraseTuneConfig
from postedit.phrase.phrase_recipe import load_phrase_recipe
from postedit.recipe import load_recipe
from postedit.shipped import find_recipe
from postedit.text.edits import edits_between

QUIET = Console(quiet=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("phrases")
    write_recipe(path)
    return path


@pytest.fixture(scope="module")
def run(folder: Path) -> PhraseRun:
    return train_phrases(load_phrase_recipe(str(folder / "phrases.toml")), str(folder / "run"), console=QUIET)


def test_what_is_no_phrase_recipe_is_refused(tmp_path: Path) -> None:
    recipe: Any = load_recipe(find_recipe("gru-hard-tiny"), check_data=False)
    with pytest.raises(DataError, match="recipe must be a PhraseRecipe, such as load_phrase_recipe"):
        train_phrases(recipe, str(tmp_path / "run"))


def test_a_model_learns_its_triplets(run: PhraseRun) -> None:
    assert run.triplets == 3 * len(TRIPLETS)
    assert run.scores.ter < run.unedited.ter / 2
    editor = PostEditor.load(run.model)
    assert editor.edit(["the house burns ."], ["der Haus brennt ,"])[0].text == "das Haus brennt ."


def test_the_model_folder_says_how_it_was_made(run: PhraseRun, folder: Path) -> None:
    made = PhraseFolder.load(run.model).provenance
    assert made["dev"]["ter"] == pytest.approx(run.scores.ter)
    assert made["dev"]["do_nothing_ter"] == pytest.approx(run.unedited.ter)
    assert made["recipe"]["data"]["files"] == [
        f"{name}.{side}" for name in ("train", "dev") for side in ("src", "mt", "pe")
    ]
    assert str(folder) not in json.dumps(made)
    assert set(made["weights"]) > {"language model", "seen changed"}


def test_where_characters_are_words_they_are_what_is_measured(tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path)
    lines = [
        ("the house", "家はきい,", "家は大きい。"),
        ("the tree", "木はきい,", "木は大きい。"),
        ("a key", "鍵,", "鍵。"),
    ]
    for name in ("train", "dev"):
        for side, texts in zip(("src", "mt", "pe"), zip(*lines)):
            (tmp_path / f"{name}.{side}").write_text("".join(f"{text}\n" for text in texts))
    unedited = train_phrases(
        load_phrase_recipe(recipe, ["text.tokenizer=characters", "text.src_lang=en", "text.tgt_lang=ja"]),
        tmp_path / "run",
        False,
        QUIET,
    ).unedited
    assert unedited.ter == pytest.approx(100 * (2 + 2 + 1) / (6 + 6 + 2))


def test_the_same_recipe_gives_the_same_model(run: PhraseRun, folder: Path) -> None:
    again = train_phrases(load_phrase_recipe(folder / "phrases.toml"), folder / "again", False, QUIET)
    assert (again.model / "model.safetensors").read_bytes() == (run.model / "model.safetensors").read_bytes()


def test_lines_that_the_model_had_are_told(run: PhraseRun) -> None:
    dev, train = (DevTexts(*(list(side) for side in zip(*(TRIPLETS * times)))) for times in (1, 3))
    assert uses_of(dev, run.model) == {"dev"}
    assert uses_of(train, run.model) == {"train"}
    assert uses_of(DevTexts(["a"], ["b"], ["c"]), run.model) == set()


def test_a_finished_run_is_not_repeated(run: PhraseRun, folder: Path) -> None:
    recipe = load_phrase_recipe(folder / "phrases.toml")
    before = (run.model / "config.json").stat().st_mtime_ns
    assert train_phrases(recipe, folder / "run", True, QUIET).scores.ter == run.scores.ter
    assert (run.model / "config.json").stat().st_mtime_ns == before
    with pytest.raises(OutputError, match="already holds a run"):
        train_phrases(recipe, folder / "run", False, QUIET)
    with pytest.raises(RecipeError, match="is another recipe"):
        train_phrases(load_phrase_recipe(folder / "phrases.toml", ["model.order=2"]), folder / "run", True, QUIET)


def test_a_run_that_was_stopped_starts_again(run: PhraseRun, folder: Path) -> None:
    recipe = load_phrase_recipe(folder / "phrases.toml")
    stopped = folder / "stopped"
    with pytest.raises(OutputError, match="holds no run to resume"):
        train_phrases(recipe, stopped, True, QUIET)
    stopped.mkdir()
    recipe.save(stopped / "recipe.toml")
    assert train_phrases(recipe, stopped, True, QUIET).scores.ter == run.scores.ter


def test_no_neural_model_starts_from_phrases(run: PhraseRun, tmp_path: Path) -> None:
    tiny_models.write_triplets(tmp_path, ("train", "dev"))
    recipe = load_recipe(tiny_models.write_recipe(tmp_path / "r.toml", train={"init": str(run.model)}))
    with pytest.raises(RecipeError, match=r"train\.init: .* is a phrase-based model, which has no weights to start"):
        check_start(recipe)


@pytest.mark.parametrize("part", ["train", "dev"])
def test_a_neural_run_names_the_data_without_a_usable_triplet(part: str, tmp_path: Path) -> None:
    tiny_models.write_triplets(tmp_path, ("train", "dev"))
    recipe = load_recipe(tiny_models.write_recipe(tmp_path / "r.toml"))
    for side in ("src", "mt", "pe"):
        (tmp_path / f"{part}.{side}").write_text("a " * 300 + "\n")
    with pytest.raises(DataError, match=rf"^data\.{part}: no triplet is left[\s\S]*raise data\.max_length \(now"):
        train(recipe, tmp_path / "run", False, QUIET)


@pytest.mark.parametrize("part", ["train", "dev"])
def test_data_without_a_usable_triplet_is_named(part: str, tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path)
    for side in ("src", "mt", "pe"):
        (tmp_path / f"{part}.{side}").write_text("\n\n")
    with pytest.raises(DataError, match=rf"(?s)^data\.{part}: no triplet is left.*{part}.*0 of 2 triplets kept"):
        train_phrases(load_phrase_recipe(recipe), tmp_path / "run", False, QUIET)


def test_other_work_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(OutputError, match="is not empty and holds no run"):
        train_phrases(load_phrase_recipe(folder / "phrases.toml"), tmp_path, False, QUIET)


@pytest.mark.parametrize("method", ["mert", "mira"])
def test_weights_can_be_tuned_on_other_lines(method: str, run: PhraseRun, tmp_path: Path) -> None:
    dev = DevTexts(*(list(side) for side in zip(*TRIPLETS[:5])))
    config = PhraseTuneConfig.model_validate({"method": method, "metric": "ter", "rounds": 2})
    scores = retune(run.model, dev, tmp_path / "tuned", config, "none", QUIET)
    assert [row.name for row in scores] == ["unedited MT", "as it was", "tuned"]
    assert scores[2].ter <= scores[1].ter
    assert uses_of(dev, tmp_path / "tuned") == {"dev"}
    old, new = PostEditor.load(run.model), PostEditor.load(tmp_path / "tuned")
    assert old.identity() != new.identity()


def test_tuning_tells_of_post_edits_in_other_words(run: PhraseRun, tmp_path: Path) -> None:
    folder = PhraseFolder.load(run.model)
    replace(folder, text=PhraseTextConfig(tokenizer="characters")).save(tmp_path / "characters")
    dev = DevTexts(["save it"] * 2, ["設定を保存します。"] * 2, ["設定を保管します。"] * 2)
    for model, told in ((run.model, ["pe has no spaces between words"]), (tmp_path / "characters", [])):
        warnings: list[str] = []
        retune(model, dev, tmp_path / f"tuned {model.name}", PhraseTuneConfig(rounds=1), "none", QUIET, warnings.append)
        assert [one.partition(":")[0] for one in warnings] == told


def test_scores_are_scaled_to_the_share_of_edits_that_are_right_alone() -> None:
    """Of four edits with a confidence of 0.9, three are right, so their log-odds are multiplied by log 3 / log 9."""
    made = [
        PostEdit(text, True, 0.0, edits=edits, confidences=(0.9,) * len(edits))
        for text, edits in ((text, edits_between("a b c", text)) for text in ("x b y", "x b c", "a b"))
    ]
    dev = DevTexts(["s"] * 3, ["a b c"] * 3, ["x b c", "x b c", "a b"])  # "y" is wrong, whatever stands beside it
    assert _scale(made, dev, PhraseTextConfig()) == pytest.approx(np.log(3) / np.log(9))


def test_confidences_are_probabilities_of_being_right(run: PhraseRun) -> None:
    editor = PostEditor.load(run.model)
    edits: list[PostEdit] = editor.edit(*(list(side) for side in list(zip(*TRIPLETS))[:2]))
    sure = [confidence for edit in edits for confidence in edit.confidences]
    assert np.mean(sure) > 0.8
