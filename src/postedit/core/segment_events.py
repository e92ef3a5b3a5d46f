"""What can happen to a segment besides its correction, and warnings of it."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from postedit.core.editor import PostEdit

_log = logging.getLogger(__name__)

EVENTS: Final = {
    "cut off": "the output reached the maximum length (search.max_ratio, search.max_extra) and may be cut off",
    "cut input": "only the first search.max_input tokens were read (search.cut_input)",
    "too long": "not edited, because a text is too long (for search.max_input, or the model)",
    "no memory": "not edited, because there is not enough memory, even for the segment alone",
    "impossible": "not edited, because no output was found that satisfies all constraints",
    "damaged": "not edited, because the output was not valid text, or was blank",
    "no answer": "not edited, because the language model gave no answer that can be a correction, even alone",
    "no mt": "no mt, so that the output is empty (a model with a first stage translates src without --mt)",
    "no src": "not edited, because there is no src",
}
"""Descriptions of what can happen to a segment, in the order of the warnings; most keys are values of `Skipped`."""


def events_of(result: "PostEdit") -> list[str]:
    """Return the keys of `EVENTS` that can be told from the correction alone."""
    if result.skipped is not None:
        return [result.skipped]
    return ["cut off"] * result.hit_limit + ["cut input"] * result.input_cut


def warn_of_events(results: Sequence["PostEdit"]) -> None:
    """Log a warning for each kind of event in the corrections that a caller gets, with the number of the first one.

    `Editor.edit` does so. `Editor.edit_segments` does not, as an editor may discard the corrections of those inside it.
    """
    found = [events_of(result) for result in results]
    for event, meaning in EVENTS.items():
        rows = [row for row, events in enumerate(found, start=1) if event in events]
        if rows:
            _log.warning("%d of %d segments (the first is number %d): %s", len(rows), len(results), rows[0], meaning)
