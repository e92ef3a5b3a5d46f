"""The options of `postedit edit` that say how to search."""

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from postedit.core.errors import DataError

if TYPE_CHECKING:
    from postedit.search.config import SearchSettings, Term


class Normalisation(StrEnum):
    """What the score of an output is divided by."""

    power = "power"
    wu = "wu"


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What was given on the command line, with None for what was not; see `SearchSettings`."""

    length_penalty: float | None = None
    normalisation: Normalisation | None = None
    shortlist: int | None = None
    keep: float | None = None
    keep_src: bool | None = None
    edit_cost: float | None = None
    max_edits: int | None = None
    no_repeat: int | None = None
    no_unk: bool | None = None
    banned: tuple[str, ...] = ()
    required: "tuple[Term, ...]" = ()

    def over(self, settings: "SearchSettings") -> "SearchSettings":
        """Return the settings of a model with what was given. Banned and required words come on top of its own.

        Raises:
            DataError: if one is out of range.
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        given = {name: value for name, value in values.items() if value is not None}
        given["banned"] = (*settings.banned, *self.banned)
        given["required"] = (*settings.required, *self.required)
        return replace(settings, **given)

    @property
    def given(self) -> list[str]:
        """The options of the command that were given."""
        names = {"banned": "ban", "required": "require"}
        given = [field.name for field in fields(self) if getattr(self, field.name) not in (None, ())]
        return [f"--{names.get(name, name).replace('_', '-')}" for name in given]

    def check(self, search: "SearchSettings", *, drafts: bool) -> None:
        """Refuse what would do nothing in a search; `drafts`: whether a greedy one takes mt for a draft.

        Raises:
            DataError: naming the option, and what it needs.
        """
        if self.keep_src and not search.keep:
            raise DataError("--keep-src says what --keep does not count; give --keep above 0 with it")
        ranking = [name for name in self.given if name in ("--length-penalty", "--normalisation")]
        if ranking and search.beam == 1 and not search.required:
            raise DataError(f"{ranking[0]} ranks the outputs of a beam; give --beam above 1 with it")
        if self.shortlist:
            self._check_shortlist(search, drafts)

    @staticmethod
    def _check_shortlist(search: "SearchSettings", drafts: bool) -> None:
        if search.beam > 1:
            raise DataError(f"--shortlist is for greedy search, and the beam is {search.beam}; give --beam 1 with it")
        if search.guides:
            raise DataError(
                "--shortlist does not go with --keep, --edit-cost, --max-edits, --ban, --no-repeat and --no-unk, which "
                "choose among all pieces; leave out one or the other"
            )
        if not drafts:
            raise DataError(
                "--shortlist needs mt as a draft, and a model that reads many pieces of it in one call: no recurrent "
                "decoder, and no combination; leave it out"
            )


def banned_words(path: Path | None) -> tuple[str, ...]:
    """Return the words and phrases in a file, one a line; blank lines do not count.

    Raises:
        DataError: if it cannot be read.
    """
    from postedit.data.lines import read_lines

    return () if path is None else tuple(line.strip() for line in read_lines(path) if line.strip())


def required_terms(path: Path | None) -> "tuple[Term, ...]":
    """Return the terms in a file: lines `word` or `source word<TAB>word`; blank lines do not count.

    Raises:
        DataError: if it cannot be read, naming the first line that is none of both.
    """
    if path is None:
        return ()
    from postedit.data.lines import read_lines

    return tuple(_term(path, number, line) for number, line in enumerate(read_lines(path), start=1) if line.strip())


def _term(path: Path, number: int, line: str) -> "Term":
    from postedit.search.config import Term

    sides = [side.strip() for side in line.split("\t")]
    if len(sides) > 2 or not all(sides):
        raise DataError(f"{path}, line {number}: must be a word or phrase, or that of the source, a tab, and that")
    return Term(sides[-1], sides[0] if len(sides) == 2 else "")
