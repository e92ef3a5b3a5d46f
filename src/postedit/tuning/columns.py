"""N-best lists in files, and columns of further features for them, such as the scores of a language model.

The lists are what `postedit edit --format jsonl --n-best N` writes. A column file has a line of names, and then, its
numbers divided by tabs, one line for each output: those of the first sentence, best first, then those of the next.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from postedit.core.errors import DataError
from postedit.data.lines import read_lines
from postedit.tuning.lists import Entry

SCORE = "score"
"""The feature of lists without others: the score of the model, or ensemble, that made them."""


@dataclass(frozen=True, slots=True)
class Output:
    """An output as it is in a file of n-best lists, without its alternatives, and its features."""

    record: Mapping[str, Any]
    features: Mapping[str, float]

    @property
    def entry(self) -> Entry:
        """What weights are tuned on."""
        return Entry(self.record["text"], self.features)


def read_outputs(path: Path, columns: Sequence[Path] = ()) -> list[list[Output]]:
    """Return n-best lists with their own features and those of the columns.

    Raises:
        DataError: if a file is not what it should be, or a column has not one number for each output.
    """
    lists = [_list(path, number, line) for number, line in enumerate(read_lines(path), start=1)]
    count = sum(map(len, lists))
    for column in columns:
        rows = iter(_rows(column, count, path))
        lists = [[_extended(output, next(rows), column) for output in outputs] for outputs in lists]
    return lists


def feature_names(lists: Sequence[Sequence[Output]]) -> list[str]:
    """Return the features that any output has, in the order in which they come."""
    return list(dict.fromkeys(name for outputs in lists for output in outputs for name in output.features))


def _list(path: Path, number: int, line: str) -> list[Output]:
    try:
        record = json.loads(line)
        alternatives = record.pop("alternatives", [])
        return [_output(one) for one in (record, *alternatives)]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError(
            f"{path}, line {number}: is not an n-best list; make them by `postedit edit --format jsonl --n-best N`"
        ) from None


def _output(record: Mapping[str, Any]) -> Output:
    own = record.get("features") or ({} if record.get("skipped") else {SCORE: record[SCORE]})
    features = {str(name): float(value) for name, value in own.items()}
    if not all(map(math.isfinite, features.values())):
        raise ValueError("a feature that is no finite number")
    return Output({"text": str(record["text"]), **record}, features)


def _rows(path: Path, count: int, lists: Path) -> list[dict[str, float]]:
    lines = list(read_lines(path))
    names = lines[0].split("\t") if lines else []
    if not names or len(set(names)) < len(names) or _is_number(names[0]):
        raise DataError(f"{path}, line 1: must name the columns, each once, divided by tabs")
    if len(lines) - 1 != count:
        raise DataError(
            f"{path}: has {len(lines) - 1:,} lines of numbers, and {lists} has {count:,} outputs; "
            "there must be one for each output, those of a sentence best first"
        )
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        values = line.split("\t")
        if len(values) != len(names) or not all(map(_is_number, values)):
            raise DataError(f"{path}, line {number}: must have {len(names)} numbers divided by tabs, not {line!r}")
        rows.append(dict(zip(names, map(float, values), strict=True)))
    return rows


def _extended(output: Output, more: Mapping[str, float], path: Path) -> Output:
    twice = output.features.keys() & more.keys()
    if twice:
        raise DataError(f"{path}: the feature {min(twice)} is there already; give the column another name")
    return Output(output.record, {**output.features, **more})


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
