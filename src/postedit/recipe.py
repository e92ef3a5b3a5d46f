"""Recipes: one TOML file says all there is to say about a model and how it is trained.

A recipe is checked whole before any work starts, and every problem is reported at once. The sections are
`[model]` (its `name` and sizes), `[text]`, `[data]`, `[train]` and `[decode]`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import tomli_w
import torch
from pydantic import Field

from postedit.core.config import Config, check_config, override, problem_report, read_toml
from postedit.core.errors import RecipeError, nearest
from postedit.core.files import atomic_write
from postedit.core.model import Vocabularies, VocabularyInfo
from postedit.core.registry import Architecture
from postedit.data.triplets import DataConfig
from postedit.models import ARCHITECTURES
from postedit.text.config import GROUPS, TextConfig
from postedit.train.config import TrainConfig


class DecodeConfig(Config):
    """The `[decode]` section: how outputs are searched for, unless a caller says otherwise."""

    beam: int = Field(1, ge=1, description="live hypotheses a sentence; 1 is greedy search with mt as draft")
    length_penalty: float = Field(1.0, ge=0, description="hypotheses are ranked by score / length ** length_penalty")
    max_ratio: float = Field(1.5, gt=0, description="an output has at most max_ratio times the pieces of mt ...")
    max_extra: int = Field(10, ge=1, description="... plus max_extra")
    max_input: int = Field(512, ge=1, description="pieces; a segment with a longer side is returned as it is")
    batch_tokens: int = Field(4000, ge=1, description="rows x pieces of the longest text in a batch, beams included")


_SECTIONS: Final[Mapping[str, type[Config]]] = {
    "text": TextConfig,
    "data": DataConfig,
    "train": TrainConfig,
    "decode": DecodeConfig,
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """A checked recipe."""

    architecture: Architecture
    model: Config
    text: TextConfig
    data: DataConfig
    train: TrainConfig
    decode: DecodeConfig

    def to_dict(self) -> dict[str, Any]:
        """Return the resolved recipe, defaults written out, as values of a TOML file."""
        sections: dict[str, Config] = {name: getattr(self, name) for name in _SECTIONS}
        model = {"name": self.architecture.name, **_values(self.model)}
        return {"model": model, **{name: _values(section) for name, section in sections.items()}}

    def save(self, path: Path) -> None:
        """Write the resolved recipe, from which the run can be repeated.

        Raises:
            OutputError: if the file cannot be written.
        """
        with atomic_write(path) as file:
            file.write(tomli_w.dumps(self.to_dict()))


def load_recipe(path: Path, overrides: Sequence[str] = (), *, check_data: bool = True) -> Recipe:
    """Return the recipe at `path` with `overrides` (`train.lr=3e-4`) applied.

    `data.dir` is relative to the recipe's folder, or to the current one if an override gives it.

    Args:
        path: of a TOML file.
        overrides: assignments as they follow `--set`.
        check_data: whether the data files must exist.

    Raises:
        RecipeError: naming all problems.
    """
    values = override(read_toml(path), overrides)
    given_here = any(assignment.partition("=")[0].strip() == "data.dir" for assignment in overrides)
    base = Path.cwd() if given_here else path.resolve().parent
    return parse_recipe(values, str(path), base if check_data else None)


def parse_recipe(values: Mapping[str, Any], where: str, base: Path | None) -> Recipe:
    """Return checked recipe `values`; paths of data are resolved against `base`, or not looked at if it is None.

    Raises:
        RecipeError: naming `where` and all problems.
    """
    known = ["model", *_SECTIONS]
    problems = [
        f"{name}: no such section{nearest(name, known)} (known here: {', '.join(known)})"
        for name in values
        if name not in known
    ]
    architecture, model = _check_model(_table(values, "model", problems), problems)
    sections: dict[str, Any] = {}
    for name, kind in _SECTIONS.items():
        sections[name], found = check_config(kind, _table(values, name, problems), f"{name}.")
        problems += found
    if base is not None:
        data = sections["data"] or _paths_alone(_table(values, "data", []))
        if data is not None:
            sections["data"], found = data.resolve(base)
            problems += found
    if architecture is not None and model is not None and sections["text"] is not None:
        problems += _build_problems(architecture, model, sections["text"])
    if problems or architecture is None or model is None:
        raise problem_report(where, problems)
    return Recipe(architecture, model, **sections)


def largest_vocabularies(text: TextConfig) -> Vocabularies:
    """Return vocabularies as large as those of a recipe may become, with names for fingerprints."""
    groups = GROUPS[text.vocabulary.sharing]
    known: dict[str, VocabularyInfo] = {
        side: VocabularyInfo(text.vocabulary.size_of(name), name) for name, sides in groups.items() for side in sides
    }
    pe = known.pop("pe")
    return Vocabularies(known, pe)


def _paths_alone(values: Mapping[str, Any]) -> DataConfig | None:
    """Return the files that a faulty section names, so that missing ones are reported with its other faults."""
    config, _ = check_config(DataConfig, {name: values[name] for name in ("dir", "train", "dev") if name in values})
    return config


def _build_problems(architecture: Architecture, model: Config, text: TextConfig) -> list[str]:
    """Return what keeps the model from being built: sizes or vocabularies that do not go together.

    Only the architecture knows, so it is asked to build the model, without memory for its weights.
    """
    try:
        with torch.device("meta"):
            architecture.build(model, largest_vocabularies(text))
    except ValueError as error:  # a RecipeError is one too
        return [str(error) if str(error).startswith("model.") else f"model: {error}"]
    return []


def _check_model(section: Mapping[str, Any], problems: list[str]) -> tuple[Architecture | None, Config | None]:
    options = dict(section)
    name = options.pop("name", None)
    if not isinstance(name, str):
        fault = "missing" if name is None else f"must be a name, not {name!r}"
        known = ", ".join(ARCHITECTURES)
        problems.append(f"model.name: {fault}; it says which architecture to train (one of {known})")
        return None, None
    try:
        architecture = ARCHITECTURES[name]
    except RecipeError as error:
        problems.append(f"model.name: {error}")
        return None, None
    model, found = check_config(architecture.config_class, options, "model.")
    problems += found
    return architecture, model


def _table(values: Mapping[str, Any], name: str, problems: list[str]) -> Mapping[str, Any]:
    section = values.get(name, {})
    if isinstance(section, Mapping):
        return section
    problems.append(f"{name}: must be a section of options, [{name}] (found {section!r})")
    return {}


def _values(config: Config) -> dict[str, Any]:
    return config.model_dump(mode="json", exclude_none=True)
