"""Fetch release files, and install them where `postedit.releases.catalogue` finds them."""

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Final

import postedit
from postedit.core.checksums import CHECKSUMS, recorded_damage
from postedit.core.errors import DataError, ModelFolderError, OutputError
from postedit.core.files import atomic_folder, reason_of, with_known_home
from postedit.model_files import read_config
from postedit.releases.archive import unpack
from postedit.releases.catalogue import ARCHIVE_ENDING, MODELS_VARIABLE, KnownModel

_SECONDS: Final = 30.0  # timeout without an answer, or without a further byte
_CHUNK: Final = 1 << 16  # bytes of a download between two reports of progress
_ARCHIVE: Final = ".release"  # hidden, so not a file of the model


def _show_nothing(done: int) -> None:
    pass


def fetch(model: KnownModel, origin: str | None = None, show_progress: Callable[[int], None] = _show_nothing) -> bool:
    """Install a model; return False if an undamaged copy of it is here already.

    Either the whole model is installed, or nothing. The next fetch removes what a killed one has left behind.

    Args:
        model: the model to install.
        origin: folder or address of release files, or path or address of one; by default, the folder `releases` of the
            clone that postedit runs from.
        show_progress: called with the number of bytes downloaded so far.

    Raises:
        DataError: if the release file cannot be read, or is not the one that the catalogue lists.
        ModelFolderError: if the file holds no model that this version can read.
        OutputError: if the model cannot be installed.
    """
    if model.file is None or (model.is_here and is_whole(model.folder)):
        return False
    place = _place(model.file, origin)
    target = with_known_home(model.folder, f"set {MODELS_VARIABLE} to another folder")
    try:
        with atomic_folder(target) as folder:
            _install(_content(place, model, show_progress), place, folder)
    except OutputError as error:
        raise OutputError(f"{error} ({MODELS_VARIABLE} names the folder of models)") from None
    return True


def _install(content: bytes, place: str, folder: Path) -> None:
    archive = folder / _ARCHIVE
    archive.write_bytes(content)
    unpack(archive, folder, name=place)
    archive.unlink()
    if not is_whole(folder):
        raise ModelFolderError(f"{place}: holds no complete model; get another release")
    read_config(folder)


def is_whole(folder: Path) -> bool:
    """Return whether all files of a model folder are as they were written, by their checksums."""
    return (folder / CHECKSUMS).exists() and recorded_damage(folder) is None


def _place(file: str, origin: str | None) -> str:
    """Return the path or address of a release file."""
    if origin is None:
        folder = Path(postedit.__file__).resolve().parents[2] / "releases"
        if not folder.is_dir():
            raise DataError(
                f"give --from: a folder or an address that has {file}, such as the folder `releases` of a clone of "
                "postedit, or the file"
            )
        return str(folder / file)
    if _is_address(origin):
        return origin if origin.endswith(ARCHIVE_ENDING) else f"{origin.rstrip('/')}/{file}"
    return str(Path(origin) / file) if Path(origin).is_dir() else origin


def _is_address(place: str) -> bool:
    scheme, separator, _ = place.partition("://")
    if separator and scheme.lower() not in ("http", "https"):
        raise DataError(f"{place}: only addresses that begin with http:// or https:// can be downloaded")
    return bool(separator)


def _content(place: str, model: KnownModel, show_progress: Callable[[int], None]) -> bytes:
    """Return the release file of a model.

    Raises:
        DataError: if the file cannot be read, or is not the one that the catalogue lists.
    """
    content = _downloaded(place, model.bytes, show_progress) if _is_address(place) else _read(Path(place), model.bytes)
    if len(content) != model.bytes:
        fault = "is another file"
        if len(content) < model.bytes:
            fault = "is not complete" if place.endswith(f"/{model.file}") else "is another file, or not complete"
        right = f"the release file of {model.name} is {model.file} ({model.bytes:,} bytes)"
        raise DataError(f"{place}: {fault}: {right}; get all of that one")
    if hashlib.sha256(content).hexdigest() != model.sha256:
        raise DataError(
            f"{place}: is damaged, or was released with another version of postedit: its SHA-256 is not that of "
            f"{model.name}; get it again"
        )
    return content


def _read(path: Path, size: int) -> bytes:
    """Return the first `size` bytes of a file, and one more if it is longer."""
    try:
        with path.open("rb") as file:
            return file.read(size + 1)
    except FileNotFoundError:
        raise DataError(f"{path}: no such release file; give --from another folder, an address, or the file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {reason_of(error)}") from None


def _downloaded(address: str, size: int, show_progress: Callable[[int], None]) -> bytes:
    """Return the first `size` bytes of the file at an address, and one more if it is longer."""
    content = bytearray()
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:
            show_progress(0)
            while chunk := answer.read(min(_CHUNK, size + 1 - len(content))):
                content += chunk
                show_progress(len(content))
    except urllib.error.HTTPError as error:
        raise DataError(
            f"{address}: the server does not give this file (HTTP {error.code}); check the address, or try again later"
        ) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = " ".join(str(getattr(error, "reason", None) or error).split())
        raise DataError(
            f"{address}: cannot be downloaded ({reason}); check the network, or get the file on another machine and "
            "give its path with --from"
        ) from None
    return bytes(content)
