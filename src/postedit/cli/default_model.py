"""The default model of commands."""

from collections.abc import Sequence

import typer

from postedit import shipped


def models_or_shipped(named: Sequence[str] | None) -> list[str]:
    """Return the named models; if there are none, announce and return the model that comes with postedit."""
    if named:
        return list(named)
    typer.echo(f"Model: the one that comes with postedit ({shipped.SUMMARY}); name another to use that", err=True)
    return [str(shipped.MODEL)]
