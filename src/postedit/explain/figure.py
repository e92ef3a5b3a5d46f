"""Figures of the attention of a sentence, as in papers: one row for each word of the output.

matplotlib is imported only when a figure is drawn.
"""

import logging
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from postedit.core.evidence import Evidence
from postedit.core.files import atomic_write
from postedit.explain.attention_views import AttentionPanel, attention_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS: Final = ("png", "svg")

_CELL: Final = 0.26  # inches of a word
_LABELS: Final = 1.5  # inches of the longest labels
_GATES: Final = 1.6  # inches of the copy share bars
_LONGEST: Final = 24  # most letters of a label
_COLOURS: Final[Mapping[str, str]] = {"src": "Blues", "mt": "Oranges"}
_SHARES: Final[Mapping[str, str]] = {"generated": "#767676", "mt": "#d08a1d", "src": "#2f74c0"}

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
"""Characters that XML must not contain, not even escaped."""

_DOTS: Final = 150  # pixels per inch
_WIDEST: Final = 12_000  # most pixels of a side of a PNG, as memory grows with their square; the resolution is reduced

_FAMILIES: Final = (
    "DejaVu Sans", "Noto Sans", "Noto Sans Arabic", "Noto Naskh Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari",
    "Noto Sans Bengali", "Noto Sans Gujarati", "Noto Sans Gurmukhi", "Noto Sans Kannada", "Noto Sans Malayalam",
    "Noto Sans Oriya", "Noto Sans Tamil", "Noto Sans Telugu", "Noto Sans Sinhala", "Noto Sans Thai", "Noto Sans Lao",
    "Noto Sans Khmer", "Noto Sans Myanmar", "Noto Sans Ethiopic", "Noto Sans Georgian", "Noto Sans Armenian",
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Noto Sans SC", "Noto Sans JP", "Noto Sans KR",
    "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "IPAGothic", "Droid Sans Fallback", "Arial Unicode MS", "PingFang SC",
)  # fmt: skip
"""Fonts that are searched for letters, in this order; those that are not installed are skipped."""


def attention_figure(words: Evidence, title: str) -> dict[str, bytes]:
    """Return a figure of the attention and copy shares of a sentence, by format: PNG, and SVG whose text remains text.

    Raises:
        ValueError: if the evidence has no attention.
    """
    shown = attention_panels(words)
    if not shown:
        raise ValueError("the model shows no attention, so there is nothing to draw")
    widths = [_CELL * len(words.streams[panel.stream]) for panel in shown]
    widths += [_GATES] if words.shares else []
    height = _CELL * len(words.output)
    size = (sum(widths) + _LABELS + 0.4 * len(widths), height + _LABELS + 0.8)
    with drawing({"svg.fonttype": "none", "font.size": 9}):
        from matplotlib.figure import Figure  # which may say that it looks for fonts

        figure = Figure(figsize=size, layout="constrained")
        figure.suptitle(drawable(title), x=0.01, ha="left", fontsize=10)
        axes = figure.subplots(1, len(widths), sharey=True, squeeze=False, width_ratios=widths)[0]
        for ax, panel in zip(axes, shown):
            _draw(ax, words, panel)
        if words.shares:
            _draw_shares(axes[-1], words)
        axes[0].set_yticks(range(len(words.output)), [label_of(word) for word in words.output])
        result = {}
        for form in FORMATS:
            metadata: dict[str, Any] = {"Date": None} if form == "svg" else {}
            buffer = BytesIO()
            figure.savefig(buffer, format=form, dpi=min(_DOTS, _WIDEST / max(size)), metadata=metadata)
            result[form] = buffer.getvalue()
        return result


def save_figure(figure: "Figure", path: Path, dpi: int = 120) -> None:
    """Write a figure in the format that the suffix of `path` names.

    Raises:
        OutputError: if the file cannot be written.
    """
    form = path.suffix[1:].lower()
    metadata: dict[str, Any] = {"Date": None} if form == "svg" else {}
    with atomic_write(path, "wb") as file:
        figure.savefig(file, format=form, dpi=dpi, metadata=metadata)


@contextmanager
def drawing(options: Mapping[str, Any]) -> Iterator[None]:
    """Draw with these matplotlib options and with all installed fonts of `_FAMILIES`, which cover many scripts.

    Texts between two dollar signs are drawn as they are, not as TeX. matplotlib's messages, such as one for each
    character without a glyph, are suppressed: see `missing_characters`.
    """
    from matplotlib import rc_context

    with _without_font_messages():
        settings: dict[Any, Any] = {"font.family": _installed(), "svg.hashsalt": "postedit", "text.parse_math": False}
        settings |= options
        with rc_context(settings), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            yield


@contextmanager
def _without_font_messages() -> Iterator[None]:
    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


def missing_characters(texts: Iterable[str]) -> set[str]:
    """Return the characters of texts that no installed font of `_FAMILIES` has; a PNG shows boxes for them."""
    with _without_font_messages():
        from matplotlib import font_manager
        from matplotlib.ft2font import FT2Font

    needed = set("".join(texts))
    for family in _installed():
        if not needed:
            break
        needed -= {chr(code) for code in FT2Font(font_manager.findfont(family)).get_charmap()}
    return {character for character in needed if character.isprintable() and not character.isspace()}


def _installed() -> list[str]:
    from matplotlib import font_manager

    names = set(font_manager.get_font_names())
    return [family for family in _FAMILIES if family in names]


def _draw(ax: "Axes", words: Evidence, panel: AttentionPanel) -> None:
    columns = words.streams[panel.stream]
    ax.imshow(panel.weights, cmap=_COLOURS.get(panel.stream, "Greys"), vmin=0.0, vmax=1.0, aspect="auto")
    ax.set_xticks(range(len(columns)), map(label_of, columns), rotation=60, ha="left", rotation_mode="anchor")
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.set_xlabel(panel.title)
    ax.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(len(words.output) + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="#e4e1d9", linewidth=0.5)
    ax.tick_params(which="minor", length=0)
    if panel.kind == "hard":
        places, rows = panel.weights.argmax(1), range(len(words.output))
        ax.plot(places, rows, color="#23262b", linewidth=1, marker="o", markersize=3)


def _draw_shares(ax: "Axes", words: Evidence) -> None:
    rows, left = np.arange(len(words.output)), np.zeros(len(words.output))
    for name, share in words.shares.items():
        label = name if name == "generated" else f"copied from {name}"
        ax.barh(rows, share, left=left, color=_SHARES.get(name), height=0.8, label=label)
        left = left + share
    ax.set_xlim(0, 1)
    ax.set_xlabel("source of the word")
    ax.tick_params(length=0)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), frameon=False, fontsize=8)


def label_of(word: str, longest: int = _LONGEST) -> str:
    """Return a word as a label of at most `longest` letters (2 or more), so that there is room for what it labels.

    The middle of a longer word is left out: two forms of a long word often differ only at their ends.
    """
    first, last = longest // 2, (longest - 1) // 2
    return drawable(word if len(word) <= longest else f"{word[:first]}…{word[len(word) - last :]}")


def drawable(text: str) -> str:
    """Return `text` without the characters that SVG forbids."""
    return _CONTROLS.sub("\ufffd", text)
