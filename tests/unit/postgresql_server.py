"""A PostgreSQL server for the tests, from the distribution's package."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString

import pytest

_SECONDS = 300
"""Time for a program of the server, on a machine with much else to do."""

_PATIENT = ("-w", "-t", str(_SECONDS))
"""Options with which `pg_ctl` waits for that long."""

_END_OTHERS: LiteralString = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)


def program(name: str) -> str | None:
    """Return the path of a program of a PostgreSQL server; None if none is installed."""
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    return str(installed[-1]) if installed else shutil.which(name)


class PostgresqlServer:
    """A server in a temporary folder, with an empty database; if the tests run as root, it runs as `postgres`."""

    def __init__(self, initdb: str, control: str) -> None:
        self._control = control
        self._user = "postgres" if os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="pg"))  # a short path: that of its socket may have 107 bytes
        if self._user:
            shutil.chown(self.folder, self._user)
        self._data = self.folder / "data"
        self._run([initdb, "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"])
        self.url = f"postgresql://postgres@/postgres?host={self.folder}"

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off -c max_connections=80"
        command = [self._control, "-D", str(self._data), "-o", options, "-l", str(self.folder / "log")]
        self._run([*command, *_PATIENT, "start"])

    def stop(self, mode: str = "immediate") -> None:
        self._run([self._control, "-D", str(self._data), "-m", mode, *_PATIENT, "stop"])

    def kill(self) -> None:
        """Kill the server and all its processes at once, as a crash of the machine would."""
        processes = self.pause()
        for one in processes:
            os.kill(one, signal.SIGKILL)
        while any(map(_lives, processes)):
            time.sleep(0.01)
        for lock in (self._data / "postmaster.pid", *self.folder.glob(".s.PGSQL.*")):
            lock.unlink()  # in a container, another process may soon have that id

    def pause(self) -> list[int]:
        """Suspend the server and all its processes until they get SIGCONT, and return their ids."""
        number = int((self._data / "postmaster.pid").read_text().split()[0])
        os.kill(number, signal.SIGSTOP)  # so that it starts no more children
        processes = [*map(int, Path(f"/proc/{number}/task/{number}/children").read_text().split()), number]
        for one in processes:
            os.kill(one, signal.SIGSTOP)
        return processes

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, command: list[str]) -> None:
        nothing = subprocess.DEVNULL
        subprocess.run(
            command, cwd=self.folder, user=self._user, check=True, stdout=nothing, stderr=nothing, timeout=_SECONDS
        )


def _lives(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def new_server() -> PostgresqlServer:
    pytest.importorskip("psycopg", reason="needs psycopg")
    initdb, control = program("initdb"), program("pg_ctl")
    if initdb is None or control is None:
        pytest.skip("needs the programs of a PostgreSQL server (on Debian: apt-get install postgresql)")
    return PostgresqlServer(initdb, control)


@contextmanager
def started() -> Iterator[PostgresqlServer]:
    one = new_server()
    try:
        one.start()
        yield one
        one.stop()
    finally:
        one.remove()


@pytest.fixture
def own_server() -> Iterator[PostgresqlServer]:
    """Yield a server that a test may stop."""
    with started() as one:
        yield one


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Yield the URL of an empty database."""
    with started() as one:
        yield one.url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield a place for a new database: the path of a file, or the URL of an empty PostgreSQL database."""
    if request.param == "sqlite":
        yield str(tmp_path / "postedit.db")
        return
    import psycopg

    url = request.getfixturevalue("server")
    yield url
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_END_OTHERS)  # connections left open count towards the limit
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
