"""Tensors on disk, written atomically and never pickled."""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from postedit.core.errors import ModelFolderError
from postedit.core.files import explain_os_errors, reason_of, sha256_of, temporary_path
from postedit.core.wording import listed

_SHOWN: Final = 3  # maximum number of tensor names in a message
_SEAL: Final = "sha256"  # key of the digest of the tensors in the metadata of a file


def named_tensors(model: nn.Module) -> dict[tuple[str, ...], Tensor]:
    """Return the parameters and buffers of `model` by all of their names; a shared tensor has several."""
    names: dict[int, tuple[Tensor, list[str]]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        names.setdefault(id(tensor), (tensor, []))[1].append(name)
    return {tuple(all_names): tensor for tensor, all_names in names.values()}


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return the parameters and buffers of `model` by name; a shared tensor is listed under its first name."""
    return {names[0]: tensor.detach().contiguous() for names, tensor in named_tensors(model).items()}


def load_model_tensors(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Load tensors, in the form that `model_tensors` returns, into `model`; a shared tensor may have any of its names.

    Raises:
        ModelFolderError: if the tensors do not fit; the model is then unchanged.
    """
    check_model_tensors(model, tensors)
    model.load_state_dict(dict(tensors), strict=False)


def check_model_tensors(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Check that tensors fit `model`, which may be on the meta device.

    Raises:
        ModelFolderError: if a tensor is missing, unknown, or of another shape.
    """
    found = named_tensors(model)
    shapes = {name: tensor.shape for names, tensor in found.items() for name in names}
    missing = [names[0] for names in found if not tensors.keys() & set(names)]
    unknown = [name for name in tensors if name not in shapes]
    other = [
        f"{name} is {shape_text(tensor.shape)} instead of {shape_text(shapes[name])}"
        for name, tensor in tensors.items()
        if name in shapes and tensor.shape != shapes[name]
    ]
    problems = [
        _count_and_names(names, problem)
        for names, problem in ((missing, "missing"), (unknown, "unknown"), (other, "of another shape"))
        if names
    ]
    if problems:
        raise ModelFolderError(
            f"the weights do not fit the model: of its {len(found)} tensors, {'; '.join(problems)}; "
            "use the weights and the configuration of one and the same model"
        )


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape in readable form, such as "512 x 64"."""
    return " x ".join(map(str, shape)) or "1"


def _count_and_names(names: Sequence[str], problem: str) -> str:
    return f"{len(names)} {problem} ({listed(names, _SHOWN)})"


def check_finite(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Check that all values of the tensors read from `path` are finite.

    Raises:
        ModelFolderError: naming the tensors that contain infinity or NaN.
    """
    faulty = [name for name, one in tensors.items() if one.is_floating_point() and not bool(one.isfinite().all())]
    if faulty:
        raise ModelFolderError(
            f"{path}: damaged, or of training that failed: infinite values or values that are not numbers in "
            f"{listed(faulty, _SHOWN)}; copy or train the model again"
        )


def tensors_sha256(tensors: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 digest, in hexadecimal, of the names, dtypes, shapes and values of tensors."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def save_sealed_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write a safetensors file with a digest of its tensors in the metadata, which `load_tensors` checks.

    Raises:
        OutputError: if the file cannot be written, or the disk is full.
    """
    save_tensors(path, tensors, {_SEAL: tensors_sha256(tensors)})


def save_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Write a safetensors file atomically.

    Raises:
        OutputError: if the file cannot be written, or the disk is full.
    """
    temporary = temporary_path(path)
    with explain_os_errors(path):
        try:
            temporary.touch()
            permissions = temporary.stat().st_mode
            try:
                save_file(dict(tensors), temporary, dict(metadata or {}))
            except SafetensorError as error:
                # The library reports failed writes (disk full, quota) as its own type, with the error number as text.
                number = re.search(r"\(os error (\d+)\)", str(error))
                if number is None:
                    raise
                raise OSError(int(number[1]), os.strerror(int(number[1])), str(temporary)) from error
            temporary.chmod(permissions)  # those of any new file; the library makes it readable only by its owner
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def is_sealed(path: Path) -> bool:
    """Return whether a readable safetensors file contains a digest of its tensors."""
    with safe_open(str(path), framework="pt") as file:
        return _SEAL in (file.metadata() or {})


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file, on the CPU.

    Raises:
        ModelFolderError: if the file is missing, truncated or damaged, or its tensors do not match the digest that
            `save_sealed_tensors` has written.
    """
    with explain_tensor_errors(path):
        with safe_open(str(path), framework="pt") as file:
            seal = (file.metadata() or {}).get(_SEAL)
        tensors = load_file(path)
    if seal is not None and seal != tensors_sha256(tensors):
        raise ModelFolderError(f"{path}: damaged: its weights are not those that were written; copy them again")
    return tensors


@contextmanager
def explain_tensor_errors(path: Path) -> Iterator[None]:
    """Turn errors that occur while reading a safetensors file into readable messages.

    The library reports any file that it cannot open as missing, and PyTorch, which opens it again, raises a
    `RuntimeError`; so the file is opened once more to find the cause.

    Raises:
        ModelFolderError: if the file is missing, cannot be read, or is truncated or damaged.
    """
    try:
        yield
    except (SafetensorError, OSError, RuntimeError) as error:
        fault = _out_of_reach(path)
        if fault is None and isinstance(error, RuntimeError):
            raise
        fault = fault or f"truncated or damaged ({error}); copy or train the model again"
        raise ModelFolderError(f"{path}: {fault}") from None


def _out_of_reach(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            file.read(1)
    except FileNotFoundError:
        return "missing; copy or train the model again"
    except OSError as error:
        return f"cannot be read: {reason_of(error)}"
    return None


def check_sha256(path: Path, expected: str) -> None:
    """Check that a file has the SHA-256 digest `expected` (in hexadecimal), recorded when it was written.

    Raises:
        ModelFolderError: if the file has other content, is missing, or cannot be read.
    """
    try:
        found = sha256_of(path)
    except OSError as error:
        raise ModelFolderError(f"{path}: cannot be read: {reason_of(error)}") from None
    if found != expected:
        raise ModelFolderError(f"{path}: damaged: its SHA-256 is not the recorded one; copy the model folder again")
