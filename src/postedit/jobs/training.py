"""A training run: from a recipe to a folder with a model that post-edits.

recipe.toml        the resolved recipe, from which the run can be repeated
environment.json   versions, machine, command and data fingerprints, for each time the run was started
data.json          what became of the triplets: kept, left out, why and where
manifest.json      the files that went in, with their SHA-256 sums, and how much of an epoch each source is
text/              subword vocabularies and truecasing
corpus/            the triplets as memory-mapped ids
initial.json       which weights were taken from the model that training started from, and which were not
stages/            the run of each stage, if the recipe has some; their model is copied to model/
draft/ drafts/     a first stage and what it wrote, if the recipe has one; see `postedit.jobs.drafting`
checkpoints/ best/ log.jsonl tensorboard/    see `postedit.train`
run.lock           locked while a process trains here
model/             the model folder: the best so far, from the first validation on
"""

import shutil
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import torch
from accelerate import PartialState
from accelerate.utils import parse_flag_from_env
from rich.console import Console

from postedit.core.errors import OutputError, RecipeError
from postedit.core.files import atomic_folder
from postedit.core.model import Seq2Seq
from postedit.core.tensor_files import save_json
from postedit.core.weight_transfer import inherit_embeddings, take_weights
from postedit.data.corpus import Corpus
from postedit.data.triplets import DataConfig, Triplet, read_triplets
from postedit.editing.post_editor import PostEditor
from postedit.editing.risk_candidates import CandidateSearch
from postedit.evaluate.scores import UNEDITED_MT, SystemScores, score_system
from postedit.folder import ModelFolder
from postedit.jobs.drafting import first_stage_folder, is_finished, write_drafts
from postedit.jobs.initial_models import check_start
from postedit.jobs.provenance import INITIAL, provenance, record_start
from postedit.jobs.run_preparation import begun, check_shared, learn_text, share_corpora, write_corpora
from postedit.recipe import Recipe
from postedit.text.processor import TextProcessor
from postedit.train.loop import Trainer
from postedit.train.losses import Propose
from postedit.train.optimisers import freeze
from postedit.train.train_state import TrainResult

# While the main process prepares the data or decodes the dev set, the others wait; PyTorch would end the run after
# 10 minutes of that.
_LONGEST_WAIT: Final = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run.

    Args:
        folder: of the run.
        model: the model folder in it, ready for `PostEditor.load`.
        training: how training went; of a recipe in stages, how the last of them did.
        do_nothing: scores of the unedited dev translations, beside which the model's are to be read: those of the
            first stage, if there is one; None if there are no translations.
        stage: the last stage of a recipe that has some.
    """

    folder: Path
    model: Path
    training: TrainResult
    do_nothing: SystemScores | None
    stage: str | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """What a run takes from other runs instead of making it.

    Args:
        text: folder of a saved text processing; it is learnt from the training triplets if not given.
        corpora: folder of a run on the same data with the same text processing, whose corpora serve this one too.
        init: folder of the model whose weights training starts from; that of `train.init` if not given.
    """

    text: Path | None = None
    corpora: Path | None = None
    init: Path | None = None


def train(
    recipe: Recipe,
    folder: Path,
    resume: bool = False,
    console: Console | None = None,
    given: Given = Given(),
    accept_changed_data: bool = False,
) -> RunResult:
    """Train the model of `recipe` in `folder`, in its stages if it has some, and after its first stage if it drafts.

    Args:
        recipe: what to train, on what.
        folder: new, or that of a run to resume.
        resume: go on with the run in `folder`.
        console: where to report; standard error if not given.
        given: what is taken from other runs.
        accept_changed_data: go on even if the files of the data have other content than when the run was started.

    Raises:
        RecipeError: if the run to resume had another recipe; only how long to train, what to write and
                `[search]` may change.
        DataError: if the data cannot be used, or has changed since the run to resume was started.
        OutputError: if the folder holds another run, cannot be written, or the disk is full.
        TrainingError: if the loss is not a number.
        KeyboardInterrupt: after Ctrl-C, when a checkpoint is written.
    """
    console = Console(stderr=True) if console is None else console
    processes = _processes()
    if processes.is_main_process and not resume:
        check_start(recipe)
    warn = partial(console.print, soft_wrap=True, highlight=False, markup=False)
    main = processes.is_main_process
    with begun(recipe, folder, resume, accept_changed_data, warn) if main else nullcontext():
        return _train(recipe, folder, resume, console, given, accept_changed_data)


def _train(
    recipe: Recipe, folder: Path, resume: bool, console: Console, given: Given, accept_changed_data: bool
) -> RunResult:
    processes = _processes()
    if processes.is_main_process:
        learn_text(recipe, folder, given.text, console)
    processes.wait_for_everyone()
    check_shared(folder)
    if recipe.stage:
        return _train_stages(recipe, folder, console, given, accept_changed_data)
    data = recipe.data
    if recipe.draft is not None:
        data = write_drafts(
            recipe, folder, partial(_train_first_stage, folder / "text", console, accept_changed_data), console
        )
    if processes.is_main_process:
        if given.corpora is not None and recipe.draft is None:
            share_corpora(given.corpora, folder)
        write_corpora(data, recipe.architecture.model.writes, folder, console)
        record_start(recipe, folder)
    processes.wait_for_everyone()
    run = _Run(recipe, data, folder, TextProcessor.load(folder / "text"))
    torch.manual_seed(recipe.train.seed)
    model = recipe.architecture.build(recipe.model, run.processor.vocabularies)
    freeze(model, recipe.train.freeze)
    if run.first is not None and recipe.draft is not None and recipe.draft.inherit_embeddings:
        inherit_embeddings(model, run.first.model)
    if processes.is_main_process:
        console.print(f"{recipe.architecture.name}: {_size(model)}{run.do_nothing_line()}", soft_wrap=True)
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
        propose=run.propose,
        sampling_weights=[files.sampling for files in data.train],
        initialise=partial(_initialise, recipe, given.init, run.processor, folder, console),
        spell=run.processor.spelt,
    )
    result = trainer.run(resume, accept_changed_data)
    if processes.is_main_process:
        run.record(result)
    return RunResult(folder, result.model_folder, result, run.do_nothing)


def _size(model: Seq2Seq) -> str:
    """Say how many parameters a model has, and how many of them are trained if not all are."""
    parameters = sum(parameter.numel() for parameter in model.parameters())
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    return f"{parameters:,} parameters" + (f", {trained:,} of them trained" if trained < parameters else "")


def train_seeds(
    recipe: Recipe, folder: Path, seeds: int, resume: bool, console: Console, accept_changed_data: bool = False
) -> list[RunResult]:
    """Train the model of `recipe` several times, in `seed-1`, `seed-2` and so on, with seeds from `train.seed` on.

    Vocabularies are made once, so that the models can be an ensemble, and corpora too, unless drafts are in them: their
    first stage is trained with each seed.

    Raises:
        As `train`; an OutputError if the folder is itself that of a run; a RecipeError if a stage has its own seed.
    """
    fixed = [f"stage.{stage.name}.train.seed" for stage in recipe.stage if "seed" in stage.train]
    if fixed:
        raise RecipeError(f"{', '.join(fixed)}: would be the same with each of several seeds (--seeds); leave it out")
    processes = _processes()
    if (folder / "recipe.toml").exists():
        raise OutputError(f"{folder}: holds a run with one seed; choose another folder by --out")
    first = folder / "seed-1"
    if resume and not any(folder.glob("seed-*/recipe.toml")):
        raise OutputError(f"{folder}: holds no run to resume; check --out, or leave out --resume to start a run there")
    results = []
    for number in range(1, seeds + 1):
        part = folder / f"seed-{number}"
        part_recipe = _with_more_seed(recipe, number - 1)
        if processes.is_main_process:
            console.print(
                f"Seed {part_recipe.train.seed} ({number} of {seeds}), in {part}", soft_wrap=True, highlight=False
            )
        goes_on = resume and (part / "recipe.toml").exists()
        # Where drafts are in the corpora, they are of a seed's own first stage. Those of a stage that an earlier seed
        # has finished may be of data that has changed since.
        shared = first if recipe.draft is None and not accept_changed_data else None
        given = Given() if number == 1 else Given(text=first / "text", corpora=shared)
        results.append(train(part_recipe, part, goes_on, console, given, accept_changed_data))
    return results


def _with_more_seed(recipe: Recipe, more: int) -> Recipe:
    """Return the recipe with seeds so much higher, that of a first stage too."""
    train = recipe.train.model_copy(update={"seed": recipe.train.seed + more})
    if recipe.draft is None:
        return replace(recipe, train=train)
    first = recipe.draft.train.model_copy(update={"seed": recipe.draft.train.seed + more})
    return replace(recipe, train=train, draft=recipe.draft.model_copy(update={"train": first}))


def is_main_process() -> bool:
    """Return whether this is the process, of all of a run, that says how it went."""
    return bool(_processes().is_main_process)


def _processes() -> PartialState:
    """Return the processes of this run; `accelerate` makes processes without GPUs know each other only if told so."""
    cpu = bool(parse_flag_from_env("ACCELERATE_USE_CPU")) or not torch.accelerator.is_available()
    return PartialState(cpu=cpu, timeout=_LONGEST_WAIT)


def _train_first_stage(text: Path, console: Console, accept_changed_data: bool, stage: Recipe, folder: Path) -> None:
    """Train, or go on training, a model that drafts."""
    console.print(f"First stage, in {folder}", soft_wrap=True, highlight=False)
    goes_on = (folder / "recipe.toml").exists()
    result = train(stage, folder, goes_on, console, Given(text), accept_changed_data).training
    console.print(f"First stage: {result.steps:,} updates; ended because {result.reason}", highlight=False)


def _train_stages(recipe: Recipe, folder: Path, console: Console, given: Given, accept_changed_data: bool) -> RunResult:
    """Train one stage after the other, each from the model of the one before; what is done is not done again."""
    stages = recipe.stages()
    init = given.init
    for number, (name, stage) in enumerate(stages, start=1):
        part = folder / "stages" / name
        last = number == len(stages)
        if last or not is_finished(part):
            if PartialState().is_main_process:
                console.print(f"Stage {number} of {len(stages)}, {name}, in {part}", soft_wrap=True, highlight=False)
            corpora = None if given.corpora is None else given.corpora / "stages" / name
            taken = Given(folder / "text", corpora, init)
            result = train(stage, part, (part / "recipe.toml").exists(), console, taken, accept_changed_data)
        elif PartialState().is_main_process:
            done = f"Stage {number} of {len(stages)}, {name}, is done and stays as it is; its model: {part / 'model'}"
            console.print(done, soft_wrap=True, highlight=False)
        init = part / "model"
    if PartialState().is_main_process:
        with atomic_folder(folder / "model") as copy:
            shutil.copytree(result.model, copy, dirs_exist_ok=True)
    PartialState().wait_for_everyone()
    return replace(result, folder=folder, model=folder / "model", stage=name)


def _initialise(
    recipe: Recipe, init: Path | None, processor: TextProcessor, folder: Path, console: Console, model: Seq2Seq
) -> None:
    """Give `model` the weights that training starts from, and write which those are.

    Raises:
        RecipeError: if none of the model to start from fits.
        ModelFolderError: if that model cannot be read.
    """
    model.load_initial_weights()
    path = init or (None if recipe.train.init is None else Path(recipe.train.init))
    if path is None:
        return
    other = ModelFolder.load(path)
    try:
        transfer = take_weights(model, processor.symbols, other.model, other.processor.symbols)
    except RecipeError as error:
        raise RecipeError(f"train.init: {path}: {error}") from None
    if PartialState().is_main_process:
        account = {"model": str(path), **transfer.to_dict(), "provenance": other.provenance}
        save_json(folder / INITIAL, account)
        console.print(f"Starting from {path}: {transfer}", soft_wrap=True, highlight=False, markup=False)


class _Run:
    """What training asks back of the run: dev scores of decoded text, and a model folder."""

    def __init__(self, recipe: Recipe, data: DataConfig, folder: Path, processor: TextProcessor) -> None:
        self.recipe, self.folder, self.processor = recipe, folder, processor
        self.first = None if recipe.draft is None else ModelFolder.load(first_stage_folder(folder))
        self.dev: list[Triplet] = list(read_triplets(data.dev))
        self.mt = None if data.dev.mt is None else [triplet.mt for triplet in self.dev]
        baseline = UNEDITED_MT if recipe.draft is None else "drafts"
        self.do_nothing = None if self.mt is None else self._score(baseline, self.mt)

    def score_dev(self, model: Seq2Seq) -> Mapping[str, float]:
        """Decode the dev set greedily and return its scores."""
        editor = PostEditor(model, self.processor, self.recipe.search)
        edits = editor.edit([triplet.src for triplet in self.dev], self.mt, beam=1)
        scores = self._score(self.recipe.architecture.name, [edit.text for edit in edits])
        return {"ter": scores.ter, "bleu": scores.bleu, "chrf": scores.chrf}

    @property
    def propose(self) -> Propose | None:
        """What finds the candidates of minimum risk training, if the recipe has that."""
        recipe = self.recipe
        risk = recipe.train.risk
        return None if risk is None else CandidateSearch(risk, recipe.search, self.processor)

    def do_nothing_line(self) -> str:
        """Say how good the dev translations are as they stand, as the end of a line."""
        if self.do_nothing is None:
            return ""
        return f"; {self.do_nothing.name}: TER {self.do_nothing.ter:.2f}, BLEU {self.do_nothing.bleu:.2f} on dev"

    def export(self, model: Seq2Seq, path: Path) -> None:
        """Write a model folder."""
        recipe = self.recipe
        made = {**provenance(recipe, self.folder), "dev": {}}
        ModelFolder(
            recipe.architecture, recipe.model.published(), recipe.search, model, self.processor, made, self.first
        ).save(path)

    def record(self, result: TrainResult) -> None:
        """Write into the exported model how it was trained and how it scored."""
        chosen = result.chosen
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
        replace(exported, provenance={**exported.provenance, "training": training, "dev": dev}).save(
            result.model_folder
        )

    def _score(self, name: str, hypotheses: list[str]) -> SystemScores:
        raw = self.recipe.text.tokenizer != "none"
        post_edits = [triplet.pe for triplet in self.dev]
        return score_system(name, hypotheses, post_edits, self.mt, "13a" if raw else "none")
