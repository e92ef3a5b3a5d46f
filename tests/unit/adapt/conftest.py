"""Places of memories: a file, and a server of PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from postgresql_server import server  # noqa: F401 (a fixture)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield where a new memory can be: a file, and a database of a server."""
    if request.param == "sqlite":
        yield str(tmp_path / "memory.db")
        return
    import psycopg

    url = request.getfixturevalue("server")
    yield url
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS postedit_entries, postedit_memory")
