"""Simulate post-editing: an editor corrects a segment, learns from the post-edit of that segment, and goes on.

When the editor corrects a segment, it has learnt only from the segments before it, so the scores are those of the
outputs that a post-editor would have seen.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from postedit.core.editor import Editor
from postedit.core.search_config import SearchConfig
from postedit.evaluate.metrics import AdditiveTER
from postedit.evaluate.repeated_changes import PhrasePlaces, WordChange, errors_at
from postedit.evaluate.ter import EditCount, count_edits, edit_rate, words_of
from postedit.evaluate.tokenisation import Tokenize

_FROZEN_LINES: Final = 500
"""Number of segments that the editor that does not learn edits together."""


class StreamSegment(NamedTuple):
    """One segment of the stream."""

    src: str
    mt: str
    pe: str


HISTORIES: Final = (
    "corrected in this way each time, twice or more",
    "corrected in this way each time, once",
    "corrected in this way half of the times or more",
    "corrected in this way more rarely",
)
"""How often the words of an error had been corrected in the same way in earlier mt of the stream."""


class Repetition(NamedTuple):
    """Numbers of errors of mt that had been corrected before in the stream (`met`), and that an output kept (`left`).

    An error is a change of words between mt and pe; an insertion includes the adjacent words or segment boundaries.
    """

    met: int
    left: int


class RepeatedErrors(NamedTuple):
    """Errors of mt that had been corrected before, by how often that correction had been made.

    Args:
        by_history: the errors of each of HISTORIES, in order.
    """

    by_history: Sequence[Repetition]

    @property
    def all(self) -> Repetition:
        """The sums over all histories."""
        met, left = zip(*self.by_history, strict=True)
        return Repetition(sum(met), sum(left))

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Return plain values for JSON."""
        return {name: one._asdict() for name, one in zip(HISTORIES, self.by_history, strict=True)}


@dataclass(frozen=True, slots=True)
class SimulatedSystem:
    """The results of one system: unedited MT, the editor that does not learn, or the editor that learns.

    Args:
        name: the name of the system.
        counts: the TER edits that each segment of its output needs to become pe.
        changed: how many segments it changed.
        repeated: errors that had been corrected before.
    """

    name: str
    counts: Sequence[EditCount]
    changed: int
    repeated: RepeatedErrors


@dataclass(frozen=True, slots=True)
class Simulation:
    """The course of a simulation.

    Args:
        systems: unedited MT, the editor that does not learn, and the one that does.
        learning: seconds that learning took, for each segment.
        editing: seconds that the editor that learns took to edit, for each segment.
        signature: the TER signature.
    """

    systems: Sequence[SimulatedSystem]
    learning: Sequence[float]
    editing: Sequence[float]
    signature: str

    @property
    def segments(self) -> int:
        """The number of segments."""
        return len(self.learning)

    def cumulative(self, system: SimulatedSystem, until: int) -> float:
        """Return the TER in per cent of the first `until` segments of a system."""
        return edit_rate(system.counts[:until])

    def windows(self, size: int) -> Iterator[tuple[int, list[float]]]:
        """Yield the end of each window of `size` segments, and the TER in per cent of each system in it."""
        for start in range(0, self.segments, size):
            end = min(start + size, self.segments)
            yield end, [edit_rate(system.counts[start:end]) for system in self.systems]

    def to_dict(self, window: int) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "segments": self.segments,
            "signature": self.signature,
            "window": window,
            "windows": [
                {
                    "end": end,
                    "ter": dict(zip((one.name for one in self.systems), rates, strict=True)),
                    "cumulative ter": {one.name: self.cumulative(one, end) for one in self.systems},
                }
                for end, rates in self.windows(window)
            ],
            "systems": [
                {
                    "name": one.name,
                    "ter": edit_rate(one.counts),
                    "changed": one.changed,
                    "repeated errors met": one.repeated.all.met,
                    "repeated errors left": one.repeated.all.left,
                    "repeated errors by history": one.repeated.to_dict(),
                }
                for one in self.systems
            ],
            "seconds of learning": _spread(self.learning),
            "seconds of editing": _spread(self.editing),
        }


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        "median": ordered[len(ordered) // 2],
        "99 %": ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)],
        "most": ordered[-1],
        "sum": sum(ordered),
    }


def simulate(
    editor: Editor,
    stream: Sequence[StreamSegment],
    search: SearchConfig,
    tokenize: Tokenize,
    update: Callable[[int], None] = lambda done: None,
) -> Simulation:
    """Run a simulation and return its course; afterwards the editor has learnt from the whole stream.

    Args:
        editor: an editor that learns.
        stream: segments, in the order in which they are corrected.
        search: the search options.
        tokenize: how texts are divided for scoring.
        update: called with the number of segments done; the stream counts twice, as both editors edit it.

    Raises:
        DataError: if the editor does not learn.
    """
    frozen: list[str] = []
    for start in range(0, len(stream), _FROZEN_LINES):
        part = stream[start : start + _FROZEN_LINES]
        edited = editor.edit([one.src for one in part], [one.mt for one in part], search=search)
        frozen += [one.text for one in edited]
        update(len(frozen))
    learnt: list[str] = []
    editing, learning = [], []
    for one in stream:
        begun = time.perf_counter()
        (edit,) = editor.edit([one.src], [one.mt], search=search)
        edited_at = time.perf_counter()
        editor.learn(*one)
        editing.append(edited_at - begun)
        learning.append(time.perf_counter() - edited_at)
        learnt.append(edit.text)
        update(len(frozen) + len(learnt))
    outputs = {"unedited MT": [one.mt for one in stream], "not learning": frozen, "learning": learnt}
    return Simulation(
        [_system(name, texts, stream, tokenize) for name, texts in outputs.items()],
        learning,
        editing,
        AdditiveTER(tokenize).signature,
    )


def _system(name: str, outputs: Sequence[str], stream: Sequence[StreamSegment], tokenize: Tokenize) -> SimulatedSystem:
    mt, pe = [one.mt for one in stream], [one.pe for one in stream]
    counts = count_edits(outputs, pe, tokenize)
    words = [words_of(texts, tokenize) for texts in (mt, pe, outputs)]
    changed = sum(output != one.mt for output, one in zip(outputs, stream, strict=True))
    return SimulatedSystem(name, counts, changed, repeated_errors(*words))


def repeated_errors(mt: Sequence[list[str]], pe: Sequence[list[str]], outputs: Sequence[list[str]]) -> RepeatedErrors:
    """Count the errors of mt that had been corrected in an earlier segment, and those of them that the outputs keep.

    An output has corrected an error if it makes the same change as pe in that place, and none in adjacent words.
    """
    times: Counter[WordChange] = Counter()
    met, left = ([0] * len(HISTORIES) for _ in range(2))
    all_errors = [errors_at(*texts) for texts in zip(mt, pe, strict=True)]
    segments = Counter(error for errors in all_errors for error in set(errors.values()))
    places = PhrasePlaces(error.old for error, number in segments.items() if number > 1)
    for translation, output, errors in zip(mt, outputs, all_errors, strict=True):
        again = {place: error for place, error in errors.items() if error in times}
        if again:
            made = errors_at(translation, output)
            for place, error in again.items():
                history = _history(times[error], places.counts[error.old])
                met[history] += 1
                left[history] += made.get(place) != error
        times.update(errors.values())
        places.add(translation)
    return RepeatedErrors([Repetition(*one) for one in zip(met, left, strict=True)])


def _history(times: int, places: int) -> int:
    """Return the index in HISTORIES of a correction made `times` times, whose words occurred `places` times in mt."""
    if times >= places:  # equal words that overlap count as one place
        return 0 if times > 1 else 1
    return 2 if 2 * times >= places else 3
