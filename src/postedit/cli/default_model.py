"""The model of commands that are given none."""

from collections.abc import Sequence

import typer

from postedit import shipped


def models_or_shipped(named: Sequence[str] | None) -> list[str]:
    """Return the models that were named; if there are none the one that comes with postedit, which is said."""
    if named:
        return list(named)
    typer.echo(f"Model: the one that comes with postedit ({shipped.SUMMARY}); name another to use that", err=True)
    return [str(shipped.MODEL)]
