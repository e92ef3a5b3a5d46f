"""`postedit serve`: the HTTP service."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from postedit.core.errors import DataError, library


def serve(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help="Model folder, hub id, or language pair, such as en-de; none: only phrases learnt from corrections. "
            "The model that comes with postedit if not given.",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings file (serve.toml), for a server with several users.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; 127.0.0.1 if not given.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 8080 if not given, 0: any free one.")] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of files and database; postedit-data if not given.")
    ] = None,
    create_admin: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Make an administrator, or give one a new password, and exit. The password comes from the variable "
            "POSTEDIT_ADMIN_PASSWORD; if this is not set, the command asks for it.",
        ),
    ] = None,
) -> None:
    """Serve models over HTTP, with a workbench for post-editors.

    By default, the service listens on this machine only, and nobody has to sign in. Ctrl-C stops it once all accepted
    requests are answered.
    """
    from postedit.core.processes import signals_held

    with signals_held():  # while they are imported, some modules turn a KeyboardInterrupt into another exception
        for name in ("fastapi", "uvicorn", "httptools", "prometheus_client"):
            library(name, "postedit serve", "serve")
        from postedit.serve.service_logs import set_up_logs
        from postedit.serve.settings import SHIPPED, laptop_settings, load_settings

    if config is not None and model is not None:
        raise DataError("give MODEL, or --config with its models, but not both")
    given: dict[str, Any] = {"host": host, "port": port, "data": None if data is None else str(data)}
    given = {name: value for name, value in given.items() if value is not None}
    settings = laptop_settings(model or SHIPPED, given) if config is None else load_settings(config, given)
    if create_admin is not None:
        _create_admin(settings.database_place, create_admin)
        return
    set_up_logs(settings.log)
    typer.echo(f"Loading {', '.join(settings.models)} ...")
    with signals_held():
        from postedit.serve.web_server import run_service  # which compiles functions, and logs that

    run_service(settings, lambda address: typer.echo(f"Serving at {address} (Ctrl-C stops)"))


def _create_admin(database: str, name: str) -> None:
    from postedit.serve.api_types import user_name
    from postedit.serve.store import Store

    name = user_name(name)
    password = os.environ.get("POSTEDIT_ADMIN_PASSWORD")
    if not password and (sys.stdin is None or not sys.stdin.isatty()):
        raise DataError(
            "standard input is not a terminal on which to ask for the password; set $POSTEDIT_ADMIN_PASSWORD"
        )
    password = password or typer.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True)
    store = Store(database)
    try:
        store.people.set_admin(name, password)
    finally:
        store.close()
    typer.echo(f"{name} is an administrator now")
