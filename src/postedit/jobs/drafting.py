"""Drafting (Li et al. 2017): a first stage is trained, and translates the sources that the second stage learns from.

RUN/draft            the run of the first stage
RUN/draft-1 ...      with folds, those of the models that learnt from all parts but one
RUN/drafts           train.jsonl and dev.jsonl, triplets whose mt are drafts; fold-1.jsonl ..., what such a model reads
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

from accelerate import PartialState
from rich.console import Console

from postedit.core.editor import Editor
from postedit.core.files import atomic_write, explain_os_errors
from postedit.core.tensor_files import save_json
from postedit.data.corpus import Corpus
from postedit.data.manifest import MANIFEST, manifest
from postedit.data.resumable_file import PartialFile
from postedit.data.triplets import DataConfig, TrainingFiles, Triplet, TripletFiles, read_triplets, to_json
from postedit.editing.post_editor import PostEditor
from postedit.folder import ModelFolder
from postedit.progress import fill
from postedit.recipe import Recipe

TrainStage = Callable[[Recipe, Path], None]
"""Trains the model of a recipe in a folder, or goes on with it there."""

_CHUNK: Final = 1000
"""Sources translated together: enough to sort by length, few enough to lose little when interrupted."""


def first_stage_folder(run: Path) -> Path:
    """Return where the model is that writes drafts at run time."""
    return run / "draft" / "model"


def write_drafts(recipe: Recipe, run: Path, train_stage: TrainStage, console: Console) -> DataConfig:
    """Train the first stage of `recipe` in `run`, let it translate, and return the data of the second stage.

    What is done already is not done again. All processes of a run call this together; the main one translates.

    Raises:
        DataError, OutputError, TrainingError: as training.
        KeyboardInterrupt: after Ctrl-C; what was done is kept.
    """
    stage, folds = recipe.first_stage(), recipe.draft.folds if recipe.draft is not None else 0
    processes = PartialState()
    folder = run / "drafts"
    fold_files = [folder / f"fold-{number}.jsonl" for number in range(1, folds + 1)]
    if processes.is_main_process:
        with explain_os_errors(folder):
            folder.mkdir(exist_ok=True)
        for number, path in enumerate(fold_files):
            if not path.exists():
                _write_fold(path, recipe.data.train, number, folds)
    processes.wait_for_everyone()
    _train(stage, run / "draft", train_stage)
    for number, path in enumerate(fold_files, start=1):
        files = TrainingFiles(src=str(path), pe=str(path))
        data = recipe.data.model_copy(update={"train": [files]})
        _train(replace(stage, data=data), run / f"draft-{number}", train_stage)
    processes.wait_for_everyone()
    if processes.is_main_process:
        whole = run / "draft"
        others = [run / f"draft-{number}" for number in range(1, folds + 1)]
        _translate(recipe.data.train, folder / "train.jsonl", others or [whole], console)
        _translate([recipe.data.dev], folder / "dev.jsonl", [whole], console)
    processes.wait_for_everyone()
    train, dev = TrainingFiles.of(folder / "train.jsonl"), TripletFiles.of(folder / "dev.jsonl")
    return recipe.data.model_copy(update={"train": [train], "dev": dev})


def are_drafted(run: Path) -> bool:
    """Return whether all drafts of a run are written, so that the files that they are of are wanted no more."""
    return all((run / "drafts" / f"{part}.jsonl").exists() for part in ("train", "dev"))


def renew_drafting(data: DataConfig, run: Path) -> None:
    """Take the files of `data` as they are now for those of the drafts still to come.

    A first stage that has ended stays as it is; one that has not learns from them, as it goes on.
    """
    for path in (run / "drafts").glob("*.partial*"):
        path.unlink()
    stage = run / "draft"
    if is_finished(stage):
        save_json(stage / MANIFEST, manifest(data, Corpus.open(stage / "corpus" / "train.arrow")))


def is_finished(run: Path) -> bool:
    """Return whether training in the folder `run` has come to its end."""
    model = run / "model"
    # A run writes how training went into its model when it ends.
    return model.exists() and "training" in ModelFolder.load(model).provenance


def _train(stage: Recipe, folder: Path, train_stage: TrainStage) -> None:
    if not is_finished(folder):
        train_stage(stage, folder)


def _write_fold(path: Path, sources: Sequence[TripletFiles], number: int, folds: int) -> None:
    """Write all training pairs but those of part `number`, which are every `folds`-th."""
    with atomic_write(path) as file:
        for row, triplet in enumerate(read_triplets(sources)):
            if row % folds != number:
                file.write(f"{to_json(triplet)}\n")


def _translate(sources: Sequence[TripletFiles], path: Path, runs: Sequence[Path], console: Console) -> None:
    """Write the triplets of `sources` with drafts as mt; of n runs, each translates every n-th, that it did not see."""
    if path.exists():
        return
    digest, total = hashlib.sha256(), 0
    for triplet in read_triplets(sources):
        digest.update(to_json(triplet).encode())
        total += 1
    console.print(f"Drafting {total:,} translations into {path}", soft_wrap=True, highlight=False)
    editors = [PostEditor.load(run / "model") for run in runs]
    file = PartialFile(path, {"data": digest.hexdigest(), "folds": len(runs)}, resume=True)
    rows = islice(enumerate(read_triplets(sources)), file.done, None)
    chunks = iter(lambda: list(islice(rows, _CHUNK)), [])
    fill(file, ([to_json(one) for one in _drafted(chunk, editors)] for chunk in chunks), total, console, "drafts")
    file.finish()


def _drafted(rows: Sequence[tuple[int, Triplet]], editors: Sequence[Editor]) -> Iterator[Triplet]:
    """Yield numbered triplets with drafts as mt, in order."""
    drafts: dict[int, str] = {}
    for number, editor in enumerate(editors):
        own = [(row, triplet.src) for row, triplet in rows if row % len(editors) == number]
        edits = editor.edit([src for _, src in own])
        drafts |= {row: edit.text for (row, _), edit in zip(own, edits, strict=True)}
    for row, triplet in rows:
        yield triplet._replace(mt=drafts[row])
