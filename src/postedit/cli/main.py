"""The `postedit` command: its verbs, and the one place where errors become sentences and exit codes."""

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import postedit
from postedit.cli.average import average
from postedit.cli.compile_notice import show_compiling
from postedit.cli.data import data
from postedit.cli.demo import demo
from postedit.cli.edit import edit
from postedit.cli.explain import explain
from postedit.cli.gate import gate
from postedit.cli.models import models
from postedit.cli.rerank import rerank
from postedit.cli.score import score
from postedit.cli.synth import synth
from postedit.cli.train import train
from postedit.cli.tune import tune
from postedit.core.errors import PosteditError
from postedit.core.files import reason_of

INTERRUPTED = 130  # what a shell reports for a program that Ctrl-C ended


class _Verbs(TyperGroup):
    """Runs a verb. A traceback that gets past here is a defect in postedit."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except PosteditError as error:
            raise _failure(str(error)) from None
        except KeyboardInterrupt as interrupt:
            typer.echo(str(interrupt) or "interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the reader, such as `head`, has had enough
            _abandon_stdout()
            raise typer.Exit(1) from None
        except OSError as error:
            _abandon_stdout()
            where = f"{error.filename}: " if error.filename else ""
            raise _failure(f"{where}{reason_of(error)}") from None
        return result


app = typer.Typer(cls=_Verbs, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
for verb in (demo, train, edit, gate, tune, rerank, score, explain, synth, average, models):
    app.command()(verb)
app.add_typer(data, name="data")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"postedit {postedit.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Correct machine translation with models learnt from post-edits."""


def main() -> None:
    """Run the command line."""
    if os.environ.get("RANK", "0") == "0":  # of the processes of a run, the first one
        show_compiling()
    app()


def _failure(message: str) -> typer.Exit:
    typer.echo(f"{typer.style('error:', fg='red', bold=True)} {message}", err=True)
    return typer.Exit(1)


def _abandon_stdout() -> None:
    """Point stdout at nothing, so that Python does not fail once more when it flushes it at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
