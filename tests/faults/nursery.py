"""Processes of the command line that start in milliseconds: forks of one that has imported what earlier ones did.

Run as a program, this file is the process that forks. It reads a job a line from standard input, and answers with the
number of the process and, when that has ended, its exit status.
"""

import atexit
import gc
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LIMIT = 1800.0  # seconds that a command may take, on a machine with much else to do


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code (negative: the signal that killed it), its output, and how long it took."""

    code: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def problem(self) -> str:
        """The last lines on standard error, for the message of a failed test."""
        return f"exit code {self.code}\n{self.stderr[-2000:]}"


class Running:
    """A command that has been started."""

    def __init__(self, nursery: "Nursery", pid: int, outputs: Path) -> None:
        self.pid, self._nursery, self._outputs = pid, nursery, outputs
        self._started = time.monotonic()

    def send(self, number: int) -> None:
        """Send a signal; the process cannot vanish before `wait`, which alone lets it be forgotten."""
        os.kill(self.pid, number)

    def wait(self) -> Ended:
        """Wait until it has ended; it is killed if it does not end in time."""
        limit = threading.Timer(_LIMIT, self.send, [signal.SIGKILL])
        limit.start()
        status = self._nursery.answer({"wait": self.pid, "outputs": str(self._outputs)})["status"]
        limit.cancel()
        seconds = time.monotonic() - self._started
        stdout, stderr = (
            self._outputs.with_suffix(end).read_text(encoding="utf-8", errors="replace") for end in (".out", ".err")
        )
        return Ended(os.waitstatus_to_exitcode(status), stdout, stderr, seconds)


class Nursery:
    """Starts commands; a context manager.

    Args:
        folder: for what they print.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0

    def __enter__(self) -> "Nursery":
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
        environment |= {"TOKENIZERS_PARALLELISM": "false", "COLUMNS": "100"}
        library = self._folder / "failing_disk.so"
        source = Path(__file__).with_name("failing_disk.c")
        if shutil.which("cc"):
            subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(source), "-ldl"], check=True)
            environment["LD_PRELOAD"] = str(library)
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def answer(self, job: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a job."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(job)}\n")
        self._process.stdin.flush()
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def start(self, arguments: Sequence[object], where: Path, prepare: Sequence[object] = ()) -> Running:
        """Start `postedit` with these arguments in the folder `where`.

        `prepare` names a function, as "module:function", that is called first, and its arguments.
        """
        self._number += 1
        outputs = self._folder / f"{self._number}.out"
        for end in (".out", ".err"):  # as it may be killed before it opens them
            outputs.with_suffix(end).touch()
        job = {"arguments": [*map(str, arguments)], "where": str(where), "prepare": [*prepare]}
        return Running(self, self.answer(job | {"outputs": str(outputs)})["pid"], outputs)

    def run(self, arguments: Sequence[object], where: Path, prepare: Sequence[object] = ()) -> Ended:
        """Run `postedit` to its end."""
        return self.start(arguments, where, prepare).wait()


_exit_code = 1  # of a traceback; set when a command ends in another way


def _serve() -> None:
    atexit.register(_leave)  # before all others, so that it is called after them
    importlib.import_module("postedit.cli.main")
    for line in sys.stdin:
        gc.freeze()  # no fork looks at what it shares with this process, not even at its end
        job = json.loads(line)
        if "wait" in job:
            print(json.dumps({"status": os.waitpid(job["wait"], 0)[1]}), flush=True)
            _import_as(Path(job["outputs"]).with_suffix(".modules"))
        elif pid := os.fork():
            print(json.dumps({"pid": pid}), flush=True)
        else:
            _become(job)
            return


def _import_as(names: Path) -> None:
    """Import what an ended process had, so that the next ones need not; one that was killed does not say."""
    if names.exists():
        for name in names.read_text().split("\n"):
            if name not in sys.modules:
                with suppress(ImportError):  # some libraries make modules up
                    importlib.import_module(name)


def _become(job: dict[str, Any]) -> None:
    """Be the command from now on."""
    outputs = Path(job["outputs"])
    for descriptor, path in enumerate([os.devnull, outputs, outputs.with_suffix(".err")]):
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        os.dup2(opened, descriptor)
        os.close(opened)
    atexit.register(lambda: outputs.with_suffix(".modules").write_text("\n".join(sys.modules)))
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under `nohup`, it would be ignored
    os.chdir(job["where"])
    sys.argv = ["postedit", *job["arguments"]]
    if job["prepare"]:
        module, _, function = job["prepare"][0].partition(":")
        getattr(importlib.import_module(module), function)(*job["prepare"][1:])
    from postedit.cli.main import main

    try:
        main()
    except SystemExit as end:
        global _exit_code
        _exit_code = end.code if isinstance(end.code, int) else int(end.code is not None)
        raise


def _leave() -> None:
    """End at once: an interpreter that tidies up copies all memory that it shares with the process that forks."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(_exit_code)


if __name__ == "__main__":
    _serve()
