"""What an editor is made of, loaded from model folders, the hub, or a combination."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import torch

from postedit.core.errors import DataError, ModelFolderError, nearest_path
from postedit.core.model import Seq2Seq
from postedit.core.search_config import SearchConfig
from postedit.editing.combination import Combination, is_combination
from postedit.editing.retokenised import Respelling
from postedit.folder import FILES, ModelFolder
from postedit.search import Ensemble
from postedit.search.ensemble import Space, check_weights
from postedit.search.rescoring import LogLinear
from postedit.text.processor import TextProcessor

_log = logging.getLogger(__name__)

_HUB: Final = "hub:"
"""Marks an id of the hub that could be a path."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model and what belongs to it.

    Args:
        model: any model or ensemble.
        processor: its text processing.
        search: its search options.
        draft: the first stage, which writes the mt that it reads, if there is one.
        log_linear: what ranks the outputs of search, for a combination.
        sources: the files and folders it was loaded from.
    """

    model: Seq2Seq
    processor: TextProcessor
    search: SearchConfig
    draft: "Loaded | None" = None
    log_linear: LogLinear | None = None
    sources: tuple[Path, ...] = ()


def load_models(
    models: Sequence[str | Path], places: Sequence[torch.device], weights: Sequence[float] | None, space: Space
) -> Loaded:
    """Load a model, or several as an ensemble, or a combination; the arguments are those of `PostEditor.load`.

    Args:
        models: paths, hub ids, or one combination; at least one.
        places: where members run, in turn.
        weights: of the members of an ensemble.
        space: what an ensemble averages.

    Raises:
        ModelFolderError: if a model cannot be had or is damaged, or the members of an ensemble do not fit.
        DataError: if there is not one weight above 0 for each model.
    """
    combination = next((model for model in models if is_combination(model)), None)
    if combination is None:
        return _ensemble([_find(model) for model in models], places, weights, space)
    if len(models) > 1 or weights is not None:
        raise DataError(
            f"{combination}: is a combination, which has its members and their weights in it; give no other models and "
            "no weights with it"
        )
    return _combination(Path(combination), places)


def _ensemble(
    paths: Sequence[Path], places: Sequence[torch.device], weights: Sequence[float] | None, space: Space
) -> Loaded:
    """Load an ensemble, or a model that is alone with all that belongs to it."""
    folders = _folders(paths, places)
    for path, folder in zip(paths, folders, strict=True):
        if warning := folder.worse_than_input():
            _log.warning("%s: %s", path, warning)
    if weights is not None:
        check_weights(weights, len(paths))
    first, *others = folders
    if not others:
        return _single(first, tuple(paths))
    ensemble = Ensemble([folder.model for folder in folders], weights, space).eval()
    return Loaded(ensemble, first.processor, first.search, sources=tuple(paths))


def _combination(file: Path, places: Sequence[torch.device]) -> Loaded:
    combination = Combination.load(file)
    paths = [member.path for member in combination.members]
    folders = _folders(paths, places)
    return Loaded(
        combination.search_model([folder.model for folder in folders]),
        folders[0].processor,
        combination.search,
        log_linear=combination.log_linear,
        sources=(file, *paths),
    )


def _single(folder: ModelFolder, sources: tuple[Path, ...] = ()) -> Loaded:
    draft = None if folder.draft is None else _single(folder.draft)
    return Loaded(folder.model, folder.processor, folder.search, draft, sources=sources)


def _folders(paths: Sequence[Path], places: Sequence[torch.device]) -> list[ModelFolder]:
    """Load models that go together, on the places in turn.

    Raises:
        ModelFolderError: if one is damaged, divides text into words otherwise than the first, or reads pieces that
            cannot be made from those of the first.
    """
    folders = [ModelFolder.load(path, places[i % len(places)]) for i, path in enumerate(paths)]
    first = folders[0].processor
    for path, folder in zip(paths, folders, strict=True):
        if _words(folder.processor) != _words(first):
            raise ModelFolderError(
                f"{path}: divides text into words in another way than {paths[0]}; "
                "train the members of an ensemble with the same [text] section"
            )
        cased = {"src" if name == "src" else "pe" for name in (*folder.model.spec.inputs, "pe")}
        if any(folder.processor.truecasers.get(side) != first.truecasers.get(side) for side in cased):
            raise ModelFolderError(
                f"{path}: has learnt other words to begin with a small letter than {paths[0]}; train it with "
                "text.model naming the other"
            )
    # The processor of the first makes the ids of all texts, those that it does not read itself too.
    return [_given(first, folder, path, paths[0]) for path, folder in zip(paths, folders, strict=True)]


def _given(first: TextProcessor, folder: ModelFolder, path: Path, other: Path) -> ModelFolder:
    """Return a model that can be given what the first one's text processing makes."""
    streams = folder.model.spec.vocabularies.streams
    if all(streams[name] == first.vocabularies.streams[name] for name in folder.model.spec.inputs):
        return folder
    try:
        return replace(folder, model=Respelling(folder.model, folder.processor, first).eval())
    except ModelFolderError as error:
        raise ModelFolderError(
            f"{path}: reads other pieces than {other}, and {error}; train the members of an ensemble with the same "
            "[text] section, or with text.model naming one of them"
        ) from None


def _find(model: str | Path) -> Path:
    """Return the folder or file of a model, downloaded from the hub if it is named by an id ("name/model").

    An id whose first part is, or resembles, the name of a folder here is taken for a mistyped path, unless it begins
    with "hub:".

    Raises:
        ModelFolderError: if there is no such model; the message names the nearest path.
    """
    path, name = Path(model), str(model).removeprefix(_HUB)
    if path.exists():
        return path
    asked = name != str(model)
    is_id = name.count("/") == 1 and not name.startswith((".", "/", "~"))
    near = nearest_path(path)
    if not is_id or (near and not asked):
        hint = f" ({_HUB}{name} downloads it from the Hugging Face hub)" if is_id else ""
        raise ModelFolderError(f"{path.absolute()}: no such model folder{near}{hint}")
    from postedit.hub import download

    return download(name, FILES)


def _words(processor: TextProcessor) -> dict[str, Any]:
    """Return the settings by which text becomes words."""
    settings = processor.config.model_dump(include={"tokenizer", "truecase", "src_lang", "tgt_lang"})
    if settings["tokenizer"] == "none":
        del settings["src_lang"], settings["tgt_lang"]  # words are divided already
    return settings
