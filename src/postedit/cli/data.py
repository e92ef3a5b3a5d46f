"""`postedit data`: extraction, statistics and cleaning of triplets."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from postedit.cli import output_files, shared
from postedit.core.errors import DataError, PosteditError
from postedit.core.wording import counted
from postedit.data.text_paths import is_far, located

if TYPE_CHECKING:
    from postedit.core.saved_arrays import SavedArrays
    from postedit.data.triplets import Triplet, TripletFiles
    from postedit.jobs.edit_statistics import EditStatistics

data = typer.Typer(no_args_is_help=True, help="Extract, describe and clean triplets.")

_LOOKED_AT: Final = 1000  # first triplets from which it is guessed how words are separated

TripletsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="TRIPLETS",
        help="A prefix (train means train.src, train.mt, train.pe), a .tsv, .jsonl or .parquet file, or file names "
        "separated by commas: SRC,MT,PE, or SRC,PE for parallel text. Files may be compressed.",
    ),
]


@data.command()
def stats(
    triplets: TripletsArgument,
    dev: Annotated[list[str] | None, typer.Option(help="A dev set, to find triplets that it shares.")] = None,
    test: Annotated[list[str] | None, typer.Option(help="A test set, to find triplets that it shares.")] = None,
    json_out: shared.JsonOption = None,
    picture: Annotated[Path | None, typer.Option(help="Also draw the statistics: a .png, .svg or .pdf file.")] = None,
    top: Annotated[int, typer.Option(min=0, help="Number of most frequent edits to list.")] = 20,
    tokenize: shared.TokenizeOption = "none",
    resume: shared.ResumeOption = False,
    workers: shared.ProcessesOption = None,
    engine: shared.EngineOption = "local",
    address: shared.AddressOption = None,
) -> None:
    """Show statistics of triplets: lengths, TER, kinds of edits, duplicates, the most frequent edits.

    Unfinished work is kept beside the first output, for --resume.
    """
    from postedit.cli.statistics import draw, print_statistics
    from postedit.cli.tables import console
    from postedit.data.blocks import workers_for
    from postedit.data.triplets import read_triplets
    from postedit.jobs.corpus_statistics import gather_statistics
    from postedit.progress import LineProgress

    files = files_of(triplets)
    others = {
        label if len(names) == 1 else f"{label} {name}": files_of([name])
        for label, names in (("dev", dev or ()), ("test", test or ()))
        for name in names
    }
    inputs = [path for some in (files, *others.values()) for one in some for path in one.paths]
    output_files.check_outputs({"--json": json_out, "--picture": picture}, inputs)
    output_files.check_picture("--picture", picture)
    if resume and not (json_out or picture):
        raise DataError("--resume continues after counts kept beside an output: name one, such as --json FILE")
    total = _count(files)
    for other in others.values():
        _count(other)
    first = list(islice(read_triplets(files), _LOOKED_AT))
    shared.warn_of_words(", ".join(triplets), [triplet.pe for triplet in first], tokenize)
    executor = shared.executor_of(engine, address, workers, workers_for(total, workers))
    with _saved_counts(json_out or picture, files, others, tokenize, resume=resume) as saved:
        with LineProgress(console(stderr=True), total) as progress:
            result = gather_statistics(
                files, others, tokenize=tokenize, executor=executor, progress=progress.update, saved=saved
            )
        if not result.triplets:
            raise DataError(
                f"{', '.join(triplets)}: every triplet has an empty or much too long side; nothing to count"
            )
        warnings = [] if result.edits is None else _column_signs(first, result.edits)
        for warning in warnings:
            shared.warn(f"{warning}.")
        if json_out is not None:
            values = {**result.to_dict(top), "warnings": warnings}
            output_files.write_json(json_out, values)
        if picture is not None:
            draw(result, picture, ", ".join(triplets))
    print_statistics(result, console(), top)  # last: the reader of a pipe may close it


def _column_signs(first: "Sequence[Triplet]", edits: "EditStatistics") -> list[str]:
    """Return signs that columns are mixed up: the languages of the first triplets, and the TER of all."""
    from postedit.evaluate.column_signs import column_signs
    from postedit.evaluate.tokenisation import tokenisation_signs
    from postedit.text.config import SIDES
    from postedit.text.languages import SAMPLE

    src, mt, pe = ([getattr(triplet, side) for triplet in first[:SAMPLE]] for side in SIDES)
    if src == mt:  # models that shorten or simplify a text read it as mt
        return []
    counts_sentences = edits.tokenize != "characters" and tokenisation_signs(pe).unsegmented
    return column_signs(src, mt, pe, ter=0.0 if counts_sentences else edits.ter)


@contextmanager
def _saved_counts(
    out: Path | None,
    files: "Sequence[TripletFiles]",
    others: "Mapping[str, Sequence[TripletFiles]]",
    tokenize: str,
    *,
    resume: bool,
) -> "Iterator[SavedArrays | None]":
    """Yield the store of counts beside an output, None if there is no such place; remove it if the block ends well.

    If the block fails after counts were saved, the message of the error says how to continue.
    """
    from postedit import __version__
    from postedit.core.files import explain_os_errors
    from postedit.core.saved_arrays import SavedArrays
    from postedit.data.resumable_file import file_fingerprint, lock_output, unlock_output
    from postedit.jobs.corpus_statistics import BLOCK

    work = output_files.beside(out, ".work")
    if work is None:
        yield None
        return
    sets = {"triplets": files, **others}
    read = {name: [[file_fingerprint(path) for path in one.paths] for one in named] for name, named in sets.items()}
    job = {"postedit": __version__, "block": BLOCK, "--tokenize": tokenize, **read}
    saved = SavedArrays(work / "counts.npz", job, resume=resume)
    lock = lock_output(work)
    try:
        if not resume:
            shutil.rmtree(work, ignore_errors=True)
        with explain_os_errors(work):
            work.mkdir(exist_ok=True)
        yield saved
        saved.discard()
    except (KeyboardInterrupt, PosteditError) as error:
        if not saved.is_saved:
            raise
        how = f"counts are kept in {work}; continue with the same command and --resume"
        raise type(error)(f"{str(error) or 'stopped'}; {how}") from None
    finally:
        if not saved.path.exists():
            shutil.rmtree(work, ignore_errors=True)
        unlock_output(lock)


@data.command()
def clean(
    triplets: TripletsArgument,
    out: Annotated[
        Path,
        typer.Option(
            parser=output_files.prefix, help="Prefix of the cleaned files: OUT.src, OUT.mt, OUT.pe and others."
        ),
    ],
    recipe: Annotated[
        Path | None,
        typer.Option(help="A TOML file with other options, or the name of a recipe that comes with postedit."),
    ] = None,
    overrides: shared.RecipeSetOption = None,
    resume: shared.ResumeOption = False,
    workers: shared.ProcessesOption = None,
    engine: shared.EngineOption = "local",
    address: shared.AddressOption = None,
) -> None:
    """Clean triplets or parallel text. OUT.removed.jsonl holds every removed triplet and the reason for its removal."""
    from postedit.cli.tables import console, print_report, stage_progress
    from postedit.core.config import load_config, override, read_toml
    from postedit.data.blocks import workers_for
    from postedit.data.cleaning import cleaner
    from postedit.data.cleaning.config import CleanConfig
    from postedit.shipped import find_recipe

    values = override({} if recipe is None else read_toml(find_recipe(recipe, "clean")), overrides or ())
    config = load_config(CleanConfig, values, "data clean" if recipe is None else str(recipe))
    files = files_of(triplets)
    if is_far(out):  # the cleaner checks local outputs
        sides = {f"--out {out}.{side}": out.with_name(f"{out.name}.{side}") for side in files[0].sides}
        output_files.check_outputs(sides, (located(path) for one in files for path in map(str, one.paths)))
    with output_files.written_to(out) as here:
        cleaner.check_output(files, here, resume=resume)
        total = _count(files)
        executor = shared.executor_of(engine, address, workers, workers_for(total, workers))
        try:
            with stage_progress(console(stderr=True), total) as progress:
                report = cleaner.clean(files, here, config, resume=resume, executor=executor, progress=progress)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("stopped; continue with the same command and --resume") from None
    print_report(report, console())
    typer.echo(f"Cleaned: {out if is_far(out) else report.files.name}")


@data.command()
def extract(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="XLIFF, TMX or PO files after post-editing, or folders of them."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            parser=output_files.prefix,
            help="Prefix of the outputs: OUT.src, OUT.mt, OUT.pe, and OUT.ids with the origin of each line.",
        ),
    ],
    before: Annotated[
        Path | None,
        typer.Option(help="The file, or folder of files of the same names, before post-editing: its targets are mt."),
    ] = None,
    parallel: Annotated[
        bool, typer.Option("--parallel", help="Extract source and target alone, without mt, as parallel text.")
    ] = False,
    languages: shared.LanguagesOption = "",
    resume: shared.ResumeOption = False,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Number of processes, each of which reads one file at a time; one if not given."),
    ] = None,
    engine: shared.EngineOption = "local",
    address: shared.AddressOption = None,
) -> None:
    """Extract triplets from translation files; mt is the target before post-editing, or a candidate beside it."""
    from postedit.cli.tables import console
    from postedit.jobs import extraction, unit_lines

    if before is not None and parallel:
        raise DataError("--before gives mt, and --parallel is text without mt: leave one of them out")
    if before is not None and len(paths) > 1:
        raise DataError("--before is for one file or folder; give the others in runs of their own")
    files = extraction.files_among(paths)
    sides = extraction.output_sides(with_mt=not parallel)
    outputs = {f"--out {out}.{side}": out.with_name(f"{out.name}.{side}") for side in sides}
    output_files.check_outputs(outputs | {f"--out {out}.json": out.with_name(f"{out.name}.json")}, [*files, before])
    take: unit_lines.Take = unit_lines.finished_pair if parallel else unit_lines.with_candidate
    settings: dict[str, str] = {"take": "finished" if parallel else "candidates"}
    if before is not None:
        take = pairs = unit_lines.BeforeAndAfter(before, paths[0])
        settings = {"take": "before", "before": extraction.fingerprint(pairs.files_of(files))}
    executor, err = shared.executor_of(engine, address, workers, workers or 1), console(stderr=True)
    with output_files.written_to(out) as here:
        found = extraction.extract(
            files, take, here, err, with_mt=not parallel, settings=settings, languages=languages, resume=resume,
            executor=executor,
        )  # fmt: skip
    kind = "pair" if parallel else "triplet"
    typer.echo(
        f"{counted(found.lines, kind)} from {counted(len(files), 'file')}: {', '.join(map(str, outputs.values()))}"
    )
    for reason, count in found.left_out.most_common():
        typer.echo(f"{counted(count, 'unit')} left out: {reason}")


def _count(files: "Sequence[TripletFiles]") -> int:
    """Check files of triplets, warn of what is doubtful, and return the number of triplets."""
    from postedit.data.triplets import check_files

    return sum(check_files(one, shared.warn) for one in files)


def files_of(names: Sequence[str]) -> "list[TripletFiles]":
    """Return the files that TRIPLETS arguments name.

    Raises:
        DataError: if an argument has more file names than there are sides, or names one file for two sides that cannot
            hold both, or if only some arguments have machine translations.
    """
    from pydantic import ValidationError

    from postedit.core.config import describe_problems
    from postedit.data.triplets import TripletFiles

    files = []
    for name in names:
        paths = name.split(",")
        if len(paths) > 3 or not all(paths):
            raise DataError(f"{name}: give SRC,MT,PE or SRC,PE with commas between the names of the files")
        sides = {"src": paths[0], "mt": paths[1] if len(paths) == 3 else None, "pe": paths[-1]}
        try:
            files.append(TripletFiles.model_validate(name if len(paths) == 1 else sides))
        except ValidationError as error:
            raise DataError(f"{name}: {'; '.join(describe_problems(TripletFiles, error))}") from None
        if files[-1].sides != files[0].sides:
            raise DataError(
                f"{files[0].name} and {files[-1].name}: only one of them has machine translations; process each by "
                "itself"
            )
    return files
