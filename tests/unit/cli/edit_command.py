"""The command that edits the seven lines of the fixture `files`."""

from pathlib import Path

Files = tuple[Path, Path, Path]

EXPECTED = "".join(f"mt {n}!\n" for n in range(7))


def options(files: Files, *more: object) -> list[object]:
    src, mt, out = files
    return ["edit", "MODEL", "--src", src, "--mt", mt, "--out", out, *more]


def search(*assignments: str) -> list[str]:
    """Return options of search as they are set."""
    return [part for assignment in assignments for part in ("--set", f"search.{assignment}")]
