"""Errors of a database become sentences that say what to do."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from postedit.adapt.correction_memory import CorrectionMemory
from postedit.adapt.database import DiskFullError, explained
from postedit.core.errors import OutputError


@pytest.mark.parametrize(
    ("setting", "kind", "message"),
    [
        ("query_only = 1", OutputError, "readonly database: it and its folder must be readable and writable, even if"),
        ("max_page_count = 1", DiskFullError, "disk is full; free some space there"),
    ],
)
def test_what_prevents_writing_is_told(tmp_path: Path, setting: str, kind: type[OutputError], message: str) -> None:
    memory = CorrectionMemory(tmp_path / "memory.db")
    with pytest.raises(kind, match=f"^{tmp_path}/memory.db: .*{message}"), explained(memory._engine):
        _write(memory._engine, setting)
    memory.close()


def _write(engine: Engine, setting: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(f"PRAGMA {setting}")
        connection.exec_driver_sql("CREATE TABLE further AS SELECT hex(zeroblob(100000))")
