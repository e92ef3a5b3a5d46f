"""Recipes, TOML files that specify a model and its training, and are checked as a whole before any work begins.

The sections are `[model]` (its `name` and sizes), `[text]`, `[data]`, `[train]` and `[search]`; optionally `[draft]`,
for a first stage that writes drafts, or `[[stage]]` tables, for training in stages.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Self

import tomli_w
from pydantic import Field, model_validator

from postedit.core.arguments import overrides_of, path_of
from postedit.core.config import Config, ConfigT, check_config, load_config, override, problem_report, read_toml
from postedit.core.errors import RecipeError, nearest
from postedit.core.files import atomic_write, with_home
from postedit.core.registry import Architecture
from postedit.data.triplets import DataConfig
from postedit.models import ARCHITECTURES
from postedit.recipe_checks import (
    build_on_meta,
    data_problems,
    draft_problems,
    inheritance_problems,
    model_problems,
    with_text_of_model,
)
from postedit.search import SearchConfig
from postedit.text.config import TextConfig
from postedit.train.config import TrainConfig


class DraftConfig(Config):
    """The `[draft]` section: a first stage, trained on the same data, whose output is the mt of this recipe's model."""

    folds: int = Field(
        0,
        ge=0,
        description="0: the first stage translates the training set that it was trained on; k: each of k parts is "
        "translated by a model trained on the others, so that drafts are as imperfect as at run time",
    )
    inherit_embeddings: bool = Field(
        True, description="start with the embeddings of the first stage; set it to false with `train.init`"
    )
    model: dict[str, Any] = Field(description="as `[model]`; an architecture that reads only src")
    train: TrainConfig = Field(description="as `[train]`")
    search: SearchConfig = Field(SearchConfig(), description="as `[search]`, for drafts")

    @model_validator(mode="after")
    def _check_folds(self) -> Self:
        if self.folds == 1:
            raise ValueError("folds: one part leaves no other part to learn from; use 0, or 2 and more")
        return self


class StageConfig(Config):
    """A `[[stage]]` table: a part of training that starts from the weights of the stage before.

    Vocabularies are learnt from the `[data]` section of the recipe, not from that of a stage.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")] = Field(
        description="names its folder, `stages/NAME` in that of the run"
    )
    data: dict[str, Any] = Field({}, description="options that replace those of `[data]`")
    train: dict[str, Any] = Field({}, description="options that replace those of `[train]`")


_FORMER: Final = {"decode": "; it is [search] now, with keep as post_edit_penalty and keep_src as exempt_src"}
"""Former names of sections, each with the end of a message about it."""

_SECTIONS: Final[Mapping[str, type[Config]]] = {
    "text": TextConfig,
    "data": DataConfig,
    "train": TrainConfig,
    "search": SearchConfig,
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """A checked recipe."""

    architecture: Architecture
    model: Config
    text: TextConfig
    data: DataConfig
    train: TrainConfig
    search: SearchConfig
    draft: DraftConfig | None = None
    stage: tuple[StageConfig, ...] = ()

    def stages(self) -> "list[tuple[str, Recipe]]":
        """Return the name and the recipe of each stage, in order."""
        found = []
        data, train = _values(self.data), _values(self.train)
        for stage in self.stage:
            options = load_config(DataConfig, {**data, **stage.data}, f"stage.{stage.name}.data")
            training = load_config(TrainConfig, {**train, **stage.train}, f"stage.{stage.name}.train")
            found.append((stage.name, replace(self, data=options, train=training, stage=())))
            train.pop("init", None)  # later stages start from the stage before
        return found

    def published(self) -> "Recipe":
        """Return the recipe as saved in a model folder, which may be published: only data and stages keep paths."""
        draft = self.draft and self.draft.model_copy(update={"train": self.draft.train.published()})
        model, text, train = self.model.published(), self.text.published(), self.train.published()
        return replace(self, model=model, text=text, train=train, draft=draft)

    def first_stage(self) -> "Recipe":
        """Return the recipe of the model that writes the drafts; the recipe must have a `[draft]` section."""
        assert self.draft is not None
        architecture, model = _model_of(self.draft)
        return Recipe(architecture, model, self.text, self.data, self.draft.train, self.draft.search)

    def to_dict(self) -> dict[str, Any]:
        """Return the resolved recipe, including defaults, as TOML values."""
        values: dict[str, Any] = {"model": {"name": self.architecture.name, **_values(self.model)}}
        values |= {name: _values(getattr(self, name)) for name in _SECTIONS}
        if self.draft is not None:
            values["draft"] = _values(self.draft)
        if self.stage:
            values["stage"] = [_values(stage) for stage in self.stage]
        return values

    def save(self, path: Path) -> None:
        """Write the resolved recipe, from which the run can be repeated.

        Raises:
            RecipeError: if the recipe contains a file name that is not UTF-8.
        """
        text = tomli_w.dumps(self.to_dict())
        try:
            text.encode()
        except UnicodeEncodeError:
            raise RecipeError("the recipe names a file whose name is not UTF-8; rename it") from None
        with atomic_write(path) as file:
            file.write(text)


def load_recipe(
    path: str | Path, overrides: Sequence[str] = (), *, check_data: bool = True, drafted: bool = False
) -> Recipe:
    """Return the checked recipe at `path`, with `overrides` (such as `train.lr=3e-4`) applied.

    With `check_data`, data files and models that the recipe names must exist; files of triplets need not if the run is
    `drafted`, that is, all its drafts have been written. `data.dir`, `train.init` and `text.model` are relative to the
    recipe's folder, or to the current folder if they are given as overrides.

    Raises:
        RecipeError: naming all problems.
        DataError: if `path` is not a path, or `overrides` not a list.
    """
    path, overrides = path_of("path", path), overrides_of(overrides)
    values = override(read_toml(path), [with_path_from_here(assignment) for assignment in overrides])
    return parse_recipe(values, str(path), path.resolve().parent if check_data else None, drafted=drafted)


def parse_recipe(values: Mapping[str, Any], where: str, base: Path | None, *, drafted: bool = False) -> Recipe:
    """Return the checked recipe with these TOML values; paths are relative to `base`, and not checked if it is None.

    `drafted` has the same meaning as in `load_recipe`.

    Raises:
        RecipeError: naming `where` and all problems.
    """
    known = ["model", *_SECTIONS, "draft", "stage"]
    problems = [
        f"{name}: no such section{_FORMER.get(name) or nearest(name, known)} (known here: {', '.join(known)})"
        for name in values
        if name not in known
    ]
    architecture, model = _check_model(_table(values, "model", problems), "model.", problems)
    sections: dict[str, Any] = {}
    for name, kind in _SECTIONS.items():
        sections[name], found = check_config(kind, _table(values, name, problems), f"{name}.")
        problems += found
    if base is not None:
        data = sections["data"] or _part_of(DataConfig, _table(values, "data", []), ("dir", "train", "dev"))
        if data is not None:
            sections["data"], found = data.resolve(base, check_triplets=not drafted)
            problems += found
        train = sections["train"] or _part_of(TrainConfig, _table(values, "train", []), ("init", "freeze"), max_steps=1)
        sections["train"] = _with_init(train, "train.", base, problems)
        if sections["text"] is not None:
            sections["text"] = with_text_of_model(sections["text"], base, problems)
    draft = _check_draft(_table(values, "draft", problems), problems) if "draft" in values else None
    if draft is not None and base is not None:
        draft = draft.model_copy(update={"train": _with_init(draft.train, "draft.train.", base, problems)})
    text: TextConfig | None = sections["text"]
    built = build_on_meta(architecture, model, text, "model.", problems)
    starts = _starts_from_model(sections["train"], values.get("stage"))
    if "draft" not in values:
        problems += inheritance_problems(built, None, starts_from_model=starts)
    elif draft is not None:
        first_architecture, first_model = _model_of(draft)
        first = build_on_meta(first_architecture, first_model, text, "draft.model.", problems)
        problems += draft_problems(architecture, built, first_architecture, first)
        problems += model_problems(first, sections["data"], draft.train, "draft.train.")
        if first is not None:
            inherited_from = first if draft.inherit_embeddings else None
            problems += inheritance_problems(built, inherited_from, starts_from_model=starts)
    problems += data_problems(built, sections["data"], text, drafted="draft" in values)
    problems += model_problems(built, sections["data"], sections["train"])
    if problems or architecture is None or model is None:
        raise problem_report(where, [*problems, *(_check_stages(values, None, base)[1])])
    recipe = Recipe(architecture, model, **sections, draft=draft)
    stages, found = _check_stages(values, recipe, base)
    for name, stage in replace(recipe, stage=stages).stages() if not found else []:
        more = data_problems(built, stage.data, None, drafted=False)
        more += model_problems(built, stage.data, stage.train)
        found += [f"stage.{name}.{problem}" for problem in more]
    if found:
        raise problem_report(where, found)
    return replace(recipe, stage=stages)


def _starts_from_model(train: TrainConfig | None, stages: Any) -> bool:
    """Return whether training, or its first stage, starts from a model; the `[[stage]]` tables are not checked yet."""
    first = stages[0] if isinstance(stages, list) and stages else None
    options = first.get("train") if isinstance(first, Mapping) else None
    return (train is not None and train.init is not None) or (isinstance(options, Mapping) and "init" in options)


def _check_stages(
    values: Mapping[str, Any], recipe: Recipe | None, base: Path | None
) -> tuple[tuple[StageConfig, ...], list[str]]:
    """Return the stages with all paths resolved, and the problems; without `recipe`, their options are not checked."""
    tables = values.get("stage", [])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        return (), [f"stage: must be one or more tables, [[stage]] (found {tables!r})"]
    stages: list[StageConfig] = []
    problems: list[str] = []
    for number, table in enumerate(tables):
        prefix = f"stage.{table.get('name', number)}."
        stage, found = check_config(StageConfig, table, prefix)
        problems += found
        if stage is not None and stage.name in [other.name for other in stages]:
            problems.append(f"{prefix}name: two stages are called so; give each a name of its own")
        elif stage is not None:
            stages.append(stage if recipe is None else _resolved(stage, recipe, prefix, base, problems))
    if len(tables) == 1:
        problems.append("stage: one stage alone is what [data] and [train] are; give two or more, or none")
    if tables and "draft" in values:
        problems.append("stage: a recipe has [draft] or [[stage]], not both; train the stages from train.init instead")
    problems += [
        f"stage.{stage.name}.train.init: only the first stage may start from a model, others do from the stage before"
        for stage in stages[1:]
        if "init" in stage.train
    ]
    return tuple(stages), problems


def _resolved(stage: StageConfig, recipe: Recipe, prefix: str, base: Path | None, problems: list[str]) -> StageConfig:
    """Return the stage with its options checked and its paths resolved, and add any problems to `problems`."""
    data, found = check_config(DataConfig, {**_values(recipe.data), **stage.data}, f"{prefix}data.")
    train, more = check_config(TrainConfig, _with_tables(_values(recipe.train), stage.train), f"{prefix}train.")
    problems += found + more
    if data is not None and base is not None:
        data, found = data.resolve(base)
        problems += [f"{prefix}{problem}" for problem in found]
    if base is not None:
        train = _with_init(train, f"{prefix}train.", base, problems)
    if data is None or train is None:
        return stage
    all_data, all_train = _values(data), _values(train)
    own = {"data": {key: all_data[key] for key in stage.data}, "train": {key: all_train[key] for key in stage.train}}
    return stage.model_copy(update=own)


def _with_tables(options: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with some of them replaced; of a table of options (`risk`), only those that it has."""
    tables = {key: known for key, known in options.items() if isinstance(known, Mapping)}
    merged = {
        key: {**tables[key], **value} for key, value in own.items() if isinstance(value, Mapping) and key in tables
    }
    return {**options, **own, **merged}


def _with_init(train: TrainConfig | None, prefix: str, base: Path, problems: list[str]) -> TrainConfig | None:
    """Return the `[train]` section with the path `init` made absolute; add a problem if there is no such model."""
    if train is None or train.init is None:
        return train
    if not train.init:
        problems.append(f"{prefix}init: is empty; give a model folder, or leave it out")
        return train
    path = (base / with_home(train.init)).resolve()
    # A file holds weights from a run (RUN/best/*.safetensors), which are checked when they are read.
    if not path.is_file() and not (path / "config.json").is_file():
        inside = path / "model"
        near = f"; did you mean {inside}?" if (inside / "config.json").is_file() else ""
        problems.append(f"{prefix}init: {path}: no such model folder{near}")
    return train.model_copy(update={"init": str(path)})


def with_path_from_here(assignment: str) -> str:
    """Return an override with its path, which is relative to the current folder, made absolute."""
    name, equals, text = assignment.partition("=")
    if not equals or not name.strip().endswith(("data.dir", "train.init", "text.model")):
        return assignment
    return f"{name}={json.dumps(str(Path.cwd() / with_home(text.strip().strip(chr(34) + chr(39)))))}"


def _part_of(kind: type[ConfigT], values: Mapping[str, Any], names: Sequence[str], **needed: Any) -> ConfigT | None:
    """Return a section with only some options of a faulty one, so that their faults are reported with the others."""
    config, _ = check_config(kind, {**needed, **{name: values[name] for name in names if name in values}})
    return config


def _check_draft(section: Mapping[str, Any], problems: list[str]) -> DraftConfig | None:
    """Return the `[draft]` section with all options of its model resolved, or None if it has problems."""
    architecture, model = _check_model(_table(section, "model", problems), "draft.model.", problems)
    # The placeholder keeps a missing [draft.model] from being reported twice.
    draft, found = check_config(DraftConfig, {"model": {}, **section}, "draft.")
    problems += [problem for problem in found if not problem.startswith("draft.model:")]
    if draft is None or architecture is None or model is None:
        return None
    return draft.model_copy(update={"model": {"name": architecture.name, **_values(model)}})


def _model_of(draft: DraftConfig) -> tuple[Architecture, Config]:
    """Return the architecture and the options of the model in a `[draft]` section."""
    options = dict(draft.model)
    architecture = ARCHITECTURES[options.pop("name")]
    return architecture, load_config(architecture.config_class, options, "draft.model")


def _check_model(
    section: Mapping[str, Any], prefix: str, problems: list[str]
) -> tuple[Architecture | None, Config | None]:
    options = dict(section)
    name = options.pop("name", None)
    if not isinstance(name, str):
        fault = "missing" if name is None else f"must be a name, not {name!r}"
        known = ", ".join(ARCHITECTURES)
        problems.append(f"{prefix}name: {fault}; it says which architecture to train (one of {known})")
        return None, None
    try:
        architecture = ARCHITECTURES[name]
    except RecipeError as error:
        problems.append(f"{prefix}name: {error}")
        return None, None
    model, found = check_config(architecture.config_class, options, prefix)
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
