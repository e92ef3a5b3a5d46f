"""`postedit edit` in windows: some lines that are sorted by length, edited in batches, and put in order again."""

import json
import logging
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from postedit.cli.combining import Averaging
from postedit.cli.compile_notice import show_compiling
from postedit.cli.lines import Pair, chunked
from postedit.cli.searching import SearchOptions
from postedit.core.errors import DataError
from postedit.core.processes import map_in_processes

if TYPE_CHECKING:
    from postedit.editor import PostEdit, PostEditor
    from postedit.gate import Gate
    from postedit.recipe import DecodeConfig
    from postedit.search.config import SearchSettings

_LISTED: Final = 10
"""Lines whose numbers a warning names."""

_SMALLEST: Final = 1000
"""Lines of a window: enough to sort by length, few enough to lose little when interrupted."""

_BATCHES: Final = 8
_PIECES_A_LINE: Final = 25
"""A window has some batches, whatever the size of these, so that they are full; with the pieces of a usual line."""


class Format(StrEnum):
    """What is written for each line."""

    text = "text"
    jsonl = "jsonl"


class Dtype(StrEnum):
    """What the weights of a model are."""

    float32 = "float32"
    bf16 = "bf16"
    int8 = "int8"


class Event(Enum):
    """What may happen to a line that its reader should know of: in words, after the number one and after any other."""

    cut = (
        "output reached the maximum length and may be cut off (decode.max_ratio, decode.max_extra in the model's "
        "config.json)",
        "outputs reached the maximum length and may be cut off (decode.max_ratio, decode.max_extra in the model's "
        "config.json)",
    )
    too_long = (
        "line is too long and was left as it is (decode.max_input in the model's config.json)",
        "lines are too long and were left as they are (decode.max_input in the model's config.json)",
    )
    no_memory = (
        "line does not fit into memory, not even alone, and was left as it is",
        "lines do not fit into memory, not even alone, and were left as they are",
    )
    impossible = (
        "line was left as it is, because no output was found that has all that is required, and nothing banned",
        "lines were left as they are, because no output was found that has all that is required, and nothing banned",
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


@dataclass(frozen=True, slots=True)
class Window:
    """Some lines of the input.

    Args:
        first: the number of the first of them, counted from 1.
        src: their sources.
        mt: their translations, None if they are not read.
        outputs: what is to be scored in place of writing anything, if that is asked for.
    """

    first: int
    src: Sequence[str]
    mt: Sequence[str] | None
    outputs: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Edited:
    """What is written for the lines of a window, and what happened to them."""

    lines: Sequence[str]
    tally: Tally


@dataclass(frozen=True, slots=True)
class Settings:
    """How lines are edited and written; see the options of the command."""

    form: Format = Format.text
    beam: int | None = None
    n_best: int = 1
    batch_tokens: int | None = None
    search: SearchOptions = field(default_factory=SearchOptions)
    gate: "Gate | None" = None
    min_confidence: float = 0.0

    def over(self, decode: "DecodeConfig") -> "SearchSettings":
        """Return how a model that has these settings of its own is to search.

        Raises:
            DataError: if an option is out of range.
        """
        settings = self.search.over(decode.search())
        return replace(settings, beam=self.beam or settings.beam, n_best=self.n_best)


@dataclass(frozen=True, slots=True)
class WindowEditor:
    """Edits windows with a model that is loaded."""

    editor: "PostEditor"
    settings: Settings

    def __call__(self, window: Window) -> Edited:
        """Return what is written for a window."""
        results = self._results(window)
        changed, reverted = sum(one.changed for one in results), sum(one.reverted for one in results)
        tally = Tally(len(results), changed, reverted)
        for row, result in enumerate(results):
            event = _event(window, row, result)
            if event:
                tally.note(event, window.first + row)
        return Edited([to_line(result, self.settings.form) for result in results], tally)

    def _results(self, window: Window) -> list["PostEdit"]:
        how = self.settings
        if window.outputs is not None:
            return self.editor.score(window.src, window.mt, window.outputs, batch_tokens=how.batch_tokens)
        return self.editor.edit(
            window.src,
            window.mt,
            search=how.over(self.editor.decode),
            batch_tokens=how.batch_tokens,
            gate=how.gate,
            min_confidence=how.min_confidence,
        )


@dataclass(frozen=True, slots=True)
class Loading:
    """What is loaded; see the options of the command."""

    models: Sequence[str]
    dtype: Dtype = Dtype.float32
    weights: Sequence[float] | None = None
    space: Averaging = Averaging.log

    def load(self, device: str | None) -> "PostEditor":
        """Load it on a device, the usual one if none is given."""
        from postedit.editor import PostEditor

        return PostEditor.load(
            *self.models, device=device, dtype=self.dtype.value, weights=self.weights, space=self.space.value
        )


@dataclass(frozen=True, slots=True)
class Workers:
    """Makes a window editor in each of several processes, which share the cores.

    Args:
        loading: what to load.
        places: the device of each process.
        settings: how lines are edited and written.
    """

    loading: Loading
    places: Sequence[str]
    settings: Settings

    def __call__(self, number: int) -> WindowEditor:
        """Load the model in process `number`."""
        import torch

        torch.set_num_threads(max(1, torch.get_num_threads() // len(self.places)))
        quiet()
        if number == 0:  # the others compile the same
            show_compiling()
        return WindowEditor(self.loading.load(self.places[number]), self.settings)

    def map(self, windows: Iterable[Window]) -> Generator[Edited, None, None]:
        """Yield what is written for each window, in order."""
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
    """Return how many lines a window has if nobody says."""
    return max(_SMALLEST, _BATCHES * batch_tokens // _PIECES_A_LINE)


def windows_of(
    pairs: Iterator[Pair], outputs: Iterator[str] | None, size: int, first: int, *, with_mt: bool
) -> Iterator[Window]:
    """Divide pairs of lines, the first of which has the number `first`, and given outputs into windows."""
    for chunk in chunked(pairs, size):
        mt = [pair.mt for pair in chunk] if with_mt else None
        given = None if outputs is None else list(islice(outputs, len(chunk)))
        yield Window(first, [pair.src for pair in chunk], mt, given)
        first += len(chunk)


def to_line(result: "PostEdit", form: Format) -> str:
    """Return what is written for one line of input."""
    return result.text if form is Format.text else json.dumps(_record(result), ensure_ascii=False)


def quiet() -> None:
    """Keep warnings of the library off the screen: they are added up over all windows here."""
    logging.getLogger("postedit").setLevel(logging.ERROR)


_SKIPPED: Final = {"too long": Event.too_long, "no memory": Event.no_memory, "impossible": Event.impossible}


def _event(window: Window, row: int, result: "PostEdit") -> Event | None:
    if result.skipped == "empty":
        if window.mt is None or (not window.src[row].strip() and not window.mt[row].strip()):
            return None  # a blank line is no news
        return Event.no_src if window.mt[row].strip() else Event.no_mt
    if result.skipped is not None:
        return _SKIPPED[result.skipped]
    return Event.cut if result.hit_limit else None


def _record(result: "PostEdit") -> dict[str, Any]:
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
