"""Corrections that count at once, on streams of real corrections, from nothing or from a trained model.

    python benchmarks/learning_streams.py run DATA [NAME...] [--lines 10000] [--model MODEL | --recipe RECIPE]
        [--learn auto|online|nearest] [--curves DIR]
    python benchmarks/learning_streams.py tune DATA

`run` simulates post-editing on each stream of DATA, the folder of data sets: each segment is edited with what the
corrections before it taught, and then learnt. It prints TER of unedited MT, of the editor without learning and with it;
how many errors that had been corrected before were left; the time to learn; and what a further data set, of another
domain, loses after the whole stream. The model is `none`, which knows nothing, or MODEL; or RECIPE trains one for each
stream, on the first 10,000 lines of its data set (the last 1,000 of them are the dev set), and the stream begins after
them. `tune` finds the weights by which corrections propose edits, on other lines than
those of `run`: n-best lists of streams, and MIRA on all of them.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import get_args

import numpy as np

from postedit.adapt import CorrectionMemory, load_learning
from postedit.adapt.adaptation_config import NO_MODEL, Learning, LearningConfig
from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import Entry
from postedit.adapt.phrase_learner import PhraseLearner
from postedit.cli.simulate import draw
from postedit.core.editor import Editor
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.editing.protection import Protected
from postedit.evaluate.metrics import AdditiveTER
from postedit.evaluate.scores import score_systems
from postedit.jobs.simulation import HISTORIES, Repetition, StreamSegment, Tokenize, simulate
from postedit.phrase.decoder import ALL_FEATURES
from postedit.phrase.edit_candidates import EDITS, FEATURES
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_options import PhraseTextConfig
from postedit.text.words import SplitterName
from postedit.tuning.nbest_lists import NBestEntry, NBestPool
from postedit.tuning.rounds import TuneOptions, optimise

TOKENIZE: dict[SplitterName, Tokenize] = {"none": "none", "moses": "13a", "characters": "characters"}


@dataclass(frozen=True, slots=True)
class Stream:
    """Triplets of a data set in the order in which they were corrected, and how their texts are divided."""

    path: str
    splitter: SplitterName = "none"
    language: str = "de"
    other: str = ""  # a data set of another domain

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.path.split("/")[0]

    @property
    def text(self) -> PhraseTextConfig:
        """How texts are divided into words."""
        moses = self.splitter == "moses"
        return PhraseTextConfig(
            tokenizer=self.splitter, src_lang="en" if moses else None, tgt_lang=self.language if moses else None
        )

    def read(self, data: Path, first: int, count: int) -> list[StreamSegment]:
        """Return segments; those with an empty text are left out."""
        triplets = read_triplets(TripletFiles.of(str(data / self.path)))
        return [StreamSegment(one.src, one.mt, one.pe) for one in islice(triplets, first, first + count)]


STREAMS = [
    Stream("adobe-pe.en-de/train", "moses", "de", "wmt18-nmt.en-de/dev"),
    Stream("adobe-pe.en-fr/train", "moses", "fr"),
    Stream("adobe-pe.en-es/train", "moses", "es"),
    Stream("adobe-pe.en-ja/train", "characters", "ja"),
    Stream("wmt18-smt.en-de/train", other="wmt18-nmt.en-de/dev"),
    Stream("wmt19-nmt.en-ru/train", language="ru"),
    Stream("wmt18-nmt.en-lv/train", language="lv"),
]
TUNED_ON = [  # with the first line of each part
    *((stream, 40_000, 2000) for stream in STREAMS[:3]),
    (STREAMS[0], 55_000, 1500),
    (Stream("wmt18-smt.en-de/dev"), 0, 1000),
    (Stream("wmt19-nmt.en-ru/dev", language="ru"), 0, 1000),
    (Stream("wmt18-nmt.en-lv/dev", language="lv"), 0, 1000),
]
BEFORE = 10_000  # triplets that a model is trained on before the stream
DEV = 1000  # the last of them
ROUNDS = 4
OUTPUTS = 20  # of each segment in a round of tuning
SCALE = 1.5  # largest weight: gains are then about the log-odds of edits being right


def run(stream: Stream, arguments: argparse.Namespace) -> str:
    """Return a row of the table."""
    segments = stream.read(arguments.data, BEFORE if arguments.recipe else 0, arguments.lines)
    tokenize = TOKENIZE[stream.splitter]
    with tempfile.TemporaryDirectory() as folder, CorrectionMemory(Path(folder) / "memory.db") as memory:
        model = str(train(stream, arguments, Path(folder))) if arguments.recipe else arguments.model
        config = LearningConfig(phrases=stream.text) if model == NO_MODEL else LearningConfig()
        editor = Protected(load_learning(model, memory, arguments.learn, config))
        before = edited(editor, stream, arguments.data)
        found = simulate(editor, segments, editor.search, tokenize)
        after = edited(editor, stream, arguments.data)
    if arguments.curves:
        arguments.curves.mkdir(parents=True, exist_ok=True)
        draw(found, arguments.window, arguments.curves / f"{stream.name}.svg", stream.name)
        (arguments.curves / f"{stream.name}.json").write_text(json.dumps(found.to_dict(arguments.window), indent=1))
    early = min(1000, found.segments)
    rates = [f"{found.cumulative(one, until):.2f}" for until in (early, found.segments) for one in found.systems]
    _, frozen, learnt = (one.repeated for one in found.systems)
    times = found.to_dict(arguments.window)["seconds of learning"]
    other = "-" if before is None or after is None else f"{before:.2f} to {after:.2f}"
    cells = [
        stream.name,
        f"{found.segments:,}",
        *rates,
        f"{frozen.all.met:,}",
        left(frozen.all),
        left(learnt.all),
        *(f"{one.met:,}: {left(one)}" for one in learnt.by_history),
        f"{1000 * times['median']:.1f}",
        f"{1000 * times['99 %']:.1f}",
        other,
    ]
    return f"| {' | '.join(cells)} |"


def left(errors: Repetition) -> str:
    """Return the percentage of errors that are left."""
    return f"{100 * errors.left / max(1, errors.met):.0f}"


def train(stream: Stream, arguments: argparse.Namespace, folder: Path) -> Path:
    """Train a model on what precedes a stream, and return its folder."""
    before = stream.read(arguments.data, 0, BEFORE)
    for name, part in (("train", before[:-DEV]), ("dev", before[-DEV:])):
        for side in ("src", "mt", "pe"):
            lines = "".join(getattr(one, side) + "\n" for one in part)
            (folder / f"{name}.{side}").write_text(lines, encoding="utf-8", newline="\n")
    text = {name: value for name, value in stream.text.model_dump(mode="json").items() if value is not None}
    options = {"data.dir": folder, **{f"text.{name}": value for name, value in text.items()}}
    command = [sys.executable, "-m", "postedit", "train", arguments.recipe, "--out", str(folder / "run")]
    command += [f"--set={name}={value}" for name, value in options.items()]
    subprocess.run(command, check=True)
    return folder / "run/model"


def edited(editor: Editor, stream: Stream, data: Path) -> float | None:
    """Return the TER of an editor on the data set of another domain, if there is one."""
    if not stream.other:
        return None
    triplets = Stream(stream.other).read(data, 0, 1000)
    texts = [one.text for one in editor.edit([one.src for one in triplets], [one.mt for one in triplets])]
    rows = score_systems({"edited": texts}, [one.pe for one in triplets], [one.mt for one in triplets], "none")
    return float(rows[-1].ter)


def tune(data: Path) -> None:
    """Print the TER of each round, and the weights of the best one, the largest of which is SCALE."""
    parts = [(stream, stream.read(data, first, count)) for stream, first, count in TUNED_ON]
    references = [one.pe for _, segments in parts for one in segments]
    metric = AdditiveTER("13a")
    pool = NBestPool(ALL_FEATURES, references, metric)
    weights = PhraseEditor.empty(PhraseTextConfig()).model.knowledge.correction_weights
    weights, trials = np.concatenate([[0.0], weights]), []
    for number in range(1, ROUNDS + 1):
        lists = [entries for part in parts for entries in listed(*part, weights)]
        statistics = metric.statistics([entries[0].text for entries in lists], references)
        trials.append((float(metric.loss(statistics.sum(0))), weights))
        print(f"round {number}: {trials[-1][0]:.3f}", flush=True)
        if not pool.add(lists):
            break
        weights = optimise(pool.lists(), weights, np.full(len(weights), -np.inf), TuneOptions("mira", seed=1))
        weights = weights / np.abs(weights).max()
    best = min(trials, key=lambda trial: trial[0])[1] * SCALE
    print({name: round(weight, 2) for name, weight in zip(ALL_FEATURES, best.tolist()) if abs(weight) >= 0.02})


def listed(stream: Stream, segments: Sequence[StreamSegment], weights: np.ndarray) -> list[list[NBestEntry]]:
    """Return the n-best list of each segment, edited with what the segments before it taught.

    The index of corrections stands in the place of that of training, so that edits have all their features.
    """
    lists = []
    editor = PhraseEditor.empty(stream.text)
    learner, never = PhraseLearner(editor), np.zeros(len(FEATURES))
    never[EDITS] = -1e6
    for number, one in enumerate(segments, start=1):
        known = editor.model.knowledge
        knowledge = known._replace(trained=known.corrections, correction_weights=never)
        model = replace(editor.model, knowledge=knowledge, weights=weights)
        proposer = PhraseEditor(model, editor.config, editor.text, editor.search)
        (best,) = proposer.edit([one.src], [one.mt], beam=OUTPUTS, n_best=OUTPUTS)
        lists.append([NBestEntry(each.text, each.features or {}) for each in (best, *best.alternatives)])
        learner.learn_entries([Entry(number, Correction(*one), None)])
    return lists


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("data", type=Path)
    running.add_argument("names", nargs="*", help="of data sets; all if not given")
    running.add_argument("--lines", type=int, default=10_000)
    running.add_argument("--window", type=int, default=500)
    models = running.add_mutually_exclusive_group()
    models.add_argument("--model", default=NO_MODEL)
    models.add_argument("--recipe")
    running.add_argument("--learn", choices=get_args(Learning), default="auto")
    running.add_argument("--curves", type=Path, help="folder for curves as SVG and JSON")
    tuning = commands.add_parser("tune")
    tuning.add_argument("data", type=Path)
    given = parser.parse_args()
    if given.command == "tune":
        tune(given.data)
    else:
        systems = "unedited MT | not learning | learning"
        print(
            f"| stream | segments | first 1,000: {systems} | all: {systems} | repeated errors | left % | learning | "
            f"{' | '.join(f'{name}: left %' for name in HISTORIES)} | ms to learn | 99 % | TER on another domain |"
        )
        print(f"|---|{'---:|' * 17}")
        for one in STREAMS:
            if not given.names or one.name in given.names:
                print(run(one, given), flush=True)
