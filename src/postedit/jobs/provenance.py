"""Provenance: how a run and its model were made."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import torch
from accelerate import PartialState

import postedit
from postedit.core.errors import DataError
from postedit.core.files import load_json, reason_of, save_json
from postedit.data.corpus import Corpus
from postedit.recipe import Recipe

INITIAL: Final = "initial.json"
"""The file that records which weights a run took from another model, and the provenance of that model."""

_MEND: Final = "restore it, or delete it to go on without what it records"

_RECORDED_PACKAGES: Final = (
    "accelerate", "numpy", "peft", "pyarrow", "sacrebleu", "sacremoses", "sentencepiece", "tokenizers", "torch",
    "transformers",
)  # fmt: skip


def record_start(recipe: Recipe, folder: Path) -> None:
    """Append versions, machine, command and data fingerprints to the record of the starts of a run."""
    start = {
        "postedit": postedit.__version__,
        "python": platform.python_version(),
        "packages": {name: found for name in _RECORDED_PACKAGES if (found := _version(name)) is not None},
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "processes": PartialState().num_processes,
        "seed": recipe.train.seed,
        "corpora": {name: Corpus.open(folder / f"corpus/{name}.arrow").fingerprint for name in ("train", "dev")},
        "command": sys.argv,
    }
    save_json(folder / "environment.json", {"starts": [*_starts(folder), start]})


def _starts(folder: Path) -> list[dict[str, Any]]:
    """Return the record of the starts of a run so far."""
    path = folder / "environment.json"
    starts: Any = _values(path).get("starts", [])
    if not isinstance(starts, list) or not all(isinstance(start, dict) for start in starts):
        raise DataError(f"{path}: starts must be a list of tables; {_MEND}")
    return starts


def _values(path: Path) -> dict[str, Any]:
    """Return the values in a record of a run; empty if there is none."""
    try:
        values = load_json(path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {reason_of(error)}; {_MEND}") from None
    if not isinstance(values, dict):
        raise DataError(f"{path}: must hold a JSON object; {_MEND}")
    return values


def _version(package: str) -> str | None:
    """Return the installed version of a package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def provenance(recipe: Recipe, folder: Path) -> dict[str, Any]:
    """Return the provenance for a model folder, without commands and folder names, since it may be published."""
    values = recipe.published().to_dict()
    data = recipe.data
    names = dict.fromkeys(path.name for files in [*data.train, data.dev] for path in files.paths)
    values["data"] = {"files": list(names), "max_length": data.max_length}
    environments = [{key: value for key, value in start.items() if key != "command"} for start in _starts(folder)]
    found = {"recipe": values, "environments": environments}
    if initial := _values(folder / INITIAL):
        found["started_from"] = initial.get("provenance", {})
    return found


def initial_notice(folder: Path) -> str | None:
    """Return the licence notice of the model that training started from; None if there is none."""
    notice = _values(folder / INITIAL).get("notice")
    return None if notice is None else str(notice)
