"""Tables: those of the migrations are those of the code, also where an older postedit made them."""

import subprocess
import sys
from typing import Any

import pytest
import sqlalchemy as sql
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from serve_tools import decision, imported, xliff

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory, open_memory
from postedit.core.errors import DataError
from postedit.serve import migrations
from postedit.serve.schema import metadata
from postedit.serve.store import Store


def differences(engine: sql.Engine) -> list[Any]:
    """Return what the tables of a database lack, or have beside those of the code."""

    def is_ours(name: str | None, kind: str, _: Any) -> bool:
        return kind != "table" or bool(name and name.startswith("serve_") and name != migrations.VERSION_TABLE)

    with engine.connect() as connection:
        options = {"include_name": is_ours, "compare_server_default": False}
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))


def test_migrations_make_the_tables_of_the_code(store: Store) -> None:
    assert differences(store.database.engine) == []


def test_an_older_database_is_brought_up_to_date_with_its_contents(place: str) -> None:
    memory = CorrectionMemory(open_memory(place))
    memory.add([Correction("a", "b", "c", project="default")])
    engine = open_memory(place)
    migrations.upgrade(engine, "0001")
    assert differences(engine) != []
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP INDEX postedit_of_project")  # as memories had none
        connection.exec_driver_sql("INSERT INTO serve_projects (id, name) VALUES ('garden', 'Garden')")
    store = Store(place)
    assert differences(store.database.engine) == []
    assert "postedit_of_project" in {one["name"] for one in sql.inspect(engine).get_indexes("postedit_entries")}
    assert [one["name"] for one in store.projects.all()] == ["Garden", "default"]
    file = imported(store, xliff(("a", "b")))
    assert store.decisions.save(file, 1, decision(store, file, 1, "d"), "anna").correction == 2
    store.close()


@pytest.mark.parametrize(
    ("project", "found", "wanted"),
    [
        (("en", "de"), ("en-GB", "de-DE"), ("en", "de")),
        (("en", "fr"), ("en", "de"), ("en", "de")),
        (("", ""), ("en", "de"), ("", "de")),
        (("en", "de"), ("", ""), ("en", "de")),
    ],
    ids=["unchanged", "changed since", "any", "not read yet"],
)
def test_files_of_older_databases_keep_the_languages_they_were_read_in(
    place: str, project: tuple[str, str], found: tuple[str, str], wanted: tuple[str, str]
) -> None:
    memory = CorrectionMemory(open_memory(place))
    memory.add([Correction("a", "b", "c", project="default")])
    engine = open_memory(place)
    migrations.upgrade(engine, "0002")
    with engine.begin() as connection:
        projects = "INSERT INTO serve_projects (id, source_language, target_language) VALUES ('garden', '%s', '%s')"
        files = (
            "INSERT INTO serve_files (id, project, sequence, size, source_language, target_language) "
            "VALUES ('f', 'garden', 1, 0, '%s', '%s')"
        )
        connection.exec_driver_sql(projects % project)
        connection.exec_driver_sql(files % found)
    store = Store(place)
    row = store.files.row("f")
    assert (row["wanted_source"], row["wanted_target"]) == wanted
    store.close()


@pytest.mark.slow
def test_several_processes_may_start_at_once(place: str) -> None:
    code = "import sys; from postedit.serve.store import Store; print(len(Store(sys.argv[1]).projects.all()))"
    command = [sys.executable, "-c", code, place]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [process.communicate(timeout=600)[0] for process in started] == ["1\n"] * 4


def test_tables_of_a_newer_postedit_are_left_alone(place: str) -> None:
    store = Store(place)
    with store.database.write() as connection:
        connection.exec_driver_sql(f"UPDATE {migrations.VERSION_TABLE} SET version_num = '9999'")
    with pytest.raises(DataError, match=r"was written by a newer postedit .*9999.*; update postedit"):
        Store(place)
