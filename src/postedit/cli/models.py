"""`postedit models`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postedit.core.errors import DataError, RecipeError

if TYPE_CHECKING:
    from postedit.core.model import Seq2Seq
    from postedit.recipe import Recipe


models = typer.Typer()


@models.callback(invoke_without_command=True)
def architectures(
    context: typer.Context,
    recipes: Annotated[
        Path | None, typer.Option(help="Folder of recipes to list; default: the recipes that come with postedit.")
    ] = None,
) -> None:
    """List models for language pairs and fetch them; list architectures and recipes.

    Without a command, list the architectures with their inputs and papers, and the recipes with the texts that their
    models read, their sizes and their numbers of parameters.
    """
    if context.invoked_subcommand is not None:
        return
    from postedit.cli.tables import console, new_table
    from postedit.core.config import read_toml
    from postedit.models import ARCHITECTURES
    from postedit.phrase.phrase_options import NAME
    from postedit.recipe import load_recipe
    from postedit.shipped import RECIPES

    if recipes is not None and not recipes.is_dir():
        raise RecipeError(f"{recipes}: no such folder of recipes")
    out = console()
    table = new_table(["name", "inputs", "paper", "summary"])
    for name in ARCHITECTURES:
        try:
            found = ARCHITECTURES[name]
        except RecipeError as error:  # a package that is broken does not hide the others
            table.add_row(name, "", "", str(error))
            continue
        table.add_row(name, " ".join(found.inputs), found.paper, found.summary)
    table.add_row(NAME, "src mt", "Simard et al. 2007", "phrases that were corrected before, looked up in all triplets")
    out.print(table)
    sizes = new_table(["recipe", "architecture", "reads", "sizes", "parameters"], ["parameters"])
    for path in sorted((recipes or RECIPES).glob("*.toml")):
        name = path.stem if recipes is None else str(path)
        model = read_toml(path).get("model", {})
        if model.get("name") == NAME:
            sizes.add_row(name, NAME, "src mt", "", "none")
            continue
        if "checkpoint" in model:  # do not download checkpoints for a list
            sizes.add_row(name, str(model.get("name")), "", "", f"those of {model['checkpoint']}")
            continue
        recipe = load_recipe(path, check_data=False)
        reads = " ".join(_built(recipe).spec.inputs)
        given = ", ".join(f"{option} {value}" for option, value in recipe.model if type(value) is int)
        sizes.add_row(name, recipe.architecture.name, reads, given, f"{count_parameters(recipe):,}")
    if sizes.row_count:
        out.print(sizes)


@models.command("list")
def list_models(
    pair: Annotated[
        str | None, typer.Argument(metavar="PAIR", help="Only models for this language pair, such as en-de.")
    ] = None,
) -> None:
    """List the models for language pairs, with their gain in TER, size, licence and location."""
    from postedit.cli.tables import console, new_table
    from postedit.releases.catalogue import known_models, models_of

    table = new_table(["pair", "model", "texts", "measured gain", "licence of data", "size", "where"], ["size"])
    for model in known_models() if pair is None else models_of(pair):
        where = str(model.folder) if model.is_here else f"`postedit models fetch {model.name}` fetches it"
        size = sum(file.stat().st_size for file in model.folder.rglob("*") if file.is_file()) or model.bytes
        row = ["-".join(model.pair), model.name, model.texts, str(model.gain), model.licence, f"{size / 1e6:.1f} MB"]
        table.add_row(*row, "comes with postedit" if model.file is None else where)
    console().print(table)


@models.command()
def fetch(
    names: Annotated[
        list[str],
        typer.Argument(metavar="PAIR", help="Language pairs, such as en-de, or names of models, such as help.en-de."),
    ],
    origin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FOLDER|URL|FILE",
            help="Folder or address of release files, or a release file; the folder `releases` of the clone that "
            "postedit runs from if not given.",
        ),
    ] = None,
) -> None:
    """Fetch models for language pairs, so that `postedit edit en-de ...` can use them.

    They are saved in the folder $POSTEDIT_MODELS, by default ~/.local/share/postedit/models. A release file is accepted
    only if its SHA-256 is the one that postedit knows.
    """
    from postedit.cli.tables import console
    from postedit.progress import LineProgress
    from postedit.releases import fetching
    from postedit.releases.catalogue import models_of

    for name in names:
        if Path(name).is_file():
            raise DataError(f"{name}: is a file; give the language pair, and the release file with --from {name}")
    for model in [models_of(name)[0] for name in names]:
        with LineProgress(console(stderr=True), model.bytes // 1000, "kB") as progress:
            fetched = fetching.fetch(model, origin, lambda done: progress.update(done // 1000))
        typer.echo(f"{model.name} ({model.texts}): {'fetched into' if fetched else 'is already in'} {model.folder}")


def count_parameters(recipe: "Recipe") -> int:
    """Return the number of parameters that the model of a recipe has if its vocabularies reach their maximum size.

    Shared parameters count once. No memory is allocated for the parameters.
    """
    return sum(parameter.numel() for parameter in _built(recipe).parameters())


def _built(recipe: "Recipe") -> "Seq2Seq":
    """Return the model of a recipe on the meta device, with vocabularies of maximum size."""
    from postedit.recipe_checks import largest_vocabularies

    return recipe.architecture.build_on_meta(recipe.model, largest_vocabularies(recipe.text))
