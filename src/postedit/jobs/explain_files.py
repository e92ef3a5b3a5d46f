"""The steps of `postedit explain`: read and check inputs and gold files, explain, analyse, and write results."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal

from rich.console import Console

from postedit.core.editor import Editor
from postedit.core.errors import DataError
from postedit.core.files import atomic_write, check_writable, explain_os_errors
from postedit.data.line_sinks import LineSink, open_sink
from postedit.data.lines import check_aligned, read_aligned, read_lines
from postedit.data.resumable_file import file_fingerprint
from postedit.evaluate.alignment import Alignment, alignment_table, format_alignment, parse_alignment, word_spans
from postedit.evaluate.table import Table
from postedit.evaluate.tags import edit_tags, format_tags, parse_tags, tag_table
from postedit.explain import focus
from postedit.explain.attention_views import attention_alignment
from postedit.explain.edit_table import edit_table
from postedit.explain.explained_sentence import ExplainedSentence
from postedit.explain.reasons import edit_reasons
from postedit.jobs.evidence_masking import mask, masking_table
from postedit.jobs.explanation import explain, explain_mt
from postedit.progress import LineProgress, stopped

Cite = Literal["losses", "attention"]
"""How edits cite words of src: by the probability that they lose without each word, or by attention."""

_DEFAULT_DRAWN: Final = 10
"""Number of lines drawn if none are named."""


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
    """Return the texts of the files, or the sentence given as text; raise a DataError if they do not go together."""
    if (src is None) == (src_text is None):
        raise DataError("give either files, --src and --mt, or one sentence, --src-text and --mt-text")
    if src is None:
        if mt is not None or pe is not None:
            raise DataError("--mt and --pe name files, for use with --src; give a single translation with --mt-text")
        return ExplainInputs("one sentence", [src_text or ""], None if mt_text is None else [mt_text], None)
    if mt_text is not None:
        raise DataError("--mt-text goes with --src-text; give a file of translations with --mt")
    lines = read_aligned(src, *filter(None, (mt, pe)))
    return ExplainInputs(src.name, lines[src], lines[mt] if mt else None, lines[pe] if pe else None)


def parse_line_numbers(text: str | None, count: int) -> list[int]:
    """Return the line numbers, from 1 to `count`, that a list such as "3,8-10" names; the first ten if None."""
    if text is None:
        return list(range(1, min(count, _DEFAULT_DRAWN) + 1))
    result: dict[int, None] = {}
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not all(number.isascii() and number.isdigit() for number in (first, last or first)):
            raise DataError(f'--lines: "{part:.40}" is neither a line number nor a range; write for example 3,8-10')
        if not 1 <= int(first) <= int(last or first) <= count:
            raise DataError(f"--lines: {part.strip():.40} is not within 1-{count:,}, the lines there are")
        result.update(dict.fromkeys(range(int(first), int(last or first) + 1)))
    return list(result)


def read_gold_alignments(path: Path | None, inputs: ExplainInputs) -> list[Alignment] | None:
    """Return gold alignments of src and mt; raise a DataError for a malformed line, or one that links missing words."""
    result = []
    for where, line, src, mt in _read_gold(path, inputs):
        found = parse_alignment(line, where)
        sizes = len(word_spans(src)), len(word_spans(mt))
        for link in sorted(found):
            if link.source >= sizes[0] or link.target >= sizes[1]:
                raise DataError(
                    f"{where}: {link} links words that are not there: src has {sizes[0]} words and mt {sizes[1]}, "
                    "counted from 0; these are not the alignments of these texts"
                )
        result.append(found)
    return result if path else None


def read_gold_tags(path: Path | None, inputs: ExplainInputs) -> list[list[bool]] | None:
    """Return gold tags of mt; raise a DataError for a line that does not hold the tags of its mt."""
    tags = [parse_tags(line, len(word_spans(mt)), where) for where, line, _, mt in _read_gold(path, inputs)]
    return tags if path else None


def _read_gold(path: Path | None, inputs: ExplainInputs) -> Iterator[tuple[str, str, str, str]]:
    """Yield the place of each gold line, the line, and its src and mt."""
    if path is not None and inputs.mt is not None:
        lines = list(read_lines(path))
        check_aligned("src", len(inputs.src), path, len(lines))
        for number, texts in enumerate(zip(lines, inputs.src, inputs.mt, strict=True), start=1):
            yield f"{path}, line {number}", *texts


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
    """Check that the model can give the requested evidence; warn if the model or the texts leave little to explain.

    Raises:
        DataError: if it cannot.
    """
    able = editor.abilities
    if (able.reasons or not able.evidence) and (mask or measure != "auto"):
        given = "gives reasons for edits, not for words" if able.reasons else "gives no evidence for words"
        raise DataError(f"this model {given}: leave out --mask and --focus")
    if mask and "src" not in able.inputs:
        raise DataError("--mask removes cited words of src, but this model does not read src: leave it out")
    if len(able.inputs) == 1 and not able.reasons:
        (read,) = able.inputs
        warn(
            f"this model reads only {read}, so edits have no evidence in {'mt' if read == 'src' else 'src'}, and there "
            "are no tables of which text leads, which --pe would add to"
        )
    if inputs.mt is None and able.needs_mt:
        raise DataError("this model corrects translations: give it --mt (or --mt-text)")
    joint = any({"src", "mt"} <= set(key.streams) for key in able.attention)
    if measure == "attention" and not joint:
        raise DataError("this model has no attention that src and mt share: ask for --focus occlusion")
    if measure == "occlusion" and not {"src", "mt"} <= set(able.inputs):
        raise DataError("--focus compares src and mt, but this model does not read both: leave it out")
    if not able.attention:
        message = "this model shows no attention, so the evidence of words and edits in src and mt is not known"
        if attention:
            raise DataError(f"{message}; leave out --figures, --src-links, --mt-links and --gold-links")
        if able.reasons:
            return
        left = (
            "probabilities, runners-up and focus by occlusion remain" if able.evidence else "only its edits are shown"
        )
        warn(f"{message}; {left}")
    elif gold_alignments and not any("src" in key.streams for key in able.attention):
        raise DataError(
            "this model shows no attention to src, so its reading of src and mt cannot be scored (--gold-links)"
        )


def open_evidence(
    path: Path,
    edited_by: Mapping[str, Any],
    inputs: ExplainInputs,
    files: Mapping[str, Path | None],
    cite: Cite,
    *,
    resume: bool,
) -> LineSink:
    """Open the file to which each sentence is written as soon as it is explained.

    Args:
        path: the file.
        edited_by: what determines the outputs besides the input, see `EditorSpec.job`.
        inputs: the texts.
        files: the files of the texts, by side; None: a side without a file.
        cite: how edits cite words of src.
        resume: whether to continue after the lines that the file holds.

    Raises:
        OutputError: if the file cannot be written, or holds the lines of another run.
    """
    job = {
        **edited_by,
        **{f"{side} file": None if file is None else file_fingerprint(file) for side, file in files.items()},
        "sentence": [inputs.src, inputs.mt] if files["src"] is None else None,
        "evidence (--cite)": cite,
    }
    return open_sink(path, job, resume=resume)


@dataclass(frozen=True, slots=True)
class Explanations:
    """Texts with their evidence, and the tables and files made from them.

    `sentences` has None for a line that the model did not edit; `kept`, if given, stores all of them.
    """

    editor: Editor
    inputs: ExplainInputs
    sentences: Sequence[ExplainedSentence | None]
    kept: LineSink | None
    console: Console

    @classmethod
    def of(
        cls,
        editor: Editor,
        inputs: ExplainInputs,
        kept: LineSink | None,
        console: Console,
        cite: Cite,
        warn: Callable[[str], None],
    ) -> "Explanations":
        """Explain all texts, except those that an earlier run left in `kept`; call `warn` as `explain` does."""
        total = len(inputs.src)
        with _interruptible(kept, total), LineProgress(console, total) as progress:
            progress.update(0 if kept is None else kept.done)
            detail: Literal["losses", "reasons"] = "losses" if cite == "losses" else "reasons"
            sides = (inputs.src, inputs.mt, inputs.pe)
            found = explain(editor, *sides, progress.update, warn, detail=detail, kept=kept)
        return cls(editor, inputs, found, kept, console)

    @property
    def _explained(self) -> list[tuple[int, ExplainedSentence]]:
        return [(line, one) for line, one in enumerate(self.sentences, start=1) if one is not None]

    def focus_tables(self, measure: str, threshold: float, resamples: int) -> list[Table]:
        """Return tables of which text leads and, for a model that copies, of where its words come from.

        If the model has neither, but gives reasons with its edits, a table counts the edits of several texts by reason.

        Args:
            measure: the measure of focus: "auto", or one that `check_model` accepted.
            threshold: src leads a step if its weight is above this threshold.
            resamples: the number of resamples for the interval and the p-value of differences.
        """
        sentences = [one for _, one in self._explained]
        best = focus.default_measure(sentences[0].words) if sentences else None
        tables: list[Table | None] = [focus.source_table(sentences)]
        if best is not None:
            used = best if measure == "auto" else focus.FocusMeasure(measure)
            steps = [focus.steps(one, used, threshold) for one in sentences]
            by_attention = used is focus.FocusMeasure.attention
            decoded = focus.decoding_leads(sentences, threshold) if by_attention else ()
            tables = [focus.focus_table(steps, used, threshold, decoded), focus.claim_table(steps, resamples), *tables]
        found = [table for table in tables if table is not None]
        if not found and len(sentences) > 1 and self.editor.abilities.reasons:
            return [edit_table(sentences)]
        return found

    def gold_alignment_table(self, gold: Sequence[Alignment]) -> Table:
        """Return the scores of the src-mt alignments by the attention of the model when it is forced to write mt."""
        src, mt = self.inputs.src, self.inputs.mt or []
        with _interruptible(self.kept, len(src)), LineProgress(self.console, len(src)) as progress:
            progress.update(0)
            found = explain_mt(self.editor, src, mt, progress.update)
        return alignment_table([_alignment(one, "src") for one in found], gold, src, mt)

    def gold_tag_table(self, gold: Sequence[Sequence[bool]]) -> Table:
        """Return the scores of the word-level tags that the edits of the model imply."""
        return tag_table(self._tags(), gold)

    def _tags(self) -> list[list[bool]]:
        pairs = zip(self.inputs.mt or [], self.sentences, strict=True)
        return [edit_tags(_words(mt), _words(mt if one is None else one.output)) for mt, one in pairs]

    def masking_table(self, cite: Cite, seed: int, resamples: int) -> Table:
        """Return how often edits disappear when the words they cite are cut out of src."""
        reasons = [reason for line, one in self._explained for reason in edit_reasons(line, one)]
        with _interruptible(self.kept, len(self.sentences)), LineProgress(self.console, len(reasons)) as progress:
            progress.update(0)
            tested = mask(self.editor, self.sentences, reasons, seed, progress.update)
        return masking_table(tested, len(reasons), cite, seed, resamples)

    def page(self, models: Sequence[str], tables: Sequence[Table]) -> str:
        """Return the HTML page."""
        from postedit.explain.explanation_page import explanation_page

        paths = map(Path, models)
        names = [path.parent.name if path.name == "model" and path.parent.name else path.name for path in paths]
        return explanation_page(f"{', '.join(names)}: {self.inputs.name}", self.sentences, tables)

    def edit_lines(self) -> str:
        """Return one line with a JSON record per edit."""
        reasons = ((why, one) for line, one in self._explained for why in edit_reasons(line, one))
        return "".join(json.dumps(why.to_dict(one), ensure_ascii=False) + "\n" for why, one in reasons)

    def alignment_lines(self, stream: str) -> str:
        """Return one line of links per sentence; empty for a sentence that the model did not edit."""
        return "".join(f"{format_alignment(_alignment(one, stream))}\n" for one in self.sentences)

    def tag_lines(self) -> str:
        """Return one line of tags per sentence."""
        return "".join(f"{format_tags(tags)}\n" for tags in self._tags())

    def draw(self, lines: Sequence[int], folder: Path, warn: Callable[[str], None]) -> None:
        """Draw the attention of the sentences with these line numbers (from 1) into a folder, as PNG and SVG.

        Call `warn` for sentences that the model did not edit, and for characters that no installed font has.
        """
        from postedit.explain.figure import attention_figure, missing_characters

        missing: set[str] = set()
        for line in lines:
            sentence = self.sentences[line - 1]
            if sentence is None:
                warn(f"line {line} is not drawn: the model did not edit it")
                continue
            words = sentence.named_words()
            missing |= missing_characters([*words.output, *chain.from_iterable(words.streams.values())])
            for form, content in attention_figure(words, f"{line}").items():
                with atomic_write(folder / f"{line:05d}.{form}", "wb") as file:
                    file.write(content)
        if missing:
            warn(
                f"no font here has {''.join(sorted(missing))[:40]}: PNG files show boxes; SVG files and the HTML page "
                "are drawn with the reader's own fonts"
            )


def make_folder(path: Path) -> None:
    """Make a folder for figures before the long work, which would be lost if they could not be written.

    Raises:
        OutputError: if it cannot be made or written.
    """
    with explain_os_errors(path):
        path.mkdir(parents=True, exist_ok=True)
    check_writable(path / "figure.png")


@contextmanager
def _interruptible(kept: LineSink | None, total: int) -> Iterator[None]:
    """Say in the message of a KeyboardInterrupt what is kept."""
    try:
        yield
    except KeyboardInterrupt:
        if kept is not None:
            raise stopped(kept, total, "sentences") from None
        raise KeyboardInterrupt(
            "stopped; no file was written, and the same command starts over (with --evidence, it could continue)"
        ) from None


def _alignment(sentence: ExplainedSentence | None, stream: str) -> Alignment:
    return (None if sentence is None else attention_alignment(sentence, stream)) or frozenset()


def _words(text: str) -> list[str]:
    return [text[slice(*span)] for span in word_spans(text)]
