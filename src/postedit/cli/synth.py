"""`postedit synth`."""

import os
from pathlib import Path
from typing import Annotated, Any, Final

import typer

_FAR: Final = 0.05
"""Kolmogorov-Smirnov distance of TER from which on triplets are said to be unlike the real ones."""


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
) -> None:
    """Make artificial triplets as a recipe says. Stopped at any point, it goes on with --resume."""
    from postedit.cli.tables import console
    from postedit.progress import LineProgress
    from postedit.synthesis.engine import run
    from postedit.synthesis.executor import executor
    from postedit.synthesis.outputs import check_outputs
    from postedit.synthesis.recipe import load_synth_recipe

    config = load_synth_recipe(recipe, overrides or ())
    prefix = config.prefix
    check_outputs(prefix, ("src", "mt", "pe"), resume=resume)
    job = config.prepare()
    with LineProgress(console(stderr=True), job.source.total) as progress:
        manifest = run(
            job, prefix, executor(workers or len(os.sched_getaffinity(0))), resume=resume, report=progress.update
        )
    typer.echo(describe(manifest, prefix))


def describe(manifest: dict[str, Any], prefix: Path) -> str:
    """Return what came out, beside what real triplets are like, in a few lines."""
    made, real = manifest["made"], manifest.get("real")
    lines = [f"{name:9}{_edits(values)}" for name, values in (("real:", real), ("made:", made)) if values]
    if real:
        lines.append(
            f"Kolmogorov-Smirnov distance of TER: {manifest['ks_ter']:.3f} to the real triplets, "
            f"{manifest['ks_ter_at_these_lengths']:.3f} to real ones of these lengths"
        )
        if manifest["recipe"]["lengths"] == "all" and manifest["ks_ter"] > _FAR:
            lines.append(
                '  (short lines cannot have the TER of long ones; synth.lengths="real" leaves out what is unlike)'
            )
    lines += [f"left out: {count:,} {reason}" for reason, count in manifest["left_out"].items() if count]
    return "\n".join([*lines, f"{made['triplets']:,} triplets: {prefix}.src, {prefix}.mt, {prefix}.pe ({prefix}.json)"])


def _edits(values: dict[str, Any]) -> str:
    kinds = ", ".join(f"{values[kind]:.2f} {kind}" for kind in ("shifts", "substitutions", "insertions", "deletions"))
    return f"TER {values['ter']:.2f}, in a hundred words: {kinds}"
