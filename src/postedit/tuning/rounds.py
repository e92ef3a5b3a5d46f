"""Tuning in rounds: search with the current weights, extend the n-best lists, optimise the weights."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from rich.console import Console

from postedit.core.editor import PostEdit
from postedit.data.lines import DevTexts
from postedit.data.resumable_file import PartialFile
from postedit.editing.combination import combined
from postedit.editing.post_editor import PostEditor
from postedit.evaluate.metrics import AdditiveMetric, Floats
from postedit.progress import fill
from postedit.search.ensemble import Space
from postedit.search.rescoring import LENGTH, PENALTY, LogLinear, member_name
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
    seed: int = 1  # of all that is random
    space: Space = "log"  # what the ensemble averages
    known: tuple[str, ...] = ("mt",)  # texts whose words the post-editing penalty does not count


@dataclass(frozen=True, slots=True)
class TuningResult:
    """The result of tuning."""

    weights: Mapping[str, float]  # by feature; those of members sum to 1
    before: Sequence[str]  # outputs of the members as an ensemble with equal weights
    after: Sequence[str]  # outputs with `weights`
    rounds: int  # the number of searches
    outputs: int  # the number of outputs in the n-best lists


def optimise(lists: NBestLists, start: Floats, lower: Floats, options: TuneOptions) -> Floats:
    """Return the weights Float[F] that `options.method` finds for the lists."""
    if options.method == "mert":
        return mert(lists, start, lower, restarts=options.restarts, seed=options.seed)
    return mira(lists, start, lower, seed=options.seed)


def tune(
    editor: PostEditor, dev: DevTexts, metric: AdditiveMetric, options: TuneOptions, folder: Path, console: Console
) -> TuningResult:
    """Return the weights of the round that scores best on `dev`; the first round has equal weights.

    The score of a round is that of a search with its weights; `search.beam` is the length of its n-best lists, which go
    to `folder`. Everything is deterministic, so the lists of an interrupted run are used again.

    Raises:
        OutputError: if lists cannot be written.
        KeyboardInterrupt: after Ctrl-C; complete lists are kept.
    """
    members = len(editor.model.parts())
    names = [*(member_name(number) for number in range(1, members + 1)), LENGTH, PENALTY]
    weights = np.array([1.0 / members] * members + [0.0, 0.0])
    lower = np.array([_MIN_WEIGHT] * members + [-np.inf, -np.inf])
    pool = NBestPool(names, dev.pe, metric)
    trials: list[_Trial] = []
    plain = _weighted(editor, names, weights, options)
    plain.log_linear = None
    before = _searched(plain, dev, 1, folder / "plain.jsonl", console)
    for number in range(1, options.rounds + 2):
        described = ", ".join(f"{name} {weight:.4g}" for name, weight in zip(names, weights, strict=True))
        console.print(f"round {number}: {described}", soft_wrap=True)
        ranked = _weighted(editor, names, weights, options)
        found = _searched(ranked, dev, editor.search.beam, folder / f"round-{number}.jsonl", console)
        texts = _best(found)
        loss = float(metric.loss(metric.statistics(texts, dev.pe).sum(0)))
        trials.append(_Trial(loss, weights, texts))
        new = pool.add(found)
        console.print(f"  dev {metric.score(loss):.2f}; {new:,} new outputs, {len(pool):,} in all", soft_wrap=True)
        if not new or number > options.rounds:
            break
        tuned = optimise(pool.lists(), weights, lower, options)
        tuned = tuned / tuned[:members].sum()  # the ranking stays the same
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


def _weighted(editor: PostEditor, names: Sequence[str], weights: Floats, options: TuneOptions) -> PostEditor:
    """Return an editor with the same members and these weights."""
    named = _named(names, weights)
    model = combined(editor.model.parts(), named, options.space)
    return PostEditor(model, editor.processor, editor.search, log_linear=LogLinear(named, options.known))


def _searched(editor: PostEditor, dev: DevTexts, n_best: int, path: Path, console: Console) -> list[list[NBestEntry]]:
    """Return the n-best list of each sentence, best first; search if the file `path` does not hold them."""
    if not path.exists():
        weights = {} if editor.log_linear is None else dict(editor.log_linear.weights)
        file = PartialFile(path, {"weights": weights}, resume=True)
        chunks = (
            editor.edit(dev.src[start : start + _CHUNK], dev.mt[start : start + _CHUNK], n_best=n_best)
            for start in range(file.done, len(dev.src), _CHUNK)
        )
        written = ([json.dumps(_entries(edit), ensure_ascii=False) for edit in chunk] for chunk in chunks)
        fill(file, written, len(dev.src), console, "lines of this round")
        file.finish()
    with path.open(encoding="utf-8") as lines:
        return [[NBestEntry(*entry) for entry in json.loads(line)] for line in lines]


def _entries(edit: PostEdit) -> list[NBestEntry]:
    """Return the n-best list of a segment; one that was not searched has one output without features."""
    return [NBestEntry(one.text, dict(one.features or {})) for one in (edit, *edit.alternatives)]


def _best(lists: Sequence[Sequence[NBestEntry]]) -> list[str]:
    return [entries[0].text for entries in lists]


def _named(names: Sequence[str], weights: Floats) -> dict[str, float]:
    return dict(zip(names, weights.tolist(), strict=True))
