"""Services on both databases, with an engine that needs no model."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from argon2 import PasswordHasher
from fastapi.testclient import TestClient
from postgresql_server import own_server, place, server  # noqa: F401 (fixtures)
from scripted import RunningService, serving, settings
from serve_tools import PAIRS, WordEngine, answer_check, config_of, imported, xliff

from postedit.serve import store_people
from postedit.serve.app import create_app
from postedit.serve.file_jobs import FileJobs
from postedit.serve.schema import jobs
from postedit.serve.store import Store


@pytest.fixture(scope="package", autouse=True)
def cheap_hashes() -> Iterator[None]:
    """Hash passwords in a millisecond; what an attacker would have to pay is for tests of the running service."""
    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_people, "_HASHER", hasher)
        patch.setattr(store_people, "_NO_HASH", hasher.hash(""))
        yield


@pytest.fixture(scope="package")
def empty_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with the tables of the service, which takes longer to make than to copy."""
    file = tmp_path_factory.mktemp("tables") / "postedit.db"
    Store(str(file)).close()
    return file


@pytest.fixture
def with_tables(place: str, empty_tables: Path) -> str:
    """Return where a database is that may have the tables of the service already."""
    if "://" not in place:
        shutil.copyfile(empty_tables, place)
    return place


@pytest.fixture
def store(with_tables: str) -> Iterator[Store]:
    opened = Store(with_tables)
    yield opened
    opened.close()


@pytest.fixture
def jobs_of(store: Store, tmp_path: Any) -> FileJobs:
    """Return what works on the jobs of the store."""
    engine = WordEngine(config_of("x", tmp_path))
    engine.store = store
    return FileJobs(store, engine)


@pytest.fixture
def waiting(store: Store) -> str:
    """Return a job that waits."""
    file = imported(store, xliff(*PAIRS))
    with store.database.change("default", "anna") as change:
        return store.jobs.add(change, "import", file)


@pytest.fixture
def other_model(store: Store) -> str:
    """Return a job that waits for a model that this process does not have."""
    file = imported(store, xliff(*PAIRS))
    store.projects.change("default", {"model": "phrases"}, "anna")
    with store.database.change("default", "anna") as change:
        change.execute(sql.delete(jobs))
        return store.jobs.add(change, "import", file)


@pytest.fixture
def serve(with_tables: str, tmp_path: Path) -> Iterator[Callable[..., TestClient]]:
    """Return what starts the service, with settings in place of those of a laptop."""
    started: list[TestClient] = []

    def start(**values: Any) -> TestClient:
        config = config_of(with_tables, tmp_path, **values)
        engine = WordEngine(config)
        app = create_app(config, engine)
        engine.store = app.state.service.store
        client = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=True)
        client.event_hooks = {"response": [answer_check(app)]}
        started.append(client)
        return client.__enter__()

    yield start
    for client in started:
        client.__exit__(None, None, None)


@pytest.fixture
def client(serve: Callable[..., TestClient]) -> TestClient:
    return serve()


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Yield a service with two model processes, which tests share."""
    limits = {"timeout_seconds": 300.0}  # new processes take a while
    with serving(settings(tmp_path_factory.mktemp("service"), processes=2, limits=limits)) as running:
        yield running
