"""`postedit synth`."""

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from postedit.synthesis.executor import Executor
    from postedit.synthesis.phase import Phase

_FAR: Final = 0.05
"""Kolmogorov-Smirnov distance of TER from which on triplets are said to be unlike the real ones."""


class Engine(StrEnum):
    """Where the work is done."""

    LOCAL = "local"
    RAY = "ray"


def synth(
    recipe: Annotated[Path, typer.Argument(help="A TOML file that says how to make triplets; see recipes/synth/.")],
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="OPTION=VALUE", help="Another value for an option, such as synth.seed=2."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run.")] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that work at once; one a core if not given.")
    ] = None,
    engine: Annotated[
        Engine,
        typer.Option(help="Where they work: on this machine, or in a Ray cluster (pip install 'postedit[ray]')."),
    ] = Engine.LOCAL,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", envvar="RAY_ADDRESS", help="The Ray cluster; one is started here if not given."
        ),
    ] = None,
) -> None:
    """Make artificial triplets as a recipe says. Stopped at any point, it goes on with --resume."""
    from postedit.cli.tables import console
    from postedit.progress import LineProgress
    from postedit.synthesis.engine import run
    from postedit.synthesis.phase import check_phases
    from postedit.synthesis.recipe import load_synth_recipe

    phases = load_synth_recipe(recipe, overrides or ()).phases()
    check_phases(phases, resume=resume)
    screen = console(stderr=True)
    for number, phase in enumerate(phases, start=1):
        job = phase.prepare()
        if resume and phase is not phases[-1] and phase.finished(job):
            screen.print(f"{phase.name}: done before, {phase.manifest}", highlight=False)
            continue
        if len(phases) > 1:
            screen.print(f"{number} of {len(phases)}: {phase.name}", highlight=False)
        executor = _executor(engine, workers, address, spread=phase.spread)
        with LineProgress(screen, job.source.total) as progress:
            manifest = run(job, phase.prefix, executor, resume=resume, report=progress.update)
        typer.echo(describe(manifest, phase))


def _executor(engine: Engine, workers: int | None, address: str | None, *, spread: bool) -> "Executor":
    from postedit.synthesis.cluster import Ray
    from postedit.synthesis.executor import executor

    if engine is Engine.RAY:
        return Ray(workers, address, threads=not spread)
    return executor(workers or (len(os.sched_getaffinity(0)) if spread else 1))


def describe(manifest: dict[str, Any], phase: "Phase") -> str:
    """Return what came out, beside what real triplets are like, in a few lines."""
    made, real = manifest["made"], manifest.get("real")
    lines = [
        f"{name:9}{_edits(values)}" for name, values in (("real:", real), ("made:", made)) if values and "ter" in values
    ]
    if "signature" in manifest:
        lines.append(f"TER: {manifest['signature']}")
    if real:
        near = f"Kolmogorov-Smirnov distance of TER: {manifest['ks_ter']:.3f} to the real triplets"
        if "ks_ter_at_these_lengths" in manifest:
            near += f", {manifest['ks_ter_at_these_lengths']:.3f} to real ones of these lengths"
        lines.append(near)
        if manifest["recipe"].get("lengths") == "all" and manifest["ks_ter"] > _FAR:
            lines.append(
                '  (short lines cannot have the TER of long ones; synth.lengths="real" leaves out what is unlike)'
            )
    lines += [f"left out: {count:,} {reason}" for reason, count in manifest["left_out"].items() if count]
    files = ", ".join(f"{phase.prefix}.{side}" for side in phase.sides)
    what = "triplets" if "mt" in phase.sides else "sentences"
    return "\n".join([*lines, f"{made['triplets']:,} {what}: {files} ({phase.manifest})"])


def _edits(values: dict[str, Any]) -> str:
    kinds = ", ".join(f"{values[kind]:.2f} {kind}" for kind in ("shifts", "substitutions", "insertions", "deletions"))
    return f"TER {values['ter']:.2f}, in a hundred words: {kinds}"
