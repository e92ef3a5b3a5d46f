"""Which model a language pair stands for."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.releases.conftest import World

from postedit import PostEditor, shipped
from postedit.adapt import CorrectionMemory, load_learning
from postedit.adapt.adaptation_config import Learning
from postedit.core.errors import ModelFolderError, OutputError
from postedit.editing.pooled import Pooled
from postedit.releases import catalogue
from postedit.releases.catalogue import (
    KnownModel,
    default_model,
    find_model,
    known_models,
    model_of_languages,
    models_folder,
)
from postedit.releases.fetching import fetch


def known(name: str) -> KnownModel:
    return next(one for one in known_models() if one.name == name)


def test_without_languages_it_is_the_one_that_comes_with_postedit() -> None:
    assert default_model().folder == shipped.MODEL
    assert find_model("en-zh") == default_model()


def test_a_model_that_is_not_here_says_how_it_is_fetched(world: World) -> None:
    with pytest.raises(
        ModelFolderError, match=r"en-fr: its model \(.*\) is not installed; `postedit models fetch en-fr`"
    ):
        PostEditor.load("en-fr")


def test_a_fetched_model_is_loaded_by_its_pair(world: World) -> None:
    fetch(known("house.en-fr"), str(world.releases))
    for name in ("en-fr", "EN-fr", "en:fr", "house.en-fr"):
        editor = PostEditor.load(name)
        assert editor.edit(["the house is red ."], ["der Haus ist rot ,"])[0].text == "das Haus ist rot ."
        assert editor.abilities.languages == ("en", "fr")


def test_an_editor_that_knows_no_languages_has_those_of_its_pair(world: World) -> None:
    fetch(known("house.en-fr"), str(world.releases))
    config = known("house.en-fr").folder / "config.json"
    values = json.loads(config.read_text())
    values["text"] |= {"src_lang": None, "tgt_lang": None}
    config.write_text(json.dumps(values))
    assert PostEditor.load("en-fr").abilities.languages == ("en", "fr")
    assert PostEditor.load(config.parent).abilities.languages == ("", "")
    pooled = PostEditor.load("en-fr", config.parent)
    assert isinstance(pooled, Pooled)
    assert [one.abilities.languages for one in (pooled, *pooled.members)] == [("en", "fr")] * 3
    english, french = ["The house at the river is much older ."], ["La maison au bord du fleuve est plus ancienne ."]
    assert [one.seem_swapped(french, english) for one in (pooled, PostEditor.load(config.parent))] == [True, False]


def test_models_that_work_together_are_for_one_pair(world: World) -> None:
    fetch(known("house.en-fr"), str(world.releases))
    with pytest.raises(ModelFolderError, match=r"for one language pair, .*: house\.en-fr, wiki\.en-zh"):
        PostEditor.load("en-fr", "en-zh")


@pytest.mark.parametrize("learn", ["auto", "online"])
def test_an_editor_that_learns_knows_its_pair(world: World, tmp_path: Path, learn: Learning) -> None:
    fetch(known("house.en-fr"), str(world.releases))
    for name in ("en-fr", "en-zh"):
        if learn == "auto" or name == "en-zh":  # phrases learn in one way
            with CorrectionMemory(tmp_path / f"{name}.db") as memory:
                editor = load_learning(name, memory, learn)
                assert editor.abilities.languages == tuple(name.split("-"))


def test_a_target_language_alone_stands_for_the_only_pair(world: World) -> None:
    fetch(known("house.en-fr"), str(world.releases))
    assert model_of_languages("", "fr_CA").name == "house.en-fr"
    with pytest.raises(ModelFolderError, match="nl: there is no model for this target language; there are models for"):
        model_of_languages("", "nl")


def test_a_target_language_of_several_pairs_needs_the_source() -> None:
    with pytest.raises(ModelFolderError, match=r"target language is en, and the source .* models for et-en, ne-en"):
        model_of_languages("", "en")


def test_of_two_models_of_a_pair_the_first_that_is_here_is_taken(world: World) -> None:
    fetch(known("tree.en-de"), str(world.releases))
    assert model_of_languages("en-GB", "de_AT").name == "tree.en-de"
    fetch(known("house.en-de"), str(world.releases))
    assert model_of_languages("en-GB", "de_AT").name == "house.en-de"
    found = find_model("tree.en-de")
    assert found is not None
    assert found.name == "tree.en-de"


@pytest.mark.parametrize("name", ["de-en", "en-nl", "xx:yy"])
def test_an_unknown_pair_names_those_that_are_known(world: World, name: str) -> None:
    with pytest.raises(ModelFolderError, match=rf"{name}: there is no model .* for en-de, en-fr, en-zh"):
        find_model(name)


@pytest.mark.parametrize("name", ["runs/en-de", "en-de/model", "hub:en-de", "english-german", "./en-de", "wiki.en-fr"])
def test_other_names_are_no_pairs(name: str) -> None:
    assert find_model(name) is None


def test_a_model_folder_of_that_name_comes_first(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch(known("house.en-de"), str(world.releases))
    monkeypatch.chdir(tmp_path)
    Path("en-de").mkdir()
    assert find_model("en-de") == known("house.en-de"), "a folder of data is no model"
    Path("en-de/config.json").touch()
    assert find_model("en-de") is None


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"POSTEDIT_MODELS": "/m", "XDG_DATA_HOME": "/x"}, "/m"),
        ({"XDG_DATA_HOME": "/x"}, "/x/postedit/models"),
        ({"XDG_DATA_HOME": "relative"}, "/home/ada/.local/share/postedit/models"),
        ({}, "/home/ada/.local/share/postedit/models"),
    ],
)
def test_where_models_are_fetched_to(monkeypatch: pytest.MonkeyPatch, given: dict[str, str], found: str) -> None:
    for name, value in {"POSTEDIT_MODELS": "", "XDG_DATA_HOME": "", "HOME": "/home/ada", **given}.items():
        monkeypatch.setenv(name, value)
    assert str(models_folder()) == found


def test_without_a_home_folder_models_are_listed_and_not_fetched(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POSTEDIT_MODELS", "~nobody-here/models")
    assert not known("house.en-de").is_here
    with pytest.raises(OutputError, match=r"^~nobody-here/models/\S+: .*; set POSTEDIT_MODELS to another folder$"):
        fetch(known("house.en-de"), str(world.releases))
    monkeypatch.setenv("POSTEDIT_MODELS", "catalogue.toml/models")
    with pytest.raises(OutputError, match=r"cannot be written: .* \(POSTEDIT_MODELS names the folder of models\)"):
        fetch(known("house.en-de"), str(world.releases))


def test_the_catalogue_of_postedit_is_whole() -> None:
    names = [one.name for one in known_models()]
    assert len(set(names)) == len(names)
    assert sum(one.file is None for one in known_models()) == 1


def test_a_release_file_needs_a_digest() -> None:
    gain = {"dev": "d", "unedited": 1, "ter": 1}
    values: Any = {"texts": "t", "triplets": 1, "licence": "l", "gain": gain, "file": "a.tar.xz"}
    with pytest.raises(ValueError, match="needs bytes and sha256"):
        catalogue.KnownModel(name="help.en-de", **values)
