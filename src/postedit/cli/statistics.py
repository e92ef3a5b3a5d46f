"""Corpus statistics as tables and as a figure. matplotlib is imported only when a figure is drawn."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from postedit.cli import shared
from postedit.cli.tables import new_table, percent
from postedit.jobs.corpus_statistics import QUANTILES, SHARED, CorpusStatistics
from postedit.jobs.edit_statistics import KINDS, EditInContext, EditStatistics, bin_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAR: Final = 40
"""Length of the longest bar, in characters."""

_EDITS: Final = 15
"""Number of word edits that fit into the figure."""

_WORD: Final = 16
"""Most letters of a word in the figure; the middle of a longer one is left out."""

_LONGEST: Final = 99
"""Percentile of the lengths at which the axis ends, because the few longest texts would compress the rest."""

_COLOURS: Final = {"src": "#767676", "mt": "#d97b29", "pe": "#2b6cb0"}


def print_statistics(statistics: CorpusStatistics, out: Console, top: int) -> None:
    """Print all tables, with the `top` most frequent edits."""
    out.print(Text(str(statistics.report)), style="dim", soft_wrap=True)
    _print_lengths(statistics, out)
    if statistics.edits is not None:
        _print_edits(statistics.edits, out)
    _print_shared(statistics, out)
    if statistics.edits is not None and top:
        _print_frequent(statistics.edits, out, top)


def _print_lengths(statistics: CorpusStatistics, out: Console) -> None:
    numbers = ["total", "mean", *(f"{percent}%" for percent in QUANTILES), "longest"]
    table = new_table(["length", *numbers], numbers)
    for side, lengths in statistics.lengths.items():
        quantiles = [f"{lengths.quantile(percent)}" for percent in QUANTILES]
        table.add_row(
            _of_side(side, statistics), f"{lengths.words:,}", f"{lengths.mean:.1f}", *quantiles, f"{lengths.longest}"
        )
    out.print(table)


def _of_side(side: str, statistics: CorpusStatistics) -> str:
    """Return the name of a side with the unit of its lengths."""
    return f"{side}, {'characters' if side != 'src' and statistics.tokenize == 'characters' else 'words'}"


def _print_edits(edits: EditStatistics, out: Console) -> None:
    total, most = max(1, sum(edits.bins)), max(1, *edits.bins)
    table = new_table(["sentence TER", "triplets", "%", ""], ["triplets", "%"])
    for name, count in zip(bin_names(), edits.bins):
        table.add_row(name, f"{count:,}", percent(count, total), "█" * round(_BAR * count / most))
    out.print(table)
    out.print(f"TER {edits.ter:.2f}; unchanged {edits.unchanged:,} ({percent(edits.unchanged, total)} %)")
    out.print(f"TER: {edits.signature}", style="dim", soft_wrap=True, markup=False)
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
        cells = [_count_and_share(statistics.repeated[kind], statistics.triplets)]
        for overlap in statistics.overlaps.values():
            cells += [
                _count_and_share(overlap.here[kind], statistics.triplets),
                _count_and_share(overlap.there[kind], overlap.triplets),
            ]
        table.add_row(kind, *cells)
    out.print(table)
    out.print("nearly: except for case, numbers and punctuation", style="dim")


def _print_frequent(edits: EditStatistics, out: Console, top: int) -> None:
    table = new_table(["times", "mt", "pe", "most frequent contexts"], ["times"])
    for one in edits.most_frequent(top):
        words = [Text(word or "∅", "" if word else "dim") for word in one.edit]
        table.add_row(f"{one.count:,}", *words, Text("   ").join(map(_context, one.contexts)))
    out.print(table)
    if edits.words.missing:
        out.print(f"the numbers may be too low by up to {edits.words.missing:,}", style="dim")


def _context(edit: EditInContext) -> Text:
    left, right = (f"{edit.left} " if edit.left else "", f" {edit.right}" if edit.right else "")
    return Text.assemble((left, "dim"), (edit.new or "∅", "bold"), (right, "dim"))


def _count_and_share(count: int, total: int) -> str:
    return f"{count:,} ({percent(count, total)} %)"


def draw(statistics: CorpusStatistics, path: Path, title: str) -> None:
    """Draw lengths and, for triplets, a histogram of TER, the kinds of edits and the most frequent edits."""
    from postedit.explain.figure import drawable, drawing, label_of, missing_characters, save_figure

    edits = statistics.edits
    frequent = [] if edits is None else edits.most_frequent(_EDITS)
    names = [" → ".join(label_of(word or "∅", _WORD) for word in one.edit) for one in frequent]
    with drawing({"axes.spines.top": False, "axes.spines.right": False}):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(12, 4) if edits is None else (12, 8.5), layout="constrained")
        figure.suptitle(drawable(title))
        if edits is None:
            _draw_lengths(figure.subplots(), statistics)
        else:
            axes = figure.subplots(2, 2)
            _draw_lengths(axes[0, 0], statistics)
            _draw_histogram(axes[0, 1], edits)
            _draw_bars(axes[1, 0], KINDS, [edits.kinds[kind] for kind in KINDS], max(1, edits.kinds.total()) / 100)
            axes[1, 0].set(title="Kinds of edits", xlabel="% of edits")
            _draw_bars(axes[1, 1], names, [one.count for one in frequent], 1)
            axes[1, 1].set(title="Most frequent edits", xlabel="times")
        save_figure(figure, path)
    missing = missing_characters(names)
    if missing:
        shared.warn(f"no font here has {''.join(sorted(missing))[:40]}: {path} shows boxes")


def _draw_lengths(axes: "Axes", statistics: CorpusStatistics) -> None:
    longest = max(lengths.quantile(_LONGEST) for lengths in statistics.lengths.values())
    for side, lengths in statistics.lengths.items():
        total = max(1, lengths.counts.total())
        percents = [100 * lengths.counts[length] / total for length in range(longest + 1)]
        axes.plot(range(longest + 1), percents, label=_of_side(side, statistics), color=_COLOURS[side])
    axes.set(title="Length", xlabel="words or characters", ylabel="% of texts", xlim=(0, max(1, longest)))
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)


def _draw_histogram(axes: "Axes", edits: EditStatistics) -> None:
    total = max(1, sum(edits.bins))
    names = bin_names()
    indices = range(len(names))
    bars = axes.bar(indices, [100 * count / total for count in edits.bins], color=_COLOURS["pe"], width=0.9)
    bars[0].set_color(_COLOURS["mt"])
    axes.set_xticks(indices, names, rotation=90)
    axes.set(title=f"Sentence TER (corpus TER {edits.ter:.1f})", ylabel="% of triplets")
    parts = edits.signature.split("|")
    half = (len(parts) + 1) // 2  # on one line, the signature would be wider than its half of the figure
    axes.set_xlabel(f"TER {'|'.join(parts[:half])}|\n{'|'.join(parts[half:])}", fontsize="small")


def _draw_bars(axes: "Axes", names: Sequence[str], counts: Sequence[int], total: float) -> None:
    bars = axes.barh(range(len(names)), [count / total for count in counts], color=_COLOURS["pe"])
    axes.bar_label(bars, [f"{count:,}" for count in counts], padding=3)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.margins(x=0.15)
