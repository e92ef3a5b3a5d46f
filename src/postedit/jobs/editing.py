"""Edit lines in windows, in one or several processes: each window is sorted by length, edited in batches, reordered."""

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice, repeat
from typing import Any, Final, Literal, NamedTuple

from rich.console import Console
from rich.text import Text

from postedit.core.arguments import python_value
from postedit.core.editor import Editor, PostEdit
from postedit.core.errors import DataError, OutputError, StoppedError
from postedit.core.processes import WorkerError
from postedit.core.search_config import SearchConfig
from postedit.core.segment_events import EVENTS, events_of
from postedit.core.wording import counted
from postedit.data.line_sinks import LineSink
from postedit.jobs.editor_spec import EditorSpec

OutputFormat = Literal["text", "jsonl"]
"""Format of an output line: the text alone, or a JSON object."""

_LISTED: Final = 10
"""Maximum number of line numbers in a warning."""

_SMALLEST: Final = 1000
"""Minimum lines of a window: enough to sort by length, few enough to lose little when interrupted."""

_BATCHES: Final = 8
_TOKENS_PER_LINE: Final = 25
"""A window holds at least `_BATCHES` batches of lines of this usual length, so that most batches are full."""


@dataclass(slots=True)
class Tally:
    """Counts of what happened to some lines: `events` by key of `EVENTS`, with the `first` line numbers of each."""

    lines: int = 0
    changed: int = 0
    reverted: int = 0
    fallbacks: Counter[str] = field(default_factory=Counter)  # protected spans saved, by kind
    unsaved: int = 0  # protected spans lost, as there was no mt to fall back to
    events: Counter[str] = field(default_factory=Counter)
    first: dict[str, list[int]] = field(default_factory=dict)

    def add(self, other: "Tally") -> None:
        """Add the counts of later lines."""
        self.lines += other.lines
        self.changed += other.changed
        self.reverted += other.reverted
        self.fallbacks.update(other.fallbacks)
        self.unsaved += other.unsaved
        self.events.update(other.events)
        for event, numbers in other.first.items():
            self.first[event] = (self.first.get(event, []) + numbers)[:_LISTED]

    def add_events(self, line: int, events: Iterable[str]) -> None:
        """Add what happened to a later line, by keys of `EVENTS`."""
        for event in events:
            self.add(Tally(events=Counter([event]), first={event: [line]}))

    def warnings(self) -> Iterator[str]:
        """Yield one sentence for each kind of event that occurred."""
        for event, meaning in EVENTS.items():
            if count := self.events[event]:
                numbers = ", ".join(f"{line:,}" for line in self.first[event])
                more = f", ... ({count:,} lines)" if count > len(self.first[event]) else ""
                yield f"line{'s' if count > 1 else ''} {numbers}{more}: {meaning}"


class Pair(NamedTuple):
    """One line of input; mt is empty if none was given, and None for a unit of a translation file without a target."""

    src: str
    mt: str | None


@dataclass(frozen=True, slots=True)
class Window:
    """Consecutive input lines from number `first` on; if `outputs` are given, they are scored and nothing is edited."""

    first: int
    src: Sequence[str]
    mt: Sequence[str | None] | None
    outputs: Sequence[str] | None = None

    def __str__(self) -> str:
        """Return the range of line numbers, in words."""
        return f"lines {self.first:,} to {self.first + len(self.src) - 1:,}"


class Edited(NamedTuple):
    """The lines written for a window, and what happened to them."""

    lines: Sequence[str]
    tally: Tally


def edit_window(editor: Editor, search: SearchConfig | None, form: OutputFormat, window: Window) -> Edited:
    """Edit the lines of a window, or score its outputs if it has any."""
    if window.outputs is None:
        results = editor.edit(window.src, window.mt, search=search)
    else:
        results = editor.score(window.src, window.mt, window.outputs)
    listed = [fallback for one in results for fallback in one.fallbacks]
    tally = Tally(
        len(results),
        sum(one.changed for one in results),
        sum(one.reverted for one in results),
        Counter(fallback.kind for fallback in listed if fallback.by is not None),
        sum(fallback.by is None for fallback in listed),
    )
    for row, result in enumerate(results):
        tally.add_events(window.first + row, _events(window, row, result))
    lines = [one.text if form == "text" else _json(one) for one in results]
    return Edited(lines, tally)


def window_worker(
    spec: EditorSpec,
    devices: Sequence[str | None],
    search: SearchConfig,
    form: OutputFormat,
    on_start: Callable[[], None],
    number: int,
) -> Callable[[Window], Edited]:
    """Load an editor in worker `number`, on its device of `devices`, and return a function that edits windows with it.

    Workers that are given several devices are processes on one machine and share its cores; each worker of a cluster
    is given one device, the default (None) of its machine. Worker 0 calls `on_start` before it loads the editor.
    """
    import torch

    torch.set_num_threads(max(1, torch.get_num_threads() // len(devices)))
    silence_library()
    if number == 0:
        on_start()
    return partial(edit_window, spec.load(devices[number % len(devices)]), search, form)


def window_lines(batch_tokens: int) -> int:
    """Return the default number of lines of a window, for batches of `batch_tokens` tokens."""
    return max(_SMALLEST, _BATCHES * batch_tokens // _TOKENS_PER_LINE)


def windows_of(
    pairs: Iterator[Pair], outputs: Iterator[str] | None, size: int, first: int, *, with_mt: bool
) -> Iterator[Window]:
    """Divide pairs of lines, the first of which has the number `first`, and their given outputs into windows.

    Lines read before an error in the input are yielded before it is raised.
    """
    error: DataError | None = None
    while error is None:
        chunk: list[Pair] = []
        try:
            chunk.extend(islice(pairs, size))
        except DataError as found:
            error = found
        if chunk:
            mt = [pair.mt for pair in chunk] if with_mt else None
            given = None if outputs is None else list(islice(outputs, len(chunk)))
            yield Window(first, [pair.src for pair in chunk], mt, given)
            first += len(chunk)
        elif error is None:
            return
    raise error


def check_sides(windows: Iterator[Window], editor: Editor, err: Console) -> Iterator[Window]:
    """Return the windows; warn if the first one has line ends other than LF, or src and mt that seem swapped."""
    first = next(windows, None)
    if first is None:
        return windows
    for side, texts in (("src", first.src), ("mt", first.mt or ())):
        if any(text is not None and "\r" in text[:-1] for text in texts):
            _warn(f"lines of {side} contain CR, which does not end a line; end lines with LF instead", err)
        elif any(text is not None and text.endswith("\r") for text in texts):
            _warn(f"lines of {side} end in CR LF (Windows line ends); the CR counts as white space", err)
    if first.mt is not None and editor.seem_swapped(first.src, [text or "" for text in first.mt]):
        _warn(
            "src and mt seem to be swapped: in the first lines, src reads like the translation and mt like its source",
            err,
        )
    return chain([first], windows)


def write_edited(
    edited: Generator[Edited, None, None],
    sink: LineSink,
    total: int | None,
    err: Console,
    *,
    resumable: bool,
    what: Literal["lines", "units"] = "lines",
) -> None:
    """Write windows as they are edited, and report what happened to their lines, even when interrupted.

    For units of translation files only progress is shown: their report follows when the files are written.

    Raises:
        DataError: if the number of lines written is not `total`, unless that is None (not known).
        OutputError, WorkerError, StoppedError, KeyboardInterrupt: with a message that says how to continue.
    """
    from postedit.progress import LineProgress

    tally, started, before = Tally(), time.monotonic(), sink.done
    hint = "; the same command with --resume continues after them" if resumable else ""
    try:
        with LineProgress(err, total, what) as progress, closing(edited):
            progress.update(sink.done)
            for window in edited:
                sink.write(window.lines)
                tally.add(window.tally)
                progress.update(sink.done)
    except KeyboardInterrupt:
        if what == "lines":
            _warn_of_events(tally, err)
        of = "" if total is None else f" of {total:,}"
        raise KeyboardInterrupt(f"stopped after {sink.done:,}{of} {what}{sink.kept}{hint}") from None
    except (OutputError, WorkerError, StoppedError) as error:
        if what == "lines":
            _warn_of_events(tally, err)
        raise type(error)(f"{error}; {sink.done:,} {what} are done{sink.kept}{hint}") from None
    if total is not None and sink.done != total:
        raise DataError(f"{sink.done:,} {what} written for {total:,} read: the input changed during the work")
    rate = tally.lines / max(time.monotonic() - started, 1e-9)
    if what == "units":
        return
    reverted = f", {counted(tally.reverted, 'edit')} reverted" if tally.reverted else ""
    earlier = f" (without {counted(before, 'line')} of an earlier run)" if before else ""
    err.print(f"{counted(tally.lines, 'line')}{earlier}, {tally.changed:,} changed{reverted}, {rate:,.1f} lines/s")
    if tally.fallbacks:
        err.print(kept_spans(tally.fallbacks), soft_wrap=True, highlight=False)
    _warn_of_events(tally, err)


def kept_spans(kinds: Counter[str]) -> str:
    """Return a sentence that counts the restored protected spans by kind."""
    counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    return f"protected spans restored: {counts}"


def _warn_of_events(tally: Tally, err: Console) -> None:
    for warning in tally.warnings():
        _warn(warning, err)
    if tally.unsaved:
        _warn(f"{tally.unsaved:,} protected spans differ from the source in translations without mt to keep", err)


def _warn(message: str, err: Console) -> None:
    err.print(Text.assemble(("warning:", "yellow"), f" {message}"), soft_wrap=True)


def silence_library() -> None:
    """Silence library warnings: `Tally` summarises them over all windows."""
    logging.getLogger("postedit").setLevel(logging.ERROR)


def _events(window: Window, row: int, result: PostEdit) -> list[str]:
    """Return the keys of `EVENTS` that apply to one line; a line without any text has none."""
    if result.skipped != "empty":
        return events_of(result)
    mt = ((window.mt[row] if window.mt is not None else None) or "").strip()
    if window.mt is None or not (mt or window.src[row].strip()):
        return []
    return ["no src" if mt else "no mt"]


def edit_records(result: PostEdit) -> list[dict[str, Any]]:
    """Return the edits of a correction as plain values for JSON."""
    return [
        {"op": edit.op, "mt_span": edit.mt_span, "pe_span": edit.pe_span, "confidence": confidence}
        for edit, confidence in zip(result.edits, result.confidences or repeat(None))
    ]


def _json(result: PostEdit) -> str:
    return json.dumps(_record(result), ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """Return a number of NumPy or PyTorch, which editors of the user's own may give, as one of Python."""
    found = python_value(value)
    if found is value:
        raise DataError(f"the editor returned {value!r:.80} where a number is expected")
    return found


def _record(result: PostEdit) -> dict[str, Any]:
    record: dict[str, Any] = {
        "text": result.text,
        "changed": result.changed,
        "score": result.score,
        "token_scores": result.token_scores,
        "edits": edit_records(result),
        "reverted": result.reverted,
        "hit_limit": result.hit_limit,
        "skipped": result.skipped,
    }
    if result.input_cut:
        record["input_cut"] = True
    if result.fallbacks:
        record["fallbacks"] = [{"kind": one.kind, "value": one.value, "by": one.by} for one in result.fallbacks]
    if result.features is not None:
        record["features"] = dict(result.features)
    if result.draft is not None:
        record["draft"] = result.draft
    if result.alternatives:
        record["alternatives"] = [_record(alternative) for alternative in result.alternatives]
    return record
