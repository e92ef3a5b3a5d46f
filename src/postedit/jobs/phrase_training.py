"""Train a phrase-based model: index the triplets, then tune the feature weights on the dev set.

recipe.toml   the resolved recipe, from which the run can be repeated
data.json     numbers of triplets kept and left out, with reasons
run.lock      locked while a process trains here
model/        the model folder, written at the end
"""

import hashlib
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console

import postedit
from postedit.core.arguments import check_kind, path_of
from postedit.core.checksums import record_folder
from postedit.core.editor import PostEdit
from postedit.core.errors import DataError, RecipeError
from postedit.core.files import check_writable, explain_os_errors, save_json
from postedit.data.lines import DevTexts, add_texts
from postedit.data.report import DataReport
from postedit.data.triplets import Triplet, read_triplets
from postedit.evaluate.metrics import AdditiveMetric, Floats, additive_metric
from postedit.evaluate.scores import SystemScores, score_systems
from postedit.evaluate.ter import count_edits
from postedit.evaluate.tokenisation import Tokenize, unexpected_tokenisation
from postedit.jobs.run_preparation import check_data, claimed, count_lines, holds_run
from postedit.phrase.decoder import ALL_FEATURES
from postedit.phrase.phrase_editor import PhraseEditor
from postedit.phrase.phrase_folder import PhraseFolder
from postedit.phrase.phrase_model import DECISION_WEIGHTS, SplitTriplet, learn
from postedit.phrase.phrase_options import NAME, PhraseTextConfig, PhraseTuneConfig
from postedit.phrase.phrase_recipe import PhraseRecipe, load_phrase_recipe
from postedit.progress import LineProgress
from postedit.text.edits import apply_edits
from postedit.tuning.nbest_lists import NBestEntry, NBestPool
from postedit.tuning.rounds import TuneOptions, optimise

_LARGEST_SCALE: Final = 100.0  # of scores; only data that cannot determine the scale would ask for more


@dataclass(frozen=True, slots=True)
class PhraseRun:
    """A finished run: its model folder, dev scores of unedited MT and of the model, number of training triplets."""

    model: Path
    unedited: SystemScores
    scores: SystemScores
    triplets: int


def train_phrases(
    recipe: PhraseRecipe, folder: str | Path, resume: bool = False, console: Console | None = None
) -> PhraseRun:
    """Train the phrase-based model of `recipe` in `folder`.

    The model is written only at the end: with `resume`, an interrupted run starts again, and a finished one is not
    repeated.

    Args:
        recipe: model, data and options.
        folder: a new folder, or that of the run to resume.
        resume: whether to continue the run in `folder`.
        console: where to report; standard error if None.

    Raises:
        RecipeError: if the run to resume had another recipe.
        DataError: if the data cannot be used, `recipe` is not a phrase recipe, or `folder` not a path.
        OutputError: if the folder holds another run or cannot be written, or the disk is full.
    """
    check_kind("recipe", recipe, PhraseRecipe, 'a PhraseRecipe, such as load_phrase_recipe("recipe.toml")')
    folder = path_of("folder", folder)
    console = Console(stderr=True, markup=False) if console is None else console
    _check_folder(recipe, folder, resume)
    with explain_os_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    check_writable(folder / "recipe.toml")
    if not (resume and (folder / "model").exists()):
        sources = [files for _, files in recipe.data.sources]
        check_data(
            sources, folder, lambda message: console.print(message, soft_wrap=True, highlight=False, markup=False)
        )
    with claimed(folder):
        if resume and (folder / "model").exists():
            console.print(f"{folder}: is finished and stays as it is", soft_wrap=True, highlight=False, markup=False)
            return _finished(recipe, folder)
        recipe.save(folder / "recipe.toml")
        result = _trained(recipe, folder, console)
        record_folder(folder)
        return result


def _check_folder(recipe: PhraseRecipe, folder: Path, resume: bool) -> None:
    saved = folder / "recipe.toml"
    if holds_run(folder, resume) and load_phrase_recipe(saved, check_data=False) != recipe:
        raise RecipeError(f"{saved}: is another recipe; start a new run with --out, or resume with the old options")


def _finished(recipe: PhraseRecipe, folder: Path) -> PhraseRun:
    model = PhraseFolder.load(folder / "model")
    dev = _dev_texts(recipe)
    edits = model.editor().edit(dev.src, dev.mt)
    unedited, scores = _scored({NAME: edits}, dev, recipe.text, _tokenize(recipe))
    return PhraseRun(folder / "model", unedited, scores, int(model.provenance.get("triplets", 0)))


def _trained(recipe: PhraseRecipe, folder: Path, console: Console) -> PhraseRun:
    report = DataReport()
    digest = hashlib.sha256()
    dev, tokenize = _dev_texts(recipe), _tokenize(recipe)
    with LineProgress(console, count_lines(recipe.data.train)) as progress:
        split = _split(recipe, progress.track(read_triplets(recipe.data.train, report)), report, digest)
        first = next(split, None)
        if first is None:
            raise DataError(f"data.train: no triplet is left\n{report}".rstrip())
        model = learn(chain([first], split), recipe.model)
    save_json(folder / "data.json", report.to_dict())
    console.print(str(report), highlight=False, markup=False, soft_wrap=True)
    editor = PhraseEditor(model, recipe.model, recipe.text, recipe.search)
    tuned = tune_weights(editor, dev, additive_metric(recipe.tune.metric, tokenize), recipe.tune, console)
    edits = tuned.edit(dev.src, dev.mt)
    unedited, scores = _scored({NAME: edits}, dev, recipe.text, tokenize)
    made = _provenance(recipe, report.kept, digest.hexdigest(), dev)
    made["dev"] = {
        **{name: getattr(scores, name) for name in ("ter", "bleu", "chrf")},
        "do_nothing_ter": unedited.ter,
        "do_nothing_bleu": unedited.bleu,
    }
    made["weights"] = dict(zip(ALL_FEATURES, tuned.model.weights.tolist()))
    PhraseFolder(tuned.model, recipe.model, recipe.text, recipe.search, made).save(folder / "model")
    return PhraseRun(folder / "model", unedited, scores, report.kept)


def _split(
    recipe: PhraseRecipe, triplets: Iterable[Triplet], report: DataReport, digest: Any
) -> Iterator[SplitTriplet]:
    """Yield the words of the triplets that are not too long, and add the texts of all triplets to `digest`."""
    src, mt, pe = (recipe.text.splitter(side) for side in ("src", "mt", "pe"))
    for triplet in triplets:
        add_texts(digest, triplet.src, triplet.mt, triplet.pe)
        words = SplitTriplet(src.words(triplet.src), mt.words(triplet.mt), pe.words(triplet.pe))
        if max(map(len, words)) > recipe.data.max_length:
            report.skip(triplet.source, triplet.line, f"more than {recipe.data.max_length} words (data.max_length)")
        else:
            yield words


def _dev_texts(recipe: PhraseRecipe) -> DevTexts:
    report = DataReport()
    triplets = list(read_triplets(recipe.data.dev, report))
    if not triplets:
        raise DataError(f"data.dev: no triplet is left\n{report}".rstrip())
    return DevTexts(*([getattr(triplet, side) for triplet in triplets] for side in ("src", "mt", "pe")))


def _tokenize(recipe: PhraseRecipe) -> Tokenize:
    return "13a" if recipe.text.tokenizer == "moses" else "none"


def _scored(
    systems: Mapping[str, Sequence[PostEdit]], dev: DevTexts, text: PhraseTextConfig, tokenize: Tokenize
) -> list[SystemScores]:
    """Return the scores of the unedited MT, then those of each system."""
    outputs = {name: _measured(text, [edit.text for edit in edits]) for name, edits in systems.items()}
    return score_systems(outputs, _measured(text, dev.pe), _measured(text, dev.mt), tokenize)


def _measured(config: PhraseTextConfig, texts: Sequence[str]) -> list[str]:
    """Return texts as metrics read them: if characters are words, they are separated by spaces."""
    if config.tokenizer != "characters":
        return list(texts)
    words = config.splitter("pe").words
    return [" ".join(words(text)) for text in texts]


def _provenance(recipe: PhraseRecipe, triplets: int, digest: str, dev: DevTexts) -> dict[str, Any]:
    """Return the provenance of the model, without folder names, since it may be published."""
    values = recipe.to_dict()
    names = dict.fromkeys(path.name for _, files in recipe.data.sources for path in files.paths)
    values["data"] = {"files": list(names), "max_length": recipe.data.max_length}
    return {
        "recipe": values,
        "triplets": triplets,
        "environments": [
            {
                "postedit": postedit.__version__,
                "python": platform.python_version(),
                "platform": platform.platform(),
                "processors": os.cpu_count(),
                "corpora": {"train": digest, "dev": dev.digest},
            }
        ],
    }


def retune(
    model: Path,
    dev: DevTexts,
    out: Path,
    config: PhraseTuneConfig,
    tokenize: Tokenize,
    console: Console,
    warn: Callable[[str], None] = lambda message: None,
) -> list[SystemScores]:
    """Write `model` to `out` with weights tuned on another dev set.

    `warn` is called with a message if the post-edits, in the words of the model, do not fit `tokenize`.

    Returns:
        The scores on `dev` of the unedited MT, of the model as it was, and of the tuned model.

    Raises:
        ModelFolderError: if the model is damaged.
        OutputError: if `out` exists and is not a model, or cannot be written.
    """
    folder = PhraseFolder.load(model)
    old = folder.editor(model)
    for warning in unexpected_tokenisation("pe", _measured(old.text, dev.pe), tokenize):
        warn(warning)
    new = tune_weights(old, dev, additive_metric(config.metric, tokenize), config, console)
    systems = {name: one.edit(dev.src, dev.mt) for name, one in (("as it was", old), ("tuned", new))}
    scores = _scored(systems, dev, old.text, tokenize)
    environments = folder.provenance.get("environments", [])
    tuned = {
        "postedit": postedit.__version__,
        "corpora": {"dev": dev.digest},
    }
    made = {
        **folder.provenance,
        "environments": [*environments, tuned],
        "weights": dict(zip(ALL_FEATURES, new.model.weights.tolist())),
        "dev": {"ter": scores[-1].ter, "bleu": scores[-1].bleu, "do_nothing_ter": scores[0].ter},
    }
    replace(folder, model=new.model, provenance=made).save(out)
    return scores


def tune_weights(
    editor: PhraseEditor, dev: DevTexts, metric: AdditiveMetric, config: PhraseTuneConfig, console: Console
) -> PhraseEditor:
    """Return the editor with the weights of the best round on `dev`, scaled so that confidences are calibrated."""
    decisions = {ALL_FEATURES.index(name): weight for name, weight in DECISION_WEIGHTS.items()}
    weights = editor.model.weights.copy()
    weights[list(decisions)] = 0.0  # they apply only to corrections learnt later, so dev says nothing about them
    references = _measured(editor.text, dev.pe)
    pool = NBestPool(ALL_FEATURES, references, metric)
    options = TuneOptions(config.method, seed=config.seed)
    trials: list[tuple[float, Floats]] = []
    for number in range(1, config.rounds + 2):
        found = with_weights(editor, weights).edit(dev.src, dev.mt, beam=config.outputs, n_best=config.outputs)
        outputs = _measured(editor.text, [edit.text for edit in found])
        loss = float(metric.loss(metric.statistics(outputs, references).sum(0)))
        trials.append((loss, weights))
        new = pool.add([_entries(editor.text, (best, *best.alternatives)) for best in found])
        measured = f"{config.metric.upper()} {metric.score(loss):.2f}"
        shown = f"round {number}: dev, {measured}; {new:,} new outputs, {len(pool):,} in all"
        console.print(shown, highlight=False)
        if not new or number > config.rounds:
            break
        weights = optimise(pool.lists(), weights, np.full(len(weights), -np.inf), options)
        weights = weights / (np.abs(weights).max() or 1.0)
    best = with_weights(editor, min(trials, key=lambda trial: trial[0])[1])
    scaled = best.model.weights * _scale(best.edit(dev.src, dev.mt), dev, editor.text)
    scaled[list(decisions)] = list(decisions.values())
    return with_weights(editor, scaled)


def _entries(config: PhraseTextConfig, outputs: Sequence[PostEdit]) -> list[NBestEntry]:
    outputs = [one for one in outputs if one.skipped is None] or outputs
    texts = _measured(config, [one.text for one in outputs])
    return [NBestEntry(text, one.features or {}) for text, one in zip(texts, outputs, strict=True)]


def with_weights(editor: PhraseEditor, weights: Floats) -> PhraseEditor:
    """Return a copy of the editor with other feature weights."""
    return PhraseEditor(
        replace(editor.model, weights=weights), editor.config, editor.text, editor.search, editor.sources
    )


def _scale(edits: Sequence[PostEdit], dev: DevTexts, config: PhraseTextConfig) -> float:
    """Return the factor for scores that calibrates the confidences of edits; 1 if there are no edits.

    An edit is right if, made alone, it brings mt nearer to the post-edit by TER. The factor maximises the likelihood:
    its logarithm is found by bisection on the sign of the derivative.
    """
    alone = [
        (apply_edits(mt, edit.text, [one]), mt, pe, confidence)
        for edit, mt, pe in zip(edits, dev.mt, dev.pe, strict=True)
        for one, confidence in zip(edit.edits, edit.confidences, strict=True)
    ]
    if not alone:
        return 1.0
    *measured, confidences = zip(*alone, strict=True)
    texts, unedited, references = (_measured(config, side) for side in measured)
    after, before = count_edits(texts, references), count_edits(unedited, references)
    right = np.array([one.edits < other.edits for one, other in zip(after, before, strict=True)])
    sure = np.clip(np.array(confidences), 1e-12, 1.0 - 1e-12)
    gains = np.log(sure / (1.0 - sure))
    low, high = np.log(1.0 / _LARGEST_SCALE), np.log(_LARGEST_SCALE)
    for _ in range(50):
        middle = (low + high) / 2.0
        rises = float((gains * (right - 1.0 / (1.0 + np.exp(-gains * np.exp(middle))))).sum()) > 0.0
        low, high = (middle, high) if rises else (low, middle)
    return float(np.exp(low))
