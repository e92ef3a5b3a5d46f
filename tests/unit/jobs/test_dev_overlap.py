"""Which triplets a model knows already."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import stage_tools
import tiny_models
import tomli_w
from rich.console import Console

from postedit.core.editor import Side
from postedit.core.search_config import SearchConfig
from postedit.data.lines import DevTexts
from postedit.editing.combination import Combination, Member
from postedit.folder import ModelFolder
from postedit.jobs import training
from postedit.jobs.dev_overlap import uses_of
from postedit.recipe import load_recipe
from postedit.search.rescoring import LogLinear
from postedit.text.processor import TextProcessor


@pytest.fixture(scope="module", params=["transference", "m-cgru-hard"])
def folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Return where triplets are, and a model of two stages: "train" and "real" made the first, "real" the second."""
    folder = tmp_path_factory.mktemp(request.param)
    path = stage_tools.write_recipe(folder)
    recipe = tomllib.loads(path.read_text())
    recipe["model"] = {"name": request.param, **tiny_models.SIZES[request.param]}
    path.write_text(tomli_w.dumps(recipe))
    for name, more in {"real": "eins", "dev": "zwei"}.items():
        for side in ("src", "mt", "pe"):
            with (folder / f"{name}.{side}").open("a", encoding="utf-8") as file:
                file.write(f"{more}\n")
    training.train(load_recipe(path), folder / "run", console=Console(quiet=True))
    return folder


def texts(folder: Path, name: str) -> DevTexts:
    return DevTexts.read(*(folder / f"{name}.{side}" for side in ("src", "mt", "pe")))


@pytest.mark.slow
def test_dev_overlap_and_training_overlap_are_told_apart(folder: Path) -> None:
    model = folder / "run" / "model"
    assert uses_of(texts(folder, "dev"), model) == {"dev"}
    assert uses_of(texts(folder, "real"), model) == {"train"}
    assert uses_of(texts(folder, "train"), model) == set()  # part of a corpus is not known
    changed = texts(folder, "dev")
    assert uses_of(DevTexts(changed.src, changed.mt, [*changed.pe[:-1], "anders"]), model) == set()


def test_the_model_it_started_from_counts(folder: Path) -> None:
    """The second stage, fine-tuned on other texts, does not make the first one forget."""
    model = folder / "run" / "model"
    provenance = json.loads((model / "provenance.json").read_text())
    provenance["environments"] = []
    (model / "provenance.json").write_text(json.dumps(provenance))
    assert uses_of(texts(folder, "real"), model) == set()
    assert uses_of(texts(folder, "dev"), model) == {"dev"}


def test_texts_become_tokens_once_for_all_trainings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sides: list[str] = []
    encode = TextProcessor.encode_batch

    def encode_batch(processor: TextProcessor, side: Side, *others: Any) -> list[list[int]]:
        sides.append(side)
        return encode(processor, side, *others)

    monkeypatch.setattr(TextProcessor, "encode_batch", encode_batch)
    assert uses_of(texts(folder, "dev"), folder / "run" / "model") == {"dev"}
    assert sides == ["src", "mt", "pe"]


@pytest.mark.slow
def test_a_dev_set_with_texts_that_training_cut_is_known(tmp_path: Path) -> None:
    path = stage_tools.write_recipe(tmp_path)
    for side, long in {"src": "the house " * 40, "mt": "das Haus", "pe": "das Haus"}.items():
        with (tmp_path / f"dev.{side}").open("a", encoding="utf-8") as file:
            file.write(f"zwei\n{long}\n")
    recipe = tomllib.loads(path.read_text())
    recipe["data"] |= {"max_length": 30, "too_long": "cut"}
    path.write_text(tomli_w.dumps(recipe))
    training.train(load_recipe(path), tmp_path / "run", console=Console(quiet=True))
    assert uses_of(texts(tmp_path, "dev"), tmp_path / "run" / "model") == {"dev"}


def test_weights_of_a_run_are_those_of_its_model(folder: Path) -> None:
    weights = next((folder / "run" / "stages" / "fine-tuning" / "best").glob("*.safetensors"))
    assert uses_of(texts(folder, "dev"), weights) == {"dev"}


@pytest.mark.parametrize(
    "provenance", [{}, {"recipe": 3}, {"recipe": {"data": {"max_length": 100}}}, {"started_from": 1}]
)
def test_without_a_record_nothing_is_known(tmp_path: Path, provenance: Any) -> None:
    path = tmp_path / "model"
    tiny_models.folder("m-cgru").save(path)
    (path / "provenance.json").write_text(json.dumps(provenance))
    assert uses_of(DevTexts(["the house"], ["das Haus"], ["das Haus"]), path) == set()


def test_lines_that_no_corpus_can_have(folder: Path) -> None:
    assert uses_of(DevTexts(["", "the house"], ["das Haus", ""], ["", " "]), folder / "run" / "model") == set()


def test_a_combination_used_what_its_weights_and_members_used(folder: Path, tmp_path: Path) -> None:
    chosen, unknown = DevTexts(["a b"], ["c d"], ["c e"]), DevTexts(["a b"], ["c d"], ["c f"])
    member = Member.of(folder / "run" / "model")
    weights = LogLinear({"model 1": 1.0}, ("mt",))
    path = tmp_path / "combination.toml"
    Combination.of([member], weights, "log", SearchConfig(beam=2), {"dev_sha256": chosen.digest}).save(path)
    assert uses_of(chosen, path) == {"dev"}
    assert uses_of(texts(folder, "dev"), path) == {"dev"}
    assert uses_of(unknown, path) == set()


def test_an_average_used_what_each_of_its_models_used(folder: Path, tmp_path: Path) -> None:
    made = ModelFolder.load(folder / "run" / "model")
    own = {"recipe": made.provenance["recipe"], "environments": []}
    for number, first in enumerate((own, {})):  # without a record, the first says nothing
        average = tmp_path / f"average {number}"
        replace(made, provenance={**first, "averaged_with": [made.provenance]}).save(average)
        assert uses_of(texts(folder, "dev"), average) == {"dev"}
    replace(made, provenance=own).save(tmp_path / "alone")
    assert uses_of(texts(folder, "dev"), tmp_path / "alone") == set()


def test_a_model_named_by_its_languages_is_known_like_its_folder() -> None:
    sample = Path(__file__).parents[3] / "examples" / "mlqe-pe.en-zh"
    assert uses_of(texts(sample, "dev"), "en-zh") == {"dev"}
    assert uses_of(texts(sample, "test"), "en-zh") == set()


@pytest.mark.parametrize("name", ["none", "openai:some-model", "python:some.module:Editor"])
def test_nothing_is_known_of_models_elsewhere(name: str) -> None:
    assert uses_of(DevTexts(["a"], ["b"], ["c"]), name) == set()
