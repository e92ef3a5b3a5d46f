"""Recipes: one TOML file says all there is to say about a model and how it is trained.

A recipe is checked whole before any work starts, and every problem is reported at once. The sections are
`[model]` (its `name` and sizes), `[text]`, `[data]`, `[train]`, `[decode]`, and `[draft]` where a first stage drafts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import tomli_w
import torch
from pydantic import Field, model_validator

from postedit.core.config import Config, check_config, load_config, override, problem_report, read_toml
from postedit.core.errors import RecipeError, nearest
from postedit.core.files import atomic_write
from postedit.core.inherit import inherit_embeddings
from postedit.core.model import Seq2Seq, Vocabularies, VocabularyInfo
from postedit.core.registry import Architecture
from postedit.data.triplets import DataConfig
from postedit.decode import SearchSettings
from postedit.decode.settings import Normalisation
from postedit.models import ARCHITECTURES
from postedit.text.checkpoint import checkpoint_vocabularies
from postedit.text.config import GROUPS, TextConfig
from postedit.train.config import TrainConfig


class DecodeConfig(Config):
    """The `[decode]` section: how outputs are searched for, unless a caller says otherwise."""

    beam: int = Field(1, ge=1, description="live hypotheses a sentence; 1 is greedy search with mt as draft")
    length_penalty: float = Field(1.0, ge=0, description="hypotheses are ranked by score / length ** length_penalty")
    normalisation: Normalisation = Field(
        "power", description='"power": as above; "wu": by score / ((5 + length) / 6) ** length_penalty'
    )
    max_ratio: float = Field(1.5, gt=0, description="an output has at most max_ratio times the pieces of mt ...")
    max_extra: int = Field(10, ge=1, description="... plus max_extra")
    max_input: int = Field(512, ge=1, description="pieces; a segment with a longer side is returned as it is")
    batch_tokens: int = Field(4000, ge=1, description="rows x pieces of the longest text in a batch, beams included")
    shortlist: int = Field(
        0, ge=0, description="greedy search writes pieces of mt, of src and so many frequent ones; 0: all of them"
    )
    keep: float = Field(0.0, ge=0, description="nats that each piece costs which mt does not have; 0: off")
    keep_src: bool = Field(False, description="pieces of src do not cost that either")
    edit_cost: float = Field(
        0.0, ge=0, description="nats that each piece inserted, deleted or substituted costs; 0: off"
    )
    max_edits: int | None = Field(None, ge=0, description="pieces that may be inserted, deleted or substituted in all")
    no_repeat: int = Field(
        0, ge=0, description="n-grams of so many pieces come no more often than in mt or src, or once; 0: off"
    )
    no_unk: bool = Field(False, description="the piece for what is unknown is never written")
    banned: list[str] = Field([], description="words and phrases that are never written")

    @model_validator(mode="after")
    def _check_search(self) -> Self:
        self.search()
        if self.shortlist and self.beam > 1:
            raise ValueError("shortlist: greedy search alone has one; use beam = 1, or shortlist = 0")
        if self.keep_src and not self.keep:
            raise ValueError("keep_src: says which pieces keep does not count; use it with keep above 0")
        return self

    def search(self) -> SearchSettings:
        """Return the settings that search knows."""
        values = self.model_dump(exclude={"max_input", "batch_tokens"})
        return SearchSettings(**{**values, "banned": tuple(self.banned)})


class DraftConfig(Config):
    """The `[draft]` section: a first stage that translates src, whose output is the mt of this recipe's model.

    It has the texts and the data of the recipe, and sections `[draft.model]`, `[draft.train]` and `[draft.decode]`.
    """

    folds: int = Field(
        0,
        ge=0,
        description="0: the training set is translated by the first stage that learnt from all of it; k: each of k "
        "parts is translated by a model that learnt from the others, so that drafts are as imperfect as at run time",
    )
    inherit_embeddings: bool = Field(True, description="the model starts with the embeddings of the first stage")
    model: dict[str, Any] = Field(description="as `[model]`; of an architecture that reads src alone")
    train: TrainConfig = Field(description="as `[train]`")
    decode: DecodeConfig = Field(DecodeConfig(), description="as `[decode]`: how drafts are searched for")

    @model_validator(mode="after")
    def _check_folds(self) -> Self:
        if self.folds == 1:
            raise ValueError("folds: one part leaves no other part to learn from; use 0, or 2 and more")
        return self


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
    draft: DraftConfig | None = None

    def first_stage(self) -> "Recipe":
        """Return the recipe of the model that writes the drafts.

        Raises:
            ValueError: if this recipe has no `[draft]`.
        """
        if self.draft is None:
            raise ValueError("this recipe has no first stage")
        architecture, model = _model_of(self.draft)
        return Recipe(architecture, model, self.text, self.data, self.draft.train, self.draft.decode)

    def to_dict(self) -> dict[str, Any]:
        """Return the resolved recipe, defaults written out, as values of a TOML file."""
        sections: dict[str, Config] = {name: getattr(self, name) for name in _SECTIONS}
        values = {"model": _model_values(self.architecture, self.model)}
        values |= {name: _values(section) for name, section in sections.items()}
        return values if self.draft is None else {**values, "draft": _values(self.draft)}

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
    known = ["model", *_SECTIONS, "draft"]
    problems = [
        f"{name}: no such section{nearest(name, known)} (known here: {', '.join(known)})"
        for name in values
        if name not in known
    ]
    architecture, model = _check_model(_table(values, "model", problems), "model.", problems)
    sections: dict[str, Any] = {}
    for name, kind in _SECTIONS.items():
        sections[name], found = check_config(kind, _table(values, name, problems), f"{name}.")
        problems += found
    if base is not None:
        data = sections["data"] or _paths_alone(_table(values, "data", []))
        if data is not None:
            sections["data"], found = data.resolve(base)
            problems += found
    draft = _check_draft(_table(values, "draft", problems), problems) if "draft" in values else None
    text: TextConfig | None = sections["text"]
    built = _build(architecture, model, text, "model.", problems)
    if "draft" not in values:
        problems += _inheritance_problems(built, None)
    elif draft is not None:
        first_architecture, first_model = _model_of(draft)
        first = _build(first_architecture, first_model, text, "draft.model.", problems)
        problems += _stage_problems(architecture, first_architecture)
        if built is not None and first is not None:
            problems += _inheritance_problems(built, first if draft.inherit_embeddings else None)
    if architecture is not None and sections["data"] is not None:
        problems += _data_problems(architecture, sections["data"], text, drafted="draft" in values)
    if built is not None and sections["data"] is not None:
        problems += _length_problems(built, sections["data"])
    if problems or architecture is None or model is None:
        raise problem_report(where, problems)
    return Recipe(architecture, model, **sections, draft=draft)


def largest_vocabularies(text: TextConfig) -> Vocabularies:
    """Return vocabularies as large as those of a recipe may become, with names for fingerprints.

    Those of a checkpoint are known.

    Raises:
        RecipeError: if a checkpoint has none that can be used.
    """
    groups = GROUPS[text.vocabulary.sharing]
    if text.vocabulary.checkpoint is None:
        infos = {name: VocabularyInfo(text.vocabulary.size_of(name), name) for name in groups}
    else:
        found = checkpoint_vocabularies(text.vocabulary.checkpoint, groups)
        infos = {name: vocabulary.info for name, vocabulary in found.items()}
    known: dict[str, VocabularyInfo] = {side: infos[name] for name, sides in groups.items() for side in sides}
    pe = known.pop("pe")
    return Vocabularies(known, pe)


def _paths_alone(values: Mapping[str, Any]) -> DataConfig | None:
    """Return the files that a faulty section names, so that missing ones are reported with its other faults."""
    config, _ = check_config(DataConfig, {name: values[name] for name in ("dir", "train", "dev") if name in values})
    return config


def _build(
    architecture: Architecture | None, model: Config | None, text: TextConfig | None, prefix: str, problems: list[str]
) -> Seq2Seq | None:
    """Return the model without memory for its weights; None if something is missing, or keeps it from being built.

    Only the architecture knows which sizes and vocabularies go together, so it is asked by building it.
    """
    if architecture is None or model is None or text is None:
        return None
    try:
        vocabularies = largest_vocabularies(text)
    except RecipeError as error:
        problems.append(f"text.vocabulary.checkpoint: {error}")
        return None
    try:
        with torch.device("meta"):
            return architecture.build(model, vocabularies)
    except ValueError as error:  # a RecipeError is one too
        option = str(error).removeprefix("model.")
        problems.append(f"{prefix}{option}" if option != str(error) else f"{prefix.removesuffix('.')}: {error}")
        return None


def _stage_problems(second: Architecture | None, first: Architecture) -> list[str]:
    """Return which of two stages reads what it has not, or does not read what it has."""
    problems = []
    if first.inputs != ("src",):
        reads = " and ".join(first.inputs)
        problems.append(f"draft.model.name: {first.name} reads {reads}, but a first stage has src alone to read")
    if second is not None and "mt" not in second.inputs:
        problems.append(f"model.name: {second.name} does not read mt, so it cannot refine what [draft] writes")
    return problems


def _inheritance_problems(model: Seq2Seq | None, first: Seq2Seq | None) -> list[str]:
    """Return what keeps `model` from taking the embeddings of `first`, or from being trained without (None)."""
    if model is not None and first is not None:
        try:
            inherit_embeddings(model, first)
        except RecipeError as error:
            return [f"draft.inherit_embeddings: {error}"]
    elif model is not None and any(not table.weight.requires_grad for table in model.embeddings().values()):
        return [
            "model: its embeddings are frozen, but there are none to inherit; let them be trained, or add a [draft] "
            "section with inherit_embeddings = true"
        ]
    return []


def _data_problems(
    architecture: Architecture, data: DataConfig, text: TextConfig | None, *, drafted: bool
) -> list[str]:
    """Return what is wrong where data has no mt."""
    without = [option for option, files in data.sources if files.mt is None]
    problems = []
    if "mt" in architecture.inputs and not drafted:
        fault = f"has no mt, which {architecture.name} reads; give it, or add a [draft] section that writes it"
        problems += [f"{option}: {fault}" for option in without]
    if without and text is not None and text.vocabulary.sharing == "separate":
        problems.append(
            f'text.vocabulary.sharing = "separate" needs mt to learn a vocabulary from, but {without[0]} has none; '
            'use "joint" or "mt-pe"'
        )
    return problems


def _length_problems(model: Seq2Seq, data: DataConfig) -> list[str]:
    """Return whether training texts may be longer than the model can read or write."""
    longest, texts = model.spec.longest, len(model.spec.inputs)
    if longest is None or texts * data.max_length <= longest:
        return []
    return [
        f"data.max_length: texts of {data.max_length} pieces are too long for the model, which reads "
        f"{longest} of all texts together; use {longest // texts} at most"
    ]


def _check_draft(section: Mapping[str, Any], problems: list[str]) -> DraftConfig | None:
    """Return the section, the options of its model written out, or None if something is wrong in it."""
    architecture, model = _check_model(_table(section, "model", problems), "draft.model.", problems)
    # The placeholder keeps a missing [draft.model] from being reported twice.
    draft, found = check_config(DraftConfig, {"model": {}, **section}, "draft.")
    problems += [problem for problem in found if not problem.startswith("draft.model:")]
    if draft is None or architecture is None or model is None:
        return None
    return draft.model_copy(update={"model": _model_values(architecture, model)})


def _model_of(draft: DraftConfig) -> tuple[Architecture, Config]:
    """Return the architecture and the options that a checked section names."""
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


def _model_values(architecture: Architecture, model: Config) -> dict[str, Any]:
    return {"name": architecture.name, **_values(model)}


def _values(config: Config) -> dict[str, Any]:
    return config.model_dump(mode="json", exclude_none=True)
