"""`postedit tune`."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from postedit.cli import output_files, shared
from postedit.cli.search_options import (
    CommandOptions,
    HelpSearchOption,
    SearchFileOption,
    SetOption,
    search_config,
    with_given,
)
from postedit.core.editor import ENDPOINT
from postedit.core.errors import DataError, OutputError
from postedit.core.search_config import SearchConfig

if TYPE_CHECKING:
    from postedit.core.editor import Editor
    from postedit.evaluate.metrics import MetricName
    from postedit.evaluate.scores import SystemScores
    from postedit.evaluate.tokenisation import Tokenize
    from postedit.llm.endpoint_options import EndpointSpec
    from postedit.phrase.phrase_options import PhraseTuneConfig
    from postedit.tuning.rounds import TuneOptions

_BEAM: Final = 10
"""Beam, which is also the length of the n-best lists, unless search.beam is given."""

_SHORT: Final = "search.beam is the length of the n-best lists: it must be at least 2"

_JOB: Final = "job.json"
"""Name of the file that records what the n-best lists beside it were made from."""


def tune(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help="Model folders, language pairs, or files of weights (RUN/best/step-*.safetensors); one may be "
            "openai:MODEL, behind an endpoint.",
        ),
    ],
    src: Annotated[Path, typer.Option(help="Source lines of the dev set.")],
    mt: shared.DevMtOption,
    pe: shared.DevPeOption,
    out: Annotated[
        Path,
        typer.Option(help="The combination, or the model folder, to write; `postedit edit` takes either as a model."),
    ],
    metric: shared.MetricOption = "ter",
    method: shared.MethodOption = "mert",
    rounds: Annotated[int, typer.Option(min=1, help="Maximum number of searches with new weights.")] = 5,
    restarts: Annotated[
        int | None, typer.Option(min=0, help="Random points that mert starts from; 20 if not given.")
    ] = None,
    seed: shared.SeedOption = 1,
    assignments: SetOption = None,
    search_file: SearchFileOption = None,
    help_search: HelpSearchOption = False,
    endpoint: shared.EndpointOption = None,
    budget: shared.BudgetOption = None,
    tokenize: shared.TokenizeOption = "none",
    resume: shared.ResumeOption = False,
) -> None:
    """Combine models: find weights for their scores, for the length and for the post-editing penalty.

    A phrase-based model may be one of them; alone, it gets new weights for its own features, in a new model folder. A
    language model behind an endpoint contributes llm.samples answers as candidates. The weights are chosen on the
    dev set, so report scores on another set.
    """
    if restarts is not None and method == "mira":
        raise DataError("--restarts applies only to --method mert")
    given = CommandOptions.read(assignments, search_file, llm={"endpoint": endpoint, "budget": budget})
    if given.ensemble.weights:
        raise DataError("ensemble.weights are what tuning finds; leave them out")
    if given.search.get("mbr"):
        raise DataError("search.mbr does not choose by weights: leave it out here, and give it to `postedit edit`")
    space, behind = given.space_of(models), [model for model in models if model.startswith(ENDPOINT)]
    asked = given.endpoint_spec(behind or models)
    from postedit.model_files import architecture_of
    from postedit.phrase.phrase_options import NAME, PhraseTuneConfig
    from postedit.releases.catalogue import resolved

    models = [model if model in behind else resolved(model) for model in models]
    is_phrase_based = not behind and [architecture_of(Path(model)) for model in models] == [NAME]
    if is_phrase_based:
        _check_phrase_options(given, resume=resume, restarts=restarts)
        if out.exists():
            raise OutputError(f"{out}: exists already; choose a new folder with --out")
    output_files.check_outputs({"--out": out}, (src, mt, pe, search_file, *given.paths))
    if is_phrase_based:
        outputs = given.search.get("beam", PhraseTuneConfig().outputs)
        if not isinstance(outputs, int) or outputs < 2:
            raise DataError(_SHORT)
        config = PhraseTuneConfig(metric=metric, method=method, rounds=rounds, seed=seed, outputs=outputs)
        _tune_phrases(Path(models[0]), (src, mt, pe), out, config, tokenize)
        return
    folder = _lists_of(out)
    if _unfinished(folder) and not resume:
        raise OutputError(
            f"{folder}: holds n-best lists of an unfinished run; add --resume to continue it, or delete it"
        )
    from postedit.tuning.rounds import TuneOptions

    # Tuning finds a weight for the penalty, so its exemption applies even if search itself has no penalty.
    exempts = with_given(
        SearchConfig(post_edit_penalty=1.0), {"exempt_src": given.search.get("exempt_src", False)}
    ).exempt_src
    exempt = ("mt", "src") if exempts else ("mt",)
    options = TuneOptions(method, rounds, 20 if restarts is None else restarts, seed, space, exempt)
    _tune_members(models, asked, (src, mt, pe), out, given.search, options, metric, tokenize)


def _tune_members(
    models: Sequence[str],
    endpoint: "EndpointSpec | None",
    texts: tuple[Path, Path, Path],
    out: Path,
    given: Mapping[str, Any],
    options: "TuneOptions",
    metric: "MetricName",
    tokenize: "Tokenize",
) -> None:
    """Write a combination of models, with weights tuned on `texts`; `given` are the search options."""
    from postedit.cli.tables import console
    from postedit.core.editor import Segment
    from postedit.core.files import save_json
    from postedit.data.lines import DevTexts
    from postedit.data.resumable_file import check_job, file_fingerprint, read_note
    from postedit.editing.combination import Combination, Member, is_combination
    from postedit.editing.loading import choose
    from postedit.editing.members import Members
    from postedit.editing.post_editor import devices_of
    from postedit.evaluate.metrics import additive_metric
    from postedit.evaluate.scores import score_systems
    from postedit.llm.candidates import kept_options, member_fingerprint, member_of_combination
    from postedit.llm.usage import estimate
    from postedit.search.rescoring import LogLinear
    from postedit.tuning import rounds as tuning

    folder, folders = _lists_of(out), [Path(model) for model in models if not model.startswith(ENDPOINT)]
    combinations = [model for model in folders if is_combination(model)]
    if combinations:
        raise DataError(f"{combinations[0]}: is a combination or another file; name its models one by one")
    dev = DevTexts.read(*texts)
    shared.warn_of_words(texts[2], dev.pe, tokenize)
    members = [Member.of(model) for model in folders]
    endpoint = None if endpoint is None else endpoint.continued(read_note(folder / _JOB) or {})
    llm = None if endpoint is None else member_of_combination(endpoint)
    others: dict[int, Editor] = {}
    if llm is not None:
        place = next(place for place, model in enumerate(models) if model.startswith(ENDPOINT))
        others[place] = llm
        members.insert(place, Member(path=models[place], fingerprint=member_fingerprint(llm.inner)))
    job: dict[str, Any] = {
        "models": [member.fingerprint for member in members],
        "dev set": [file_fingerprint(path) for path in texts],
        "metric": [metric, tokenize],
        "search": repr(given),
        "options": repr(options),
        **({} if endpoint is None else endpoint.job),
    }
    if _unfinished(folder):
        check_job(folder / _JOB, job, folder)
    loaded = Members.load(choose(folders, None, options.space), devices_of(None), given=others)
    own = {"beam": _BEAM, "mbr": 0.0, **given}
    if not own.get("post_edit_penalty"):
        own.pop("exempt_src", None)
    editor = loaded.plain(options.space)
    loaded.search = search_config(editor, own, with_mt=True)
    if loaded.search.beam < 2:
        raise DataError(_SHORT)
    shared.warn_if_swapped(editor, dev.src, dev.mt)
    folder.mkdir(exist_ok=True)
    save_json(folder / _JOB, job)
    err = console(stderr=True)
    if llm is not None:
        err.print(str(estimate(llm.inner, map(Segment, dev.src, dev.mt))), soft_wrap=True)
    with shared.usage_printed(endpoint, editor):
        try:
            found = tuning.tune(loaded, dev, additive_metric(metric, tokenize), options, folder, err)
        except KeyboardInterrupt as interrupt:
            message = f"stopped; n-best lists are kept in {folder}, and the same command with --resume continues"
            raise KeyboardInterrupt(str(interrupt) or message) from None
    scores = score_systems({"equal weights": found.before, "tuned": found.after}, dev.pe, dev.mt, tokenize)
    record = {
        "metric": metric,
        "method": options.method,
        "seed": options.seed,
        "restarts": options.restarts,
        "rounds": found.rounds,
        "outputs": found.outputs,
        "sentences": len(dev.pe),
        "dev_sha256": dev.digest,
        "dev": {row.name: {"TER": round(row.ter, 2), "BLEU": round(row.bleu, 2)} for row in scores},
        "signatures": dict(scores[0].signatures),
    }
    log_linear = LogLinear(found.weights, options.known)
    kept = {} if endpoint is None else kept_options(endpoint)
    Combination.of(members, log_linear, options.space, loaded.search, record, kept).save(out)
    _remove(folder)
    _print_result(scores, metric, out)


def _print_result(scores: "Sequence[SystemScores]", metric: "MetricName", out: Path) -> None:
    """Print the scores, those of the unedited MT first and those with tuned weights last, and where the weights are."""
    from postedit.cli.tables import console, print_scores

    print_scores(scores, console())
    console(stderr=True).print(f"Wrote {out}; these scores are of the set that chose the weights", soft_wrap=True)
    unedited, tuned = scores[0], scores[-1]
    if tuned.ter > unedited.ter if metric == "ter" else tuned.bleu < unedited.bleu:
        shared.warn("even on the set that chose the weights, the output is worse than the unedited MT: do not use it")


def _lists_of(out: Path) -> Path:
    """Return the folder of the n-best lists, which exists while a run is unfinished."""
    return out.with_name(f"{out.name}.rounds")


def _unfinished(folder: Path) -> bool:
    """Return whether a folder holds n-best lists of an unfinished run, or the record of its job."""
    return (folder / _JOB).exists() or any(folder.glob("*.jsonl"))


def _remove(folder: Path) -> None:
    """Remove the folder of a finished run, the record last, so that a run cut off meanwhile can be continued."""
    for path in folder.iterdir():
        if path.name != _JOB:
            path.unlink()
    shutil.rmtree(folder)


def _check_phrase_options(given: CommandOptions, *, resume: bool, restarts: int | None) -> None:
    """Raise a DataError if options are given that do not apply to a phrase-based model tuned alone."""
    others = [
        *(["--resume"] if resume else []),
        *(["--restarts"] if restarts is not None else []),
        *(f"search.{name}" for name in given.search if name != "beam"),
    ]
    if others:
        raise DataError(
            f"{', '.join(others)}: not for a phrase-based model alone, which is tuned from the start each time, by its "
            "own search; leave it out"
        )


def _tune_phrases(
    model: Path,
    texts: tuple[Path, Path, Path],
    out: Path,
    config: "PhraseTuneConfig",
    tokenize: "Tokenize",
) -> None:
    """Write a phrase-based model with weights tuned on `texts`."""
    from postedit.cli.tables import console
    from postedit.data.lines import DevTexts
    from postedit.jobs.phrase_training import retune

    scores = retune(model, DevTexts.read(*texts), out, config, tokenize, console(stderr=True), shared.warn)
    _print_result(scores, config.metric, out)
