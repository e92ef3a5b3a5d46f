"""The steps of `postedit explain`: read and check inputs and gold files, explain, analyse, write results."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from rich.console import Console

from postedit.core.editor import Editor
from postedit.core.errors import DataError
from postedit.core.files import atomic_write, explain_os_errors
from postedit.data.line_sinks import LineSink, open_sink
from postedit.data.lines import check_aligned, read_aligned, read_lines
from postedit.data.resumable_file import file_fingerprint
from postedit.evaluate.alignment import Alignment, alignment_table, format_alignment, parse_alignment, word_spans
from postedit.evaluate.table import Table
from postedit.evaluate.tags import edit_tags, format_tags, parse_tags, tag_table
from postedit.explain import focus
from postedit.explain.attention_views import attention_alignment
from postedit.explain.explained_sentence import ExplainedSentence
from postedit.explain.reasons import Reason, edit_reasons
from postedit.jobs.evidence_masking import mask, masking_table
from postedit.jobs.explanation import explain, explain_mt
from postedit.progress import LineProgress, stopped

Explained = Sequence[ExplainedSentence | None]
"""Sentences in the order of their lines; None for a line that the model was not asked about."""

_DEFAULT_DRAWN: Final = 10
"""Lines drawn if none are named."""


@dataclass(frozen=True, slots=True)
class ExplainInputs:
    """The texts to explain, line by line, and a name for them."""

    name: str
    src: list[str]
    mt: list[str] | None
    pe: list[str] | None


def read_inputs(
    src: Path | None, mt: Path | None, pe: Path | None, src_text: str | None, mt_text: str | None
) -> ExplainInputs:
    """Return the texts of files, or the one sentence of the command line.

    Raises:
        DataError: if both or neither are given, or files have not as many lines.
    """
    if (src is None) == (src_text is None):
        raise DataError("give either files, --src and --mt, or one sentence, --src-text and --mt-text")
    if src is None:
        if mt is not None or pe is not None:
            raise DataError("--mt and --pe are files that go with --src; give the translation itself by --mt-text")
        return ExplainInputs("one sentence", [src_text or ""], None if mt_text is None else [mt_text], None)
    if mt_text is not None:
        raise DataError("--mt-text goes with --src-text; give the file of translations by --mt")
    lines = read_aligned(src, *filter(None, (mt, pe)))
    return ExplainInputs(src.name, lines[src], None if mt is None else lines[mt], None if pe is None else lines[pe])


def parse_line_numbers(text: str | None, count: int) -> list[int]:
    """Return the line numbers, from 1, of a list such as "3,8-10"; the first ten if None.

    Raises:
        DataError: if an item is no number or range, or not within 1 to `count`.
    """
    if text is None:
        return list(range(1, min(count, _DEFAULT_DRAWN) + 1))
    result: dict[int, None] = {}
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not all(number.isascii() and number.isdigit() for number in (first, last or first)):
            raise DataError(f'--lines: "{part:.40}" is no line number and no range; write for example 3,8-10')
        if not 1 <= int(first) <= int(last or first) <= count:
            raise DataError(f"--lines: {part.strip():.40} is not within 1-{count:,}, the lines there are")
        result.update(dict.fromkeys(range(int(first), int(last or first) + 1)))
    return list(result)


def read_gold_alignments(path: Path | None, inputs: ExplainInputs) -> list[Alignment] | None:
    """Return gold alignments of src and mt.

    Raises:
        DataError: if a line holds anything else or links words that do not exist, or lines are missing.
    """
    if path is None or inputs.mt is None:
        return None
    result = []
    for number, line in enumerate(_read_gold(path, inputs), start=1):
        found = parse_alignment(line, f"{path}, line {number}")
        sizes = len(word_spans(inputs.src[number - 1])), len(word_spans(inputs.mt[number - 1]))
        wrong = next((link for link in sorted(found) if link.source >= sizes[0] or link.target >= sizes[1]), None)
        if wrong is not None:
            raise DataError(
                f"{path}, line {number}: {wrong} links words that are not there: src has {sizes[0]} words and mt "
                f"{sizes[1]}, counted from 0; these are not the alignments of these texts"
            )
        result.append(found)
    return result


def read_gold_tags(path: Path | None, inputs: ExplainInputs) -> list[list[bool]] | None:
    """Return gold tags of mt.

    Raises:
        DataError: if a line does not hold the tags of its mt, or lines are missing.
    """
    if path is None or inputs.mt is None:
        return None
    lines = zip(_read_gold(path, inputs), inputs.mt, strict=True)
    return [
        parse_tags(line, len(word_spans(mt)), f"{path}, line {number}")
        for number, (line, mt) in enumerate(lines, start=1)
    ]


def _read_gold(path: Path, inputs: ExplainInputs) -> list[str]:
    lines = list(read_lines(path))
    check_aligned("src", len(inputs.src), path, len(lines))
    return lines


def check_model(
    editor: Editor,
    inputs: ExplainInputs,
    measure: str,
    warn: Callable[[str], None],
    *,
    attention: bool,
    gold_alignments: bool,
    mask: bool,
) -> None:
    """Check that the model supports what was asked for; warn of texts and models that tell little.

    Args:
        editor: the model.
        inputs: the texts.
        measure: the measure of focus that was asked for, or "auto".
        warn: receives warnings.
        attention: whether attention is needed.
        gold_alignments: whether gold alignments are to be scored.
        mask: whether edits are to be tested without the words they cite.

    Raises:
        DataError: if it does not.
    """
    able = editor.abilities
    if mask and "src" not in able.inputs:
        raise DataError("this model does not read src, so its edits cite no words there that --mask could cut out")
    if inputs.mt is None and able.needs_mt:
        raise DataError("this model corrects translations: give it --mt (or --mt-text)")
    if inputs.mt is not None and editor.seem_swapped(inputs.src, inputs.mt):
        warn("src reads like the translation and mt like its source: have they changed places?")
    joint = any({"src", "mt"} <= set(key.streams) for key in able.attention)
    if measure == "attention" and not joint:
        raise DataError("this model has no attention that src and mt share: ask for --focus occlusion")
    if measure == "occlusion" and not {"src", "mt"} <= set(able.inputs):
        raise DataError("this model does not read both src and mt, so nothing can be said of which one leads (--focus)")
    if not able.attention:
        message = "this model shows no attention, so the evidence of words and edits in src and mt is not known"
        if attention:
            raise DataError(f"{message}; leave out --figures, --src-links, --mt-links and --gold-links")
        warn(f"{message}; probabilities, runners-up and focus by occlusion remain")
    elif gold_alignments and not any("src" in key.streams for key in able.attention):
        raise DataError(
            "this model shows no attention to src, so its reading of src and mt cannot be scored (--gold-links)"
        )


def open_evidence(
    path: Path,
    editor: Editor,
    inputs: ExplainInputs,
    files: Mapping[str, Path | None],
    *,
    losses: bool,
    resume: bool,
) -> LineSink:
    """Open the file to which each sentence is written as soon as it is explained.

    Args:
        path: of the complete file.
        editor: the model.
        inputs: the texts.
        files: where they were read from, by side.
        losses: whether edits cite words of src by losses.
        resume: continue what an interrupted run has written there.

    Raises:
        OutputError: if it cannot be written, or holds the lines of another run.
    """
    return open_sink(path, {
        **{f"{side} file": None if file is None else file_fingerprint(file) for side, file in files.items()},
        "sentence": [inputs.src, inputs.mt] if files["src"] is None else None,
        "model": list(editor.identity().models),
        "evidence (--cite)": "losses" if losses else "attention",
    }, resume=resume)  # fmt: skip


@contextmanager
def _interrupted(kept: LineSink | None, total: int) -> Iterator[None]:
    """Add to an interruption what it leaves behind."""
    try:
        yield
    except KeyboardInterrupt:
        if kept is not None:
            raise stopped(kept, total, "sentences") from None
        raise KeyboardInterrupt(
            "stopped; no file was written, and the same command starts over (with --evidence it can be gone on with)"
        ) from None


def explain_all(
    editor: Editor, inputs: ExplainInputs, kept: LineSink | None, console: Console, *, losses: bool
) -> list[ExplainedSentence | None]:
    """Return all sentences explained, including those that an earlier run left in `kept`."""
    total, before = len(inputs.src), 0 if kept is None else kept.done
    with _interrupted(kept, total), LineProgress(console, total) as progress:
        return explain(
            editor,
            inputs.src,
            inputs.mt,
            inputs.pe,
            partial(progress.update, before=before),
            detail="losses" if losses else "reasons",
            kept=kept,
        )


def focus_measure(name: str, found: Explained) -> focus.FocusMeasure | None:
    """Return the measure of focus; None if the model does not read both texts.

    Args:
        name: one that `check_model` accepted, or "auto".
        found: the sentences.
    """
    first = next((one for one in found if one is not None), None)
    best = None if first is None else focus.default_measure(first.words)
    return best if name == "auto" or best is None else focus.FocusMeasure(name)


def focus_tables(found: Explained, measure: focus.FocusMeasure | None, threshold: float, resamples: int) -> list[Table]:
    """Return the focus statistics and, for a model that copies, where its words come from."""
    sentences = [one for one in found if one is not None]
    tables: list[Table | None] = []
    if measure is not None:
        steps = [focus.steps(one, measure, threshold) for one in sentences]
        tables += [focus.focus_table(steps, measure, threshold), focus.claim_table(steps, resamples)]
    tables.append(focus.source_table(sentences))
    return [table for table in tables if table is not None]


def gold_alignment_table(
    editor: Editor, inputs: ExplainInputs, gold: Sequence[Alignment], kept: LineSink | None, console: Console
) -> Table:
    """Return the scores of the src-mt alignments that the model makes when it is forced to write mt."""
    assert inputs.mt is not None
    with _interrupted(kept, len(inputs.src)), LineProgress(console, len(inputs.src)) as progress:
        found = explain_mt(editor, inputs.src, inputs.mt, progress.update)
    return alignment_table([_alignment(one, "src") for one in found], gold, inputs.src, inputs.mt)


def _alignment(sentence: ExplainedSentence | None, stream: str) -> Alignment:
    return (None if sentence is None else attention_alignment(sentence, stream)) or frozenset()


def gold_tag_table(found: Explained, inputs: ExplainInputs, gold: Sequence[Sequence[bool]]) -> Table:
    """Return the scores of the tags that the edits of the model imply."""
    return tag_table(_tags(found, inputs), gold)


def _tags(found: Explained, inputs: ExplainInputs) -> list[list[bool]]:
    assert inputs.mt is not None
    outputs = [mt if one is None else one.output for one, mt in zip(found, inputs.mt, strict=True)]
    return [edit_tags(_words(mt), _words(output)) for mt, output in zip(inputs.mt, outputs, strict=True)]


def _words(text: str) -> list[str]:
    return [text[slice(*span)] for span in word_spans(text)]


def _all_reasons(found: Explained) -> list[Reason]:
    return [reason for line, one in enumerate(found, start=1) if one is not None for reason in edit_reasons(line, one)]


def evidence_table(
    editor: Editor,
    found: Explained,
    kept: LineSink | None,
    cite: str,
    seed: int,
    resamples: int,
    console: Console,
) -> Table:
    """Return how often edits disappear when the words they cite are cut out of src."""
    reasons = _all_reasons(found)
    with _interrupted(kept, len(found)), LineProgress(console, len(reasons)) as progress:
        tested = mask(editor, found, reasons, seed, progress.update)
    return masking_table(tested, len(reasons), cite, seed, resamples)


def explanation_html(models: Sequence[str], inputs: ExplainInputs, found: Explained, tables: Sequence[Table]) -> str:
    """Return the HTML page."""
    from postedit.explain.explanation_page import explanation_page

    names = [path.parent.name if path.name == "model" and path.parent.name else path.name for path in map(Path, models)]
    return explanation_page(f"{', '.join(names)}: {inputs.name}", found, tables)


def edit_lines(found: Explained) -> str:
    """Return each edit as a line with a JSON record."""
    parts = []
    for line, one in enumerate(found, start=1):
        if one is not None:
            parts += [json.dumps(why.to_dict(one), ensure_ascii=False) + "\n" for why in edit_reasons(line, one)]
    return "".join(parts)


def alignment_lines(found: Explained, stream: str) -> str:
    """Return one line of links per sentence; empty for a sentence that the model was not asked about."""
    return "".join(f"{format_alignment(_alignment(one, stream))}\n" for one in found)


def tag_lines(found: Explained, inputs: ExplainInputs) -> str:
    """Return one line of tags per sentence."""
    return "".join(f"{format_tags(tags)}\n" for tags in _tags(found, inputs))


def draw_figures(found: Explained, lines: Sequence[int], folder: Path, warn: Callable[[str], None]) -> None:
    """Draw the attention of the sentences with these line numbers, from 1, into a folder, as PNG and SVG.

    Warns of sentences that the model was not asked about, and of characters that no installed font has.
    """
    from postedit.explain.figure import attention_figure, missing_characters

    with explain_os_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    missing: set[str] = set()
    for line in lines:
        sentence = found[line - 1]
        if sentence is None:
            warn(f"line {line} is not drawn: the model was not asked about it")
            continue
        words = sentence.words
        missing |= missing_characters([*words.output, *chain.from_iterable(words.streams.values())])
        for form, content in attention_figure(sentence.words, f"{line}").items():
            with atomic_write(folder / f"{line:05d}.{form}", "wb") as file:
                file.write(content)
    if missing:
        warn(
            f"no font here has {''.join(sorted(missing))[:40]}: PNG files show boxes; SVG files and the HTML page are "
            "drawn with the reader's own fonts"
        )
