"""The manifest of a corpus: its source files with SHA-256 digests, their numbers of triplets, and sampling weights."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from postedit.core.files import sha256_of
from postedit.data.compression import find_file
from postedit.data.corpus import Corpus
from postedit.data.text_paths import is_far
from postedit.data.triplets import DataConfig

MANIFEST: Final = "manifest.json"


def manifest(data: DataConfig, corpus: Corpus) -> dict[str, Any]:
    """Return the manifest of the training corpus made from `data`, with the files of the dev set and the glossary."""
    sources = [
        {"name": files.name, "triplets": part.rows, **asdict(files.sampling), "files": _files(files.paths)}
        for files, part in zip(data.train, corpus.parts)
    ]
    found: dict[str, Any] = {"corpus": corpus.fingerprint, "train": sources}
    found["dev"] = {"name": data.dev.name, "files": _files(data.dev.paths)}
    if data.glossary is not None:
        found["glossary"] = {"files": _files([Path(data.glossary)])}
    return found


def _files(files: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """Return size in bytes, modification time and SHA-256 digest of each local file, by path; URLs are left out."""
    paths = [path for path in map(find_file, files) if not is_far(path)]
    states = {path: path.stat() for path in paths}
    return {
        str(path): {"bytes": found.st_size, "modified": found.st_mtime, "sha256": sha256_of(path)}
        for path, found in states.items()
    }


def changed_files(manifest: dict[str, Any]) -> list[str]:
    """Return the files of a manifest that are missing, or whose content has changed.

    Files with unchanged size and modification time are not read.
    """
    others = [manifest[name] for name in ("dev", "glossary") if name in manifest]
    sources: Sequence[dict[str, Any]] = [*manifest["train"], *others]
    recorded = {name: state for source in sources for name, state in source["files"].items()}
    return [name for name, state in recorded.items() if _is_changed(Path(name), state)]


def _is_changed(path: Path, recorded: dict[str, Any]) -> bool:
    try:
        found = path.stat()
        if (found.st_size, found.st_mtime) == (recorded["bytes"], recorded["modified"]):
            return False
        return bool(sha256_of(path) != recorded["sha256"])
    except OSError:
        return True
