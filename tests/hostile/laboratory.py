"""A place where commands read hostile inputs."""

import shutil
from pathlib import Path

import tiny_models
from hostile_cases import write_case
from nursery import Nursery


class Laboratory:
    """A place with a model, where hostile inputs are written and read.

    Commands work four folders below `top`, so that what a path with `..` leads to is seen, too.
    """

    def __init__(self, top: Path, nursery: Nursery) -> None:
        self._top, self.folder, self._nursery = top, top / "a/b/c/d", nursery
        self.folder.mkdir(parents=True)
        tiny_models.nonsense("transference").save(self.folder / "model")

    def problem(self, name: str) -> str | None:
        """Return what is wrong with the end of a command that reads a case; None if nothing is."""
        for old in ("in", "out"):
            shutil.rmtree(self.folder / old, ignore_errors=True)
        (self.folder / "out").mkdir()
        shutil.copytree(self.folder / "model", self.folder / "in/model")
        command = write_case(name, self.folder / "in")
        before = self._state()
        ended = self._nursery.run(command, self.folder, ["disturbances:bounded", 4096, 60])
        if ended.code not in (0, 1, 2) or "Traceback" in ended.stderr or "not enough memory" in ended.stderr:
            return ended.problem
        if ended.code and len(ended.stderr.strip()) < 10:
            return f"exit code {ended.code} without a sentence"
        after = self._state()
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        return f"changed: {sorted(map(str, changed))}" if changed else None

    def _state(self) -> dict[Path, tuple[int, int]]:
        """Return size and time of everything outside the outputs."""
        return {
            path: (path.lstat().st_size, path.lstat().st_mtime_ns)
            for path in self._top.rglob("*")
            if path.is_file() and self.folder / "out" not in path.parents
        }
