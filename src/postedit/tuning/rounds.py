"""The rounds of tuning: search with the weights so far, add what was found to the lists, find new weights."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from rich.console import Console

from postedit.core.editor import PostEdit
from postedit.data.dev import DevTexts
from postedit.data.resumable_file import PartialFile
from postedit.editing.combination import combined
from postedit.editing.post_editor import PostEditor
from postedit.evaluate.sufficient_statistics import AdditiveMetric, Floats
from postedit.progress import fill
from postedit.search.ensemble import Space
from postedit.search.rescoring import LENGTH, PENALTY, LogLinear, member_name
from postedit.tuning.lists import Entry, NBestLists, NBestPool
from postedit.tuning.mert import mert
from postedit.tuning.mira import mira

Method = Literal["mert", "mira"]

_LEAST: Final = 1e-3
"""The least weight of a member, before members are scaled to sum to 1: an ensemble has no member without one."""

_SMALL: Final = 1e-6
"""Weights that differ by less are the same."""

_CHUNK: Final = 100
"""Sentences searched together; what an interruption costs at most."""


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """How weights are searched for.

    Args:
        method: the search for weights.
        rounds: how often the n-best lists are made anew at most, after the first time.
        restarts: random points that MERT starts from besides the weights so far.
        seed: of all that is random.
        space: in which the ensemble averages.
        known: texts whose words the post-editing penalty does not count.
    """

    method: Method = "mert"
    rounds: int = 5
    restarts: int = 20
    seed: int = 1
    space: Space = "log"
    known: tuple[str, ...] = ("mt",)


@dataclass(frozen=True, slots=True)
class Tuned:
    """What tuning found.

    Args:
        weights: by feature, those of members summing to 1.
        before: outputs of the members as a plain ensemble of equal weights.
        after: outputs with `weights`.
        rounds: searches that were made, the first one included.
        outputs: all that are in the n-best lists in the end.
    """

    weights: Mapping[str, float]
    before: Sequence[str]
    after: Sequence[str]
    rounds: int
    outputs: int


def optimise(lists: NBestLists, start: Floats, lower: Floats, options: TuneOptions) -> Floats:
    """Return the weights Float[F] that `options.method` finds on the lists."""
    if options.method == "mert":
        return mert(lists, start, lower, restarts=options.restarts, seed=options.seed)
    return mira(lists, start, lower, seed=options.seed)


def tune(
    editor: PostEditor, dev: DevTexts, metric: AdditiveMetric, options: TuneOptions, folder: Path, console: Console
) -> Tuned:
    """Return the weights that are best on `dev`, of those that the rounds found and the equal ones they begin with.

    Dev outputs are those of real searches with the weights, not choices from the lists that the weights were tuned on.
    Everything is repeatable, so what `folder` holds of an interrupted run is not searched for again.

    Args:
        editor: the members, with search settings; `decode.beam` is the length of the lists.
        dev: what to tune on.
        metric: what to tune for.
        options: how.
        folder: an existing one, for the lists of each round.
        console: for progress.

    Raises:
        OutputError: if lists cannot be written.
        KeyboardInterrupt: after Ctrl-C; what was found is kept.
    """
    members = len(editor.model.parts())
    names = [*(member_name(number) for number in range(1, members + 1)), LENGTH, PENALTY]
    weights = np.array([1.0 / members] * members + [0.0, 0.0])
    lower = np.array([_LEAST] * members + [-np.inf, -np.inf])
    pool = NBestPool(names, dev.pe, metric)
    trials: list[_Trial] = []
    plain = PostEditor(
        combined(editor.model.parts(), _named(names, weights), options.space), editor.processor, editor.search
    )
    before = _searched(plain, dev, 1, folder / "plain.jsonl", console)
    for number in range(1, options.rounds + 2):
        console.print(f"round {number}: {_described(names, weights)}", soft_wrap=True)
        ranked = _ranked(editor, names, weights, options)
        found = _searched(ranked, dev, editor.search.beam, folder / f"round-{number}.jsonl", console)
        texts = _best(found)
        loss = float(metric.loss(metric.statistics(texts, dev.pe).sum(0)))
        trials.append(_Trial(loss, weights, texts))
        new = pool.add(found)
        console.print(f"  dev {metric.score(loss):.2f}; {new:,} new outputs, {len(pool):,} in all", soft_wrap=True)
        if not new or number > options.rounds:
            break
        tuned = _normalised(optimise(pool.lists(), weights, lower, options), members)
        if np.abs(tuned - weights).max() < _SMALL:
            break
        weights = tuned
    best = min(trials, key=lambda trial: trial.loss)
    return Tuned(_named(names, best.weights), _best(before), best.texts, len(trials), len(pool))


@dataclass(frozen=True, eq=False, slots=True)
class _Trial:
    """Weights, and what they gave in a search."""

    loss: float
    weights: Floats
    texts: Sequence[str]


def _ranked(editor: PostEditor, names: Sequence[str], weights: Floats, options: TuneOptions) -> PostEditor:
    """Return an editor of the same members with these weights."""
    named = _named(names, weights)
    model = combined(editor.model.parts(), named, options.space)
    return PostEditor(model, editor.processor, editor.search, log_linear=LogLinear(named, options.known))


def _searched(editor: PostEditor, dev: DevTexts, n_best: int, path: Path, console: Console) -> list[list[Entry]]:
    """Return the n-best list of each sentence, best first, which are then in the file `path`."""
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
        return [[Entry(*entry) for entry in json.loads(line)] for line in lines]


def _entries(edit: PostEdit) -> list[Entry]:
    """Return the n-best list of a sentence; one that was not asked about has a single output and no features."""
    return [Entry(one.text, dict(one.features or {})) for one in (edit, *edit.alternatives)]


def _best(lists: Sequence[Sequence[Entry]]) -> list[str]:
    return [entries[0].text for entries in lists]


def _named(names: Sequence[str], weights: Floats) -> dict[str, float]:
    return dict(zip(names, weights.tolist(), strict=True))


def _normalised(weights: Floats, members: int) -> Floats:
    """Return the weights so that those of members sum to 1, which changes no ranking."""
    return np.asarray(weights / weights[:members].sum())


def _described(names: Sequence[str], weights: Floats) -> str:
    return ", ".join(f"{name} {weight:.4g}" for name, weight in zip(names, weights, strict=True))
