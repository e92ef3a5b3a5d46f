"""Tables and progress for people to read, in a terminal or through a pipe."""

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

if TYPE_CHECKING:
    from postedit.core.evidence import Evidence
    from postedit.data.cleaning.cleaner import CleanReport, CleanStage
    from postedit.evaluate.scores import SystemScores
    from postedit.evaluate.table import Table
    from postedit.explain.explained_sentence import ExplainedSentence
    from postedit.explain.reasons import Citation

_PIPED_WIDTH: Final = 500  # files and pipes have no width; do not fold their lines

_NAMED: Final = 3
"""Largest number of input words, and of runners-up, listed beside a word of an explanation."""

_MIN_SHARE: Final = 0.01
"""Weight or probability below which a word is not listed."""


_STYLES: Final = {"equal": "", "delete": "red strike", "insert": "bold green"}
_MARKS: Final = {"equal": ("", ""), "delete": ("[-", "-]"), "insert": ("{+", "+}")}
"""Marks of `git diff --word-diff`, which show the changes where there is no colour."""


def console(*, stderr: bool = False) -> Console:
    """Return a console without markup. It folds lines at the width of the terminal; without one, it does not fold."""
    stream = sys.stderr if stderr else sys.stdout
    if stream is None:  # the shell has closed it, as by `>&-`
        return Console(file=Path(os.devnull).open("w"), width=_PIPED_WIDTH, highlight=False, markup=False)
    width = None if stream.isatty() else _PIPED_WIDTH
    return Console(stderr=stderr, width=width, highlight=False, markup=False)


def new_table(columns: Sequence[str], numbers: Sequence[str] = ()) -> Grid:
    """Return an empty table; the columns in `numbers` are right-aligned."""
    table = Grid(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    return table


def percent(count: int, total: int) -> str:
    """Return `count` as a percentage of `total` with one decimal; "0.0" if both are 0."""
    return f"{100 * count / max(1, total):.1f}"


def print_table(table: "Table", out: Console) -> None:
    """Print the name, the rows and the note of a table."""
    out.print(table.name, style="bold")
    _print_rows(table, out)


def print_scores(scores: Sequence["SystemScores"], out: Console) -> None:
    """Print one row per system, then the signatures of the scores."""
    from postedit.evaluate.analyses import overview

    _print_rows(overview(scores), out)
    for name, signature in scores[0].signatures.items():
        out.print(f"{name}: {signature}", style="dim", soft_wrap=True, markup=False)


def _print_rows(table: "Table", out: Console) -> None:
    grid = new_table(table.header(), [column.name for column in table.columns])
    for row in table.rows:
        grid.add_row(*map(Text, table.cells(row)))
    out.print(grid)
    if table.note:
        out.print(table.note, style="dim", soft_wrap=True, markup=False)


@contextmanager
def stage_progress(console: Console, total: int) -> "Iterator[Callable[[CleanStage, int], None]]":
    """Yield a function that shows how many of the `total` triplets have passed a stage; each stage has its own bar."""
    from postedit.progress import LineProgress

    shown: dict[CleanStage, LineProgress] = {}
    with ExitStack() as open_bar:

        def update(stage: "CleanStage", done: int) -> None:
            if stage not in shown:
                open_bar.close()
                shown[stage] = open_bar.enter_context(LineProgress(console, total))
                console.print(f"{stage} ...", style="dim")
            shown[stage].update(done)

        yield update


def print_report(report: "CleanReport", out: Console) -> None:
    """Print how many triplets each filter removed, with the first of them as examples."""
    table = new_table(["filter", "removed", "%"], ["removed", "%"])
    for name, taken in report.filters.items():
        table.add_row(name, f"{taken.count:,}", percent(taken.count, report.read))
    out.print(table)
    for name, taken in report.filters.items():
        if taken.examples:
            out.print(Text(f"{name}, for example", style="bold"))
        for one in taken.examples:
            out.print(Text(f"  {one.source}, line {one.line}: {one.detail}"), soft_wrap=True)
            for side, text in one.texts.items():
                out.print(Text(f"    {side:4}{text}", style="dim"), soft_wrap=True)
    share = percent(report.kept, report.read)
    out.print(f"{report.kept:,} of {report.read:,} kept ({share} %), {report.changed:,} of them changed")


def print_explanation(sentence: "ExplainedSentence | None", out: Console) -> None:
    """Print the evidence of one sentence word by word, and the reason for each edit."""
    if sentence is None:
        out.print("Not edited: a text is empty or too long.")
        return
    from postedit.explain.reasons import edit_reasons

    evidence = sentence.named_words()
    out.print(differences(sentence.mt, sentence.output, out), soft_wrap=True)
    if evidence.log_probs:
        _print_words(evidence, out)
    for why in edit_reasons(1, sentence):
        cited = [
            f"{name}: {text[found.span.start : found.span.end]!r} ({100 * found.weight:.0f} %{_loss_in_words(found)})"
            for name, text, found in (("src", sentence.src, why.src), ("mt", sentence.mt, why.mt))
            if found is not None and found.stands_out
        ]
        sure = [] if why.confidence is None else [f"confidence {100 * why.confidence:.0f} %"]
        change, known = f"{why.edit.op} {why.old!r} -> {why.new!r}", ", ".join([*sure, *cited])
        line = f"{change}: {known}" if known else change
        out.print("\n".join([line, *(f"  {text}" for text in why.texts)]), markup=False, soft_wrap=True)


def _loss_in_words(found: "Citation") -> str:
    return "" if found.nats is None else f", {found.nats:.1f} nats"


def _print_words(evidence: "Evidence", out: Console) -> None:
    """Print each word of an output with its probability, what it attended to, and the runners-up."""
    streams = {stream: evidence.over(stream) for stream in ("src", "mt") if stream in evidence.streams}
    shown = {stream: weights for stream, weights in streams.items() if weights is not None}
    grid = new_table(["word", "%", *evidence.shares, *shown, "runners-up"], ["%", *evidence.shares])
    for row, word in enumerate(evidence.output):
        attended = [_strongest(list(zip(evidence.streams[stream], weights[row]))) for stream, weights in shown.items()]
        runners_up = evidence.runners_up[row] if evidence.runners_up else ()
        others = [(one.text, _probability(one.log_prob)) for one in runners_up]
        shares = [f"{100 * share[row]:.0f}" for share in evidence.shares.values()]
        cells = [word, f"{100 * _probability(evidence.log_probs[row]):.0f}", *shares, *attended, _strongest(others)]
        grid.add_row(*map(Text, cells))
    out.print(grid)


def differences(before: str, after: str, out: Console) -> Text:
    """Return the word differences between two texts in colour, with marks as well if `out` shows no colours."""
    return differences_text(word_differences(before.split(), after.split()), marks=out.no_color or not out.is_terminal)


def _probability(log_prob: float) -> float:
    return math.exp(min(0.0, log_prob))


def _strongest(pairs: Sequence[tuple[str, float]]) -> str:
    best = sorted(pairs, key=lambda pair: -pair[1])[:_NAMED]
    return ", ".join(f"{text} {100 * weight:.0f}" for text, weight in best if weight >= _MIN_SHARE)


@dataclass(frozen=True, slots=True)
class Difference:
    """A run of words that are in both versions (`equal`), only in the old (`delete`) or only in the new (`insert`)."""

    op: Literal["equal", "delete", "insert"]
    words: tuple[str, ...]


def word_differences(before: Sequence[str], after: Sequence[str]) -> list[Difference]:
    """Return a shortest edit script from the words `before` to `after`; deletions come before insertions."""
    from rapidfuzz.distance import Levenshtein

    runs: list[Difference] = []
    for code in Levenshtein.opcodes(before, after):
        old, new = tuple(before[code.src_start : code.src_end]), tuple(after[code.dest_start : code.dest_end])
        changed = [Difference("delete", old), Difference("insert", new)]
        runs += [Difference("equal", old)] if code.tag == "equal" else [one for one in changed if one.words]
    return runs


def differences_text(differences: Iterable[Difference], *, marks: bool = False) -> Text:
    """Return the differences as coloured text; if `marks`, changes are also enclosed in `[-...-]` or `{+...+}`."""
    parts = []
    for difference in differences:
        opening, closing = _MARKS[difference.op] if marks else ("", "")
        parts.append(Text(f"{opening}{' '.join(difference.words)}{closing}", style=_STYLES[difference.op]))
    return Text(" ").join(parts)
