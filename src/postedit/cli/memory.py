"""`postedit memory`: memories of corrections, from which models learn."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postedit.cli import output_files, shared
from postedit.cli.correction_inputs import BeforeOption, read_corrections
from postedit.core.errors import DataError
from postedit.core.wording import counted
from postedit.text.config import SIDES

if TYPE_CHECKING:
    from rich.console import Console

    from postedit.adapt.correction_memory import CorrectionMemory, Entry, ProjectSummary

memory = typer.Typer(no_args_is_help=True, help="Keep corrections that models learn from.")

MemoryArgument = Annotated[
    str,
    typer.Argument(metavar="MEMORY", help="A file, or the URL of a PostgreSQL database: postgresql://USER@HOST/NAME."),
]
AuthorOption = Annotated[str, typer.Option(help="Who undoes it.")]


@memory.command()
def add(
    where: MemoryArgument,
    stream: Annotated[
        str,
        typer.Argument(
            metavar="STREAM",
            help="Triplets in the order in which they were made: a prefix (STREAM.src, .mt, .pe), a table, or file "
            "names separated by commas. Or a translation file after post-editing, or a folder of them.",
        ),
    ],
    project: Annotated[
        str, typer.Option(help="Customer or project of the corrections, by which they can all be deleted.")
    ] = "",
    author: Annotated[str, typer.Option(help="Who made them.")] = "",
    file: Annotated[str, typer.Option(help="Name of the file that they belong to.")] = "",
    before: BeforeOption = None,
    languages: shared.LanguagesOption = "",
) -> None:
    """Add corrections, either all or none; create the memory if it does not exist."""
    from postedit.adapt.correction_memory import CorrectionMemory

    corrections, _ = read_corrections(stream, before, languages, project=project, author=author, file=file)
    with CorrectionMemory(where) as opened:
        try:
            numbers = opened.add(corrections)
            typer.echo(
                f"{opened.place}: {counted(len(numbers), 'correction')} added, numbers {numbers[0]} to {numbers[-1]}"
            )
        except KeyboardInterrupt:  # they are already added if it came while the disk was writing them
            raise KeyboardInterrupt(
                f"{opened.place}: interrupted while adding; see by `postedit memory show`, with --last 3, whether the "
                "corrections are there before you add them again: one that is added twice counts twice"
            ) from None


@memory.command()
def show(
    where: MemoryArgument,
    last: Annotated[int, typer.Option(min=0, help="Also list this many of the last entries.")] = 0,
    json_out: shared.JsonOption = None,
) -> None:
    """Show how many corrections each project has and, with --last, the latest entries."""
    from postedit.cli.tables import console

    output_files.check_outputs({"--json": json_out}, ())
    with _opened(where) as opened:
        position, projects, entries = opened.position, opened.projects(), opened.latest(last) if last else []
        corrections, undone = (sum(getattr(one, name) for one in projects) for name in ("corrections", "undone"))
        values = {
            "memory": opened.place,
            "corrections": corrections,
            "undone": undone,
            "edition": position.edition,
            "last entry": position.last,
            "projects": [_project_values(one) for one in projects],
            "last entries": [_entry_values(one) for one in entries],
        }
        heading = (
            f"{opened.place}: {counted(corrections, 'correction')}, and {undone:,} undone; edition {position.edition}, "
            f"last entry {position.last}"
        )
    if json_out is not None:
        output_files.write_json(json_out, values)
    out = console()
    out.print(heading, soft_wrap=True)
    if projects:
        _print_projects(projects, out)
    if entries:
        _print_entries(entries, out)


def _project_values(one: "ProjectSummary") -> dict[str, Any]:
    dates = {
        name: None if made is None else made.isoformat() for name, made in (("first", one.first), ("last", one.last))
    }
    return {"name": one.name, "corrections": one.corrections, "undone": one.undone, **dates}


def _entry_values(entry: "Entry") -> dict[str, Any]:
    names = ("project", "author", "file", "unit", "src", "mt", "pe")
    made = entry.correction.made
    values = {"number": entry.number, "undoes": entry.undoes, "made": None if made is None else made.isoformat()}
    return {**values, **{name: getattr(entry.correction, name) for name in names}}


def _print_projects(projects: "list[ProjectSummary]", out: "Console") -> None:
    from rich.text import Text

    from postedit.cli.tables import new_table

    grid = new_table(["project", "corrections", "undone", "first", "last"], ["corrections", "undone"])
    for one in projects:
        cells = (one.name or "(none)", f"{one.corrections:,}", f"{one.undone:,}", _minute(one.first), _minute(one.last))
        grid.add_row(*map(Text, cells))
    out.print(grid)


def _print_entries(entries: "list[Entry]", out: "Console") -> None:
    from rich.text import Text

    from postedit.cli.tables import new_table

    grid = new_table(["number", "when (UTC)", "project", "author", "file", "what"], ["number"])
    for number, one, undoes in entries:
        what = f"{one.mt} → {one.pe}" if one.mt != one.pe else f"kept: {one.mt}"
        text = what if undoes is None else f"undoes {undoes}"
        grid.add_row(*map(Text, (str(number), _minute(one.made), one.project, one.author, one.file, text)))
    out.print(grid)


def _minute(made: datetime | None) -> str:
    return "" if made is None else f"{made:%Y-%m-%d %H:%M}"


@memory.command()
def export(
    where: MemoryArgument,
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", parser=output_files.prefix, help="Prefix of the files: OUT.src, OUT.mt and OUT.pe."
        ),
    ],
    project: Annotated[str | None, typer.Option(help="Write only the corrections of this project.")] = None,
) -> None:
    """Write the corrections that have not been undone to files that `train` and `simulate` can read."""
    from postedit.jobs import memory_exchange

    outputs = {f"OUT {out}.{side}": out.with_name(f"{out.name}.{side}") for side in SIDES}
    output_files.check_outputs(outputs, shared.files_named(None, where))
    with _opened(where) as opened, output_files.written_to(out) as here:
        count = memory_exchange.export(opened, here, project)
    typer.echo(f"{counted(count, 'correction')}: {', '.join(map(str, outputs.values()))}")


@memory.command()
def undo(
    where: MemoryArgument,
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="Number of the correction; see `show --last`.")],
    author: AuthorOption = "",
) -> None:
    """Undo a correction: models that learn from the memory will be as if they had never seen it."""
    with _opened(where) as opened:
        entry = opened.undo(number, author)
        typer.echo(f"{opened.place}: correction {number} undone, by entry {entry}")


@memory.command()
def delete(
    where: MemoryArgument,
    project: Annotated[str, typer.Option(help="Project to delete; empty for the corrections without one.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show what would be deleted.")] = False,
) -> None:
    """Delete all entries of a project for good, with their texts; models that learn from the memory start again."""
    from postedit.jobs.memory_exchange import check_project

    with _opened(where) as opened:
        found = {one.name: one for one in opened.projects()}.get(project)
        if found is None:
            if yes and opened.may_hold_deleted:
                opened.delete(project)  # deletes nothing, but overwrites what an interrupted deletion has left
                raise DataError(
                    f'{opened.place}: has no project "{project}"; any texts that earlier deletions left are overwritten'
                )
            check_project(opened, project)
        elif yes:
            count = opened.delete(project)
            typer.echo(f'{opened.place}: {counted(count, "entry", "entries")} of project "{project}" deleted')
        else:
            raise DataError(
                f'{opened.place}: would delete {counted(found.corrections, "correction")} of project "{project}", and '
                f"{found.undone:,} undone, for good; add --yes to do it"
            )


def _opened(where: str) -> "CorrectionMemory":
    """Open an existing memory; raise DataError if it does not exist."""
    from postedit.adapt.correction_memory import CorrectionMemory

    return CorrectionMemory(where, create=False)
