"""`postedit train`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from postedit.jobs.training import RunResult


def train(
    recipe: Annotated[
        Path,
        typer.Argument(
            help="A TOML file with model, data and training options, or the name of a recipe that comes with postedit."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; by default, a folder in runs/ named after the recipe.")
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="OPTION=VALUE", help="Override an option, such as train.lr=3e-4."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in that folder.")] = False,
    accept_changed_data: Annotated[
        bool, typer.Option("--accept-changed-data", help="With --resume: accept data files that have changed.")
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(min=2, help="Train this many models with different seeds, in OUT/seed-1 ..., for an ensemble."),
    ] = None,
) -> None:
    """Train a model as a recipe specifies. Ctrl-C writes a checkpoint, from which --resume continues."""
    from postedit.cli.tables import console
    from postedit.jobs.training import is_main_process, train_seeds
    from postedit.jobs.training import train as run
    from postedit.recipe import load_recipe
    from postedit.shipped import find_recipe

    checked = load_recipe(find_recipe(recipe), overrides or ())
    folder = out or Path("runs") / recipe.stem
    if seeds is None:
        result = run(
            checked, folder, resume=resume, console=console(stderr=True), accept_changed_data=accept_changed_data
        )
        if is_main_process():
            typer.echo(describe(result))
        return
    results = train_seeds(checked, folder, seeds, resume, console(stderr=True), accept_changed_data)
    if not is_main_process():
        return
    typer.echo("\n\n".join(map(describe, results)))
    typer.echo(
        f"\nAs an ensemble: postedit edit {' '.join(str(result.model) for result in results)} --src FILE --mt FILE"
    )


def describe(result: "RunResult") -> str:
    """Return a summary of a run in a few lines: how it ended, and its dev scores next to those of unedited MT."""
    training = result.training
    chosen = training.chosen
    ours = "  ".join(f"{name.upper()} {chosen.metrics[name]:.2f}" for name in ("ter", "bleu") if name in chosen.metrics)
    where = "" if result.stage is None else f" in the last stage, {result.stage}"
    lines = [f"Trained {training.steps:,} updates{where}; ended because {training.reason}."]
    if (base := result.do_nothing) is not None:
        label = f"dev, {base.name}:"
        lines.append(f"{label:17}TER {base.ter:.2f}  BLEU {base.bleu:.2f}  ({base.signatures['TER']})")
    return "\n".join(
        [*lines, f"dev, model:      {ours}  ({training.exported}, greedy search)", f"Model: {result.model}"]
    )
