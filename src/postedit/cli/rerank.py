"""`postedit rerank`."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postedit.cli.outputs import check_outputs
from postedit.cli.score import Tokenize
from postedit.cli.tune import Method, Metric
from postedit.core.errors import DataError, ModelFolderError, nearest
from postedit.core.files import atomic_write
from postedit.jobs.editing import OutputFormat

if TYPE_CHECKING:
    from postedit.tuning.nbest_files import NBestRecord


def rerank(
    lists: Annotated[
        Path, typer.Argument(metavar="NBEST.jsonl", help="From `postedit edit --format jsonl --n-best N`.")
    ],
    features: Annotated[
        list[Path] | None,
        typer.Option(metavar="TSV", help="Columns of further features: a line of names, then one for each output."),
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(metavar="TOML", help="File with a section [weights], by feature.")
    ] = None,
    tune: Annotated[
        Path | None, typer.Option(metavar="TOML", help="Find the weights, with --pe, and write them here.")
    ] = None,
    pe: Annotated[Path | None, typer.Option(help="The human post-edits, to tune on.")] = None,
    metric: Annotated[Metric, typer.Option(help="What tuned weights shall improve.")] = Metric.ter,
    method: Annotated[Method, typer.Option(help="How weights are tuned.")] = Method.mert,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is random in tuning.")] = 1,
    tokenize: Annotated[Tokenize, typer.Option(help="For the metric, as of `postedit score`.")] = Tokenize.none,
    out: Annotated[Path | None, typer.Option(help="Where to write; stdout if not given, nothing if tuning.")] = None,
    form: Annotated[
        OutputFormat, typer.Option("--format", help="text: the best output; jsonl: lists in their new order.")
    ] = OutputFormat.text,
) -> None:
    """Put n-best lists into a new order by weighted features, such as the scores of a language model."""
    _check_options(weights, tune, pe)
    check_outputs({"--tune": tune, "--out": out}, (lists, pe, *(features or [])))
    from postedit.data.line_sinks import StreamSink
    from postedit.search.rescoring import weighted_sum
    from postedit.tuning.nbest_files import feature_names, read_outputs

    outputs = read_outputs(lists, features or [])
    names = feature_names(outputs)
    if weights:
        found = _read_weights(weights, names)
    elif tune and pe:
        found = _tuned(outputs, names, pe, metric, method, seed, tokenize)
        _write_weights(tune, found, {"metric": metric.value, "method": method.value, "seed": seed})
        if out is None:
            return
    ranked = [sorted(one, key=lambda each: -weighted_sum(each.features, found)) for one in outputs]
    lines = [_line(one, form) for one in ranked]
    if out is None:
        StreamSink().write(lines)
        return
    with atomic_write(out) as file:
        file.writelines(f"{line}\n" for line in lines)


def _check_options(weights: Path | None, tune: Path | None, pe: Path | None) -> None:
    if (weights is None) == (tune is None):
        raise DataError("give --weights, to rank by them, or --tune with --pe, to find them first")
    if (tune is None) != (pe is None):
        raise DataError("--tune needs --pe, the post-edits to tune on, and --pe is for --tune alone")


def _tuned(
    outputs: "Sequence[Sequence[NBestRecord]]",
    names: Sequence[str],
    pe: Path,
    metric: Metric,
    method: Method,
    seed: int,
    tokenize: Tokenize,
) -> dict[str, float]:
    """Return the weights that are best on the lists, and print what they give."""
    import numpy as np

    from postedit.cli.tables import console, print_scores
    from postedit.data.lines import read_lines
    from postedit.evaluate.metrics import additive_metric
    from postedit.evaluate.scores import score_systems
    from postedit.search.rescoring import weighted_sum
    from postedit.tuning.nbest_lists import NBestPool
    from postedit.tuning.rounds import TuneOptions, optimise

    references = list(read_lines(pe))
    if len(references) != len(outputs):
        raise DataError(f"{pe} has {len(references):,} lines for {len(outputs):,} n-best lists; they must match")
    pool = NBestPool(names, references, additive_metric(metric.value, tokenize.value))
    pool.add([[output.entry for output in one] for one in outputs])
    lists = pool.lists()
    start = np.ones(len(names))
    found = optimise(lists, start, np.full(len(names), -np.inf), TuneOptions(method.value, seed=seed))
    size = float(np.abs(found).sum())
    best = {name: weight / size if size else 0.0 for name, weight in zip(names, found.tolist(), strict=True)}
    tops = [max(one, key=lambda each: weighted_sum(each.features, best)) for one in outputs]
    systems = {"as listed": [one[0].entry.text for one in outputs], "tuned": [top.entry.text for top in tops]}
    print_scores(score_systems(systems, references, None, tokenize.value), console(stderr=True))
    return best


def _read_weights(path: Path, names: Sequence[str]) -> dict[str, float]:
    from postedit.core.config import read_toml

    values = read_toml(path).get("weights")
    if not isinstance(values, dict) or not all(map(_is_number, values.values())):
        raise ModelFolderError(f"{path}: must have a section [weights] with a number for each feature")
    unknown = [name for name in values if name not in names]
    if unknown:
        raise DataError(
            f"{path}: weights.{unknown[0]} is no feature of these lists{nearest(unknown[0], names)} "
            f"(they have {', '.join(names)}); give further columns by --features"
        )
    return values


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _write_weights(path: Path, weights: dict[str, float], tuning: dict[str, Any]) -> None:
    import tomli_w

    with atomic_write(path) as file:
        file.write(tomli_w.dumps({"weights": weights, "tuning": tuning}))


def _line(outputs: "Sequence[NBestRecord]", form: OutputFormat) -> str:
    if form is OutputFormat.text:
        return str(outputs[0].record["text"])
    records = [{**output.record, "features": dict(output.features)} for output in outputs]
    best, others = records[0], records[1:]
    return json.dumps({**best, "alternatives": others} if others else best, ensure_ascii=False)
