"""A training run: from a recipe to a folder with a model that post-edits.

recipe.toml        the resolved recipe, from which the run can be repeated
environment.json   versions, machine, command and data fingerprints, for each time the run was started
data.json          numbers of triplets kept and left out, with reasons
manifest.json      the data files with SHA-256 digests, and the share of each source in an epoch
text/              subword vocabularies and truecasing
corpus/            the triplets as token ids, memory-mapped
initial.json       which weights were taken from the model that training started from, and which were not
stages/            the run of each stage, if the recipe has stages; the last model is copied to model/
draft/ drafts/     the first stage and its drafts, if the recipe has one; see `postedit.jobs.drafting`
checkpoints/ best/ log.jsonl tensorboard/    see `postedit.train`
SHA256SUMS         digests of all files, once training has ended
run.lock           locked while a process trains here
model/             the model folder: the best model so far, written from the first validation on
"""

import gc
import importlib
import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final

import torch
from accelerate import PartialState
from accelerate.utils import parse_flag_from_env
from rich.console import Console

from postedit.core.arguments import check_kind, path_of
from postedit.core.checksums import record_folder
from postedit.core.errors import OutputError, RecipeError
from postedit.core.files import atomic_folder, save_json
from postedit.core.model import Seq2Seq
from postedit.core.weight_transfer import inherit_embeddings, take_weights
from postedit.core.wording import counted
from postedit.data.corpus import Corpus
from postedit.data.triplets import DataConfig, Triplet, all_triplets, read_triplets
from postedit.editing.post_editor import PostEditor
from postedit.editing.risk_candidates import CandidateSearch
from postedit.evaluate.scores import UNEDITED_MT, SystemScores, score_system
from postedit.evaluate.summarisation import ROUGE, rouge_by_text
from postedit.evaluate.tokenisation import Tokenize, tokenisation_signs
from postedit.folder import ModelFolder
from postedit.jobs.drafting import first_stage_folder, is_finished, write_drafts
from postedit.jobs.provenance import INITIAL, initial_notice, provenance, record_start
from postedit.jobs.run_preparation import (
    check_same_options,
    check_shared,
    check_start,
    learn_text,
    locked_run,
    share_corpora,
    write_corpora,
)
from postedit.jobs.training_hints import TrainingHints
from postedit.recipe import Recipe
from postedit.text.processor import TextProcessor
from postedit.train.failure import lost_processes_told
from postedit.train.loop import Trainer
from postedit.train.optimisers import freeze, frozen_names
from postedit.train.train_state import TrainResult

_LONGEST_WAIT: Final = timedelta(hours=12)
"""How long processes wait for the main one, which prepares data and decodes the dev set; PyTorch allows 10 minutes."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run: its folder, its model folder, and the result and name of the last stage.

    `unedited` holds the scores of the unedited dev translations or drafts; None if the dev set has no mt. `stage` is
    None if the recipe has no stages.
    """

    folder: Path
    model: Path
    training: TrainResult
    unedited: SystemScores | None
    stage: str | None = None


@dataclass(frozen=True, slots=True)
class SharedParts:
    """Folders that a run reuses, if any: a text processing, a run whose corpora are shared, the model to start from."""

    text: Path | None = None
    corpora: Path | None = None
    init: Path | None = None


@torch.inference_mode(False)  # whatever mode the application is in
@torch.enable_grad()
def train(
    recipe: Recipe,
    folder: str | Path,
    resume: bool = False,
    console: Console | None = None,
    given: SharedParts = SharedParts(),
    accept_changed_data: bool = False,
) -> RunResult:
    """Train the model of `recipe` in `folder`, including its stages or its first stage if it has any.

    Args:
        recipe: model, data and options.
        folder: a new folder, or that of the run to resume.
        resume: whether to continue the run in `folder`.
        console: where to report; standard error if None.
        given: parts of other runs to reuse.
        accept_changed_data: whether to continue even if data files have changed since the run was started.

    Raises:
        RecipeError: if the run to resume had another recipe (only the length of training, what is written, and
            `[search]` may change), or if the processes of the run have different recipes.
        DataError: if the data cannot be used, or has changed since the run to resume was started; or if `recipe` is not
            a recipe, or `folder` not a path.
        OutputError: if the folder holds another run or cannot be written, or the disk is full.
        TrainingError: if the loss is not a number, training diverges, or another process of the run ends.
        KeyboardInterrupt: after Ctrl-C, once a checkpoint has been written.
    """
    check_kind("recipe", recipe, Recipe, 'a Recipe, such as load_recipe("recipe.toml")')
    folder = path_of("folder", folder)
    console = Console(stderr=True, markup=False) if console is None else console
    processes = _processes()
    main = processes.is_main_process
    warn = partial(console.print, soft_wrap=True, highlight=False, markup=False)
    with ExitStack() as stack:
        stack.enter_context(lost_processes_told(processes.num_processes))
        check_same_options(recipe, resume, accept_changed_data)
        if main:
            if not resume:
                check_start(recipe)
            stack.enter_context(locked_run(recipe, folder, resume, accept_changed_data, warn))
            learn_text(recipe, folder, given.text, console)
        processes.wait_for_everyone()
        check_shared(folder)
        train_run = _train_stages if recipe.stage else _train_model
        result = train_run(recipe, folder, resume, console, given, accept_changed_data)
        if main:
            record_folder(folder)
        return result


def _train_model(
    recipe: Recipe, folder: Path, resume: bool, console: Console, given: SharedParts, accept_changed_data: bool
) -> RunResult:
    processes, data = PartialState(), recipe.data
    if recipe.draft is not None:
        data = write_drafts(
            recipe, folder, partial(_train_first_stage, folder / "text", console, accept_changed_data), console
        )
    architecture, processor = recipe.architecture, TextProcessor.load(folder / "text")
    hints = TrainingHints(architecture.model.hints_of(recipe.model), data, processor)
    if processes.is_main_process:
        if given.corpora is not None and recipe.draft is None:
            share_corpora(given.corpora, folder)
        write_corpora(data, architecture.model.writes, folder, console, hints if hints.names else None)
        record_start(recipe, folder)
    processes.wait_for_everyone()
    run = _Run(recipe, data, folder, processor, hints)
    torch.manual_seed(recipe.train.seed)
    model = architecture.build(recipe.model, processor.vocabularies)
    if model.frozen_checkpoint is not None:
        model.load_frozen_weights(model.frozen_checkpoint)
    freeze(model, recipe.train.freeze)
    if run.first is not None and recipe.draft is not None and recipe.draft.inherit_embeddings:
        inherit_embeddings(model, run.first.model)
    if processes.is_main_process:
        base = run.unedited
        scores = "" if base is None else f"; {base.name}: TER {base.ter:.2f}, BLEU {base.bleu:.2f} on dev"
        console.print(f"{architecture.name}: {_size(model)}{scores}", soft_wrap=True)
    corpora, risk = folder / "corpus", recipe.train.risk
    trainer = Trainer(
        model,
        Corpus.open(corpora / "train.arrow"),
        Corpus.open(corpora / "dev.arrow"),
        recipe.train,
        folder,
        run.score_dev,
        run.export,
        console,
        propose=None if risk is None else CandidateSearch(risk, recipe.search, run.processor),
        sampling_weights=[files.sampling for files in data.train],
        initialise=partial(_initialise, recipe, given.init, run.processor, folder, console),
        spell=run.processor.spelt,
    )
    result = trainer.run(resume, accept_changed_data)
    if processes.is_main_process:
        run.record(result)
    return RunResult(folder, result.model_folder, result, run.unedited)


def _size(model: Seq2Seq) -> str:
    """Return in words how many parameters a model has, and how many of them are trained if not all are."""
    parameters = sum(parameter.numel() for parameter in model.parameters())
    trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    return f"{parameters:,} parameters" + (f", {trained:,} of them trained" if trained < parameters else "")


def train_seeds(
    recipe: Recipe, folder: Path, seeds: int, resume: bool, console: Console, accept_changed_data: bool = False
) -> list[RunResult]:
    """Train the model of `recipe` with several seeds, from `train.seed` on, in folders `seed-1`, `seed-2` and so on.

    Vocabularies are made once, so that the models can form an ensemble. Corpora are made once, unless they hold drafts,
    which differ because the first stage is trained with each seed, or `accept_changed_data` is set.

    Raises:
        OutputError: as `train`; also if `folder` itself holds a run, or there is no run to resume.
        RecipeError: as `train`; also if a stage sets its own seed.
        DataError, TrainingError, KeyboardInterrupt: as `train`.
    """
    fixed = [f"stage.{stage.name}.train.seed" for stage in recipe.stage if "seed" in stage.train]
    if fixed:
        raise RecipeError(f"{', '.join(fixed)}: would be the same with each of several seeds (--seeds); leave it out")
    main = is_main_process()
    if (folder / "recipe.toml").exists():
        raise OutputError(f"{folder}: holds a run with one seed; choose another folder with --out")
    first = folder / "seed-1"
    if resume and not any(folder.glob("seed-*/recipe.toml")):
        raise OutputError(f"{folder}: holds no run to resume; check --out, or leave out --resume to start a run there")
    results = []
    for number, part in enumerate(seed_folders(folder, seeds), start=1):
        part_recipe = _with_more_seed(recipe, number - 1)
        if main:
            seed = f"Seed {part_recipe.train.seed} ({number} of {seeds})"
            console.print(f"{seed}, in {part}", soft_wrap=True, highlight=False, markup=False)
        is_begun = resume and (part / "recipe.toml").exists()
        # Corpora with drafts depend on the first stage of each seed; those of an earlier seed may be from older data.
        shared = first if recipe.draft is None and not accept_changed_data else None
        given = SharedParts() if number == 1 else SharedParts(text=first / "text", corpora=shared)
        results.append(train(part_recipe, part, is_begun, console, given, accept_changed_data))
    return results


def seed_folders(folder: Path, seeds: int) -> list[Path]:
    """Return the run folder of each seed."""
    return [folder / f"seed-{number}" for number in range(1, seeds + 1)]


def _with_more_seed(recipe: Recipe, more: int) -> Recipe:
    """Return the recipe with `more` added to its seed, and to that of its first stage if it has one."""
    train = recipe.train.model_copy(update={"seed": recipe.train.seed + more})
    if recipe.draft is None:
        return replace(recipe, train=train)
    first = recipe.draft.train.model_copy(update={"seed": recipe.draft.train.seed + more})
    return replace(recipe, train=train, draft=recipe.draft.model_copy(update={"train": first}))


def is_main_process() -> bool:
    """Return whether this is the main process of the run, which reports."""
    return bool(_processes().is_main_process)


def disconnect_processes() -> None:
    """Close the connections between this process and the others of a run that has ended.

    Left open, they may make the process abort when Python exits, although everything is written: Gloo threads then
    still hold tensors of the last exchange.
    """
    _processes().destroy_process_group()
    gc.collect()  # the model, in reference cycles with its trainer, also holds the connections


def _processes() -> PartialState:
    """Return the processes of this run; `accelerate` connects processes without GPUs only with `cpu=True`."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        # PyTorch loads its compiler when it wraps a model for several processes. If the compiler is first loaded after
        # the processes are connected, their connections cannot be closed before Python exits.
        importlib.import_module("torch._dynamo")
    cpu = bool(parse_flag_from_env("ACCELERATE_USE_CPU")) or not torch.accelerator.is_available()
    return PartialState(cpu=cpu, timeout=_LONGEST_WAIT)


def _train_first_stage(text: Path, console: Console, accept_changed_data: bool, stage: Recipe, folder: Path) -> None:
    """Train the first stage, or resume its run, with the text processing in the folder `text`."""
    console.print(f"First stage, in {folder}", soft_wrap=True, highlight=False, markup=False)
    is_begun = (folder / "recipe.toml").exists()
    result = train(stage, folder, is_begun, console, SharedParts(text), accept_changed_data).training
    console.print(f"First stage: {counted(result.steps, 'update')}; ended because {result.reason}", highlight=False)


def _train_stages(
    recipe: Recipe, folder: Path, resume: bool, console: Console, given: SharedParts, accept_changed_data: bool
) -> RunResult:
    """Train the unfinished stages, each from the model of the previous stage."""
    stages, init = recipe.stages(), given.init
    for number, (name, stage) in enumerate(stages, start=1):
        part = folder / "stages" / name
        label = f"Stage {number} of {len(stages)}, {name},"
        if number == len(stages) or not is_finished(part):
            if PartialState().is_main_process:
                console.print(f"{label} in {part}", soft_wrap=True, highlight=False, markup=False)
            corpora = None if given.corpora is None else given.corpora / "stages" / name
            taken = SharedParts(folder / "text", corpora, init)
            result = train(stage, part, (part / "recipe.toml").exists(), console, taken, accept_changed_data)
        elif PartialState().is_main_process:
            done = f"{label} is done and stays as it is; its model: {part / 'model'}"
            console.print(done, soft_wrap=True, highlight=False, markup=False)
        init = part / "model"
    if PartialState().is_main_process:
        with atomic_folder(folder / "model") as copy:
            shutil.copytree(result.model, copy, dirs_exist_ok=True)
    PartialState().wait_for_everyone()
    return replace(result, folder=folder, model=folder / "model", stage=name)


def _initialise(
    recipe: Recipe, init: Path | None, processor: TextProcessor, folder: Path, console: Console, model: Seq2Seq
) -> None:
    """Load into `model` the weights that training starts from, and record which were taken."""
    model.load_initial_weights()
    path = init or (None if recipe.train.init is None else Path(recipe.train.init))
    if path is None:
        return
    other = ModelFolder.load(path)
    try:
        transfer = take_weights(model, processor.tokens, other.model, other.processor.tokens)
    except RecipeError as error:
        raise RecipeError(f"train.init: {path}: {error}") from None
    if PartialState().is_main_process:
        notice = {} if other.notice is None else {"notice": other.notice}
        account = {"model": str(path), **transfer.to_dict(), **notice, "provenance": other.provenance}
        save_json(folder / INITIAL, account)
        console.print(f"Starting from {path}: {transfer}", soft_wrap=True, highlight=False, markup=False)
        missing = [one.name for one in transfer.tensors if one.taken != "all"]
        for why, names in frozen_names(model, recipe.train.freeze).items():
            if random := [name for name in missing if name in names]:
                said = f"{why}: what was not taken stays random, as it is not trained: {', '.join(random)}"
                console.print(said, soft_wrap=True, highlight=False, markup=False)


class _Run:
    """Callbacks of the trainer: scoring of the decoded dev set, and export of model folders."""

    def __init__(
        self, recipe: Recipe, data: DataConfig, folder: Path, processor: TextProcessor, hints: TrainingHints
    ) -> None:
        self.recipe, self.folder, self.processor, self.hints = recipe, folder, processor, hints
        self.first = None if recipe.draft is None else ModelFolder.load(first_stage_folder(folder))
        # Empty drafts are outputs of the first stage: their triplets are kept and count in the scores of both stages.
        read_dev = read_triplets if recipe.draft is None else all_triplets
        self.dev: list[Triplet] = list(read_dev(data.dev))
        self.mt = None if data.dev.mt is None else [triplet.mt for triplet in self.dev]
        baseline = UNEDITED_MT if recipe.draft is None else "drafts"
        self.unedited = None if self.mt is None else self._score(baseline, self.mt)

    def score_dev(self, model: Seq2Seq) -> Mapping[str, float]:
        """Decode the dev set greedily and return its scores.

        A model that does not read mt gets none: otherwise the editor would replace its unsound outputs with mt.
        """
        editor = PostEditor(model, self.processor, self.recipe.search)
        editor.hints = self.hints.sources
        compares = "mt" in model.spec.inputs or self.recipe.search.needs_mt
        edits = editor.edit([triplet.src for triplet in self.dev], self.mt if compares else None, beam=1)
        scores = self._score(self.recipe.architecture.name, [edit.text for edit in edits])
        found = {"ter": scores.ter, "bleu": scores.bleu, "chrf": scores.chrf}
        if self.recipe.train.metric == "rouge-l":
            references = [triplet.pe for triplet in self.dev]
            by_kind = rouge_by_text([edit.text for edit in edits], references).mean(0)
            found["rouge-l"] = float(by_kind[ROUGE.index("ROUGE-Lsum")])
        return found

    def export(self, model: Seq2Seq, path: Path) -> None:
        """Write a model folder, with the licence notice of the model that training started from, if it has one."""
        recipe = self.recipe
        config, architecture = recipe.model.published(), recipe.architecture
        made = {**provenance(recipe, self.folder), "dev": {}}
        notice = initial_notice(self.folder)
        ModelFolder(architecture, config, recipe.search, model, self.processor, made, self.first, notice).save(path)

    def record(self, result: TrainResult) -> None:
        """Add to the provenance of the exported model how it was trained and how it scored."""
        chosen = result.chosen
        exported = ModelFolder.load(result.model_folder)
        dev = dict(chosen.metrics)
        if self.unedited is not None:
            dev |= {"do_nothing_ter": self.unedited.ter, "do_nothing_bleu": self.unedited.bleu}
        training = {
            "steps": result.steps,
            "epochs": result.epochs,
            "target_tokens": result.target_tokens,
            "seconds": round(result.seconds, 1),
            "ended_because": result.reason,
            "weights": result.exported,
        }
        made = {**exported.provenance, "training": training, "dev": dev}
        replace(exported, provenance=made).save(result.model_folder)

    def _score(self, name: str, hypotheses: list[str]) -> SystemScores:
        post_edits = [triplet.pe for triplet in self.dev]
        words: Tokenize = "none" if self.recipe.text.tokenizer == "none" else "13a"
        without_spaces = tokenisation_signs(post_edits).unsegmented
        return score_system(name, hypotheses, post_edits, self.mt, "characters" if without_spaces else words)
