"""The models that training starts from (`train.init`), looked at before any work."""

from pathlib import Path

from postedit.core.errors import RecipeError
from postedit.core.weight_transfer import check_sizes
from postedit.folder import ModelFolder
from postedit.recipe import Recipe
from postedit.recipe_checks import build_on_meta


def check_start(recipe: Recipe) -> None:
    """See to it that something can be taken from each model that a recipe names to start from.

    Raises:
        RecipeError: if nothing can.
        ModelFolderError: if one cannot be read.
    """
    stages = recipe.stages()[:1]  # the others start from the one before
    parts = {f"stage.{name}.": stage for name, stage in stages} or {"": recipe}
    if recipe.draft is not None:
        parts["draft."] = recipe.first_stage()
    for prefix, part in parts.items():
        if part.train.init is None:
            continue
        model = build_on_meta(part.architecture, part.model, part.text, "model.", [])
        try:
            if model is not None:
                check_sizes(model, ModelFolder.load(Path(part.train.init)).model)
        except RecipeError as error:
            raise RecipeError(f"{prefix}train.init: {part.train.init}: {error}") from None
