"""The parts of `postedit explain`: texts and gold read and checked, analyses made, files written."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from postedit.cli.tables import console, new_table, print_table
from postedit.core.editor import Editor
from postedit.core.errors import DataError
from postedit.core.files import atomic_write, explain_os_errors
from postedit.data.line_sinks import LineSink, open_sink
from postedit.data.lines import check_aligned, read_aligned, read_lines
from postedit.data.resumable_file import file_fingerprint
from postedit.evaluate.alignment import Alignment, format_alignment, parse_alignment
from postedit.evaluate.tags import edit_tags, format_tags, parse_tags
from postedit.explain import focus
from postedit.explain.gold_tables import alignment_table, tag_table
from postedit.explain.links import links, words
from postedit.explain.reasons import Reason, reasons
from postedit.jobs.evidence_test import mask, masking_table
from postedit.jobs.explanation import explain, explain_mt
from postedit.progress import LineProgress, stopped

if TYPE_CHECKING:
    from postedit.evaluate.table import Table
    from postedit.explain.explained_sentence import Reading

_DRAWN: Final = 10
"""Lines drawn where none are named."""

_NAMED: Final = 3
"""Input words and runners-up named beside a word on the terminal."""


@dataclass(frozen=True, slots=True)
class Texts:
    """What is to be explained, line by line; a name to call it by."""

    name: str
    src: list[str]
    mt: list[str] | None
    pe: list[str] | None


def read_texts(src: Path | None, mt: Path | None, pe: Path | None, src_text: str | None, mt_text: str | None) -> Texts:
    """Return the texts of files, or the one sentence on the command line.

    Raises:
        DataError: if both or neither are given, or files have not as many lines.
    """
    if (src is None) == (src_text is None):
        raise DataError("give either files, --src and --mt, or one sentence, --src-text and --mt-text")
    if src is None:
        if mt is not None or pe is not None:
            raise DataError("--mt and --pe are files that go with --src; give the translation itself by --mt-text")
        return Texts("one sentence", [src_text or ""], None if mt_text is None else [mt_text], None)
    if mt_text is not None:
        raise DataError("--mt-text goes with --src-text; give the file of translations by --mt")
    lines = read_aligned(src, *filter(None, (mt, pe)))
    return Texts(src.name, lines[src], None if mt is None else lines[mt], None if pe is None else lines[pe])


def parse_lines(text: str | None, count: int) -> list[int]:
    """Return line numbers, from 1, that an option such as "3,8-10" names.

    Raises:
        DataError: if it names none, or lines that there are not.
    """
    if text is None:
        return list(range(1, min(count, _DRAWN) + 1))
    result: dict[int, None] = {}
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not (first.isascii() and first.isdigit() and (last or first).isascii() and (last or first).isdigit()):
            raise DataError(f'--lines: "{part:.40}" is no line number and no range; write for example 3,8-10')
        if not 1 <= int(first) <= int(last or first) <= count:
            raise DataError(f"--lines: {part.strip():.40} is not within 1-{count:,}, the lines there are")
        result.update(dict.fromkeys(range(int(first), int(last or first) + 1)))
    return list(result)


def read_links(path: Path | None, texts: Texts) -> list[Alignment] | None:
    """Return gold alignments of src and mt.

    Raises:
        DataError: if a line has something else, or links words that there are not, or lines are missing.
    """
    if path is None or texts.mt is None:
        return None
    result = []
    for number, line in enumerate(_gold(path, texts), start=1):
        found = parse_alignment(line, f"{path}, line {number}")
        sizes = len(words(texts.src[number - 1])), len(words(texts.mt[number - 1]))
        wrong = next((link for link in sorted(found) if link.source >= sizes[0] or link.target >= sizes[1]), None)
        if wrong is not None:
            raise DataError(
                f"{path}, line {number}: {wrong} links words that are not there: src has {sizes[0]} words and mt "
                f"{sizes[1]}, counted from 0; these are not the alignments of these texts"
            )
        result.append(found)
    return result


def read_tags(path: Path | None, texts: Texts) -> list[list[bool]] | None:
    """Return gold tags of mt.

    Raises:
        DataError: if a line has other than the tags of its mt, or lines are missing.
    """
    if path is None or texts.mt is None:
        return None
    lines = zip(_gold(path, texts), texts.mt, strict=True)
    return [parse_tags(line, len(words(mt)), f"{path}, line {row}") for row, (line, mt) in enumerate(lines, start=1)]


def _gold(path: Path, texts: Texts) -> list[str]:
    lines = list(read_lines(path))
    check_aligned("src", len(texts.src), path, len(lines))
    return lines


def check_model(editor: Editor, texts: Texts, measure: str, *, attention: bool, links: Path | None, mask: bool) -> None:
    """Find out whether the model can be asked for what is wanted; warn of texts and models that say little.

    Raises:
        DataError: if it cannot.
    """
    able = editor.abilities
    if mask and "src" not in able.inputs:
        raise DataError("this model does not read src, so its edits cite no words there that --mask could cut out")
    if texts.mt is None and able.needs_mt:
        raise DataError("this model corrects translations: give it --mt (or --mt-text)")
    if texts.mt is not None and editor.seem_swapped(texts.src, texts.mt):
        typer.echo(
            "warning: src reads like the translation and mt like its source: have they changed places?", err=True
        )
    shared = any({"src", "mt"} <= set(key.streams) for key in able.attention)
    if measure == "attention" and not shared:
        raise DataError("this model has no attention that src and mt share: ask for --focus occlusion")
    if measure == "occlusion" and not {"src", "mt"} <= set(able.inputs):
        raise DataError("this model does not read both src and mt, so nothing can be said of which one leads (--focus)")
    if not able.attention:
        message = "this model shows no attention, so no word's or edit's evidence in src and mt is known"
        if attention:
            raise DataError(f"{message}; leave out --figures, --src-links, --mt-links and --gold-links")
        typer.echo(f"warning: {message}; probabilities, runners-up and focus by occlusion remain", err=True)
    elif links is not None and not any("src" in key.streams for key in able.attention):
        raise DataError(
            "this model shows no attention to src, so its reading of src and mt cannot be scored (--gold-links)"
        )


def kept_readings(
    path: Path, editor: Editor, texts: Texts, files: Mapping[str, Path | None], *, losses: bool, resume: bool
) -> LineSink:
    """Return where sentences are written as soon as they are explained.

    Args:
        path: of the file once it is complete.
        editor: the model.
        texts: what is explained.
        files: where it is from, by side.
        losses: whether edits cite what they lose.
        resume: go on after what an interrupted run has written there.

    Raises:
        OutputError: if it cannot be written, or an interrupted run was of another kind.
    """
    return open_sink(path, {
        **{f"{side} file": None if file is None else file_fingerprint(file) for side, file in files.items()},
        "sentence": [texts.src, texts.mt] if files["src"] is None else None,
        "model": list(editor.identity().models),
        "evidence (--cite)": "losses" if losses else "attention",
    }, resume=resume)  # fmt: skip


@contextmanager
def _interrupted(kept: LineSink | None, total: int) -> Iterator[None]:
    """Say of an interruption what is kept."""
    try:
        yield
    except KeyboardInterrupt:
        if kept is not None:
            raise stopped(kept, total, "sentences") from None
        raise KeyboardInterrupt(
            "stopped; no file was written, and the same command starts over (with --evidence it can be gone on with)"
        ) from None


def explained(editor: Editor, texts: Texts, kept: LineSink | None, *, losses: bool) -> "list[Reading | None]":
    """Return all sentences explained, those `kept` by an earlier run among them; a bar shows how far it is."""
    total, before = len(texts.src), 0 if kept is None else kept.done
    with _interrupted(kept, total), LineProgress(console(stderr=True), total) as progress:
        return explain(
            editor,
            texts.src,
            texts.mt,
            texts.pe,
            partial(progress.update, before=before),
            detail="losses" if losses else "reasons",
            kept=kept,
        )


def measure_of(name: str, found: "Sequence[Reading | None]") -> focus.Measure | None:
    """Return the measure of focus that is wanted; None if the model does not read both texts.

    Args:
        name: one that `check_model` has found possible, or "auto".
        found: the sentences.
    """
    first = next((one for one in found if one is not None), None)
    best = None if first is None else focus.default_measure(first.words)
    return best if name == "auto" or best is None else focus.Measure(name)


def focus_tables(
    found: "Sequence[Reading | None]", measure: focus.Measure | None, threshold: float, resamples: int
) -> "list[Table]":
    """Return the focus statistics, and where the words come from if the model copies."""
    sentences = [one for one in found if one is not None]
    tables = []
    if measure is not None:
        steps = [focus.steps(one, measure, threshold) for one in sentences]
        tables.append(focus.focus_table(steps, measure, threshold))
        claim = focus.claim_table(steps, resamples)
        tables += [] if claim is None else [claim]
    copied = focus.source_table(sentences)
    return [*tables, *([] if copied is None else [copied])]


def score_links(editor: Editor, texts: Texts, gold: Sequence[Alignment], kept: LineSink | None) -> "Table":
    """Return the scores of the model's src-mt reading, by forced decoding of mt."""
    assert texts.mt is not None
    with _interrupted(kept, len(texts.src)), LineProgress(console(stderr=True), len(texts.src)) as progress:
        read = explain_mt(editor, texts.src, texts.mt, progress.update)
    return alignment_table([_links(one, "src") for one in read], gold, texts.src, texts.mt)


def _links(sentence: "Reading | None", stream: str) -> Alignment:
    return (None if sentence is None else links(sentence, stream)) or frozenset()


def score_tags(found: "Sequence[Reading | None]", texts: Texts, gold: Sequence[Sequence[bool]]) -> "Table":
    """Return the scores of the tags that the model's edits make."""
    return tag_table(_tags(found, texts), gold)


def _tags(found: "Sequence[Reading | None]", texts: Texts) -> list[list[bool]]:
    assert texts.mt is not None
    outputs = [mt if one is None else one.output for one, mt in zip(found, texts.mt, strict=True)]
    return [edit_tags(words(mt), words(output)) for mt, output in zip(texts.mt, outputs, strict=True)]


def all_reasons(found: "Sequence[Reading | None]") -> list[Reason]:
    """Return all edits with their reasons."""
    return [why for line, one in enumerate(found, start=1) if one is not None for why in reasons(line, one)]


def masked(
    editor: Editor,
    found: "Sequence[Reading | None]",
    kept: LineSink | None,
    cite: str,
    seed: int,
    resamples: int,
) -> "Table":
    """Return how often edits go with their evidence."""
    edits = all_reasons(found)
    with _interrupted(kept, len(found)), LineProgress(console(stderr=True), len(edits)) as progress:
        tested = mask(editor, found, edits, seed, progress.update)
    return masking_table(tested, len(edits), cite, seed, resamples)


def print_sentence(sentence: "Reading | None") -> None:
    """Print one sentence word by word."""
    out = console()
    if sentence is None:
        out.print("The model was not asked: a text is empty or too long.")
        return
    from rich.text import Text

    from postedit.explain.word_diff import differences_text, word_differences

    evidence = sentence.words
    marks = out.no_color or not out.is_terminal
    out.print(
        differences_text(word_differences(sentence.mt.split(), sentence.output.split()), marks=marks), soft_wrap=True
    )
    streams = {stream: evidence.over(stream) for stream in ("src", "mt") if stream in evidence.streams}
    shown = {stream: weights for stream, weights in streams.items() if weights is not None}
    grid = new_table(["word", "%", *evidence.shares, *shown, "runners-up"], ["%", *evidence.shares])
    for row, word in enumerate(evidence.output):
        looked = [_strongest(list(zip(evidence.streams[stream], weights[row]))) for stream, weights in shown.items()]
        others = [(one.text, _probability(one.log_prob)) for one in (evidence.runners_up or ((),) * (row + 1))[row]]
        shares = [f"{100 * share[row]:.0f}" for share in evidence.shares.values()]
        cells = [word, f"{100 * _probability(evidence.log_probs[row]):.0f}", *shares, *looked, _strongest(others)]
        grid.add_row(*map(Text, cells))
    out.print(grid)
    for why in reasons(1, sentence):
        cited = [
            f"{name}: {text[found.span.start : found.span.end]!r} ({100 * found.weight:.0f} %)"
            for name, text, found in (("src", sentence.src, why.src), ("mt", sentence.mt, why.mt))
            if found is not None
        ]
        line = ", ".join([f"{why.edit.op} {why.old!r} -> {why.new!r}: confidence {100 * why.confidence:.0f} %", *cited])
        out.print(line, markup=False, soft_wrap=True)


def _probability(log_prob: float) -> float:
    import math

    return math.exp(min(0.0, log_prob))


def _strongest(pairs: Sequence[tuple[str, float]]) -> str:
    best = sorted(pairs, key=lambda pair: -pair[1])[:_NAMED]
    return ", ".join(f"{text} {100 * weight:.0f}" for text, weight in best if weight >= 0.01)


def print_tables(tables: "Sequence[Table]") -> None:
    """Print all analyses."""
    for table in tables:
        print_table(table, console())


def page(models: Sequence[str], texts: Texts, found: "Sequence[Reading | None]", tables: "Sequence[Table]") -> str:
    """Return the HTML page."""
    from postedit.explain.explanation_page import explanation_page

    names = [path.parent.name if path.name == "model" and path.parent.name else path.name for path in map(Path, models)]
    return explanation_page(f"{', '.join(names)}: {texts.name}", found, tables)


def edit_lines(found: "Sequence[Reading | None]") -> str:
    """Return each edit as a JSON record a line."""
    parts = []
    for line, one in enumerate(found, start=1):
        if one is not None:
            parts += [json.dumps(why.to_dict(one), ensure_ascii=False) + "\n" for why in reasons(line, one)]
    return "".join(parts)


def link_lines(found: "Sequence[Reading | None]", stream: str) -> str:
    """Return alignments, a line each, empty for what the model was not asked about."""
    return "".join(f"{format_alignment(_links(one, stream))}\n" for one in found)


def tag_lines(found: "Sequence[Reading | None]", texts: Texts) -> str:
    """Return tags, a line each."""
    return "".join(f"{format_tags(tags)}\n" for tags in _tags(found, texts))


def draw(found: "Sequence[Reading | None]", lines: Sequence[int], folder: Path) -> None:
    """Draw lines, numbered from 1, into a folder; what was not asked about is passed over."""
    from postedit.explain.figure import attention_figure, missing_letters

    with explain_os_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    missing = set()
    for line in lines:
        sentence = found[line - 1]
        if sentence is None:
            typer.echo(f"warning: line {line} is not drawn: the model was not asked about it", err=True)
            continue
        missing |= set(missing_letters(sentence.words))
        for form, content in attention_figure(sentence.words, f"{line}").items():
            with atomic_write(folder / f"{line:05d}.{form}", "wb") as file:
                file.write(content)
    if missing:
        typer.echo(
            f"warning: no font here has {''.join(sorted(missing))[:40]}: PNG files show boxes; SVG files and the HTML "
            "page are drawn with the reader's own fonts",
            err=True,
        )
