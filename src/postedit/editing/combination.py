"""Combinations: models, and the weights of a log-linear model over them, in one TOML file that is loaded as a model.

[weights]      of the features: "model 1", "model 2", ..., length and post_edit_penalty
[[members]]    path, relative to the file, and fingerprint of each model, in their order
[search]       search options
[tuning]       how the weights were found, and what they gave on the development set
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Self

import tomli_w
from pydantic import Field

import postedit
from postedit.core.config import Config, check_config, read_toml
from postedit.core.errors import ModelFolderError, RecipeError, nearest
from postedit.core.files import atomic_write
from postedit.core.model import Seq2Seq
from postedit.core.search_config import SearchConfig, with_present_names
from postedit.folder import fingerprint
from postedit.search.ensemble import Ensemble, Space
from postedit.search.rescoring import LENGTH, PENALTY, LogLinear, member_name

_FORMAT: Final = 1
_FORMER: Final = {"pep": PENALTY}
"""Features that combinations written by earlier versions have under another name."""


class MemberConfig(Config):
    """A `[[members]]` section."""

    path: str = Field(description="model folder or file of weights, relative to the combination")
    fingerprint: str = Field(description="SHA-256 of all in it that has a part in its outputs")


class CombinationConfig(Config):
    """A combination as it is in its file."""

    format: Literal[1] = Field(description="version of this form")
    postedit: str = Field(description="version that wrote it")
    space: Space = Field("log", description="what members' predictions are averaged as in search")
    known: list[Literal["src", "mt"]] = Field(["mt"], description="texts whose words post_edit_penalty does not count")
    weights: dict[str, float] = Field(description="by feature")
    members: list[MemberConfig] = Field(min_length=1, description="the models")
    search: SearchConfig = Field(SearchConfig(), description="search options; beam is the length of the n-best lists")
    tuning: dict[str, Any] = Field({}, description="how the weights were found")


@dataclass(frozen=True, slots=True)
class Member:
    """A model of a combination: where it is, and what tells it from any other."""

    path: Path
    fingerprint: str

    @classmethod
    def of(cls, path: Path) -> Self:
        """Return the member at `path`.

        Raises:
            ModelFolderError: if there is no model.
        """
        return cls(path.resolve(), fingerprint(path))


@dataclass(frozen=True, slots=True)
class Combination:
    """Models that are searched as an ensemble, and the log-linear model that ranks what the search finds.

    Args:
        members: in the order of their names, "model 1" and so on.
        log_linear: weights of all features; those of members are above 0.
        space: in which the ensemble averages.
        search: search options.
        tuning: how the weights were found; values for TOML.
    """

    members: Sequence[Member]
    log_linear: LogLinear
    space: Space
    search: SearchConfig
    tuning: Mapping[str, Any] = field(default_factory=dict)

    def search_model(self, models: Sequence[Seq2Seq]) -> Seq2Seq:
        """Return the model that is searched with: the members as an ensemble, or the only one.

        Raises:
            ModelFolderError: if they do not fit together.
        """
        return combined(models, self.log_linear.weights, self.space)

    def save(self, path: Path) -> None:
        """Write the file.

        Raises:
            OutputError: if it cannot be written.
        """
        folder = path.resolve().parent
        values = {
            "format": _FORMAT,
            "postedit": postedit.__version__,
            "space": self.space,
            "known": list(self.log_linear.known),
            "weights": dict(self.log_linear.weights),
            "members": [
                {"path": os.path.relpath(member.path, folder), "fingerprint": member.fingerprint}
                for member in self.members
            ],
            "search": self.search.model_dump(mode="json", exclude_none=True),
            "tuning": dict(self.tuning),
        }
        with atomic_write(path) as file:
            file.write(tomli_w.dumps(values))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the file at `path`, and see that its members are those it was tuned with.

        Raises:
            ModelFolderError: if it is damaged, or a member is missing or another one.
        """
        try:
            values = read_toml(path)
        except RecipeError as error:
            raise ModelFolderError(f"{error} (a file given as a model is a combination from `postedit tune`)") from None
        if isinstance(values.get("decode"), dict):  # the section's former name
            values["search"] = with_present_names(values.pop("decode"))
        if isinstance(values.get("weights"), dict):
            values["weights"] = {_FORMER.get(name, name): weight for name, weight in values["weights"].items()}
        config, problems = check_config(CombinationConfig, values)
        if config is not None:
            problems = _weight_problems(config)
        if config is None or problems:
            raise ModelFolderError(f"{path}: not a combination that can be used: {'; '.join(problems)}")
        members = [_found(path, number, member) for number, member in enumerate(config.members, start=1)]
        log_linear = LogLinear(config.weights, tuple(config.known))
        return cls(members, log_linear, config.space, config.search, config.tuning)


def is_combination(model: str | Path) -> bool:
    """Whether what is given as a model is a file that is not one of weights."""
    path = Path(model)
    return path.is_file() and path.suffix != ".safetensors"


def combined(models: Sequence[Seq2Seq], weights: Mapping[str, float], space: Space) -> Seq2Seq:
    """Return the ensemble of models at their weights among those of features; the model itself if it is alone.

    Raises:
        ModelFolderError: if they do not fit together.
        DataError: if a weight is not above 0.
    """
    if len(models) == 1:
        return models[0]
    names = [member_name(number) for number in range(1, len(models) + 1)]
    return Ensemble(models, [weights[name] for name in names], space).eval()


def _weight_problems(config: CombinationConfig) -> list[str]:
    members = [member_name(number) for number in range(1, len(config.members) + 1)]
    known = [*members, LENGTH, PENALTY]
    missing = [f"weights has none for {name}" for name in members if name not in config.weights]
    unknown = [
        f"weights.{name} is no feature{nearest(name, known)} (those of this file are {', '.join(known)})"
        for name in config.weights
        if name not in known
    ]
    return missing + unknown


def _found(file: Path, number: int, member: MemberConfig) -> Member:
    path = (file.resolve().parent / member.path).resolve()
    if not path.exists():
        raise ModelFolderError(
            f"{file}: {member_name(number)} is missing: there is no {path}; put it back, or correct the path"
        )
    if fingerprint(path) != member.fingerprint:
        raise ModelFolderError(
            f"{file}: {member_name(number)}, {path}, is not the model that the weights were tuned for; "
            "put that one back, or run `postedit tune` again"
        )
    return Member(path, member.fingerprint)
