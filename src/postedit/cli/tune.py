"""`postedit tune`."""

import shutil
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from postedit.cli.outputs import check_outputs
from postedit.cli.score import Tokenize
from postedit.cli.search_options import HelpSearchOption, SearchFileOption, SetOption, read_options, search_config
from postedit.core.errors import DataError, OutputError
from postedit.core.files import atomic_write

_BEAM: Final = 10
"""Hypotheses kept, and length of the n-best lists, unless search.beam says otherwise."""


class Metric(StrEnum):
    """What is tuned for."""

    ter = "ter"
    bleu = "bleu"


class Method(StrEnum):
    """How weights are searched for on n-best lists."""

    mert = "mert"
    mira = "mira"


def tune(
    models: Annotated[
        list[str],
        typer.Argument(metavar="MODEL...", help="Model folders, or files of weights (RUN/best/*.safetensors)."),
    ],
    src: Annotated[Path, typer.Option(help="Source lines of the development set.")],
    mt: Annotated[Path, typer.Option(help="Their machine translations.")],
    pe: Annotated[Path, typer.Option(help="Their post-edits by people.")],
    out: Annotated[Path, typer.Option(help="The combination to write, which `postedit edit` takes as a model.")],
    metric: Annotated[Metric, typer.Option(help="What the weights shall improve.")] = Metric.ter,
    method: Annotated[
        Method, typer.Option(help="mert: exact search along lines; mira: small corrections.")
    ] = Method.mert,
    rounds: Annotated[int, typer.Option(min=1, help="New n-best lists with new weights, at most.")] = 5,
    restarts: Annotated[
        int | None, typer.Option(min=0, help="Random points that mert starts from; 20 if not given.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is random.")] = 1,
    assignments: SetOption = None,
    search_file: SearchFileOption = None,
    help_search: HelpSearchOption = False,
    free_src: Annotated[
        bool, typer.Option("--exempt-src", help="The post-editing penalty does not count words of src.")
    ] = False,
    tokenize: Annotated[Tokenize, typer.Option(help="For the metric, as of `postedit score`.")] = Tokenize.none,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run.")] = False,
) -> None:
    """Combine models: find the weights of their scores, of length and of the post-editing penalty.

    The development set chooses the weights, so its scores flatter them: report those of another set.
    """
    if restarts is not None and method is Method.mira:
        raise DataError("--restarts is of --method mert; mira starts once")
    given = read_options(assignments, search_file)
    if given.ensemble.weights:
        raise DataError("ensemble.weights are what tuning finds; leave them out")
    if given.ensemble.space and len(models) == 1:
        raise DataError("ensemble.space says what an ensemble averages: give several models with it")
    check_outputs({"--out": out}, (src, mt, pe))
    folder = _work_folder(out, resume=resume)
    from postedit.cli.tables import console, print_scores
    from postedit.data.lines import DevTexts
    from postedit.editing.combination import Combination, Member, is_combination
    from postedit.editing.post_editor import PostEditor
    from postedit.evaluate.metrics import additive_metric
    from postedit.evaluate.scores import score_systems
    from postedit.search.rescoring import LogLinear
    from postedit.tuning import rounds as tuning

    combinations = [model for model in models if is_combination(model)]
    if combinations:
        raise DataError(f"{combinations[0]}: is a combination or another file; name its models one by one")
    dev = DevTexts.read(src, mt, pe)
    members = [Member.of(Path(model)) for model in models]
    options = tuning.TuneOptions(
        method.value,
        rounds,
        20 if restarts is None else restarts,
        seed,
        given.ensemble.space or "log",
        ("mt", "src") if free_src else ("mt",),
    )
    judge = additive_metric(metric.value, tokenize.value)
    job: dict[str, Any] = {
        "models": [member.fingerprint for member in members],
        "texts": _fingerprints(src, mt, pe),
        "metric": [metric.value, tokenize.value],
        "search": repr(given.search),
        "options": repr(options),
    }
    loaded = PostEditor.load(*models)
    editor = loaded if isinstance(loaded, PostEditor) else loaded.second
    editor.search = search_config(editor, {"beam": _BEAM, **given.search}, with_mt=True)
    if editor.search.beam < 2:
        raise DataError("search.beam is the length of the n-best lists: it must be at least 2")
    _begin(folder, job)
    err = console(stderr=True)
    found = tuning.tune(editor, dev, judge, options, folder, err)
    systems = {"equal weights": found.before, "tuned": found.after}
    scores = score_systems(systems, dev.pe, dev.mt, tokenize.value)
    record = {
        "metric": metric.value,
        "method": method.value,
        "seed": seed,
        "restarts": options.restarts,
        "rounds": found.rounds,
        "outputs": found.outputs,
        "sentences": len(dev.pe),
        "dev": {row.name: {"TER": round(row.ter, 2), "BLEU": round(row.bleu, 2)} for row in scores},
        "signatures": dict(scores[0].signatures),
    }
    log_linear = LogLinear(found.weights, options.known)
    Combination.of(members, log_linear, options.space, editor.search, record).save(out)
    shutil.rmtree(folder)
    print_scores(scores, console())
    err.print(f"Wrote {out}; these scores are of the set that chose the weights", soft_wrap=True)


def _fingerprints(*paths: Path) -> list[dict[str, Any]]:
    from postedit.data.resumable_file import file_fingerprint

    return [file_fingerprint(path) for path in paths]


def _work_folder(out: Path, *, resume: bool) -> Path:
    """Return the folder beside `out` for what an interrupted run leaves."""
    folder = out.with_name(f"{out.name}.rounds")
    if folder.exists() and not resume:
        raise OutputError(
            f"{folder}: holds n-best lists of an unfinished run; add --resume to go on with it, or delete it"
        )
    return folder


def _begin(folder: Path, job: dict[str, Any]) -> None:
    """Make the folder, or see to it that what is in it is of the same job."""
    import json

    from postedit.data.resumable_file import check_job

    note = folder / "job.json"
    if folder.exists():
        check_job(note, job, folder)
        return
    folder.mkdir()
    with atomic_write(note) as file:
        json.dump(job, file, indent=2)
