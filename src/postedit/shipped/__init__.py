"""Files that come with postedit: a model, the recipes, and samples of post-edits.

`recipes` and `examples` are links to the folders of the repository; a wheel holds their files.
"""

from importlib.resources import files
from pathlib import Path
from typing import Final

from postedit.core.arguments import path_of
from postedit.core.errors import RecipeError, nearest

_FOLDER: Final = Path(str(files(__name__)))

MODEL: Final = _FOLDER / "model"
"""The model that comes with postedit. The README in its folder describes it."""

RECIPES: Final = _FOLDER / "recipes"
"""Recipes for models; in `synth` and `clean`, those for artificial triplets and for cleaning."""

EXAMPLES: Final = _FOLDER / "examples"
"""Samples of post-edits, a folder per language pair; the README in each describes it."""


def find_recipe(path: str | Path, kind: str = "") -> Path:
    """Return the recipe that `path` names: a file, or by its name one that comes with postedit.

    A name may have "recipes/" before and ".toml" after it, and need not have `kind`, a subfolder of `RECIPES`.

    Raises:
        RecipeError: if there is neither, with the nearest name.
        DataError: if `path` is not a path.
    """
    path = path_of("path", path)
    if path.exists() and not path.is_dir():
        if not path.is_file():
            raise RecipeError(f"{path}: is a stream, but a recipe is read more than once; give a file")
        return path
    shipped = {file.relative_to(RECIPES).with_suffix("").as_posix(): file for file in sorted(RECIPES.rglob("*.toml"))}
    known = shipped | {name.removeprefix(f"{kind}/"): file for name, file in shipped.items() if name.startswith(kind)}
    name = path.as_posix().removeprefix("recipes/").removesuffix(".toml")
    if name in known:
        return known[name]
    names = ", ".join(sorted(one.removeprefix(f"{kind}/") for one in shipped if one.startswith(f"{kind}/")))
    listed = f"known: {names}" if kind else "`postedit models` lists them"
    raise RecipeError(
        f"{path}: no such recipe, neither a file nor one that comes with postedit{nearest(name, known)} ({listed})"
    )
