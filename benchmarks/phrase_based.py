"""Train the phrase-based model on folders of triplets, and print dev scores, CPU time and speed.

The model is scored twice: with weights tuned on the whole dev set, and in two folds, with weights tuned on the half of
the dev set that is not scored, so that nothing was chosen on the scored lines.

    python benchmarks/phrase_based.py FOLDER... [--set model.join_source=true] [--blocks]
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from postedit import PostEditor
from postedit.data.lines import DevTexts
from postedit.data.triplets import read_triplets
from postedit.evaluate.metrics import additive_metric
from postedit.evaluate.scores import score_system
from postedit.jobs.phrase_training import train_phrases, tune_weights, with_weights
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_model import START_WEIGHTS, weights_of
from postedit.phrase.phrase_options import PhraseTuneConfig
from postedit.phrase.phrase_recipe import load_phrase_recipe

RECIPE = Path(__file__).resolve().parents[1] / "recipes/phrase-based.toml"
ROUNDS = 3  # timed passes over the dev set; the fastest counts


def lines_of(dev: DevTexts, rows: Sequence[int]) -> DevTexts:
    return DevTexts(*([side[row] for row in rows] for side in (dev.src, dev.mt, dev.pe)))


def two_folds(editor: PhraseEditor, dev: DevTexts, options: PhraseTuneConfig, blocks: bool) -> list[str]:
    """Return the outputs for the dev set; each half is edited with weights tuned on the other half.

    The halves have alternate lines or, as `blocks`, neighbouring ones.
    """
    count = len(dev.mt)
    halves = (range(count // 2), range(count // 2, count)) if blocks else (range(0, count, 2), range(1, count, 2))
    outputs: dict[int, str] = {}
    untuned = with_weights(editor, weights_of(START_WEIGHTS))  # as the present ones come from all of the dev set
    for own, other in (halves, halves[::-1]):
        tuned = tune_weights(untuned, lines_of(dev, other), additive_metric(options.metric), options, QUIET)
        lines = lines_of(dev, own)
        outputs.update(zip(own, (edit.text for edit in tuned.edit(lines.src, lines.mt))))
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
    parser.add_argument("--blocks", action="store_true", help="divide dev in the middle, not into alternate lines")
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
        folds = score_system("two folds", two_folds(editor, dev, recipe.tune, arguments.blocks), dev.pe, dev.mt)
        scores = [run.unedited, run.scores, folds]
        cells = " | ".join(f"{one.ter:.2f} | {one.bleu:.2f}" for one in scores)
        speed = lines_per_second(editor, dev)
        print(f"| {folder.name} | {run.triplets:,} | {cells} | {seconds:.1f} | {speed:,.0f} |", flush=True)
