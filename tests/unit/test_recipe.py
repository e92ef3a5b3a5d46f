"""Recipes: everything that is wrong is said at once, before any work."""

import re
from pathlib import Path
from typing import Any

import pytest
import tiny_models
from checkpoints import CHAT, bart, causal, nllb

from postedit.cli.models import count_parameters
from postedit.core.errors import DataError, RecipeError
from postedit.gate import Gate
from postedit.phrase.phrase_recipe import is_phrase_recipe, load_phrase_recipe
from postedit.recipe import load_recipe, parse_recipe
from postedit.shipped import find_recipe
from postedit.synthesis.kinds import load_synth_recipe
from postedit.train.config import RiskConfig

REPOSITORY = Path(__file__).parents[2]


def problems(folder: Path, **sections: dict[str, Any]) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        parse_recipe(tiny_models.recipe(**sections), "recipe.toml", folder)
    first, *found = str(caught.value).split("\n")
    assert first.startswith(f"recipe.toml: {len(found)} problem")
    return [line.removeprefix("  - ") for line in found]


def test_an_unknown_key_a_wrong_type_and_missing_files_in_one_report(tmp_path: Path) -> None:
    tiny_models.write_triplets(tmp_path, ("train",))
    found = problems(tmp_path, train={"lr": "fast"}, model={"dims": 3}, data={"dev": "dve"}, serch={})
    assert len(found) == 6
    for option, text in {
        "serch: ": 'did you mean "search"',
        "model.dims: ": 'did you mean "dim"',
        "train.lr: ": "found 'fast'",
        "data.dev: ": "dve.pe: no such file",
    }.items():
        assert any(line.startswith(option) and text in line for line in found), (option, found)


def test_missing_files_are_reported_with_other_faults_of_their_section(tmp_path: Path) -> None:
    found = problems(tmp_path, data={"max_length": "long", "debug": True})
    assert sum("no such file" in line for line in found) == 6
    assert any(line.startswith("data.max_length") for line in found)
    assert any(line.startswith("data.debug: no such option") for line in found)


def test_home_folders_that_are_not_known_are_missing_files(tmp_path: Path) -> None:
    found = problems(
        tmp_path, data={"dir": "~nobody-here/d", "glossary": "~nobody-here/g"}, train={"init": "~nobody-here"}
    )
    # Six files of triplets, and the glossary.
    assert sum("/~nobody-here/d/" in line and "no such file" in line for line in found) == 7
    assert any(line.startswith("train.init: ") and "no such model folder" in line for line in found)


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"train": {"init": ""}}, "train.init: is empty; give a model folder, or leave it out"),
        ({"train": {"diverges": 1.0}}, "train: diverges must be above 1, as a loss"),
        ({"data": {"train": []}}, "data.train: must have 1 or more entries (it has 0)"),
        ({"model": {"dim": 2**40}}, "model: its sizes are larger than any memory; choose smaller ones"),
        ({"model": {"feed_forward": 2**63}}, "model: its sizes are larger than any memory; choose smaller ones"),
        ({"text": {"vocabulary": {"size": 10**20}}}, "model: its sizes are larger than any memory; choose smaller"),
    ],
)
def test_values_that_nobody_means_are_told(tmp_path: Path, sections: dict[str, Any], message: str) -> None:
    tiny_models.write_triplets(tmp_path, ("train", "dev"))
    assert any(line.startswith(message) for line in problems(tmp_path, **sections))


def test_faults_of_init_and_freeze_come_with_others_of_training(tmp_path: Path) -> None:
    found = problems(tmp_path, train={"lr": "high", "init": "nowhere", "freeze": ["embd*"]})
    assert any(line.startswith("train.lr") for line in found)
    assert any(line.startswith(f"train.init: {tmp_path}/nowhere: no such model folder") for line in found)
    assert any(line.startswith("train.freeze: ") for line in found)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (3, "model.name: must be a name, not 3"),
        ("transferense", 'model.name: no architecture is called "transferense"; did you mean "transference"'),
    ],
)
def test_the_name_of_the_architecture(tmp_path: Path, name: object, message: str) -> None:
    tiny_models.write_triplets(tmp_path)
    assert problems(tmp_path, model={"name": name})[0].startswith(message)


def test_sections_that_are_missing_or_no_sections(tmp_path: Path) -> None:
    with pytest.raises(RecipeError) as caught:
        parse_recipe({"model": "transference", "train": 3}, "x", tmp_path)
    for part in ("model: must be a section", "train: must be a section", "data.train: missing", "data.dev: missing"):
        assert part in str(caught.value)


def test_sizes_that_do_not_fit_the_vocabularies_are_found_before_work(tmp_path: Path) -> None:
    tiny_models.write_triplets(tmp_path)
    assert problems(tmp_path, model={"heads": 3}) == [
        "model: the model width 8 must be a multiple of the number of heads 3"
    ]
    (line,) = problems(tmp_path, text={"vocabulary": {"size": 280, "sharing": "separate"}})
    assert line.startswith('model.share_embeddings = "mt-pe" needs one vocabulary for mt and pe')


def test_a_saved_recipe_is_the_same_recipe(tmp_path: Path) -> None:
    tiny_models.write_triplets(tmp_path)
    path = tiny_models.write_recipe(tmp_path / "recipe.toml")
    recipe = load_recipe(path, ["train.lr=1e-9", "search.beam=3"])
    assert (recipe.train.lr, recipe.search.beam) == (1e-9, 3)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    recipe.save(elsewhere / "recipe.toml")
    assert load_recipe(elsewhere / "recipe.toml") == recipe


def test_data_is_beside_the_recipe_or_where_an_override_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here" / "sub").mkdir(parents=True)
    path = tiny_models.write_recipe(tmp_path / "recipe.toml", data={"dir": "sub"})
    (tmp_path / "sub").mkdir()
    tiny_models.write_triplets(tmp_path / "sub")
    tiny_models.write_triplets(tmp_path / "here" / "sub")
    monkeypatch.chdir(tmp_path / "here")
    assert load_recipe(path).data.dir == str(tmp_path / "sub")
    assert load_recipe(path, ["data.dir=sub"]).data.dir == str(tmp_path / "here" / "sub")


def neural_recipes() -> list[Path]:
    return [path for path in sorted((REPOSITORY / "recipes").glob("*.toml")) if not is_phrase_recipe(path)]


@pytest.mark.parametrize("path", neural_recipes(), ids=lambda path: path.stem)
def test_recipes_of_the_repository_are_sound(path: Path, tmp_path: Path) -> None:
    overrides = ["data.train=a", "data.dev=b"]
    if path.stem.startswith("pretrained"):  # whose checkpoints are not at hand
        checkpoint = nllb(tmp_path / "nllb") if path.stem.endswith("lora") else bart(tmp_path / "bart")
        overrides += [f"model.checkpoint={checkpoint}", f"text.vocabulary.checkpoint={checkpoint}"]
        overrides.append("data.max_length=50")
    if path.stem.startswith("causal"):
        checkpoint = causal(tmp_path / "causal", chat=CHAT, max_position_embeddings=2000)
        overrides += [f"model.checkpoint={checkpoint}", f"text.vocabulary.checkpoint={checkpoint}"]
        overrides.append("data.max_length=20")
    recipe = load_recipe(path, overrides, check_data=False)
    system = recipe.architecture.name if recipe.draft is None else "draft-and-refine"
    assert path.stem in ("demo", "cgru-src") or path.stem.startswith(system)


@pytest.mark.parametrize("path", sorted((REPOSITORY / "recipes/reference").glob("*.toml")), ids=lambda path: path.stem)
def test_recipes_of_the_reference_models_are_sound(path: Path, tmp_path: Path) -> None:
    if "[synth]" in path.read_text():
        for name in ("text", "real", "noise", "translate", "german", "train"):
            for side in ("src", "mt", "pe"):
                (tmp_path / f"{name}.{side}").write_text("a\n")
        assert load_synth_recipe(path, [f"synth.dir={tmp_path}"])
    else:
        recipe = load_recipe(path, check_data=False)
        others = {"translator": "bleu", "long": "chrf", "long-end": "loss"}
        usual = "loss" if path.stem.startswith(("gpu", "help")) else "ter"
        assert recipe.train.metric == others.get(path.stem, usual)


def data_overrides(recipe: str) -> list[str]:
    """Return what the comment of a recipe sets of the data when a model is trained."""
    lines = (REPOSITORY / "recipes/reference" / recipe).read_text().splitlines()
    overrides = re.findall(r"--set '([^']*)'", " ".join(line.strip("#\\ ") for line in lines if line.startswith("#")))
    assert len(overrides) == 2
    return overrides


def test_the_error_model_recipe_works_as_its_comment_says() -> None:
    path = REPOSITORY / "recipes/reference/fine-tuned.toml"
    data = load_recipe(path, data_overrides("errors.toml"), check_data=False).data
    for files, name in ((data.train[0], "train"), (data.dev, "dev")):
        assert [Path(side).name for side in (files.src, files.mt, files.pe)] == [
            f"{name}.src",
            f"{name}.pe",
            f"{name}.mt",
        ]


def test_the_reverse_translator_recipe_works_as_its_comment_says() -> None:
    path = REPOSITORY / "recipes/reference/translator.toml"
    data = load_recipe(path, data_overrides("translator.toml"), check_data=False).data
    assert data.train[0].src.endswith("parallel.pe")
    assert data.dev.pe.endswith("held-out.src")


@pytest.mark.parametrize(
    "path",
    [path for path in neural_recipes() if not path.stem.startswith(("pretrained", "causal"))],
    ids=lambda path: path.stem,
)
def test_parameter_counts_in_recipe_comments_are_those_of_the_models(path: Path) -> None:
    comment = " ".join(line.removeprefix("#").strip() for line in path.read_text().splitlines() if line.startswith("#"))
    for counted in re.findall(r"has ([\d,]+) parameters", comment):
        assert counted == f"{count_parameters(load_recipe(path, check_data=False)):,}"


def test_models_that_cannot_be_compiled_are_refused_before_work() -> None:
    path = REPOSITORY / "recipes/reference/generic.toml"
    with pytest.raises(RecipeError, match=r"train\.compile: MCGRU has no stack of layers"):
        load_recipe(path, ["train.compile=true"], check_data=False)
    stages = 'stage=[{name="one"}, {name="two", train={compile=true}}]'
    with pytest.raises(RecipeError, match=r"stage\.two\.train\.compile: MCGRU has no stack of layers"):
        load_recipe(path, [stages], check_data=False)
    with pytest.raises(RecipeError, match=r"draft\.train\.compile: AttentionNMT has no stack of layers"):
        load_recipe(REPOSITORY / "recipes/draft-and-refine-small.toml", ["draft.train.compile=true"], check_data=False)


@pytest.mark.parametrize("name", ["gru-hard", "copycat"])
def test_models_that_find_pieces_of_mt_in_pe_need_one_vocabulary_for_both(tmp_path: Path, name: str) -> None:
    text = {"vocabulary": {"sharing": "separate", "size": 300}}
    path = tiny_models.write_recipe(tmp_path / "recipe.toml", name, model={"share_embeddings": "none"}, text=text)
    with pytest.raises(RecipeError, match=r"needs one vocabulary for.*text\.vocabulary\.sharing"):
        load_recipe(path, check_data=False)


def test_what_coverage_and_copied_tokens_need_is_found_before_work(tmp_path: Path) -> None:
    path = REPOSITORY / "recipes/gru-hard.toml"
    with pytest.raises(RecipeError, match=r"train\.coverage: needs soft attention, which this model does not have"):
        load_recipe(path, ["train.coverage=1.0"], check_data=False)
    path = REPOSITORY / "recipes/pointer-generator.toml"
    with pytest.raises(RecipeError, match=r"label_smoothing: tokens that stand for unknown ones .* set it to 0"):
        load_recipe(path, ["train.label_smoothing=0.1"], check_data=False)
    for option, message in (
        ("text.vocabulary.limit=0", "copied: without a limit no token is unknown"),
        ('text.vocabulary.sharing="separate"', "copied: mt and pe must have one vocabulary"),
        ("train.rdrop=1.0", "coverage goes neither with rdrop nor with risk"),
    ):
        with pytest.raises(RecipeError, match=message):
            load_recipe(path, [option], check_data=False)


def test_a_path_that_is_none_is_refused() -> None:
    nothing: Any = None
    for load in (load_recipe, load_phrase_recipe, find_recipe, Gate.load):
        with pytest.raises(DataError, match="path must be a path"):
            load(nothing)


@pytest.mark.parametrize("overrides", ["train.lr=1", {"train.lr": 1}, [("train.lr", 1)]])
def test_overrides_that_are_no_list_are_refused(overrides: Any) -> None:
    for load, name in ((load_recipe, "gru-hard-tiny"), (load_phrase_recipe, "phrase-based")):
        with pytest.raises(DataError, match=r'^overrides must be a list, such as \["train.lr=3e-4"\], not '):
            load(find_recipe(name), overrides)


def test_options_that_only_inherited_choices_use_stay() -> None:
    stages = 'stage=[{name="one"}, {name="two", train={schedule="constant"}}]'
    options = ["train.schedule=plateau", "train.plateau_factor=0.7", "train.eps=1e-9", "train.optimizer=adafactor"]
    path = REPOSITORY / "recipes/reference/generic.toml"
    recipe = load_recipe(path, [*options, stages], check_data=False)
    parse_recipe(recipe.to_dict(), "recipe.toml", None)  # as with --resume
    _, (_, second) = recipe.stages()
    assert (second.train.schedule, second.train.plateau_factor) == ("constant", 0.7)


def test_a_stage_changes_single_options_of_a_table() -> None:
    path = REPOSITORY / "recipes/reference/generic.toml"
    risk = 'train.risk={weight=0.0, search="sample", candidates=8}'
    stages = 'stage=[{name="one"}, {name="two", train={risk={weight=0.7}}}]'
    recipe = load_recipe(path, [risk, stages], check_data=False)
    for read in (recipe, parse_recipe(recipe.to_dict(), "recipe.toml", None)):
        (_, first), (_, second) = read.stages()
        assert first.train.risk == RiskConfig(weight=0.0, search="sample", candidates=8)
        assert second.train.risk == RiskConfig(weight=0.7, search="sample", candidates=8)
    wrong = 'stage=[{name="one"}, {name="two", train={lr={weight=0.7}}}]'
    with pytest.raises(RecipeError, match=r"stage\.two\.train\.lr: "):
        load_recipe(path, [risk, wrong], check_data=False)
