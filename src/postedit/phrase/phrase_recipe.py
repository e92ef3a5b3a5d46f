"""Recipes of phrase-based models: `[model]` with name "phrase-based", `[text]`, `[data]`, `[tune]` and `[search]`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import tomli_w

from postedit.core.arguments import overrides_of, path_of
from postedit.core.config import Config, check_config, override, problem_report, read_toml
from postedit.core.errors import nearest
from postedit.core.files import atomic_write
from postedit.core.search_config import SearchConfig
from postedit.data.triplets import DataConfig, SamplingWeight
from postedit.phrase.phrase_options import NAME, PhraseConfig, PhraseTextConfig, PhraseTuneConfig
from postedit.recipe import with_path_from_here


@dataclass(frozen=True, slots=True)
class PhraseRecipe:
    """A checked recipe of a phrase-based model, one attribute per section."""

    model: PhraseConfig
    text: PhraseTextConfig
    data: DataConfig
    tune: PhraseTuneConfig
    search: SearchConfig

    def to_dict(self) -> dict[str, Any]:
        """Return the resolved recipe, including defaults, as values of a TOML file."""
        values = {name: getattr(self, name).model_dump(mode="json", exclude_none=True) for name in _SECTIONS}
        return {**values, "model": {"name": NAME, **values["model"]}}

    def save(self, path: Path) -> None:
        """Write the resolved recipe, from which the run can be repeated."""
        with atomic_write(path) as file:
            file.write(tomli_w.dumps(self.to_dict()))


_SECTIONS: Final[Mapping[str, type[Config]]] = {
    "model": PhraseConfig,
    "text": PhraseTextConfig,
    "data": DataConfig,
    "tune": PhraseTuneConfig,
    "search": SearchConfig,
}


def is_phrase_recipe(path: Path, overrides: Sequence[str] = ()) -> bool:
    """Return whether the recipe at `path` is one for a phrase-based model.

    Raises:
        RecipeError: if it cannot be read.
    """
    model = override(read_toml(path), overrides).get("model")
    return isinstance(model, Mapping) and model.get("name") == NAME


def load_phrase_recipe(path: str | Path, overrides: Sequence[str] = (), *, check_data: bool = True) -> PhraseRecipe:
    """Return the checked recipe of a phrase-based model at `path`, with `overrides` (`tune.metric=bleu`) applied.

    With `check_data`, data files must exist. `data.dir` is relative to the recipe's folder, or to the current folder if
    it is given as an override.

    Raises:
        RecipeError: if the recipe is not valid; the message names all problems.
        DataError: if `path` is not a path, or `overrides` not a list.
    """
    path, overrides = path_of("path", path), overrides_of(overrides)
    values = override(read_toml(path), [with_path_from_here(assignment) for assignment in overrides])
    return parse_phrase_recipe(values, str(path), path.resolve().parent if check_data else None)


def parse_phrase_recipe(values: Mapping[str, Any], where: str, base: Path | None) -> PhraseRecipe:
    """Return the checked recipe of `values`; paths are relative to `base`, and are not checked if it is None.

    Raises:
        RecipeError: if the values are not valid; the message names `where` and all problems.
    """
    problems = [
        f"{name}: no such section{nearest(name, _SECTIONS)} (known here: {', '.join(_SECTIONS)})"
        for name in values
        if name not in _SECTIONS
    ]
    sections: dict[str, Any] = {}
    for name, kind in _SECTIONS.items():
        section = values.get(name, {})
        if not isinstance(section, Mapping):
            problems.append(f"{name}: must be a table, [{name}] (found {section!r})")
            continue
        own = {key: value for key, value in section.items() if (name, key) != ("model", "name")}
        sections[name], found = check_config(kind, own, f"{name}.")
        problems += found
    data: DataConfig | None = sections.get("data")
    if data is not None:
        problems += [
            f"data.train.{number}: a phrase-based model reads each triplet once; leave out weight and epochs"
            for number, files in enumerate(data.train)
            if files.sampling != SamplingWeight()
        ]
        if base is not None:
            sections["data"], found = data.resolve(base)
            problems += found
    if problems:
        raise problem_report(where, problems)
    return PhraseRecipe(**sections)
