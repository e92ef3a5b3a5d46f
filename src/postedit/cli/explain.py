"""`postedit explain`."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from postedit.cli.default_model import models_or_shipped
from postedit.cli.outputs import check_outputs
from postedit.cli.search_options import HelpSearchOption, SearchFileOption, SetOption, read_options, search_config
from postedit.core.errors import DataError
from postedit.core.files import atomic_write
from postedit.data.resumable_file import check_partial
from postedit.jobs.editing import EditorSpec, check_device


class Cite(StrEnum):
    """How edits cite words of src."""

    losses = "losses"
    attention = "attention"


class Focus(StrEnum):
    """How the weight of src is measured."""

    auto = "auto"
    attention = "attention"
    occlusion = "occlusion"


def explain(
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL...",
            help="A model folder or hub id; several make an ensemble. The model that comes with postedit if not given.",
        ),
    ] = None,
    src: Annotated[Path | None, typer.Option(help="Source lines.")] = None,
    mt: Annotated[Path | None, typer.Option(help="Their machine translations, line by line.")] = None,
    pe: Annotated[
        Path | None, typer.Option(help="Human post-edits: then also by whether mt was right where the model acted.")
    ] = None,
    src_text: Annotated[str | None, typer.Option(metavar="TEXT", help="One source, in place of --src.")] = None,
    mt_text: Annotated[str | None, typer.Option(metavar="TEXT", help="Its machine translation.")] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="OUT", help="All sentences in one HTML file that answers to the pointer.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Attention and copying as NUMBER.png and NUMBER.svg.")
    ] = None,
    lines: Annotated[
        str | None, typer.Option(metavar="N,N-N...", help="Lines to draw, from 1; the first ten if not given.")
    ] = None,
    edits: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Each edit with confidence and evidence, a JSON record a line.")
    ] = None,
    evidence: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT", help="All that is known of each sentence, a JSON record a line, written as soon as it is."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on after the sentences that an unfinished run left for --evidence.")
    ] = False,
    src_links: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Alignment of src and output (Pharaoh format), from attention.")
    ] = None,
    mt_links: Annotated[Path | None, typer.Option(metavar="OUT", help="Alignment of mt and output, likewise.")] = None,
    tags: Annotated[
        Path | None, typer.Option(metavar="OUT", help="OK or BAD for each gap and word of mt, from the model's edits.")
    ] = None,
    gold_links: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Alignment of src and mt, to score the model's reading of mt.")
    ] = None,
    gold_tags: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="OK and BAD for gaps and words of mt, to score the model's tags."),
    ] = None,
    focus: Annotated[
        Focus, typer.Option(help="By shared attention, or by emptying one text; auto: the first where there is one.")
    ] = Focus.auto,
    threshold: Annotated[
        float, typer.Option(help="Weight of src above which src leads a step, and below 1 less which mt does.")
    ] = 0.6,
    cite: Annotated[
        Cite, typer.Option(help="Words of src that edits cite: what they lose without each word, or attention to it.")
    ] = Cite.losses,
    mask: Annotated[
        bool, typer.Option("--mask", help="Test evidence: are edits gone when the source words they cite are cut out?")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the random words that --mask cuts out to compare.")] = 1,
    resamples: Annotated[
        int, typer.Option(min=100, help="Resamples of sentences for intervals and p-values.")
    ] = 10_000,
    json_out: Annotated[Path | None, typer.Option("--json", metavar="OUT", help="Also write all tables here.")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="OUT", help="All tables as Markdown.")] = None,
    assignments: SetOption = None,
    search_file: SearchFileOption = None,
    help_search: HelpSearchOption = False,
    device: Annotated[str | None, typer.Option(help="Where to run; a GPU if not given and there is one.")] = None,
) -> None:
    """Say why a model writes what it writes: what it looked at, how sure it was, and whether its reasons hold.

    One sentence is explained word by word; of files, the steps that src and mt lead are counted.
    """
    outputs = {
        "--html": html,
        "--edits": edits,
        "--evidence": evidence,
        "--src-links": src_links,
        "--mt-links": mt_links,
        "--tags": tags,
        "--json": json_out,
        "--markdown": markdown,
    }
    check_outputs(outputs, (src, mt, pe, gold_links, gold_tags))
    if figures is not None and figures.exists() and not figures.is_dir():
        raise DataError(f"--figures: {figures} is a file; give the name of a folder")
    if device is not None:
        check_device(device, "--device")
    if not 0.5 <= threshold < 1.0:
        raise DataError(f"--threshold must be at least 0.5 and below 1, not {threshold:g}")
    if resume and evidence is None:
        raise DataError("--resume needs --evidence: only what is written there can be gone on with")
    from postedit.cli.tables import console, print_explanation, print_table
    from postedit.jobs import explain_files as job

    if evidence is not None:
        check_partial(evidence, resume=resume)
    texts = job.read_inputs(src, mt, pe, src_text, mt_text)
    if (tags or gold_tags or gold_links) and texts.mt is None:
        raise DataError("--tags, --gold-tags and --gold-links speak of words of mt: give --mt")
    drawn = job.parse_line_numbers(lines, len(texts.src)) if figures is not None else []
    wanted_links = job.read_gold_alignments(gold_links, texts)
    wanted_tags = job.read_gold_tags(gold_tags, texts)
    models, options = models_or_shipped(named), read_options(assignments, search_file)
    spec = EditorSpec(models, weights=options.ensemble.weights, space=options.ensemble.space or "log")
    editor = spec.load(device)
    editor.search = search_config(editor, {"n_best": 1, **options.search}, with_mt=texts.mt is not None)
    needed = any((figures, src_links, mt_links, gold_links))
    job.check_model(
        editor, texts, focus.value, _warn, attention=needed, gold_alignments=gold_links is not None, mask=mask
    )
    losses = cite is Cite.losses
    err = console(stderr=True)
    kept = None
    if evidence is not None:
        files = {"src": src, "mt": mt, "pe": pe}
        kept = job.open_evidence(evidence, editor, texts, files, losses=losses, resume=resume)
    found = job.explain_all(editor, texts, kept, err, losses=losses)
    tables = job.focus_tables(found, job.focus_measure(focus.value, found), threshold, resamples)
    if wanted_links is not None:
        tables.append(job.gold_alignment_table(editor, texts, wanted_links, kept, err))
    if wanted_tags is not None:
        tables.append(job.gold_tag_table(found, texts, wanted_tags))
    if mask:
        tables.append(job.evidence_table(editor, found, kept, cite.value, seed, resamples, err))

    if html is not None:
        _write(html, job.explanation_html(models, texts, found, tables))
    if edits is not None:
        _write(edits, job.edit_lines(found))
    for path, stream in ((src_links, "src"), (mt_links, "mt")):
        if path is not None:
            _write(path, job.alignment_lines(found, stream))
    if tags is not None:
        _write(tags, job.tag_lines(found, texts))
    if figures is not None:
        job.draw_figures(found, drawn, figures, _warn)
    if json_out is not None:
        values = {"tables": [table.to_dict() for table in tables]}
        _write(json_out, json.dumps(values, indent=2, ensure_ascii=False) + "\n")
    if markdown is not None:
        from postedit.evaluate.table import to_markdown

        _write(markdown, to_markdown(tables))
    if kept is not None:
        kept.finish()
    if len(found) == 1:  # last: the reader of a pipe may leave
        print_explanation(found[0], console())
    for table in tables:
        print_table(table, console())


def _warn(message: str) -> None:
    typer.echo(f"warning: {message}", err=True)


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text)
