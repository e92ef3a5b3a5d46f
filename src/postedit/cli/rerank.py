"""`postedit rerank`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postedit.cli import output_files, shared
from postedit.core.errors import DataError, ModelFolderError, nearest
from postedit.core.files import atomic_write
from postedit.jobs.editing import OutputFormat

if TYPE_CHECKING:
    from postedit.tuning.nbest_files import NBestRecord


def rerank(
    ctx: typer.Context,
    lists: Annotated[
        Path, typer.Argument(metavar="NBEST.jsonl", help="N-best lists from `postedit edit --format jsonl --n-best N`.")
    ],
    features: Annotated[
        list[Path] | None,
        typer.Option(metavar="TSV", help="Columns of further features: a line of names, then a line for each output."),
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(metavar="TOML", help="File with a section \\[weights]: a number for each feature.")
    ] = None,
    tune: Annotated[
        Path | None, typer.Option(metavar="TOML", help="Find the weights, with --pe, and write them here.")
    ] = None,
    pe: Annotated[Path | None, typer.Option(help="Human post-edits, to tune on.")] = None,
    metric: shared.MetricOption = "ter",
    method: shared.MethodOption = "mert",
    seed: shared.SeedOption = 1,
    tokenize: shared.TokenizeOption = "none",
    out: Annotated[Path | None, typer.Option(help="Output; if not given, stdout, or nothing when tuning.")] = None,
    form: Annotated[
        OutputFormat, typer.Option("--format", help="text: the best output; jsonl: lists in their new order.")
    ] = "text",
) -> None:
    """Rerank n-best lists by a weighted sum of features, such as the scores of a language model."""
    if (weights is None) == (tune is None):
        raise DataError("give --weights to rank by them, or --tune and --pe to find them first")
    if (tune is None) != (pe is None):
        raise DataError("--tune needs --pe, the post-edits to tune on, and --pe is for --tune alone")
    if tune is None:
        shared.refuse_given(ctx, ("metric", "method", "seed", "tokenize"), "without --tune")
    elif out is None:
        shared.refuse_given(ctx, ("form",), "with --tune but without --out")
    output_files.check_outputs({"--tune": tune, "--out": out}, (lists, weights, pe, *(features or [])))
    import numpy as np
    import tomli_w

    from postedit.cli.tables import console, print_scores
    from postedit.data.line_sinks import StreamSink
    from postedit.data.lines import check_aligned, read_lines
    from postedit.evaluate.metrics import additive_metric
    from postedit.evaluate.scores import score_systems
    from postedit.search.rescoring import weighted_sum
    from postedit.tuning.nbest_files import ORDER, feature_names, read_outputs
    from postedit.tuning.nbest_lists import NBestPool
    from postedit.tuning.rounds import TuneOptions, optimise

    outputs = read_outputs(lists, features or [])
    names = feature_names(outputs)
    if weights:
        found = _read_weights(weights, names)
    elif tune and pe:
        references = list(read_lines(pe))
        check_aligned(lists, len(outputs), pe, len(references))
        shared.warn_of_words(pe, references, tokenize)
        pool = NBestPool(names, references, additive_metric(metric, tokenize))
        pool.add([[output.entry for output in one] for one in outputs])
        options = TuneOptions(method, seed=seed)
        as_listed = np.array([float(name == ORDER) for name in names])
        best = optimise(pool.lists(), as_listed, np.full(len(names), -np.inf), options)
        size = float(np.abs(best).sum()) or 1.0
        found = {name: weight / size for name, weight in zip(names, best.tolist(), strict=True)}
        with atomic_write(tune) as file:
            file.write(tomli_w.dumps({"weights": found, "tuning": {"metric": metric, "method": method, "seed": seed}}))
    ranked = [sorted(one, key=lambda each: -weighted_sum(each.features, found)) for one in outputs]
    if tune:
        systems = {"as listed": outputs, "tuned": ranked}
        tops = {name: [one[0].entry.text for one in system] for name, system in systems.items()}
        print_scores(score_systems(tops, references, None, tokenize), console(stderr=True))
    lines = [_line(one, form) for one in ranked]
    if out is not None:
        with atomic_write(out) as file:
            file.writelines(f"{line}\n" for line in lines)
    elif not tune:
        StreamSink().write(lines)


def _read_weights(path: Path, names: Sequence[str]) -> dict[str, float]:
    from postedit.core.config import read_toml
    from postedit.tuning.nbest_files import is_number

    values = read_toml(path, "file of weights").get("weights")
    if not isinstance(values, dict) or not all(map(is_number, values.values())):
        raise ModelFolderError(f"{path}: must have a section [weights] with a number for each feature")
    for name in values:
        if name not in names:
            raise DataError(
                f"{path}: weights.{name} is not a feature of these lists{nearest(name, names)} "
                f"(they have {', '.join(names)}); give further columns with --features"
            )
    return values


def _line(outputs: "Sequence[NBestRecord]", form: OutputFormat) -> str:
    if form == "text":
        return str(outputs[0].record["text"])
    best, *others = ({**output.record, "features": dict(output.features)} for output in outputs)
    return json.dumps({**best, "alternatives": others} if others else best, ensure_ascii=False)
