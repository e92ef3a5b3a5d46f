"""Check whether models, runs and corpora are intact: every file is as it was written, and all weights can be loaded."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from postedit.core.checksums import (
    CHECKSUMS,
    damaged_files,
    lasting_files,
    read_checksums,
    record_checksums,
    record_folder,
)
from postedit.core.errors import DataError, PosteditError
from postedit.core.files import explain_os_errors, load_json, save_json, sha256_of
from postedit.core.tensor_files import is_sealed, load_tensors
from postedit.data.corpus import Corpus
from postedit.data.manifest import MANIFEST
from postedit.folder import ModelFolder
from postedit.model_files import CHAIN, CHAINED, CONFIG, WEIGHTS, architecture_of, read_config
from postedit.phrase.phrase_folder import PhraseFolder
from postedit.phrase.phrase_options import NAME as PHRASE_BASED

Kind = Literal["model", "run", "runs", "corpus"]

_SUFFIX: Final = ".sha256"  # ends the name of the file with the digests of PREFIX.*

_ENDINGS: Final = ("src", "mt", "pe", "ids", "json", "report.json", "profile.json", "removed.jsonl")
"""What the names of the files of a corpus end in, after the prefix."""

_MARKS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "model": (CONFIG, WEIGHTS),
    "run": ("recipe.toml", "model", "checkpoints"),
}
"""Contents by which the kind of a folder is recognised; one is enough, as others may be missing."""

_MEND: Final[Mapping[str, str]] = {
    "checkpoint": "training resumes from the checkpoint before it; if it is the only one, train again",
    "best": "continue the run with --resume: it is then no longer one of the best, or is written again",
    "run corpus": "delete its folder, and continue the run with --resume, which writes it again",
    "model": "copy the model folder again, or train the model again",
    "run": "copy the run again, or train again",
    "runs": "copy the run again, or train again",
    "corpus": "copy the file again, or repeat the command that made it",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of checking a folder or a corpus.

    Args:
        path: the path as it was given.
        kind: the kind of its content.
        files: the number of files.
        damage: what is wrong with each damaged file, and how to mend it.
        unrecorded: files without a recorded digest, whose damage may go unnoticed.
    """

    path: Path
    kind: Kind
    files: int
    damage: Mapping[Path, str]
    unrecorded: tuple[Path, ...]


def check_whole(path: Path) -> Finding:
    """Compare all files of a model, a run or a corpus with the digests recorded when they were written.

    Args:
        path: a model folder, a run folder, a folder with corpora, or the prefix of the files of a corpus.

    Raises:
        DataError: if there is nothing of the kind.
    """
    kind, files = _contents(path)
    digests, damage = _recorded(files)
    damage |= damaged_files(digests)
    known = {*digests, *damage, *(file for file in files if _has_digests(file))}
    for file in files:
        of_damaged_model = file.name == CONFIG and any(file.parent in other.parents for other in damage)
        if file not in damage and not of_damaged_model:  # its model would only fail again
            damage |= _unreadable(file, known)
    ends = {file: f"{problem}; {_how_to_mend(file, kind)}" for file, problem in sorted(damage.items())}
    return Finding(path, kind, len(files), ends, tuple(file for file in files if file not in known))


def record_whole(path: Path) -> None:
    """Record digests of all files as they are now, replacing any recorded before.

    Raises:
        DataError: if there is no model, run or corpus, or a configuration is damaged.
        OutputError: if a file cannot be read, or the digests cannot be written.
    """
    _, files = _contents(path)
    for file in files:
        if file.name == CONFIG:
            _record_within(file)
    if not path.is_dir():
        sums = _sums_of(path)
        record_checksums(sums, [file for file in files if file != sums])
        return
    inner = [file.parent for file in files if file.name == CHECKSUMS and file.parent != path]
    # Inner folders first, since an outer folder records the digests of their digest files.
    for folder in sorted(inner, key=lambda folder: len(folder.parts), reverse=True):
        record_folder(folder)
    record_folder(path)


def _contents(path: Path) -> tuple[Kind, list[Path]]:
    """Return the kind of a folder or prefix, and its files; of a prefix with digests, all recorded ones."""
    if not path.is_dir():
        sums = _sums_of(path)
        if sums.exists():
            return "corpus", sorted({sums, *_recorded([sums])[0]})
        named = [path.with_name(f"{path.name}.{ending}") for ending in _ENDINGS]
        if not (files := [file for file in named if file.is_file()]):
            raise DataError(f"{path}: there is no folder of that name, and no corpus ({path}.src)")
        return "corpus", files
    files = lasting_files(path)
    for kind, names in _MARKS.items():
        if any((path / name).exists() for name in names):
            return kind, files
    if any(path.glob("seed-*/recipe.toml")):
        return "runs", files
    if any(map(_has_digests, files)):
        return "corpus", files
    raise DataError(
        f"{path}: holds no model (config.json), no run (recipe.toml) and no digests (*{_SUFFIX}, {CHECKSUMS}); "
        "name the folder of a model or run, or the prefix of a corpus"
    )


def _sums_of(prefix: Path) -> Path:
    return prefix if prefix.suffix == _SUFFIX else prefix.with_name(f"{prefix.name}{_SUFFIX}")


def _has_digests(file: Path) -> bool:
    return file.name == CHECKSUMS or file.suffix == _SUFFIX


def _recorded(files: Iterable[Path]) -> tuple[dict[Path, str], dict[Path, str]]:
    """Return the recorded digest of each file, and what is wrong with the files that record them."""
    found: dict[Path, str] = {}
    damage: dict[Path, str] = {}
    # Outer folders last: their digests take precedence.
    for file in sorted(files, key=lambda file: len(file.parts), reverse=True):
        try:
            if _has_digests(file):
                found |= read_checksums(file)
            elif file.name in (CONFIG, MANIFEST):
                found = {**_of_config(file), **found}
        except DataError as error:
            damage[file] = str(error).removeprefix(f"{file}: ")
    return found, damage


def _of_config(file: Path) -> dict[Path, str]:
    """Return the digests in the configuration of a model; the manifest of a run has none, but must be readable."""
    try:
        values: Any = load_json(file)
        digests = dict(values.get("sha256", {}))
        if "weights_sha256" in values:
            digests[WEIGHTS] = values["weights_sha256"]
    except (OSError, ValueError, AttributeError, TypeError):
        raise DataError(f"{file}: damaged, no JSON object that can be read") from None
    return {file.parent / name: str(digest) for name, digest in digests.items()}


def _record_within(config: Path) -> None:
    """Bring the digests in the configuration of a model, which loading compares, up to date with its files."""
    with explain_os_errors(config):
        now = {file: sha256_of(file) if file.is_file() else digest for file, digest in _of_config(config).items()}
    values = load_json(config)
    recorded = dict(values)
    if "sha256" in values:
        recorded["sha256"] = {name: now[config.parent / name] for name in dict(values["sha256"])}
    if "weights_sha256" in values:
        recorded["weights_sha256"] = now[config.parent / WEIGHTS]
    if recorded != values:
        save_json(config, recorded)


def _unreadable(file: Path, known: set[Path]) -> dict[Path, str]:
    """Return what is wrong with a model, weights or a corpus; add files that contain their own digest to `known`.

    `file` may be of any kind: a `config.json` stands for its model, and files that cannot be loaded are not checked.
    """
    try:
        if file.name == CONFIG and (architecture := architecture_of(file.parent)) is not None:
            _load(file.parent, architecture)
        elif file.suffix == ".safetensors" and file not in known:
            load_tensors(file)
            if is_sealed(file):
                known.add(file)
        elif file.suffix == ".arrow" and file not in known:
            Corpus.open(file).check()
            known.add(file)
    except PosteditError as error:
        where, _, problem = str(error).partition(": ")
        named = Path(where) if file.parent in Path(where).parents else file
        known.add(named)
        problem = problem if named == Path(where) else str(error)
        return {named: problem.rpartition("; ")[0] or problem}  # drop the advice: what to do depends on the folder
    return {}


def _load(folder: Path, architecture: str) -> None:
    """Load a model; of a chain, only check the configurations, as each of its models has a `config.json` of its own."""
    if architecture == CHAIN:
        for name in CHAINED:
            read_config(folder / name)
    else:
        (PhraseFolder if architecture == PHRASE_BASED else ModelFolder).load(folder)


def _how_to_mend(file: Path, kind: Kind) -> str:
    place = file.parts
    if "checkpoints" in place:
        return _MEND["checkpoint"]
    if file.parent.name == "best" and file.suffix == ".safetensors":
        return _MEND["best"]
    return _MEND["run corpus" if kind != "corpus" and "corpus" in place[:-1] else kind]
