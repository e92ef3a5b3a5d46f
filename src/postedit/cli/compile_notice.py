"""Announce compilation, which otherwise looks like a hang."""

import logging

import typer


class _Stderr(logging.Handler):
    """Writes to the current stderr, which a progress bar replaces while it is shown."""

    def emit(self, record: logging.LogRecord) -> None:
        typer.echo(record.getMessage(), err=True)


def show_compiling() -> None:
    """Show the log messages about compiled functions in this process."""
    log = logging.getLogger("postedit.compiled")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.handlers = [_Stderr()]
