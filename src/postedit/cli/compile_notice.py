"""What is compiled is told, or the first use of it looks as if it hung."""

import logging

import typer


class _Stderr(logging.Handler):
    """Writes to stderr as it then is: a progress bar stands in for it while it is drawn."""

    def emit(self, record: logging.LogRecord) -> None:
        typer.echo(record.getMessage(), err=True)


def show_compiling() -> None:
    """Show what is logged of functions that are compiled, in this process."""
    log = logging.getLogger("postedit.compiled")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.handlers = [_Stderr()]
