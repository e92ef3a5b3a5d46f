"""Training in stages: each is a run of its own that starts from the model of the one before."""

import json
import shutil
from pathlib import Path

import pytest
import stage_tools
import tiny_models
from killed_run import remains, train_until_killed
from rich.console import Console
from safetensors.torch import load_file

from postedit.cli.train import describe
from postedit.core.errors import ModelFolderError, OutputError, RecipeError
from postedit.data.corpus import Corpus
from postedit.editing.post_editor import PostEditor
from postedit.folder import ModelFolder
from postedit.jobs import training
from postedit.recipe import load_recipe
from postedit.text.config import VocabularyConfig

QUIET = Console(quiet=True)


@pytest.fixture(autouse=True)
def nonsense_is_text() -> None:
    """Check outputs here as in the child processes that runs are compared with."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where a run of both stages is, with triplets and recipe; `finished` puts back what tests change."""
    folder = tmp_path_factory.mktemp("trained")
    training.train(load_recipe(stage_tools.write_recipe(folder)), folder / "run", console=QUIET)
    return folder


@pytest.fixture
def finished(trained: Path) -> Path:
    return stage_tools.as_made(trained)


def problems(path: Path, change: tuple[str, str]) -> str:
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(RecipeError) as caught:
        load_recipe(path)
    return str(caught.value)


@pytest.mark.slow
def test_a_stage_has_its_own_data_and_starts_from_the_one_before(tmp_path: Path) -> None:
    path = stage_tools.write_recipe(tmp_path)
    result = training.train(load_recipe(path), tmp_path / "run", console=QUIET)
    generic, tuned = (tmp_path / "run" / "stages" / name for name in ("generic", "fine-tuning"))
    assert (result.model, result.training.steps) == (tmp_path / "run" / "model", 4)
    assert describe(result).startswith("Trained 4 updates in the last stage, fine-tuning; ended because ")
    rates = [json.loads(line).get("lr") for line in (tuned / "log.jsonl").read_text().splitlines()]
    assert {rate for rate in rates if rate is not None} == {0.001}
    assert set(json.loads((generic / "data.json").read_text())) == {
        str(tmp_path / name) for name in ("train", "real", "dev")
    }
    assert set(json.loads((tuned / "data.json").read_text())) == {str(tmp_path / name) for name in ("real", "dev")}
    account = json.loads((tuned / "initial.json").read_text())
    assert account["model"] == str(generic / "model")
    assert not account["taken"]["nothing"]
    assert not account["taken"]["tokens"]
    assert (
        load_file(result.model / "model.safetensors").keys() == load_file(tuned / "model" / "model.safetensors").keys()
    )
    assert (result.model / "model.safetensors").read_bytes() == (tuned / "model" / "model.safetensors").read_bytes()
    assert ModelFolder.load(result.model).processor.tokens == ModelFolder.load(generic / "model").processor.tokens


@pytest.mark.slow
def test_a_stage_starts_from_the_weights_of_the_one_before(tmp_path: Path) -> None:
    path = stage_tools.write_recipe(tmp_path)
    change = ["stage.fine-tuning.train.lr=1e-30", "stage.fine-tuning.train.average=none"]
    training.train(load_recipe(path, change), tmp_path / "run", console=QUIET)
    stages = tmp_path / "run" / "stages"
    first, second = (load_file(stages / name / "model" / "model.safetensors") for name in ("generic", "fine-tuning"))
    assert all(first[name].equal(second[name]) for name in first)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("passes", "finished"),
    [(4, False), (9, True)],
    ids=["first stage", "second stage"],
)
def test_killed_in_any_stage_it_ends_bit_equal(tmp_path: Path, passes: int, finished: bool) -> None:
    path = stage_tools.write_recipe(tmp_path)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    training.train(load_recipe(path), whole, console=QUIET)
    train_until_killed(path, killed, passes)
    assert (killed / "stages" / "fine-tuning" / "checkpoints").exists() is finished
    training.train(load_recipe(path), killed, resume=True, console=QUIET)
    assert remains(killed) == remains(whole)


def test_a_saved_recipe_is_the_same_recipe(tmp_path: Path) -> None:
    path = stage_tools.write_recipe(tmp_path)
    recipe = load_recipe(path)
    (tmp_path / "elsewhere").mkdir()
    recipe.save(tmp_path / "elsewhere" / "recipe.toml")
    assert load_recipe(tmp_path / "elsewhere" / "recipe.toml") == recipe
    (_, generic), (_, tuned) = recipe.stages()
    assert (generic.data, generic.train) == (recipe.data, recipe.train)
    assert (tuned.train.max_steps, tuned.train.batch_tokens) == (4, 60)
    assert [files.name for files in tuned.data.train] == [str(tmp_path / "real")]


def test_an_option_of_a_stage_may_be_set_by_its_name(tmp_path: Path) -> None:
    path = stage_tools.write_recipe(tmp_path)
    assert load_recipe(path, ["stage.fine-tuning.train.max_steps=9"]).stages()[1][1].train.max_steps == 9
    with pytest.raises(RecipeError, match='nothing here is called fine-tunin; did you mean "fine-tuning"'):
        load_recipe(path, ["stage.fine-tunin.train.max_steps=9"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"generic"', '"fine-tuning"'), "two stages are called so"),
        (('"generic"', '"../generic"'), "stage.../generic.name: must match the pattern"),
        (("lr = 0.001", "lrr = 0.001"), 'stage.fine-tuning.train.lrr: no such option; did you mean "lr"'),
        (("lr = 0.001", 'init = "model"'), "only the first stage may start from a model"),
        (('"real",\n]\n\n[stage.train]', '"reel",\n]\n\n[stage.train]'), "stage.fine-tuning.data.train.0: "),
    ],
)
def test_what_is_wrong_with_a_stage_is_found_first(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    assert message in problems(stage_tools.write_recipe(tmp_path), change)


def test_one_stage_is_none(tmp_path: Path) -> None:
    path = stage_tools.write_recipe(tmp_path)
    text = path.read_text()
    path.write_text(text[: text.rindex("[[stage]]")])
    with pytest.raises(RecipeError, match="one stage alone is what"):
        load_recipe(path)


@pytest.mark.slow
def test_only_how_long_to_train_may_change_when_a_stage_goes_on(finished: Path, tmp_path: Path) -> None:
    path = finished / "recipe.toml"
    longer = load_recipe(path, ["stage.fine-tuning.train.max_steps=6"])
    console = Console(record=True, width=200, file=(tmp_path / "console").open("w"))
    assert training.train(longer, finished / "run", resume=True, console=console).training.steps == 6
    assert "Stage 1 of 2, generic, is done and stays as it is" in console.export_text()
    with pytest.raises(RecipeError, match=r"stage\.fine-tuning\.train\.lr: was 0\.001, is 0\.5"):
        training.train(
            load_recipe(path, ["stage.fine-tuning.train.lr=0.5"]), finished / "run", resume=True, console=QUIET
        )


def test_stages_in_another_order_are_another_recipe(finished: Path) -> None:
    path = finished / "recipe.toml"
    before, first, second = path.read_text().split("[[stage]]")
    path.write_text(f"{before}[[stage]]{second}\n[[stage]]{first}")
    with pytest.raises(RecipeError, match="the order was generic, fine-tuning, is fine-tuning, generic"):
        training.train(load_recipe(path), finished / "run", resume=True, console=QUIET)
    path.write_text(f"{before}[[stage]]{first}\n[[stage]]{second}\n[[stage]]{first.replace('generic', 'more')}")
    with pytest.raises(RecipeError, match=r"stage\.more") as caught:
        training.train(load_recipe(path), finished / "run", resume=True, console=QUIET)
    assert "the order" not in str(caught.value)


def test_training_starts_from_the_matching_weights_of_another_model(tmp_path: Path) -> None:
    path = stage_tools.write_recipe(tmp_path)
    path.write_text(path.read_text().partition("[[stage]]")[0])
    tiny_models.folder(layers_mt=2).save(tmp_path / "other")
    (tmp_path / "other" / "NOTICE").write_text("CC BY 4.0: Jörg")
    console = Console(record=True, width=200, quiet=False, file=(tmp_path / "console").open("w"))
    recipe = load_recipe(path, [f"train.init={tmp_path / 'other'}", 'train.freeze=["embed*"]'])
    training.train(recipe, tmp_path / "run", console=console)
    assert "stays random" not in console.export_text(clear=False)
    account = json.loads((tmp_path / "run" / "initial.json").read_text())
    assert account["unused"]
    assert account["taken"]["all"]
    assert f"Starting from {tmp_path / 'other'}" in console.export_text()
    provenance = (tmp_path / "run" / "model" / "provenance.json").read_text()
    assert str(tmp_path) not in provenance
    assert '"init": "other"' in provenance
    assert (tmp_path / "run" / "model" / "NOTICE").read_text() == "CC BY 4.0: Jörg"


def test_frozen_weights_that_the_other_model_lacks_are_announced(tmp_path: Path) -> None:
    path = stage_tools.write_recipe(tmp_path)
    tiny_models.folder(text=tiny_models.processor(vocabulary=VocabularyConfig(size=276))).save(tmp_path / "other")
    console = Console(record=True, width=200, file=(tmp_path / "console").open("w"))
    change = ["stage=[]", f"train.init={tmp_path / 'other'}", 'train.freeze=["embed_*"]', "train.max_steps=1"]
    training.train(load_recipe(path, change), tmp_path / "run", console=console)
    names = [name for name in ModelFolder.load(tmp_path / "run" / "model").model.state_dict() if "embed_" in name]
    said = console.export_text().partition("train.freeze: what was not taken stays random")[2].splitlines()[0]
    assert names[0] in said
    assert "head" not in said


def test_a_model_to_start_from_must_be_there_and_have_something_to_give(tmp_path: Path) -> None:
    path = stage_tools.write_recipe(tmp_path, train={"init": "nowhere"})
    with pytest.raises(RecipeError, match=f"train.init: {tmp_path}/nowhere: no such model folder"):
        load_recipe(path)
    tiny_models.folder("m-cgru").save(tmp_path / "nowhere")
    for change in ([], ["stage=[]"]):
        with pytest.raises(RecipeError, match=r"train\.init: .*nowhere: none of its matrices has the same name"):
            training.train(load_recipe(path, change), tmp_path / "run", console=QUIET)
        assert not (tmp_path / "run").exists()  # so that another recipe may have it
    weights = tmp_path / "nowhere" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(ModelFolderError, match=r"model\.safetensors"):
        training.train(load_recipe(path), tmp_path / "run", console=QUIET)


def test_a_resumed_run_does_not_need_its_initial_model(tmp_path: Path) -> None:
    path = stage_tools.write_recipe(tmp_path, train={"init": "first"})
    path.write_text(path.read_text().partition("[[stage]]")[0])
    tiny_models.folder("transference").save(tmp_path / "first")
    training.train(load_recipe(path, ["train.max_steps=2"]), tmp_path / "run", console=QUIET)
    tiny_models.folder("m-cgru").save(tmp_path / "first")
    again = training.train(load_recipe(path, ["train.max_steps=3"]), tmp_path / "run", resume=True, console=QUIET)
    assert again.training.steps == 3


def test_a_run_given_as_its_model_is_reported_before_work(tmp_path: Path) -> None:
    path = stage_tools.write_recipe(tmp_path, train={"init": "first"})
    tiny_models.folder("m-cgru").save(tmp_path / "first" / "model")
    with pytest.raises(RecipeError, match=f"no such model folder; did you mean {tmp_path}/first/model"):
        load_recipe(path)


@pytest.mark.slow
def test_the_text_processing_may_be_that_of_a_model(tmp_path: Path) -> None:
    path = stage_tools.write_recipe(tmp_path)
    whole = path.read_text().partition("[[stage]]")[0]
    path.write_text(whole)
    first = training.train(load_recipe(path), tmp_path / "first", console=QUIET).model
    sections = whole.split("\n[")
    path.write_text("\n[".join(section for section in sections if not section.startswith("text")))
    change = ["text.model=first/model", "train.init=first/model", "data.train='real'"]
    change = [option.replace("first", str(tmp_path / "first")) for option in change]
    recipe = load_recipe(path, change)
    second = training.train(recipe, tmp_path / "second", console=QUIET).model
    assert ModelFolder.load(second).processor.tokens == ModelFolder.load(first).processor.tokens
    assert not json.loads((tmp_path / "second" / "initial.json").read_text())["taken"]["tokens"]
    assert str(tmp_path) not in (second / "text" / "text.json").read_text()
    assert str(tmp_path) not in (second / "provenance.json").read_text()
    assert training.train(recipe, tmp_path / "second", resume=True, console=QUIET).model == second
    with pytest.raises(
        RecipeError, match=r"text\.truecase: is False in the model of text\.model, not True; leave it out"
    ):
        load_recipe(path, [*change, "text.truecase=true"])
    with pytest.raises(RecipeError, match=r"text\.vocabulary\.size: is .* not 4000; leave it out"):
        load_recipe(path, [*change, "text.vocabulary.size=4000"])
    with pytest.raises(RecipeError, match=r"text\.model: .*text\.json: the text configuration is missing"):
        load_recipe(path, [f"text.model={tmp_path}"])


def test_with_several_seeds_no_stage_has_its_own(tmp_path: Path) -> None:
    recipe = load_recipe(stage_tools.write_recipe(tmp_path), ["stage.generic.train.seed=7"])
    with pytest.raises(RecipeError, match=r"stage\.generic\.train\.seed: would be the same"):
        training.train_seeds(recipe, tmp_path / "run", 2, False, QUIET)


def test_provenance_lists_data_and_epochs_keep_sampling_weights(tmp_path: Path) -> None:
    path = stage_tools.write_recipe(tmp_path)
    path.write_text(path.read_text().partition("[[stage]]")[0])
    recipe = load_recipe(path, ["data.train=['train', {files='real', weight=3.0, from_epoch=1}]"])
    console = Console(record=True, width=200, file=(tmp_path / "console").open("w"))
    training.train(recipe, tmp_path / "run", console=console)
    account = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert [(source["triplets"], source["weight"], source["from_epoch"]) for source in account["train"]] == [
        (8, 1.0, 0), (8, 3.0, 1),
    ]  # fmt: skip
    assert set(account["train"][1]["files"]) == {str(tmp_path / f"real.{side}") for side in ("src", "mt", "pe")}
    assert all(len(file["sha256"]) == 64 for file in account["dev"]["files"].values())
    shown = console.export_text()
    assert f"Triplets from epoch 0 on: 8 of {tmp_path}/train (100.0 %)" in shown
    assert f"Triplets from epoch 1 on: 8 of {tmp_path}/train (25.0 %), 24 of {tmp_path}/real (75.0 %)" in shown
    other = load_recipe(path, ["data.train=['train', {files='real', weight=2.0, from_epoch=1}]"])
    with pytest.raises(RecipeError, match=r"data\.train"):
        training.train(other, tmp_path / "run", resume=True, console=QUIET)


@pytest.mark.parametrize("staged", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_several_seeds_share_vocabularies_and_corpora_and_are_an_ensemble(tmp_path: Path, staged: bool) -> None:
    path = stage_tools.write_recipe(tmp_path)
    if not staged:
        path.write_text(path.read_text().partition("[[stage]]")[0])
    recipe = load_recipe(path, ["train.max_steps=2", "train.seed=7"])
    results = training.train_seeds(recipe, tmp_path / "run", 2, resume=False, console=QUIET)
    assert [result.folder.name for result in results] == ["seed-1", "seed-2"]
    inside = Path("stages/fine-tuning") if staged else Path()
    files = [result.folder / inside / "corpus" / "train.arrow" for result in results]
    assert files[0].samefile(files[1])
    assert [load_recipe(result.folder / "recipe.toml").train.seed for result in results] == [7, 8]
    weights = [(result.model / "model.safetensors").read_bytes() for result in results]
    assert weights[0] != weights[1]
    editor = PostEditor.load(*(result.model for result in results))
    assert len(editor.edit(src=["the house"], mt=["das Haus"])) == 1
    again = training.train_seeds(recipe, tmp_path / "run", 2, resume=True, console=QUIET)
    assert [result.training.steps for result in again] == [result.training.steps for result in results]
    with pytest.raises(OutputError, match="already holds a run"):
        training.train_seeds(recipe, tmp_path / "run", 2, resume=False, console=QUIET)
    with pytest.raises(OutputError, match="holds a run with one seed"):
        training.train_seeds(recipe, tmp_path / "run" / "seed-1", 2, resume=False, console=QUIET)


def test_brackets_in_paths_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stage_tools.write_recipe(tmp_path)
    path.write_text(path.read_text().partition("[[stage]]")[0])
    monkeypatch.setattr(training, "train", lambda *_: None)
    console = Console(record=True, width=500, file=(tmp_path / "console").open("w"))
    training.train_seeds(load_recipe(path), tmp_path / "a[b]" / "[" / "c]", 2, False, console)
    assert "a[b]/[/c]/seed-2" in console.export_text()


@pytest.mark.slow
def test_later_seeds_train_on_changed_data_if_it_is_accepted(tmp_path: Path) -> None:
    recipe = load_recipe(stage_tools.write_recipe(tmp_path), ["train.max_steps=2"])
    training.train_seeds(recipe, tmp_path / "run", 2, resume=False, console=QUIET)
    shutil.rmtree(tmp_path / "run" / "seed-2")
    for side in ("src", "mt", "pe"):
        with (tmp_path / f"real.{side}").open("a", encoding="utf-8") as file:
            file.write("mehr\n")
    training.train_seeds(recipe, tmp_path / "run", 2, resume=True, console=QUIET, accept_changed_data=True)
    corpora = [tmp_path / "run" / f"seed-{number}" / "stages" / "generic" / "corpus" for number in (1, 2)]
    finished, made_now = (len(Corpus.open(corpus / "train.arrow")) for corpus in corpora)
    assert made_now == finished + 1


@pytest.mark.slow
def test_freeze_patterns_are_checked_with_the_recipe_and_apply_in_a_stage(tmp_path: Path) -> None:
    path = stage_tools.write_recipe(tmp_path)
    with pytest.raises(
        RecipeError, match=r'stage\.fine-tuning\.train\.freeze: no parameter is called "embd\*"; did you'
    ):
        load_recipe(path, ["stage.fine-tuning.train.freeze=['embd*']"])
    change = ["stage.fine-tuning.train.freeze=['embed_*', 'encoder*']", "train.average='none'"]
    training.train(load_recipe(path, change), tmp_path / "run", console=QUIET)
    stages = tmp_path / "run" / "stages"
    first, second = (load_file(stages / name / "model" / "model.safetensors") for name in ("generic", "fine-tuning"))
    same = {name for name in first if first[name].equal(second[name])}
    assert {name for name in first if name.startswith(("embed_", "encoder"))} <= same < first.keys()
