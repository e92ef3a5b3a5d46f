"""Checks of a recipe across its sections; a section that is itself faulty is passed as None, and is not checked."""

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from postedit.core.config import Config
from postedit.core.errors import ModelFolderError, RecipeError
from postedit.core.files import with_home
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
    """Return vocabularies of the largest possible size, with names in place of fingerprints.

    Those of a checkpoint or a model are already known, and returned as they are.

    Raises:
        RecipeError: if a checkpoint has no usable vocabulary.
        ModelFolderError: if a model has no usable vocabulary.
    """
    if text.model is not None:
        return TextProcessor.load(model_text(Path(text.model))).vocabularies
    groups = GROUPS[text.vocabulary.sharing]
    if text.vocabulary.checkpoint is None:
        copied = {name: text.vocabulary.copied_of(name) for name in groups}
        infos = {
            name: VocabularyInfo(text.vocabulary.kept_of(name) + copied[name], name, copied[name]) for name in groups
        }
    else:
        found = checkpoint_vocabularies(text.vocabulary.checkpoint, groups)
        infos = {name: vocabulary.info for name, vocabulary in found.items()}
    known: dict[str, VocabularyInfo] = {side: infos[name] for name, sides in groups.items() for side in sides}
    pe = known.pop("pe")
    return Vocabularies(known, pe)


def build_on_meta(
    architecture: Architecture | None, model: Config | None, text: TextConfig | None, prefix: str, problems: list[str]
) -> Seq2Seq | None:
    """Return the model on the meta device; if its sizes do not fit together, add a problem and return None."""
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
        return architecture.build_on_meta(model, vocabularies)
    except ValueError as error:  # or its subclass RecipeError
        option = str(error).removeprefix("model.")
        problems.append(f"{prefix}{option}" if option != str(error) else f"{prefix.removesuffix('.')}: {error}")
        return None
    except (RuntimeError, TypeError, OverflowError) as error:
        if "overflow" not in str(error).lower() and not isinstance(error, OverflowError):
            raise
        problems.append(f"{prefix.removesuffix('.')}: its sizes are larger than any memory; choose smaller ones")
        return None


def with_text_of_model(text: TextConfig, base: Path, problems: list[str]) -> TextConfig | None:
    """Return the `[text]` section of the model that `text.model` names; on errors, add problems and return None.

    Other options that are given must agree with the model. The path of the model becomes absolute. Without
    `text.model`, the section is returned unchanged.
    """
    if text.model is None:
        return text
    path = (base / with_home(text.model)).resolve()
    try:
        taken = TextProcessor.load(model_text(path)).config
    except ModelFolderError as error:
        problems.append(f"text.model: {error}")
        return None
    given = flat_options(text.model_dump(exclude_unset=True, exclude={"model"}))
    known = flat_options(taken.model_dump())
    found = [
        f"text.{option}: is {known.get(option)!r} in the model of text.model, not {value!r}; leave it out"
        for option, value in given.items()
        if value != known.get(option)
    ]
    problems += found
    return None if found else taken.model_copy(update={"model": str(path)})


def flat_options(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the options of nested sections by full name, such as `train.lr`."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat_options(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return found


def draft_problems(
    second: Architecture | None, model: Seq2Seq | None, first: Architecture, first_model: Seq2Seq | None
) -> list[str]:
    """Check that a first stage reads only src, and that the second stage, with its `model`, reads mt.

    What a model reads may depend on its options, so a first stage that could not be built is not checked, and a second
    one only for what no model of its architecture reads.
    """
    problems = []
    if first_model is not None and first_model.spec.inputs != ("src",):
        reads = " and ".join(first_model.spec.inputs)
        problems.append(f"draft.model: {first.name} reads {reads}, but a first stage has only src")
    if second is not None and "mt" not in (second.inputs if model is None else model.spec.inputs):
        problems.append(f"model: {second.name} does not read mt, so it cannot refine what [draft] writes")
    return problems


def inheritance_problems(model: Seq2Seq | None, first: Seq2Seq | None, *, starts_from_model: bool) -> list[str]:
    """Check that `model` can inherit the embeddings of `first` or, if that is None, be trained without them."""
    if model is None:
        return []
    if first is not None:
        if starts_from_model:
            return [
                "draft.inherit_embeddings: train.init gives the second stage its embeddings too, and only one of them "
                "can; set inherit_embeddings = false, or leave out train.init"
            ]
        try:
            inherit_embeddings(model, first)
        except RecipeError as error:
            return [f"draft.inherit_embeddings: {error}"]
    elif not starts_from_model and any(not table.weight.requires_grad for table in model.embeddings().values()):
        return [
            "model: its embeddings are frozen, but there are none to inherit; let them be trained, add a [draft] "
            "section with inherit_embeddings = true, or start from a model (train.init)"
        ]
    return []


def data_problems(
    model: Seq2Seq | None, data: DataConfig | None, text: TextConfig | None, *, drafted: bool
) -> list[str]:
    """Check that sources of data have mt where it is needed, and no sampling weights where these are not supported."""
    if data is None:
        return []
    without = [option for option, files in data.sources if files.mt is None]
    problems = []
    if model is not None and "mt" in model.spec.inputs and not drafted:
        fault = "has no mt, which the model reads; give it, or add a [draft] section that writes it"
        problems += [f"{option}: {fault}" for option in without]
    if drafted and any(files.sampling != SamplingWeight() for files in data.train):
        problems.append(
            "data.train: a recipe with [draft] does not support weights and epochs of sources; leave them out"
        )
    if without and text is not None and text.vocabulary.sharing == "separate":
        problems.append(
            f'text.vocabulary.sharing = "separate" needs mt to learn a vocabulary from, but {without[0]} has none; '
            'use "joint" or "mt-pe"'
        )
    return problems


def _hint_problems(model: Seq2Seq, data: DataConfig) -> list[str]:
    """Check that there is a glossary if and only if the prompt shows terms, and tags only if it shows errors."""
    names, problems = model.spec.hints.names, []
    shown = "glossary" in names
    if shown and data.glossary is None:
        problems.append(
            "data.glossary: the prompt shows terms ({glossary}); name the file that training shows them from"
        )
    if data.glossary is not None and not shown:
        problems.append(
            "data.glossary: no prompt of this model shows terms; leave it out, or add {glossary} to model.prompt"
        )
    # The default is in the resolved recipe of every run.
    if data.tagged != DataConfig.model_fields["tagged"].default and "errors" not in names:
        problems.append(
            "data.tagged: no prompt of this model shows errors; leave it out, or add {errors} to model.prompt"
        )
    return problems


def model_problems(
    model: Seq2Seq | None, data: DataConfig | None, train: TrainConfig | None, prefix: str = "train."
) -> list[str]:
    """Check hints, the length of training texts, and that the model supports the options of the `[train]` section."""
    problems = []
    if model is not None and data is not None:
        problems += _hint_problems(model, data)
        longest, texts = model.spec.longest, len(model.spec.inputs)
        if longest is not None and texts * data.max_length > longest:
            problems.append(
                f"data.max_length: texts of {data.max_length} tokens are too long for the model, which reads "
                f"{longest} of all texts together; use {longest // texts} at most"
            )
    if model is not None and train is not None:
        if train.compile and not layers_of(model):
            problems.append(f"{prefix}compile: {without_layers(type(model).__name__)}")
        if train.coverage and model.spec.coverage_key is None:
            problems.append(f"{prefix}coverage: needs soft attention, which this model does not have; leave it out")
        if train.label_smoothing and model.spec.vocabularies.target.copied:
            problems.append(
                f"{prefix}label_smoothing: tokens that stand for unknown ones may have no share in it; set it to 0"
            )
        try:
            if train.freeze:
                freeze(deepcopy(model), train.freeze)
        except RecipeError as error:
            problems.append(f"{prefix}freeze: {error}")
    return problems
