"""Simulate post-editing: an editor corrects a segment, sees what the post-editor made of it, learns, and goes on.

When it edits a segment, the editor knows the corrections of the segments before it and no more, so the scores are those
of what a post-editor would have seen.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from postedit.core.editor import Editor
from postedit.core.search_config import SearchConfig
from postedit.evaluate.repeated_changes import PhrasePlaces, WordChange, errors_at
from postedit.evaluate.ter import EditCount, count_edits, edit_rate, split_words, ter_signature

Tokenize = Literal["none", "13a", "characters"]
"""How texts are divided for scores: at spaces; by the rules of Tercom; into characters, for scripts without spaces."""

_FROZEN_LINES: Final = 500
"""Segments edited together by the editor that does not learn."""


class StreamSegment(NamedTuple):
    """One segment of the stream."""

    src: str
    mt: str
    pe: str


HISTORIES: Final = (
    "corrected so each time, twice or more",
    "corrected so each time, once",
    "corrected so half of the times or more",
    "corrected so more rarely",
)
"""What had been done with the words of an error in all earlier mt of the stream."""


class Repetition(NamedTuple):
    """Of the errors of mt that had been corrected before in the stream, how many there were, and how many were left.

    An error is a change of words that pe makes, with the words or ends of the segment beside it if it inserts some.
    """

    met: int
    left: int


class RepeatedErrors(NamedTuple):
    """Errors of mt that had been corrected before, by what had been done with the same words before.

    Args:
        by_history: of each of HISTORIES.
    """

    by_history: Sequence[Repetition]

    @property
    def all(self) -> Repetition:
        """All of them."""
        met, left = zip(*self.by_history, strict=True)
        return Repetition(sum(met), sum(left))

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Return plain values for JSON."""
        return {name: one._asdict() for name, one in zip(HISTORIES, self.by_history, strict=True)}


@dataclass(frozen=True, slots=True)
class SimulatedSystem:
    """What one system did: a system is unedited MT, the editor as it was at first, or the editor that learns.

    Args:
        name: of the system.
        counts: the edits that each segment of its output needs.
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
        learning: seconds that learning from a segment took, for each.
        editing: seconds that editing a segment took, for each.
        signature: of TER.
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
        """Return the TER in per cent of the first segments."""
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
    """Return the course of a simulation; the editor has learnt the stream afterwards.

    Args:
        editor: it must be able to learn.
        stream: segments, in the order in which they are corrected.
        search: options of search.
        tokenize: see `Tokenize`.
        update: called with the number of segments that are done, of twice as many as there are in the stream.

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
        ter_signature(normalise=tokenize == "13a") + (", of characters" if tokenize == "characters" else ""),
    )


def _system(name: str, outputs: Sequence[str], stream: Sequence[StreamSegment], tokenize: Tokenize) -> SimulatedSystem:
    mt, pe, out = (
        [_divided(text, tokenize) for text in texts]
        for texts in ([one.mt for one in stream], [one.pe for one in stream], outputs)
    )
    normalise = tokenize == "13a"
    counts = count_edits(out, pe, normalise=normalise)
    words = [split_words(texts, normalise=normalise) for texts in (mt, pe, out)]
    changed = sum(output != one.mt for output, one in zip(outputs, stream, strict=True))
    return SimulatedSystem(name, counts, changed, repeated_errors(*words))


def _divided(text: str, tokenize: Tokenize) -> str:
    return " ".join("".join(text.split())) if tokenize == "characters" else text


def repeated_errors(mt: Sequence[list[str]], pe: Sequence[list[str]], outputs: Sequence[list[str]]) -> RepeatedErrors:
    """Return how many errors of mt had been corrected in an earlier segment, and how many of those are left.

    An output without an error makes the change of pe in its place, and none in the words beside it.
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
    """Return which of HISTORIES a correction has that was made so many times where its words stood so often."""
    if times >= places:  # equal words that overlap count as one place
        return 0 if times > 1 else 1
    return 2 if 2 * times >= places else 3
