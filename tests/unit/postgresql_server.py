"""A server of PostgreSQL for the tests, from the distribution's package."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


def _program(name: str) -> str | None:
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    return str(installed[-1]) if installed else shutil.which(name)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Yield the URL of an empty database; as root, the server runs as the user `postgres`."""
    pytest.importorskip("psycopg", reason="needs psycopg")
    initdb, control = _program("initdb"), _program("pg_ctl")
    if initdb is None or control is None:
        pytest.skip("needs the programs of a PostgreSQL server (on Debian: apt-get install postgresql)")
    user = "postgres" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # its path is that of a socket, which may have 107 bytes
    try:
        if user:
            shutil.chown(folder, user)
        data = folder / "data"
        _run([initdb, "-D", str(data), "-U", "postgres", "-A", "trust", "--no-sync"], folder, user)
        options = f"-k {folder} -c listen_addresses='' -c max_connections=40"
        _run([control, "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w", "start"], folder, user)
        try:
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            _run([control, "-D", str(data), "-m", "immediate", "stop"], folder, user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: list[str], folder: Path, user: str | None) -> None:
    subprocess.run(
        command, cwd=folder, user=user, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60
    )
