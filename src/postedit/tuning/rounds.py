"""Tuning in rounds: search with the current weights, extend the n-best lists, optimise the weights."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from rich.console import Console

from postedit.core.editor import Editor, PostEdit
from postedit.data.lines import DevTexts
from postedit.data.resumable_file import PartialFile, read_records
from postedit.editing.members import Members
from postedit.evaluate.metrics import AdditiveMetric, Floats
from postedit.progress import fill
from postedit.search.ensemble import Space
from postedit.search.rescoring import LENGTH, PENALTY, LogLinear, weighted_sum
from postedit.tuning.mert_mira import mert, mira
from postedit.tuning.nbest_lists import NBestEntry, NBestLists, NBestPool

Method = Literal["mert", "mira"]

_MIN_WEIGHT: Final = 1e-3
"""Lower bound of members' weights before these are scaled to sum to 1: an ensemble needs positive weights."""

_SAME_WEIGHT: Final = 1e-6  # difference below which weights count as equal
_CHUNK: Final = 100  # sentences searched together, and the most that an interruption loses


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """Options of tuning."""

    method: Method = "mert"  # the optimiser
    rounds: int = 5  # the largest number of searches after the first
    restarts: int = 20  # random starting points of MERT besides the current weights
    seed: int = 1  # seed of everything random
    space: Space = "log"  # what the ensemble averages
    known: tuple[str, ...] = ("mt",)  # texts whose words the post-editing penalty does not count


@dataclass(frozen=True, slots=True)
class TuningResult:
    """The result of tuning."""

    weights: Mapping[str, float]  # weight of each feature; those of members sum to 1
    before: Sequence[str]  # outputs of the members with equal weights, as an ensemble if all are neural
    after: Sequence[str]  # outputs with `weights`
    rounds: int  # the number of searches
    outputs: int  # the number of outputs in the n-best lists


def optimise(lists: NBestLists, start: Floats, lower: Floats, options: TuneOptions) -> Floats:
    """Return the weights Float[F] that `options.method` finds for the lists."""
    if options.method == "mert":
        return mert(lists, start, lower, restarts=options.restarts, seed=options.seed)
    return mira(lists, start, lower, seed=options.seed)


def tune(
    members: Members, dev: DevTexts, metric: AdditiveMetric, options: TuneOptions, folder: Path, console: Console
) -> TuningResult:
    """Return the weights of the round that scores best on `dev`; the first round has equal weights.

    Each round searches with its weights and is scored by the result; if weights do not change what is found, the first
    search is used in all rounds. Its n-best lists, of `members.search.beam` outputs, go to `folder`. Everything is
    deterministic, so the lists of an interrupted run are used again.

    Raises:
        OutputError: if lists cannot be written.
        KeyboardInterrupt: after Ctrl-C; complete lists are kept.
    """
    count = len(members.names)
    names = [*members.names, LENGTH, PENALTY]
    weights = np.array([1.0 / count] * count + [0.0, 0.0])
    lower = np.array([_MIN_WEIGHT] * count + [-np.inf, -np.inf])
    pool = NBestPool(names, dev.pe, metric)
    trials: list[_Trial] = []
    before = _searched(members.plain(options.space), dev, 1, folder / "plain.jsonl", {}, console)
    for number in range(1, options.rounds + 2):
        named = _named(names, weights)
        described = ", ".join(f"{name} {weight:.4g}" for name, weight in named.items())
        console.print(f"round {number}: {described}", soft_wrap=True)
        if number == 1 or not members.fixed_candidates:
            ranked = members.editor(LogLinear(named, options.known), options.space)
            found = _searched(ranked, dev, members.search.beam, folder / f"round-{number}.jsonl", named, console)
        else:
            found = [sorted(one, key=lambda entry: -weighted_sum(entry.features, named)) for one in found]
        texts = _best(found)
        loss = float(metric.loss(metric.statistics(texts, dev.pe).sum(0)))
        trials.append(_Trial(loss, weights, texts))
        new = pool.add(found)
        console.print(f"  dev {metric.score(loss):.2f}; {new:,} new outputs, {len(pool):,} in all", soft_wrap=True)
        if not new or number > options.rounds:
            break
        tuned = optimise(pool.lists(), weights, lower, options)
        tuned = tuned / tuned[:count].sum()  # the ranking stays the same
        if np.abs(tuned - weights).max() < _SAME_WEIGHT:
            break
        weights = tuned
    best = min(trials, key=lambda trial: trial.loss)
    return TuningResult(_named(names, best.weights), _best(before), best.texts, len(trials), len(pool))


@dataclass(frozen=True, eq=False, slots=True)
class _Trial:
    """Weights, and the loss and outputs of a search with them."""

    loss: float
    weights: Floats
    texts: Sequence[str]


def _searched(
    editor: Editor, dev: DevTexts, n_best: int, path: Path, weights: Mapping[str, float], console: Console
) -> list[list[NBestEntry]]:
    """Return the n-best list of each sentence, best first; search if the file `path` does not hold them."""
    if not path.exists():
        file = PartialFile(path, {"weights": dict(weights)}, resume=True)
        chunks = (
            editor.edit(dev.src[start : start + _CHUNK], dev.mt[start : start + _CHUNK], n_best=n_best)
            for start in range(file.done, len(dev.src), _CHUNK)
        )
        written = ([json.dumps(_entries(edit), ensure_ascii=False) for edit in chunk] for chunk in chunks)
        fill(file, written, len(dev.src), console, "lines of this round")
        file.finish()
    return list(read_records(path, lambda entries: [NBestEntry(*entry) for entry in entries]))


def _entries(edit: PostEdit) -> list[NBestEntry]:
    """Return the n-best list of a segment; one that was not searched has one output without features."""
    return [NBestEntry(one.text, dict(one.features or {})) for one in (edit, *edit.alternatives)]


def _best(lists: Sequence[Sequence[NBestEntry]]) -> list[str]:
    return [entries[0].text for entries in lists]


def _named(names: Sequence[str], weights: Floats) -> dict[str, float]:
    return dict(zip(names, weights.tolist(), strict=True))
