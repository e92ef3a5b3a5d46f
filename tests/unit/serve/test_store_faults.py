"""Processes killed while they save, two processes on one database, full disks, a database that goes and comes back."""

import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sql
from fastapi.testclient import TestClient
from postgresql_server import PostgresqlServer
from serve_tools import (
    Saved,
    WordEngine,
    check_saved,
    config_of,
    decide,
    decision,
    imported,
    save_for_ever,
    upload,
    xliff,
)

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import open_memory
from postedit.core.errors import OutputError
from postedit.serve import store_base
from postedit.serve.app import create_app
from postedit.serve.store import Store
from postedit.serve.store_decisions import StaleVersionError

PAIRS = [(f"source {number} {number % 7}", f"mt {number % 7} word") for number in range(40)]


class Saver:
    """A process that saves decisions on random segments until it is killed; it has saved one when this is made."""

    def __init__(self, place: str, file: str, seed: int) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["serve_tools"])
        self._saved, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=save_for_ever, args=(place, file, seed, len(PAIRS), theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._first = self._saved.recv()  # loading all that decisions need takes a while

    def kill(self) -> list[Saved]:
        """Kill the process, and return what it acknowledged."""
        self._process.kill()
        saved = [self._first]
        try:
            while True:
                saved.append(self._saved.recv())
        except (EOFError, OSError):
            self._process.join()
            return saved


def kill_savers(place: str, turns: int) -> None:
    """Kill two processes that save at random moments; nothing acknowledged is lost, and no segment is stuck."""
    rng = random.Random(turns)
    store = Store(place)
    file = imported(store, xliff(*PAIRS))
    known: list[Saved] = []
    for turn in range(turns):
        both = [Saver(place, file, 2 * turn + one) for one in range(2)]
        time.sleep(rng.random() * 0.4)
        for process in both:
            known += process.kill()
        check_saved(store, file, known)
    assert len(known) > turns
    for number in range(1, len(PAIRS) + 1):
        store.decisions.save(file, number, decision(store, file, number, f"end {number}"), "anna")
    check_saved(store, file, known)
    store.close()


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_in_some_kills(place: str) -> None:
    kill_savers(place, 5)


@pytest.mark.faults
def test_nothing_acknowledged_is_lost_in_fifty_kills(place: str) -> None:
    kill_savers(place, 25)


def test_a_file_that_is_replaced_is_not_written_to(tmp_path: Path) -> None:
    """What goes to a file that has no name any more is lost when the service ends, so it is not acknowledged."""
    place = tmp_path / "postedit.db"
    store = Store(str(place))
    store.database.check()
    aside = place.rename(tmp_path / "aside.db")
    for is_replaced in (False, True):
        if is_replaced:
            shutil.copy(aside, place)
        for use in (store.database.check, store.forget_deleted, lambda: store.people.begin_session("anna")):
            with pytest.raises(OutputError, match=r"postedit\.db: was removed or replaced .* restart the service"):
                use()
        with pytest.raises(OutputError, match="was removed or replaced"), store.database.change("default", "anna"):
            pytest.fail("a change has begun")
    aside.rename(place)
    store.database.check()
    with store.database.change("default", "anna") as change:
        change.event("file", file="f")
    store.close()


def kill_server(server: PostgresqlServer, turns: int) -> None:
    rng = random.Random(turns)
    file = imported(Store(server.url), xliff(*PAIRS))
    known: list[Saved] = []
    for turn in range(turns):
        process = Saver(server.url, file, turn)
        time.sleep(rng.random() * 0.4)
        server.kill()
        known += process.kill()
        server.start()
        check_saved(Store(server.url), file, known)
    assert len(known) > turns


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_in_some_ends_of_the_database(own_server: PostgresqlServer) -> None:
    kill_server(own_server, 8)


@pytest.mark.faults
def test_nothing_acknowledged_is_lost_in_fifty_ends_of_the_database(own_server: PostgresqlServer) -> None:
    kill_server(own_server, 50)


@pytest.mark.slow
def test_a_database_that_was_away_is_used_again(own_server: PostgresqlServer) -> None:
    store = Store(own_server.url)
    file = imported(store, xliff(*PAIRS))
    one = decision(store, file, 1, "target")
    own_server.stop("fast")
    with pytest.raises(OutputError, match="postgresql"):
        store.decisions.save(file, 1, one, "anna")
    own_server.start()
    assert store.decisions.save(file, 1, one, "anna").correction == 1
    check_saved(store, file, [(1, one.edit_id, 1, "target")])


@pytest.mark.slow
def test_nobody_waits_for_a_database_that_hangs(own_server: PostgresqlServer, tmp_path: Path) -> None:
    config = config_of(own_server.url, tmp_path, auth={"required": True}, limits={"timeout_seconds": 1.0})
    app = create_app(config, engine := WordEngine(config))
    engine.store = store = app.state.service.store
    _, secret = store.people.create_key(store.people.create_user("anna", "a password"), "test", ["edit"], None, 0)
    headers, body = {"Authorization": f"Bearer {secret}"}, {"segments": [{"src": "a", "mt": "die"}]}
    with TestClient(app, base_url="http://127.0.0.1") as client:

        def status() -> int:
            """Return the status of an answer of the database; a slow one, too, may have none in time."""
            end = time.monotonic() + 600
            while (found := client.post("/v1/edit", json=body, headers=headers).status_code) == 504:
                assert time.monotonic() < end
            return found

        assert status() == 200
        paused = own_server.pause()
        try:
            for answer in (client.get("/v1/projects", headers=headers), client.post("/v1/edit", headers=headers)):
                assert answer.status_code == 504
                assert "has not answered in 1 s" in answer.json()["error"]["message"]
        finally:
            for one in paused:
                os.kill(one, signal.SIGCONT)
        assert status() == 200


@pytest.mark.slow
def test_no_statement_waits_without_end_for_the_server(server: str) -> None:
    engine = open_memory(f"{server}&connect_timeout=3")
    with engine.connect() as connection:
        options = connection.connection.dbapi_connection.info.get_parameters()
        assert (options["connect_timeout"], options["tcp_user_timeout"]) == ("3", "30000"), "those of the URL count"
        for name, value in (("lock_timeout", "30s"), ("statement_timeout", "10min")):
            assert connection.exec_driver_sql(f"SHOW {name}").scalar_one() == value
    engine.dispose()


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_new_database_is_for_its_user_alone(tmp_path: Path) -> None:
    place = tmp_path / "new" / "postedit.db"
    Store(str(place)).close()
    assert [path.stat().st_mode & 0o777 for path in (place.parent, place)] == [0o700, 0o600]


def test_a_full_disk_loses_nothing_and_is_a_sentence(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "postedit.db"))
    file = imported(store, xliff(*PAIRS))
    with store.database.read() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    limit = [pages + 10]
    sql.event.listen(store.database.engine, "checkout", lambda connection, *_: _set_pages(connection, limit[0]))
    known: list[Saved] = []
    with pytest.raises(OutputError, match="disk is full"):
        fill(store, file, known)
    assert known
    check_saved(store, file, known)
    limit[0] = 2**30
    one = decision(store, file, 1, "there is room again")
    assert store.decisions.save(file, 1, one, "anna").segment["target"] == "there is room again"
    check_saved(store, file, known)


@pytest.fixture
def small_disk() -> Iterator[Callable[[Path, int], Path]]:
    """Return what mounts a disk of some MiB at a folder, or changes its size."""
    mounted: set[Path] = set()

    def mount(folder: Path, size: int) -> Path:
        folder.mkdir(exist_ok=True)
        again = "remount," if folder in mounted else ""
        command = ["mount", "-o", f"{again}size={size}m", "-t", "tmpfs", "tmpfs", str(folder)]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("file systems cannot be mounted here")
        mounted.add(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def small_place(
    place: str, small_disk: Callable[[Path, int], Path], tmp_path: Path, request: pytest.FixtureRequest
) -> tuple[str, Path]:
    """Return where a database can be whose tables lie on a small disk, and the folder of that disk."""
    if "://" not in place:
        disk = small_disk(tmp_path / "small", 2)
        return str(disk / "postedit.db"), disk
    import psycopg

    server = request.getfixturevalue("own_server")
    disk = small_disk(server.folder / "small", 4)
    shutil.chown(disk, "postgres")
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLESPACE small LOCATION '{disk}'")
        connection.execute("ALTER DATABASE postgres SET default_tablespace = small")
    return server.url, disk


NOISE = random.Random(5).randbytes(3 * 2**19).hex()
LARGE = xliff(*PAIRS[:2]).replace(b"<body>", f"<body><!-- {NOISE} -->".encode())
"""A file of three MiB and two segments, which a database cannot make much smaller."""


def has_no_room(answer: httpx.Response) -> bool:
    """Return whether a request was refused because the disk is full; what is refused is a sentence."""
    if answer.is_success:
        return False
    assert answer.status_code == 507, answer.text
    assert "the disk of the service is full" in answer.json()["error"]["message"]
    return True


@pytest.mark.slow
def test_a_disk_that_is_full_refuses_over_http_and_loses_nothing(
    small_place: tuple[str, Path], serve: Callable[..., TestClient], small_disk: Callable[[Path, int], Path]
) -> None:
    """Decisions and uploads are refused while the disk of the database is full, and done when there is room again."""
    database, disk = small_place
    client = serve(database=database)
    file = upload(client, xliff(*PAIRS))
    known: list[str] = []
    while not has_no_room(saved := decide(client, file, 1, f"target {len(known)} {NOISE[len(known) :][:10_000]}")):
        known.append(saved.json()["segment"]["target"])
        assert len(known) < 1000
    assert len(known) > 10
    large = ("large.xlf", LARGE)
    assert has_no_room(client.post("/v1/projects/default/files", files={"file": large}))
    history = client.get(f"/v1/files/{file}/segments/1/history").json()["history"]
    assert [one["target"] for one in history] == known
    assert [one["id"] for one in client.get("/v1/projects/default/files").json()["files"]] == [file]
    assert client.get("/v1/projects").status_code == 200, "what needs no room is answered"
    small_disk(disk, 64)
    assert decide(client, file, 1, "there is room again").status_code == 200
    assert len(client.get(f"/v1/files/{file}/segments/1/history").json()["history"]) == len(known) + 1
    upload(client, *reversed(large))


def test_uploads_and_downloads_need_room_for_temporary_files(
    client: TestClient, small_disk: Callable[[Path, int], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk(tmp_path / "small", 1)))
    sent = {"file": ("a.xlf", LARGE)}
    assert has_no_room(client.post("/v1/projects/default/files", files=sent))
    assert has_no_room(client.post("/v1/jobs", files=sent))
    assert client.get("/v1/projects/default/files").json() == {"files": []}
    small_disk(tmp_path / "small", 64)
    file = upload(client, LARGE)
    small_disk(tmp_path / "small", 1)
    assert has_no_room(client.get(f"/v1/files/{file}/download"))
    small_disk(tmp_path / "small", 64)
    assert client.get(f"/v1/files/{file}/download").content == LARGE


def fill(store: Store, file: str, known: list[Saved]) -> None:
    for turn in range(10_000):
        number, target = 1 + turn % 40, f"target {turn}" + " long" * 50
        one = decision(store, file, number, target)
        known.append((number, one.edit_id, store.decisions.save(file, number, one, "anna").correction, target))


def _set_pages(connection: Any, count: int) -> None:
    connection.execute(f"PRAGMA max_page_count = {count}").close()


def test_of_two_processes_that_decide_at_once_one_learns_so(place: str) -> None:
    first, second = Store(place), Store(place)
    file = imported(first, xliff(*PAIRS))
    both = [decision(one, file, 1, f"by {name}") for one, name in ((first, "anna"), (second, "ben"))]
    first.decisions.save(file, 1, both[0], "anna")
    with pytest.raises(StaleVersionError) as found:
        second.decisions.save(file, 1, both[1], "ben")
    assert found.value.segment["target"] == "by anna"
    seen = second.projects.events("default", 0, 99)
    assert seen[-1]["who"] == "anna"
    assert seen[-1]["numbers"][0] == 1
    first.close()
    second.close()


def test_what_was_deleted_is_overwritten_when_nobody_reads_it_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_base, "_PAUSES", (0.05,))
    store = Store(str(tmp_path / "postedit.db"))
    project = store.projects.create({"name": "garden"}, "anna", None)
    store.projects.add_corrections(project, [Correction("a secret", "b", "c")], "anna")
    reader = sqlite3.connect(tmp_path / "postedit.db")
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM postedit_entries").fetchall()
    sql.event.listen(store.database.engine, "checkout", lambda connection, *_: _hurry(connection))
    store.projects.delete(project, "anna")
    time.sleep(0.5)
    assert any(b"a secret" in path.read_bytes() for path in tmp_path.glob("postedit.db*"))
    reader.close()
    deadline = time.monotonic() + 600
    while any(b"a secret" in path.read_bytes() for path in tmp_path.glob("postedit.db*")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    store.close()


def _hurry(connection: Any) -> None:
    connection.execute("PRAGMA busy_timeout = 50").close()
