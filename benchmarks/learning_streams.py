"""Measure learning from each correction at once, on streams of real corrections, from nothing or from a trained model.

    python benchmarks/learning_streams.py run DATA [NAME...] [--lines 10000] [--model MODEL | --recipe RECIPE]
        [--learn auto|online|nearest] [--curves DIR]
    python benchmarks/learning_streams.py tune DATA

`run` simulates post-editing on each stream of DATA, the folder of data sets: the editor edits each segment after it has
learnt the corrections before it, and then learns that segment's correction. It prints the TER of the unedited MT, of
the editor without learning and of the editor with learning; the share of errors left that had been corrected before;
the time to learn; and the TER on data sets of other domains before and after the stream. The model is `none`, which
knows nothing, or MODEL, or one that RECIPE trains for each stream on the first 10,000 lines of its data set (the last
1,000 of them are the dev set); the stream then begins after these lines. `tune` finds the weights of the edits that
corrections propose, by logistic regression of whether such an edit is right, on other lines than those of `run`.
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
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from postedit.adapt import CorrectionMemory, load_learning
from postedit.adapt.adaptation_config import NO_MODEL, Learning, LearningConfig
from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import Entry
from postedit.adapt.phrase_learner import PhraseLearner
from postedit.cli.simulate import draw
from postedit.core.editor import Editor
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.editing.protection import Protected
from postedit.evaluate.scores import score_systems
from postedit.jobs.simulation import HISTORIES, Repetition, StreamSegment, Tokenize, simulate
from postedit.phrase.correction_evidence import EVIDENCE, known_phrases
from postedit.phrase.correction_index import single_index
from postedit.phrase.decoder import sentence_of
from postedit.phrase.edit_candidates import CHANGED, FEATURES, new_scratch
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_options import PhraseTextConfig
from postedit.phrase.scored_edits import corrected_candidates, repeated
from postedit.phrase.source_alignment import single_text
from postedit.phrase.triplet_index import makes_change
from postedit.text.words import SplitterName

TOKENIZE: dict[SplitterName, Tokenize] = {"none": "none", "moses": "13a", "characters": "characters"}


@dataclass(frozen=True, slots=True)
class Stream:
    """Triplets of a data set in the order of their correction, and how their texts are divided into words."""

    path: str
    splitter: SplitterName = "none"
    language: str = "de"
    others: tuple[str, ...] = ()  # data sets of other domains

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
        """Return up to `count` segments from number `first` on, not counting triplets that `read_triplets` skips."""
        triplets = read_triplets(TripletFiles.of(str(data / self.path)))
        return [StreamSegment(one.src, one.mt, one.pe) for one in islice(triplets, first, first + count)]


OTHER = "wmt18-nmt.en-de/train"  # text of another domain, used by `tune`
STREAMS = [
    Stream("adobe-pe.en-de/train", "moses", "de", ("wmt18-nmt.en-de/dev", "mlqe-pe/en-de/dev")),
    Stream("adobe-pe.en-fr/train", "moses", "fr"),
    Stream("adobe-pe.en-es/train", "moses", "es"),
    Stream("adobe-pe.en-ja/train", "characters", "ja"),
    Stream("wmt18-smt.en-de/train", others=("wmt18-nmt.en-de/dev",)),
    Stream("wmt19-nmt.en-ru/train", language="ru"),
    Stream("wmt18-nmt.en-lv/train", language="lv"),
]
TUNED_ON = [  # streams, each with the first line and the number of lines to take
    *((replace(stream, others=(OTHER,)), 30_000, 3000) for stream in STREAMS[:3]),
    *((stream, 45_000, 2500) for stream in STREAMS[:3]),
    (replace(STREAMS[4], others=(OTHER,)), 20_500, 2000),
    (Stream("wmt19-nmt.en-ru/dev", language="ru"), 0, 1000),
    (Stream("wmt18-nmt.en-lv/dev", language="lv"), 0, 1000),
]
OTHERS = 5000, 500  # first line and number of lines to take from OTHER
BEFORE = 10_000  # triplets that a model is trained on before the stream
DEV = 1000  # of these, the last ones serve as dev set
USED = [  # features of the regression; its constant is "edits"
    "phrase",
    "best phrase",
    "seen changed anywhere",
    "phrases",
    "corrected",
    "corrected in context",
    "not corrected",
    "not corrected in context",
    "doubt",
    "beyond doubt",
    *EVIDENCE,
]
MOST_WORDS = 4  # an edit is weighted by the number of words that it changes, up to this many
STRENGTH = 0.3  # scikit-learn's C, the inverse strength of the regularisation


def run(stream: Stream, arguments: argparse.Namespace) -> str:
    """Simulate a stream, and return its row of the table."""
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
    others = [f"{name.removesuffix('/dev')}: {before[name]:.2f} to {after[name]:.2f}" for name in stream.others]
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
        ", ".join(others) or "-",
    ]
    return f"| {' | '.join(cells)} |"


def left(errors: Repetition) -> str:
    """Return the percentage of repeated errors that were left in the outputs."""
    return f"{100 * errors.left / max(1, errors.met):.0f}"


def train(stream: Stream, arguments: argparse.Namespace, folder: Path) -> Path:
    """Train a model on the lines before a stream, and return its folder."""
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


def edited(editor: Editor, stream: Stream, data: Path) -> dict[str, float]:
    """Return the TER of an editor on each data set of another domain."""
    found = {}
    for name in stream.others:
        triplets = Stream(name).read(data, 0, 1000)
        texts = [one.text for one in editor.edit([one.src for one in triplets], [one.mt for one in triplets])]
        rows = score_systems({"edited": texts}, [one.pe for one in triplets], [one.mt for one in triplets], "none")
        found[name] = float(rows[-1].ter)
    return found


def tune(data: Path) -> None:
    """Print how often the edits that corrections propose are right, and the weights of the logistic regression."""
    names = np.array([*FEATURES, *EVIDENCE])
    parts = [judged(stream, stream.read(data, first, count), data) for stream, first, count in TUNED_ON]
    for (stream, first, _), (_, right) in zip(TUNED_ON, parts, strict=True):
        print(f"{stream.name} from {first:,}: {len(right):,} edits, {100 * right.mean():.1f} % right", flush=True)
    features, right = np.concatenate([one for one, _ in parts]), np.concatenate([one for _, one in parts])
    used = np.flatnonzero(np.isin(names, USED))
    scaled = StandardScaler().fit(features[:, used])
    changed = np.clip(features[:, CHANGED], 1, MOST_WORDS)
    found = LogisticRegression(C=STRENGTH, max_iter=1000).fit(scaled.transform(features[:, used]), right, changed)
    weights = found.coef_[0] / scaled.scale_
    constant = float(found.intercept_[0] - weights @ scaled.mean_)
    chosen = {"edits": constant, **dict(zip(names[used].tolist(), weights.tolist(), strict=True))}
    print({name: round(weight, 2) for name, weight in chosen.items()})


def judged(stream: Stream, segments: Sequence[StreamSegment], data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the features and evidence of all proposed edits, Float64[N,F+E], and which of them are right, Bool[N].

    The edits of a segment are proposed by the corrections before it. Segments of other domains, if there are any, come
    after the stream and are not learnt.
    """
    editor, scratch = PhraseEditor.empty(stream.text), new_scratch()
    learner, places = PhraseLearner(editor), np.empty(editor.config.sample, np.int64)
    others = [one for name in stream.others for one in Stream(name).read(data, *OTHERS)]
    rows, right = [], []
    for number, one in enumerate([*segments, *others], start=1):
        correction = Correction(*one)
        if (aligned := learner.aligned(correction)) is None:
            continue
        triplet, src = aligned
        known = editor.model.knowledge
        sentence = sentence_of(single_text(triplet.mt), editor.model.joined, single_text(src), known.translations, 0)
        phrases = known_phrases(known.corrections.mt, sentence.asked)
        if number > 1 and repeated(sentence, known, phrases, places) < 0:
            candidates, evidence = corrected_candidates(sentence, known, phrases, places, scratch)
            own = single_index(triplet)
            for (start, end, place, count), *row in zip(candidates.spans, candidates.features, evidence, strict=True):
                new = candidates.words[place : place + count]
                rows.append(np.concatenate(row))
                right.append(makes_change(own, start, end - start, new))
        if number <= len(segments):
            learner.learn_entries([Entry(number, correction, None)])
    return np.array(rows), np.array(right)


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
            f"{' | '.join(f'{name}: left %' for name in HISTORIES)} | ms to learn | 99 % | TER on other domains |"
        )
        print(f"|---|{'---:|' * 17}")
        for one in STREAMS:
            if not given.names or one.name in given.names:
                print(run(one, given), flush=True)
