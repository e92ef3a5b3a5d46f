"""Corrections named on the command line: triplets, or translation files before and after post-editing."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postedit.cli import shared
from postedit.cli.data import files_of
from postedit.cli.edit_files import split_inputs
from postedit.core.errors import DataError
from postedit.core.wording import counted

if TYPE_CHECKING:
    from postedit.adapt.correction import Correction

BeforeOption = Annotated[
    Path | None,
    typer.Option(help="The translation file, or the folder, before post-editing: its targets are mt."),
]


def read_corrections(
    stream: str, before: Path | None, languages: str, *, project: str = "", author: str = "", file: str = ""
) -> "tuple[list[Correction], Counter[str]]":
    """Return the corrections that an argument names, and how many were left out for each reason, which is also printed.

    Raises:
        DataError: if files cannot be read, contain no correction, or do not allow the options given.
    """
    _, paths = split_inputs([stream], folders=True)
    if paths:
        return _units(paths[0], before, languages, {"project": project, "author": author, "file": file})
    if before is not None or languages:
        raise DataError(f"{stream}: --before and --languages are for translation files; leave them out")
    return read_triplet_corrections(stream, project=project, author=author, file=file)


def files_read(stream: str, before: Path | None) -> list[Path]:
    """Return the files that `read_corrections` reads, which no output may overwrite.

    Raises:
        DataError: if an argument does not name files.
    """
    from postedit.jobs.extraction import files_among

    _, paths = split_inputs([stream], folders=True)
    if paths:
        return files_among([*paths, *([] if before is None else [before])])
    return [path for one in files_of([stream]) for path in one.paths]


def read_triplet_corrections(
    stream: str, *, project: str = "", author: str = "", file: str = "", most: int | None = None
) -> "tuple[list[Correction], Counter[str]]":
    """Return the first `most` triplets (all if None) that an argument names, as corrections; see `read_corrections`.

    Raises:
        DataError: if files cannot be read, or contain no triplet to learn from.
    """
    from postedit.data.report import DataReport
    from postedit.data.triplets import headings_warning
    from postedit.jobs.memory_exchange import from_triplets

    (files,) = files_of([stream])
    if files.mt is None:
        raise DataError(f"{stream}: has no machine translations, without which there is nothing to correct")
    report = DataReport()
    found = from_triplets(files, report, project=project, author=author, file=file, most=most)
    left_out = Counter[str]()
    for source in report.sources.values():
        for reason, skipped in source.skipped.items():
            left_out[reason] += skipped.count
            shared.warn(f"{counted(skipped.count, 'triplet')} left out: {reason}")
    if not found:
        raise DataError(f"{stream}: has no triplet to learn from")
    if (warning := headings_warning(files, found[0].src, found[0].mt, found[0].pe)) is not None:
        shared.warn(warning)
    return found, left_out


def _units(
    path: Path, before: Path | None, languages: str, origin: dict[str, str]
) -> "tuple[list[Correction], Counter[str]]":
    from postedit.cli.tables import console
    from postedit.jobs import extraction, unit_lines
    from postedit.jobs.memory_exchange import from_translation_files

    take: unit_lines.Take = unit_lines.with_candidate if before is None else unit_lines.BeforeAndAfter(before, path)
    files = extraction.files_among([path])
    found, report = from_translation_files(files, take, console(stderr=True), languages, **origin)
    for reason, count in report.left_out.most_common():
        typer.echo(f"{counted(count, 'unit')} left out: {reason}", err=True)
    return found, report.left_out
