"""Train the phrase-based model on folders of triplets, and print dev scores, CPU time and speed.

The model is scored twice: with weights tuned on the whole dev set, and in two folds, with weights tuned on the half of
the dev set that is not scored, so that nothing was chosen on the scored lines.

    python benchmarks/phrase_based.py FOLDER... [--set model.join_source=true]
"""

import argparse
import tempfile
import time
from itertools import count
from pathlib import Path

from rich.console import Console

from postedit import PostEditor
from postedit.data.lines import DevTexts
from postedit.data.triplets import read_triplets
from postedit.evaluate.metrics import AdditiveBLEU, AdditiveMean, AdditiveMetric, AdditiveTER
from postedit.evaluate.scores import score_system
from postedit.jobs.phrase_training import train_phrases, tune_weights, with_weights
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_model import START_WEIGHTS, weights_of
from postedit.phrase.phrase_options import PhraseTuneConfig
from postedit.phrase.phrase_recipe import load_phrase_recipe

RECIPE = Path(__file__).resolve().parents[1] / "recipes/phrase-based.toml"
METRICS: dict[str, AdditiveMetric] = {"ter": AdditiveTER(), "bleu": AdditiveBLEU(), "ter+bleu": AdditiveMean()}
ROUNDS = 3  # timed passes over the dev set; the fastest counts


def half(dev: DevTexts, part: int) -> DevTexts:
    return DevTexts(dev.src[part::2], dev.mt[part::2], dev.pe[part::2])


def two_folds(editor: PhraseEditor, dev: DevTexts, options: PhraseTuneConfig) -> list[str]:
    """Return the outputs for the dev set; each half is edited with weights tuned on the other half."""
    outputs: dict[int, str] = {}
    untuned = with_weights(editor, weights_of(START_WEIGHTS))  # as the present ones come from all of the dev set
    for part in (0, 1):
        other, own = half(dev, 1 - part), half(dev, part)
        tuned = tune_weights(untuned, other, METRICS[options.metric], options, QUIET)
        outputs.update(zip(count(part, 2), (edit.text for edit in tuned.edit(own.src, own.mt))))
    return [outputs[row] for row in sorted(outputs)]


def lines_per_second(editor: PhraseEditor, dev: DevTexts) -> float:
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        editor.edit(dev.src, dev.mt)
        seconds.append(time.process_time() - start)
    return len(dev.mt) / min(seconds)


QUIET = Console(quiet=True)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--set", dest="overrides", action="append", default=[])
    arguments = parser.parse_args()
    print(
        "| data | triplets | unedited TER | BLEU | tuned on dev TER | BLEU | two folds TER | BLEU | CPU s | lines/s |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for folder in arguments.folders:
        recipe = load_phrase_recipe(RECIPE, [f"data.dir={folder.resolve()}", *arguments.overrides])
        with tempfile.TemporaryDirectory() as temporary:
            start = time.process_time()
            run = train_phrases(recipe, Path(temporary) / "run", False, QUIET)
            seconds = time.process_time() - start
            editor = PostEditor.load(run.model)
        assert isinstance(editor, PhraseEditor)
        triplets = list(read_triplets(recipe.data.dev))
        dev = DevTexts(*([getattr(one, side) for one in triplets] for side in ("src", "mt", "pe")))
        folds = score_system("two folds", two_folds(editor, dev, recipe.tune), dev.pe, dev.mt)
        scores = [run.unedited, run.scores, folds]
        cells = " | ".join(f"{one.ter:.2f} | {one.bleu:.2f}" for one in scores)
        speed = lines_per_second(editor, dev)
        print(f"| {folder.name} | {run.triplets:,} | {cells} | {seconds:.1f} | {speed:,.0f} |", flush=True)
