"""Compare a neural model, a phrase-based model and their combination on a dev set in two folds.

All weights, those of the phrase-based model included, are tuned on the half of the dev set that is not scored. So
nothing was chosen on the scored lines, except the checkpoint of the neural model if this is its dev set.

    python benchmarks/joint_candidates.py NEURAL FOLDER [--features] [--lines N] [--method mira]
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console

from postedit import PostEditor
from postedit.core.editor import Editor
from postedit.data.lines import DevTexts
from postedit.data.triplets import read_triplets
from postedit.editing.members import Members
from postedit.evaluate.metrics import AdditiveMean, AdditiveTER
from postedit.evaluate.scores import score_systems
from postedit.jobs.phrase_training import train_phrases, tune_weights, with_weights
from postedit.phrase.decoder import ALL_FEATURES
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_model import START_WEIGHTS, weights_of
from postedit.phrase.phrase_recipe import load_phrase_recipe
from postedit.search.rescoring import LENGTH, PENALTY, LogLinear, weighted_sum
from postedit.tuning.nbest_lists import NBestEntry, NBestPool
from postedit.tuning.rounds import TuneOptions, optimise, tune

RECIPE = Path(__file__).resolve().parents[1] / "recipes/phrase-based.toml"
QUIET = Console(quiet=True)
BEAM = 10


def half(dev: DevTexts, part: int) -> DevTexts:
    return DevTexts(dev.src[part::2], dev.mt[part::2], dev.pe[part::2])


def tuned(members: Members, dev: DevTexts, options: TuneOptions) -> Editor:
    """Return the members combined with weights tuned on `dev`, and print the weights."""
    with tempfile.TemporaryDirectory() as folder:
        found = tune(members, dev, AdditiveTER(), options, Path(folder), QUIET)
    print("  ", {name: round(weight, 3) for name, weight in found.weights.items()}, flush=True)
    return members.editor(LogLinear(found.weights), "log")


def systems(neural: PostEditor, phrases: PhraseEditor, options: TuneOptions) -> dict[str, Callable[[DevTexts], Editor]]:
    """Return, by name, functions that make each system of the table from the lines that its weights are tuned on."""
    config = load_phrase_recipe(RECIPE, check_data=False).tune
    search = neural.search.with_options(beam=BEAM)

    def other(dev: DevTexts) -> PhraseEditor:
        return tune_weights(phrases, dev, AdditiveMean(), config, QUIET)

    return {
        "phrase-based": other,
        "neural": lambda dev: neural,
        f"neural, beam {BEAM}": lambda dev: Members(neural, {}, search).plain("log"),
        "neural, tuned": lambda dev: tuned(Members(neural, {}, search), dev, options),
        "both, equal weights": lambda dev: Members(neural, {1: other(dev)}, search).plain("log"),
        "both, tuned": lambda dev: tuned(Members(neural, {1: other(dev)}, search), dev, options),
    }


def by_features(neural: PostEditor, phrases: PhraseEditor, dev: DevTexts, options: TuneOptions) -> dict[str, list[str]]:
    """Return the outputs chosen from the same candidates by the phrase-based model's score, and by its features."""
    config = load_phrase_recipe(RECIPE, check_data=False).tune
    common = ["model 1", LENGTH, PENALTY]
    kinds = {"score": [*common, "model 2"], "features": [*common, *ALL_FEATURES]}
    chosen: dict[str, dict[int, str]] = {kind: {} for kind in kinds}
    for part in (0, 1):
        tuning, own = half(dev, 1 - part), half(dev, part)
        other = tune_weights(phrases, tuning, AdditiveMean(), config, QUIET)
        editor = Members(neural, {1: other}, neural.search.with_options(beam=BEAM)).plain("log")
        lists = [_with_features(editor, other, one) for one in (tuning, own)]
        for kind, names in kinds.items():
            pool = NBestPool(names, tuning.pe, AdditiveTER())
            pool.add(lists[0])
            start = np.array([float(name.startswith("model")) for name in names])
            lower = np.where(start > 0.0, 1e-3, -np.inf)
            weights = dict(zip(names, optimise(pool.lists(), start, lower, options).tolist()))
            best = (max(entries, key=lambda entry: weighted_sum(entry.features, weights)) for entries in lists[1])
            chosen[kind].update(zip(range(part, len(dev.mt), 2), (entry.text for entry in best)))
    return {kind: [texts[row] for row in sorted(texts)] for kind, texts in chosen.items()}


def _with_features(editor: Editor, phrases: PhraseEditor, dev: DevTexts) -> list[list[NBestEntry]]:
    """Return the candidates of each line with the scores of both models, and the features of the phrase-based one."""
    lists = []
    for src, mt, best in zip(dev.src, dev.mt, editor.edit(dev.src, dev.mt, n_best=BEAM)):
        found = [best, *best.alternatives]
        scored = phrases.score([src] * len(found), [mt] * len(found), [one.text for one in found])
        pairs = zip(found, scored)
        lists.append([NBestEntry(one.text, {**(one.features or {}), **(own.features or {})}) for one, own in pairs])
    return lists


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("neural", type=Path)
    parser.add_argument("folder", type=Path, help="with train and dev triplets")
    parser.add_argument("--lines", type=int, help="use only the first lines of the dev set")
    parser.add_argument("--phrases", type=Path, help="phrase-based model; trained on the folder if not given")
    parser.add_argument("--features", action="store_true", help="compare the phrase-based score with its features")
    parser.add_argument("--method", choices=["mert", "mira"], default="mert")
    arguments = parser.parse_args()
    recipe = load_phrase_recipe(RECIPE, [f"data.dir={arguments.folder.resolve()}"])
    with tempfile.TemporaryDirectory() as temporary:
        model = arguments.phrases or train_phrases(recipe, Path(temporary) / "run", False, QUIET).model
        phrases, neural = PostEditor.load(model), PostEditor.load_corrector(arguments.neural)
    assert isinstance(phrases, PhraseEditor)
    phrases = with_weights(phrases, weights_of(START_WEIGHTS))  # as its own come from all of the dev set
    triplets = list(read_triplets(recipe.data.dev))[: arguments.lines]
    dev = DevTexts(*([getattr(one, side) for one in triplets] for side in ("src", "mt", "pe")))
    if arguments.features:
        for row in score_systems(by_features(neural, phrases, dev, TuneOptions(arguments.method)), dev.pe, dev.mt):
            print(f"{row.name}: TER {row.ter:.2f}, BLEU {row.bleu:.2f}")
        return
    outputs: dict[str, list[str]] = {}
    seconds: dict[str, float] = {}
    for name, made in systems(neural, phrases, TuneOptions(arguments.method)).items():
        print(name, flush=True)
        texts = dict.fromkeys(range(len(dev.mt)), "")
        for part in (0, 1):
            editor, own = made(half(dev, 1 - part)), half(dev, part)
            start = time.process_time()
            texts.update(zip(range(part, len(dev.mt), 2), (one.text for one in editor.edit(own.src, own.mt))))
            seconds[name] = seconds.get(name, 0.0) + time.process_time() - start
        outputs[name] = list(texts.values())
    print("| system | TER | BLEU | changed | lines/s |\n|---|---:|---:|---:|---:|")
    for row in score_systems(outputs, dev.pe, dev.mt):
        changed = sum(text != mt for text, mt in zip(outputs.get(row.name, dev.mt), dev.mt))
        speed = f"{len(dev.mt) / seconds[row.name]:,.0f}" if row.name in seconds else ""
        print(f"| {row.name} | {row.ter:.2f} | {row.bleu:.2f} | {changed} | {speed} |")


if __name__ == "__main__":
    main()
