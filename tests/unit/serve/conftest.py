"""Services on both databases, with an engine that needs no model."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from postgresql_server import server  # noqa: F401 (a fixture)
from scripted import RunningService, serving, settings
from serve_tools import WordEngine, config_of

from postedit.serve.app import create_app
from postedit.serve.store import Store


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield where a database can be: a file, and an empty database of a server."""
    if request.param == "sqlite":
        yield str(tmp_path / "postedit.db")
        return
    import psycopg

    url = request.getfixturevalue("server")
    yield url
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    opened = Store(place)
    yield opened
    opened.close()


@pytest.fixture
def serve(place: str, tmp_path: Path) -> Iterator[Callable[..., TestClient]]:
    """Return what starts the service, with settings in place of those of a laptop."""
    started: list[TestClient] = []

    def start(**values: Any) -> TestClient:
        config = config_of(place, tmp_path, **values)
        engine = WordEngine(config)
        app = create_app(config, engine)
        engine.store = app.state.service.store
        client = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=True)
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
    with serving(settings(tmp_path_factory.mktemp("service"), processes=2)) as running:
        yield running
