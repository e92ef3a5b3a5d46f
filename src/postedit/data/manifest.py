"""The account of what went into a corpus: files with their sums, triplets, and their share of an epoch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from postedit.core.files import sha256_of
from postedit.data.compression import find_file
from postedit.data.corpus import Corpus
from postedit.data.text_paths import is_far
from postedit.data.triplets import DataConfig, TripletFiles

MANIFEST: Final = "manifest.json"


def manifest(data: DataConfig, corpus: Corpus) -> dict[str, Any]:
    """Return the account of the training corpus made from `data`, and of the files of the dev set."""
    sources = [
        {
            "name": files.name,
            "triplets": part.rows,
            "weight": files.weight,
            "from_epoch": files.from_epoch,
            "until_epoch": files.until_epoch,
            "files": _files(files),
        }
        for files, part in zip(data.train, corpus.parts)
    ]
    return {"corpus": corpus.fingerprint, "train": sources, "dev": {"name": data.dev.name, "files": _files(data.dev)}}


def _files(files: TripletFiles) -> dict[str, dict[str, Any]]:
    """Return what there is to know of the files on this machine."""
    return {str(path): state(path) for path in map(find_file, files.paths) if not is_far(path)}


def state(path: Path) -> dict[str, Any]:
    """Return size, time and SHA-256 sum of a file."""
    found = path.stat()
    return {"bytes": found.st_size, "modified": found.st_mtime, "sha256": sha256_of(path)}


def changed_files(account: dict[str, Any]) -> list[str]:
    """Return the files of an account whose content is another now, or which are there no more.

    A file of the same size and time is not read.
    """
    sources: Sequence[dict[str, Any]] = [*account["train"], account["dev"]]
    known = {name: before for source in sources for name, before in source["files"].items()}
    return [name for name, before in known.items() if _is_changed(Path(name), before)]


def _is_changed(path: Path, before: dict[str, Any]) -> bool:
    try:
        found = path.stat()
        if (found.st_size, found.st_mtime) == (before["bytes"], before["modified"]):
            return False
        return bool(sha256_of(path) != before["sha256"])
    except OSError:
        return True
