"""The service as it starts and ends."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from serve_tools import WordEngine, config_of
from sqlalchemy.pool import QueuePool

from postedit.serve.app import create_app
from postedit.serve.store import Store
from postedit.serve.store_jobs import Jobs


def test_no_connection_outlives_the_service(with_tables: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that looks for jobs asks the database only when its task has been cancelled."""
    looking, closed, claim, close = threading.Event(), threading.Event(), Jobs.claim, Store.close

    def late_claim(self: Jobs, *args: Any, **options: Any) -> Any:
        looking.set()
        closed.wait(0.5)
        return claim(self, *args, **options)

    def noted_close(self: Store) -> None:
        close(self)
        closed.set()

    monkeypatch.setattr(Jobs, "claim", late_claim)
    monkeypatch.setattr(Store, "close", noted_close)
    config = config_of(with_tables, tmp_path)
    app = create_app(config, engine := WordEngine(config))
    engine.store = app.state.service.store
    with TestClient(app):
        assert looking.wait(300)
    pool = app.state.service.store.database.engine.pool
    assert isinstance(pool, QueuePool)
    assert (pool.checkedin(), pool.checkedout()) == (0, 0)


def test_a_service_without_an_administrator_says_so(
    serve: Callable[..., TestClient], store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    serve(auth={"required": False})
    assert "--create-admin" not in caplog.text
    serve(auth={"required": True})
    assert "--create-admin" in caplog.text
    store.people.create_user("anna", "long enough pw", admin=True)
    caplog.clear()
    serve(auth={"required": True})
    assert "--create-admin" not in caplog.text
