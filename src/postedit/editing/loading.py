"""Choose models from folders, the hub or a combination, and load the neural ones with their text processing."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, get_args

import torch
from torch import Tensor

from postedit.core.editor import OWN_EDITOR, Side
from postedit.core.errors import DataError, ModelFolderError, nearest_path
from postedit.core.hints import NO_HINTS
from postedit.core.model import Constraint, Seq2Seq, Vocabularies
from postedit.core.search_config import SearchConfig
from postedit.core.special_tokens import EOS
from postedit.core.types import Batch, DecoderOutput, Stream
from postedit.data.collate import collate
from postedit.editing.combination import Combination, is_combination
from postedit.folder import ModelFolder
from postedit.model_files import CHAIN, FILES, architecture_of, target_vocabulary
from postedit.phrase.phrase_options import NAME as PHRASE_BASED
from postedit.releases.catalogue import resolved
from postedit.search import Ensemble
from postedit.search.ensemble import Space, check_weights
from postedit.search.rescoring import LogLinear, member_name
from postedit.text.processor import TextProcessor

_log = logging.getLogger(__name__)

_HUB: Final = "hub:"
"""Prefix of a name that is to be read as a hub id, even if it looks like a path."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model or ensemble with its text processing and search options."""

    model: Seq2Seq  # any model or ensemble
    processor: TextProcessor  # its text processing
    search: SearchConfig  # its search options
    first_stage: "Loaded | None" = None  # writes the mt that the model corrects; None if there is none
    log_linear: LogLinear | None = None  # ranks the outputs of a combination; None for other models
    sources: tuple[Path, ...] = ()  # files and folders that it was loaded from


class Respelling(Seq2Seq[Any]):
    """A wrapper that lets a model read batches encoded with the source-side vocabularies of another model.

    Texts are decoded, which byte-level vocabularies do exactly, and encoded again in the model's own vocabularies.
    Attention to these texts is left out, because its positions would not match those of the batch. So are hints.
    """

    def __init__(self, model: Seq2Seq, own: TextProcessor, given: TextProcessor) -> None:
        """Wrap `model`, whose text processing is `own`, for batches encoded by `given`.

        Raises:
            ModelFolderError: if a vocabulary cannot decode texts exactly.
        """
        super().__init__()
        streams, theirs = model.spec.vocabularies.streams, given.vocabularies.streams
        read: list[Side] = [side for side in ("src", "mt") if side in model.spec.inputs]
        self._others = [side for side in read if streams[side] != theirs[side]]
        self._own, self._given = own, given
        if not all(given.vocabulary(side).lossless and own.vocabulary(side).lossless for side in self._others):
            raise ModelFolderError("its vocabulary, or the other one, cannot give a text back as it was")
        self.model = model
        self.spec = replace(
            model.spec,
            vocabularies=Vocabularies({name: theirs[name] for name in streams}, model.spec.vocabularies.target),
            attention=frozenset(key for key in model.spec.attention if not {*key.streams} & {*self._others}),
            hints=NO_HINTS,
        )

    def encode(self, batch: Batch) -> Any:
        """Encode the batch, converted to the tokens of the model."""
        return self.model.encode(self._respelt(batch))

    def decode(self, tokens: Tensor, state: Any) -> tuple[DecoderOutput, Any]:
        """Read K more target tokens Long[N,K]; predict the one after each of them."""
        output, state = self.model.decode(tokens, state)
        attention = {key: weights for key, weights in output.attention.items() if key in self.spec.attention}
        return replace(output, attention=attention), state

    def constraints(self, batch: Batch) -> Sequence[Constraint]:
        """Return the model grammar; it depends only on mt, in the target tokens that all members share."""
        return self.model.constraints(batch)

    def _respelt(self, batch: Batch) -> Batch:
        streams: dict[str, Stream] = {name: batch.streams[name] for name in self.spec.inputs}
        for side in self._others:
            given, own = self._given.vocabulary(side), self._own.vocabulary(side)
            texts = [given.decode(ids) for ids in streams[side].ids.tolist()]  # padding has no text
            found = [[*tokens, EOS] for tokens in own.encode_batch(texts)]
            streams[side] = collate({side: found}, [side]).to(batch.device).streams[side]
        return replace(batch, streams=streams)


@dataclass(frozen=True, slots=True)
class Choice:
    """The models to load, and how they are combined."""

    paths: tuple[Path, ...]  # folders and files of weights
    weights: Sequence[float] | None = None  # one per model, in order; None: equal
    space: Space = "log"  # what an ensemble averages: log-probabilities or probabilities
    combination: Combination | None = None
    file: Path | None = None  # the file of the combination

    @property
    def phrase_based(self) -> list[bool]:
        """Whether each model is phrase-based."""
        return [architecture_of(path) == PHRASE_BASED for path in self.paths]

    @property
    def alone(self) -> list[bool]:
        """Whether each model searches on its own.

        Phrase-based models do, and neural ones whose target vocabulary differs from that of the first neural one.
        """
        phrase_based = self.phrase_based
        if len(self.paths) == 1 or any(self.chains):
            return phrase_based
        neural = [path for path, phrases in zip(self.paths, phrase_based, strict=True) if not phrases]
        targets = dict(zip(neural, map(target_vocabulary, neural), strict=True))
        return [path not in targets or targets[path] != targets[neural[0]] for path in self.paths]

    @property
    def chains(self) -> list[bool]:
        """Whether each model is a chain of two models; see `postedit.editing.chain_folder`."""
        return [architecture_of(path) == CHAIN for path in self.paths]


def choose(models: Sequence[str | Path], weights: Sequence[float] | None, space: Space) -> Choice:
    """Return the models named by the arguments of `PostEditor.load`; those on the hub are downloaded.

    Raises:
        ModelFolderError: if a model is not found, or a combination is damaged, has a member that has changed, or has a
            member behind an endpoint.
        DataError: if a combination is given together with other models or weights, or `space` is unknown.
    """
    if space not in get_args(Space):
        raise DataError(f"space must be {' or '.join(get_args(Space))}, not {space!r}")
    file = next((Path(model) for model in models if is_combination(model)), None)
    if file is None:
        return Choice(tuple(map(find_folder, models)), weights, space)
    combination = Combination.load(file)
    if any(member.is_behind_endpoint for member in combination.members):
        raise ModelFolderError(
            f"{file}: has a language model behind an endpoint, which `postedit edit` asks; in Python, load it by "
            "postedit.llm.candidates.load_combination"
        )
    if len(models) > 1 or weights is not None:
        raise DataError(
            f"{file}: is a combination, which has its members and their weights in it; give no other models and no "
            "weights with it"
        )
    paths = tuple(Path(member.path) for member in combination.members)
    member_weights = [combination.weights[member_name(number)] for number in range(1, len(paths) + 1)]
    return Choice(paths, member_weights, combination.space, combination, file)


def load_models(
    models: Sequence[str | Path], devices: Sequence[torch.device], weights: Sequence[float] | None, space: Space
) -> Loaded:
    """Load one neural model, several as an ensemble, or a combination; see `PostEditor.load`.

    Raises:
        ModelFolderError: if a model is not found, damaged or not neural, or members of an ensemble are incompatible.
        DataError: if there is not one weight above 0 for each model.
    """
    choice = choose(models, weights, space)
    if any(choice.phrase_based):
        raise ModelFolderError(f"{models[0]}: is a phrase-based model, or has one; this needs neural ones")
    return load_choice(choice, devices)


def load_choice(choice: Choice, devices: Sequence[torch.device]) -> Loaded:
    """Load the neural models of a choice, spread over the devices in turn; see `load_models`."""
    combination = choice.combination
    loaded = load_ensemble(choice.paths, devices, choice.weights, choice.space, warn=combination is None)
    if combination is None or choice.file is None:
        return loaded
    log_linear, sources = combination.log_linear, (choice.file, *choice.paths)
    return replace(loaded, search=combination.search, first_stage=None, log_linear=log_linear, sources=sources)


def load_ensemble(
    paths: Sequence[Path],
    devices: Sequence[torch.device],
    weights: Sequence[float] | None = None,
    space: Space = "log",
    *,
    warn: bool,
) -> Loaded:
    """Load one neural model, or several as an ensemble; `warn` if one made the TER of its dev set worse.

    Raises:
        ModelFolderError: if a model is damaged, or the models are incompatible.
        DataError: if there is not one weight above 0 for each model.
    """
    folders = _folders(paths, devices)
    for path, folder in zip(paths, folders, strict=True):
        if warn and (warning := folder.worse_than_input()):
            _log.warning("%s: %s", path, warning)
    if weights is not None:
        check_weights(weights, len(paths))
    first, *others = folders
    if not others:
        return _single(first, tuple(paths))
    ensemble = Ensemble([folder.model for folder in folders], weights, space).eval()
    return Loaded(ensemble, first.processor, first.search, sources=tuple(paths))


def _single(folder: ModelFolder, sources: tuple[Path, ...] = ()) -> Loaded:
    first_stage = None if folder.first_stage is None else _single(folder.first_stage)
    return Loaded(folder.model, folder.processor, folder.search, first_stage, sources=sources)


def _folders(paths: Sequence[Path], devices: Sequence[torch.device]) -> list[ModelFolder]:
    """Load models that can form an ensemble.

    Raises:
        ModelFolderError: if one is damaged, tokenises or truecases text differently from the first, or reads tokens
            into which those of the first cannot be converted.
    """
    folders = [ModelFolder.load(path, devices[i % len(devices)]) for i, path in enumerate(paths)]
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
    # The text processing of the first model encodes all texts, including those that this model does not read.
    return [_given(first, folder, path, paths[0]) for path, folder in zip(paths, folders, strict=True)]


def _given(first: TextProcessor, folder: ModelFolder, path: Path, other: Path) -> ModelFolder:
    """Return the model so that it reads the token ids made by the text processing of the first model."""
    streams = folder.model.spec.vocabularies.streams
    if all(streams[name] == first.vocabularies.streams[name] for name in folder.model.spec.inputs):
        return folder
    try:
        return replace(folder, model=Respelling(folder.model, folder.processor, first).eval())
    except ModelFolderError as error:
        raise ModelFolderError(
            f"{path}: reads other tokens than {other}, and {error}; train the members of an ensemble with the same "
            "[text] section, or with text.model naming one of them"
        ) from None


def find_folder(model: str | Path) -> Path:
    """Return the path of a model's folder or file; a model named by a hub id ("name/model") is downloaded.

    A language pair ("en-de"), or the name of a model in the catalogue, stands for that model.

    An id whose first part is, or resembles, the name of a local folder is taken for a mistyped path, unless it begins
    with "hub:".

    Raises:
        ModelFolderError: if there is no such model; the message names the nearest path.
    """
    path, name = Path(resolved(str(model))), str(model).removeprefix(_HUB)
    if path.exists():
        return path
    if name.startswith(OWN_EDITOR):
        raise ModelFolderError(
            f"{name}: is an editor of your own, and a model is needed here; edit, explain, gate, assess and the "
            "service take editors"
        )
    asked = name != str(model)
    is_id = name.count("/") == 1 and not name.startswith((".", "/", "~"))
    near = nearest_path(path)
    if not is_id or (near and not asked):
        hint = f" ({_HUB}{name} downloads it from the Hugging Face hub)" if is_id else ""
        raise ModelFolderError(f"{path.absolute()}: no such model folder{near}{hint}")
    from postedit.hub import download

    return download(name, FILES)


def _words(processor: TextProcessor) -> dict[str, Any]:
    """Return the settings that determine how text is divided into words."""
    settings = processor.config.model_dump(include={"tokenizer", "truecase", "src_lang", "tgt_lang"})
    if settings["tokenizer"] == "none":
        del settings["src_lang"], settings["tgt_lang"]  # the text is tokenised already
    return settings
