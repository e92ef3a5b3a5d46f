import errno
import os
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from tiny_run import tiny_model
from torch import nn

from postedit.core import tensor_files
from postedit.core.errors import ModelFolderError, OutputError
from postedit.core.files import sha256_of
from postedit.core.tensor_files import (
    check_sha256,
    explain_tensor_errors,
    load_model_tensors,
    load_tensors,
    model_tensors,
    save_sealed_tensors,
    save_tensors,
)


def test_shared_weights_are_written_once_and_come_back_shared(tmp_path: Path) -> None:
    model, other = tiny_model(), tiny_model()
    nn.init.normal_(model.embedding.weight)
    save_tensors(tmp_path / "x.safetensors", model_tensors(model))
    loaded = load_tensors(tmp_path / "x.safetensors")
    assert set(loaded) == {"embedding.weight", "mix.weight", "mix.bias", "head.bias"}
    load_model_tensors(other, loaded)
    assert other.head.weight is other.embedding.weight
    assert torch.equal(other.head.weight, model.embedding.weight)


def test_files_may_be_read_by_whom_other_files_may(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    save_tensors(tmp_path / "x.safetensors", {"x": torch.zeros(1)})
    assert (tmp_path / "x.safetensors").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_flipped_bytes_of_sealed_weights_are_found_when_read(tmp_path: Path) -> None:
    path = tmp_path / "step-00000001.safetensors"
    tensors = {"x": torch.ones(100), "count": torch.tensor(3), "half": torch.ones(2, dtype=torch.bfloat16)}
    save_sealed_tensors(path, tensors)
    assert all(torch.equal(tensor, tensors[name]) for name, tensor in load_tensors(path).items())
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelFolderError, match=r"step-00000001\.safetensors: damaged: its weights are not those that"):
        load_tensors(path)


def test_flipped_bytes_of_weights_are_found_by_their_digest(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_tensors(path, {"x": torch.ones(100)})
    digest = sha256_of(path)
    check_sha256(path, digest)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    load_tensors(path)  # the format itself does not notice
    with pytest.raises(ModelFolderError, match=r"model\.safetensors: damaged: .* copy the model folder again"):
        check_sha256(path, digest)
    path.unlink()
    with pytest.raises(ModelFolderError, match="cannot be read: No such file"):
        check_sha256(path, digest)


@pytest.mark.parametrize("change", ["missing", "unexpected"])
def test_weights_of_another_model_are_refused(change: str) -> None:
    weights = model_tensors(tiny_model())
    if change == "missing":
        del weights["mix.bias"]
    else:
        weights["mix.extra"] = torch.zeros(1)
    problem = {"missing": r"1 missing \(mix\.bias\)", "unexpected": r"1 unknown \(mix\.extra\)"}[change]
    with pytest.raises(ModelFolderError, match=f"do not fit the model: of its 4 tensors, {problem}; use"):
        load_model_tensors(tiny_model(), weights)


def test_tensors_of_other_shapes_are_named_and_the_model_is_unchanged(tmp_path: Path) -> None:
    model, path = tiny_model(), tmp_path / "model.safetensors"
    save_tensors(path, {name: torch.zeros(7, 2) for name in model_tensors(model)} | {"extra": torch.zeros(1)})
    before = {name: tensor.clone() for name, tensor in model_tensors(model).items()}
    with pytest.raises(ModelFolderError) as caught:
        load_model_tensors(model, load_tensors(path))
    assert str(caught.value) == (
        "the weights do not fit the model: of its 4 tensors, 1 unknown (extra); 4 of another shape "
        "(embedding.weight is 7 x 2 instead of 30 x 8, head.bias is 7 x 2 instead of 30, "
        "mix.bias is 7 x 2 instead of 8 and 1 more); use the weights and the configuration of one and the same model"
    )
    assert all(torch.equal(tensor, before[name]) for name, tensor in model_tensors(model).items())


def test_a_full_disk_is_reported_and_the_old_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.safetensors"
    save_tensors(path, {"x": torch.ones(2)})

    def full(_: object, name: Path, *__: object) -> None:
        name.write_bytes(b"a part")
        raise SafetensorError(f"Error while serializing: I/O error: No space left on device (os error {errno.ENOSPC})")

    monkeypatch.setattr(tensor_files, "save_file", full)
    with pytest.raises(OutputError, match="the disk is full"):
        save_tensors(path, {"x": torch.zeros(2)})
    monkeypatch.undo()
    assert load_tensors(path)["x"].tolist() == [1.0, 1.0]
    assert [file.name for file in tmp_path.iterdir()] == ["x.safetensors"]


def test_weights_out_of_reach_are_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.safetensors"
    save_tensors(path, {"a": torch.zeros(1)})

    def lost(*arguments: object, **options: object) -> None:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))

    monkeypatch.setattr(Path, "open", lost)
    with (
        pytest.raises(ModelFolderError, match=r"x\.safetensors: cannot be read: the file server"),
        explain_tensor_errors(path),
    ):
        raise RuntimeError("unable to open file")
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match="no memory"), explain_tensor_errors(path):
        raise RuntimeError("no memory")
