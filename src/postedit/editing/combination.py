"""Combinations: models and the weights of a log-linear model over them, in one TOML file that is loaded like a model.

[weights]      by feature: "model 1", "model 2", ..., length and post_edit_penalty
[[members]]    path (relative to the file) and fingerprint of each model, in order
[search]       search options
[llm]          options of the language model behind an endpoint, if one is a member
[tuning]       how the weights were found, and the scores on the dev set
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Self

import tomli_w
from pydantic import Field

import postedit
from postedit.core.config import Config, check_config, read_toml
from postedit.core.editor import ENDPOINT
from postedit.core.errors import ModelFolderError, RecipeError, nearest
from postedit.core.files import atomic_write
from postedit.core.search_config import SearchConfig, with_present_names
from postedit.model_files import fingerprint
from postedit.search.ensemble import Space
from postedit.search.rescoring import LENGTH, PENALTY, LogLinear, member_name

_FORMER: Final = {"pep": PENALTY}  # former names of features, in combinations written by earlier versions


class Member(Config):
    """A model of a combination."""

    path: str = Field(
        description="model folder or file of weights, in the file relative to the combination; or openai:MODEL"
    )
    fingerprint: str = Field(description="SHA-256 of everything in the model that affects its outputs")

    @classmethod
    def of(cls, path: Path) -> Self:
        """Return the model at `path` as a member.

        Raises:
            ModelFolderError: if there is no model at `path`.
        """
        return cls(path=str(path.resolve()), fingerprint=fingerprint(path))

    @property
    def is_behind_endpoint(self) -> bool:
        """Whether it is a language model behind an endpoint."""
        return self.path.startswith(ENDPOINT)


class Combination(Config):
    """Models that search together or alone, and the log-linear model that ranks their outputs."""

    format: Literal[1] = Field(description="version of the file format")
    postedit: str = Field(description="version of postedit that wrote the file")
    space: Space = Field("log", description="the ensemble averages log-probabilities or probabilities")
    known: list[Literal["src", "mt"]] = Field(["mt"], description="texts whose words post_edit_penalty does not count")
    weights: dict[str, float] = Field(description="by feature; those of members are above 0")
    members: list[Member] = Field(min_length=1, description="the models, in the order of their names")
    search: SearchConfig = Field(SearchConfig(), description="search options; beam is the length of the n-best lists")
    llm: dict[str, Any] = Field({}, description="options of the member behind an endpoint; values for TOML")
    tuning: dict[str, Any] = Field({}, description="how the weights were found; values for TOML")

    @classmethod
    def of(
        cls,
        members: Sequence[Member],
        log_linear: LogLinear,
        space: Space,
        search: SearchConfig,
        tuning: Mapping[str, Any],
        llm: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return a new combination in the current format, marked with this version of postedit."""
        values = {"space": space, "known": list(log_linear.known), "weights": dict(log_linear.weights)}
        own = {"members": list(members), "search": search, "llm": dict(llm or {}), "tuning": dict(tuning)}
        return cls.model_validate({"format": 1, "postedit": postedit.__version__, **values, **own})

    @property
    def log_linear(self) -> LogLinear:
        """The log-linear model."""
        return LogLinear(self.weights, tuple(self.known))

    def save(self, path: Path) -> None:
        """Write the file.

        Raises:
            OutputError: if it cannot be written.
        """
        folder = path.resolve().parent
        values = self.model_dump(mode="json", exclude_none=True)
        for member in values["members"]:
            if not member["path"].startswith(ENDPOINT):
                member["path"] = os.path.relpath(member["path"], folder)
        if not self.llm:
            del values["llm"]
        with atomic_write(path) as file:
            file.write(tomli_w.dumps(values))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the file at `path`, and check that its members are those it was tuned with.

        Raises:
            ModelFolderError: if it is not a valid combination, or if a member is missing or has changed.
        """
        try:
            values = read_toml(path)
        except RecipeError as error:
            if path.suffix != ".toml":
                raise _no_model(path) from None
            raise ModelFolderError(f"{error} (a file given as a model is a combination from `postedit tune`)") from None
        if "members" not in values:
            raise _no_model(path)
        if isinstance(values.get("decode"), dict):  # the section's former name
            values["search"] = with_present_names(values.pop("decode"))
        if isinstance(values.get("weights"), dict):
            values["weights"] = {_FORMER.get(name, name): weight for name, weight in values["weights"].items()}
        config, problems = check_config(cls, values)
        if config is not None:
            problems = _weight_problems(config)
        if config is None or problems:
            raise ModelFolderError(f"{path}: not a combination that can be used: {'; '.join(problems)}")
        members = [_located(path, number, member) for number, member in enumerate(config.members, start=1)]
        return config.model_copy(update={"members": members})


def is_combination(model: str | Path) -> bool:
    """Return whether a model argument names an existing file that is not a weight file."""
    path = Path(model)
    return path.is_file() and path.suffix != ".safetensors"


def _no_model(path: Path) -> ModelFolderError:
    return ModelFolderError(
        f"{path}: neither a model nor an XLIFF, TMX or PO file; give lines of text with --src and --mt"
    )


def _weight_problems(config: Combination) -> list[str]:
    members = [member_name(number) for number in range(1, len(config.members) + 1)]
    known = [*members, LENGTH, PENALTY]
    missing = [f"weights has none for {name}" for name in members if name not in config.weights]
    unknown = [
        f"weights.{name} is not a feature{nearest(name, known)} (those of this file are {', '.join(known)})"
        for name in config.weights
        if name not in known
    ]
    return missing + unknown


def _located(file: Path, number: int, member: Member) -> Member:
    if member.is_behind_endpoint:
        return member  # it is checked later, when its prompt is known
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
    return member.model_copy(update={"path": str(path)})
