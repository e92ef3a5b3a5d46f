"""Write the hints of a segment as token ids, each part within its budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

from postedit.core.hints import HintName, Hints
from postedit.core.special_tokens import EOS
from postedit.text.glossary import Glossary
from postedit.text.hint_texts import ERRORS_TITLE, EXAMPLES_TITLE, TERMS_TITLE, TermHint, tagged
from postedit.text.processor import TextProcessor
from postedit.text.similarity_index import SimilarityIndex

_TITLES: Final[Mapping[HintName, str]] = {
    "examples": EXAMPLES_TITLE,
    "glossary": TERMS_TITLE,
    "errors": ERRORS_TITLE,
}


class WordTags(Protocol):
    """Word-level tags that say which words and gaps of translations are wrong."""

    @property
    def fingerprint(self) -> str:
        """A digest of all tags."""

    def of(self, mt: str) -> Sequence[bool] | None:
        """Return the 2n + 1 tags of a translation of n words, True for wrong ones; None if they are not known."""


@dataclass(frozen=True, slots=True)
class HintSources:
    """The sources of hints; None means that there are no such hints.

    Args:
        corrections: index of the corrections among which similar ones are found.
        glossary: glossary whose terms are looked up in src.
        tags: tags of the words of mt that are wrong.
        other_src: whether to leave out corrections of the same src, which would give the answer away in training.
    """

    corrections: SimilarityIndex | None = None
    glossary: Glossary | None = None
    tags: WordTags | None = None
    other_src: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """Fingerprints of what determines the hints, by name; corrections are identified by their memory instead."""
        named = {"glossary": self.glossary, "tags": self.tags}
        return {f"hints.{name}": one.fingerprint for name, one in named.items() if one is not None}


NO_SOURCES: Final = HintSources()
"""No hints are shown."""


class HintWriter:
    """Writes the hints of segments for one model.

    Args:
        hints: the parts that the prompt of the model has, and their budgets.
        processor: the text processing of the model.
        sources: where the hints come from.
    """

    def __init__(self, hints: Hints, processor: TextProcessor, sources: HintSources) -> None:
        self._hints, self._sources = hints, sources
        self._vocabulary = processor.vocabulary("src")

    @property
    def names(self) -> tuple[HintName, ...]:
        """The names of the parts."""
        return self._hints.names

    def write(self, src: str, mt: str, *, bad: Sequence[bool] | None = None) -> dict[str, list[int]]:
        """Return the token ids of each part, ending in EOS; a part that is left out is EOS alone.

        Args:
            src: the source.
            mt: the machine translation.
            bad: tags of mt to use in place of those that the hint sources have.

        Raises:
            DataError: if a text is not valid Unicode.
        """
        lines = {"examples": self._examples, "glossary": self._terms, "errors": self._errors}
        return {name: self._part(name, lines[name](src, mt, bad)) for name in self.names}

    def _examples(self, src: str, mt: str, bad: Sequence[bool] | None) -> list[str]:
        if self._sources.corrections is None:
            return []
        config, other = self._hints.config, self._sources.other_src
        found = self._sources.corrections.find(src, mt, config.examples, config.least_similarity, other_src=other)
        return [one.line() for one in found]

    def _terms(self, src: str, mt: str, bad: Sequence[bool] | None) -> list[str]:
        found = [] if self._sources.glossary is None else self._sources.glossary.find(src)
        return [TermHint(one.entry.source, one.entry.targets, one.entry.forbidden).line() for one in found]

    def _errors(self, src: str, mt: str, bad: Sequence[bool] | None) -> list[str]:
        if bad is None and self._sources.tags is not None:
            bad = self._sources.tags.of(mt)
        text = tagged(mt, bad or ())
        return [text] if text else []

    def _part(self, name: HintName, lines: Sequence[str]) -> list[int]:
        """Return the token ids of the title and of the lines that fit into the budget, in order."""
        title, end = self._frames[name]
        left = self._hints.config.budget(name) - len(title) - len(end)
        kept: list[int] = []
        # Encoded line by line, so that the token counts of lines add up.
        for ids in self._vocabulary.encode_batch([f"{line}\n" for line in lines]):
            if len(ids) <= left:
                kept += ids
                left -= len(ids)
        return [*title, *kept, *end, EOS] if kept else [EOS]

    @cached_property
    def _frames(self) -> dict[HintName, tuple[list[int], list[int]]]:
        """The token ids of the title of each part, and of the empty line after the part."""
        end = self._vocabulary.encode("\n")
        return {name: (self._vocabulary.encode(f"{_TITLES[name]}\n"), end) for name in self.names}
