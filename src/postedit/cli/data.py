"""`postedit data`: statistics and cleaning of triplets."""

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

data = typer.Typer(no_args_is_help=True, help="Analyse triplets, and clean them.")

_TRIPLETS = (
    "A prefix (train means train.src, train.mt, train.pe), a .tsv, .jsonl or .parquet file, or file names separated by "
    "commas: SRC,MT,PE, or SRC,PE for parallel text. Files may be compressed."
)


@data.command()
def stats(
    triplets: Annotated[list[str], typer.Argument(metavar="TRIPLETS...", help=_TRIPLETS)],
    dev: Annotated[list[str] | None, typer.Option(help="A dev set, to find triplets that it shares.")] = None,
    test: Annotated[list[str] | None, typer.Option(help="A test set, to find triplets that it shares.")] = None,
    json_out: Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Also write all numbers here.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Also draw them: a .png, .svg or .pdf file.")] = None,
    top: Annotated[int, typer.Option(min=0, help="Number of most frequent edits to list.")] = 20,
    workers: Annotated[int | None, typer.Option(min=1, help="Number of processes; all cores by default.")] = None,
) -> None:
    """Show statistics of triplets: lengths, TER, kinds of edits, duplicates, the most frequent edits."""
    from postedit.cli.statistics import check_picture, draw, print_statistics
    from postedit.cli.tables import console
    from postedit.data.blocks import workers_for
    from postedit.data.triplets import check_files
    from postedit.jobs.corpus_statistics import gather_statistics
    from postedit.progress import LineProgress

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
    total = sum(check_files(one, _warn) for one in files)
    for other in others.values():
        check_files(other[0], _warn)
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
    recipe: Annotated[
        Path | None,
        typer.Option(help="A TOML file with other options, or the name of a recipe that comes with postedit."),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="OPTION=VALUE", help="Override an option, such as length.max=80."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue unfinished work.")] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="Number of processes; all cores by default.")] = None,
) -> None:
    """Clean triplets or parallel text. OUT.removed.jsonl holds every removed triplet with the reason."""
    from postedit.cli.cleaning import StageProgress, print_report
    from postedit.cli.tables import console
    from postedit.core.config import load_config, override, read_toml
    from postedit.data.blocks import workers_for
    from postedit.data.cleaning.cleaner import check_output
    from postedit.data.cleaning.cleaner import clean as run
    from postedit.data.cleaning.config import CleanConfig
    from postedit.data.triplets import check_files
    from postedit.shipped import find_recipe

    values = override({} if recipe is None else read_toml(find_recipe(recipe, "clean")), overrides or ())
    config = load_config(CleanConfig, values, "data clean" if recipe is None else str(recipe))
    files = [files_of(name) for name in triplets]
    check_sides(files)
    check_output(files, out, resume=resume)
    total = sum(check_files(one, _warn) for one in files)
    try:
        with StageProgress(console(stderr=True), total) as stages:
            processes = workers_for(total, workers)
            report = run(files, out, config, resume=resume, workers=processes, progress=stages.update)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped; continue with the same command and --resume") from None
    print_report(report, console())
    typer.echo(f"Cleaned: {report.files.name}")


def _warn(message: str) -> None:
    typer.echo(f"{typer.style('warning:', fg='yellow')} {message}", err=True)


def _check_inputs_stay(files: "list[TripletFiles]", written: list[Path]) -> None:
    """Check that no input file would be overwritten.

    Raises:
        OutputError: if one would be.
    """
    read = [find_file(path) for one in files for path in one.paths if not is_far(path)]
    for path in written:
        if any(same_file(path, one) for one in read):
            raise OutputError(f"{path}: is one of the input files; choose another name for the output")


def files_of(name: str) -> "TripletFiles":
    """Return the files that a TRIPLETS argument names.

    Raises:
        DataError: if it has more file names than there are sides.
    """
    from postedit.data.triplets import TripletFiles

    paths = name.split(",")
    if len(paths) == 1:
        return TripletFiles.of(name)
    if len(paths) > 3 or not all(paths):
        raise DataError(f"{name}: give SRC,MT,PE or SRC,PE with commas between the names of the files")
    return TripletFiles(src=paths[0], mt=paths[1] if len(paths) == 3 else None, pe=paths[-1])


def check_sides(files: "list[TripletFiles]") -> None:
    """Check that all files have machine translations, or none has.

    Raises:
        DataError: if they are mixed.
    """
    odd = next((one for one in files if one.sides != files[0].sides), None)
    if odd is not None:
        raise DataError(
            f"{files[0].name} and {odd.name}: only one of them has machine translations; process each by itself"
        )
