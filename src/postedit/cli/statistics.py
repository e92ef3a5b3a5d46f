"""Corpus statistics as tables, and as a figure. matplotlib is imported only when a figure is drawn."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer
from rich.console import Console
from rich.text import Text

from postedit.cli.tables import new_table, percent
from postedit.core.errors import OutputError
from postedit.core.files import atomic_write
from postedit.evaluate.ter import ter_signature
from postedit.jobs.corpus_statistics import QUANTILES, SHARED, CorpusStatistics
from postedit.jobs.edit_statistics import KINDS, EditInContext, EditStatistics, FrequentEdit, bin_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAR: Final = 40
"""Characters of the longest bar."""

FORMATS: Final = (".png", ".svg", ".pdf")

_EDITS: Final = 15
"""Word edits that fit into the figure."""

_LONGEST: Final = 99
"""Percentile of the lengths at which the figure ends; the few longest texts would compress the rest."""

_COLOURS: Final = {"src": "#767676", "mt": "#d97b29", "pe": "#2b6cb0"}


def print_statistics(statistics: CorpusStatistics, out: Console, top: int) -> None:
    """Print all tables, with the `top` most frequent edits."""
    out.print(Text(str(statistics.report)), style="dim", soft_wrap=True)
    _print_lengths(statistics, out)
    if statistics.edits is not None:
        _print_ter(statistics.edits, out)
        _print_kinds(statistics.edits, out)
    _print_shared(statistics, out)
    if statistics.edits is not None and top:
        _print_frequent(statistics.edits, out, top)


def _print_lengths(statistics: CorpusStatistics, out: Console) -> None:
    numbers = ["words", "mean", *(f"{percent}%" for percent in QUANTILES), "longest"]
    table = new_table(["length", *numbers], numbers)
    for side, lengths in statistics.lengths.items():
        quantiles = [f"{lengths.quantile(percent)}" for percent in QUANTILES]
        mean, longest = lengths.words / max(1, lengths.texts), max(lengths.counts, default=0)
        table.add_row(side, f"{lengths.words:,}", f"{mean:.1f}", *quantiles, f"{longest}")
    out.print(table)


def _print_ter(edits: EditStatistics, out: Console) -> None:
    total, most = max(1, sum(edits.bins)), max(1, *edits.bins)
    table = new_table(["sentence TER", "triplets", "%", ""], ["triplets", "%"])
    for name, count in zip(bin_names(), edits.bins):
        table.add_row(name, f"{count:,}", percent(count, total), "█" * round(_BAR * count / most))
    out.print(table)
    out.print(f"TER {edits.ter:.2f}; unchanged {edits.unchanged:,} ({percent(edits.unchanged, total)} %)")
    out.print(f"TER: {ter_signature()}", style="dim", soft_wrap=True, markup=False)


def _print_kinds(edits: EditStatistics, out: Console) -> None:
    table = new_table(["edits", "number", "%"], ["number", "%"])
    for kind in KINDS:
        table.add_row(kind, f"{edits.kinds[kind]:,}", percent(edits.kinds[kind], edits.kinds.total()))
    out.print(table)


def _print_shared(statistics: CorpusStatistics, out: Console) -> None:
    columns = ["repeat an earlier one"]
    for name in statistics.overlaps:
        columns += [f"are in {name}", f"of {name} are here"]
    table = new_table(["same", *columns], columns)
    for kind in SHARED:
        cells = [_of(statistics.repeated[kind], statistics.triplets)]
        for overlap in statistics.overlaps.values():
            cells += [_of(overlap.here[kind], statistics.triplets), _of(overlap.there[kind], overlap.triplets)]
        table.add_row(kind, *cells)
    out.print(table)
    out.print("nearly: except for case, numbers and punctuation", style="dim")


def _print_frequent(edits: EditStatistics, out: Console, top: int) -> None:
    table = new_table(["times", "mt", "pe", "most frequent contexts"], ["times"])
    for one in edits.most_frequent(top):
        words = [Text(word or "∅", "" if word else "dim") for word in one.edit]
        table.add_row(f"{one.count:,}", *words, _contexts(one))
    out.print(table)
    if edits.words.missing:
        out.print(f"the numbers may be too low by up to {edits.words.missing:,}", style="dim")


def _contexts(one: FrequentEdit) -> Text:
    return Text("   ").join(_context(edit) for edit in one.contexts)


def _context(edit: EditInContext) -> Text:
    parts: Iterable[tuple[str, str]] = [
        (f"{edit.left} " if edit.left else "", "dim"),
        (edit.new or "∅", "bold"),
        (f" {edit.right}" if edit.right else "", "dim"),
    ]
    return Text.assemble(*parts)


def _of(count: int, total: int) -> str:
    return f"{count:,} ({percent(count, total)} %)"


def check_picture(path: Path) -> None:
    """Check that a figure can have the name `path`.

    Raises:
        OutputError: if its suffix is not one of `FORMATS`.
    """
    if path.suffix not in FORMATS:
        raise OutputError(f"{path}: the name of a picture must end in {', '.join(FORMATS)}")


def draw(statistics: CorpusStatistics, path: Path, title: str) -> None:
    """Draw lengths, and for triplets the histogram of TER, the kinds of edits and the most frequent ones.

    Raises:
        OutputError: if the figure cannot be written.
    """
    from matplotlib.figure import Figure

    from postedit.explain.figure import drawing, missing_characters

    with drawing({"axes.spines.top": False, "axes.spines.right": False}):
        edits = statistics.edits
        figure = Figure(figsize=(12, 4) if edits is None else (12, 8.5), layout="constrained")
        figure.suptitle(title)
        if edits is None:
            _draw_lengths(figure.subplots(), statistics)
        else:
            axes = figure.subplots(2, 2)
            _draw_lengths(axes[0, 0], statistics)
            _draw_histogram(axes[0, 1], edits)
            _draw_kinds(axes[1, 0], edits)
            _draw_frequent(axes[1, 1], edits.most_frequent(_EDITS))
        metadata: dict[str, Any] = {"Date": None} if path.suffix == ".svg" else {}
        with atomic_write(path, "wb") as file:
            figure.savefig(file, format=path.suffix[1:], dpi=120, metadata=metadata)
    frequent = [] if edits is None else edits.most_frequent(_EDITS)
    missing = missing_characters(text for one in frequent for text in (one.edit.old or "", one.edit.new or ""))
    if missing:
        typer.echo(f"warning: no font here has {''.join(sorted(missing))[:40]}: {path} shows boxes", err=True)


def _draw_lengths(axes: "Axes", statistics: CorpusStatistics) -> None:
    longest = max(lengths.quantile(_LONGEST) for lengths in statistics.lengths.values())
    for side, lengths in statistics.lengths.items():
        percents = [100 * lengths.counts[length] / max(1, lengths.texts) for length in range(longest + 1)]
        axes.plot(range(longest + 1), percents, label=side, color=_COLOURS[side])
    axes.set(title="Length", xlabel="words", ylabel="% of texts", xlim=(0, max(1, longest)))
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)


def _draw_histogram(axes: "Axes", edits: EditStatistics) -> None:
    total = max(1, sum(edits.bins))
    names = bin_names()
    places = range(len(names))
    bars = axes.bar(places, [100 * count / total for count in edits.bins], color=_COLOURS["pe"], width=0.9)
    bars[0].set_color(_COLOURS["mt"])
    axes.set_xticks(places, names, rotation=90)
    axes.set(title=f"Sentence TER (corpus TER {edits.ter:.1f})", ylabel="% of triplets")
    axes.set_xlabel(f"TER {ter_signature()}", fontsize="small")


def _draw_kinds(axes: "Axes", edits: EditStatistics) -> None:
    counts = [edits.kinds[kind] for kind in KINDS]
    total = max(1, sum(counts))
    bars = axes.barh(KINDS, [100 * count / total for count in counts], color=_COLOURS["pe"])
    axes.bar_label(bars, [f"{count:,}" for count in counts], padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set(title="Kinds of edits", xlabel="% of edits")


def _draw_frequent(axes: "Axes", frequent: Sequence[FrequentEdit]) -> None:
    names = [f"{one.edit.old or '∅'} → {one.edit.new or '∅'}" for one in frequent]
    bars = axes.barh(range(len(names)), [one.count for one in frequent], color=_COLOURS["pe"])
    axes.bar_label(bars, [f"{one.count:,}" for one in frequent], padding=3)
    axes.set_yticks(range(len(names)), names, parse_math=False)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set(title="Most frequent edits", xlabel="times")
