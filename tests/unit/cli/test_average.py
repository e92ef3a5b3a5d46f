from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny_models
import torch
from safetensors.torch import load_file
from tests.unit.phrase.small_corpus import TRIPLETS, split

from postedit.core.search_config import SearchConfig
from postedit.core.tensor_files import model_tensors, save_tensors
from postedit.data.triplets import Triplet
from postedit.folder import ModelFolder
from postedit.phrase.phrase_folder import PhraseFolder
from postedit.phrase.phrase_model import learn
from postedit.phrase.phrase_options import PhraseConfig, PhraseTextConfig
from postedit.text.processor import TextProcessor


def save(path: Path, seed: int, dim: int = 8, text: TextProcessor | None = None) -> ModelFolder:
    made = tiny_models.folder(text=text, share_embeddings="all", dim=dim)
    folder = replace(made, provenance={"dev": {"ter": 1.0}})
    generator = torch.Generator().manual_seed(seed)
    for parameter in folder.model.parameters():
        parameter.data.normal_(generator=generator)
    folder.save(path)
    return folder


@pytest.fixture
def two(tmp_path: Path) -> tuple[ModelFolder, ModelFolder]:
    return save(tmp_path / "one", 1), save(tmp_path / "two", 2)


def mean(two: tuple[ModelFolder, ModelFolder]) -> dict[str, torch.Tensor]:
    first, second = (dict(folder.model.state_dict()) for folder in two)
    return {name: (first[name] + second[name]) / 2 for name in first}


def test_the_average_is_a_model_folder(run: Any, tmp_path: Path, two: tuple[ModelFolder, ModelFolder]) -> None:
    out = tmp_path / "mean"
    assert run("average", tmp_path / "one", tmp_path / "two", "--out", out).exit_code == 0
    loaded = ModelFolder.load(out)
    torch.testing.assert_close(dict(loaded.model.state_dict()), mean(two))
    assert loaded.provenance == {"dev": {}, "averaged": ["one", "two"]}


def test_what_all_averaged_models_learnt_from_is_kept(
    run: Any, tmp_path: Path, two: tuple[ModelFolder, ModelFolder]
) -> None:
    known = {"environments": [{"corpora": {"train": "abc"}}]}
    replace(two[1], provenance=known).save(tmp_path / "two")
    run("average", tmp_path / "one", tmp_path / "two", "--out", tmp_path / "mean")
    assert ModelFolder.load(tmp_path / "mean").provenance["averaged_with"] == [known]


def test_what_files_of_weights_of_other_runs_learnt_from_is_kept(
    run: Any, tmp_path: Path, two: tuple[ModelFolder, ModelFolder]
) -> None:
    files = []
    for name, folder in zip(("first", "second"), two, strict=True):
        known = {"dev": {"ter": 1.0}, "environments": [{"corpora": {"train": name}}]}
        replace(folder, provenance=known, notice=f"CC BY 4.0: {name}\n").save(tmp_path / name / "model")
        files += [tmp_path / name / "best" / f"step-{number}.safetensors" for number in (1, 2)]
        for path in files[-2:]:
            path.parent.mkdir(exist_ok=True)
            save_tensors(path, model_tensors(folder.model))
    run("average", *files, "--out", tmp_path / "mean")
    found = ModelFolder.load(tmp_path / "mean")
    assert found.provenance["averaged_with"] == [known]
    assert found.notice == "CC BY 4.0: first\n\nCC BY 4.0: second\n"


def test_licences_of_all_averaged_models_are_kept(
    run: Any, tmp_path: Path, two: tuple[ModelFolder, ModelFolder]
) -> None:
    (tmp_path / "two" / "NOTICE").write_text("CC BY 4.0: Jörg\n")
    run("average", tmp_path / "one", tmp_path / "two", "--out", tmp_path / "mean")
    assert (tmp_path / "mean" / "NOTICE").read_text() == "CC BY 4.0: Jörg\n"
    (tmp_path / "one" / "NOTICE").write_text("MIT: Anna\n")
    run("average", tmp_path / "one", tmp_path / "two", tmp_path / "two", "--out", tmp_path / "both")
    assert (tmp_path / "both" / "NOTICE").read_text() == "MIT: Anna\n\nCC BY 4.0: Jörg\n"


def test_files_of_weights_of_a_run(run: Any, tmp_path: Path, two: tuple[ModelFolder, ModelFolder]) -> None:
    files = [tmp_path / f"step-{number}.safetensors" for number in (1, 2)]
    for path, folder in zip(files, two):
        save_tensors(path, model_tensors(folder.model))
    out = tmp_path / "mean"
    assert run("average", *files, "--like", tmp_path / "one", "--out", out).exit_code == 0
    torch.testing.assert_close(dict(ModelFolder.load(out).model.state_dict()), mean(two))
    assert len(load_file(out / "model.safetensors")) < len(mean(two))  # a shared table is written once


def test_models_with_other_tokens_are_not_averaged(
    run: Any, tmp_path: Path, two: tuple[ModelFolder, ModelFolder]
) -> None:
    own = two[0].processor
    text = TextProcessor.fit(own.config, lambda: [Triplet("a cat sat", "eine Katze", "die Katze saß da")] * 4)
    assert text.vocabularies.target.size == own.vocabularies.target.size  # so that all weights have the same shapes
    other = save(tmp_path / "run" / "model", 3, text=text)
    step = tmp_path / "run" / "best" / "step-1.safetensors"
    step.parent.mkdir()
    save_tensors(step, model_tensors(other.model))
    for path in (tmp_path / "run" / "model", step):
        result = run("average", tmp_path / "one", path, "--out", tmp_path / "mean")
        assert result.exit_code == 1
        assert f"{path}: has other vocabularies than {tmp_path / 'one'}" in result.stderr
        assert not (tmp_path / "mean").exists()
    assert run("average", step, "--like", tmp_path / "run" / "model", "--out", tmp_path / "same").exit_code == 0


def test_faults(run: Any, tmp_path: Path, two: tuple[ModelFolder, ModelFolder]) -> None:
    save(tmp_path / "wide", 1, dim=16)
    (tmp_path / "weights.safetensors").write_bytes(b"")
    (tmp_path / "there").mkdir()
    (tmp_path / "file").touch()
    config = PhraseConfig()
    PhraseFolder(learn(split(TRIPLETS), config), config, PhraseTextConfig(), SearchConfig(), {}).save(
        tmp_path / "phrases"
    )
    cases = [
        (("phrases", "phrases"), "mean", "is a phrase-based model; only weights of neural models can be averaged"),
        (("one", "phrases"), "mean", "is a phrase-based model; only weights of neural models can be averaged"),
        (("one", "wide"), "mean", "not weights of the same model"),
        (("one", "gone"), "mean", "no such weights"),
        (("weights.safetensors",), "mean", "--like"),
        (("gone", "one"), "mean", "no such model folder"),
        (("one", "weights.safetensors"), "mean", "truncated or damaged"),
        (("one", "two"), "there", "exists already"),
        (("one", "two"), "file/mean", "its folder"),
        (("one", "two"), "no/such/mean", "create it first"),
    ]
    for models, out, message in cases:
        result = run("average", *(tmp_path / model for model in models), "--out", tmp_path / out)
        assert result.exit_code == 1, message
        assert message in result.stderr
        assert not (tmp_path / "mean").exists()


def test_a_folder_that_cannot_be_checked_hides_no_damage(run: Any, tmp_path: Path) -> None:
    save(tmp_path / "model", 1)
    with (tmp_path / "model" / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"x")
    result = run("check", tmp_path / "missing", tmp_path / "model")
    assert result.exit_code == 1
    assert "missing" in result.stderr
    assert "1 damaged" in result.stdout
