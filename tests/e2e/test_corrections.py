"""A memory of corrections from the first to the last command, with the model that comes with postedit."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/mlqe-pe.en-zh"
LINES = 4
SIDES = ("src", "mt", "pe")


@pytest.fixture
def postedit(tmp_path: Path) -> Any:
    """Return what runs a command in a folder with some lines, and returns its standard output."""
    for side in SIDES:
        lines = (EXAMPLES / f"dev.{side}").read_text(encoding="utf-8").split("\n")[:LINES]
        (tmp_path / f"x.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def run(*arguments: str, status: int = 0) -> str:
        command = [sys.executable, "-m", "postedit", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout if status == 0 else done.stderr

    return run


@pytest.mark.slow
def test_add_edit_undo_export_delete(postedit: Any, tmp_path: Path) -> None:
    edit = ("edit", "--src", "x.src", "--mt", "x.mt", "--format", "jsonl")
    learn = ("--memory", "memory.db", "--set", "online.rate=0.01", "--set", "online.watched=0")
    fields = ("add", "memory.db", "x", "--project")
    postedit("memory", *fields, "garden")
    first = postedit(*edit, *learn)
    assert first != postedit(*edit)
    assert postedit(*edit, *learn) == first

    postedit("memory", *fields, "kitchen")
    numbers = range(LINES + 1, 2 * LINES + 1)
    assert postedit(*edit, *learn) != first
    for number in numbers:
        postedit("memory", "undo", "memory.db", str(number))
    assert postedit(*edit, *learn) == first

    postedit("memory", "export", "memory.db", "out")
    for side in SIDES:
        assert (tmp_path / f"out.{side}").read_bytes() == (tmp_path / f"x.{side}").read_bytes()

    delete = ("memory", "delete", "memory.db", "--project", "garden")
    assert "add --yes to do it" in postedit(*delete, status=1)
    postedit(*delete, "--yes")
    assert "0 corrections, and 4 undone; edition 2" in postedit("memory", "show", "memory.db")
    assert postedit(*edit, *learn) == postedit(*edit, "--memory", tmp_path.joinpath("memory.db").as_posix())
    word = (tmp_path / "x.pe").read_text(encoding="utf-8").split()[0].encode()
    postedit("memory", "delete", "memory.db", "--project", "kitchen", "--yes")
    assert not any(word in file.read_bytes() for file in tmp_path.glob("memory.db*"))
