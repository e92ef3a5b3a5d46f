"""Prepare training: check the model to start from, claim the run folder, learn the text, write the corpora."""

import platform
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from accelerate.utils import gather_object
from filelock import FileLock, Timeout
from rich.console import Console

from postedit.core.checksums import CHECKSUMS, forget_checksums, record_folder, recorded_damage
from postedit.core.config import problem_report, read_toml
from postedit.core.errors import DataError, OutputError, RecipeError
from postedit.core.files import atomic_folder, check_writable, explain_os_errors, is_temporary, load_json, save_json
from postedit.core.model import Writes
from postedit.core.weight_transfer import check_sizes
from postedit.data.blocks import sample_evenly
from postedit.data.compression import raw_lines
from postedit.data.corpus import Corpus, EmptyCorpusError, HintsOf, write_corpus
from postedit.data.manifest import MANIFEST, changed_files, manifest
from postedit.data.report import DataReport
from postedit.data.triplets import DataConfig, SamplingWeight, Triplet, TripletFiles, check_files, read_triplets
from postedit.data.weighted_sampler import WeightedSampler
from postedit.folder import ModelFolder
from postedit.jobs.drafting import are_drafted, renew_drafting
from postedit.jobs.training_hints import TrainingHints
from postedit.model_files import architecture_of
from postedit.models import ARCHITECTURES
from postedit.progress import LineProgress
from postedit.recipe import Recipe, parse_recipe
from postedit.recipe_checks import build_on_meta, flat_options
from postedit.text.processor import TextProcessor, model_text
from postedit.train.config import FREE_ON_RESUME

_LOCK: Final = "run.lock"


def check_start(recipe: Recipe) -> None:
    """Check that each model that a recipe names in `train.init` has some weights that fit; else raise a RecipeError."""
    stages = recipe.stages()[:1]  # the others start from the stage before
    parts = {f"stage.{name}.": stage for name, stage in stages} or {"": recipe}
    if recipe.draft is not None:
        parts["draft."] = recipe.first_stage()
    for prefix, part in parts.items():
        if part.train.init is None:
            continue
        architecture = architecture_of(Path(part.train.init))
        if architecture is not None and architecture not in ARCHITECTURES:
            why = f"is a {architecture} model, which has no weights to start from"
            raise RecipeError(f"{prefix}train.init: {part.train.init}: {why}")
        model = build_on_meta(part.architecture, part.model, part.text, "model.", [])
        try:
            if model is not None:
                check_sizes(model, ModelFolder.load(Path(part.train.init)).model)
        except RecipeError as error:
            raise RecipeError(f"{prefix}train.init: {part.train.init}: {error}") from None


@contextmanager
def locked_run(
    recipe: Recipe,
    folder: Path,
    resume: bool,
    accept_changed_data: bool = False,
    warn: Callable[[str], None] = lambda message: None,
) -> Iterator[None]:
    """Check that the folder can be used for this run and that the data can be read; then lock the folder.

    In this order, a failed check leaves nothing behind that would stop the same command once the cause is removed,
    and changes no files that another process is using for training. If data from which no corpus can be made stops a
    new run later, what was made from it, such as vocabularies, is deleted for the same reason.
    If changed data files are accepted, the corpora made from them are deleted.

    Raises:
        RecipeError: if the run to resume had another recipe.
        DataError: if the data cannot be read, or has changed since the run was started and the change is not accepted.
        OutputError: if the folder holds something else or cannot be written, or another process is training there.
    """
    saved = folder / "recipe.toml"
    _check_own(recipe, folder, resume, accept_changed_data)
    is_new = not saved.exists()
    with explain_os_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    check_writable(saved)
    corpora = folder / "corpus"
    if not ((folder / "text").exists() and (corpora.exists() or are_drafted(folder))):
        parts = [recipe.data, *(stage.data for _, stage in recipe.stages())]
        check_data([files for data in parts for _, files in data.sources], folder, warn)
    with claimed(folder):
        # Checked again: another process may have started or ended here while the data was read.
        changed, of_first_stage = _check_own(recipe, folder, resume, accept_changed_data)
        if changed:
            shutil.rmtree(corpora)
        if of_first_stage:
            renew_drafting(recipe.data, folder)
        forget_checksums(folder / CHECKSUMS)
        recipe.save(saved)
        try:
            yield
        except DataError:
            if is_new and not any(folder.rglob("corpus")):
                _forget_start(folder)
            raise


def check_data(sources: Iterable[TripletFiles], folder: Path, warn: Callable[[str], None]) -> None:
    """Check the files that a run in `folder` will read; if they are refused, leave no empty folder behind.

    Raises:
        DataError: if the data cannot be used.
    """
    try:
        for files in dict.fromkeys(sources):
            check_files(files, warn)
    except DataError:
        with suppress(OSError):  # it holds a run
            folder.rmdir()
        raise


def _forget_start(folder: Path) -> None:
    """Delete what a start that made no corpus has written, so that the folder holds no run."""
    for path in (folder / "text", folder / "stages", *folder.glob("draft*")):
        shutil.rmtree(path, ignore_errors=True)
    (folder / "recipe.toml").unlink(missing_ok=True)


def _check_own(recipe: Recipe, folder: Path, resume: bool, accept: bool) -> tuple[list[str], list[str]]:
    """Check that the folder can be used for this run, and that its data is unchanged or the change is accepted.

    Returns:
        The changed data files of the corpora, and those of a first stage whose drafts are not all written yet.
    """
    saved = folder / "recipe.toml"
    if not holds_run(folder, resume):
        return [], []
    _check_same(parse_recipe(read_toml(saved), str(saved), None), recipe, saved)
    drafting = recipe.draft is not None and not are_drafted(folder)
    changed, of_first_stage = _changed_files(folder), _changed_files(folder / "draft") if drafting else []
    fault = f"{folder}: {', '.join(changed + of_first_stage)}: changed since the run was started"
    if of_first_stage and recipe.draft is not None and recipe.draft.folds:
        raise DataError(
            f"{fault}, so that its folds (draft.folds) would have other lines; restore it, or start in a new folder"
        )
    if (changed or of_first_stage) and not accept:
        raise DataError(f"{fault}; restore it, accept it with --accept-changed-data, or start in a new folder")
    return changed, of_first_stage


def holds_run(folder: Path, resume: bool) -> bool:
    """Return whether a folder holds a run to resume; if not, it is empty or holds only leftovers of a killed start.

    Raises:
        OutputError: if it holds something else, a run although `resume` is false, or no run although `resume` is true.
    """
    saved = folder / "recipe.toml"
    if saved.exists():
        if not resume:
            raise OutputError(
                f"{folder}: already holds a run; continue it with --resume, or choose another folder with --out"
            )
        return True
    if folder.is_dir() and any(path.name != _LOCK and not is_temporary(path, saved) for path in folder.iterdir()):
        raise OutputError(f"{folder}: is not empty and holds no run; choose a new folder with --out")
    if resume:
        raise OutputError(f"{folder}: holds no run to resume; check --out, or leave out --resume to start a run there")
    return False


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Lock `folder` against other processes that train; the lock is released however the process ends."""
    lock = FileLock(folder / _LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise OutputError(
            f"{folder}: another process is training there; wait until it ends, or choose another folder with --out"
        ) from None
    try:
        yield
    finally:
        lock.release()


def check_same_options(recipe: Recipe, resume: bool, accept_changed_data: bool) -> None:
    """Check that all processes of a run have the same recipe and options; all must call this together.

    Machines may have data and models in different folders: only the last part of an absolute path is compared, and
    `data.dir` is ignored.

    Raises:
        RecipeError: in every process, if an option differs.
    """
    options = {"--resume": resume, "--accept-changed-data": accept_changed_data}
    own = options | {"stage": [stage.name for stage in recipe.stage]} | _options_of(recipe)
    compared = {key: _without_folders(value) for key, value in own.items() if not key.endswith("data.dir")}
    first, *others = gather_object([compared])
    found: dict[str, str] = {}
    for number, other in enumerate(others, start=1):
        for option in sorted(first.keys() | other.keys()):
            here, there = (one.get(option, "not set") for one in (first, other))
            if here != there:
                found.setdefault(option, f"{option} is {here!r} in the first, {there!r} in process {number}")
    if found:
        differ = "; ".join(found.values())
        raise RecipeError(f"the processes of this run differ: {differ}; start all with the same recipe and options")


def _without_folders(value: Any) -> Any:
    """Return the value of an option with absolute paths reduced to their last part."""
    if isinstance(value, Mapping):
        return {key: _without_folders(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_folders(part) for part in value]
    return Path(value).name if isinstance(value, (str, Path)) and Path(value).is_absolute() else value


def check_shared(folder: Path) -> None:
    """Raise an OutputError if this process, perhaps on another machine, does not see the files of the main process."""
    if not (folder / "text").exists():
        raise OutputError(
            f"{folder}: {platform.node()} does not see what the first process wrote there; with --out, give a folder "
            "that all machines share"
        )


def _changed_files(folder: Path) -> list[str]:
    """Return the data files that have changed since the corpora in `folder` were made from them."""
    path = folder / MANIFEST
    known = (folder / "corpus").exists() and path.exists()
    try:
        return changed_files(load_json(path)) if known else []
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise DataError(
            f"{path}: damaged, so it is not known whether the data has changed since the run was started; if it has "
            "not, delete this file to go on"
        ) from None


def _check_same(old: Recipe, new: Recipe, where: Path) -> None:
    """Check that a recipe differs from the saved one only in options that may change when a run is resumed."""
    before, after = _options_of(old), _options_of(new)
    parts = ["", "draft.", *(f"stage.{stage.name}." for stage in new.stage)]
    free = {f"{part}train.{option}" for option in FREE_ON_RESUME for part in parts}
    problems = [
        f"{option}: was {before.get(option, 'not set')!r}, is {after.get(option, 'not set')!r}"
        for option in sorted(before.keys() | after.keys())
        if before.get(option) != after.get(option) and option not in free and not option.startswith("search.")
    ]
    order = [[stage.name for stage in one.stage] for one in (old, new)]
    if order[0] != order[1] and set(order[0]) == set(order[1]):  # other differences are reported above
        problems.append(f"stage: the order was {', '.join(order[0])}, is {', '.join(order[1])}")
    if problems:
        raise problem_report(
            f"{where}: a run cannot be resumed with another recipe; choose another folder with --out, or delete this "
            "one",
            problems,
        )


def _options_of(recipe: Recipe) -> dict[str, Any]:
    """Return the values of all options of a recipe and its stages by full name, such as `train.seed`."""
    return flat_options({**recipe.to_dict(), "stage": {stage.name: stage.model_dump() for stage in recipe.stage}})


def learn_text(recipe: Recipe, folder: Path, given: Path | None, console: Console) -> None:
    """Learn the text processing from the training triplets, or copy a given one, unless the run already has it."""
    if (folder / "text").exists():
        return
    if given is None and recipe.text.model is not None:
        console.print(f"Vocabularies: those of {recipe.text.model}", highlight=False, markup=False, soft_wrap=True)
        given = model_text(Path(recipe.text.model))
    processor = _learnt(recipe, console) if given is None else TextProcessor.load(given)
    with _new_folder(folder / "text") as temporary:
        processor.save(temporary)


def _learnt(recipe: Recipe, console: Console) -> TextProcessor:
    checkpoint = recipe.text.vocabulary.checkpoint
    console.print("Learning subword vocabularies" if checkpoint is None else f"Vocabulary: that of {checkpoint}")
    sources = [files for files in recipe.data.train if files.learn_text]
    if len(sources) < len(recipe.data.train):
        console.print(f"From {', '.join(files.name for files in sources)} alone", highlight=False, markup=False)
    total, wanted = count_lines(sources), recipe.text.sample
    if total > wanted and recipe.text.passes:
        console.print(f"From {wanted:,} of {total:,} triplets, see text.sample", highlight=False)
    with LineProgress(console, total * recipe.text.passes) as progress:

        def sample() -> Iterator[Triplet]:
            return sample_evenly(progress.track(read_triplets(sources)), total, wanted)

        return TextProcessor.fit(recipe.text, sample)


def count_lines(sources: Sequence[TripletFiles]) -> int:
    """Return the number of lines of all sources, which is about the number of their triplets."""
    return sum(1 for source in sources for _ in raw_lines(source.paths[0]))


def write_corpora(
    data: DataConfig, writes: Writes, folder: Path, console: Console, hints: TrainingHints | None = None
) -> None:
    """Write the training and dev corpora, unless the run has them: post-edits as the model `writes` them, and `hints`.

    Raises:
        DataError: if the corpora of the run are damaged, or a corpus would be empty.
    """
    corpora = folder / "corpus"
    if corpora.exists():
        if damage := recorded_damage(corpora):
            raise DataError(f"{damage}; delete {corpora} and resume, which writes it again")
        return
    processor = TextProcessor.load(folder / "text")
    report = DataReport()
    parts: dict[str, Sequence[TripletFiles]] = {"train": data.train, "dev": [data.dev]}
    hints_of: dict[str, HintsOf | None] = {"train": hints, "dev": None if hints is None else hints.of_dev}
    total = sum(map(count_lines, parts.values()))
    console.print(f"Turning {total:,} triplets into ids", highlight=False)
    with _new_folder(corpora) as temporary, LineProgress(console, total) as progress:
        for name, sources in parts.items():
            triplets = [progress.track(read_triplets(files, report)) for files in sources]
            path, cut = temporary / f"{name}.arrow", data.too_long == "cut"
            try:
                write_corpus(
                    path, triplets, processor, data.max_length, report, writes, cut=cut, hints_of=hints_of[name]
                )
            except EmptyCorpusError as error:
                longer = f"raise data.max_length (now {data.max_length}) if their texts are too long"
                raise DataError(f"data.{name}: {error}\nCheck the files; {longer}") from None
        record_folder(temporary)
        # Written before the corpora folder is renamed, so that a killed run leaves no corpora without these files.
        save_json(folder / "data.json", report.to_dict())
        save_json(folder / MANIFEST, manifest(data, Corpus.open(temporary / "train.arrow")))
    console.print(str(report), highlight=False, markup=False, soft_wrap=True)
    _print_epochs(data, Corpus.open(corpora / "train.arrow"), console)


@contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to `path` at the end; remove any left behind by killed runs.

    As the folder of the run is locked, the remains of other machines, too, belong to no running process.
    """
    for left in path.parent.glob(f".{path.name}.*"):
        shutil.rmtree(left, ignore_errors=True)
    with atomic_folder(path) as temporary:
        yield temporary


def share_corpora(other: Path, folder: Path) -> None:
    """Give the run in `folder` the corpora of another run, as hard links where the file system supports them."""
    if (folder / "corpus").exists() or not (other / "corpus").exists():
        return
    with atomic_folder(folder / "corpus") as temporary:
        for file in (other / "corpus").iterdir():
            try:
                (temporary / file.name).hardlink_to(file)
            except OSError:  # the file system has no links
                shutil.copyfile(file, temporary / file.name)
        for name in ("data.json", MANIFEST):  # as in `write_corpora`
            shutil.copyfile(other / name, folder / name)


def _print_epochs(data: DataConfig, corpus: Corpus, console: Console) -> None:
    """Print the share of each source in an epoch, unless every source is read exactly once per epoch."""
    weights = [files.sampling for files in data.train]
    if set(weights) == {SamplingWeight()}:
        return
    sampler = WeightedSampler(corpus, weights, seed=0)
    changes = {0, *(weight.from_epoch for weight in weights), *(weight.until_epoch or 0 for weight in weights)}
    for epoch in sorted(changes):
        rows = sampler.rows_per_part(epoch)
        read = [(files.name, count) for files, count in zip(data.train, rows) if count]
        parts = ", ".join(f"{count:,} of {name} ({100 * count / sum(rows):.1f} %)" for name, count in read)
        console.print(f"Triplets from epoch {epoch} on: {parts}", highlight=False, markup=False, soft_wrap=True)
