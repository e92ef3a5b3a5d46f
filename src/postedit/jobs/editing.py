"""Editing lines: in windows that are sorted by length, edited in batches and put in order again; in processes."""

import json
import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from postedit.core.editor import Editor, PostEdit
from postedit.core.errors import DataError
from postedit.core.processes import map_in_processes
from postedit.core.search_config import SearchConfig

_LISTED: Final = 10
"""Lines whose numbers a warning names."""

_SMALLEST: Final = 1000
"""Lines of a window: enough to sort by length, few enough to lose little when interrupted."""

_BATCHES: Final = 8
_TOKENS_A_LINE: Final = 25
"""A window holds several batches, whatever their size, so that they are full; with the tokens of a usual line."""


class OutputFormat(StrEnum):
    """What is written for each line."""

    text = "text"
    jsonl = "jsonl"


class Dtype(StrEnum):
    """Type of the weights of a model."""

    float32 = "float32"
    bf16 = "bf16"
    int8 = "int8"


class Event(Enum):
    """What can happen to a line: a sentence for one line, and one for several."""

    cut = (
        "output reached the maximum length and may be cut off (search.max_ratio, search.max_extra in the model's "
        "config.json)",
        "outputs reached the maximum length and may be cut off (search.max_ratio, search.max_extra in the model's "
        "config.json)",
    )
    too_long = (
        "line is too long and was left as it is (search.max_input in the model's config.json)",
        "lines are too long and were left as they are (search.max_input in the model's config.json)",
    )
    no_memory = (
        "line does not fit into memory, not even alone, and was left as it is",
        "lines do not fit into memory, not even alone, and were left as they are",
    )
    impossible = (
        "line was left as it is, because no output was found that has all that is required, and nothing banned",
        "lines were left as they are, because no output was found that has all that is required, and nothing banned",
    )
    damaged = (
        "line was left as it is, because the output was no valid text",
        "lines were left as they are, because the outputs were no valid text",
    )
    no_mt = (
        "line has no mt and stays empty (to have it translated, run a model with a first stage without --mt)",
        "lines have no mt and stay empty (to have them translated, run a model with a first stage without --mt)",
    )
    no_src = (
        "line has no src to judge mt by and was left as it is",
        "lines have no src to judge mt by and were left as they are",
    )

    def __init__(self, one: str, several: str) -> None:
        self.one, self.several = one, several


@dataclass(slots=True)
class Tally:
    """What happened to some lines.

    Args:
        lines: how many there are.
        changed: how many of them changed.
        reverted: how many edits were taken back.
        events: the number of lines of each event.
        first: the numbers of the first of them.
    """

    lines: int = 0
    changed: int = 0
    reverted: int = 0
    events: dict[Event, int] = field(default_factory=dict)
    first: dict[Event, list[int]] = field(default_factory=dict)

    def note(self, event: Event, line: int) -> None:
        """Add one line to an event."""
        self.add(Tally(events={event: 1}, first={event: [line]}))

    def add(self, other: "Tally") -> None:
        """Add what happened to later lines."""
        self.lines += other.lines
        self.changed += other.changed
        self.reverted += other.reverted
        for event, count in other.events.items():
            self.events[event] = self.events.get(event, 0) + count
            self.first[event] = (self.first.get(event, []) + other.first[event])[:_LISTED]

    def warnings(self) -> Iterator[str]:
        """Yield a sentence for each event that happened."""
        for event in Event:
            count = self.events.get(event, 0)
            if count:
                numbers = ", ".join(f"{line:,}" for line in self.first[event])
                more = ", ..." if count > len(self.first[event]) else ""
                if count == 1:
                    yield f"1 {event.one}: line {numbers}"
                else:
                    yield f"{count:,} {event.several}: lines {numbers}{more}"


class Pair(NamedTuple):
    """One line of input; mt is empty where none is given."""

    src: str
    mt: str


@dataclass(frozen=True, slots=True)
class Window:
    """Some lines of the input.

    Args:
        first: number of the first line, counted from 1.
        src: sources.
        mt: their translations, None if they are not read.
        outputs: given outputs to score; None to edit.
    """

    first: int
    src: Sequence[str]
    mt: Sequence[str] | None
    outputs: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Edited:
    """The lines written for a window, and what happened to them."""

    lines: Sequence[str]
    tally: Tally


@dataclass(frozen=True, slots=True)
class EditorSpec:
    """Everything that a process needs to load an editor.

    Args:
        models: as for `PostEditor.load`.
        dtype: of the weights.
        weights: of the members of an ensemble.
        space: what an ensemble averages.
        gate: file of the gate, if there is one.
        min_confidence: of the edits that are kept.
    """

    models: Sequence[str]
    dtype: Dtype = Dtype.float32
    weights: Sequence[float] | None = None
    space: Literal["log", "probability"] = "log"
    gate: Path | None = None
    min_confidence: float = 0.0

    def load(self, device: str | None) -> Editor:
        """Load the editor on a device, the default one if None.

        Raises:
            ModelFolderError, DataError: if it cannot be loaded.
        """
        from postedit.editing.post_editor import PostEditor

        editor: Editor = PostEditor.load(
            *self.models, device=device, dtype=self.dtype.value, weights=self.weights, space=self.space
        )
        if self.gate is None and not self.min_confidence:
            return editor
        from postedit.gate import Gate, Gated

        return Gated(editor, None if self.gate is None else Gate.load(self.gate), self.min_confidence)


@dataclass(frozen=True, slots=True)
class WindowEditor:
    """Edits or scores windows with a loaded editor."""

    editor: Editor
    search: SearchConfig
    form: OutputFormat

    def __call__(self, window: Window) -> Edited:
        """Return the lines written for a window."""
        if window.outputs is None:
            results = self.editor.edit(window.src, window.mt, search=self.search)
        else:
            results = self.editor.score(window.src, window.mt, window.outputs)
        tally = Tally(len(results), sum(one.changed for one in results), sum(one.reverted for one in results))
        for row, result in enumerate(results):
            event = _event(window, row, result)
            if event:
                tally.note(event, window.first + row)
        return Edited([to_line(result, self.form) for result in results], tally)


@dataclass(frozen=True, slots=True)
class EditorProcesses:
    """Makes a window editor in each of several processes, which share the cores.

    Args:
        spec: what to load.
        places: the device of each process.
        search: search options.
        form: what is written for each line.
        on_start: called first in process 0.
    """

    spec: EditorSpec
    places: Sequence[str]
    search: SearchConfig
    form: OutputFormat
    on_start: Callable[[], None]

    def __call__(self, number: int) -> WindowEditor:
        """Load the editor in process `number`."""
        import torch

        torch.set_num_threads(max(1, torch.get_num_threads() // len(self.places)))
        silence_library()
        if number == 0:
            self.on_start()
        return WindowEditor(self.spec.load(self.places[number]), self.search, self.form)

    def map(self, windows: Iterable[Window]) -> Generator[Edited, None, None]:
        """Yield the edited windows, in order."""
        return map_in_processes(self, windows, len(self.places))


def places_of(workers: int | None, devices: str | None) -> list[str | None]:
    """Return where copies of the model run, each in its own process if there are several; None: on the usual device.

    Raises:
        DataError: if a device is not there.
    """
    if devices is None:
        return [None] if workers is None else ["cpu"] * workers
    if workers is not None:
        raise DataError("give --workers, for processes on the CPU, or --devices, for one process each, but not both")
    names = [name.strip() for name in devices.split(",")]
    for name in names:
        check_device(name, "--devices")
    return [*names]


def check_device(name: str, option: str) -> None:
    """See to it that there is a device of the name that an option has.

    Raises:
        DataError: if not.
    """
    import torch

    try:
        device = torch.device(name)
    except RuntimeError:
        raise DataError(f'{option}: "{name}" is no device; write, for instance, cpu or cuda:0') from None
    if device.type == "cpu":
        return
    if not (torch.accelerator.is_available() and torch.accelerator.current_accelerator() == torch.device(device.type)):
        raise DataError(f'{option}: there is no "{name}" here that PyTorch can use; cpu there is always')
    count = torch.accelerator.device_count()
    if (device.index or 0) >= count:
        raise DataError(f'{option}: there is no "{name}"; there are {count} of its kind, counted from 0')


def window_lines(batch_tokens: int) -> int:
    """Return the default number of lines of a window."""
    return max(_SMALLEST, _BATCHES * batch_tokens // _TOKENS_A_LINE)


def windows_of(
    pairs: Iterator[Pair], outputs: Iterator[str] | None, size: int, first: int, *, with_mt: bool
) -> Iterator[Window]:
    """Divide pairs of lines, the first of which has the number `first`, and given outputs into windows."""
    for chunk in _chunked(pairs, size):
        mt = [pair.mt for pair in chunk] if with_mt else None
        given = None if outputs is None else list(islice(outputs, len(chunk)))
        yield Window(first, [pair.src for pair in chunk], mt, given)
        first += len(chunk)


def _chunked(pairs: Iterator[Pair], size: int) -> Iterator[list[Pair]]:
    """Divide pairs into lists of `size`; lines read before an error in the input are yielded before it is raised."""
    chunk: list[Pair] = []
    try:
        for pair in pairs:
            chunk.append(pair)
            if len(chunk) == size:
                yield chunk
                chunk = []
    except DataError:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk


def to_line(result: PostEdit, form: OutputFormat) -> str:
    """Return what is written for one line of input."""
    return result.text if form is OutputFormat.text else json.dumps(_record(result), ensure_ascii=False)


def silence_library() -> None:
    """Keep warnings of the library off the screen: they are added up over all windows here."""
    logging.getLogger("postedit").setLevel(logging.ERROR)


_SKIPPED: Final = {
    "too long": Event.too_long,
    "no memory": Event.no_memory,
    "impossible": Event.impossible,
    "damaged": Event.damaged,
}


def _event(window: Window, row: int, result: PostEdit) -> Event | None:
    if result.skipped == "empty":
        if window.mt is None or (not window.src[row].strip() and not window.mt[row].strip()):
            return None  # a blank line is no news
        return Event.no_src if window.mt[row].strip() else Event.no_mt
    if result.skipped is not None:
        return _SKIPPED[result.skipped]
    return Event.cut if result.hit_limit else None


def _record(result: PostEdit) -> dict[str, Any]:
    record: dict[str, Any] = {
        "text": result.text,
        "changed": result.changed,
        "score": result.score,
        "token_scores": result.token_scores,
        "edits": [
            {"op": edit.op, "mt_span": edit.mt_span, "pe_span": edit.pe_span, "confidence": confidence}
            for edit, confidence in zip(result.edits, result.confidences, strict=True)
        ],
        "reverted": result.reverted,
        "hit_limit": result.hit_limit,
        "skipped": result.skipped,
    }
    if result.features is not None:
        record["features"] = dict(result.features)
    if result.draft is not None:
        record["draft"] = result.draft
    if result.alternatives:
        record["alternatives"] = [_record(alternative) for alternative in result.alternatives]
    return record
