"""`postedit data`: what a corpus of triplets is like, and cleaning it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postedit.core.errors import DataError, OutputError
from postedit.core.files import atomic_write, check_writable
from postedit.core.output_paths import same_file
from postedit.data.compression import find_file
from postedit.data.text_paths import is_far

if TYPE_CHECKING:
    from postedit.data.triplets import TripletFiles

data = typer.Typer(no_args_is_help=True, help="Look at triplets, and clean them.")

_TRIPLETS = (
    "A prefix (train for train.src, train.mt, train.pe), a .tsv, .jsonl or .parquet file, or files with commas "
    "between: SRC,MT,PE, or SRC,PE for parallel text. Compressed files too."
)


@data.command()
def stats(
    triplets: Annotated[list[str], typer.Argument(metavar="TRIPLETS...", help=_TRIPLETS)],
    dev: Annotated[list[str] | None, typer.Option(help="A dev set, to find what it shares with the triplets.")] = None,
    test: Annotated[list[str] | None, typer.Option(help="A test set, likewise.")] = None,
    json_out: Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Also write all numbers here.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Also draw them: a .png, .svg or .pdf file.")] = None,
    top: Annotated[int, typer.Option(min=0, help="Most frequent edits to list.")] = 20,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; all cores if not given.")] = None,
) -> None:
    """Show what triplets are like: lengths, TER, kinds of edits, repetitions, the most frequent edits."""
    from postedit.cli.statistics import print_statistics
    from postedit.cli.tables import console
    from postedit.data.blocks import workers_for
    from postedit.data.triplets import check_files
    from postedit.progress import LineProgress
    from postedit.statistics.corpus import gather_statistics
    from postedit.statistics.picture import check_picture, draw

    for path in filter(None, (json_out, picture)):
        check_writable(path)
    if picture is not None:
        check_picture(picture)
    files = [files_of(name) for name in triplets]
    check_sides(files)
    _check_inputs_stay(files, [path for path in (json_out, picture) if path is not None])
    others = {
        label if len(names) == 1 else f"{label} {name}": [files_of(name)]
        for label, names in (("dev", dev or ()), ("test", test or ()))
        for name in names
    }
    total = sum(check_files(one) for one in files)
    for other in others.values():
        check_files(other[0])
    with LineProgress(console(stderr=True), total) as progress:
        result = gather_statistics(files, others, workers=workers_for(total, workers), progress=progress.update)
    if not result.triplets:
        raise DataError(f"{', '.join(triplets)}: every triplet has an empty or much too long side; nothing to count")
    print_statistics(result, console(), top)
    if json_out is not None:
        with atomic_write(json_out) as file:
            json.dump(result.to_dict(top), file, indent=2, ensure_ascii=False)
            file.write("\n")
    if picture is not None:
        draw(result, picture, ", ".join(triplets))


@data.command()
def clean(
    triplets: Annotated[list[str], typer.Argument(metavar="TRIPLETS...", help=_TRIPLETS)],
    out: Annotated[Path, typer.Option(help="Prefix of the cleaned files: OUT.src, OUT.mt, OUT.pe and others.")],
    recipe: Annotated[Path | None, typer.Option(help="A TOML file with other options; see recipes/clean/.")] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="OPTION=VALUE", help="Another value for an option, such as length.max=80."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the work of an unfinished run.")] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; all cores if not given.")] = None,
) -> None:
    """Clean triplets or parallel text. Nothing is removed without its reason in OUT.removed.jsonl."""
    from postedit.cli.cleaning import Stages, print_report
    from postedit.cli.tables import console
    from postedit.core.config import load_config, override, read_toml
    from postedit.data.blocks import workers_for
    from postedit.data.cleaning.cleaner import check_output
    from postedit.data.cleaning.cleaner import clean as run
    from postedit.data.cleaning.config import CleanConfig
    from postedit.data.triplets import check_files

    values = override({} if recipe is None else read_toml(recipe), overrides or ())
    config = load_config(CleanConfig, values, "data clean" if recipe is None else str(recipe))
    files = [files_of(name) for name in triplets]
    check_sides(files)
    check_output(files, out, resume=resume)
    total = sum(check_files(one) for one in files)
    try:
        with Stages(console(stderr=True), total) as stages:
            processes = workers_for(total, workers)
            report = run(files, out, config, resume=resume, workers=processes, progress=stages.update)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped; the same command with --resume goes on from here") from None
    print_report(report, console())
    typer.echo(f"Cleaned: {report.files.name}")


def _check_inputs_stay(files: "list[TripletFiles]", written: list[Path]) -> None:
    """Check that no file that is read is written.

    Raises:
        OutputError: if one would be.
    """
    read = [find_file(path) for one in files for path in one.paths if not is_far(path)]
    for path in written:
        if any(same_file(path, one) for one in read):
            raise OutputError(f"{path}: is one of the files to look at; choose another name for what is written")


def files_of(name: str) -> "TripletFiles":
    """Return the triplets that an argument names.

    Raises:
        DataError: if it has more commas than there are sides.
    """
    from postedit.data.triplets import TripletFiles

    paths = name.split(",")
    if len(paths) == 1:
        return TripletFiles.of(name)
    if len(paths) > 3 or not all(paths):
        raise DataError(f"{name}: give SRC,MT,PE or SRC,PE with commas between the names of the files")
    return TripletFiles(src=paths[0], mt=paths[1] if len(paths) == 3 else None, pe=paths[-1])


def check_sides(files: "list[TripletFiles]") -> None:
    """See to it that all triplets have translations, or none have.

    Raises:
        DataError: if they are mixed.
    """
    odd = next((one for one in files if one.sides != files[0].sides), None)
    if odd is not None:
        raise DataError(f"{files[0].name} and {odd.name}: one has machine translations and one has not; look at each")
