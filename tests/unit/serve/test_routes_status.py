"""Readiness, and reloads while the service stops."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sql
from fastapi.testclient import TestClient
from sqlalchemy.exc import OperationalError

from postedit.serve import routes_status
from postedit.serve.service import Service
from postedit.serve.store_base import Database


@pytest.fixture
def started(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> Service:
    """Return a service with a model that is ready."""
    service: Service = client.app.state.service  # type: ignore[attr-defined]
    monkeypatch.setattr(service.engine, "is_ready", lambda _: True)
    return service


def test_a_database_that_is_away_makes_unready_and_its_place_is_not_told(
    client: TestClient, started: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get("/readyz").json() == {"status": "ready", "models": {"words": "ready"}}
    place = started.store.memory.place

    def refuse(*_: Any, **__: Any) -> None:
        raise OperationalError("SELECT", {}, ValueError(f"no connection to {place}"))

    with monkeypatch.context() as patch:
        patch.setattr(started.store.database.engine, "connect", refuse)
        refused = client.get("/readyz")
        assert refused.status_code == 503
        assert "the database has not answered" in refused.json()["message"]
        answer = client.get("/v1/projects")
    assert answer.status_code == 503
    assert "the database cannot be used now" in answer.json()["error"]["message"]
    assert place not in answer.text
    undone = client.post("/v1/undo", json={"number": 7})
    assert undone.status_code == 422
    assert "has no correction 7" in undone.json()["error"]["message"]
    assert place not in undone.text


def test_a_database_that_takes_no_changes_makes_unready(
    client: TestClient, started: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get("/readyz").status_code == 200
    engine = started.store.database.engine
    if engine.dialect.name == "postgresql":
        sql.event.listen(engine, "begin", lambda one: one.execute(sql.text("SET TRANSACTION READ ONLY")))
    else:  # whoever runs the tests may write everything
        monkeypatch.setattr("postedit.serve.store_base.os", SimpleNamespace(W_OK=2, access=lambda *_: False))
    refused = client.get("/readyz")
    assert refused.status_code == 503
    assert refused.json()["status"] == "read_only"
    assert "the database is read-only" in refused.json()["message"]


def test_a_database_that_does_not_answer_is_not_waited_for(
    client: TestClient, started: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, begun, end = [], threading.Event(), threading.Event()

    def hang(_: Database) -> None:
        asked.append(True)
        begun.set()
        end.wait(60)

    monkeypatch.setattr(Database, "check", hang)
    monkeypatch.setattr(routes_status, "_PATIENCE", 0.1)
    try:
        assert [client.get("/readyz").status_code for _ in range(3)] == [503] * 3
        assert begun.wait(60)
        assert len(asked) == 1, "one thread waits for it, however often somebody asks"
    finally:
        end.set()


def test_counting_edits_is_compiled_before_the_service_is_ready(
    serve: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = []
    monkeypatch.setattr("postedit.serve.app.count_edits", lambda *given, **_: counted.append(given))
    serve()
    assert len(counted) == 1


def test_a_reload_ends_when_the_service_stops(
    client: TestClient, started: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def reload(_: str) -> None:
        await asyncio.sleep(600)

    monkeypatch.setattr(started.engine, "reload", reload)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.post, "/v1/models/words/reload")
        time.sleep(0.3)
        assert client.portal is not None
        client.portal.call(started.stopping.set)
        assert waiting.result(300).status_code == 503
    assert client.get("/readyz").json()["message"] == "the service is about to stop"
