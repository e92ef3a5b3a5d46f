"""`postedit edit`: line in, line out."""

import hashlib
import json
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from postedit.cli.combining import Averaging, check_forced, parse_weights
from postedit.cli.sinks import Stdout
from postedit.core.errors import DataError
from postedit.data.partial import PartialFile, check_partial, file_fingerprint

if TYPE_CHECKING:
    from rich.console import Console

    from postedit.editor import PostEdit, PostEditor

CHUNK: Final = 1000
"""Lines edited together: enough to sort by length, few enough to lose little when interrupted."""


class Format(StrEnum):
    """What is written for each line."""

    text = "text"
    jsonl = "jsonl"


def edit(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="A model folder, hub id, file of weights (RUN/best/*.safetensors), or a combination from `postedit "
            "tune`; several models make an ensemble.",
        ),
    ],
    src: Annotated[Path | None, typer.Option(help="Source lines. Without --src and --mt: src<TAB>mt on stdin.")] = None,
    mt: Annotated[
        Path | None,
        typer.Option(help="Their machine translations, line by line; a model that translates or drafts needs none."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write; stdout if not given.")] = None,
    form: Annotated[
        Format, typer.Option("--format", help="text: the corrected line; jsonl: with scores and edits.")
    ] = Format.text,
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses kept; the model's own if not given.")] = None,
    n_best: Annotated[int, typer.Option(min=1, help="Corrections a line; more than 1 needs --format jsonl.")] = 1,
    batch_tokens: Annotated[
        int | None, typer.Option(min=1, help="Size of a batch in pieces; the model's own if not given.")
    ] = None,
    chunk_lines: Annotated[int, typer.Option(min=1, help="Lines read, edited and written together.")] = CHUNK,
    weights: Annotated[
        str | None, typer.Option(metavar="W,W...", help="Weights of an ensemble's members; equal if not given.")
    ] = None,
    space: Annotated[Averaging, typer.Option(help="What an ensemble averages.")] = Averaging.log,
    force: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Score these outputs, line by line, in place of writing any: always jsonl."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after the lines of an unfinished run.")] = False,
) -> None:
    """Correct machine translations, line in, line out."""
    form = Format.jsonl if force else form
    _check_options(src, mt, out, form, n_best, resume)
    shares = parse_weights(weights, len(models))
    if out:
        check_partial(out, resume=resume)
    from postedit.cli.lines import chunked, count_lines, file_pairs, stdin_pairs
    from postedit.cli.tables import console
    from postedit.data.lines import read_lines
    from postedit.progress import LineProgress

    total = count_lines(src, mt) if src else None
    if force:
        check_forced(force, src, total)
    from postedit.editor import PostEditor

    logging.getLogger("postedit.editor").setLevel(logging.ERROR)  # its warnings are added up over all chunks here
    err, tally = console(stderr=True), _Tally()
    editor = PostEditor.load(*models, weights=shares, space=space.value)
    if src and not mt and editor.needs_mt:
        raise DataError(f"{', '.join(models)} corrects translations and has no first stage to write them; give --mt")
    sink = PartialFile(out, _job(src, mt, force, editor, form, beam, n_best), resume=resume) if out else Stdout()
    pairs = file_pairs(src, mt) if src else stdin_pairs()
    given = islice(read_lines(force), sink.done, None) if force else None
    try:
        with LineProgress(err, total, sink.done) as progress:
            for chunk in chunked(islice(pairs, sink.done, None), chunk_lines):
                sources, translations = [pair.src for pair in chunk], None
                if mt or not src:
                    translations = [pair.mt for pair in chunk]
                if given:
                    outputs = list(islice(given, len(chunk)))
                    results = editor.score(sources, translations, outputs, batch_tokens=batch_tokens)
                else:
                    results = editor.edit(sources, translations, beam=beam, n_best=n_best, batch_tokens=batch_tokens)
                sink.write([to_line(result, form) for result in results])
                tally.add(results)
                progress.update(sink.done)
    except KeyboardInterrupt:
        of = "" if total is None else f" of {total:,}"
        hint = "; the same command with --resume goes on after them" if src and out else ""
        raise KeyboardInterrupt(f"stopped after {sink.done:,}{of} lines{sink.kept}{hint}") from None
    if total is not None and sink.done != total:
        raise DataError(f"{sink.done:,} lines written for {total:,} read: the input changed during the work")
    sink.finish()
    tally.report(err)


def to_line(result: "PostEdit", form: Format) -> str:
    """Return what is written for one line of input."""
    return result.text if form is Format.text else json.dumps(_record(result), ensure_ascii=False)


def model_fingerprint(editor: "PostEditor") -> str:
    """Return SHA-256, in hexadecimal, over all of a loaded model that has a part in its outputs."""
    import torch

    text, combined = editor.processor, (editor.model.extra_repr(), editor.log_linear)
    settings = editor.decode, text.config, text.vocabularies, combined
    digest = hashlib.sha256(repr(settings).encode())
    if editor.draft is not None:
        digest.update(model_fingerprint(editor.draft).encode())
    for name, tensor in editor.model.state_dict().items():
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


@dataclass(slots=True)
class _Tally:
    """What happened to the lines of this run."""

    lines: int = 0
    changed: int = 0
    hit_limit: int = 0
    too_long: int = 0
    started: float = field(default_factory=time.monotonic)

    def add(self, results: Iterable["PostEdit"]) -> None:
        for result in results:
            self.lines += 1
            self.changed += result.changed
            self.hit_limit += result.hit_limit
            self.too_long += result.skipped == "too long"

    def report(self, err: "Console") -> None:
        rate = self.lines / max(time.monotonic() - self.started, 1e-9)
        err.print(f"{self.lines:,} lines, {self.changed:,} changed, {rate:,.1f} lines/s")
        if self.hit_limit:
            err.print(
                f"[yellow]warning:[/] {self.hit_limit:,} outputs reached the maximum length and may be cut off "
                "(decode.max_ratio, decode.max_extra in the model's config.json)",
                soft_wrap=True,
            )
        if self.too_long:
            err.print(
                f"[yellow]warning:[/] {self.too_long:,} lines are too long and were left as they are "
                "(decode.max_input in the model's config.json)",
                soft_wrap=True,
            )


def _check_options(
    src: Path | None, mt: Path | None, out: Path | None, form: Format, n_best: int, resume: bool
) -> None:
    if mt and not src:
        raise DataError("give --src with --mt, or neither to read src<TAB>mt from stdin")
    if n_best > 1 and form is Format.text:
        raise DataError("--n-best above 1 does not fit into one line of text a line of input; add --format jsonl")
    if resume and (out is None or src is None):
        raise DataError("--resume needs --src and --out: only work on files can be gone on with")


def _job(
    src: Path | None,
    mt: Path | None,
    force: Path | None,
    editor: "PostEditor",
    form: Format,
    beam: int | None,
    n_best: int,
) -> dict[str, Any]:
    """Return what determines the output, by the name under which a difference is reported."""
    return {
        "source file": None if src is None else file_fingerprint(src),
        "mt file": None if mt is None else file_fingerprint(mt),
        "file of outputs": None if force is None else file_fingerprint(force),
        "model": model_fingerprint(editor),
        "format": form.value,
        "beam": beam or editor.decode.beam,
        "n-best": n_best,
    }


def _record(result: "PostEdit") -> dict[str, Any]:
    record: dict[str, Any] = {
        "text": result.text,
        "changed": result.changed,
        "score": result.score,
        "token_scores": result.token_scores,
        "edits": [{"op": edit.op, "mt_span": edit.mt_span, "pe_span": edit.pe_span} for edit in result.edits],
        "hit_limit": result.hit_limit,
        "skipped": result.skipped,
    }
    if result.features is not None:
        record["features"] = dict(result.features)
    if result.draft is not None:
        record["draft"] = result.draft
    if result.alternatives:
        record["alternatives"] = [_record(alternative) for alternative in result.alternatives]
    return record
