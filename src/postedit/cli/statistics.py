"""Statistics of triplets as tables."""

from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.text import Text

from postedit.cli.tables import new_table, percent
from postedit.evaluate.ter import ter_signature
from postedit.statistics.corpus import (
    KINDS,
    QUANTILES,
    SHARED,
    CorpusStatistics,
    EditStatistics,
    FrequentEdit,
    column_names,
)
from postedit.statistics.edit_contexts import EditInContext

_BAR: Final = 40
"""Characters of the longest bar."""


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
    total, most = max(1, sum(edits.columns)), max(1, *edits.columns)
    table = new_table(["sentence TER", "triplets", "%", ""], ["triplets", "%"])
    for name, count in zip(column_names(), edits.columns):
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
        columns += [f"stand in {name}", f"of {name} stand here"]
    table = new_table(["same", *columns], columns)
    for kind in SHARED:
        cells = [_of(statistics.repeated[kind], statistics.triplets)]
        for overlap in statistics.overlaps.values():
            cells += [_of(overlap.here[kind], statistics.triplets), _of(overlap.there[kind], overlap.triplets)]
        table.add_row(kind, *cells)
    out.print(table)
    out.print("nearly: but for case, numbers and punctuation", style="dim")


def _print_frequent(edits: EditStatistics, out: Console, top: int) -> None:
    table = new_table(["times", "mt", "pe", "most often in"], ["times"])
    for one in edits.most_frequent(top):
        words = [Text(word or "∅", "" if word else "dim") for word in one.edit]
        table.add_row(f"{one.count:,}", *words, _contexts(one))
    out.print(table)
    if edits.words.missing:
        out.print(f"the numbers may be too low by up to {edits.words.missing:,}", style="dim")


def _contexts(one: FrequentEdit) -> Text:
    return Text("   ").join(_context(place) for place in one.contexts)


def _context(place: EditInContext) -> Text:
    parts: Iterable[tuple[str, str]] = [
        (f"{place.left} " if place.left else "", "dim"),
        (place.new or "∅", "bold"),
        (f" {place.right}" if place.right else "", "dim"),
    ]
    return Text.assemble(*parts)


def _of(count: int, total: int) -> str:
    return f"{count:,} ({percent(count, total)} %)"
