"""Architectures by name. The list itself is `postedit.models.ARCHITECTURES`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from threading import RLock
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from postedit.core.config import Config
from postedit.core.errors import RecipeError, nearest
from postedit.core.model import Seq2Seq, Vocabularies


@dataclass(frozen=True, slots=True)
class Architecture:
    """One architecture: its name in recipes, its class, the paper it is from, and a one-line summary."""

    name: str
    model: type[Seq2Seq]
    paper: str
    summary: str

    @property
    def inputs(self) -> tuple[str, ...]:
        """The streams that the architecture reads, or may read."""
        return self.model.inputs

    @property
    def config_class(self) -> type[Config]:
        """The class of the `[model]` section in recipes, without its option `name`."""
        return self.model.config_class

    def build(self, config: Config, vocabularies: Vocabularies) -> Seq2Seq:
        """Return a freshly initialised model in single precision, whatever PyTorch's default type is."""
        with _single_precision():
            return self.model(config, vocabularies)  # the constructor every subclass has

    def build_on_meta(self, config: Config, vocabularies: Vocabularies) -> Seq2Seq:
        """Return a model on the meta device, whose weights have shapes but neither values nor memory."""
        with torch.device("meta"), _FillersLeftOut():
            return self.build(config, vocabularies)


_DEFAULT_DTYPE: Final = RLock()  # PyTorch's default type is that of all threads, which may load models at once


@contextmanager
def _single_precision() -> Iterator[None]:
    """Create tensors in single precision by default; applications often make half precision PyTorch's default."""
    with _DEFAULT_DTYPE:
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(default)


_FILLERS: Final = (
    *(Tensor.normal_, Tensor.uniform_, Tensor.fill_, Tensor.zero_),
    *(nn.init.normal_, nn.init.uniform_, nn.init.constant_, nn.init.kaiming_uniform_),
)


class _FillersLeftOut(TorchFunctionMode):
    """A mode in which initialisers fill no tensors, which would waste time on the meta device.

    To draw normal numbers there, PyTorch would even load its compiler, which delays every command by a second.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _FILLERS:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


ENTRY_POINTS: Final = "postedit.architectures"
"""The group of entry points by which an installed package declares architectures, each a subclass of `Seq2Seq`."""


class Registry(Mapping[str, Architecture]):
    """Architectures by name, in the order given, then those that other installed packages declare.

    An unknown name raises a RecipeError with the nearest known one. Packages are looked through only if a name is not
    among those given, or all names are asked for; one is imported only when an architecture of it is.
    """

    def __init__(self, architectures: Iterable[Architecture]) -> None:
        self._by_name: dict[str, Architecture] = {}
        self._imported: dict[str, Architecture] = {}
        for architecture in architectures:
            if architecture.name in self._by_name:
                raise ValueError(f"two architectures are called {architecture.name}")
            self._by_name[architecture.name] = architecture

    def __getitem__(self, name: str) -> Architecture:
        if name in self._by_name:
            return self._by_name[name]
        if name not in self._declared:
            raise RecipeError(f'no architecture is called "{name}"{nearest(name, self)} (known: {", ".join(self)})')
        if name not in self._imported:
            self._imported[name] = _import(self._declared[name])
        return self._imported[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name or name in self._declared

    def __iter__(self) -> Iterator[str]:
        return iter((*self._by_name, *self._declared))

    def __len__(self) -> int:
        return len(self._by_name) + len(self._declared)

    @cached_property
    def _declared(self) -> dict[str, EntryPoint]:
        declared: dict[str, EntryPoint] = {}
        for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda one: one.name):
            given = self._by_name.get(point.name)
            if given is not None and point.value == f"{given.model.__module__}:{given.model.__qualname__}":
                continue
            if given is not None or point.name in declared:
                raise RecipeError(
                    f"{_package_of(point)} calls an architecture {point.name}, as another package does: rename or "
                    "uninstall one of them"
                )
            declared[point.name] = point
        return declared


def _import(point: EntryPoint) -> Architecture:
    """Return an architecture of another package.

    Raises:
        RecipeError: if it cannot be imported, whatever the error, or is no architecture.
    """
    where = f"{point.name}, an architecture of {_package_of(point)}"
    try:
        model = point.load()
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise RecipeError(f"{where}: {point.value} cannot be imported: {problem}") from error
    if not (isinstance(model, type) and issubclass(model, Seq2Seq)):
        raise RecipeError(
            f"{where}: {point.value} must be a subclass of postedit.core.model.Seq2Seq, not {model!r:.80}"
        )
    config, inputs = getattr(model, "config_class", None), getattr(model, "inputs", None)
    if not (isinstance(config, type) and issubclass(config, Config)):
        raise RecipeError(
            f"{where}: config_class must be a subclass of postedit.core.config.Config, not {config!r:.80}"
        )
    if not (isinstance(inputs, tuple) and inputs and {*inputs} <= {"src", "mt"}):
        raise RecipeError(f'{where}: inputs must be a tuple of "src", "mt" or both, not {inputs!r:.80}')
    summary, *_ = (model.__doc__ or "").strip().splitlines() or [""]
    return Architecture(point.name, model, f"of {_package_of(point)}", summary.rstrip("."))


def _package_of(point: EntryPoint) -> str:
    return "the package " + (point.dist.name if point.dist is not None else point.value)
