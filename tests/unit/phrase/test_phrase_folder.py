import json
from pathlib import Path

import numpy as np
import pytest
from tests.unit.phrase.small_corpus import TRIPLETS, split

from postedit import PostEditor
from postedit.core.errors import DataError, ModelFolderError, OutputError
from postedit.core.search_config import SearchConfig
from postedit.model_files import architecture_of
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_folder import PhraseFolder
from postedit.phrase.phrase_model import PhraseModel, learn
from postedit.phrase.phrase_options import NAME, PhraseConfig, PhraseTextConfig


@pytest.fixture
def folder(model: PhraseModel, tmp_path: Path) -> Path:
    path = tmp_path / "model"
    config = PhraseConfig(order=3)
    PhraseFolder(model, config, PhraseTextConfig(), SearchConfig(), {"dev": {"ter": 12.456789}}).save(path)
    return path


def test_a_loaded_model_edits_as_the_saved_one(folder: Path, editor: PhraseEditor) -> None:
    loaded = PostEditor.load(folder)
    src, mt, _ = zip(*TRIPLETS)
    assert loaded.edit(src, mt) == editor.edit(src, mt)
    assert architecture_of(folder) == NAME
    assert "- ter: 12.46\n" in (folder / "README.md").read_text()


def test_a_model_that_is_saved_again_is_the_same(folder: Path, tmp_path: Path) -> None:
    (folder / "NOTICE").write_text("CC BY 4.0: Jörg")
    loaded = PostEditor.load(folder)
    loaded.save_pretrained(tmp_path / "copy")
    assert (tmp_path / "copy" / "NOTICE").read_text() == "CC BY 4.0: Jörg"
    again = PostEditor.load(tmp_path / "copy")
    assert again.identity() == loaded.identity()
    assert (tmp_path / "copy/model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()


def test_identities_of_other_models_and_options_differ(folder: Path, tmp_path: Path) -> None:
    loaded, other = PhraseFolder.load(folder), tmp_path / "other"
    loaded.model.weights[1] -= 1.0
    try:
        loaded.save(other)
    finally:
        loaded.model.weights[1] += 1.0
    ours, theirs = PostEditor.load(folder), PostEditor.load(other)
    assert ours.identity() != theirs.identity()
    assert ours.identity(SearchConfig(edit_cost=1.0)) != ours.identity()


@pytest.mark.parametrize("name", ["model.safetensors", "text/words.json", "config.json"])
def test_a_damaged_folder_is_refused(name: str, folder: Path) -> None:
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelFolderError, match=r"damaged|cannot be read"):
        PhraseFolder.load(folder)
    (folder / name).unlink()
    with pytest.raises(ModelFolderError, match=r"missing|cannot be read"):
        PhraseFolder.load(folder)


def test_options_that_are_wrong_are_named(folder: Path) -> None:
    values = json.loads((folder / "config.json").read_text())
    values["model"]["order"] = 0
    del values["sha256"]
    (folder / "config.json").write_text(json.dumps(values))
    with pytest.raises(ModelFolderError, match=r"model\.order: must be at least 2.*sha256 must have a digest"):
        PhraseFolder.load(folder)


def test_other_work_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/mine").write_text("mine")
    with pytest.raises(OutputError, match="something else"):
        PhraseFolder.load(folder).save(tmp_path / "texts")


def test_a_phrase_based_model_is_no_neural_one(folder: Path) -> None:
    with pytest.raises(ModelFolderError, match="needs neural ones"):
        PostEditor.load_corrector(folder)
    with pytest.raises(DataError, match="2 weights for 1 models"):
        PostEditor.load(folder, weights=[1.0, 2.0])


@pytest.mark.parametrize("join_source", [False, True])
def test_a_compact_folder_holds_the_same_model(join_source: bool, tmp_path: Path) -> None:
    config = PhraseConfig(order=3, least=2, join_source=join_source)
    model = learn(split(TRIPLETS), config)
    sizes, loaded = [], []
    for compact in (False, True):
        path = tmp_path / f"{compact}"
        stored = config.model_copy(update={"compact": compact})
        PhraseFolder(model, stored, PhraseTextConfig(), SearchConfig(), {}).save(path)
        sizes.append((path / "model.safetensors").stat().st_size)
        loaded.append(PhraseFolder.load(path).model.to_arrays())
    assert sizes[1] < 0.7 * sizes[0]
    ours, theirs = loaded
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
