"""Errors of a database become sentences that say what to do."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, make_url
from sqlalchemy.exc import DBAPIError

from postedit.adapt.correction_memory import CorrectionMemory, open_memory
from postedit.adapt.database import DiskFullError, explained
from postedit.core.errors import DataError, OutputError


@pytest.mark.parametrize(
    ("setting", "kind", "message"),
    [
        ("query_only = 1", OutputError, "readonly database; it and its folder must be readable and writable, even if"),
        ("max_page_count = 1", DiskFullError, "disk is full; free some space there"),
    ],
)
def test_what_prevents_writing_is_told(tmp_path: Path, setting: str, kind: type[OutputError], message: str) -> None:
    memory = CorrectionMemory(tmp_path / "memory.db")
    with pytest.raises(kind, match=f"^{tmp_path}/memory.db: .*{message}"), explained(memory._engine):
        _write(memory._engine, setting)
    memory.close()


def test_what_postgresql_says_about_a_full_disk_has_a_hint_already(tmp_path: Path) -> None:
    class FullError(Exception):
        sqlstate = "53100"

    full = FullError("could not extend file: No space left on device\nHINT:  Check free disk space.")
    memory = CorrectionMemory(tmp_path / "memory.db")
    with pytest.raises(DiskFullError, match=r"device HINT: Check free disk space\.$"), explained(memory._engine):
        raise DBAPIError("INSERT", None, full)
    memory.close()


def _write(engine: Engine, setting: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(f"PRAGMA {setting}")
        connection.exec_driver_sql("CREATE TABLE further AS SELECT hex(zeroblob(100000))")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_postgresql_database_that_lacks_texts_is_refused(server: str, encoding: str) -> None:
    import psycopg

    name = f"in_{encoding.lower()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    url = make_url(server).set(database=name).render_as_string()
    expected = pytest.raises(DataError, match=f"'{name}' has the encoding {encoding}, .* createdb --encoding=UTF8")
    with expected, open_memory(url).connect():
        pass


@pytest.mark.slow
def test_texts_reach_postgresql_whatever_the_environment_says(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    engine = open_memory(server)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT %s::text", ("中",)).scalar_one() == "中"
    engine.dispose()
