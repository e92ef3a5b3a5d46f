"""`postedit models`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postedit.core.errors import RecipeError

if TYPE_CHECKING:
    from postedit.recipe import Recipe


def models(
    recipes: Annotated[
        Path | None, typer.Option(help="Folder of recipes to list; default: the recipes that come with postedit.")
    ] = None,
) -> None:
    """List the architectures with their inputs and papers, and the number of parameters of each recipe."""
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
    for architecture in ARCHITECTURES.values():
        table.add_row(architecture.name, " ".join(architecture.inputs), architecture.paper, architecture.summary)
    table.add_row(NAME, "src mt", "Simard et al. 2007", "phrases that were corrected before, looked up in all triplets")
    out.print(table)
    sizes = new_table(["recipe", "architecture", "parameters"], ["parameters"])
    for path in sorted((recipes or RECIPES).glob("*.toml")):
        name = path.stem if recipes is None else str(path)
        model = read_toml(path).get("model", {})
        if model.get("name") == NAME:
            sizes.add_row(name, NAME, "none")
            continue
        if "checkpoint" in model:  # do not download checkpoints for a list
            sizes.add_row(name, str(model.get("name")), f"those of {model['checkpoint']}")
            continue
        recipe = load_recipe(path, check_data=False)
        sizes.add_row(name, recipe.architecture.name, f"{count_parameters(recipe):,}")
    if sizes.row_count:
        out.print(sizes)


def count_parameters(recipe: "Recipe") -> int:
    """Return the number of parameters of the model of a recipe, with vocabularies of their maximum size.

    Shared parameters count once. No memory is allocated for them.
    """
    import torch

    from postedit.recipe_checks import largest_vocabularies

    with torch.device("meta"):
        model = recipe.architecture.build(recipe.model, largest_vocabularies(recipe.text))
    return sum(parameter.numel() for parameter in model.parameters())
