"""`postedit explain`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from postedit.adapt.adaptation_config import Learning
from postedit.cli import output_files, shared
from postedit.cli.search_options import (
    HelpSearchOption,
    LearningOptions,
    SearchFileOption,
    SetOption,
    search_config,
)
from postedit.core.errors import DataError
from postedit.data.resumable_file import check_partial
from postedit.jobs.editor_spec import check_device
from postedit.releases.catalogue import default_model


def explain(
    named: shared.ModelsArgument = None,
    src: Annotated[Path | None, typer.Option(help="Source lines.")] = None,
    mt: Annotated[Path | None, typer.Option(help="Their machine translations, line by line.")] = None,
    pe: Annotated[
        Path | None, typer.Option(help="Human post-edits: adds tables by whether the edited words of mt were right.")
    ] = None,
    src_text: Annotated[str | None, typer.Option(metavar="TEXT", help="One source, in place of --src.")] = None,
    mt_text: Annotated[str | None, typer.Option(metavar="TEXT", help="Its machine translation.")] = None,
    html: shared.HtmlOption = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Attention and copying as NUMBER.png and NUMBER.svg.")
    ] = None,
    lines: Annotated[
        str | None, typer.Option(metavar="N,N-N...", help="Lines to draw, counted from 1; the first ten if not given.")
    ] = None,
    edits: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Each edit with confidence and evidence, one JSON record per line."),
    ] = None,
    evidence: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="All evidence, one JSON record per sentence, written as soon as it is known."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue after the sentences that an unfinished run left for --evidence.")
    ] = False,
    src_links: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Alignment of src and output (Pharaoh format), from attention.")
    ] = None,
    mt_links: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Alignment of mt and output, from attention.")
    ] = None,
    tags: Annotated[
        Path | None, typer.Option(metavar="OUT", help="OK or BAD for each gap and word of mt, from the model's edits.")
    ] = None,
    gold_links: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Alignment of src and mt, to score the model's alignment.")
    ] = None,
    gold_tags: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="OK and BAD for gaps and words of mt, to score the model's tags."),
    ] = None,
    focus: Annotated[
        Literal["auto", "attention", "occlusion"],
        typer.Option(
            help="Measure the weight of src by attention shared between src and mt, or by leaving out one of them."
        ),
    ] = "auto",
    threshold: Annotated[
        float,
        typer.Option(metavar="T", help="A step is led by src if its weight exceeds T, by mt if it is below 1 - T."),
    ] = 0.6,
    cite: Annotated[
        Literal["losses", "attention"],
        typer.Option(
            help="Cite the source words without which the edit loses probability, or those with most attention."
        ),
    ] = "losses",
    mask: Annotated[
        bool,
        typer.Option(
            "--mask", help="Test the evidence: remove the cited source words and check whether the edits disappear."
        ),
    ] = False,
    seed: shared.SeedOption = 1,
    resamples: shared.ResamplesOption = 10_000,
    json_out: shared.JsonOption = None,
    markdown: shared.MarkdownOption = None,
    protect: shared.ProtectOption = "all",
    glossary: shared.GlossaryOption = None,
    endpoint: shared.EndpointOption = None,
    budget: shared.BudgetOption = None,
    memory: shared.MemoryOption = None,
    learn: Annotated[Learning, typer.Option(hidden=True, help="How a neural model learns from the memory.")] = "auto",
    assignments: SetOption = None,
    search_file: SearchFileOption = None,
    help_search: HelpSearchOption = False,
    device: Annotated[str | None, typer.Option(help="Device, such as cuda:0; a GPU if not given.")] = None,
) -> None:
    """Explain why a model edits: what it attended to, how sure it was, and whether the evidence holds.

    A single sentence is explained word by word; for files, the steps led by src and those led by mt are counted. A
    phrase-based model names the corrections in --memory and the training triplets behind each edit; for files, edits
    are counted by reason.
    """
    outputs = {"--html": html, "--edits": edits, "--evidence": evidence, "--src-links": src_links}
    outputs |= {"--mt-links": mt_links, "--tags": tags, "--json": json_out, "--markdown": markdown}
    options = LearningOptions.read(assignments, search_file, llm={"endpoint": endpoint, "budget": budget})
    inputs = (src, mt, pe, gold_links, gold_tags, search_file, *options.paths)
    output_files.check_outputs(outputs, (*inputs, *shared.files_named(glossary, memory)))
    if figures is not None and figures.exists() and not figures.is_dir():
        raise DataError(f"--figures: {figures} is a file; give the name of a folder")
    if device is not None:
        check_device(device, "--device")
    if not 0.5 <= threshold < 1.0:
        raise DataError(f"--threshold must be at least 0.5 and below 1, not {threshold:g}")
    if resume and evidence is None:
        raise DataError("--resume needs --evidence: only what is written there can be continued")
    from postedit.cli.tables import console, print_explanation, print_table
    from postedit.evaluate.table import to_markdown
    from postedit.jobs import explain_files as job

    if evidence is not None:
        check_partial(evidence, resume=resume)
    texts = job.read_inputs(src, mt, pe, src_text, mt_text)
    if (tags or gold_tags or gold_links) and texts.mt is None:
        raise DataError("--tags, --gold-tags and --gold-links refer to words of mt: give --mt")
    drawn = job.parse_line_numbers(lines, len(texts.src))
    wanted_links = job.read_gold_alignments(gold_links, texts)
    wanted_tags = job.read_gold_tags(gold_tags, texts)
    models = shared.chosen_models(named)
    kinds, terms = shared.kinds_to_protect(protect), shared.read_glossary(glossary)
    learnt = options.memory_spec(memory, learn)
    spec = options.editor_spec(models, protect=kinds, glossary=terms, memory=learnt)
    editor = spec.load(device)
    editor.search = search_config(editor, {"n_best": 1, **options.search}, with_mt=texts.mt is not None)
    attention = any((figures, src_links, mt_links, gold_links))
    job.check_model(
        editor, texts, focus, shared.warn, attention=attention, gold_alignments=gold_links is not None, mask=mask
    )
    if texts.mt is not None:
        shared.warn_if_swapped(editor, texts.src, texts.mt)
    if figures is not None:
        job.make_folder(figures)
    files = {"src": src, "mt": mt, "pe": pe}
    kept = None
    if evidence:
        edited_by = spec.job(editor, editor.search, "jsonl")
        kept = job.open_evidence(evidence, edited_by, texts, files, cite, resume=resume)
    shared.announce_models(named)
    with shared.usage_printed(spec.endpoint, editor):
        found = job.Explanations.of(editor, texts, kept, console(stderr=True), cite, shared.warn)
    tables = found.focus_tables(focus, threshold, resamples)
    if wanted_links is not None:
        tables.append(found.gold_alignment_table(wanted_links))
    if wanted_tags is not None:
        tables.append(found.gold_tag_table(wanted_tags))
    if mask:
        tables.append(found.masking_table(cite, seed, resamples))

    output_files.write_wanted(
        [
            (html, lambda: found.page(named or [default_model().name], tables)),
            (edits, found.edit_lines),
            (src_links, lambda: found.alignment_lines("src")),
            (mt_links, lambda: found.alignment_lines("mt")),
            (tags, found.tag_lines),
            (json_out, lambda: {"tables": [table.to_dict() for table in tables]}),
            (markdown, lambda: to_markdown(tables)),
        ]
    )
    if figures is not None:
        found.draw(drawn, figures, shared.warn)
    if kept is not None:
        kept.finish()
    if len(found.sentences) == 1:  # last: the reader of a pipe may leave
        print_explanation(found.sentences[0], console())
    for table in tables:
        print_table(table, console())
