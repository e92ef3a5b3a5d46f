"""The `postedit` command: verbs, error messages and exit codes."""

import importlib
import inspect
import io
import logging
import os
import signal
import sys
from collections import UserDict
from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

import postedit
from postedit.core.errors import PosteditError
from postedit.core.files import reason_of

VERBS: Final = {
    "demo": "Correct machine translations, score them and show why.",
    "train": "Train a model from a recipe.",
    "edit": "Correct machine translations with a model.",
    "gate": "Learn which edits of a model to revert.",
    "tune": "Tune the weights of a combination of models.",
    "chain": "Let one model correct the output of another.",
    "rerank": "Choose the best hypothesis of each n-best list.",
    "memory": "Keep corrections that models learn from.",
    "simulate": "Simulate post-editing with an editor that learns from corrections.",
    "assess": "Assess whether automatic post-editing is worth it.",
    "score": "Score outputs against human post-edits.",
    "explain": "Show the evidence for each edit.",
    "synth": "Make artificial triplets.",
    "average": "Average the weights of checkpoints.",
    "models": "List and fetch models of language pairs; list architectures.",
    "data": "Extract, describe and clean triplets.",
    "check": "Check whether models, runs and corpora are intact.",
    "serve": "Serve models over HTTP, with a workbench for post-editors.",
}
"""Summary of each verb. Verb `v` is the function or `typer.Typer` named `v` in the module `postedit.cli.v`."""

_HELP: Final = ["-h", "--help"]

_TO_SAVE_MEMORY: Final = "close other programs, use fewer workers or smaller batches, or a machine with more memory"

INTERRUPTED: Final = 130
"""Exit code that shells use for a program ended by Ctrl-C. Here, SIGTERM and SIGHUP save progress and give it, too."""


class _Stderr(logging.Handler):
    """Handler that looks up stderr for each message, because a progress bar replaces `sys.stderr` while it is shown."""

    def emit(self, record: logging.LogRecord) -> None:
        label = "warning: " if record.levelno >= logging.WARNING else ""
        typer.echo(f"{label}{record.getMessage()}", err=True)


def show_log(*names: str) -> None:
    """Print the messages of these loggers, from level INFO, to stderr."""
    for name in names:
        log = logging.getLogger(name)
        log.setLevel(logging.INFO)
        log.propagate = False
        log.handlers = [_Stderr()]


class _Commands(UserDict[str, Any]):
    """Commands by name. Each verb is imported when it is first used, so `postedit --help` imports no verb."""

    def __init__(self, others: Mapping[str, Any]) -> None:
        super().__init__({**dict.fromkeys(VERBS), **others})

    def __getitem__(self, name: str) -> Any:
        command = super().__getitem__(name)
        if command is None:
            self[name] = command = _load_verb(name)
        return command


def _load_verb(name: str) -> Any:
    verb = getattr(importlib.import_module(f"postedit.cli.{name}"), name)
    if isinstance(verb, typer.Typer):
        return _with_plain_help(typer.main.get_group(verb))
    single = typer.Typer(add_completion=False)
    single.command(name)(verb)
    return _with_plain_help(typer.main.get_command(single))


def _with_plain_help(command: Any) -> Any:
    """Mend help that typer makes: only the terminal wraps paragraphs, and flags do not seem to take a value."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    for parameter in command.get_params(typer.Context(command, help_option_names=_HELP)):
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""  # typer would show <bool>
    for one in getattr(command, "commands", {}).values():
        _with_plain_help(one)
    return command


class _Group(TyperGroup):
    """Group that runs a verb and prints expected errors as messages. A traceback that escapes is a bug in postedit."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands(self.commands)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help as plain text, because importing rich would take longer than everything else."""
        super(TyperGroup, self).format_help(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(VERBS.items())

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:  # None if stdout was closed before the start
                sys.stdout.flush()
        except PosteditError as error:
            report_error(str(error))
            raise typer.Exit(1) from None
        except typer.BadParameter as error:
            _say_what_is_allowed(error)
            raise
        except (KeyboardInterrupt, SystemError) as error:
            _end_if_interrupted(error)
            raise
        except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
            _abandon_stdout()
            raise typer.Exit(1) from None
        except OSError as error:
            _abandon_stdout()
            where = f"{error.filename}: " if error.filename else ""
            report_error(f"{where}{reason_of(error)}")
            raise typer.Exit(1) from None
        except typer.Exit:  # a RuntimeError that carries the exit code of a command
            raise
        except (MemoryError, RuntimeError) as error:
            _end_if_interrupted(error)
            if not _is_out_of_memory(error):
                raise
            _abandon_stdout()
            report_error(f"not enough memory: {_TO_SAVE_MEMORY}")
            raise typer.Exit(1) from None
        return result


def _say_what_is_allowed(error: typer.BadParameter) -> None:
    """Replace pydantic's words about the value of an option, which typer passes on, by those that recipes get, too."""
    from pydantic import ValidationError

    from postedit.core.config import describe_values

    if isinstance(error.__cause__, ValidationError):
        error.message = describe_values(error.__cause__)


def _end_if_interrupted(error: BaseException) -> None:
    """End the command if `error` is, or was caused by, a KeyboardInterrupt.

    Code compiled by numba wraps that in a SystemError; Python before 3.12 wraps it in a RuntimeError if it is raised
    in `__set_name__`.
    """
    interrupt = error if isinstance(error, KeyboardInterrupt) else error.__cause__
    if isinstance(interrupt, KeyboardInterrupt):
        typer.echo(str(interrupt) or "interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _is_out_of_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError) or "can't start new thread" in str(error):
        return True
    from postedit.editing.batches import is_out_of_memory

    return is_out_of_memory(error)


app = typer.Typer(cls=_Group, context_settings={"help_option_names": _HELP}, pretty_exceptions_enable=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"postedit {postedit.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Correct machine translation with models learnt from post-edits."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit(2)


def main() -> None:
    """Run the command line."""
    if os.environ.get("RANK", "0") == "0":  # only the first process of a distributed run prints messages
        show_log("postedit.compiled", "postedit.editing.loading", "postedit.llm.llm_editor")
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handled = [one for one in signals if signal.getsignal(one) is not signal.SIG_IGN]  # nohup ignores SIGHUP
    for number in handled:
        signal.signal(number, signal.default_int_handler)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in ("strict", "surrogateescape"):
        sys.stdout.reconfigure(errors="backslashreplace")  # tables show words that some encodings lack
    try:
        app()
    finally:
        for number in handled:  # all work is saved, and a traceback of the exit would tell nothing
            signal.signal(number, signal.SIG_DFL)


def report_error(message: str) -> None:
    """Print an error to stderr."""
    typer.echo(f"{typer.style('error:', fg='red', bold=True)} {message}", err=True)


def _abandon_stdout() -> None:
    """Redirect stdout to the null device, so that the flush at exit cannot fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
