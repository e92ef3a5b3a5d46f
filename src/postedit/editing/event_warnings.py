"""Log warnings of what happened to segments, unless nobody gets the results."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from postedit.core.editor import EVENTS, PostEdit, events_of

_log = logging.getLogger(__name__)

_is_trial: Final = ContextVar("postedit_trial", default=False)


@contextmanager
def trial() -> Iterator[None]:
    """Log no warnings within the block, because its results may be discarded, or are some of a request's."""
    token = _is_trial.set(True)
    try:
        yield
    finally:
        _is_trial.reset(token)


def warn(results: Sequence[PostEdit | None]) -> None:
    """Log a warning for each kind of result that its reader should know about; None: already warned of."""
    if _is_trial.get():
        return
    for event, meaning in EVENTS.items():
        found = [result is not None and event in events_of(result) for result in results]
        if any(found):
            first = found.index(True) + 1
            _log.warning("%d of %d segments, first number %d: %s", sum(found), len(results), first, meaning)
