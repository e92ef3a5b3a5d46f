"""`postedit train`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postedit.cli import shared
from postedit.core.errors import RecipeError
from postedit.core.wording import counted

if TYPE_CHECKING:
    from postedit.jobs.phrase_training import PhraseRun
    from postedit.jobs.training import RunResult


def train(
    recipe: Annotated[
        Path, typer.Argument(metavar="RECIPE", help="A TOML recipe, or the name of one that comes with postedit.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; by default, a folder in runs/ named after the recipe.")
    ] = None,
    overrides: shared.RecipeSetOption = None,
    resume: shared.ResumeOption = False,
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
    from postedit.phrase.phrase_recipe import is_phrase_recipe, load_phrase_recipe
    from postedit.recipe import load_recipe
    from postedit.shipped import find_recipe

    if accept_changed_data and not resume:
        raise RecipeError("--accept-changed-data is for --resume; without it, the data is read as it is")
    path, folder, err = find_recipe(recipe), out or Path("runs") / recipe.stem, console(stderr=True)
    if is_phrase_recipe(path, overrides or ()):
        if seeds is not None:
            raise RecipeError("--seeds: nothing in the training of a phrase-based model is random; leave it out")
        if accept_changed_data:
            raise RecipeError("--accept-changed-data: a phrase-based model is trained from the start; leave it out")
        from postedit.jobs.phrase_training import train_phrases

        typer.echo(describe_phrases(train_phrases(load_phrase_recipe(path, overrides or ()), folder, resume, err)))
        return
    from postedit.jobs import training
    from postedit.jobs.drafting import are_drafted

    runs = [folder] if seeds is None else training.seed_folders(folder, seeds)
    checked = load_recipe(path, overrides or (), drafted=resume and all(map(are_drafted, runs)))
    if seeds is None:
        results = [training.train(checked, folder, resume, err, accept_changed_data=accept_changed_data)]
    else:
        results = training.train_seeds(checked, folder, seeds, resume, err, accept_changed_data)
    if training.is_main_process():
        typer.echo("\n\n".join(map(describe, results)))
        if seeds is not None:
            models = " ".join(str(result.model) for result in results)
            typer.echo(f"\nAs an ensemble: postedit edit {models} --src FILE --mt FILE")
    training.disconnect_processes()


def describe(result: "RunResult") -> str:
    """Return a summary of a run in a few lines: how it ended, and its dev scores beside those of unedited MT."""
    training = result.training
    chosen = training.chosen
    ours = "  ".join(f"{name.upper()} {chosen.metrics[name]:.2f}" for name in ("ter", "bleu") if name in chosen.metrics)
    where = "" if result.stage is None else f" in the last stage, {result.stage}"
    lines = [f"Trained {counted(training.steps, 'update')}{where}; ended because {training.reason}."]
    if (base := result.unedited) is not None:
        label = f"dev, {base.name}:"
        lines.append(f"{label:18}TER {base.ter:.2f}  BLEU {base.bleu:.2f}  ({base.signatures['TER']})")
    lines += [f"dev, model:       {ours}  ({training.exported}, greedy search)", f"Model: {result.model}"]
    return "\n".join(lines)


def describe_phrases(run: "PhraseRun") -> str:
    """Return a summary of the run of a phrase-based model: its dev scores beside those of unedited MT."""
    lines = [f"Learnt from {counted(run.triplets, 'triplet')}."]
    for label, scores in ((f"dev, {run.unedited.name}:", run.unedited), ("dev, model:", run.scores)):
        lines.append(f"{label:18}TER {scores.ter:.2f}  BLEU {scores.bleu:.2f}  ({scores.signatures['TER']})")
    if run.scores.changes is not None and not run.scores.changes.changed:
        lines.append(
            "The model leaves all of dev unedited: tuning found no edits that help. Try more triplets of the same MT "
            "system and domain, or a neural model."
        )
    return "\n".join([*lines, f"Model: {run.model}"])
