"""A memory of corrections from the first to the last command, with the model that comes with postedit."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/faults"))
from nursery import Nursery  # noqa: E402

EXAMPLES = ROOT / "examples/mlqe-pe.en-zh"
LINES = 4
SIDES = ("src", "mt", "pe")


@pytest.fixture
def postedit(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Give what runs a command in a process, in a folder with some lines, and returns its standard output."""
    for side in SIDES:
        lines = (EXAMPLES / f"dev.{side}").read_text(encoding="utf-8").split("\n")[:LINES]
        (tmp_path / f"x.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    with Nursery(tmp_path_factory.mktemp("printed")) as nursery:

        def run(*arguments: str, status: int = 0) -> str:
            ended = nursery.run(arguments, tmp_path)
            assert ended.code == status, ended.problem
            assert "Traceback" not in ended.stderr
            return ended.stdout if status == 0 else ended.stderr

        yield run


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
