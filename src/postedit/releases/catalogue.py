"""The models that postedit knows by their language pair: one comes with it, the others are fetched.

`catalogue.toml` lists them. Of several models for a pair, the first that is installed is used.
"""

import os
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final, Self

from pydantic import Field, model_validator

from postedit import shipped
from postedit.core.config import Config, check_config, read_toml
from postedit.core.errors import ModelFolderError, nearest
from postedit.core.files import with_home
from postedit.text.language_tags import base_language

MODELS_VARIABLE: Final = "POSTEDIT_MODELS"
"""The environment variable with the folder of fetched models."""

ARCHIVE_ENDING: Final = ".tar.xz"

_PAIR: Final = re.compile(r"([A-Za-z]{2,3})[-:]([A-Za-z]{2,3})")
_DIGEST: Final = r"^[0-9a-f]{64}$"
_FILE: Final = r"^[a-z0-9][a-z0-9.-]*\.tar\.xz$"


class DevGain(Config):
    """What a model gains: TER of some lines before and after editing."""

    dev: str = Field(description="the lines that were edited")
    unedited: float = Field(ge=0, description="TER of the unedited MT")
    ter: float = Field(ge=0, description="TER of the outputs")

    def __str__(self) -> str:
        """Return both scores and the name of the lines."""
        return f"TER {self.unedited:.2f} to {self.ter:.2f}, {self.dev}"


class KnownModel(Config):
    """A `[[models]]` table: a model, with its release file if it does not come with postedit."""

    name: str = Field(
        pattern=r"^[a-z-]+\.[a-z]{2,3}-[a-z]{2,3}$", description="domain and language pair, as help.en-de"
    )
    texts: str = Field(description="what texts it is for")
    triplets: int = Field(ge=1, description="post-edits that it has learnt from")
    licence: str = Field(description="licence of its data")
    gain: DevGain = Field(description="what it gains")
    file: str | None = Field(None, pattern=_FILE, description="its release file; none: it comes with postedit")
    bytes: int = Field(0, ge=0, description="size of the release file")
    sha256: str = Field("", pattern=rf"^$|{_DIGEST}", description="digest of the release file")

    @model_validator(mode="after")
    def _check_file(self) -> Self:
        if self.file is not None and not (self.bytes and self.sha256):
            raise ValueError(f"{self.name}: a release file needs bytes and sha256")
        return self

    @property
    def pair(self) -> tuple[str, str]:
        """The codes of the source and the target language."""
        source, _, target = self.name.rpartition(".")[2].partition("-")
        return source, target

    @property
    def folder(self) -> Path:
        """The folder where the model is, or will be once it is fetched.

        It is named after the release file, which several pairs may share, so each release has its own folder.
        """
        return shipped.MODEL if self.file is None else models_folder() / self.file.removesuffix(ARCHIVE_ENDING)

    @property
    def is_here(self) -> bool:
        """Whether the model comes with postedit or has been fetched."""
        return self.folder.is_dir()


class _Catalogue(Config):
    """The file `catalogue.toml`."""

    models: tuple[KnownModel, ...] = Field((), strict=False, description="all models")


_CATALOGUE: Final = Path(str(files(__package__) / "catalogue.toml"))


@cache
def known_models() -> tuple[KnownModel, ...]:
    """Return all known models, in order of preference."""
    found, problems = check_config(_Catalogue, read_toml(_CATALOGUE, "catalogue"), "")
    assert found is not None, problems
    return found.models


def models_folder() -> Path:
    """Return the folder of fetched models: `$POSTEDIT_MODELS`, or `postedit/models` in the user's XDG data folder."""
    if given := os.environ.get(MODELS_VARIABLE):
        return with_home(given)
    data = os.environ.get("XDG_DATA_HOME", "")
    return (Path(data) if Path(data).is_absolute() else with_home("~/.local/share")) / "postedit" / "models"


def models_of(name: str) -> list[KnownModel]:
    """Return the models for a pair ("en-de"), or the one of a name ("help.en-de"), in order of preference.

    Raises:
        ModelFolderError: if there is no such model.
    """
    pair = _pair_of(name)
    found = [one for one in known_models() if one.name == name or one.pair == pair]
    if not found:
        hint = "" if pair else nearest(name, [one.name for one in known_models()])
        raise _no_model(name or repr(name), "of this name or language pair", hint)
    return found


def find_model(name: str) -> KnownModel | None:
    """Return the model that a pair or a name stands for; None if `name` is neither, or a model folder has that name.

    Raises:
        ModelFolderError: if there is no such model, or it has to be fetched.
    """
    is_known = any(one.name == name for one in known_models())
    path, pair = Path(name), _pair_of(name)
    if not (is_known or pair) or path.is_file() or (path / "config.json").exists():
        return None
    if path.exists() and not (is_known or any(one.pair == pair for one in known_models())):
        return None  # a folder whose name looks like a pair, such as "my-run"
    return _first_here(models_of(name))


def resolved(name: str) -> str:
    """Return the folder of the model that a pair or a name stands for; `name` itself if it is neither.

    Raises:
        ModelFolderError: as for `find_model`.
    """
    model = find_model(name)
    return name if model is None else str(model.folder)


def pair_of(names: Iterable[str | Path]) -> tuple[str, str]:
    """Return the language pair of the models that `names` stand for; empty strings if they stand for none.

    Raises:
        ModelFolderError: as for `find_model`, or if the models are for different language pairs.
    """
    known = [model for model in (find_model(str(name)) for name in names) if model is not None]
    if len({model.pair for model in known}) > 1:
        listed = ", ".join(model.name for model in known)
        raise ModelFolderError(f"models that work together are for one language pair, and these are not: {listed}")
    return known[0].pair if known else ("", "")


def model_of_languages(source: str, target: str) -> KnownModel:
    """Return the model for a pair of languages, given by tags such as "de" or "de-AT".

    If `source` is empty, the model is that for the target language, which must be the target of one pair only.

    Raises:
        ModelFolderError: if there is no such model, it has to be fetched, or several pairs have this target language.
    """
    source, target = base_language(source), base_language(target)
    return _first_here(models_of(f"{source}-{target}" if source else _only_pair_to(target)))


def _only_pair_to(target: str) -> str:
    """Return the only pair ("en-de") with models for a target language.

    Raises:
        ModelFolderError: if there are none, or models of several pairs.
    """
    pairs = sorted({"-".join(one.pair) for one in known_models() if one.pair[1] == target})
    if not pairs:
        raise _no_model(target, "for this target language")
    if len(pairs) > 1:
        raise ModelFolderError(
            f"the target language is {target}, and the source language is not named; there are models for "
            f"{', '.join(pairs)}: name one of these"
        )
    return pairs[0]


def _no_model(name: str, sought: str, hint: str = "") -> ModelFolderError:
    pairs = sorted({"-".join(one.pair) for one in known_models()})
    return ModelFolderError(
        f"{name}: there is no model {sought}; there are models for {', '.join(pairs)} (`postedit models list`). For "
        f"others, train one, and give its folder{hint}"
    )


def default_model() -> KnownModel:
    """Return the model that comes with postedit, the default if neither a model nor languages are named."""
    return next(one for one in known_models() if one.file is None)


def _first_here(models: Iterable[KnownModel]) -> KnownModel:
    wanted, *others = models
    for one in (wanted, *others):
        if one.is_here:
            return one
    pair = "-".join(wanted.pair)
    raise ModelFolderError(
        f"{pair}: its model ({wanted.texts}) is not installed; `postedit models fetch {pair}` fetches it "
        f"({wanted.bytes / 1e6:.1f} MB)"
    )


def _pair_of(name: str) -> tuple[str, str] | None:
    found = _PAIR.fullmatch(name)
    return (found[1].lower(), found[2].lower()) if found else None
