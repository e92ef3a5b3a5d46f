"""`postedit check`."""

from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from postedit.core.errors import PosteditError
from postedit.core.wording import listed

if TYPE_CHECKING:
    from postedit.jobs.integrity import Finding

_SHOWN: Final = 5  # largest number of files without a digest that are listed by name


def check(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER",
            help="Model folders, run folders, corpora (a folder, or OUT of `synth`), or language pairs.",
        ),
    ],
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="First record digests of all files as they are now, for instance after a change by hand.",
        ),
    ] = False,
) -> None:
    """Check that all files of models, runs and corpora are as they were written; exit with code 1 if one is damaged."""
    from postedit.cli.main import report_error
    from postedit.jobs.integrity import check_whole, record_whole

    damaged, failed = False, False
    for folder in folders:
        try:
            place = _place_of(folder)
            if record:
                record_whole(place)
            finding = check_whole(place)
        except PosteditError as error:
            report_error(str(error))
            failed = True
            continue
        damaged |= bool(finding.damage)
        typer.echo(describe(finding))
    if damaged:
        typer.echo(
            "A file that was changed on purpose: postedit check --record FOLDER takes all as they are.", err=True
        )
    if damaged or failed:
        raise typer.Exit(1)


def _place_of(given: Path) -> Path:
    """Return the model folder that a language pair stands for; `given` itself if it is the prefix of files."""
    from postedit.releases.catalogue import resolved

    return given if any(given.parent.glob(f"{escape(given.name)}.*")) else Path(resolved(str(given)))


def describe(finding: "Finding") -> str:
    """Return a line that sums up a folder, followed by one for each damaged file."""
    unrecorded = len(finding.unrecorded)
    parts = [f"{len(finding.damage)} damaged" if finding.damage else "nothing damaged" if unrecorded else "all whole"]
    if unrecorded:
        names = listed([file.name for file in finding.unrecorded], _SHOWN)
        parts.append(f"no digest recorded of {unrecorded} ({names})")
    line = f"{finding.path}: {finding.kind} of {finding.files:,} files: {', '.join(parts)}"
    return "\n".join([line, *(f"  {file}: {damage}" for file, damage in finding.damage.items())])
