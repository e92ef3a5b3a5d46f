"""`postedit serve`: the HTTP service."""

from pathlib import Path
from typing import Annotated, Any

import typer

from postedit.core.errors import DataError, library


def serve(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help="Model folder or hub id; none: phrases of the corrections alone. The model that comes with postedit "
            "if not given.",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings (serve.toml), for servers of several people.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; 127.0.0.1 if not given.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 8080 if not given.")] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of files and database; postedit-data if not given.")
    ] = None,
) -> None:
    """Serve models over HTTP, with a workbench for post-editors."""
    uvicorn = library("uvicorn", "postedit serve", "serve")
    library("fastapi", "postedit serve", "serve")
    from postedit.serve.app import create_app
    from postedit.serve.settings import SHIPPED, laptop_settings, load_settings

    given: dict[str, Any] = {"host": host, "port": port, "data": None if data is None else str(data)}
    given = {name: value for name, value in given.items() if value is not None}
    if config is not None and model is not None:
        raise DataError("give MODEL, or --config with its models, but not both")
    settings = load_settings(config, given) if config is not None else laptop_settings(model or SHIPPED, given)
    uvicorn.run(create_app(settings), host=settings.host, port=settings.port)
