"""The end of the web server."""

import asyncio
from types import SimpleNamespace
from typing import Any

import uvicorn

from postedit.serve.web_server import _GRACE, _Server


def test_connections_stay_open_as_long_as_accepted_requests_may_take() -> None:
    async def end() -> int | None:
        engine = SimpleNamespace(seconds_to_answer=lambda: 99.5)
        service: Any = SimpleNamespace(engine=engine, stopping=asyncio.Event(), config=SimpleNamespace(drain_seconds=0))
        server = _Server(uvicorn.Config("app"), service)
        server.handle_exit(15, None)
        while not server.should_exit:
            await asyncio.sleep(0.01)
        assert service.stopping.is_set()
        return server.config.timeout_graceful_shutdown

    assert asyncio.run(end()) == 100 + _GRACE
