import os
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from postedit import compiled

# `postedit --version` does what every verb does before its work.
DRAW = """
import contextlib, sys
from postedit.cli.main import main
sys.argv = ["postedit", "--version"]
with contextlib.suppress(SystemExit):
    main()
import numpy as np
from postedit.synthesis.noise.noise_kernel import mix64, next_below
print(mix64(np.uint64(7)), next_below(10, np.ones(1, np.uint64)))
"""


def drawn(cache: Path | str = "", **settings: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), **settings}
    return subprocess.run(
        [sys.executable, "-c", DRAW], env=environment, text=True, capture_output=True, check=True, timeout=1800
    )


@pytest.mark.slow
def test_compiling_is_announced_once_and_not_if_cached_on_disk(tmp_path: Path) -> None:
    first, second = drawn(tmp_path), drawn(tmp_path)
    assert first.stderr.splitlines() == ["Compiling for this processor (a minute, more if busy; once, then cached)"]
    assert second.stderr == ""
    assert second.stdout == first.stdout


@pytest.mark.slow
def test_without_a_folder_for_its_cache_it_compiles_each_time_and_says_so(tmp_path: Path) -> None:
    # The one place that numba looks at is not set: permissions would not keep the superuser from writing.
    nowhere = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    for run in (drawn(**nowhere), drawn(**nowhere)):
        assert run.stdout == drawn(tmp_path).stdout
        assert run.stderr.startswith("Compiling for this processor (a minute, more if busy; each time, as ")
        assert "NUMBA_CACHE_DIR" in run.stderr


def test_a_home_folder_that_is_not_known_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mix(value: int) -> int:
        return value

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os.path, "expanduser", str)  # as for a user whom the system does not know
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    (user_wide,) = (one for one in compiled._CacheFiles._locator_classes if "UserWide" in one.__name__)
    assert user_wide.from_function(mix, __file__) is None
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_wide.from_function(mix, __file__) is not None


COMPILED = """
from numba.core import event
class Names(event.Listener):
    def on_start(self, event): print(event.data["dispatcher"].py_func.__qualname__, event.data["args"])
    def on_end(self, event): pass
event.register("numba:compile", Names())
import numpy as np
from postedit.synthesis.noise.noise_kernel import next_below
from postedit.phrase.pair_table import table_of
next_below(10, np.ones(1, np.uint64))
table_of(np.arange(4), np.arange(4))
"""


@pytest.mark.slow
def test_of_processes_that_start_together_one_compiles(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", COMPILED]
    started = [subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE) for _ in range(3)]
    lines = [line for one in started for line in one.communicate(timeout=1800)[0].splitlines()]
    assert [one.returncode for one in started] == [0, 0, 0]
    names = [line for line in lines if line.startswith(("next_below", "table_of", "mix64"))]
    assert len(names) >= 2
    assert len(set(names)) == len(names)


def test_who_waits_for_another_process_is_told_once_and_not_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compiled, "_SOON", 0.01)
    monkeypatch.setattr(compiled._SharedCache, "patience", 300.0)
    compiled._tell_of_waiting.cache_clear()
    compiled.wait_no_longer(0.05)
    lock, other = (FileLock(str(tmp_path / "compiling.lock"), thread_local=False) for _ in range(2))
    with caplog.at_level("INFO", "postedit.compiled"):
        compiled._acquire(lock)
        for _ in range(2):
            with pytest.raises(Timeout):
                compiled._acquire(other)
        lock.release()
        compiled._acquire(other)
    other.release()
    assert caplog.messages == ["Waiting for another process, which compiles for this processor"]
    compiled.wait_no_longer(300.0)
    assert compiled._SharedCache.patience == 0.05


FAILED = """
import os, sys
from numba.core.errors import TypingError
from postedit.compiled import _lock_of, compiled
from postedit.phrase.pair_table import table_of
import numpy as np
try:
    table_of("no array", 1)
except TypingError:
    pass
print(_lock_of(table_of._cache.cache_path, os.getpid()).is_locked)
if os.fork() == 0:
    print(len(table_of(np.arange(4), np.arange(4))))
    sys.exit()
os.wait()
"""


@pytest.mark.slow
def test_a_failed_compilation_lets_others_compile_and_so_does_a_fork(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-uc", FAILED], env=environment, text=True, capture_output=True, check=True)
    assert run.stdout.split() == ["False", "2"]
    assert run.stderr == "", "the library alone says nothing of compiling"


def test_the_cache_is_of_the_sources_of_all_compiled_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "__file__", str(tmp_path / "compiled.py"))
    digest = compiled._digest_of_sources.__wrapped__
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "kernel.py").write_text("from postedit.compiled import compiled")
    (tmp_path / "other.py").write_text("a = 1")
    first = digest()
    (tmp_path / "other.py").write_text("a = 2")
    assert digest() == first
    (tmp_path / "deeper" / "kernel.py").write_text("from postedit.compiled import compiled  # changed")
    assert digest() != first
    stamp = compiled._SharedCache(digest)._cache_file._source_stamp
    assert stamp[1] == compiled._digest_of_sources()


def test_a_literal_argument_has_no_version_of_its_own() -> None:
    @compiled.compiled
    def plus(a, b):  # type: ignore[no-untyped-def]
        return a + b

    @compiled.compiled
    def counted(count):  # type: ignore[no-untyped-def]
        return plus(plus(count, 0), count)

    assert counted(3) == 6
    assert len(plus.signatures) == 1
