"""Commands that are refused, and the one that edits the seven lines of the fixture `files`."""

from pathlib import Path
from typing import Any

Files = tuple[Path, Path, Path]

EXPECTED = "".join(f"mt {n}!\n" for n in range(7))


def options(files: Files, *more: object) -> list[object]:
    src, mt, out = files
    return ["edit", "MODEL", "--src", src, "--mt", mt, "--out", out, *more]


def search(*assignments: str) -> list[str]:
    """Return options of search as they are set."""
    return [part for assignment in assignments for part in ("--set", f"search.{assignment}")]


def refused(result: Any) -> str:
    """Return why a command was refused, which it must have been."""
    assert result.exit_code == 1
    return str(result.stderr)
