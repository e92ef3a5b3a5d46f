"""Choose the edit costs of the models of a chain, and so how cautious they are, on a dev set."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from postedit.core.editor import Editor
from postedit.data.lines import DevTexts
from postedit.evaluate.metrics import AdditiveMetric

FIRST_ALONE: Final = "the first alone"
SECOND_ALONE: Final = "the second alone"
CHAIN: Final = "the chain"

_WINDOW: Final = 200
"""Lines edited between two progress updates."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The edit costs that do best on a dev set.

    Args:
        edit_costs: the edit costs of the first and the second model of the chain.
        losses: the loss of the chain, and of each model alone with its own best edit cost, by name.
        alone: the outputs of each model alone with its own best edit cost, by name.
    """

    edit_costs: tuple[float, float]
    losses: dict[str, float]
    alone: dict[str, list[str]]

    @property
    def better_alone(self) -> str | None:
        """The name of the better single model if it is at least as good as the chain, else None."""
        best = min((FIRST_ALONE, SECOND_ALONE), key=lambda name: self.losses[name])
        return best if self.losses[best] <= self.losses[CHAIN] else None


def rounds_of(edit_costs: Sequence[float]) -> int:
    """Return how many times `choose_costs` edits the dev set."""
    return len(edit_costs) * (len(edit_costs) + 2)


def choose_costs(
    first: Editor,
    second: Editor,
    dev: DevTexts,
    edit_costs: Sequence[float],
    metric: AdditiveMetric,
    done: Callable[[int], None],
) -> Chosen:
    """Try all pairs of edit costs, and each model alone; among equally good ones, the larger costs are chosen.

    Args:
        first: the first model, with its protection.
        second: the model that corrects the output of the first, with its protection.
        dev: triplets that neither model was trained on.
        edit_costs: the edit costs to try for each model.
        metric: the metric whose loss is minimised.
        done: called with the number of lines edited so far, from 0 to `rounds_of(edit_costs)` times the lines of `dev`.
    """
    done(0)
    edited = _counted(dev.src, done)
    costs = sorted(edit_costs, reverse=True)
    single = {cost: edited(first, cost, dev.mt) for cost in costs}
    other = {cost: edited(second, cost, dev.mt) for cost in costs}
    both = {(cost, later): edited(second, later, single[cost]) for cost in costs for later in costs}

    def loss(texts: Sequence[str]) -> float:
        return float(metric.loss(np.sum(metric.statistics(texts, dev.pe), 0)))

    best_single, best_other = (min(found, key=lambda cost: loss(found[cost])) for found in (single, other))
    pair = min(both, key=lambda costs: loss(both[costs]))
    alone = {FIRST_ALONE: single[best_single], SECOND_ALONE: other[best_other]}
    losses = {name: loss(texts) for name, texts in {**alone, CHAIN: both[pair]}.items()}
    return Chosen(pair, losses, alone)


def _counted(src: Sequence[str], done: Callable[[int], None]) -> Callable[[Editor, float, Sequence[str]], list[str]]:
    """Return a function that edits all lines with an edit cost, and reports the lines done over all its calls."""
    count = 0

    def edited(editor: Editor, edit_cost: float, mt: Sequence[str]) -> list[str]:
        nonlocal count
        search = editor.search.with_options(edit_cost=edit_cost)
        texts: list[str] = []
        for start in range(0, len(src), _WINDOW):
            rows = slice(start, start + _WINDOW)
            texts += [one.text for one in editor.edit(src[rows], mt[rows], search=search)]
            count += len(src[rows])
            done(count)
        return texts

    return edited
