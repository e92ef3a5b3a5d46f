"""Drafting (Li et al. 2017): train a first stage, and let it translate the sources that the second stage learns from.

RUN/draft            the run of the first stage
RUN/draft-1 ...      with folds: runs that each train on all parts of the training set but one
RUN/drafts           train.jsonl and dev.jsonl, triplets with drafts as mt; fold-1.jsonl ..., the data of draft-1 ...
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

from accelerate import PartialState
from rich.console import Console

from postedit.core.checksums import record_folder
from postedit.core.editor import Editor
from postedit.core.errors import TrainingError
from postedit.core.files import atomic_write, explain_os_errors, save_json
from postedit.data.blocks import blocks_of
from postedit.data.corpus import Corpus
from postedit.data.manifest import MANIFEST, manifest
from postedit.data.resumable_file import PartialFile, read_records
from postedit.data.triplets import DataConfig, TrainingFiles, Triplet, TripletFiles, read_triplets, to_json
from postedit.editing.post_editor import PostEditor
from postedit.folder import ModelFolder
from postedit.progress import fill
from postedit.recipe import Recipe

TrainStage = Callable[[Recipe, Path], None]
"""Trains the model of a recipe in a folder, or resumes its training."""

_CHUNK: Final = 1000
"""Sources translated together: enough to sort by length, few enough to lose little when interrupted."""


def first_stage_folder(run: Path) -> Path:
    """Return the model folder of the first stage of a run."""
    return run / "draft" / "model"


def write_drafts(recipe: Recipe, run: Path, train_stage: TrainStage, console: Console) -> DataConfig:
    """Train the first stage of `recipe` in `run`, translate with it, and return the data of the second stage.

    Finished work is not repeated. All processes of a run call this together; the main one translates.

    Raises:
        DataError, OutputError, KeyboardInterrupt: as training; finished work is kept.
        TrainingError: as training; also if all drafts of the training or dev set are empty.
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
                with atomic_write(path) as file:
                    rows = enumerate(read_triplets(recipe.data.train))
                    file.writelines(f"{to_json(triplet)}\n" for row, triplet in rows if row % folds != number)
    processes.wait_for_everyone()
    whole, others = run / "draft", [run / f"draft-{number}" for number in range(1, folds + 1)]
    stages = {whole: stage}
    for other, path in zip(others, fold_files, strict=True):
        files = TrainingFiles(src=str(path), pe=str(path))
        stages[other] = replace(stage, data=recipe.data.model_copy(update={"train": [files]}))
    for part, its_stage in stages.items():
        if not is_finished(part):
            train_stage(its_stage, part)
    processes.wait_for_everyone()
    if processes.is_main_process:
        _translate(recipe.data.train, folder / "train.jsonl", others or [whole], console)
        _translate([recipe.data.dev], folder / "dev.jsonl", [whole], console)
    processes.wait_for_everyone()
    train, dev = TrainingFiles.of(folder / "train.jsonl"), TripletFiles.of(folder / "dev.jsonl")
    return recipe.data.model_copy(update={"train": [train], "dev": dev})


def are_drafted(run: Path) -> bool:
    """Return whether all drafts of a run are written, so that its data files are no longer needed."""
    return all((run / "drafts" / f"{part}.jsonl").exists() for part in ("train", "dev"))


def renew_drafting(data: DataConfig, run: Path) -> None:
    """Accept the present content of the data files for the drafts that are not written yet.

    Partly written drafts are deleted. A finished first stage stays as it is; an unfinished one is trained on with the
    new content.
    """
    for path in (run / "drafts").glob("*.partial*"):
        path.unlink()
    stage = run / "draft"
    if is_finished(stage):
        save_json(stage / MANIFEST, manifest(data, Corpus.open(stage / "corpus" / "train.arrow")))
        record_folder(stage)


def is_finished(run: Path) -> bool:
    """Return whether training in the folder `run` has ended: if so, the provenance of its model says how it went."""
    model = run / "model"
    return model.exists() and "training" in ModelFolder.load(model).provenance


def _translate(sources: Sequence[TripletFiles], path: Path, runs: Sequence[Path], console: Console) -> None:
    """Write the triplets of `sources` with drafts as mt; each of n runs drafts every n-th one, which it has not seen.

    Raises:
        TrainingError: if all drafts are empty.
    """
    if path.exists():
        return
    digest, total = hashlib.sha256(), 0
    for triplet in read_triplets(sources):
        digest.update(to_json(triplet).encode())
        total += 1
    console.print(f"Drafting {total:,} translations into {path}", soft_wrap=True, highlight=False, markup=False)
    editors = [PostEditor.load(run / "model") for run in runs]
    file = PartialFile(path, {"data": digest.hexdigest(), "folds": len(runs)}, resume=True)
    chunks = blocks_of(islice(enumerate(read_triplets(sources)), file.done, None), _CHUNK)
    fill(file, ([to_json(one) for one in _drafted(chunk, editors)] for chunk in chunks), total, console, "drafts")
    if not _has_text(file.path):
        raise TrainingError(
            f"the first stage wrote no text for any source of data.{path.stem}, so there is nothing to refine; train "
            "it longer (see draft.train), in a new folder"
        )
    file.finish()


def _has_text(drafts: Path) -> bool:
    """Return whether a file of triplets has a draft that is not empty."""
    return any(read_records(drafts, lambda record: record["mt"].strip()))


def _drafted(rows: Sequence[tuple[int, Triplet]], editors: Sequence[Editor]) -> list[Triplet]:
    """Return numbered triplets with drafts as mt, in order; the row number decides which editor writes the draft."""
    drafts: dict[int, str] = {}
    for number, editor in enumerate(editors):
        own = [(row, triplet.src) for row, triplet in rows if row % len(editors) == number]
        edits = editor.edit([src for _, src in own])
        drafts |= {row: edit.text for (row, _), edit in zip(own, edits, strict=True)}
    return [triplet._replace(mt=drafts[row]) for row, triplet in rows]
