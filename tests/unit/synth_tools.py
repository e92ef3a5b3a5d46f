"""Random text, and translators that are small programs."""

import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WORDS = ["ein", "zwei", "drei", "Haus", "Häuser", "geht", "gehen", "nicht", "über", "."]


def sentences(count: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 12))) for _ in range(count)]


def write(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def program(*body: str) -> dict[str, Any]:
    """Return the options of a translator: a program that runs `body` for each `line` of its input."""
    text = "\n".join(
        ["import sys", "for line in sys.stdin:", "    line = line.strip()", *(f"    {each}" for each in body)]
    )
    return {"kind": "command", "command": [sys.executable, "-c", text]}


def refused(result: Any) -> str:
    """Check that a command was refused (exit code 1), and return its error message."""
    assert result.exit_code == 1
    return str(result.stderr)
