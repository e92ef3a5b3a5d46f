"""Does a gate keep its promise, and what does it cost? Test it on repeated random splits of a dev set.

    python benchmarks/gate.py MODEL... --data PREFIX... --work FOLDER [--splits N] [--plots FOLDER] [--lines N...]
        [--tokenize none|13a|characters] [--measure none|13a|characters]

Half of the dev set, or N lines, makes a gate by the whole procedure of `postedit gate`. The rest measures its effect on
unseen text, by default in the words that the gate counts. The folder of --work keeps the judged corrections, from which
a later or resumed run starts.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import get_args

import numpy as np
import torch
from rich.console import Console

from postedit import PostEditor
from postedit.data.lines import DevTexts, read_lines
from postedit.data.resumable_file import PartialFile
from postedit.evaluate.ter import words_of
from postedit.evaluate.tokenisation import Tokenize
from postedit.gate.calibrate import (
    Floats,
    Forecasts,
    GateOptions,
    Levels,
    Outcomes,
    calibrate,
    draw_reliability,
    e_value,
    everything,
    expected_calibration_error,
    forecasts,
    is_learnt,
)
from postedit.gate.gate import Rule
from postedit.jobs.gating import judge_lines

LEVELS: tuple[Levels, ...] = ("sentence", "edit", "auto")


@dataclass(frozen=True, eq=False)
class Splits:
    """Results on the lines that no gate was learnt from; each array has an entry per split: Float64[splits].

    Args:
        opened: 1 if the gate was open, else 0.
        gains: mean number of TER edits saved per line, with the gate.
        ungated: the same without the gate.
        words: mean number of words per line of pe.
        forecasts: those of all splits together in which there were enough changes to learn from.
    """

    opened: Floats
    gains: Floats
    ungated: Floats
    words: Floats
    forecasts: Forecasts


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    options.work.mkdir(parents=True, exist_ok=True)
    print(f"{options.splits} divisions of each dev set; TER saved is what the other half's TER is lower by\n")
    columns = "open % | worse than unedited % | TER saved | without gate | kept % | ECE"
    print(f"| model | dev set | gate on | lines | {columns} |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for model, data in product(options.models, options.data):
        dev = DevTexts(*(list(read_lines(Path(f"{data}.{side}"))) for side in ("src", "mt", "pe")))
        name = f"{Path(model).resolve().parent.name}.{Path(data).parent.name}"
        outcomes = judged_outcomes(model, dev, options.work / f"{name}.{options.tokenize}.jsonl", options.tokenize)
        print(f"{name}: passed by chance {100.0 * opened_by_chance(outcomes):.1f} %", file=sys.stderr)
        measure = options.measure or options.tokenize
        measured = Outcomes(dev.mt, dev.pe, outcomes.judged, measure)
        words = [len(text) for text in words_of(dev.pe, measure)]
        for level, lines in product(LEVELS, options.lines or [len(dev.pe) // 2]):
            found = divide(outcomes, measured, words, level, lines, options.splits)
            print_row(name, level, lines, found)
            if options.plots and len(found.forecasts.better):
                draw_reliability(found.forecasts, options.plots / f"{name}.{level}.{lines}.png")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="model folders")
    parser.add_argument("--data", nargs="+", required=True, help="prefixes of .src, .mt and .pe")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--plots", type=Path)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--lines", type=int, nargs="+", help="lines that make a gate; half of the dev set if not given")
    parser.add_argument("--tokenize", choices=get_args(Tokenize), default="none", help="what counts as a word")
    parser.add_argument("--measure", choices=get_args(Tokenize), help="words in which TER is measured on the rest")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    return parser.parse_args()


def judged_outcomes(model: str, dev: DevTexts, path: Path, tokenize: Tokenize) -> Outcomes:
    """Return the outcomes of a dev set; the model edits only lines that are not yet in `path`."""
    editor = PostEditor.load(model)
    search = editor.search
    identity = editor.identity(search)
    job = {"model": list(identity.models), "search settings": repr(identity.settings), "lines": len(dev.src)}
    job["tokenize"] = tokenize
    file = PartialFile(path, job, resume=True)
    judged = judge_lines(editor, search, dev, file, Console(stderr=True), tokenize=tokenize)
    return Outcomes(dev.mt, dev.pe, judged, tokenize)


def divide(
    outcomes: Outcomes, measured: Outcomes, words: Sequence[int], level: Levels, lines: int, splits: int
) -> Splits:
    """Return the results of `splits` random splits into `lines` lines for the gate and the rest.

    Gates are made from `outcomes`; TER is that of `measured`, the same corrections.
    """
    rows: list[list[float]] = []
    said: list[Forecasts] = []
    for number in range(splits):
        order = np.random.default_rng([7, number]).permutation(len(outcomes)).tolist()
        ours, others = order[:lines], order[lines:]
        found = calibrate(outcomes, replace(GateOptions(level), seed=number), ours)
        kept = [kept_edits(found.rule, outcomes, row) for row in others]
        gains = measured.gains(others, kept).mean()
        ungated = measured.gains(others, everything(measured, others)).mean()
        length = float(np.mean([words[row] for row in others]))
        rows.append([float(found.rule.threshold is not None), gains, ungated, length])
        if is_learnt(found.rule):
            said.append(forecasts(outcomes, others, found.rule))
    together = Forecasts(
        np.concatenate([np.zeros(0), *(one.probabilities for one in said)]),
        np.concatenate([np.zeros(0), *(one.better for one in said)]),
    )
    return Splits(*np.array(rows).T, together)


def kept_edits(rule: Rule, outcomes: Outcomes, row: int) -> tuple[bool, ...]:
    """Return, for each edit of a line, whether it passes."""
    judged = outcomes.judged[row]
    passing = {edit.mt_span for edit in rule(outcomes.mt[row], judged).edits}
    return tuple(edit.mt_span in passing for edit in judged.result.edits)


def opened_by_chance(outcomes: Outcomes, draws: int = 2000, worst: float = 5.0) -> float:
    """Return how often the gains of a harmless but useless model, the real ones with random signs, pass the test."""
    every = np.clip(outcomes.gains(range(len(outcomes)), everything(outcomes, range(len(outcomes)))), -worst, worst)
    generator = np.random.default_rng(8)
    opened = 0
    for _ in range(draws):
        gains = generator.permutation(every) * generator.choice([-1.0, 1.0], len(every))
        expected, tested = gains[:200], gains[200:500]
        opened += expected.mean() > 0.0 and e_value(tested, worst, expected) >= 20.0
    return opened / draws


def print_row(name: str, level: str, lines: int, found: Splits) -> None:
    saved, ungated = (100.0 * (gains / found.words).mean() for gains in (found.gains, found.ungated))
    kept = f"{100.0 * saved / ungated:.0f}" if ungated > 0.0 else "-"
    error = f"{expected_calibration_error(found.forecasts):.3f}" if len(found.forecasts.better) else "-"
    model, data = name.split(".", 1)
    opened, worse = 100 * found.opened.mean(), 100 * (found.gains < 0.0).mean()
    print(
        f"| {model} | {data} | {level} | {lines} | {opened:.1f} | {worse:.1f} | "
        f"{saved:+.2f} | {ungated:+.2f} | {kept} | {error} |"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
