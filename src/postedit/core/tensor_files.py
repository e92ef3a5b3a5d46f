"""Tensors and JSON on disk: whole or not at all, and never pickled."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from postedit.core.errors import ModelFolderError
from postedit.core.files import atomic_write, explain_os_errors, reason_of, sha256_of


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return the parameters and buffers of `model` by name; a tensor shared by several names is there once."""
    unique: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        unique.setdefault(id(tensor), (name, tensor.detach().contiguous()))
    return dict(unique.values())


def load_model_tensors(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Give `model` the weights that `model_tensors` returned, a shared one by whichever of its names.

    Raises:
        ModelFolderError: if they are not all of the weights of this model, and nothing else.
    """
    names: dict[int, set[str]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        names.setdefault(id(tensor), set()).add(name)
    _, unexpected = model.load_state_dict(dict(tensors), strict=False)
    missing = [min(group) for group in names.values() if not group & tensors.keys()]
    wrong = sorted({*missing, *unexpected})
    if wrong:
        raise ModelFolderError(f"these are weights of another model: they differ in {', '.join(wrong[:5])}")


def save_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Write a safetensors file that takes the name `path` only when it is whole and on the disk.

    Raises:
        OutputError: if the file cannot be written, or the disk is full.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with explain_os_errors(path):
        try:
            temporary.touch()
            permissions = temporary.stat().st_mode
            _save_file(temporary, tensors, metadata)
            temporary.chmod(permissions)  # those of any other new file; the library lets only the owner read
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file, on the CPU.

    Raises:
        ModelFolderError: if it is missing, truncated or damaged.
    """
    try:
        return load_file(path)
    except FileNotFoundError:
        raise ModelFolderError(f"{path}: no such file of weights") from None
    except (SafetensorError, OSError) as error:
        raise ModelFolderError(f"{path}: truncated or damaged ({error}); copy or train the model again") from None


def check_sha256(path: Path, expected: str) -> None:
    """Compare a file with the SHA-256 digest that was recorded when it was written.

    Args:
        path: the file, such as the `model.safetensors` of a model folder.
        expected: the digest that `sha256_of` returned, in hexadecimal.

    Raises:
        ModelFolderError: if the file has other content, is missing, or cannot be read.
    """
    try:
        found = sha256_of(path)
    except OSError as error:
        raise ModelFolderError(f"{path}: cannot be read: {reason_of(error)}") from None
    if found != expected:
        raise ModelFolderError(f"{path}: damaged: its SHA-256 is not the recorded one; copy the model folder again")


def save_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write `value` as JSON, atomically.

    Raises:
        OutputError: if the file cannot be written, or the disk is full.
    """
    with atomic_write(path) as file:
        json.dump(value, file, indent=1, ensure_ascii=False)
        file.write("\n")


def _save_file(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None) -> None:
    try:
        save_file(dict(tensors), path, dict(metadata or {}))
    except SafetensorError as error:
        # The library reports a failed write (disk full, quota) as its own type, with the number in the text.
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from error
