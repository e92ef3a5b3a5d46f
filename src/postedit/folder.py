"""Model folders: all that is needed to post-edit, in files that can be read anywhere and execute nothing.

config.json         architecture, sizes, search settings, format version
model.safetensors   weights
text/               subword vocabularies and truecasing
provenance.json     what the model was trained on, with what, and how it scored on dev
README.md           model card
draft/              the model folder of a first stage, whose output this model reads as mt, where there is one
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError, safe_open

import postedit
from postedit.core.config import Config, check_config
from postedit.core.errors import ModelFolderError, OutputError, RecipeError
from postedit.core.files import atomic_folder, explain_os_errors, sha256_of
from postedit.core.model import Seq2Seq
from postedit.core.registry import Architecture
from postedit.core.search_config import SearchConfig, with_present_names
from postedit.core.tensor_files import check_sha256, load_model_tensors, load_tensors, model_tensors, save_tensors
from postedit.models import ARCHITECTURES
from postedit.text.processor import TextProcessor

_FORMAT: Final = 1
_CONFIG, _WEIGHTS, _TEXT, _PROVENANCE, _CARD, _DRAFT = (
    "config.json",
    "model.safetensors",
    "text",
    "provenance.json",
    "README.md",
    "draft",
)

_OWN_FILES: Final = (_CONFIG, _WEIGHTS, f"{_TEXT}/*.json", _PROVENANCE, _CARD)
FILES: Final = (*_OWN_FILES, *(f"{_DRAFT}/{pattern}" for pattern in _OWN_FILES))
"""Patterns of all that a model folder holds."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """What a model folder holds; `draft` is the first stage that writes the mt this model reads, if there is one."""

    architecture: Architecture
    config: Config
    search: SearchConfig
    model: Seq2Seq
    processor: TextProcessor
    provenance: Mapping[str, Any]
    draft: "ModelFolder | None" = None

    def save(self, path: Path, stored: torch.dtype = torch.float32) -> None:
        """Write the folder; a model that is at `path` is replaced only when all is written.

        Args:
            path: of the folder.
            stored: how weights are written. Whatever it is, they are loaded as float32.

        Raises:
            OutputError: if something else than a model is at `path`, it cannot be written, or the disk is full.
        """
        _check_replaceable(path)
        with atomic_folder(path) as folder:
            self._write(folder, stored)

    def _write(self, folder: Path, stored: torch.dtype) -> None:
        config: dict[str, Any] = {
            "format": _FORMAT,
            "postedit": postedit.__version__,
            "architecture": self.architecture.name,
            "model": self.config.model_dump(mode="json"),
            "search": self.search.model_dump(mode="json"),
            "draft": self.draft is not None,
        }
        (folder / _PROVENANCE).write_text(_json(self.provenance), encoding="utf-8")
        (folder / _CARD).write_text(self._card(), encoding="utf-8")
        (folder / _TEXT).mkdir()
        self.processor.save(folder / _TEXT)
        tensors = {
            name: tensor.to(stored) if tensor.is_floating_point() else tensor
            for name, tensor in model_tensors(self.model).items()
        }
        save_tensors(folder / _WEIGHTS, tensors, {"architecture": self.architecture.name})
        config["weights_sha256"] = sha256_of(folder / _WEIGHTS)
        (folder / _CONFIG).write_text(_json(config), encoding="utf-8")
        if self.draft is not None:
            (folder / _DRAFT).mkdir()
            self.draft._write(folder / _DRAFT, stored)

    @classmethod
    def load(cls, path: Path, device: torch.device | str = "cpu") -> "ModelFolder":
        """Read a model folder, or weights of its run (RUN/best/*.safetensors), which then stand for its own.

        Raises:
            ModelFolderError: if something is missing, damaged, or not what config.json says.
        """
        path, weights = _parts(path)
        values = _read_config(path)
        try:
            architecture = ARCHITECTURES[str(values["architecture"])]
        except RecipeError as error:
            raise ModelFolderError(f"{path / _CONFIG}: {error}") from None
        config, problems = check_config(architecture.config_class, values["model"], "model.")
        search, more = check_config(SearchConfig, values["search"], "search.")
        if config is None or search is None:
            raise ModelFolderError(f"{path / _CONFIG}: {'; '.join(problems + more)}")
        processor = TextProcessor.load(path / _TEXT)
        try:
            model = architecture.build(config, processor.vocabularies)
        except ValueError as error:  # sizes that do not go together; a RecipeError is one too
            raise ModelFolderError(f"{path / _CONFIG}: {error}") from None
        _load_weights(model, weights, architecture.name)
        if weights == path / _WEIGHTS and "weights_sha256" in values:
            check_sha256(weights, str(values["weights_sha256"]))
        provenance = _read_json(path / _PROVENANCE) if (path / _PROVENANCE).exists() else {}
        model = model.to(device).eval().requires_grad_(False)
        draft = cls.load(path / _DRAFT, device) if values.get("draft", False) else None
        return cls(architecture, config, search, model, processor, provenance, draft)

    def _card(self) -> str:
        scores = self.provenance.get("dev", {})
        lines = [f"- {name}: {value}" for name, value in scores.items()] or ["- not recorded"]
        needs_mt = "mt" in self.model.spec.inputs and self.draft is None
        call = 'editor.edit(src=["..."], mt=["..."])' if needs_mt else 'editor.edit(src=["..."])'
        return "\n".join(
            [
                "---",
                "library_name: postedit",
                "tags: [automatic-post-editing, translation]",
                "---",
                f"# {self.architecture.name}",
                "",
                f"Automatic post-editing model ({self.architecture.summary}; {self.architecture.paper}), made with "
                f"postedit {postedit.__version__}.",
                "",
                "```python",
                "from postedit import PostEditor",
                "",
                'editor = PostEditor.load("path/to/this/folder")',
                f"print({call}[0].text)",
                "```",
                "",
                "Scores on the development set, which also chose the weights:",
                "",
                *lines,
                "",
                "What it was trained on and with what is in `provenance.json`.",
                "",
            ]
        )


def fingerprint(path: Path) -> str:
    """Return SHA-256, in hexadecimal, over all of a model but its search settings, without loading it.

    Args:
        path: of a model folder or a file of weights, as `ModelFolder.load` takes it.

    Raises:
        ModelFolderError: if there is no model, or a file of it is missing.
    """
    folder, weights = _parts(path)
    values = _read_config(folder)
    digest = hashlib.sha256(json.dumps([values["architecture"], values["model"]], sort_keys=True).encode())
    for file in [weights, *sorted((folder / _TEXT).glob("*.json"))]:
        try:
            with file.open("rb") as content:
                digest.update(file.name.encode() if file != weights else b"")
                digest.update(hashlib.file_digest(content, "sha256").digest())
        except OSError as error:
            raise ModelFolderError(f"{file}: cannot be read: {error.strerror}") from None
    return digest.hexdigest()


def content_fingerprint(path: Path) -> str:
    """Return SHA-256, in hexadecimal, over all that has a part in the outputs of what was loaded from `path`.

    Args:
        path: of a model folder; of a file of weights, which has a part together with the model of its run; or of a
            combination, whose members have fingerprints of their own.

    Raises:
        ModelFolderError: if it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        for name, file in sorted(_contents(path).items()):
            with file.open("rb") as opened:
                digest.update(f"{name} {hashlib.file_digest(opened, 'sha256').hexdigest()} ".encode())
    except OSError as error:
        raise ModelFolderError(f"{path}: cannot be read: {error}") from None
    return digest.hexdigest()


def _contents(path: Path) -> dict[str, Path]:
    """Return the files that have a part in the outputs of what is loaded from `path`, by their place in it."""
    folder, weights = _parts(path)
    if not folder.is_dir():
        return {"": path}
    silent = {_PROVENANCE, _CARD}
    files = [file for pattern in FILES for file in folder.glob(pattern) if file.name not in silent]
    contents = {str(file.relative_to(folder)): file for file in files}
    return contents if weights != path else {**contents, _WEIGHTS: weights}


def _parts(path: Path) -> tuple[Path, Path]:
    """Return the model folder and the file of weights that `path` stands for.

    Raises:
        ModelFolderError: if it is a file of weights without the model of its run.
    """
    if path.suffix != ".safetensors" or not path.is_file():
        return path, path / _WEIGHTS
    folder = path.resolve().parent.parent / "model"
    if not folder.is_dir():
        raise ModelFolderError(
            f"{path}: is a file of weights, but {folder}, the model of its run, is not there; "
            "name a model folder, or a file in the folder `best` of a run"
        )
    return folder, path


def _check_replaceable(path: Path) -> None:
    """Never remove what is not a model: a name given in haste may be that of other work.

    Raises:
        OutputError: if something else than a model or an empty folder is at `path`.
    """
    if not path.exists():
        return
    if not path.is_dir():
        raise OutputError(f"{path}: is a file; choose a new folder")
    with explain_os_errors(path):
        empty = not any(path.iterdir())
    if not empty:
        try:
            _read_config(path)
        except ModelFolderError:
            raise OutputError(f"{path}: holds something else than a postedit model; choose a new folder") from None


def _read_config(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise ModelFolderError(
            f"{path}: {'is a file, not a model folder' if path.exists() else 'no such model folder'}"
        )
    values = _read_json(path / _CONFIG)
    if isinstance(values.get("decode"), dict):  # the section's former name
        values["search"] = with_present_names(values.pop("decode"))
    missing = [key for key in ("format", "architecture", "model", "search") if key not in values]
    if missing:
        raise ModelFolderError(f"{path / _CONFIG}: not a postedit model: {', '.join(missing)} missing")
    if values["format"] != _FORMAT:
        raise ModelFolderError(
            f"{path / _CONFIG}: format {values['format']!r} is not known to postedit {postedit.__version__} "
            f"(it reads {_FORMAT}); install a version that knows it"
        )
    for key in ("model", "search"):
        if not isinstance(values[key], dict):
            raise ModelFolderError(f"{path / _CONFIG}: {key} must hold options, not {values[key]!r}")
    return values


def _load_weights(model: Seq2Seq, path: Path, architecture: str) -> None:
    if not path.exists():
        raise ModelFolderError(f"{path}: missing; the folder is incomplete, copy or train the model again")
    try:
        with safe_open(str(path), framework="pt") as file:
            found = (file.metadata() or {}).get("architecture", architecture)
        if found != architecture:
            raise ModelFolderError(f'{path}: holds weights of "{found}", but config.json says "{architecture}"')
        load_model_tensors(model, load_tensors(path))
    except (SafetensorError, OSError) as error:  # of safe_open
        raise ModelFolderError(f"{path}: truncated or damaged ({error}); copy or train the model again") from None
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:500]
        raise ModelFolderError(f"{path}: these weights do not fit the sizes in config.json: {reason}") from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelFolderError(f"{path}: missing; is this a model folder?") from None
    except (OSError, ValueError) as error:
        raise ModelFolderError(f"{path}: cannot be read: {error}") from None
    if not isinstance(values, dict):
        raise ModelFolderError(f"{path}: must hold a JSON object")
    return values


def _json(values: Mapping[str, Any]) -> str:
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"
