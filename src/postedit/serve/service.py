"""What the routes of the service share."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

from fastapi import FastAPI, Request

from postedit.serve.engine import Engine
from postedit.serve.settings import ServeConfig


@dataclass(slots=True)
class Service:
    """The parts of a running service; `app.state.service`.

    Args:
        config: the settings.
        engine: edits segments.
        store: projects, files and people.
        stopping: set when the service is about to stop; streams of events end then.
    """

    config: ServeConfig
    engine: Engine
    store: Any = None
    stopping: asyncio.Event = field(default_factory=asyncio.Event)


def service_of(request: Request) -> Service:
    """Return the service that a request was made to; for `Depends`."""
    return service_of_app(request.app)


def service_of_app(app: FastAPI) -> Service:
    """Return the service of an application."""
    return cast(Service, app.state.service)
