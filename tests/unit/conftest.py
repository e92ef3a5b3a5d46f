"""Makes the helper modules of this folder importable, and lets models with random weights write invalid text."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def locked() -> Iterator[Callable[[Path], int]]:
    """Return a function that lets another process lock a path for writing, and returns the id of that process."""
    hold = (
        "import pathlib, sys; from postedit.data.resumable_file import lock_output\n"
        "lock = lock_output(pathlib.Path(sys.argv[1])); print(flush=True); input()"
    )
    with ExitStack() as stack:

        def lock(path: Path) -> int:
            command = [sys.executable, "-c", hold, str(path)]
            other = stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            stack.callback(other.kill)
            assert other.stdout is not None
            other.stdout.readline()
            return other.pid

        yield lock


@pytest.fixture(scope="session")
def tiny_folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path with a folder of each tiny model; all share a vocabulary, and tests must not change them."""
    import tiny_models

    path, text = tmp_path_factory.mktemp("tiny"), tiny_models.processor()
    for name in tiny_models.SIZES:
        tiny_models.folder(name, text).save(path / name)
    return path


@pytest.fixture(autouse=True)
def nonsense_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep blank and damaged outputs, which the editor would replace by mt: random weights write little else.

    A module that tests the check for sound text, or compares processes, overrides this fixture.
    """
    monkeypatch.setattr("postedit.editing.soundness.keeps_text_sound", lambda *arguments: True)
    monkeypatch.setattr("postedit.editing.post_editor.without_damaged", lambda mt, result: result)
    monkeypatch.setattr("postedit.editing.soundness.empties", lambda *arguments: False)
