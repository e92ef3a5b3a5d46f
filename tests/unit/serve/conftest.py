"""Services on both databases, with an engine that needs no model."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher
from fastapi.testclient import TestClient
from postgresql_server import own_server, place, server  # noqa: F401 (fixtures)
from scripted import RunningService, serving, settings
from serve_tools import WordEngine, answer_check, config_of

from postedit.serve import store_people
from postedit.serve.app import create_app
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
