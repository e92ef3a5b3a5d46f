"""Model folders: what is written can be read, what is damaged is named, and nothing else is ever removed."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny_models
import torch

from postedit.core.errors import ModelFolderError, OutputError
from postedit.core.search_config import SearchConfig
from postedit.core.tensor_files import model_tensors, save_sealed_tensors
from postedit.folder import ModelFolder
from postedit.model_files import read_json
from postedit.text.processor import TextProcessor


@pytest.fixture
def copy(tiny_folders: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_folders / "transference", tmp_path / "copy"))


def change_config(path: Path, change: Callable[[dict], object]) -> None:
    values = json.loads((path / "config.json").read_text())
    change(values)
    (path / "config.json").write_text(json.dumps(values))


def problem(path: Path) -> str:
    with pytest.raises(ModelFolderError) as caught:
        ModelFolder.load(path)
    return str(caught.value)


@pytest.mark.parametrize("tie_output", [True, False])
@pytest.mark.parametrize("sharing", ["none", "all"])
def test_weights_survive_whether_shared_or_not(sharing: str, tie_output: bool, tmp_path: Path) -> None:
    folder = tiny_models.folder(share_embeddings=sharing, tie_output=tie_output)
    folder.save(tmp_path / "model")
    loaded = ModelFolder.load(tmp_path / "model")
    before, after = folder.model.state_dict(), loaded.model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    tables = {id(parameter) for parameter in loaded.model.parameters()}
    assert len(tables) == len({id(parameter) for parameter in folder.model.parameters()})  # still shared
    assert (loaded.config, loaded.search) == (folder.config, folder.search)
    assert not loaded.model.training


def test_missing_weights(copy: Path) -> None:
    (copy / "model.safetensors").unlink()
    assert "model.safetensors: missing" in problem(copy)


@pytest.mark.parametrize("left", [0, 5, 200, -1])
def test_truncated_weights(copy: Path, left: int) -> None:
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:left])
    assert "model.safetensors: truncated or damaged" in problem(copy)


def test_weights_of_another_architecture(copy: Path, tiny_folders: Path) -> None:
    shutil.copy(tiny_folders / "m-cgru" / "model.safetensors", copy)
    assert 'holds weights of "m-cgru", but config.json says "transference"' in problem(copy)


def test_sizes_beyond_all_memory_are_compared_before_memory_is_taken(copy: Path) -> None:
    change_config(copy, lambda values: values["model"].update(dim=10**9))
    assert re.search("safetensors: the weights do not fit the model: .* of another shape", problem(copy))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v.update(architecture="transferense"), 'did you mean "transference"'),
        (lambda v: v.update(format=99), "format 99 is not known"),
        (lambda v: v.pop("search"), "search missing"),
        (lambda v: v.update(model=3), "model must hold options, not 3"),
        (lambda v: v.update(model=["dim"]), "model must hold options"),
        (lambda v: v["model"].update(heads=3), "multiple of the number of heads 3"),
        (lambda v: v["model"].update(head=3), 'did you mean "heads"'),
        (lambda v: v["search"].update(beam=0), "search.beam"),
    ],
)
def test_a_config_that_cannot_be_used(copy: Path, change: Callable[[dict], object], message: str) -> None:
    change_config(copy, change)
    assert message in problem(copy)


def test_a_truncated_config_and_missing_text(copy: Path) -> None:
    shutil.rmtree(copy / "text")
    assert "text.json: the text configuration is missing" in problem(copy)
    (copy / "config.json").write_text('{"format": 1')
    assert "config.json: cannot be read" in problem(copy)


def test_no_folder_and_a_file(tmp_path: Path) -> None:
    assert problem(tmp_path / "none").endswith("no such model folder")
    (tmp_path / "file").write_text("")
    assert problem(tmp_path / "file").endswith("is a file, not a model folder")


def test_the_folder_of_a_run_is_refused_with_the_name_of_its_model(copy: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(copy, run / "model")
    assert problem(run) == f"{run}: is the folder of a run; its model is {run / 'model'}"


def test_only_a_model_or_an_empty_folder_is_replaced(copy: Path, tmp_path: Path) -> None:
    folder = ModelFolder.load(copy)
    (copy / "README.md").write_text("old")
    folder.save(copy)
    assert (copy / "README.md").read_text() != "old"
    (tmp_path / "empty").mkdir()
    folder.save(tmp_path / "empty")
    assert (tmp_path / "empty" / "config.json").exists()
    work = tmp_path / "work"
    work.mkdir()
    (work / "thesis").write_text("precious")
    with pytest.raises(OutputError, match="something else than a postedit model"):
        folder.save(work)
    with pytest.raises(OutputError, match="is a file"):
        folder.save(work / "thesis")
    assert [path.read_text() for path in work.iterdir()] == ["precious"]


def test_a_full_disk_leaves_the_old_model(copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ModelFolder.load(copy)
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("postedit.core.tensor_files.save_file", full)
    with pytest.raises(OutputError, match="the disk is full"):
        folder.save(copy)
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before
    assert list(tmp_path.iterdir()) == [copy]


def test_flipped_bytes_in_the_weights_are_found(copy: Path) -> None:
    weights = copy / "model.safetensors"
    content = bytearray(weights.read_bytes())
    for place in range(len(content) - 400, len(content)):
        content[place] ^= 0xFF
    weights.write_bytes(content)
    with pytest.raises(ModelFolderError, match="damaged: its SHA-256 is not the recorded one"):
        ModelFolder.load(copy)


def test_a_folder_replaced_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, others = tmp_path / "model", [tiny_models.nonsense("transference")]
    weights = next(others[0].model.parameters()).clone()
    tiny_models.folder().save(path)
    read = TextProcessor.load

    def replaced_after_config(text: Path) -> TextProcessor:
        if others:
            others.pop().save(path)
        return read(text)

    monkeypatch.setattr("postedit.folder.TextProcessor.load", replaced_after_config)
    assert torch.equal(next(ModelFolder.load(path).model.parameters()), weights)


def test_a_folder_replaced_as_its_reading_ends_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model"
    tiny_models.folder().save(path)
    other = replace(tiny_models.folder(), provenance={"made": "later"}, notice="Of the later one.\n")
    read = read_json

    def replaced_then(file: Path) -> dict[str, Any]:
        values = read(file)
        if file.name == "provenance.json" and not (path / "NOTICE").exists():
            other.save(path)
        return values

    monkeypatch.setattr("postedit.model_files.read_json", replaced_then)
    found = ModelFolder.load(path)
    assert (found.provenance["made"], found.notice) == ("later", "Of the later one.\n")


def test_a_folder_between_two_names_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, away = tmp_path / "model", tmp_path / "away"
    tiny_models.folder().save(away)
    monkeypatch.setattr("postedit.folder.time", SimpleNamespace(sleep=lambda seconds: away.rename(path)))
    ModelFolder.load(path)


def test_weights_of_a_run_that_are_no_numbers_are_named(tmp_path: Path) -> None:
    folder = tiny_models.folder()
    folder.save(tmp_path / "run/model")
    tensors = model_tensors(folder.model)
    name = min(tensors)
    tensors[name].view(-1)[0] = torch.nan
    (tmp_path / "run/best").mkdir()
    save_sealed_tensors(tmp_path / "run/best/step-1.safetensors", tensors)
    assert re.search(
        f"step-1.safetensors: damaged, .* not numbers in {name};", problem(tmp_path / "run/best/step-1.safetensors")
    )


def test_older_folders_load_with_options_under_their_former_names(tmp_path: Path) -> None:
    folder = tiny_models.folder()
    replace(folder, search=SearchConfig(beam=2, post_edit_penalty=0.5, exempt_src=True)).save(tmp_path / "model")
    file = tmp_path / "model" / "config.json"
    values = json.loads(file.read_text())
    former = values.pop("search")
    former["keep"], former["keep_src"] = former.pop("post_edit_penalty"), former.pop("exempt_src")
    del values["weights_sha256"]
    file.write_text(json.dumps({**values, "decode": former}))
    assert ModelFolder.load(tmp_path / "model").search == SearchConfig(beam=2, post_edit_penalty=0.5, exempt_src=True)


def test_the_weights_of_a_folder_have_its_dev_scores_by_any_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scored = replace(tiny_models.folder(), provenance={"dev": {"ter": 19.0}})
    scored.save(tmp_path / "run/model")
    for weights in ("run/model/model.safetensors", tmp_path / "run/../run/model/model.safetensors"):
        assert ModelFolder.load(Path(weights)).provenance == scored.provenance


@pytest.mark.parametrize(("name", "most"), [("layers_src", "1,000"), ("dim", "1,000,000,000")])
@pytest.mark.parametrize("size", [2 * 10**9, 10**400])
def test_sizes_that_no_model_has_are_refused_before_it_is_made(copy: Path, name: str, most: str, size: int) -> None:
    change_config(copy, lambda values: values["model"].update({name: size}))
    assert re.search(rf"config.json: model.{name}: must be at most {most}$", problem(copy))


def test_sizes_whose_product_is_no_number_of_bytes_are_refused(tmp_path: Path) -> None:
    tiny_models.folder("m-cgru").save(tmp_path / "model")
    change_config(tmp_path / "model", lambda values: values["model"].update(embedding=10**9, hidden=10**9))
    assert "config.json: has sizes that no model has (" in problem(tmp_path / "model")


@pytest.mark.parametrize(
    "values",
    [{"dev": []}, {"dev": {"ter": "low"}}, *({"environments": found} for found in (3, [3], [{"corpora": 3}]))],
)
def test_provenance_of_a_wrong_shape_is_named(copy: Path, values: dict) -> None:
    (copy / "provenance.json").write_text(json.dumps({**values, "more": [1]}))
    assert re.search(r"provenance\.json: (dev|environments).*; copy the model folder again", problem(copy))
