"""SHA-256 digests of files, kept beside the files in `sha256sum` format to detect flipped bits.

The first line is a comment with the digest of the other lines, so a flipped bit in the digests themselves is detected
too. `sha256sum --check` also reads these files.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from postedit.core.errors import DataError
from postedit.core.files import atomic_write, explain_os_errors, reason_of, sha256_of

CHECKSUMS: Final = "SHA256SUMS"
"""Name of the file in a folder that records the digests of all other files in the folder and below it."""

_SEAL: Final = "# sha256 of the lines below: "
_LONGEST: Final = 1 << 26  # bytes of a file of digests: about half a million files


def record_checksums(path: Path, files: Iterable[Path]) -> None:
    """Write the digests of `files`, which must be in the folder of `path` or below it, to `path`.

    Raises:
        OutputError: if a file cannot be read, or the digests cannot be written.
    """
    with explain_os_errors(path):
        digests = {file.relative_to(path.parent).as_posix(): sha256_of(file) for file in files}
    lines = "".join(_line(name, digest) for name, digest in sorted(digests.items()))
    with atomic_write(path, "wb") as out:
        out.write(f"{_SEAL}{_digest(lines)}\n{lines}".encode("utf-8", "surrogateescape"))


def forget_checksums(path: Path) -> None:
    """Remove the file of digests `path`, if it exists, before the files that it describes are replaced.

    Raises:
        OutputError: if it cannot be removed.
    """
    with explain_os_errors(path):
        path.unlink(missing_ok=True)


def record_folder(folder: Path) -> None:
    """Write the digests of all files in a folder, apart from hidden files and locks, to its `SHA256SUMS`.

    Raises:
        OutputError: if a file cannot be read, or the digests cannot be written.
    """
    record_checksums(folder / CHECKSUMS, (file for file in lasting_files(folder) if file != folder / CHECKSUMS))


def lasting_files(folder: Path) -> list[Path]:
    """Return the files in a folder and below it, sorted, without locks and without hidden files and folders."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts))


def read_checksums(path: Path) -> dict[Path, str]:
    """Return the digest of each file that `path` records.

    Raises:
        DataError: if the file of digests cannot be read, or is damaged.
    """
    try:
        if path.stat().st_size > _LONGEST:
            raise ValueError
        seal, _, lines = path.read_bytes().decode("utf-8", "surrogateescape").partition("\n")
        digests = dict(map(_parsed, lines.split("\n")[:-1]))
        if seal != _SEAL + _digest(lines) or any(name.startswith("/") or ".." in Path(name).parts for name in digests):
            raise ValueError
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {reason_of(error)}") from None
    except ValueError:
        raise DataError(f"{path}: damaged, or not written by postedit") from None
    return {path.parent / name: digest for name, digest in digests.items()}


def damaged_files(digests: Mapping[Path, str]) -> dict[Path, str]:
    """Return a description of the damage for each file that does not have its recorded digest."""
    found = {path: _damage(path, digest) for path, digest in digests.items()}
    return {path: damage for path, damage in found.items() if damage is not None}


def recorded_damage(folder: Path) -> str | None:
    """Describe the damage to a folder according to its `SHA256SUMS`; None if it is intact or has no such file."""
    if not (folder / CHECKSUMS).exists():
        return None
    try:
        damaged = damaged_files(read_checksums(folder / CHECKSUMS))
    except DataError as error:
        return str(error)
    return "; ".join(f"{path}: {damage}" for path, damage in damaged.items()) or None


def _damage(path: Path, digest: str) -> str | None:
    if not path.exists():
        return "missing"
    if not path.is_file():
        return "no regular file"
    try:
        return None if sha256_of(path) == digest else "not the content that was written"
    except OSError as error:
        return f"cannot be read: {reason_of(error)}"


def _line(name: str, digest: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{'' if escaped == name else chr(92)}{digest}  {escaped}\n"


def _parsed(line: str) -> tuple[str, str]:
    """Return the name and the digest in a line.

    Raises:
        ValueError: if the line does not have a name and a digest.
    """
    digest, _, name = line.partition("  ")
    if digest.startswith("\\"):
        digest, name = (
            digest[1:],
            name.replace("\\\\", "\0").replace("\\n", "\n").replace("\\r", "\r").replace("\0", "\\"),
        )
    if not name or len(bytes.fromhex(digest)) != hashlib.sha256().digest_size:
        raise ValueError
    return name, digest


def _digest(lines: str) -> str:
    return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()
