"""`postedit score`."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from postedit.cli import output_files, shared
from postedit.core.errors import DataError
from postedit.data.text_paths import located

if TYPE_CHECKING:
    from postedit.core.saved_arrays import SavedArrays
    from postedit.data.stored_lines import StoredLines
    from postedit.evaluate.table import Table
    from postedit.evaluate.test_set import EvaluatedSystem, TestSet
    from postedit.evaluate.tokenisation import Tokenize


_text = partial(typer.Option, parser=located, metavar="FILE|URL")


def score(
    hypotheses: Annotated[
        list[Path], typer.Argument(metavar="HYP", parser=located, help="Outputs of one or more systems: files or URLs.")
    ],
    pe: Annotated[Path, _text(help="The human post-edits.")],
    mt: Annotated[
        Path | None, _text(help="The machine translations: adds unedited MT and an analysis of changes.")
    ] = None,
    src: Annotated[Path | None, _text(help="The sources: for the report, COMET and --summaries.")] = None,
    groups: Annotated[
        Path | None, _text(help="A label for each line, such as its MT system: adds scores by label.")
    ] = None,
    tokenize: shared.TokenizeOption = "none",
    everything: Annotated[
        bool, typer.Option("--all", help="Also print the scores by bucket, which the output files always contain.")
    ] = False,
    summaries: Annotated[
        bool,
        typer.Option(
            "--summaries",
            help="Add ROUGE, and the shares of n-grams that are repeated and that are not in --src (or --mt).",
        ),
    ] = False,
    stem: Annotated[bool, typer.Option("--stem", help="ROUGE of --summaries compares stems of English words.")] = False,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Add case-insensitive BLEU.")] = False,
    comet: Annotated[
        list[str] | None,
        typer.Option(help="Add the score of this COMET model (by comet-score; needs --src); may be repeated."),
    ] = None,
    seeds: Annotated[
        bool,
        typer.Option(
            "--seeds",
            help="Outputs whose names differ only in the number after seed- are those of trainings of one system: add "
            "the means, standard deviations and differences of systems, in place of comparisons of single trainings.",
        ),
    ] = False,
    resamples: shared.ResamplesOption = 10_000,
    json_out: shared.JsonOption = None,
    csv_out: Annotated[
        Path | None, typer.Option("--csv", parser=located, metavar="OUT", help="All tables, one value per line.")
    ] = None,
    latex: Annotated[
        Path | None, typer.Option(parser=located, metavar="OUT", help="All tables for LaTeX (booktabs).")
    ] = None,
    markdown: shared.MarkdownOption = None,
    html: shared.HtmlOption = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue from the counts that an interrupted command saved beside its output."),
    ] = False,
    workers: shared.ProcessesOption = None,
    engine: shared.EngineOption = "local",
    address: shared.AddressOption = None,
) -> None:
    """Score outputs, and the unedited MT, against post-edits by TER (case-sensitive), BLEU and chrF.

    Further tables show which edits were made, how many were needed, and which differences of systems are significant.
    """
    outs = {"--json": json_out, "--csv": csv_out, "--latex": latex, "--markdown": markdown, "--html": html}
    output_files.check_outputs(outs, (pe, mt, src, groups, *hypotheses))
    if summaries and src is None and mt is None:
        raise DataError("--summaries compares outputs with their inputs: give --src (or --mt)")
    if stem and not summaries:
        raise DataError("--stem is for ROUGE: give --summaries too")
    if comet and src is None:
        raise DataError("--comet needs the sources: give --src")
    first_out = next(filter(None, outs.values()), None)
    if resume and first_out is None:
        raise DataError("--resume continues after counts kept beside an output: name one, such as --json FILE")
    from postedit.cli.tables import console, print_scores, print_table
    from postedit.data.blocks import workers_for
    from postedit.data.stored_lines import store_aligned
    from postedit.evaluate import analyses
    from postedit.evaluate.seed_scores import trainings_of
    from postedit.evaluate.significance import MIN_SENTENCES, too_few
    from postedit.evaluate.table import to_csv, to_latex, to_markdown
    from postedit.evaluate.test_set import TestSet, evaluate_systems
    from postedit.llm.usage_report import read_report, report_beside, usage_tables
    from postedit.progress import LineProgress

    if seeds:
        trainings_of(list(dict.fromkeys(map(str, hypotheses))))
    texts = store_aligned(pe, *filter(None, (mt, src, groups)), *hypotheses)
    lines = {name: texts[path] if path else None for name, path in (("mt", mt), ("src", src), ("groups", groups))}
    test = TestSet(texts[pe], lines["mt"], lines["src"], lines["groups"], tokenize)
    warnings = _warnings(texts, [*([mt] if mt else []), *hypotheses], pe, tokenize)
    if len(test.pe) < MIN_SENTENCES:
        warnings.append(f"{too_few(len(test.pe))} systems: there are no intervals and no p-values")
    twice = sorted({str(path) for path in hypotheses if hypotheses.count(path) > 1})
    warnings += [f"{path} is given more than once; it is one row of the tables" for path in twice]
    for warning in warnings:
        shared.warn(warning)
    outputs = {str(path): texts[path] for path in hypotheses}
    usage = {str(path): found for path in hypotheses if (found := read_report(report_beside(path)))}
    total = len(test.pe) * (len(outputs) + (mt is not None))
    executor = shared.executor_of(engine, address, workers, workers_for(total, workers))
    with LineProgress(console(stderr=True), total) as progress:
        saved = _saved(first_out, texts, tokenize, (pe, mt, groups, *hypotheses), resume=resume)
        try:
            systems = evaluate_systems(test, outputs, progress.update, executor, saved)
        except KeyboardInterrupt:
            if saved is None or not saved.is_saved:
                raise
            how = f"counts are kept in {saved.path}; continue with the same command and --resume"
            raise KeyboardInterrupt(f"stopped; {how}") from None
    scores = [system.scores for system in systems]
    tables = [analyses.edits_left(systems)]
    if mt is not None:
        tables = [analyses.faithfulness(systems), *tables, analyses.edits_saved(systems), analyses.edits_made(systems)]
    compared = analyses.compared(systems, test.tokenize, resamples)
    significance = analyses.significance(systems, compared)
    tables += [*significance, *(analyses.over_seeds(systems, compared) if seeds else ())]
    if summaries:
        source = test.src if test.src is not None else test.mt or ()
        tables += analyses.summaries(systems, test, source, stem=stem, resamples=resamples)
    if lowercase:
        tables.append(analyses.lowercase_bleu(systems, test))
    tables += _neural(systems, test, comet or ())
    tables += usage_tables(usage)
    buckets = analyses.by_bucket(systems)
    hidden = [] if everything else [*buckets, *(significance[1:] if seeds else ())]
    shown = [table for table in (*tables, *buckets) if table not in hidden]
    tables = [analyses.overview(scores), *tables, *buckets, analyses.signatures(scores)]

    def values() -> dict[str, object]:
        plain = {"systems": [one.to_dict() for one in scores], "warnings": warnings}
        return {**plain, "tables": [one.to_dict() for one in tables]}

    def page() -> str:
        from postedit.explain.score_page import score_page

        pairs = next((table for table in tables if table.name == "significance of TER"), None)
        verdicts = analyses.verdicts(systems, pairs) if pairs else []
        return score_page(f"Scores against {pe.name}", test, systems, tables, warnings, verdicts)

    output_files.write_wanted(
        [
            (json_out, values),
            (csv_out, lambda: to_csv(tables)),
            (latex, lambda: to_latex(tables)),
            (markdown, lambda: to_markdown(tables)),
            (html, page),
        ]
    )
    if saved is not None:
        saved.discard()
    print_scores(scores, console())  # last: the reader of a pipe may close it
    for table in shown:
        print_table(table, console())


_LOOKED_AT: Final = 100_000
"""Number of lines, from the first, that are checked for signs of how a text is tokenised; more would add nothing."""


def _warnings(texts: Mapping[Path, Sequence[str]], paths: Sequence[Path], pe: Path, tokenize: "Tokenize") -> list[str]:
    from postedit.evaluate.tokenisation import tokenisation_differences, unexpected_tokenisation

    reference = texts[pe][:_LOOKED_AT]
    warnings = unexpected_tokenisation(str(pe), reference, tokenize)
    for path in dict.fromkeys(paths):
        spaces = tokenize != "characters"
        warnings += tokenisation_differences(str(path), texts[path][:_LOOKED_AT], str(pe), reference, spaces=spaces)
    return warnings


def _saved(
    out: Path | None, texts: "Mapping[Path, StoredLines]", tokenize: str, inputs: Sequence[Path | None], *, resume: bool
) -> "SavedArrays | None":
    """Return the store of the counts beside an output, from which --resume continues; None without such an output."""
    from postedit import __version__
    from postedit.core.saved_arrays import SavedArrays
    from postedit.evaluate.test_set import PART

    path = output_files.beside(out, ".partial")
    if path is None:
        return None
    digests = [None if path is None else texts[path].sha256 for path in inputs]
    job = {"postedit": __version__, "--tokenize": tokenize, "part": PART, "texts": digests}
    return SavedArrays(path, job, resume=resume)


def _neural(systems: "Sequence[EvaluatedSystem]", test: "TestSet", models: Sequence[str]) -> "list[Table]":
    """Return the scores of COMET models; skip those that are not available, with a warning."""
    from postedit.evaluate.comet import Comet, UnavailableError
    from postedit.evaluate.table import Column, Table, TableRow

    tables = []
    for model in models:
        try:
            values = Comet(model).score([system.outputs for system in systems], test.src or (), test.pe)
        except UnavailableError as error:
            shared.warn(f"{model} is skipped: {error}")
            continue
        rows = tuple(TableRow((system.name,), (value,)) for system, value in zip(systems, values, strict=True))
        tables.append(Table(f"COMET, {model}", ("system",), (Column("COMET", 4),), rows, "Mean over sentences."))
    return tables
