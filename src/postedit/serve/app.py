"""The application: routes, errors, and the parts that start and stop with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

import postedit
from postedit.serve import routes_compat, routes_edit, routes_status, routes_workbench
from postedit.serve.engine import Engine
from postedit.serve.http_errors import add_error_handlers
from postedit.serve.middleware import Gatekeeper, RequestLog
from postedit.serve.service import Service
from postedit.serve.service_metrics import Metrics
from postedit.serve.settings import ServeConfig


def create_app(config: ServeConfig) -> FastAPI:
    """Return the application; its parts are in `app.state.service` and start with its lifespan."""
    app = FastAPI(title="postedit", version=postedit.__version__, lifespan=_lifespan, docs_url=None, redoc_url=None)
    metrics = Metrics()
    app.state.service = Service(config, Engine(config, metrics), metrics)
    add_error_handlers(app)
    app.add_middleware(Gatekeeper, config=config)
    app.add_middleware(RequestLog, metrics=metrics, log_requests=config.log.requests)  # the last one is outermost
    for router in (routes_status.router, routes_edit.router, routes_compat.router, routes_workbench.router):
        app.include_router(router)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    await service.engine.start()
    try:
        yield
    finally:
        service.stopping.set()
        await service.engine.stop()
