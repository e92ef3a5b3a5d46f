"""Model folders, which hold all files of a model; reading them never executes code from them.

config.json         architecture, sizes, search settings, format version
model.safetensors   weights
text/               subword vocabularies and truecasing
provenance.json     data, options and versions of its training, and its scores on the dev set
README.md           model card
NOTICE              licences of the texts that it was trained on, if provided
SHA256SUMS          digests of the files, see `postedit.core.checksums`
draft/              model folder of the first stage, if there is one; this model reads its output as mt
first/, second/     in a chain, in place of weights and text: its two model folders, see `postedit.editing.chain_folder`
.checkpoint         path of the checkpoint with the frozen weights that are not stored here, if any; never published
"""

import hashlib
import json
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import safe_open
from torch import Tensor

import postedit
from postedit.core.checksums import CHECKSUMS, record_folder
from postedit.core.config import Config, check_config
from postedit.core.errors import ModelFolderError, OutputError, RecipeError
from postedit.core.files import atomic_folder, explain_os_errors, load_json, reason_of, save_json, sha256_of
from postedit.core.model import Seq2Seq, Vocabularies
from postedit.core.registry import Architecture
from postedit.core.search_config import SearchConfig, with_present_names
from postedit.core.tensor_files import (
    check_finite,
    check_model_tensors,
    check_sha256,
    explain_tensor_errors,
    load_model_tensors,
    load_tensors,
    model_tensors,
    save_tensors,
)
from postedit.models import ARCHITECTURES
from postedit.text.processor import TextProcessor

_FORMAT: Final = 1
_MOST_READS: Final = 5  # attempts to read a folder that is replaced while it is read
_LARGEST: Final = 10**9  # of a size in config.json, at most
_MOST_LAYERS: Final = 1000  # more only if there are as many tensors; layers may share theirs
_BETWEEN_READS: Final = 0.01  # seconds between attempts
_CONFIG, _WEIGHTS, _CARD = "config.json", "model.safetensors", "README.md"
PROVENANCE: Final = "provenance.json"
_NOTICE: Final = "NOTICE"
_TEXT, _DRAFT = "text", "draft"
CHECKPOINT: Final = ".checkpoint"

_OWN_FILES: Final = (
    _CONFIG,
    _WEIGHTS,
    f"{_TEXT}/*.json",
    f"{_TEXT}/{CHECKSUMS}",
    PROVENANCE,
    _CARD,
    _NOTICE,
    CHECKSUMS,
)

CHAIN: Final = "chain"  # the architecture that the config.json of a chain names
CHAINED: Final = ("first", "second")  # names of the model folders in a chain
ONE_MODEL: Final = (*_OWN_FILES, *(f"{_DRAFT}/{pattern}" for pattern in _OWN_FILES))
FILES: Final = (*ONE_MODEL, *(f"{name}/{pattern}" for name in CHAINED for pattern in ONE_MODEL))
"""Patterns of the files of a model folder."""
COPIED_OF_ONE: Final = (*ONE_MODEL, CHECKPOINT, f"{_DRAFT}/{CHECKPOINT}")
COPIED: Final = (*COPIED_OF_ONE, *(f"{name}/{pattern}" for name in CHAINED for pattern in COPIED_OF_ONE))
"""Patterns of the files in a copy on the same machine, which include the paths of frozen checkpoints."""

_NO_EFFECT: Final = frozenset({PROVENANCE, _CARD, _NOTICE, CHECKSUMS})  # files that do not affect outputs

_CARD_TEXT: Final = """\
---
library_name: postedit
tags: [automatic-post-editing, translation]
---
# {name}

Automatic post-editing model ({summary}; {paper}), made with postedit {version}.

```python
from postedit import PostEditor

editor = PostEditor.load("path/to/this/folder")
print({call}[0].text)
```

Scores on the dev set, which also chose the weights:

{scores}

`provenance.json` lists the training data and the recipe.
"""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model with its text processing and everything else that its folder stores.

    `first_stage` is the model whose output it reads as mt, or None; `notice` has the licences of its training texts.
    """

    architecture: Architecture
    config: Config
    search: SearchConfig
    model: Seq2Seq
    processor: TextProcessor
    provenance: Mapping[str, Any]
    first_stage: "ModelFolder | None" = None
    notice: str | None = None

    def save(self, path: Path, stored: torch.dtype = torch.float32) -> None:
        """Write the folder, with weights of type `stored`; a model at `path` is replaced once everything is written.

        Raises:
            OutputError: if there is something other than a model at `path`, it cannot be written, or the disk is full.
        """
        check_replaceable(path)
        with atomic_folder(path) as folder:
            self._write(folder, stored)

    def _write(self, folder: Path, stored: torch.dtype) -> None:
        config: dict[str, Any] = {
            "format": _FORMAT,
            "postedit": postedit.__version__,
            "architecture": self.architecture.name,
            "model": self.config.model_dump(mode="json"),
            "search": self.search.model_dump(mode="json"),
            "draft": self.first_stage is not None,
        }
        (folder / _CARD).write_text(self._card(), encoding="utf-8")
        write_notice(folder, self.notice)
        (folder / _TEXT).mkdir()
        self.processor.save(folder / _TEXT)
        tensors = {
            name: tensor.to(stored) if tensor.is_floating_point() else tensor
            for name, tensor in model_tensors(self.model).items()
        }
        save_tensors(folder / _WEIGHTS, tensors, {"architecture": self.architecture.name})
        config["weights_sha256"] = sha256_of(folder / _WEIGHTS)
        if self.model.frozen_checkpoint is not None:
            config["frozen_sha256"] = self.model.frozen_sha256
            if Path(self.model.frozen_checkpoint).is_dir():
                place = Path(self.model.frozen_checkpoint).resolve()
                (folder / CHECKPOINT).write_text(f"{place}\n", encoding="utf-8")
        save_json(folder / PROVENANCE, self.provenance)
        save_json(folder / _CONFIG, config)
        if self.first_stage is not None:
            (folder / _DRAFT).mkdir()
            self.first_stage._write(folder / _DRAFT, stored)
        record_folder(folder)

    @classmethod
    @torch.inference_mode(False)  # applications may call this in inference mode, whose tensors can never be trained
    def load(cls, path: Path, device: torch.device | str = "cpu") -> "ModelFolder":
        """Read a model folder; a weights file RUN/best/*.safetensors is read with the rest of RUN/model.

        A folder that is replaced while it is read, as training does when it finds a better model, is read again.

        Raises:
            ModelFolderError: if something is missing, damaged, or not what config.json says.
        """
        folder, weights = _parts(path)
        for _ in range(_MOST_READS - 1):
            before = _identity(folder)
            try:
                found = cls._load(folder, weights, device)
            except ModelFolderError:
                if before is not None and _identity(folder) == before:
                    raise
            else:
                if _identity(folder) == before:
                    return found
            if before is None:  # perhaps the new folder has not been renamed yet
                time.sleep(_BETWEEN_READS)
        return cls._load(folder, weights, device)

    @classmethod
    def _load(cls, path: Path, weights: Path, device: torch.device | str) -> "ModelFolder":
        values = read_config(path)
        if values["architecture"] == CHAIN:
            raise ModelFolderError(f"{path}: is a chain of two models; name one of them, as {path / CHAINED[0]}")
        try:
            architecture = ARCHITECTURES[str(values["architecture"])]
        except RecipeError as error:
            raise ModelFolderError(f"{path / _CONFIG}: {error}; if another package adds it, install that") from None
        config, problems = check_config(architecture.config_class, values["model"], "model.")
        search, more = check_config(SearchConfig, values["search"], "search.")
        if config is None or search is None:
            raise ModelFolderError(f"{path / _CONFIG}: {'; '.join(problems + more)}")
        processor = TextProcessor.load(path / _TEXT)
        tensors = _read_weights(weights, architecture.name)
        _check_sizes(path / _CONFIG, config, len(tensors))
        try:
            # Check shapes before allocating memory for the sizes in config.json.
            check_model_tensors(architecture.build_on_meta(config, processor.vocabularies), tensors)
            model = architecture.build(config, processor.vocabularies)
        except ModelFolderError as error:
            raise ModelFolderError(f"{weights}: {error}") from None
        except ValueError as error:  # incompatible sizes; RecipeError is a subclass
            raise ModelFolderError(f"{path / _CONFIG}: {error}") from None
        except RuntimeError as error:
            if "overflow" not in str(error):
                raise
            raise ModelFolderError(f"{path / _CONFIG}: has sizes that no model has ({error})") from None
        if model.frozen_checkpoint is not None:  # before loading the adapters, which would change its outputs
            _load_frozen_weights(path, model, values.get("frozen_sha256"))
        load_model_tensors(model, tensors)
        is_own = weights.resolve() == (path / _WEIGHTS).resolve()
        if is_own and "weights_sha256" in values:
            check_sha256(weights, str(values["weights_sha256"]))
        else:
            check_finite(weights, tensors)
        provenance = read_provenance(path)
        if not is_own:
            provenance.pop("dev", None)  # the scores of other weights
        model = model.to(device).eval().requires_grad_(False)
        first_stage = cls.load(path / _DRAFT, device) if values.get("draft", False) else None
        notice = read_notice(path)
        return cls(architecture, config, search, model, processor, provenance, first_stage, notice)

    def worse_than_input(self) -> str | None:
        """Return a warning if the dev set had a lower TER before the model edited it, else None.

        A model that does not read mt, such as a first stage, gets no warning, because it translates and does not edit.
        """
        dev = self.provenance.get("dev", {})
        ter, unedited = dev.get("ter"), dev.get("do_nothing_ter")
        if "mt" not in self.model.spec.inputs or ter is None or unedited is None or ter <= unedited:
            return None
        what = "unedited MT" if self.first_stage is None else "the drafts of its first stage"
        return f"its outputs had TER {ter:.1f} on the dev set, worse than {unedited:.1f} of {what}"

    def _card(self) -> str:
        needs_mt = "mt" in self.model.spec.inputs and self.first_stage is None
        return _CARD_TEXT.format(
            name=self.architecture.name,
            summary=self.architecture.summary,
            paper=self.architecture.paper,
            version=postedit.__version__,
            call='editor.edit(src=["..."], mt=["..."])' if needs_mt else 'editor.edit(src=["..."])',
            scores=card_scores(self.provenance),
        )


def _check_sizes(path: Path, config: Config, tensors: int) -> None:
    """Check that a model of the sizes in its configuration, at `path`, can be made, even without memory for its values.

    Raises:
        ModelFolderError: if a size is that of no model.
    """
    for name, value in config:
        most = max(tensors, _MOST_LAYERS) if name.startswith("layers") else _LARGEST
        if isinstance(value, int) and value > most:
            raise ModelFolderError(f"{path}: model.{name}: must be at most {most:,}")


def card_scores(provenance: Mapping[str, Any]) -> str:
    """Return the scores on the dev set, as the list of a model card."""
    scores = provenance.get("dev", {}).items()
    shown = [f"- {name}: {value:.2f}" if isinstance(value, float) else f"- {name}: {value}" for name, value in scores]
    return "\n".join(shown or ["- not recorded"])


def _load_frozen_weights(path: Path, model: Seq2Seq, sha256: object) -> None:
    """Load the weights that the model folder `path` does not have from the checkpoint that its adapters modify.

    Raises:
        ModelFolderError: if they cannot be loaded, or are not those that the adapters were trained with.
    """
    assert model.frozen_checkpoint is not None
    noted = path / CHECKPOINT
    name = model.frozen_checkpoint
    try:
        if noted.exists():
            name = noted.read_text(encoding="utf-8").strip()
        model.load_frozen_weights(name)
    except (OSError, UnicodeDecodeError, RecipeError) as error:
        raise ModelFolderError(
            f"{path}: has adapters alone; the weights of {model.frozen_checkpoint}, which they change, cannot be "
            f"loaded ({error}); write the path of that checkpoint into {noted}"
        ) from None
    if model.frozen_sha256 != sha256:
        raise ModelFolderError(
            f"{path}: has adapters of other weights than those of {name}; write the path of the checkpoint that they "
            f"were trained with into {noted}"
        )


def read_provenance(folder: Path) -> dict[str, Any]:
    """Return how the model in a folder was made, or an empty dictionary if that is not recorded.

    Raises:
        ModelFolderError: if the file is damaged, or not a JSON object.
    """
    path = folder / PROVENANCE
    return read_json(path) if path.exists() else {}


def copy_files(model: Path, folder: Path, patterns: Iterable[str]) -> None:
    """Copy the files of a model folder whose paths in it match one of the patterns to another folder."""
    for file in (file for pattern in patterns for file in model.glob(pattern)):
        target = folder / file.relative_to(model)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def read_notice(folder: Path) -> str | None:
    """Return the licences of the texts that a model was trained on; None if its folder does not have them.

    Raises:
        ModelFolderError: if they cannot be read.
    """
    path = folder / _NOTICE
    try:
        return path.read_text(encoding="utf-8") if path.exists() else None
    except OSError as error:
        raise ModelFolderError(f"{path}: cannot be read: {reason_of(error)}") from None
    except UnicodeDecodeError:
        raise ModelFolderError(f"{path}: is not UTF-8; save it as UTF-8") from None


def write_notice(folder: Path, notice: str | None) -> None:
    """Write the licences of the texts that a model was trained on, unless `notice` is None."""
    if notice is not None:
        (folder / _NOTICE).write_text(notice, encoding="utf-8")


def fingerprint(path: Path) -> str:
    """Return a SHA-256 digest, in hexadecimal, of the model that `ModelFolder.load` reads, without its search options.

    Raises:
        ModelFolderError: if there is no model, or one of its files cannot be read.
    """
    folder, weights = _parts(path)
    values = read_config(folder)
    if values["architecture"] == CHAIN:
        raise ModelFolderError(f"{path}: is a chain, which cannot be in another editor; name one of its models")
    own = [values[name] for name in ("architecture", "model", "text", "frozen_sha256") if name in values]
    digest = hashlib.sha256(json.dumps(own, sort_keys=True).encode())
    for file in [weights, *sorted((folder / _TEXT).glob("*.json"))]:
        try:
            digest.update((b"" if file == weights else file.name.encode()) + bytes.fromhex(sha256_of(file)))
        except OSError as error:
            raise ModelFolderError(f"{file}: cannot be read: {reason_of(error)}") from None
    return digest.hexdigest()


def content_fingerprint(path: Path) -> str:
    """Return a SHA-256 digest, in hexadecimal, of all files that affect outputs.

    For a model folder, these are its files; for a weights file, the file and the model folder of its run; for the file
    of a combination, the file itself, as its members have their own fingerprints.

    Raises:
        ModelFolderError: if a file cannot be read.
    """
    folder, weights = _parts(path)
    contents = {"": path}
    if folder.is_dir():
        files = [file for pattern in FILES for file in folder.glob(pattern) if file.name not in _NO_EFFECT]
        contents = {str(file.relative_to(folder)): file for file in files}
        if weights == path:
            contents[_WEIGHTS] = weights
    try:
        parts = [f"{name} {sha256_of(file)} " for name, file in sorted(contents.items())]
    except OSError as error:
        raise ModelFolderError(f"{path}: cannot be read: {reason_of(error)}") from None
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def _identity(folder: Path) -> tuple[int, int, int] | None:
    """Return a value that distinguishes a folder from others that have had its name; None if it does not exist."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns  # the time is needed because inode numbers are reused


def _parts(path: Path) -> tuple[Path, Path]:
    """Return the model folder and the weights file that `path` stands for.

    Raises:
        ModelFolderError: if it is a weights file, but the model folder of its run is missing.
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


def check_replaceable(path: Path) -> None:
    """Raise an OutputError if `path` exists and is neither a model folder nor empty, since it may be other work."""
    if path.exists() and not path.is_dir():
        raise OutputError(f"{path}: is a file; choose a new folder")
    with explain_os_errors(path):
        empty = not path.exists() or not any(path.iterdir())
    if not empty:
        try:
            read_config(path)
        except ModelFolderError:
            raise OutputError(f"{path}: holds something else than a postedit model; choose a new folder") from None


def read_config(path: Path) -> dict[str, Any]:
    """Return the values in the config.json of a model folder, of any architecture.

    Raises:
        ModelFolderError: if the folder or the file is missing, damaged, or of another format version.
    """
    if not path.is_dir():
        fault = "is a file, not a model folder" if path.exists() else "no such model folder"
        raise ModelFolderError(f"{path}: {fault}")
    if not (path / _CONFIG).exists() and (path / "model" / _CONFIG).exists():
        raise ModelFolderError(f"{path}: is the folder of a run; its model is {path / 'model'}")
    values = read_json(path / _CONFIG)
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


def _read_weights(path: Path, architecture: str) -> dict[str, Tensor]:
    if not path.exists():
        raise ModelFolderError(f"{path}: missing; the folder is incomplete, copy or train the model again")
    with explain_tensor_errors(path), safe_open(str(path), framework="pt") as file:
        found = (file.metadata() or {}).get("architecture", architecture)
    if found != architecture:
        raise ModelFolderError(f'{path}: holds weights of "{found}", but config.json says "{architecture}"')
    return load_tensors(path)


def architecture_of(path: Path) -> str | None:
    """Return the name of the architecture of a model folder; None if its configuration cannot be read."""
    try:
        return str(read_config(path)["architecture"])
    except ModelFolderError:
        return None


def target_vocabulary(path: Path) -> str:
    """Return the fingerprint of the target vocabulary of a neural model.

    Raises:
        ModelFolderError: if the model is missing, or its text processing is damaged.
    """
    return vocabularies_of(path).target.fingerprint


def vocabularies_of(path: Path) -> Vocabularies:
    """Return the vocabularies of a neural model.

    Raises:
        ModelFolderError: if the model is missing, or its text processing is damaged.
    """
    return TextProcessor.load(_parts(path)[0] / _TEXT).vocabularies


def read_json(path: Path) -> dict[str, Any]:
    """Return the values in a JSON file of a model folder.

    Raises:
        ModelFolderError: if the file is missing, damaged, or not a JSON object.
    """
    try:
        values = load_json(path)
    except FileNotFoundError:
        raise ModelFolderError(f"{path}: missing; is this a model folder?") from None
    except (OSError, ValueError) as error:
        raise ModelFolderError(f"{path}: cannot be read: {reason_of(error)}") from None
    if not isinstance(values, dict):
        raise ModelFolderError(f"{path}: must hold a JSON object")
    return values
