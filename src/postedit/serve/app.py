"""The FastAPI application: its routes, its error handlers, and the parts that start and stop with it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from fastapi import FastAPI

import postedit
from postedit.evaluate.ter import count_edits
from postedit.serve import (
    routes_accounts,
    routes_compat,
    routes_edit,
    routes_files,
    routes_jobs,
    routes_projects,
    routes_status,
    routes_workbench,
)
from postedit.serve.accounts import caller
from postedit.serve.engine import Engine
from postedit.serve.event_hub import EventHub
from postedit.serve.file_jobs import FileJobs
from postedit.serve.http_errors import add_error_handlers
from postedit.serve.middleware import Gatekeeper, RequestLog
from postedit.serve.service import Service
from postedit.serve.settings import ServeConfig
from postedit.serve.store import Store

_log = logging.getLogger(__name__)

_THREADS: Final = 32
"""Threads for short store calls from jobs and event streams; routes have a separate pool of about the same size."""

_ROUTES = (
    routes_status,
    routes_edit,
    routes_compat,
    routes_accounts,
    routes_projects,
    routes_files,
    routes_jobs,
    routes_workbench,
)


def create_app(config: ServeConfig, engine: Engine | None = None) -> FastAPI:
    """Return the application; its parts are in `app.state.service` and start with its lifespan.

    Args:
        config: the service settings.
        engine: the engine that edits segments; None: one made from `config`.
    """
    app = FastAPI(title="postedit", version=postedit.__version__, lifespan=_lifespan, docs_url=None, redoc_url=None)
    service = _service(config, engine or Engine(config))
    app.state.service = service
    add_error_handlers(app)
    app.add_middleware(
        Gatekeeper,
        config=config,
        seconds_until_free=service.engine.seconds_until_free,
        identify=partial(caller, service=service),
    )
    app.add_middleware(
        RequestLog, metrics=service.metrics, log_requests=config.log.requests
    )  # the last middleware added is the outermost
    for routes in _ROUTES:  # as they are: `include_router` would rebuild them at the first request
        app.router.routes.extend(routes.router.routes)
    return app


def _service(config: ServeConfig, engine: Engine) -> Service:
    store, stopping = Store(config.database_place), asyncio.Event()
    store.people.session_seconds = config.auth.session_hours * 3600
    engine.project_settings, engine.project_model = store.projects.edit_settings, store.projects.model
    events = EventHub(store, stopping, engine.forget_deleted)
    return Service(config, engine, engine.metrics, store, FileJobs(store, engine), events, stopping)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    threads = ThreadPoolExecutor(_THREADS, "service")
    asyncio.get_running_loop().set_default_executor(threads)
    forget = service.store.projects.forget_deleted_corrections  # deleted while no service was running
    await asyncio.gather(service.engine.start(), asyncio.to_thread(_warm_up), asyncio.to_thread(forget))
    if service.config.auth_required and not await asyncio.to_thread(service.store.people.has_administrator):
        _log.warning("nobody can administer the service yet: run the same command with --create-admin NAME")
    service.events.start()
    service.jobs.start()
    try:
        yield
    finally:
        service.stopping.set()
        await service.jobs.stop()
        await service.engine.stop()
        await service.events.stop()
        await _close(service, threads)


async def _close(service: Service, threads: Executor) -> None:
    """Close the database once no thread uses it: threads of cancelled tasks go on, and would reopen it."""
    run = asyncio.get_running_loop().run_in_executor
    with ThreadPoolExecutor(1, "close") as last:
        await run(last, threads.shutdown)
        await run(last, service.store.close)


def _warm_up() -> None:
    """Compile the code that counts edits in proposals and decisions, which takes some seconds on a new machine."""
    count_edits(["warm up"], ["warm"], "13a")
