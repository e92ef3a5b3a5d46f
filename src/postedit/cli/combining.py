"""Options of verbs that combine models."""

import math
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from postedit.core.errors import DataError


class Averaging(StrEnum):
    """What an ensemble averages: log-probabilities, renormalised, or probabilities."""

    log = "log"
    probability = "probability"


def parse_weights(text: str | None, models: int) -> list[float] | None:
    """Return the weights in an option such as "0.7,0.3", one for each model.

    Raises:
        DataError: if they are not numbers, or not as many as models.
    """
    if text is None:
        return None
    try:
        weights = [float(part) for part in text.replace(",", " ").split()]
    except ValueError:
        weights = [math.nan]
    if not all(map(math.isfinite, weights)):
        raise DataError(f"--weights must be numbers divided by commas, such as 0.7,0.3, not {text}")
    if len(weights) != models:
        raise DataError(
            f"--weights has {len(weights)} numbers for {models} models; give one for each, in the order of the models"
        )
    return weights


def check_unforced(options: Sequence[str]) -> None:
    """Refuse options of a search for work that makes none.

    Raises:
        DataError: naming them.
    """
    if options:
        raise DataError(f"--force scores outputs and searches for none, so it does not go with {', '.join(options)}")


def check_forced(path: Path, src: Path | None, lines: int | None) -> None:
    """Find out before long work whether there is one output in `path` for each of the lines of `src`.

    Raises:
        DataError: if not.
    """
    from postedit.data.lines import check_aligned, read_lines

    if src is None or lines is None:
        raise DataError("--force needs --src, and regular files: outputs are scored for files of the same lines")
    check_aligned(src, lines, path, sum(1 for _ in read_lines(path)))
