"""`postedit chain`."""

import math
from pathlib import Path
from typing import Annotated, Literal

import typer

from postedit.cli import output_files, shared
from postedit.core.errors import DataError, OutputError

_COSTS = "0,0.25,0.5,1,2"


def chain(
    models: Annotated[
        tuple[str, str],
        typer.Argument(metavar="FIRST SECOND", help="Model folders or language pairs, neural or phrase-based."),
    ],
    src: Annotated[Path, typer.Option(help="Source lines of the dev set.")],
    mt: shared.DevMtOption,
    pe: shared.DevPeOption,
    out: Annotated[Path, typer.Option(help="Folder of the chain, which is a model folder.")],
    metric: Annotated[
        Literal["ter", "bleu", "chrf"],
        typer.Option(help="Metric that chooses the edit costs; chrf suits text without spaces."),
    ] = "ter",
    edit_costs: Annotated[str, typer.Option(metavar="COSTS", help="Edit costs tried for each model.")] = _COSTS,
    protect: shared.ProtectOption = "all",
    tokenize: shared.TokenizeOption = "none",
) -> None:
    """Let a second model correct what a first one writes, as one model.

    A phrase-based model often corrects errors that a neural model leaves. The chain has copies of both models, with
    the pair of edit costs that is best on the dev set, so report scores on another set. To combine the scores
    of several models for one output instead, use `postedit tune`.
    """
    costs = _costs_of(edit_costs)
    output_files.check_standard_input(src, mt, pe)
    if out.exists():
        raise OutputError(f"{out}: exists already; choose a new folder with --out")
    from postedit.cli.tables import console, print_scores
    from postedit.core.files import check_writable
    from postedit.data.lines import DevTexts
    from postedit.editing.chain_folder import kind_of_link, save_chain
    from postedit.editing.chained_editors import Chain
    from postedit.editing.loading import find_folder
    from postedit.evaluate.chrf import AdditiveCHRF
    from postedit.evaluate.metrics import additive_metric
    from postedit.evaluate.scores import score_systems
    from postedit.jobs import chaining
    from postedit.jobs.editing import silence_library
    from postedit.jobs.editor_spec import EditorSpec
    from postedit.progress import LineProgress

    folders = [find_folder(model) for model in models]
    for folder in folders:
        kind_of_link(folder)  # reports unsuitable models before long work
    check_writable(out)
    dev = DevTexts.read(src, mt, pe)
    shared.warn_of_words(pe, dev.pe, tokenize)
    silence_library()
    kinds = shared.kinds_to_protect(protect)
    specs = [EditorSpec([str(folder)], protect=kinds) for folder in folders]
    loaded = [spec.load_model(None) for spec in specs]
    # Before long work; making the chain reports languages that differ.
    shared.warn_if_swapped(Chain(*loaded), dev.src, dev.mt)
    first, second = (spec.around(model) for spec, model in zip(specs, loaded, strict=True))
    chooses = AdditiveCHRF() if metric == "chrf" else additive_metric(metric, tokenize)
    err = console(stderr=True)
    with LineProgress(err, len(dev.src) * chaining.rounds_of(costs)) as progress:
        chosen = chaining.choose_costs(first, second, dev, costs, chooses, progress.update)
    for model, cost in zip(loaded, chosen.edit_costs, strict=True):
        model.search = model.search.with_options(edit_cost=cost)
    made = specs[0].around(Chain(*loaded))
    outputs = {**chosen.alone, chaining.CHAIN: [one.text for one in made.edit(dev.src, dev.mt)]}
    scores = score_systems(outputs, dev.pe, dev.mt, tokenize)
    told = {one.name: f"TER {one.ter:.2f}, BLEU {one.bleu:.2f}, chrF {one.chrf:.2f}" for one in scores}
    save_chain(out, folders, chosen.edit_costs, told, dev.digest)
    print_scores(scores, console())
    if chosen.better_alone is not None:
        shared.warn(f"{chosen.better_alone} is no worse here: the chain takes longer and gains nothing")
    first_cost, second_cost = chosen.edit_costs
    err.print(
        f"Wrote {out}, with edit costs {first_cost:g} and {second_cost:g}; these scores are of the set that chose them",
        soft_wrap=True,
    )


def _costs_of(given: str) -> list[float]:
    try:
        costs = sorted({float(cost) for cost in given.split(",")})
    except ValueError:
        costs = []
    if not costs or not all(0 <= cost < math.inf for cost in costs):
        raise DataError(f"--edit-costs takes numbers of at least 0, as {_COSTS}, not {given!r}")
    return costs
