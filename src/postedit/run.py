"""A training run: from a recipe to a folder with a model that post-edits.

recipe.toml        the resolved recipe, from which the run can be repeated
environment.json   versions, machine, command and data fingerprints, for each time the run was started
data.json          what became of the triplets: kept, left out, why and where
text/              subword vocabularies and truecasing
corpus/            the triplets as memory-mapped ids
draft/ drafts/     a first stage and what it wrote, if the recipe has one; see `postedit.drafting`
checkpoints/ best/ log.jsonl tensorboard/    see `postedit.train`
model/             the model folder: the best so far, from the first validation on
"""

import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import torch
from accelerate import PartialState
from rich.console import Console

import postedit
from postedit.candidates import Proposer
from postedit.core.config import problem_report, read_toml
from postedit.core.errors import OutputError
from postedit.core.files import atomic_folder, atomic_write, check_writable, explain_os_errors
from postedit.core.inherit import inherit_embeddings
from postedit.core.model import Seq2Seq, Writes
from postedit.data.corpus import Corpus, write_corpus
from postedit.data.report import DataReport
from postedit.data.triplets import DataConfig, Triplet, check_files, read_triplets
from postedit.drafting import first_stage_folder, write_drafts
from postedit.editor import PostEditor
from postedit.evaluate.scores import DO_NOTHING, SystemScores, score_system
from postedit.folder import ModelFolder
from postedit.recipe import Recipe, parse_recipe
from postedit.text.processor import TextProcessor
from postedit.train.config import FREE_ON_RESUME
from postedit.train.loop import Trainer
from postedit.train.result import TrainResult
from postedit.train.risk import Propose

_RECORDED_PACKAGES: Final = (
    "accelerate", "numpy", "peft", "pyarrow", "sacrebleu", "sacremoses", "sentencepiece", "tokenizers", "torch",
    "transformers",
)  # fmt: skip

# While the main process prepares the data or decodes the dev set, the others wait; PyTorch would end the run after
# 10 minutes of that.
_LONGEST_WAIT: Final = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run.

    Args:
        folder: of the run.
        model: the model folder in it, ready for `PostEditor.load`.
        training: how training went.
        do_nothing: scores of the unedited dev translations, beside which the model's are to be read: those of the
            first stage, if there is one; None if there are no translations.
    """

    folder: Path
    model: Path
    training: TrainResult
    do_nothing: SystemScores | None


def train(
    recipe: Recipe,
    folder: Path,
    resume: bool = False,
    console: Console | None = None,
    text: Path | None = None,
) -> RunResult:
    """Train the model of `recipe` in `folder`, after its first stage if it has one.

    Args:
        recipe: what to train, on what.
        folder: new, or that of a run to resume.
        resume: go on with the run in `folder`.
        console: where to report; standard error if not given.
        text: folder of a saved text processing to use; it is learnt from the training triplets if not given.

    Raises:
        RecipeError: if the run to resume had another recipe; only how long to train, what to write and
                `[decode]` may change.
        DataError: if the data cannot be used.
        OutputError: if the folder holds another run, cannot be written, or the disk is full.
        TrainingError: if the loss is not a number.
        KeyboardInterrupt: after Ctrl-C, when a checkpoint is written.
    """
    console = Console(stderr=True) if console is None else console
    processes = PartialState(timeout=_LONGEST_WAIT)
    if processes.is_main_process:
        _begin(recipe, folder, resume)
        _learn_text(recipe, folder, text, console)
    processes.wait_for_everyone()
    data = recipe.data
    if recipe.draft is not None:
        data = write_drafts(recipe, folder, partial(_train_first_stage, folder / "text", console), console)
    if processes.is_main_process:
        _write_corpora(data, recipe.architecture.model.writes, folder, console)
        _record_start(recipe, folder)
    processes.wait_for_everyone()
    run = _Run(recipe, data, folder, TextProcessor.load(folder / "text"))
    torch.manual_seed(recipe.train.seed)
    model = recipe.architecture.build(recipe.model, run.processor.vocabularies)
    if run.first is not None and recipe.draft is not None and recipe.draft.inherit_embeddings:
        inherit_embeddings(model, run.first.model)
    if processes.is_main_process:
        parameters = sum(parameter.numel() for parameter in model.parameters())
        trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
        size = f"{parameters:,} parameters" + (f", {trained:,} of them trained" if trained < parameters else "")
        console.print(f"{recipe.architecture.name}: {size}{run.do_nothing_line()}", soft_wrap=True)
    corpora = folder / "corpus"
    trainer = Trainer(
        model,
        Corpus.open(corpora / "train.arrow"),
        Corpus.open(corpora / "dev.arrow"),
        recipe.train,
        folder,
        run.score_dev,
        run.export,
        console,
        run.propose,
    )
    result = trainer.run(resume)
    if processes.is_main_process:
        run.record(result)
    return RunResult(folder, result.model_folder, result, run.do_nothing)


def prepare(recipe: Recipe, folder: Path, resume: bool, console: Console) -> None:
    """Do what comes before training, as far as it is not done: claim the folder, learn the text, write the corpora.

    `train` does it too; on its own it is for who wants to know how long it takes. The folder then holds a run to
    resume. Corpora with the drafts of a first stage are left to `train`.

    Raises:
        RecipeError, DataError, OutputError: as `train`.
    """
    _begin(recipe, folder, resume)
    _learn_text(recipe, folder, None, console)
    if recipe.draft is None:
        _write_corpora(recipe.data, recipe.architecture.model.writes, folder, console)


def _train_first_stage(text: Path, console: Console, stage: Recipe, folder: Path) -> None:
    """Train, or go on training, a model that drafts."""
    console.print(f"First stage, in {folder}", soft_wrap=True, highlight=False)
    result = train(stage, folder, (folder / "recipe.toml").exists(), console, text).training
    console.print(f"First stage: {result.steps:,} updates; ended because {result.reason}", highlight=False)


class _Run:
    """What training asks back of the run: dev scores of decoded text, and a model folder."""

    def __init__(self, recipe: Recipe, data: DataConfig, folder: Path, processor: TextProcessor) -> None:
        self.recipe, self.folder, self.processor = recipe, folder, processor
        self.first = None if recipe.draft is None else ModelFolder.load(first_stage_folder(folder))
        self.dev: list[Triplet] = list(read_triplets(data.dev))
        self.mt = None if data.dev.mt is None else [triplet.mt for triplet in self.dev]
        baseline = DO_NOTHING if recipe.draft is None else "drafts"
        self.do_nothing = None if self.mt is None else self._score(baseline, self.mt)

    def score_dev(self, model: Seq2Seq) -> Mapping[str, float]:
        """Decode the dev set greedily and return its scores."""
        editor = PostEditor(model, self.processor, self.recipe.decode)
        edits = editor.edit([triplet.src for triplet in self.dev], self.mt, beam=1)
        scores = self._score(self.recipe.architecture.name, [edit.text for edit in edits])
        return {"ter": scores.ter, "bleu": scores.bleu, "chrf": scores.chrf}

    @property
    def propose(self) -> Propose | None:
        """What finds the candidates of minimum risk training, if the recipe has that."""
        recipe = self.recipe
        risk = recipe.train.risk
        return None if risk is None else Proposer(risk, recipe.decode.search(), self.processor)

    def do_nothing_line(self) -> str:
        """Say how good the dev translations are as they stand, as the end of a line."""
        if self.do_nothing is None:
            return ""
        return f"; {self.do_nothing.name}: TER {self.do_nothing.ter:.2f}, BLEU {self.do_nothing.bleu:.2f} on dev"

    def export(self, model: Seq2Seq, path: Path) -> None:
        """Write a model folder."""
        self._model_folder(model, {}).save(path)

    def record(self, result: TrainResult) -> None:
        """Write into the exported model how it was trained and how it scored."""
        chosen = result.average if result.exported == "average" and result.average is not None else result.single
        exported = ModelFolder.load(result.model_folder)
        dev = dict(chosen.metrics)
        if self.do_nothing is not None:
            dev |= {"do_nothing_ter": self.do_nothing.ter, "do_nothing_bleu": self.do_nothing.bleu}
        training = {
            "steps": result.steps,
            "epochs": result.epochs,
            "target_tokens": result.target_tokens,
            "seconds": round(result.seconds, 1),
            "ended_because": result.reason,
            "weights": result.exported,
        }
        provenance = {**exported.provenance, "training": training, "dev": dev}
        replace(exported, provenance=provenance).save(result.model_folder)

    def _model_folder(self, model: Seq2Seq, dev: Mapping[str, float]) -> ModelFolder:
        recipe = self.recipe
        provenance = {**_provenance(recipe, self.folder), "dev": dict(dev)}
        return ModelFolder(
            recipe.architecture, recipe.model.published(), recipe.decode, model, self.processor, provenance, self.first
        )

    def _score(self, name: str, hypotheses: list[str]) -> SystemScores:
        raw = self.recipe.text.tokenizer != "none"
        post_edits = [triplet.pe for triplet in self.dev]
        return score_system(name, hypotheses, post_edits, self.mt, "13a" if raw else "none")


def _begin(recipe: Recipe, folder: Path, resume: bool) -> None:
    """Make sure that the folder is this run's and may be written, and the data can be read; then claim the folder.

    In this order, so that nothing is left behind that would stop the same command once the fault is mended.
    """
    saved = folder / "recipe.toml"
    if saved.exists() and not resume:
        raise OutputError(f"{folder}: already holds a run; go on with it by --resume, or choose another by --out")
    if not saved.exists() and folder.is_dir() and any(folder.iterdir()):
        raise OutputError(f"{folder}: is not empty and holds no run; choose a new folder by --out")
    if saved.exists():
        _check_same(parse_recipe(read_toml(saved), str(saved), None), recipe, saved)
    with explain_os_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    check_writable(saved)
    text, corpora = _prepared(folder)
    if not (text.exists() and corpora.exists()):
        for source in [*recipe.data.train, recipe.data.dev]:
            check_files(source)
    recipe.save(saved)


def _check_same(old: Recipe, new: Recipe, where: Path) -> None:
    """Only how long to train, what to write, and search settings may change in mid-run."""
    before, after = _options(old.to_dict()), _options(new.to_dict())
    free = {f"{stage}train.{option}" for option in FREE_ON_RESUME for stage in ("", "draft.")}
    problems = [
        f"{option}: was {before.get(option, 'not set')!r}, is {after.get(option, 'not set')!r}"
        for option in sorted(before.keys() | after.keys())
        if before.get(option) != after.get(option) and option not in free and not option.startswith("decode.")
    ]
    if problems:
        raise problem_report(
            f"{where}: a run cannot be resumed with another recipe; choose another folder by --out, or delete this one",
            problems,
        )


def _options(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the options of all sections by their full names, such as `train.lr`."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= _options(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return found


def _prepared(folder: Path) -> tuple[Path, Path]:
    """Return where text processing and corpora are, once they are made."""
    return folder / "text", folder / "corpus"


def _learn_text(recipe: Recipe, folder: Path, given: Path | None, console: Console) -> None:
    """Learn the text processing from the training triplets, or take what is given, unless that is done."""
    text, _ = _prepared(folder)
    if text.exists():
        return
    if given is None:
        checkpoint = recipe.text.vocabulary.checkpoint
        console.print("Learning subword vocabularies" if checkpoint is None else f"Vocabulary: that of {checkpoint}")
        processor = TextProcessor.fit(recipe.text, lambda: read_triplets(recipe.data.train))
    else:
        processor = TextProcessor.load(given)
    with atomic_folder(text) as temporary:
        processor.save(temporary)


def _write_corpora(data: DataConfig, writes: Writes, folder: Path, console: Console) -> None:
    """Write the corpora of what a model reads and `writes`, unless that is done."""
    text, corpora = _prepared(folder)
    if corpora.exists():
        return
    processor = TextProcessor.load(text)
    report = DataReport()
    with atomic_folder(corpora) as temporary:
        parts = {"train": data.train, "dev": [data.dev]}
        for name, sources in parts.items():
            triplets = read_triplets(sources, report)
            write_corpus(temporary / f"{name}.arrow", triplets, processor, data.max_length, report, writes)
    _write_json(folder / "data.json", report.to_dict())
    console.print(str(report), highlight=False, markup=False, soft_wrap=True)


def _record_start(recipe: Recipe, folder: Path) -> None:
    """Add versions, machine, command and data to the record of the times that the run was started."""
    _, corpora = _prepared(folder)
    fingerprints = {name: Corpus.open(corpora / f"{name}.arrow").fingerprint for name in ("train", "dev")}
    start = {**_environment(recipe), "corpora": fingerprints, "command": sys.argv}
    _write_json(folder / "environment.json", {"starts": [*_starts(folder), start]})


def _starts(folder: Path) -> list[dict[str, Any]]:
    """Return the environments in which the run was started and resumed so far."""
    path = folder / "environment.json"
    starts: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["starts"] if path.exists() else []
    return starts


def _environment(recipe: Recipe) -> dict[str, Any]:
    return {
        "postedit": postedit.__version__,
        "python": platform.python_version(),
        "packages": {name: found for name in _RECORDED_PACKAGES if (found := _version(name)) is not None},
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "processes": PartialState().num_processes,
        "seed": recipe.train.seed,
    }


def _version(package: str) -> str | None:
    """Return which version is installed; None for a package of an extra that is not."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _provenance(recipe: Recipe, folder: Path) -> dict[str, Any]:
    """Return what a model folder says of its making: no paths, as it may be published."""
    values = replace(recipe, model=recipe.model.published(), text=recipe.text.published()).to_dict()
    data = recipe.data
    names = dict.fromkeys(path.name for files in [*data.train, data.dev] for path in files.paths)
    values["data"] = {"files": list(names), "max_length": data.max_length}
    environments = [{key: value for key, value in start.items() if key != "command"} for start in _starts(folder)]
    return {"recipe": values, "environments": environments}


def _write_json(path: Path, values: Mapping[str, Any]) -> None:
    with atomic_write(path) as file:
        json.dump(values, file, indent=2, ensure_ascii=False)
        file.write("\n")
