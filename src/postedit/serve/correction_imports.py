"""Imports of corrections into a project, from tab-separated lines of src, mt and pe, or JSON Lines as exported."""

from collections.abc import Sequence
from typing import IO, Final

from pydantic import AwareDatetime, BaseModel

from postedit.adapt.correction import Correction, Decision
from postedit.core.errors import DataError
from postedit.data.lines import decode_lines
from postedit.serve.api_types import ListOf, PlainText, Small
from postedit.text.config import SIDES

_MOST: Final = 100_000
"""Maximum number of corrections per import."""


class _LineDecision(BaseModel):
    start: Small
    end: Small
    text: PlainText
    accepted: bool


class _Line(BaseModel):
    """A JSON line of an import; other fields that an export has are ignored."""

    src: PlainText
    mt: PlainText
    pe: PlainText
    author: PlainText = ""
    file: PlainText = ""
    unit: PlainText = ""
    made: AwareDatetime | None = None
    decisions: ListOf[_LineDecision] = []


def read_corrections(stream: IO[bytes], author: str) -> list[Correction]:
    """Return the corrections of an import; its first line may name columns, as in tables of training data.

    Args:
        stream: stream with the lines.
        author: author of the corrections that name none.

    Raises:
        DataError: if a line is not valid (the message names the first), or there are no corrections, or too many.
    """
    found: list[Correction] = []
    columns: Sequence[str] = SIDES
    is_first = True
    for number, line in enumerate(decode_lines(stream, "the import"), start=1):
        line = line.removesuffix("\r")
        if not line.strip():
            continue
        names = [cell.strip().lower() for cell in line.split("\t")] if is_first else []
        if set(SIDES) <= set(names):
            columns = names
        else:
            found.append(_correction(line, columns, f"line {number}", author))
        is_first = False
        if len(found) > _MOST:
            raise DataError(f"an import has {_MOST:,} corrections at most, this one more; divide it")
    if not found:
        raise DataError("the import has no corrections")
    return found


def _correction(line: str, columns: Sequence[str], where: str, author: str) -> Correction:
    try:
        return _of_cells(line.split("\t"), columns, author) if "\t" in line else _of_json(line, author)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    except ValueError:
        listed = ", ".join(columns)
        raise DataError(f"{where}: is neither {listed} with tabs between, nor a line of an export") from None


def _of_cells(cells: Sequence[str], columns: Sequence[str], author: str) -> Correction:
    by_column = dict(zip(columns, cells, strict=True))
    return Correction(*(by_column[side] for side in SIDES), author=author)


def _of_json(line: str, author: str) -> Correction:
    given = _Line.model_validate_json(line)
    decisions = tuple(Decision(one.start, one.end, one.text, one.accepted) for one in given.decisions)
    values = given.model_dump(include={"file", "unit", "made"})
    who = given.author or author
    return Correction(given.src, given.mt, given.pe, decisions=decisions, author=who, **values)
