"""The service takes a language pair in place of the path of a model."""

import pytest
from tests.unit.releases.conftest import World

from postedit.core.errors import ModelFolderError
from postedit.releases.catalogue import default_model, models_of
from postedit.releases.fetching import fetch
from postedit.serve.model_process import ProcessSpec
from postedit.serve.settings import SHIPPED, ServedModel, laptop_settings


def path_of(model: str) -> str:
    return ProcessSpec(ServedModel(path=model), threads=1, memory=None).path


def test_a_pair_stands_for_its_model(world: World) -> None:
    assert list(laptop_settings("en-de", {}).models) == ["en-de"]
    with pytest.raises(ModelFolderError, match="`postedit models fetch en-de` fetches it"):
        path_of("en-de")
    fetch(models_of("en-de")[0], str(world.releases))
    assert path_of("en-de") == "en-de", "the editor knows its languages by it"
    assert path_of(SHIPPED) == str(default_model().folder)
    assert path_of("none") == "none"
