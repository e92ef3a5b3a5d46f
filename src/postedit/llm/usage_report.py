"""Reports of usage, which are kept beside outputs, and their table, which is shown beside scores."""

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Final

from postedit.core.errors import DataError
from postedit.core.files import load_json
from postedit.core.output_paths import is_stream
from postedit.data.text_paths import is_far
from postedit.evaluate.table import Column, Table, TableRow

FORMAT: Final = 1
"""Version of the format of reports."""

ENDING: Final = ".usage.json"
"""Suffix that is added to the name of an output to give that of its report."""

_NOTE: Final = (
    "Of making each output, from the report beside it; seconds are those of a request; a dash: not known. "
    "Failed: requests without an answer; again: segments asked again alone; left: answers that could not be used."
)


def report_beside(out: Path) -> Path:
    """Return the path of the report beside an output."""
    return out.with_name(out.name + ENDING)


def read_report(path: Path) -> Mapping[str, Any] | None:
    """Read a report of usage; return None if it does not exist.

    Raises:
        DataError: if it is damaged, or of another version.
    """
    if is_far(path) or is_stream(path) or not path.is_file():
        return None
    try:
        values = load_json(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: is not a usage report: {error}; remove it, or edit again") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise DataError(f"{path}: is not a usage report of this version; remove it, or edit again")
    if not _is_whole(values):
        raise DataError(f"{path}: is a damaged usage report: an entry is missing or wrong; remove it, or edit again")
    return values


def _is_whole(values: Mapping[str, Any]) -> bool:
    """Return whether a report has all entries that the tables show."""
    try:
        texts = (values["signature"], values["currency"] or "")
        return all(isinstance(one, str) for one in texts) and all(one is None or isfinite(one) for one in _row(values))
    except (KeyError, TypeError, AttributeError, OverflowError):
        return False


def usage_tables(reports: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """Return tables of cost, latency, tokens and failures of systems that have a report, and of their signatures."""
    if not reports:
        return []
    rows = tuple(TableRow((name,), _row(found)) for name, found in reports.items())
    signatures = tuple(TableRow((name, found["signature"]), ()) for name, found in reports.items())
    currencies = sorted({found["currency"] for found in reports.values() if found["currency"]})
    cost = f"cost ({', '.join(currencies)})" if currencies else "cost"
    whole = ("requests", "failed", "again", "left", "prompt tokens", "answer tokens")
    columns = (Column(cost, 4), Column("median s", 2), Column("95 % s", 2), *map(Column, whole))
    return [
        Table("usage", ("system",), columns, rows, _NOTE),
        Table("signatures of language models", ("system", "signature"), (), signatures),
    ]


def _row(found: Mapping[str, Any]) -> tuple[float | None, ...]:
    return (
        found["cost"],
        found["seconds"]["median"],
        found["seconds"]["95 %"],
        found["requests"],
        found["failed requests"],
        sum(found["asked again"].values()),
        sum(found["left as mt"].values()),
        found["prompt tokens"],
        found["answer tokens"],
    )
