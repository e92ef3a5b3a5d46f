"""`postedit synth`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from postedit.cli import output_files, shared
from postedit.core.processes import usable_cores

if TYPE_CHECKING:
    from postedit.distributed.pipeline import Phase

_DISSIMILAR: Final = 0.05
"""Kolmogorov-Smirnov distance of TER above which triplets count as unlike the real ones."""


def synth(
    recipe: Annotated[
        Path,
        typer.Argument(
            metavar="RECIPE", help="A TOML recipe, or the name of one that comes with postedit, such as noise."
        ),
    ],
    overrides: shared.RecipeSetOption = None,
    resume: shared.ResumeOption = False,
    workers: shared.ProcessesOption = None,
    engine: shared.EngineOption = "local",
    address: shared.AddressOption = None,
) -> None:
    """Make artificial triplets as a recipe specifies. --resume continues an interrupted run."""
    from postedit.shipped import find_recipe
    from postedit.synthesis.kinds import load_synth_recipe

    section = load_synth_recipe(find_recipe(recipe, "synth"), overrides or ())
    with output_files.written_to(section.place) as here:
        for text in _run_phases(section.phases(), resume, workers, engine, address):
            typer.echo(text.replace(str(here), str(section.place)))


def _run_phases(
    phases: "Sequence[Phase]", resume: bool, workers: int | None, engine: shared.Engine, address: str | None
) -> Iterator[str]:
    """Run the phases one after another, and yield the summary of each."""
    from postedit.cli.tables import console
    from postedit.distributed.pipeline import run_job
    from postedit.progress import LineProgress

    for phase in phases:
        phase.files.check(resume=resume)
    screen = console(stderr=True)
    for number, phase in enumerate(phases, start=1):
        job = phase.prepare()
        if resume and phase is not phases[-1] and phase.finished(job):
            screen.print(f"{phase.name}: already done, {phase.files.manifest}", highlight=False)
            continue
        if len(phases) > 1:
            screen.print(f"{number} of {len(phases)}: {phase.name}", highlight=False)
        for warning in job.source.warnings:
            shared.warn(warning)
        processes = workers or (1 if phase.multithreaded else usable_cores())
        executor = shared.executor_of(engine, address, workers, processes, multithreaded=phase.multithreaded)
        with LineProgress(screen, job.source.total) as progress:
            manifest = run_job(job, phase.files, executor, resume=resume, report=progress.update)
        yield describe(manifest, phase)
        del job  # frees the models that its stage has loaded


def describe(manifest: dict[str, Any], phase: "Phase") -> str:
    """Return a summary of the output of a phase, with the statistics of the real triplets for comparison."""
    made, real = manifest["made"], manifest.get("real")
    lines = [
        f"{name:9}{_edits(values)}" for name, values in (("real:", real), ("made:", made)) if values and "ter" in values
    ]
    if "signature" in manifest:
        lines.append(f"TER: {manifest['signature']}")
    if real:
        distance = f"Kolmogorov-Smirnov distance of TER: {manifest['ks_ter']:.3f} to the real triplets"
        if "ks_ter_at_these_lengths" in manifest:
            distance += f", {manifest['ks_ter_at_these_lengths']:.3f} to real ones of these lengths"
        lines.append(distance)
        if manifest["recipe"].get("lengths") == "all" and manifest["ks_ter"] > _DISSIMILAR:
            lines.append(
                '  (short lines cannot have the TER of long ones; synth.lengths="real" matches the lengths, too)'
            )
    lines += [f"left out: {count:,} {reason}" for reason, count in manifest["left_out"].items() if count]
    sides = phase.files.sides
    names = ", ".join(str(phase.files.named(side)) for side in sides)
    unit = "triplets" if "mt" in sides else "sentences"
    return "\n".join([*lines, f"{made['triplets']:,} {unit}: {names} ({phase.files.manifest})"])


def _edits(values: dict[str, Any]) -> str:
    kinds = ", ".join(f"{values[kind]:.2f} {kind}" for kind in ("shifts", "substitutions", "insertions", "deletions"))
    return f"TER {values['ter']:.2f}; per hundred words: {kinds}"
