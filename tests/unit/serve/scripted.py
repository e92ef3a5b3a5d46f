"""A service whose model processes have scripted editors."""

import asyncio
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from scripted_editor import ScriptedProcess
from serve_tools import answer_check

from postedit.serve.app import create_app
from postedit.serve.engine import Engine
from postedit.serve.model_work import ProcessSpec
from postedit.serve.settings import ServeConfig, parse_settings


def settings(data: Path, processes: int = 1, **given: Any) -> ServeConfig:
    """Return settings with one scripted model."""
    model = {"path": "none", "processes": processes, "protect": [], "learns": False, **given.pop("model", {})}
    return parse_settings({"models": {"scripted": model}, "data": str(data), "port": 0, **given}, "test")


def specs(config: ServeConfig) -> dict[str, ProcessSpec]:
    """Return scripted processes for all models."""
    return {name: ScriptedProcess(model, 1, None) for name, model in config.models.items()}


@contextmanager
def serving(config: ServeConfig, *, scripted: bool = True) -> Iterator["RunningService"]:
    """Run a service in a thread, with scripted editors or the models of the settings."""
    app = create_app(config, Engine(config, specs=specs(config) if scripted else None))
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    options: dict[str, Any] = {"access_log": False, "server_header": False, "timeout_graceful_shutdown": 60}
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, **options))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    while not server.started and thread.is_alive():
        time.sleep(0.02)
    with httpx.Client(base_url=address, timeout=300) as client, listening:
        client.event_hooks = {"response": [answer_check(app)]}
        try:
            yield RunningService(app, client, address)
        finally:
            server.should_exit = True
            thread.join(600)  # a compilation in another thread may hold it up
        if thread.is_alive():
            frame = sys._current_frames().get(thread.ident or 0)
            stack = "".join(traceback.format_stack(frame)) if frame else "none\n"
            tasks = "\n".join(map(str, asyncio.all_tasks(app.state.service.jobs._loop)))
            connections = server.server_state.connections
            pytest.fail(
                f"the service does not stop; its thread is at\n{stack}connections: {connections}\ntasks:\n{tasks}"
            )


@dataclass(frozen=True, slots=True)
class RunningService:
    """A service that runs, and a client that asks it."""

    app: FastAPI
    client: httpx.Client
    address: str

    def edit(self, *mt: str, **given: Any) -> httpx.Response:
        """Ask for corrections."""
        segments = [{"src": "a source", "mt": one} for one in mt]
        return self.client.post("/v1/edit", json={"segments": segments, **given})

    def wait_until(self, *, waiting: int) -> None:
        """Wait until so many segments wait for a model process, and all processes work."""
        engine = self.app.state.service.engine
        deadline = time.monotonic() + 300  # a process that replaces another one takes a while
        while time.monotonic() < deadline:
            lines, workers = [*engine._backlog._lines.values()], engine._pool._workers
            if sum(map(len, lines)) == waiting and all(worker.ready and not worker.idle for worker in workers):
                return
            time.sleep(0.01)
        raise AssertionError(lines)

    @property
    def worker(self) -> int:
        """The id of the first model process."""
        pid: int = self.app.state.service.engine._pool._workers[0].process.pid
        return pid
