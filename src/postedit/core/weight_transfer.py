"""Weights that a model takes from another one, tensor by tensor, and the account of what was taken."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import torch
from torch import Tensor

from postedit.core.errors import RecipeError
from postedit.core.model import Seq2Seq

Pieces = Mapping[str, Sequence[str]]
"""The pieces of a model's vocabularies, in the order of their ids, by text ("src", "mt", "pe")."""

_BY_PIECE: Final = re.compile(r"(^|\.)embed|(^|\.)head\.|^bias$|\.shared\.weight$")
"""Names of tensors with a row for each piece: embeddings and output layers."""

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one tensor of a model.

    Args:
        name: of the tensor.
        shape: of the tensor.
        taken: all of it; the rows of pieces that both vocabularies have; or nothing.
        detail: how many rows, or why nothing was taken.
    """

    name: str
    shape: tuple[int, ...]
    taken: Literal["all", "pieces", "nothing"]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Transfer:
    """What a model took from another one.

    Args:
        fates: of all tensors of the model.
        unused: shapes of the tensors that only the other one has.
    """

    fates: tuple[Fate, ...]
    unused: Mapping[str, tuple[int, ...]]

    def to_dict(self) -> dict[str, Any]:
        """Return the account as values for JSON."""
        kinds = {
            kind: {fate.name: {"shape": list(fate.shape), "detail": fate.detail} for fate in self.of(kind)}
            for kind in ("all", "pieces", "nothing")
        }
        return {"taken": kinds, "unused": {name: list(shape) for name, shape in self.unused.items()}}

    def of(self, taken: str) -> list[Fate]:
        """Return the fates of one kind."""
        return [fate for fate in self.fates if fate.taken == taken]

    def __str__(self) -> str:
        whole, pieces, left = self.of("all"), self.of("pieces"), self.of("nothing")
        lines = [f"{len(whole) + len(pieces)} of {len(self.fates)} tensors taken"]
        lines += [f"  {fate.name}: {fate.detail}" for fate in pieces]
        lines += [f"  not taken: {fate.name} {_sizes(fate.shape)}: {fate.detail}" for fate in left[:_SHOWN]]
        if len(left) > _SHOWN:
            lines.append(f"  ... and {len(left) - _SHOWN} more")
        if self.unused:
            names = ", ".join(f"{name} {_sizes(shape)}" for name, shape in list(self.unused.items())[:_SHOWN])
            more = f" and {len(self.unused) - _SHOWN} more" if len(self.unused) > _SHOWN else ""
            lines.append(f"  not used: {names}{more}")
        return "\n".join(lines)


def take_weights(model: Seq2Seq, pieces: Pieces, other: Seq2Seq, other_pieces: Pieces) -> Transfer:
    """Give `model` the tensors of `other` that have one of its names and its shape.

    Of embeddings and output layers over another vocabulary, the rows of the pieces that both have are taken; the other
    rows keep what they have. A tensor that is shared has several names; the first that `other` knows counts.

    Raises:
        RecipeError: if nothing but vectors, such as the biases of the output, can be taken.
    """

    def take(names: tuple[str, ...], tensor: Tensor, source: Tensor) -> Fate:
        side = _side(names, model)
        with torch.no_grad():
            return _take(names[0], tensor, source, pieces.get(side, ()), other_pieces.get(side, ()))

    return _transfer(model, other, take)


def check_sizes(model: Seq2Seq, other: Seq2Seq) -> None:
    """See to it that `model` could take a matrix of `other`, whatever pieces their vocabularies will have.

    Both may be without memory for weights.

    Raises:
        RecipeError: if `take_weights` would find none.
    """

    def compare(names: tuple[str, ...], tensor: Tensor, source: Tensor) -> Fate:
        shape, theirs = tuple(tensor.shape), tuple(source.shape)
        if shape == theirs:
            return Fate(names[0], shape, "all")
        if len(shape) > 1 and _BY_PIECE.search(names[0]) and shape[1:] == theirs[1:]:
            return Fate(names[0], shape, "pieces")
        return Fate(names[0], shape, "nothing", f"it is {_sizes(theirs)} in the other model")

    _transfer(model, other, compare)


def _transfer(model: Seq2Seq, other: Seq2Seq, fate_of: Callable[[tuple[str, ...], Tensor, Tensor], Fate]) -> Transfer:
    """Return the account of all tensors of `model`, what is to become of one of those that `other` has being given.

    Raises:
        RecipeError: if no matrix is taken.
    """
    found = other.state_dict()
    used: set[str] = set()
    fates = []
    for names, tensor in _tensors(model).items():
        known = [name for name in names if name in found]
        used |= set(known)
        if known:
            fates.append(fate_of(names, tensor, found[known[0]]))
        else:
            fates.append(Fate(names[0], tuple(tensor.shape), "nothing", "the other model has none of that name"))
    transfer = Transfer(tuple(fates), _unused(other, used))
    if not any(fate.taken != "nothing" and len(fate.shape) > 1 for fate in fates):
        raise RecipeError(f"no matrix has the name and the sizes of one of this model\n{transfer}")
    return transfer


def _take(name: str, tensor: Tensor, source: Tensor, pieces: Sequence[str], other_pieces: Sequence[str]) -> Fate:
    shape = tuple(tensor.shape)
    rows = (len(pieces), len(other_pieces)) if _BY_PIECE.search(name) else (-1, -1)
    if tensor.dim() and source.dim() and rows == (shape[0], source.shape[0]) and shape[1:] == source.shape[1:]:
        if list(pieces) != list(other_pieces):
            numbers = {piece: number for number, piece in enumerate(other_pieces)}
            both = [(own, numbers[piece]) for own, piece in enumerate(pieces) if piece in numbers]
            ours, theirs = torch.tensor(both, dtype=torch.long).reshape(-1, 2).unbind(1)
            tensor[ours.to(tensor.device)] = source[theirs].to(tensor)
            return Fate(name, shape, "pieces", f"{len(both):,} of {len(pieces):,} pieces are in both vocabularies")
    elif shape != tuple(source.shape):
        return Fate(name, shape, "nothing", f"it is {_sizes(tuple(source.shape))} in the other model")
    tensor.copy_(source)
    return Fate(name, shape, "all")


def _side(names: Sequence[str], model: Seq2Seq) -> str:
    """Return whose vocabulary has the rows of a tensor: the text that its names tell, or the output's."""
    words = [word for name in names for word in re.split(r"[._]", name)]
    told = [side for side in ("pe", "mt", "src") if side in words]
    if told:
        return told[0]
    return model.spec.inputs[0] if all("embed" in name for name in names) else "pe"


def _tensors(model: Seq2Seq) -> dict[tuple[str, ...], Tensor]:
    """Return parameters and buffers by their names; one that is shared has several."""
    names: dict[int, tuple[Tensor, list[str]]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        names.setdefault(id(tensor), (tensor, []))[1].append(name)
    return {tuple(all_names): tensor for tensor, all_names in names.values()}


def _unused(other: Seq2Seq, used: set[str]) -> dict[str, tuple[int, ...]]:
    return {names[0]: tuple(tensor.shape) for names, tensor in _tensors(other).items() if not used & set(names)}


def _sizes(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "1"
