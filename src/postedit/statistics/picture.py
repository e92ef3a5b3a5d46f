"""A picture of a corpus. matplotlib is imported when one is drawn, and at no other time."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from postedit.core.errors import OutputError
from postedit.core.files import atomic_write
from postedit.evaluate.ter import ter_signature
from postedit.statistics.corpus import KINDS, CorpusStatistics, EditStatistics, FrequentEdit, column_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS: Final = (".png", ".svg", ".pdf")

_EDITS: Final = 15
"""Word edits shown: what has room."""

_LONGEST: Final = 99
"""Per cent of the texts whose lengths are shown; the few longest would squeeze the others."""

_COLOURS: Final = {"src": "#767676", "mt": "#d97b29", "pe": "#2b6cb0"}


def check_picture(path: Path) -> None:
    """Find out whether there can be a picture of that name.

    Raises:
        OutputError: if its ending is not one of `FORMATS`.
    """
    if path.suffix not in FORMATS:
        raise OutputError(f"{path}: a picture must be called {', '.join(f'*{form}' for form in FORMATS)}")


def draw(statistics: CorpusStatistics, path: Path, title: str) -> None:
    """Draw lengths, and for triplets the histogram of TER, the kinds of edits and the most frequent ones.

    Raises:
        OutputError: if the picture cannot be written.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "postedit"}):
        edits = statistics.edits
        figure = Figure(figsize=(12, 4) if edits is None else (12, 8.5), layout="constrained")
        figure.suptitle(title)
        if edits is None:
            _lengths(figure.subplots(), statistics)
        else:
            axes = figure.subplots(2, 2)
            _lengths(axes[0, 0], statistics)
            _histogram(axes[0, 1], edits)
            _kinds(axes[1, 0], edits)
            _frequent(axes[1, 1], edits.most_frequent(_EDITS))
        metadata: dict[str, Any] = {"Date": None} if path.suffix == ".svg" else {}
        with atomic_write(path, "wb") as file:
            figure.savefig(file, format=path.suffix[1:], dpi=120, metadata=metadata)


def _lengths(axes: "Axes", statistics: CorpusStatistics) -> None:
    longest = max(lengths.quantile(_LONGEST) for lengths in statistics.lengths.values())
    for side, lengths in statistics.lengths.items():
        shares = [100 * lengths.counts[length] / max(1, lengths.texts) for length in range(longest + 1)]
        axes.plot(range(longest + 1), shares, label=side, color=_COLOURS[side])
    axes.set(title="Length", xlabel="words", ylabel="% of texts", xlim=(0, max(1, longest)))
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)


def _histogram(axes: "Axes", edits: EditStatistics) -> None:
    total = max(1, sum(edits.columns))
    names = column_names()
    places = range(len(names))
    bars = axes.bar(places, [100 * count / total for count in edits.columns], color=_COLOURS["pe"], width=0.9)
    bars[0].set_color(_COLOURS["mt"])
    axes.set_xticks(places, names, rotation=90)
    axes.set(title=f"TER of sentences (all together {edits.ter:.1f})", ylabel="% of triplets")
    axes.set_xlabel(f"TER {ter_signature()}", fontsize="small")


def _kinds(axes: "Axes", edits: EditStatistics) -> None:
    counts = [edits.kinds[kind] for kind in KINDS]
    total = max(1, sum(counts))
    bars = axes.barh(KINDS, [100 * count / total for count in counts], color=_COLOURS["pe"])
    axes.bar_label(bars, [f"{count:,}" for count in counts], padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set(title="Kinds of edits", xlabel="% of edits")


def _frequent(axes: "Axes", frequent: Sequence[FrequentEdit]) -> None:
    names = [f"{_shown(one.edit.old)} → {_shown(one.edit.new)}" for one in frequent]
    bars = axes.barh(range(len(names)), [one.count for one in frequent], color=_COLOURS["pe"])
    axes.bar_label(bars, [f"{one.count:,}" for one in frequent], padding=3)
    axes.set_yticks(range(len(names)), names, parse_math=False)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set(title="Most frequent edits", xlabel="times")


def _shown(word: str) -> str:
    return word or "∅"
