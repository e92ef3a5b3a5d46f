"""`postedit edit`: correct lines of text or translation files."""

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from postedit.adapt.adaptation_config import Learning
from postedit.cli import output_files, shared
from postedit.cli import search_options as options
from postedit.cli.edit_command import EditCommand
from postedit.cli.edit_files import edit_files, split_inputs
from postedit.cli.edit_lines import edit_lines
from postedit.core.errors import DataError
from postedit.core.processes import IN_THIS_PROCESS
from postedit.data.text_paths import located
from postedit.jobs import editing as job
from postedit.jobs.editor_spec import worker_devices

_file = partial(typer.Option, rich_help_panel="Files")
_text = partial(_file, parser=located, metavar="FILE|URL")
_gate = partial(typer.Option, rich_help_panel="Reverting edits")
_speed = partial(typer.Option, rich_help_panel="Speed")


def edit(
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL|FILE",
            help=f"{shared.MODELS_HELP} Translation files, and folders of them, are edited; without MODEL, with the "
            "model for their languages.",
        ),
    ] = None,
    src: Annotated[Path | None, _text(help="Source lines. Without --src and --mt: src<TAB>mt on stdin.")] = None,
    mt: Annotated[
        Path | None, _text(help="Their machine translations; models that translate or draft need none.")
    ] = None,
    out: Annotated[Path | None, _text(help="Output; stdout if not given.")] = None,
    form: Annotated[
        job.OutputFormat,
        _file(
            "--format",
            help="text: the corrected lines; jsonl: also scores and edits (of translation files, beside the copies).",
        ),
    ] = "text",
    force: Annotated[
        Path | None, _file(hidden=True, help="Score these outputs, one per line, instead of editing; writes jsonl.")
    ] = None,
    resume: Annotated[bool, _file("--resume", help="Continue an interrupted run.")] = False,
    beam: Annotated[int | None, typer.Option(rich_help_panel=options.PANEL, help=options.field_help("beam"))] = None,
    n_best: Annotated[
        int | None,
        typer.Option(hidden=True, help=f"{options.field_help('n_best')} Needs --format jsonl."),
    ] = None,
    passes: Annotated[
        int,
        typer.Option(
            min=1, hidden=True, help="Edit the output again until it no longer changes, at most N passes in all."
        ),
    ] = 1,
    assignments: options.SetOption = None,
    search_file: options.SearchFileOption = None,
    help_search: options.HelpSearchOption = False,
    gate: Annotated[
        Path | None, _gate(metavar="FILE", help="Gate from `postedit gate`: reverts doubtful edits.")
    ] = None,
    min_confidence: Annotated[
        float,
        _gate(
            min=0.0,
            max=1.0,
            help="Revert edits below this probability: under the model or, with --gate, of making mt better.",
        ),
    ] = 0.0,
    protect: shared.ProtectOption = "all",
    glossary: shared.GlossaryOption = None,
    endpoint: Annotated[str | None, typer.Option(metavar="URL", hidden=True, help=shared.ENDPOINT_HELP)] = None,
    budget: Annotated[float | None, typer.Option(metavar="COST", hidden=True, help=shared.BUDGET_HELP)] = None,
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate", hidden=True, help="Print what openai:MODEL would cost and how long it would take, and exit."
        ),
    ] = False,
    memory: shared.MemoryOption = None,
    learn: Annotated[Learning, typer.Option(hidden=True, help="How a neural model learns from the memory.")] = "auto",
    dtype: shared.DtypeOption = "float32",
    workers: Annotated[
        int | None,
        _speed(min=1, help="Number of processes, which share the cores of the CPU, or of workers in the cluster."),
    ] = None,
    devices: Annotated[
        str | None, _speed(help="Devices, such as cuda:0,cuda:1, with one process each; a GPU if not given.")
    ] = None,
    engine: Annotated[shared.Engine, _speed(hidden=True, help="Where to work: local, or ray.")] = "local",
    address: Annotated[
        str | None,
        _speed(metavar="HOST:PORT", envvar="RAY_ADDRESS", hidden=True, help="Address of the Ray cluster."),
    ] = None,
) -> None:
    r"""Correct machine translations, line by line or in translation files (XLIFF, TMX, PO).

    postedit edit MODEL --src FILE --mt FILE --out FILE

    postedit edit MODEL project.xliff --out corrected.xliff

    postedit edit openai:MODEL --endpoint URL ... edits with a language model; --budget COST limits the cost, and
    --estimate prints the expected cost and exits.

    Options for research: --n-best N (search.n_best) writes up to N outputs of each line; --passes N edits the output
    again until it no longer changes, in at most N passes in all; --force FILE scores the outputs of another system
    instead of editing. `postedit simulate --help` explains --learn.

    --engine ray edits in a Ray cluster (pip install 'postedit\[ray]'): the one at --address HOST:PORT or, without an
    address, one that is started on this machine.
    """
    # Without --out, or with --src, a folder can only be a model, even if it is a damaged one.
    named, files = split_inputs(named, folders=out is not None and src is None)
    flags, llm = {"beam": beam, "n_best": n_best}, {"endpoint": endpoint, "budget": budget}
    chosen = options.LearningOptions.read(assignments, search_file, flags, llm, windows=True)
    if files:
        for option, value in (("--src", src), ("--mt", mt), ("--force", force), ("--n-best", n_best)):
            if value is not None:
                raise DataError(f"{option} is for lines of text; it cannot be combined with {files[0]}")
    named_files = shared.files_named(glossary, memory)
    if not files or (out is not None and out.is_file()):
        output_files.check_outputs({"--out": out}, (src, mt, force, search_file, gate, *chosen.paths, *named_files))
    languages = ("", "")
    if files and not named:
        from postedit.jobs.translation_files import common_languages

        languages = common_languages(files, chosen.files)
    spec = chosen.editor_spec(
        shared.chosen_models(named, languages),
        dtype=dtype,
        gate=gate,
        min_confidence=min_confidence,
        protect=shared.kinds_to_protect(protect),
        glossary=shared.read_glossary(glossary),
        memory=chosen.memory_spec(memory, learn),
        passes=passes,
    )
    form = "jsonl" if force else form
    places = worker_devices(None if engine == "ray" else workers, devices)
    if engine == "ray" and devices is not None:
        raise DataError("--devices is for this machine; Ray assigns GPUs to its workers: leave out --devices")
    executor = shared.executor_of(engine, address, workers, len(places), multithreaded=True, on_gpus=True)
    if spec.endpoint is not None and executor != IN_THIS_PROCESS:
        raise DataError("one process sends all requests to an endpoint: set llm.concurrency in place of processes")
    if estimate and spec.endpoint is None:
        raise DataError("--estimate is for models behind an endpoint (openai:MODEL): others cost nothing")
    announce = partial(shared.announce_models, named, languages)
    with nullcontext() if out is None else output_files.written_to(out) as here:
        known = shared.languages_of(named, languages)
        command = EditCommand(spec, chosen, here, form, resume, executor, places, estimate, known)
        if files:
            edit_files(command, files, announce)
        else:
            edit_lines(command, src, mt, force, announce)
