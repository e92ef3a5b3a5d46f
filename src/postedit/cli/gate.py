"""`postedit gate`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from postedit.cli import output_files, shared
from postedit.cli.search_options import CommandOptions, HelpSearchOption, SearchFileOption, SetOption, search_config
from postedit.core.errors import OutputError
from postedit.core.output_paths import is_stream
from postedit.core.wording import counted
from postedit.jobs.editing import silence_library

if TYPE_CHECKING:
    from postedit.gate.calibrate import Calibrated


def gate(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL", help="The models that `postedit edit` will be given, in the same order."),
    ],
    src: Annotated[Path, typer.Option(help="Source lines of a dev set that no model was trained on or selected by.")],
    mt: shared.DevMtOption,
    pe: shared.DevPeOption,
    out: Annotated[Path, typer.Option(help="The gate to write, a JSON file for `postedit edit --gate`.")],
    level: Annotated[
        Literal["auto", "sentence", "edit"],
        typer.Option(help="Decide on whole lines, on each edit, or on whichever is better on the dev set."),
    ] = "auto",
    tokenize: shared.TokenizeOption = "none",
    confidence: Annotated[
        float,
        typer.Option(min=0.5, max=0.999, help="Confidence that TER with the gate is not above that of unedited MT."),
    ] = 0.95,
    plot: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Where to write the reliability diagram: .png, .svg or .pdf.")
    ] = None,
    assignments: SetOption = None,
    search_file: SearchFileOption = None,
    help_search: HelpSearchOption = False,
    protect: shared.ProtectOption = "all",
    glossary: shared.GlossaryOption = None,
    endpoint: shared.EndpointOption = None,
    budget: shared.BudgetOption = None,
    dtype: shared.DtypeOption = "float32",
    seed: shared.SeedOption = 1,
    resume: shared.ResumeOption = False,
) -> None:
    """Learn which edits of a model to keep, so that its output is, with a given confidence, no worse than mt.

    The gate is learnt on one part of the dev set and tested on the rest. If no gate passes the test, it stays
    closed: the output is mt. The test holds for text like that of the dev set.
    """
    options = CommandOptions.read(assignments, search_file, llm={"endpoint": endpoint, "budget": budget})
    options.check_revertible("gates")
    inputs = (src, mt, pe, search_file, *options.paths, *shared.files_named(glossary, None))
    output_files.check_outputs({"--out": out, "--plot": plot}, inputs)
    output_files.check_picture("--plot", plot)
    from postedit.cli.tables import console
    from postedit.core.errors import library
    from postedit.data.lines import DevTexts
    from postedit.data.resumable_file import PartialFile, check_partial, file_fingerprint, recorded_job
    from postedit.gate.calibrate import ENOUGH_LINES, GateOptions, draw_reliability
    from postedit.jobs.dev_overlap import uses_of
    from postedit.jobs.gating import judge_lines, make_gate

    library("sklearn.linear_model", "making a gate", "gate")
    whole = DevTexts.read(src, mt, pe)
    dev = whole.different
    if repeated := len(whole.src) - len(dev.src):
        shared.warn(
            f"{repeated:,} of {len(whole.src):,} lines have the source and machine translation of an earlier one; they "
            "are left out, because the test needs lines that are independent of those that the gate is learnt on"
        )
    texts = {"src": file_fingerprint(src), "mt": file_fingerprint(mt), "pe": file_fingerprint(pe)}
    if len(dev.src) < ENOUGH_LINES:
        shared.warn(
            f"{counted(len(dev.src), 'line is', 'lines are')} few: the test may keep the gate of a good model closed, "
            f"especially if the model changes few lines; {ENOUGH_LINES} or more are better"
        )
    shared.warn_of_words(pe, dev.pe, tokenize)
    silence_library()
    kinds, terms = shared.kinds_to_protect(protect), shared.read_glossary(glossary)
    spec = options.editor_spec(models, dtype=dtype, protect=kinds, glossary=terms)
    if is_stream(out):
        raise OutputError(f"{out}: is a stream, and no other file can be kept beside it; give a file")
    kept = out.with_name(f"{out.name}.judged")
    if spec.endpoint is not None:  # what an interrupted run has cost counts towards the budget
        spec = replace(spec, endpoint=spec.endpoint.continued(recorded_job(kept) if resume else {}))
    known_job = {
        "dev set": texts,
        "choice of words (--tokenize)": tokenize,
        **({} if spec.endpoint is None else spec.endpoint.job),
    }
    check_partial(kept, resume=resume, known=known_job)
    editor = spec.load(None)
    shared.warn_if_swapped(editor, dev.src, dev.mt)
    known = {model: uses_of(whole, model) for model in models}
    for model, uses in known.items():
        if uses:
            how = "was trained on" if "train" in uses else "was selected by its scores on"
            shared.warn(
                f"{model}, or a model that it was made from, {how} these lines: it does better on them than on others, "
                "so this gate promises nothing. Use lines that are new to the model"
            )
    search = search_config(editor, {"n_best": 1, **options.search}, with_mt=True)
    identity = editor.identity(search)
    job = {"model": list(identity.models), "search settings": repr(identity.settings), **known_job}
    file = PartialFile(kept, job, resume=resume)
    with shared.usage_printed(spec.endpoint, editor):
        judged = judge_lines(editor, search, dev, file, console(stderr=True), tokenize=tokenize)
    about = {"texts": texts, "models had the lines for": sorted(set().union(*known.values()))}
    made, found = make_gate(editor, search, dev, judged, GateOptions(level, confidence, seed=seed), about, tokenize)
    made.save(out)
    if plot is not None:
        draw_reliability(found.forecasts, plot)
    file.discard()
    typer.echo(_report(found, confidence), err=True)
    typer.echo(f"Wrote {out}", err=True)


def _report(found: "Calibrated", confidence: float) -> str:
    from postedit.gate.calibrate import expected_calibration_error, is_learnt

    rule, lines = found.rule, counted(found.lines, "line")
    most = counted(rule.longest, "character" if rule.tokenize == "characters" else "word")
    if rule.threshold is None:
        where = "the lines to learn from, no choice of edits was better than unedited MT, so none was tested"
        if found.tested:
            where = f"{lines}, no choice of edits was better than unedited MT with a confidence of "
            where += f"{confidence:.1%}"
        passes = f"The gate is closed: on {where}; `postedit edit` with it returns mt"
    else:
        passes = (
            f"The gate lets {'edits' if rule.level == 'edit' else 'lines'} pass that make mt better with a probability "
            f"of {rule.threshold:.2f} or more, and at most {most} in a line"
        )
    error = f"expected calibration error {expected_calibration_error(found.forecasts):.3f}"
    if not is_learnt(rule):
        error = "too few changes for better or for worse to learn from, so all have the same probability"
    return (
        f"{passes}\nOn the {lines} of the test: {found.gain:+.3f} TER edits saved per line, "
        f"{found.ungated:+.3f} without gate; {error}\n"
        "This holds for text like that of the dev set, if no model was trained on it or selected by it"
    )
