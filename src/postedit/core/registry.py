"""Architectures by name. The list itself is `postedit.models.ARCHITECTURES`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from postedit.core.config import Config
from postedit.core.errors import RecipeError, nearest
from postedit.core.model import Seq2Seq, Vocabularies


@dataclass(frozen=True, slots=True)
class Architecture:
    """One architecture: its name in recipes, its class, the paper it is from, and one line on what it is."""

    name: str
    model: type[Seq2Seq]
    paper: str
    summary: str

    @property
    def inputs(self) -> tuple[str, ...]:
        """The streams it reads."""
        return self.model.inputs

    @property
    def config_class(self) -> type[Config]:
        """The class of its `[model]` section, without `name`."""
        return self.model.config_class

    def build(self, config: Config, vocabularies: Vocabularies) -> Seq2Seq:
        """Return a freshly initialised model."""
        return self.model(config, vocabularies)  # the constructor every subclass has


class Registry(Mapping[str, Architecture]):
    """Architectures by name, in the order given."""

    def __init__(self, architectures: Iterable[Architecture]) -> None:
        """Index `architectures` by name.

        Raises:
            ValueError: if two have the same name.
        """
        self._by_name: dict[str, Architecture] = {}
        for architecture in architectures:
            if architecture.name in self._by_name:
                raise ValueError(f"two architectures are called {architecture.name}")
            self._by_name[architecture.name] = architecture

    def __getitem__(self, name: str) -> Architecture:
        """Return the architecture called `name`.

        Raises:
            RecipeError: if there is none, with the nearest known name.
        """
        if name not in self._by_name:
            known = ", ".join(self._by_name)
            raise RecipeError(f'no architecture is called "{name}"{nearest(name, self._by_name)} (known: {known})')
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        """Whether an architecture is called `name`."""
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._by_name)

    def __len__(self) -> int:
        """Return the number of architectures."""
        return len(self._by_name)
