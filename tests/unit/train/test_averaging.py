from pathlib import Path

import pytest
import torch
from tiny_run import tiny_model

from postedit.core.errors import ModelFolderError
from postedit.core.tensor_files import load_model_tensors, model_tensors, save_tensors
from postedit.train.averaging import average_weights


def test_it_is_the_element_wise_mean(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.safetensors" for number in range(3)]
    weights = [torch.randn(4, 5) for _ in files]
    for number, (path, weight) in enumerate(zip(files, weights)):
        save_tensors(path, {"weight": weight, "steps": torch.tensor([number + 7])})
    average = average_weights(files)
    torch.testing.assert_close(average["weight"], torch.stack(weights).mean(0))
    assert average["weight"].dtype == torch.float32
    assert average["steps"].tolist() == [7]


def test_sums_are_in_double_precision(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.safetensors" for number in range(5)]
    for path, value in zip(files, (2.0**24, 1.0, 1.0, 1.0, 1.0)):
        save_tensors(path, {"weight": torch.tensor([value])})
    for order in (files, files[::-1]):
        assert average_weights(order)["weight"].item() == (2**24 + 4) / 5


def test_the_average_of_one_is_itself_and_tied_weights_stay_tied(tmp_path: Path) -> None:
    model = tiny_model()
    save_tensors(tmp_path / "one.safetensors", model_tensors(model))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    load_model_tensors(model, average_weights([tmp_path / "one.safetensors"] * 4))
    assert torch.equal(model.embedding.weight, tiny_model().embedding.weight)
    assert model.head.weight is model.embedding.weight


def test_weights_of_different_models_are_not_averaged(tmp_path: Path) -> None:
    save_tensors(tmp_path / "a.safetensors", {"x": torch.zeros(2), "y": torch.zeros(1)})
    save_tensors(tmp_path / "b.safetensors", {"x": torch.zeros(3), "z": torch.zeros(1)})
    with pytest.raises(ModelFolderError, match="differ in x, y, z"):
        average_weights([tmp_path / "a.safetensors", tmp_path / "b.safetensors"])
    with pytest.raises(ValueError, match="at least one"):
        average_weights([])


def test_a_missing_or_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "cut.safetensors").write_bytes(b"\x08")
    with pytest.raises(ModelFolderError, match=r"cut\.safetensors: truncated or damaged"):
        average_weights([tmp_path / "cut.safetensors"])
    with pytest.raises(ModelFolderError, match=r"gone\.safetensors: missing"):
        average_weights([tmp_path / "gone.safetensors"])
