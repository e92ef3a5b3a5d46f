"""What keeps the parts of a recipe from going together, found without any work."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from postedit.core.config import Config
from postedit.core.errors import ModelFolderError, RecipeError
from postedit.core.model import Seq2Seq, Vocabularies, VocabularyInfo
from postedit.core.registry import Architecture
from postedit.core.weight_transfer import inherit_embeddings
from postedit.data.triplets import DataConfig, SamplingWeight
from postedit.text.config import GROUPS, TextConfig
from postedit.text.pretrained_vocabulary import checkpoint_vocabularies
from postedit.text.processor import TextProcessor, model_text
from postedit.train.config import TrainConfig
from postedit.train.optimisers import freeze
from postedit.train.torch_compile import layers_of, without_layers


def largest_vocabularies(text: TextConfig) -> Vocabularies:
    """Return vocabularies as large as those of a recipe may become, with names for fingerprints.

    Those of a checkpoint or a model are known.

    Raises:
        RecipeError: if a checkpoint has none that can be used.
        ModelFolderError: if a model has none that can be read.
    """
    if text.model is not None:
        return TextProcessor.load(model_text(Path(text.model))).vocabularies
    groups = GROUPS[text.vocabulary.sharing]
    if text.vocabulary.checkpoint is None:
        infos = {name: VocabularyInfo(text.vocabulary.size_of(name), name) for name in groups}
    else:
        found = checkpoint_vocabularies(text.vocabulary.checkpoint, groups)
        infos = {name: vocabulary.info for name, vocabulary in found.items()}
    known: dict[str, VocabularyInfo] = {side: infos[name] for name, sides in groups.items() for side in sides}
    pe = known.pop("pe")
    return Vocabularies(known, pe)


def build_on_meta(
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
    except ModelFolderError as error:
        problems.append(f"text.model: {error}")
        return None
    try:
        with torch.device("meta"):
            return architecture.build(model, vocabularies)
    except ValueError as error:  # a RecipeError is one too
        option = str(error).removeprefix("model.")
        problems.append(f"{prefix}{option}" if option != str(error) else f"{prefix.removesuffix('.')}: {error}")
        return None


def with_text_of_model(text: TextConfig, base: Path, problems: list[str]) -> TextConfig | None:
    """Return the section `[text]` as it is in the model whose text processing it takes, with that path absolute.

    Options that are given as well must say the same. None if something is wrong.
    """
    if text.model is None:
        return text
    path = (base / Path(text.model).expanduser()).resolve()
    try:
        taken = TextProcessor.load(model_text(path)).config
    except ModelFolderError as error:
        problems.append(f"text.model: {error}")
        return None
    given, known = _flat(text.model_dump(exclude_unset=True, exclude={"model"})), _flat(taken.model_dump())
    found = [
        f"text.{option}: is {known.get(option)!r} in the model of text.model, not {value!r}; leave it out"
        for option, value in given.items()
        if value != known.get(option)
    ]
    problems += found
    return None if found else taken.model_copy(update={"model": str(path)})


def _flat(text: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `[text]` by their full names."""
    own = {name: value for name, value in text.items() if name != "vocabulary"}
    return own | {f"vocabulary.{name}": value for name, value in text.get("vocabulary", {}).items()}


def draft_problems(second: Architecture | None, first: Architecture) -> list[str]:
    """Return which of two stages reads what it has not, or does not read what it has."""
    problems = []
    if first.inputs != ("src",):
        reads = " and ".join(first.inputs)
        problems.append(f"draft.model.name: {first.name} reads {reads}, but a first stage has src alone to read")
    if second is not None and "mt" not in second.inputs:
        problems.append(f"model.name: {second.name} does not read mt, so it cannot refine what [draft] writes")
    return problems


def inheritance_problems(model: Seq2Seq | None, first: Seq2Seq | None) -> list[str]:
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


def data_problems(architecture: Architecture, data: DataConfig, text: TextConfig | None, *, drafted: bool) -> list[str]:
    """Return what is wrong where data has no mt."""
    without = [option for option, files in data.sources if files.mt is None]
    problems = []
    if "mt" in architecture.inputs and not drafted:
        fault = f"has no mt, which {architecture.name} reads; give it, or add a [draft] section that writes it"
        problems += [f"{option}: {fault}" for option in without]
    if drafted and any(files.sampling != SamplingWeight() for files in data.train):
        problems.append(
            "data.train: weights and epochs of sources are not known to a recipe with [draft]; leave them out"
        )
    if without and text is not None and text.vocabulary.sharing == "separate":
        problems.append(
            f'text.vocabulary.sharing = "separate" needs mt to learn a vocabulary from, but {without[0]} has none; '
            'use "joint" or "mt-pe"'
        )
    return problems


def length_problems(model: Seq2Seq, data: DataConfig) -> list[str]:
    """Return whether training texts may be longer than the model can read or write."""
    longest, texts = model.spec.longest, len(model.spec.inputs)
    if longest is None or texts * data.max_length <= longest:
        return []
    return [
        f"data.max_length: texts of {data.max_length} pieces are too long for the model, which reads "
        f"{longest} of all texts together; use {longest // texts} at most"
    ]


def compiling_problems(built: Seq2Seq | None, train: TrainConfig | None, prefix: str = "train.") -> list[str]:
    """Return what is wrong with having a model compiled, if it is to be."""
    if built is None or train is None or not train.compile or layers_of(built):
        return []
    return [f"{prefix}compile: {without_layers(type(built).__name__)}"]


def freezing_problems(
    architecture: Architecture, model: Config, text: TextConfig, train: TrainConfig, prefix: str = "train."
) -> list[str]:
    """Return what is wrong with the patterns of parameters that are not trained."""
    if not train.freeze:
        return []
    built = build_on_meta(architecture, model, text, "model.", [])
    try:
        if built is not None:
            freeze(built, train.freeze)
    except RecipeError as error:
        return [f"{prefix}freeze: {error}"]
    return []
