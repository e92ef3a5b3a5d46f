"""Copy weights from another model: either all tensors that fit, with a record of them, or only the embedding tables."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import torch
from torch import Tensor, nn

from postedit.core.errors import RecipeError
from postedit.core.model import Seq2Seq, VocabularyInfo
from postedit.core.tensor_files import named_tensors, shape_text
from postedit.core.wording import listed

VocabularyTokens = Mapping[str, Sequence[str]]
"""The tokens of a model's vocabularies, in order of their ids, by text ("src", "mt", "pe")."""

_ROW_PER_TOKEN: Final = re.compile(r"(?P<table>(^|\.)embed)|(^|\.)head\.|^bias$|\.shared\.weight$")
"""Names of tensors with one row per token: embeddings and output layers; see `_has_row_per_token`."""

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class TensorTransfer:
    """The outcome for one tensor of the receiving model."""

    name: str
    shape: tuple[int, ...]
    taken: Literal["all", "tokens", "nothing"]  # the whole tensor, only the rows of tokens in both models, or nothing
    detail: str = ""  # how many tokens were taken, or why nothing was


@dataclass(frozen=True, slots=True)
class Transfer:
    """A record of the weights that a model took from another."""

    tensors: tuple[TensorTransfer, ...]  # one for every tensor of the receiving model
    unused: Mapping[str, tuple[int, ...]]  # shapes of the tensors that only the other model has

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        taken = {
            kind: {tensor.name: {"shape": list(tensor.shape), "detail": tensor.detail} for tensor in self.of(kind)}
            for kind in ("all", "tokens", "nothing")
        }
        return {"taken": taken, "unused": {name: list(shape) for name, shape in self.unused.items()}}

    def of(self, taken: str) -> list[TensorTransfer]:
        """Return the tensors with one kind of outcome."""
        return [tensor for tensor in self.tensors if tensor.taken == taken]

    def __str__(self) -> str:
        whole, partial, left = self.of("all"), self.of("tokens"), self.of("nothing")
        lines = [f"{len(whole) + len(partial)} of {len(self.tensors)} tensors taken"]
        lines += [f"  {tensor.name}: {tensor.detail}" for tensor in partial]
        lines += [f"  not taken: {tensor.name} {shape_text(tensor.shape)}: {tensor.detail}" for tensor in left[:_SHOWN]]
        if len(left) > _SHOWN:
            lines.append(f"  ... and {len(left) - _SHOWN} more")
        if self.unused:
            names = [f"{name} {shape_text(shape)}" for name, shape in self.unused.items()]
            lines.append(f"  not used: {listed(names, _SHOWN)}")
        return "\n".join(lines)


def take_weights(model: Seq2Seq, tokens: VocabularyTokens, other: Seq2Seq, other_tokens: VocabularyTokens) -> Transfer:
    """Copy to `model` the tensors of `other` that have the same name and shape, and return a record of them.

    If embeddings or output layers are over different vocabularies, the rows of tokens in both vocabularies are copied.
    A tensor with several names is looked up under the first of them that `other` has.

    Raises:
        RecipeError: if not a single matrix can be copied.
    """

    def take(names: tuple[str, ...], tensor: Tensor, source: Tensor) -> TensorTransfer:
        side = _side(names, model)
        with torch.no_grad():
            vocabularies = tokens.get(side, ()), other_tokens.get(side, ())
            return _take(names[0], tensor, source, vocabularies if _has_row_per_token(names, model) else None)

    return _transfer(model, other, take)


def check_sizes(model: Seq2Seq, other: Seq2Seq) -> None:
    """Check that `model` could take a matrix of `other`, whatever their vocabularies; both may be on the meta device.

    Raises:
        RecipeError: if `take_weights` would find no matrix.
    """

    def compare(names: tuple[str, ...], tensor: Tensor, source: Tensor) -> TensorTransfer:
        shape, theirs = tuple(tensor.shape), tuple(source.shape)
        if shape == theirs:
            return TensorTransfer(names[0], shape, "all")
        if len(shape) > 1 and shape[1:] == theirs[1:] and _has_row_per_token(names, model):
            return TensorTransfer(names[0], shape, "tokens")
        return TensorTransfer(names[0], shape, "nothing", f"it is {shape_text(theirs)} in the other model")

    _transfer(model, other, compare)


def _transfer(
    model: Seq2Seq, other: Seq2Seq, transfer_tensor: Callable[[tuple[str, ...], Tensor, Tensor], TensorTransfer]
) -> Transfer:
    """Return the record for all tensors of `model`; `transfer_tensor` handles those that `other` also has."""
    found = other.state_dict()
    used: set[str] = set()
    tensors = []
    for names, tensor in named_tensors(model).items():
        known = [name for name in names if name in found]
        used |= set(known)
        missing = TensorTransfer(names[0], tuple(tensor.shape), "nothing", "the other model has no tensor of that name")
        tensors.append(transfer_tensor(names, tensor, found[known[0]]) if known else missing)
    unused = {names[0]: tuple(tensor.shape) for names, tensor in named_tensors(other).items() if not used & set(names)}
    transfer = Transfer(tuple(tensors), unused)
    if not any(tensor.taken != "nothing" and len(tensor.shape) > 1 for tensor in tensors):
        raise RecipeError(f"none of its matrices has the same name and shape as one of this model\n{transfer}")
    return transfer


def _has_row_per_token(names: Sequence[str], model: Seq2Seq) -> bool:
    """Return whether a tensor has one row per token; a linear layer that reads embeddings, as in a readout, has not."""
    found = _ROW_PER_TOKEN.search(names[0])
    holders = (model.get_submodule(name.rpartition(".")[0]) for name in names)
    return found is not None and not (found["table"] and all(type(holder) is nn.Linear for holder in holders))


def _take(
    name: str, tensor: Tensor, source: Tensor, vocabularies: tuple[Sequence[str], Sequence[str]] | None
) -> TensorTransfer:
    """Take a tensor; if it has a row for each token of `vocabularies`, ours and theirs, the rows of tokens in both."""
    shape = tuple(tensor.shape)
    has_rows = tensor.dim() and source.dim() and shape[1:] == tuple(source.shape[1:])
    if vocabularies is not None and has_rows and list(vocabularies[0]) != list(vocabularies[1]):
        tokens, other_tokens = vocabularies
        extra = shape[0] - len(tokens)  # rows after those of the tokens, such as that of KEEP
        if extra >= 0 and extra == source.shape[0] - len(other_tokens):
            ids = {token: i for i, token in enumerate(other_tokens)}
            both = [(i, ids[token]) for i, token in enumerate(tokens) if token in ids]
            last = [(len(tokens) + i, len(other_tokens) + i) for i in range(extra)]
            ours, theirs = torch.tensor([*both, *last], dtype=torch.long).reshape(-1, 2).unbind(1)
            tensor[ours.to(tensor.device)] = source[theirs].to(tensor)
            detail = f"{len(both):,} of {len(tokens):,} tokens are in both vocabularies"
            return TensorTransfer(name, shape, "tokens", detail)
    if shape != tuple(source.shape):
        return TensorTransfer(name, shape, "nothing", f"it is {shape_text(source.shape)} in the other model")
    tensor.copy_(source)
    return TensorTransfer(name, shape, "all")


def _side(names: Sequence[str], model: Seq2Seq) -> str:
    """Return the text whose tokens the rows of a tensor stand for: named in `names`, or else the first input or pe.

    For a model within the model, such as one for the other direction, it is the text with the same vocabulary.
    """
    for part_name, part in model.named_modules():
        if part_name and isinstance(part, Seq2Seq) and names[0].startswith(f"{part_name}."):
            own = _vocabulary(part, _side([name.removeprefix(f"{part_name}.") for name in names], part))
            return next((side for side in ("pe", *model.spec.inputs) if _vocabulary(model, side) == own), "pe")
    words = [word for name in names for word in re.split(r"[._]", name)]
    named = [side for side in ("pe", "mt", "src") if side in words]
    if named:
        return named[0]
    return model.spec.inputs[0] if all("embed" in name for name in names) else "pe"


def inherit_embeddings(model: Seq2Seq, first: Seq2Seq) -> None:
    """Copy the embedding tables of `first` to `model` (Li et al. 2017, IV.D).

    A text of `model` that `first` does not have gets the table of pe.

    Raises:
        RecipeError: if a model has no tables to share, they differ in vocabulary or width, or texts that share a table
            in `model` do not share it in `first`.
    """
    tables, sources = model.embeddings(), first.embeddings()
    if not tables or not sources:
        without = "the second stage" if not tables else "the first stage"
        raise RecipeError(f"{without} is of an architecture whose embeddings cannot be inherited")
    given: dict[nn.Embedding, tuple[str, nn.Embedding]] = {}
    for name, table in tables.items():
        source_name = name if name in sources else "pe"
        source = sources[source_name]
        ours, theirs = _vocabulary(model, name), _vocabulary(first, source_name)
        if ours != theirs:
            raise RecipeError(
                f"the embeddings of {name} in the second stage and those of {source_name} in the first have different "
                f"vocabularies ({ours.size} and {theirs.size} tokens); train both stages with one [text], where mt has "
                "the vocabulary of pe"
            )
        if table.embedding_dim != source.embedding_dim:
            raise RecipeError(
                f"the embeddings of {name} are {table.embedding_dim} wide in the second stage, but those of "
                f"{source_name} are {source.embedding_dim} wide in the first; give both the same width"
            )
        other, known = given.setdefault(table, (name, source))
        if known is not source:
            raise RecipeError(
                f"{other} and {name} share an embedding table in the second stage, but not in the first; set "
                "share_embeddings of both stages to match"
            )
        with torch.no_grad():
            table.weight.copy_(source.weight)


def _vocabulary(model: Seq2Seq, name: str) -> VocabularyInfo:
    vocabularies = model.spec.vocabularies
    return vocabularies.target if name == "pe" else vocabularies.streams[name]
