"""Files of model folders: their names, configuration, provenance and fingerprints.

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
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from pydantic import ConfigDict, Field, field_validator

import postedit
from postedit.core.checksums import CHECKSUMS
from postedit.core.config import Config, check_config
from postedit.core.errors import ModelFolderError, OutputError
from postedit.core.files import explain_os_errors, load_json, reason_of, sha256_of
from postedit.core.model import Vocabularies
from postedit.core.search_config import with_present_names
from postedit.text.processor import TextProcessor

FORMAT: Final = 1
CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "README.md"
PROVENANCE: Final = "provenance.json"
NOTICE: Final = "NOTICE"
TEXT, DRAFT = "text", "draft"
CHECKPOINT: Final = ".checkpoint"

_OWN_FILES: Final = (
    CONFIG,
    WEIGHTS,
    f"{TEXT}/*.json",
    f"{TEXT}/{CHECKSUMS}",
    PROVENANCE,
    CARD,
    NOTICE,
    CHECKSUMS,
)

CHAIN: Final = "chain"  # the architecture that the config.json of a chain names
CHAINED: Final = ("first", "second")  # names of the model folders in a chain
ONE_MODEL: Final = (*_OWN_FILES, *(f"{DRAFT}/{pattern}" for pattern in _OWN_FILES))
FILES: Final = (*ONE_MODEL, *(f"{name}/{pattern}" for name in CHAINED for pattern in ONE_MODEL))
"""Patterns of the files of a model folder."""
COPIED_OF_ONE: Final = (*ONE_MODEL, CHECKPOINT, f"{DRAFT}/{CHECKPOINT}")
COPIED: Final = (*COPIED_OF_ONE, *(f"{name}/{pattern}" for name in CHAINED for pattern in COPIED_OF_ONE))
"""Patterns of the files in a copy on the same machine, which include the paths of frozen checkpoints."""

_NO_EFFECT: Final = frozenset({PROVENANCE, CARD, NOTICE, CHECKSUMS})  # files that do not affect outputs


def read_config(path: Path) -> dict[str, Any]:
    """Return the values in the config.json of a model folder, of any architecture.

    Raises:
        ModelFolderError: if the folder or the file is missing, damaged, or of another format version.
    """
    if not path.is_dir():
        fault = "is a file, not a model folder" if path.exists() else "no such model folder"
        raise ModelFolderError(f"{path}: {fault}")
    if not (path / CONFIG).exists() and (path / "model" / CONFIG).exists():
        raise ModelFolderError(f"{path}: is the folder of a run; its model is {path / 'model'}")
    values = read_json(path / CONFIG)
    if isinstance(values.get("decode"), dict):  # the section's former name
        values["search"] = with_present_names(values.pop("decode"))
    missing = [key for key in ("format", "architecture", "model", "search") if key not in values]
    if missing:
        raise ModelFolderError(f"{path / CONFIG}: not a postedit model: {', '.join(missing)} missing")
    if values["format"] != FORMAT:
        raise ModelFolderError(
            f"{path / CONFIG}: format {values['format']!r} is not known to postedit {postedit.__version__} "
            f"(it reads {FORMAT}); install a version that knows it"
        )
    for key in ("model", "search"):
        if not isinstance(values[key], dict):
            raise ModelFolderError(f"{path / CONFIG}: {key} must hold options, not {values[key]!r}")
    return values


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


def architecture_of(path: Path) -> str | None:
    """Return the name of the architecture of a model folder; None if its configuration cannot be read."""
    try:
        return str(read_config(path)["architecture"])
    except ModelFolderError:
        return None


def vocabularies_of(path: Path) -> Vocabularies:
    """Return the vocabularies of a neural model.

    Raises:
        ModelFolderError: if the model is missing, or its text processing is damaged.
    """
    return TextProcessor.load(parts_of(path)[0] / TEXT).vocabularies


def target_vocabulary(path: Path) -> str:
    """Return the fingerprint of the target vocabulary of a neural model.

    Raises:
        ModelFolderError: if the model is missing, or its text processing is damaged.
    """
    return vocabularies_of(path).target.fingerprint


class _Record(Config):
    """What is read of a record; there may be more."""

    model_config = ConfigDict(extra="ignore")


class _Start(_Record):
    corpora: dict[str, str] = Field({}, description="fingerprints by name")


class _Provenance(_Record):
    """What is read of the provenance of a model."""

    dev: dict[str, Any] = Field({}, description="scores by name")
    environments: list[_Start] = Field([], description="starts of the training")
    triplets: int = Field(0, description="number of triplets of a phrase-based model")

    @field_validator("dev")
    @classmethod
    def _has_scores(cls, dev: dict[str, Any]) -> dict[str, Any]:
        if any(not isinstance(dev.get(name), int | float | None) for name in ("ter", "do_nothing_ter")):
            raise ValueError("ter and do_nothing_ter must be numbers")
        return dev


def read_provenance(folder: Path) -> dict[str, Any]:
    """Return how the model in a folder was made, or an empty dictionary if that is not recorded.

    Raises:
        ModelFolderError: if the file is damaged, or not a JSON object, or its scores or corpora are not what they must
            be.
    """
    path = folder / PROVENANCE
    values = read_json(path) if path.exists() else {}
    _, problems = check_config(_Provenance, values)
    if problems:
        raise ModelFolderError(f"{path}: {'; '.join(problems)}; copy the model folder again")
    return values


def read_notice(folder: Path) -> str | None:
    """Return the licences of the texts that a model was trained on; None if its folder does not have them.

    Raises:
        ModelFolderError: if they cannot be read.
    """
    path = folder / NOTICE
    try:
        return path.read_text(encoding="utf-8") if path.exists() else None
    except OSError as error:
        raise ModelFolderError(f"{path}: cannot be read: {reason_of(error)}") from None
    except UnicodeDecodeError:
        raise ModelFolderError(f"{path}: is not UTF-8; save it as UTF-8") from None


def write_notice(folder: Path, notice: str | None) -> None:
    """Write the licences of the texts that a model was trained on, unless `notice` is None."""
    if notice is not None:
        (folder / NOTICE).write_text(notice, encoding="utf-8")


def copy_files(model: Path, folder: Path, patterns: Iterable[str]) -> None:
    """Copy the files of a model folder whose paths in it match one of the patterns to another folder."""
    for file in (file for pattern in patterns for file in model.glob(pattern)):
        target = folder / file.relative_to(model)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


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


def parts_of(path: Path) -> tuple[Path, Path]:
    """Return the model folder and the weights file that `path` stands for.

    Raises:
        ModelFolderError: if it is a weights file, but the model folder of its run is missing.
    """
    if path.suffix != ".safetensors" or not path.is_file():
        return path, path / WEIGHTS
    folder = path.resolve().parent.parent / "model"
    if not folder.is_dir():
        raise ModelFolderError(
            f"{path}: is a file of weights, but {folder}, the model of its run, is not there; "
            "name a model folder, or a file in the folder `best` of a run"
        )
    return folder, path


def identity_of(folder: Path) -> tuple[int, int, int] | None:
    """Return a value that distinguishes a folder from others that have had its name; None if it does not exist."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns  # the time is needed because inode numbers are reused


def fingerprint(path: Path) -> str:
    """Return a SHA-256 digest, in hexadecimal, of the model that `ModelFolder.load` reads, without its search options.

    Raises:
        ModelFolderError: if there is no model, or one of its files cannot be read.
    """
    folder, weights = parts_of(path)
    values = read_config(folder)
    if values["architecture"] == CHAIN:
        raise ModelFolderError(f"{path}: is a chain, which cannot be in another editor; name one of its models")
    own = [values[name] for name in ("architecture", "model", "text", "frozen_sha256") if name in values]
    digest = hashlib.sha256(json.dumps(own, sort_keys=True).encode())
    for file in [weights, *sorted((folder / TEXT).glob("*.json"))]:
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
    folder, weights = parts_of(path)
    contents = {"": path}
    if folder.is_dir():
        files = [file for pattern in FILES for file in folder.glob(pattern) if file.name not in _NO_EFFECT]
        contents = {str(file.relative_to(folder)): file for file in files}
        if weights == path:
            contents[WEIGHTS] = weights
    try:
        parts = [f"{name} {sha256_of(file)} " for name, file in sorted(contents.items())]
    except OSError as error:
        raise ModelFolderError(f"{path}: cannot be read: {reason_of(error)}") from None
    return hashlib.sha256("".join(parts).encode()).hexdigest()
