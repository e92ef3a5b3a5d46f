"""A flipped bit in any file of a model, a run or a corpus is found, and the file named; whole folders pass."""

import io
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import stage_tools
import tiny_models
from rich.console import Console
from tests.unit.core.test_checksums import flip
from tests.unit.phrase.small_corpus import write_recipe
from typer.testing import CliRunner

from postedit.cli.main import app
from postedit.core.checksums import CHECKSUMS
from postedit.core.errors import DataError, ModelFolderError
from postedit.core.tensor_files import load_tensors, save_tensors
from postedit.data.corpus import Corpus
from postedit.folder import ModelFolder
from postedit.jobs.integrity import check_whole, record_whole
from postedit.jobs.phrase_training import train_phrases
from postedit.jobs.training import train
from postedit.phrase.phrase_recipe import load_phrase_recipe
from postedit.recipe import load_recipe

QUIET = Console(quiet=True)
SAMPLE = Path(__file__).parents[3] / "examples/mlqe-pe.en-de"
PO = """\
msgid ""
msgstr "Language: de\\n"

#, fuzzy
#| msgid "the houses"
msgid "the house"
msgstr "das Haus"

msgid "a tree"
msgstr "ein Baum"
"""


def command(*arguments: object) -> Any:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where a neural run is, with its triplets and its recipe; `run` puts back what tests change."""
    folder = tmp_path_factory.mktemp("trained")
    tiny_models.write_triplets(folder)
    sections = {"train": {"validate_every": 1, "batch_tokens": 60}, "search": {"max_ratio": 0.1, "max_extra": 1}}
    recipe = tiny_models.write_recipe(folder / "recipe.toml", **sections)
    train(load_recipe(recipe), folder / "run", console=QUIET)
    return folder


@pytest.fixture
def run(trained: Path) -> Path:
    return stage_tools.as_made(trained) / "run"


@pytest.fixture
def unfinished_run(run: Path) -> Path:
    (run / CHECKSUMS).unlink()
    return run


def neural_model(folder: Path) -> Path:
    replace(tiny_models.folder(), first_stage=tiny_models.folder("transformer")).save(folder / "model")
    return folder / "model"


def phrase_run(folder: Path) -> Path:
    train_phrases(load_phrase_recipe(write_recipe(folder)), folder / "run", False, QUIET)
    return folder / "run"


def phrase_model(folder: Path) -> Path:
    return phrase_run(folder) / "model"


def cleaned(folder: Path) -> Path:
    tiny_models.write_triplets(folder)
    result = command("data", "clean", folder / "train", "--out", folder / "out", "--set", "language.on=false")
    assert result.exit_code == 0, result.output
    return folder / "out"


def extracted(folder: Path) -> Path:
    (folder / "a.po").write_text(PO)
    result = command("data", "extract", folder / "a.po", "--parallel", "--out", folder / "out")
    assert result.exit_code == 0, result.output
    return folder / "out"


def synthesised(folder: Path) -> Path:
    recipe = folder / "noise.toml"
    texts = "".join(f'{side} = "{SAMPLE}/dev.{side}"\n' for side in ("src", "pe"))
    recipe.write_text(f'[synth]\nkind = "noise"\n{texts}real = "{SAMPLE}/dev"\nout = "{folder}/out"\n')
    result = command("synth", recipe, "--workers", 1)
    assert result.exit_code == 0, result.output
    return folder / "out"


def files_of(path: Path) -> list[Path]:
    """Return the files that must be found damaged: all but locks."""
    if path.is_dir():
        return [file for file in path.rglob("*") if file.is_file() and file.suffix != ".lock"]
    return list(path.parent.glob(f"{path.name}.*"))


@pytest.mark.parametrize(
    ("make", "files"),
    [
        (None, 25), (neural_model, 16), (phrase_run, 7), (phrase_model, 5), (cleaned, 6), (extracted, 4),
        pytest.param(synthesised, 6, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_flipped_bit_in_any_file_is_found_and_named(
    make: Callable[[Path], Path] | None, files: int, run: Path, tmp_path: Path
) -> None:
    path = make(tmp_path) if make else run
    whole = check_whole(path)
    assert (whole.damage, whole.unrecorded) == ({}, ())
    assert whole.files == len(files_of(path)) >= files
    for number, file in enumerate(files_of(path)):
        content = file.read_bytes()
        flip(file, number)
        damage = check_whole(path).damage
        assert list(damage) == [file], file
        assert "; " in damage[file], "says how to mend it"
        file.write_bytes(content)
    assert check_whole(path) == whole
    for file in [file for file in files_of(path) if file.name != CHECKSUMS and file.suffix != ".sha256"]:
        content = file.read_bytes()
        file.unlink()
        found = check_whole(path)
        assert (found.kind, [*found.damage]) == (whole.kind, [file])
        assert found.damage[file].startswith("missing; ")
        file.write_bytes(content)


def test_parts_of_an_unfinished_run_have_digests_of_their_own(unfinished_run: Path) -> None:
    run = unfinished_run
    whole = check_whole(run)
    assert whole.damage == {}
    by_nature = {"recipe.toml", "environment.json", "data.json", "manifest.json", "log.jsonl", "best.json"}
    left = {file.name for file in whole.unrecorded if not file.name.startswith("events.")}
    assert left == by_nature
    for number, file in enumerate(sorted({*files_of(run)} - {*whole.unrecorded})):
        if file.parent.name == "best":
            continue  # a flipped bit may hide that there is a digest; see the next test
        content = file.read_bytes()
        flip(file, number)
        assert list(check_whole(run).damage) == [file], file
        file.write_bytes(content)


def flip_value(file: Path) -> None:
    """Flip a bit of the last value in a file of weights."""
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)


def test_flipped_values_of_best_weights_of_an_unfinished_run_are_found(unfinished_run: Path) -> None:
    run = unfinished_run
    file = sorted((run / "best").glob("step-*.safetensors"))[0]
    flip_value(file)
    mend = "continue the run with --resume: it is then no longer one of the best, or is written again"
    assert check_whole(run).damage == {file: f"damaged: its weights are not those that were written; {mend}"}


@pytest.mark.parametrize("deleted", [True, False])
@pytest.mark.parametrize("steps", [2, 3])
def test_a_run_goes_on_without_damaged_best_weights(run: Path, deleted: bool, steps: int) -> None:
    listed = json.loads((run / "best/best.json").read_text())["best"]
    last, *others = sorted((run / "best" / one["file"] for one in listed), reverse=True)
    for file in (last, *others):
        flip_value(file)
        assert "continue the run with --resume" in check_whole(run).damage[file]
        if deleted:
            file.unlink()
    console = Console(file=io.StringIO(), width=1000)
    longer = load_recipe(run.parent / "recipe.toml", [f"train.max_steps={steps}"])
    assert train(longer, run, resume=True, console=console).training.steps == steps
    said = console.file.getvalue()
    assert f"{last}: gone or damaged, so it was written again" in said
    for file in others:
        assert f"{file}: gone or damaged, so it is no longer among the best models" in said
    now = [run / "best" / one["file"] for one in json.loads((run / "best/best.json").read_text())["best"]]
    assert not set(now) & set(others)
    assert all(file.exists() for file in now)
    for file in (run / "best").glob("step-*.safetensors"):
        load_tensors(file)
    assert check_whole(run).damage == {}


def older(folder: Path) -> None:
    """Remove all digests, as a folder of an earlier version has none."""
    for sums in folder.rglob(CHECKSUMS):
        sums.unlink()


def test_folders_of_earlier_versions_load_and_are_checked(run: Path) -> None:
    older(run)
    ModelFolder.load(run / "model")
    finding = check_whole(run / "model")
    assert finding.damage == {}
    assert run / "model/text/text.json" in finding.unrecorded
    assert run / "model/model.safetensors" not in finding.unrecorded
    assert {run / f"corpus/{name}.arrow" for name in ("train", "dev")}.isdisjoint(check_whole(run).unrecorded)
    ids = Corpus.open(run / "corpus/train.arrow").read([0])["src"].values.tobytes()
    for name, values in (("model/model.safetensors", b""), ("corpus/train.arrow", ids)):
        content = bytearray((run / name).read_bytes())
        place = content.rindex(values) - (0 if values else 2)
        content[place] ^= 2
        (run / name).write_bytes(content)
        assert list(check_whole(run).damage) == [run / name]
        content[place] ^= 2
        (run / name).write_bytes(content)
    result = command("check", run)
    assert result.exit_code == 0
    assert "nothing damaged, no digest recorded of " in result.stdout


def test_every_folder_has_its_line_and_the_exit_code_counts(tmp_path: Path) -> None:
    model, corpus = neural_model(tmp_path), cleaned(tmp_path)
    result = command("check", model, corpus)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"{model}: model of {len(files_of(model))} files: all whole",
        f"{corpus}: corpus of {len(files_of(corpus))} files: all whole",
    ]
    (model / "README.md").write_text("changed by hand")
    result = command("check", model, corpus)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1].startswith(f"  {model}/README.md: not the content that was written; ")
    assert "--record" in result.stderr
    assert command("check", "--record", model, corpus).exit_code == 0
    assert command("check", model, corpus).exit_code == 0


def test_what_was_changed_by_hand_can_be_recorded_in_inner_folders_too(tmp_path: Path) -> None:
    model = neural_model(tmp_path)
    text = model / "draft/text/text.json"
    text.write_text(text.read_text() + "\n")
    with pytest.raises(ModelFolderError, match=r"text\.json: not the content that was written; copy the model folder"):
        ModelFolder.load(model)
    assert command("check", "--record", model).exit_code == 0
    ModelFolder.load(model)


@pytest.mark.parametrize("make", [neural_model, phrase_model])
def test_weights_that_were_changed_by_hand_can_be_recorded(make: Callable[[Path], Path], tmp_path: Path) -> None:
    model = make(tmp_path)
    weights = model / "model.safetensors"
    values = load_tensors(weights)
    name = next(name for name, tensor in values.items() if tensor.is_floating_point() and tensor.numel())
    save_tensors(weights, {**values, name: values[name] * 2}, {})
    assert [*check_whole(model).damage] == [weights]
    record_whole(model)
    assert (check_whole(model).damage, check_whole(model).unrecorded) == ({}, ())


def test_runs_of_several_seeds_are_checked_and_recorded_together(run: Path) -> None:
    runs = run.parent / "runs"
    runs.mkdir()
    run.rename(runs / "seed-1")
    readme = runs / "seed-1/model/README.md"
    readme.write_text("changed by hand")
    found = check_whole(runs)
    assert (found.kind, [*found.damage]) == ("runs", [readme])
    record_whole(runs)
    assert check_whole(runs).damage == check_whole(runs / "seed-1").damage == {}


def test_what_is_neither_model_run_nor_corpus_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "none", tmp_path / "file"):
        with pytest.raises(DataError, match="no "):
            check_whole(path)


def test_a_damaged_corpus_does_not_train_and_is_written_again(run: Path) -> None:
    before = (run / "corpus/train.arrow").read_bytes()
    flip(run / "corpus/train.arrow", 1)
    longer = load_recipe(run.parent / "recipe.toml", ["train.max_steps=3"])
    with pytest.raises(DataError, match=r"train\.arrow: not the content that was written; delete .*corpus and resume"):
        train(longer, run, resume=True, console=QUIET)
    shutil.rmtree(run / "corpus")
    assert train(longer, run, resume=True, console=QUIET).training.steps == 3
    assert (run / "corpus/train.arrow").read_bytes() == before
    assert check_whole(run).unrecorded == ()
