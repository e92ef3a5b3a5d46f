"""What comes before training: claiming the folder of a run, learning the text, writing the corpora."""

import json
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout
from rich.console import Console

from postedit.core.config import problem_report, read_toml
from postedit.core.errors import DataError, OutputError
from postedit.core.files import atomic_folder, check_writable, explain_os_errors
from postedit.core.model import Writes
from postedit.core.tensor_files import save_json
from postedit.data.blocks import sample_evenly
from postedit.data.compression import raw_lines
from postedit.data.corpus import Corpus, write_corpus
from postedit.data.manifest import MANIFEST, changed_files, manifest
from postedit.data.report import DataReport
from postedit.data.triplets import DataConfig, SamplingWeight, Triplet, TripletFiles, check_files, read_triplets
from postedit.data.weighted_sampler import WeightedSampler
from postedit.jobs.drafting import are_drafted, renew_drafting
from postedit.progress import LineProgress
from postedit.recipe import Recipe, parse_recipe
from postedit.text.processor import TextProcessor, model_text
from postedit.train.config import FREE_ON_RESUME

_LOCK: Final = "run.lock"


@contextmanager
def begun(
    recipe: Recipe,
    folder: Path,
    resume: bool,
    accept_changed_data: bool = False,
    warn: Callable[[str], None] = lambda message: None,
) -> Iterator[None]:
    """Make sure that the folder is this run's and may be written, and the data can be read; then keep the folder.

    In this order, so that nothing is left behind that would stop the same command once the fault is mended, and nothing
    is touched that another process is training with.

    Raises:
        RecipeError: if the run to resume had another recipe.
        DataError: if the data cannot be read, or has changed since the run was started, and that is not accepted.
        OutputError: if the folder holds something else, cannot be written, or another process is training there.
    """
    saved = folder / "recipe.toml"
    _check_own(recipe, folder, resume, accept_changed_data)
    with explain_os_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    check_writable(saved)
    text, corpora = prepared(folder)
    if not (text.exists() and corpora.exists()):
        parts = [recipe.data, *(stage.data for _, stage in recipe.stages())]
        for files in dict.fromkeys(files for data in parts for _, files in data.sources):
            check_files(files, warn)
    with _claimed(folder):
        # Once more: to read the data takes a while, in which another process may have begun or ended here.
        changed, of_first_stage = _check_own(recipe, folder, resume, accept_changed_data)
        if changed:
            shutil.rmtree(corpora)
        if of_first_stage:
            renew_drafting(recipe.data, folder)
        recipe.save(saved)
        yield


def _check_own(recipe: Recipe, folder: Path, resume: bool, accept: bool) -> tuple[list[str], list[str]]:
    """Make sure that the folder is this run's, and that its files are as they were or their change is accepted.

    Returns:
        The files that have changed, of the corpora and of those of a first stage whose drafts are not all written.
    """
    saved = folder / "recipe.toml"
    if saved.exists() and not resume:
        raise OutputError(f"{folder}: already holds a run; go on with it by --resume, or choose another by --out")
    if not saved.exists() and folder.is_dir() and any(path.name != _LOCK for path in folder.iterdir()):
        raise OutputError(f"{folder}: is not empty and holds no run; choose a new folder by --out")
    if not saved.exists() and resume:
        raise OutputError(f"{folder}: holds no run to resume; check --out, or leave out --resume to start a run there")
    if not saved.exists():
        return [], []
    _check_same(parse_recipe(read_toml(saved), str(saved), None), recipe, saved)
    drafting = recipe.draft is not None and not are_drafted(folder)
    changed, of_first_stage = _changed_files(folder), _changed_files(folder / "draft") if drafting else []
    names = ", ".join(changed + of_first_stage)
    if of_first_stage and recipe.draft is not None and recipe.draft.folds:
        raise DataError(
            f"{folder}: {names}: not as when the run was started; which lines belong to which of its folds "
            "(draft.folds) would be another: bring it back, or start anew in another folder"
        )
    if names and not accept:
        raise DataError(
            f"{folder}: {names}: not as when the run was started; bring it back, go on with what "
            "is there by --accept-changed-data, or start anew in another folder"
        )
    return changed, of_first_stage


@contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """Keep other processes from training in `folder`, which would write over each other's checkpoints and log.

    The lock goes with the process, however that ends.

    Raises:
        OutputError: if another one has it.
    """
    lock = FileLock(folder / _LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise OutputError(
            f"{folder}: another process is training there; wait until it ends, or choose another folder by --out"
        ) from None
    try:
        yield
    finally:
        lock.release()


def check_shared(folder: Path) -> None:
    """Make sure that a process, perhaps of another machine, sees what the first one has written.

    Raises:
        OutputError: if it does not.
    """
    if not prepared(folder)[0].exists():
        raise OutputError(
            f"{folder}: {platform.node()} does not see what the first process wrote there; give by --out a folder that "
            "all machines share"
        )


def _changed_files(folder: Path) -> list[str]:
    """Return the files that corpora in `folder` were made of and that have other content now."""
    _, corpora = prepared(folder)
    path = folder / MANIFEST
    known = corpora.exists() and path.exists()
    return changed_files(json.loads(path.read_text(encoding="utf-8"))) if known else []


def _check_same(old: Recipe, new: Recipe, where: Path) -> None:
    """Only how long to train, what to write, and search settings may change in mid-run."""
    before, after = _options(old.to_dict()), _options(new.to_dict())
    parts = ["", "draft.", *(f"stage.{stage.name}." for stage in new.stage)]
    free = {f"{part}train.{option}" for option in FREE_ON_RESUME for part in parts}
    problems = [
        f"{option}: was {before.get(option, 'not set')!r}, is {after.get(option, 'not set')!r}"
        for option in sorted(before.keys() | after.keys())
        if before.get(option) != after.get(option) and option not in free and not option.startswith("search.")
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
        if key == "stage":
            value = {stage["name"]: stage for stage in value}
        found |= _options(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return found


def prepared(folder: Path) -> tuple[Path, Path]:
    """Return where text processing and corpora are, once they are made."""
    return folder / "text", folder / "corpus"


def learn_text(recipe: Recipe, folder: Path, given: Path | None, console: Console) -> None:
    """Learn the text processing from the training triplets, or take what is given, unless that is done."""
    text, _ = prepared(folder)
    if text.exists():
        return
    if given is None and recipe.text.model is not None:
        console.print(f"Vocabularies: those of {recipe.text.model}", highlight=False, markup=False, soft_wrap=True)
        given = model_text(Path(recipe.text.model))
    processor = _learnt(recipe, console) if given is None else TextProcessor.load(given)
    with _new_folder(text) as temporary:
        processor.save(temporary)


def _learnt(recipe: Recipe, console: Console) -> TextProcessor:
    """Return the text processing, learnt from as many of the training triplets as `text.sample` says."""
    checkpoint = recipe.text.vocabulary.checkpoint
    console.print("Learning subword vocabularies" if checkpoint is None else f"Vocabulary: that of {checkpoint}")
    total, wanted = count_lines(recipe.data.train), recipe.text.sample
    if total > wanted and recipe.text.passes:
        console.print(f"From {wanted:,} of {total:,} triplets, see text.sample", highlight=False)
    with LineProgress(console, total * recipe.text.passes) as progress:

        def sample() -> Iterator[Triplet]:
            return sample_evenly(progress.track(read_triplets(recipe.data.train)), total, wanted)

        return TextProcessor.fit(recipe.text, sample)


def count_lines(sources: Sequence[TripletFiles]) -> int:
    """Return the number of lines of all sources, which is about that of their triplets.

    Raises:
        DataError: if a file cannot be read.
    """
    return sum(1 for source in sources for _ in raw_lines(source.paths[0]))


def write_corpora(data: DataConfig, writes: Writes, folder: Path, console: Console) -> None:
    """Write the corpora of what a model reads and `writes`, unless that is done."""
    text, corpora = prepared(folder)
    if corpora.exists():
        return
    processor = TextProcessor.load(text)
    report = DataReport()
    parts: dict[str, Sequence[TripletFiles]] = {"train": data.train, "dev": [data.dev]}
    total = sum(map(count_lines, parts.values()))
    console.print(f"Turning {total:,} triplets into ids", highlight=False)
    with _new_folder(corpora) as temporary, LineProgress(console, total) as progress:
        for name, sources in parts.items():
            triplets = [progress.track(read_triplets(files, report)) for files in sources]
            write_corpus(temporary / f"{name}.arrow", triplets, processor, data.max_length, report, writes)
        # Before the corpora have their name, so that a kill leaves none without their account.
        save_json(folder / "data.json", report.to_dict())
        save_json(folder / MANIFEST, manifest(data, Corpus.open(temporary / "train.arrow")))
    console.print(str(report), highlight=False, markup=False, soft_wrap=True)
    _print_epochs(data, Corpus.open(corpora / "train.arrow"), console)


@contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    """Give a folder to fill that takes the name `path` in the end, once what a kill left of one is removed."""
    for leftover in path.parent.glob(f".{path.name}.*"):
        shutil.rmtree(leftover, ignore_errors=True)
    with atomic_folder(path) as temporary:
        yield temporary


def share_corpora(other: Path, folder: Path) -> None:
    """Give the run in `folder` the corpora of another run, without a second copy where the file system lets it."""
    if (folder / "corpus").exists() or not (other / "corpus").exists():
        return
    with atomic_folder(folder / "corpus") as temporary:
        for file in sorted((other / "corpus").iterdir()):
            _link(file, temporary / file.name)
        # Before the corpora have their name, so that a kill leaves none without their account.
        for name in ("data.json", MANIFEST):
            shutil.copyfile(other / name, folder / name)


def _link(file: Path, new: Path) -> None:
    try:
        new.hardlink_to(file)
    except OSError:  # of a file system without links
        shutil.copyfile(file, new)


def _print_epochs(data: DataConfig, corpus: Corpus, console: Console) -> None:
    """Print how much of an epoch each source is, unless every source is read once an epoch."""
    weights = [files.sampling for files in data.train]
    if set(weights) == {SamplingWeight()}:
        return
    sampler = WeightedSampler(corpus, weights, seed=0)
    changes = {0, *(weight.from_epoch for weight in weights), *(weight.until_epoch or 0 for weight in weights)}
    for epoch in sorted(changes):
        rows = sampler.rows_per_part(epoch)
        parts = [
            f"{count:,} of {files.name} ({100 * count / sum(rows):.1f} %)"
            for files, count in zip(data.train, rows)
            if count
        ]
        console.print(
            f"Triplets from epoch {epoch} on: {', '.join(parts)}", highlight=False, markup=False, soft_wrap=True
        )
