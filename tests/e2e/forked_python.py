"""A `python` and a `postedit` that start in milliseconds: forks of a process that has imported what they need.

Importing takes most of the time of a short command. Scripts find these programs on PATH; `tests/faults/nursery.py` does
the same for tests that need the process itself, to kill it. A fork has the arguments, the folder, the environment and
the standard streams of its client, but variables that libraries read when they are imported have no effect on it.

Run as a program, this file is the process that forks.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

IMPORTED = ("postedit.cli.main", "postedit.jobs.training", "postedit.jobs.editing", "postedit.phrase", "torch._dynamo")

CLIENT = """#!{python} -IS
import json, os, signal, socket, sys
job = json.dumps([{first} + sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
connection = socket.socket(socket.AF_UNIX)
connection.connect({path!r})
socket.send_fds(connection, [len(job).to_bytes(8, "big")], [0, 1, 2])
connection.sendall(job)
answers = connection.makefile("r")
pid = int(answers.readline())
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, _: os.kill(pid, number))
code = os.waitstatus_to_exitcode(int(answers.readline()))
if code < 0:
    if code != -signal.SIGKILL:  # which nobody can handle
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


class ForkedPython:
    """Provides the two programs; a context manager.

    Args:
        folder: for the programs, `python` and `postedit`, which a test may put first on PATH.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> "ForkedPython":
        path = str(self.folder / "socket")
        for name, first in (("python", []), ("postedit", [str(Path(sys.executable).with_name("postedit"))])):
            program = self.folder / name
            program.write_text(CLIENT.format(python=sys.executable, first=first, path=path), encoding="utf-8")
            program.chmod(0o755)
        command = [sys.executable, __file__, path]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


_exit_code = 1  # of a traceback; set when a process ends in another way


def _serve(path: str) -> None:
    atexit.register(_leave)  # before all others, so that it is called after them
    for name in IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # no fork looks at what it shares with this process
    selector = selectors.DefaultSelector()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)  # which is closed when the tests end, however they end
    print("ready", flush=True)
    while True:
        for key, _ in selector.select():
            if key.fileobj is sys.stdin:
                return
            if key.fileobj is listener:
                connection, _ = listener.accept()
                job, streams = _received(connection)
                if (pid := os.fork()) == 0:
                    for one in (listener, connection, selector):
                        one.close()
                    _become(job, streams)
                    return
                for stream in streams:
                    os.close(stream)
                _send(connection, pid)
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, connection))
            else:
                selector.unregister(key.fileobj)
                os.close(key.fd)
                pid, connection = key.data
                _send(connection, os.waitpid(pid, 0)[1])
                connection.close()


def _send(connection: socket.socket, number: int) -> None:
    with suppress(BrokenPipeError):  # the client was killed
        connection.sendall(f"{number}\n".encode())


def _received(connection: socket.socket) -> tuple[Any, list[int]]:
    """Return a job and the standard streams of its client."""
    size, streams, _, _ = socket.recv_fds(connection, 8, 3)
    return json.loads(connection.makefile("rb").read(int.from_bytes(size, "big"))), streams


def _become(job: Any, streams: list[int]) -> None:
    """Be the process that the client asked for, from now on."""
    global _exit_code
    arguments, folder, environment = job
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    places = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [place for place in places if place and place not in sys.path]
    try:
        if arguments[0] == "-c":
            sys.argv = ["-c", *arguments[2:]]
            exec(arguments[1], {"__name__": "__main__"})
        else:
            sys.argv = arguments
            sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
            runpy.run_path(arguments[0], run_name="__main__")
        _exit_code = 0
    except SystemExit as end:
        _exit_code = end.code if isinstance(end.code, int) else int(end.code is not None)
        raise
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)


def _leave() -> None:
    """End at once: an interpreter that tidies up copies all memory that it shares with the process that forks."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(_exit_code)


if __name__ == "__main__":
    _serve(sys.argv[1])
