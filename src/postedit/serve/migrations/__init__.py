"""Migrations of the service tables; each module in `versions` leads from one revision to the next."""

from pathlib import Path
from typing import Any, Final

import sqlalchemy as sql
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory

from postedit.adapt.database import explained, lock_schema, place_of
from postedit.core.errors import DataError

VERSION_TABLE: Final = "serve_version"
_FOLDER: Final = Path(__file__).parent


def upgrade(engine: sql.Engine, revision: str = "head") -> None:
    """Upgrade the tables of a database to a revision; if several processes try, one does it, and the others wait.

    Raises:
        DataError: if the database was written by a newer postedit.
        OutputError: if the database cannot be changed.
    """
    script = ScriptDirectory(str(_FOLDER))
    with explained(engine), engine.begin() as connection:
        lock_schema(connection)
        _check_known(script, connection, place_of(engine))

        def steps(found: Any, context: Any) -> Any:
            return script._upgrade_revs(revision, found)  # as the commands of Alembic do

        with EnvironmentContext(Config(), script, fn=steps, destination_rev=revision) as environment:
            environment.configure(connection=connection, version_table=VERSION_TABLE)
            environment.run_migrations()


def _check_known(script: ScriptDirectory, connection: sql.Connection, place: str) -> None:
    """Check that the revision of a database is known; else raise a DataError."""
    if not sql.inspect(connection).has_table(VERSION_TABLE):
        return
    found = connection.execute(sql.text(f"SELECT version_num FROM {VERSION_TABLE}")).scalars().all()
    known = {one.revision for one in script.walk_revisions()}
    if unknown := set(found) - known:
        raise DataError(f"{place}: was written by a newer postedit (its tables are {unknown.pop()}); update postedit")
