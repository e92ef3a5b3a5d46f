"""`postedit gate`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from postedit.cli.outputs import check_outputs
from postedit.cli.search_options import HelpSearchOption, SearchFileOption, SetOption, read_options, search_config
from postedit.jobs.editing import Dtype, EditorSpec, silence_library

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from rich.console import Console

    from postedit.gate.calibrate import Calibrated


class What(StrEnum):
    """What a gate decides on."""

    auto = "auto"
    sentence = "sentence"
    edit = "edit"


def gate(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL...", help="What `postedit edit` will be given, in the same order."),
    ],
    src: Annotated[
        Path, typer.Option(help="Source lines of a development set that no model was trained on, or chosen by.")
    ],
    mt: Annotated[Path, typer.Option(help="Their machine translations.")],
    pe: Annotated[Path, typer.Option(help="Their post-edits by people.")],
    out: Annotated[Path, typer.Option(help="The gate to write, a JSON file for `postedit edit --gate`.")],
    level: Annotated[
        What, typer.Option(help="Decide on whole lines, on each edit, or as is better on the development set.")
    ] = What.auto,
    confidence: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="That TER behind the gate is not above that of doing nothing.")
    ] = 0.95,
    plot: Annotated[Path | None, typer.Option(metavar="PNG", help="Where to write the reliability diagram.")] = None,
    assignments: SetOption = None,
    search_file: SearchFileOption = None,
    help_search: HelpSearchOption = False,
    dtype: Annotated[Dtype, typer.Option(help="Type of the weights, as for `postedit edit`.")] = Dtype.float32,
    seed: Annotated[int, typer.Option(min=0, help="Of the division of the development set.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run.")] = False,
) -> None:
    """Learn which edits of a model to keep, so that its output is not worse than the machine translation.

    One part of the development set teaches, the other tests. Where nothing passes the test, the gate stays closed: what
    comes out is mt. What it promises holds for text like that of the development set.
    """
    check_outputs({"--out": out, "--plot": plot}, (src, mt, pe))
    from postedit.cli.tables import console
    from postedit.core.errors import library
    from postedit.data.lines import DevTexts
    from postedit.data.resumable_file import file_fingerprint
    from postedit.editing.combination import is_combination
    from postedit.gate.calibrate import GateOptions, draw_reliability
    from postedit.jobs.dev_overlap import uses_of
    from postedit.jobs.gating import judge_lines, make_gate, note_of

    library("sklearn.linear_model", "making a gate", "gate")
    dev = DevTexts.read(src, mt, pe)
    texts = {"src": file_fingerprint(src), "mt": file_fingerprint(mt), "pe": file_fingerprint(pe)}
    options = read_options(assignments, search_file)
    err, ensemble = console(stderr=True), options.ensemble
    silence_library()
    editor = EditorSpec(models, dtype, ensemble.weights, ensemble.space or "log").load(None)
    paths = [Path(model) for model in models if Path(model).exists() and not is_combination(model)]
    known = {path: uses_of(dev, path) for path in paths}
    _warn_of_known(known, err)
    search = search_config(editor, {"n_best": 1, **options.search}, with_mt=True)
    identity = editor.identity(search)
    job = {"model": list(identity.models), "search settings": repr(identity.settings), "texts": texts}
    kept = out.with_name(f"{out.name}.judged")
    judged = judge_lines(editor, search, dev, kept, job, err, resume=resume)
    about = {"texts": texts, "models had the lines for": sorted(set().union(*known.values()))}
    made, found = make_gate(editor, search, dev, judged, GateOptions(level.value, confidence, seed=seed), about)
    made.save(out)
    if plot is not None:
        draw_reliability(found.forecasts, plot)
    for path in (kept, note_of(kept)):
        path.unlink()
    _report(found, confidence, err)
    err.print(f"Wrote {out}", soft_wrap=True, highlight=False)


def _warn_of_known(known: "Mapping[Path, AbstractSet[str]]", err: "Console") -> None:
    for model, uses in known.items():
        if uses:
            what = "was trained on these lines" if "train" in uses else "was chosen by its scores on these lines"
            err.print(
                f"[yellow]{escape(str(model))} {what}[/], or one that it started from was: it does better on them than "
                "it will on others, so this gate promises nothing. Make it of lines that are new to the model",
                soft_wrap=True,
                highlight=False,
            )


def _report(found: "Calibrated", confidence: float, err: "Console") -> None:
    from postedit.gate.calibrate import expected_calibration_error, is_learnt

    rule = found.rule
    if rule.threshold is None:
        err.print(
            f"[yellow]The gate is closed:[/] on {found.lines:,} lines no choice of edits could be shown to be better "
            f"than doing nothing with a confidence of {confidence:.1%}; `postedit edit` with it returns mt",
            soft_wrap=True,
            highlight=False,
        )
    else:
        what = "edits" if rule.level == "edit" else "lines"
        err.print(
            f"The gate lets {what} pass that make mt better with a probability of {rule.threshold:.2f} or more, and at "
            f"most {rule.longest} words in a line",
            soft_wrap=True,
            highlight=False,
        )
    error = f"expected calibration error {expected_calibration_error(found.forecasts):.3f}"
    if not is_learnt(rule):
        error = "too few changes for better or for worse to learn from, so that its probabilities say nothing"
    err.print(
        f"On the {found.lines:,} lines of the test: {found.gain:+.3f} TER edits saved a line, {found.ungated:+.3f} "
        f"without gate; {error}",
        soft_wrap=True,
        highlight=False,
    )
    err.print(
        "This holds for text like that of the development set, if no model was trained on it, or chosen by it",
        soft_wrap=True,
        highlight=False,
    )
