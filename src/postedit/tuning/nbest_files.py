"""Read n-best lists, and column files with further features, such as the scores of a language model.

`postedit edit --format jsonl --n-best N` writes n-best lists. A column file has a line of names, then a line of numbers
separated by tabs for each output, in the order of the lists.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from postedit.core.errors import DataError
from postedit.core.wording import counted
from postedit.data.lines import one_line, read_lines
from postedit.tuning.nbest_lists import NBestEntry

SCORE: Final = "score"
"""The score of the model or ensemble: the feature of lists that were not made by a log-linear combination."""

ORDER: Final = "order"
"""The feature that is 0 for the first output of a list, -1 for the second, and so on.

The search ranks by more than the score, such as an edit cost. With this feature, tuning can keep the order as listed.
"""


@dataclass(frozen=True, slots=True)
class NBestRecord:
    """One output: its JSON record without alternatives, and its features."""

    record: Mapping[str, Any]
    features: Mapping[str, float]

    @property
    def entry(self) -> NBestEntry:
        """The text and the features, which are all that tuning needs."""
        return NBestEntry(self.record["text"], self.features)


def read_outputs(path: Path, columns: Sequence[Path]) -> list[list[NBestRecord]]:
    """Return n-best lists with their own features and those of the column files.

    Raises:
        DataError: if a file is malformed, or a column file does not have one line per output.
    """
    lists = [_list(path, number, line) for number, line in enumerate(read_lines(path), start=1)]
    count = sum(map(len, lists))
    for column in columns:
        rows = iter(_rows(column, count, path))
        lists = [[_extended(output, next(rows), column) for output in outputs] for outputs in lists]
    return lists


def feature_names(lists: Sequence[Sequence[NBestRecord]]) -> list[str]:
    """Return the names of all features, in order of occurrence."""
    return list(dict.fromkeys(name for outputs in lists for output in outputs for name in output.features))


def _list(path: Path, number: int, line: str) -> list[NBestRecord]:
    try:
        record = json.loads(line)
        alternatives = record.pop("alternatives", [])
        return [_output(one, place) for place, one in enumerate((record, *alternatives))]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f" ({error})" if isinstance(error, _WrongRecordError) else ""
        raise DataError(
            f"{path}, line {number}: is not an n-best list{reason}; make them by `postedit edit --format jsonl "
            "--n-best N`"
        ) from None


class _WrongRecordError(ValueError):
    """A fault of a record, which its message describes."""


def _output(record: Mapping[str, Any], place: int) -> NBestRecord:
    own = record.get("features")
    if own is None:
        own = {} if record.get("skipped") else {SCORE: record[SCORE]}
    if not all(map(is_number, own.values())):
        raise _WrongRecordError("a score or feature is not a finite number")
    text = record["text"]
    if not isinstance(text, str) or one_line(text) != text:
        raise _WrongRecordError("text must be a string of one line")
    text.encode()  # raises ValueError for half a surrogate pair, which cannot be written
    return NBestRecord(record, {**{name: float(value) for name, value in own.items()}, ORDER: float(0 - place)})


def _rows(path: Path, count: int, lists: Path) -> list[dict[str, float]]:
    lines = [line.removesuffix("\r") for line in read_lines(path)]
    names = lines[0].split("\t") if lines else []
    if not names or len(set(names)) < len(names) or _is_number(names[0]):
        raise DataError(f"{path}, line 1: must name the columns, each once, separated by tabs")
    if len(lines) - 1 != count:
        raise DataError(
            f"{path}: has {counted(len(lines) - 1, 'line')} of numbers, and {lists} has {counted(count, 'output')}; "
            "there must be one for each output, those of a sentence best first"
        )
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        values = line.split("\t")
        if len(values) != len(names) or not all(map(_is_number, values)):
            raise DataError(f"{path}, line {number}: must have {len(names)} numbers separated by tabs, not {line!r}")
        rows.append(dict(zip(names, map(float, values), strict=True)))
    return rows


def _extended(output: NBestRecord, more: Mapping[str, float], path: Path) -> NBestRecord:
    twice = output.features.keys() & more.keys()
    if twice:
        raise DataError(f"{path}: the lists already have the feature {min(twice)}; give the column another name")
    return NBestRecord(output.record, {**output.features, **more})


def is_number(value: object) -> bool:
    """Return whether a value of JSON or TOML is a finite number."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer beyond all floats
        return False


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
