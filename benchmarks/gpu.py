"""The stages of `benchmarks/gpu.sh` on a machine with an NVIDIA GPU, one verb each.

    check    compare the log-probabilities of the same model, weights and batch on the CPU and on the GPU
    speed    measure training tokens per second, in bf16 and fp32
    unpack   unpack the triplets of the bundle
    train    train a recipe for a slice of time; later slices resume the run
    pack     pack the results: log, scores, and the model in parts of limited size

check, speed and train write their findings as JSON into the results folder, and pack the files to take home. Every
verb also runs on a CPU (`--device cpu`).
"""

import argparse
import hashlib
import io
import json
import os
import shutil
import signal
import sys
import tarfile
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from gpu_bundle import PREPARED
from gpu_measure import CHECKED_ROWS, ROWS, SPEED_RECIPES, TINY_RECIPES, check, machine, speed, write
from rich.console import Console

from postedit.core.config import read_toml
from postedit.core.errors import DataError, PosteditError, RecipeError
from postedit.core.files import atomic_folder, atomic_write, explain_os_errors
from postedit.folder import ModelFolder
from postedit.jobs.training import train as train_recipe
from postedit.recipe import Recipe, load_recipe

SAVE_MINUTES = 3.0  # minutes between checkpoints: the most training that an aborted call loses


def unpack(bundle: Path, target: Path, name: str | None) -> Path:
    """Unpack a bundle into a folder of `target` named after its SHA-256 sum; return its folder of triplets to train on.

    `name` is the name of that folder; None if the bundle has only one.

    Raises:
        DataError: if the bundle is incomplete or damaged, or has several folders and none called `name`.
    """
    archive = bundle / "triplets.tar.xz"
    try:
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        expected = (bundle / "triplets.sha256").read_text(encoding="utf-8").split()[0]
    except FileNotFoundError as error:
        raise DataError(f"{error.filename}: missing; `make gpu-bundle` writes it, carry the whole folder") from None
    if digest != expected:
        raise DataError(f"{archive}: damaged on the way (its SHA-256 sum is another); carry it again")
    target /= digest[:12]  # another bundle holds other data
    if not target.is_dir():
        with atomic_folder(target) as folder, tarfile.open(archive, "r:xz") as tar:
            tar.extractall(folder, filter="data")
    names = sorted(path.name for path in target.iterdir() if path.name != PREPARED)
    if name is None and len(names) == 1:
        return target / names[0]
    if name not in names:
        raise DataError(f"GPU_DATA must name the folder of triplets to train on: one of {', '.join(names)}")
    return target / name


def train(
    recipe: Path, run: Path, results: Path, minutes: float, overrides: Sequence[str], *, last: bool, prepared: Path
) -> None:
    """Start or resume training of `recipe`, with all its stages, in `run`; interrupt it after `minutes` as Ctrl-C does.

    In the last slice, `max_steps` is set to the number of updates that there is time for, so that the learning rate of
    a linear schedule ends at 0. A new run starts with the vocabularies and corpora in `prepared`, if that exists.
    """
    options = [f"train.save_minutes={SAVE_MINUTES}", *overrides]
    if last:
        options.append(f"train.max_steps={updates_until(run, minutes)}")
    resolved = load_recipe(recipe, options, check_data=not prepared.is_dir())
    if prepared.is_dir():
        data, _ = resolved.data.resolve(Path())  # the problems are ignored: the training triplets are not here
        resolved = replace(resolved, data=data)
        check_prepared(resolved, prepared)
        if not (run / "recipe.toml").exists():
            with atomic_folder(run) as folder:
                shutil.copytree(prepared, folder, dirs_exist_ok=True)
                resolved.save(folder / "recipe.toml")
    before = minutes_spent(run)
    console = Console(force_terminal=False, width=120)
    clock = threading.Timer(60.0 * minutes, os.kill, [os.getpid(), signal.SIGINT])
    finished = True
    try:
        clock.start()
        train_recipe(resolved, run, resume=(run / "recipe.toml").exists(), console=console)
    except KeyboardInterrupt as interruption:
        finished = False
        print(interruption, flush=True)
    finally:
        clock.cancel()
    after = minutes_spent(run)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    spent = {"before": before, "after": after}
    found = {"machine": machine(device), "minutes": spent, "finished": finished, "dev": last_dev_scores(run)}
    write(results / "slice.json", found)
    print(f"trained from minute {before:.1f} to {after:.1f}{', to the end' if finished else ''}", flush=True)


def check_prepared(recipe: Recipe, prepared: Path) -> None:
    """Check that the vocabularies and corpora in `prepared` were made by this recipe.

    Raises:
        RecipeError: if the recipe differs in [text], [data] or the architecture from the one that made them.
    """
    own, known = recipe.to_dict(), read_toml(prepared / "recipe.toml")
    for values in (own, known):  # the folder of the triplets may differ
        values["data"] = {name: value for name, value in values["data"].items() if name != "dir"}
        values["data"] |= {name: _names(values["data"][name]) for name in ("train", "dev")}
    differ = [name for name in ("text", "data") if own[name] != known[name]]
    if differ or own["model"]["name"] != known["model"]["name"]:
        section = (differ or ["model"])[0]
        raise RecipeError(
            f"{prepared}: has the vocabularies and corpora of another recipe, with another [{section}]; make a "
            "bundle of this one, or give the other recipe"
        )


def _names(files: Any) -> Any:
    """Return sources of triplets without their folders."""
    if isinstance(files, str):
        return Path(files).name
    if isinstance(files, list):
        return [_names(one) for one in files]
    return {key: _names(value) if isinstance(value, str) else value for key, value in files.items()}


def updates_until(run: Path, minutes: float) -> int:
    """Return how many updates `run` will have made after `minutes` more, by the speed of its last logged updates.

    Raises:
        DataError: if it has logged fewer than two updates.
    """
    rows = rows_of(parts_of(run)[-1])
    logged = [row for row in rows if "lr" in row][-20:]
    if len(logged) < 2:
        raise DataError(f"{run}: its speed is not known yet: train a slice without GPU_LAST=1 first")
    first, latest = logged[0], logged[-1]
    rate = (latest["step"] - first["step"]) / (latest["seconds"] - first["seconds"])
    return int(latest["step"] + 0.95 * rate * 60.0 * minutes)  # some of the time goes into loading


def rows_of(part: Path) -> list[dict[str, Any]]:
    """Return the log entries of a run or of a stage."""
    log = part / "log.jsonl"
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


def parts_of(run: Path) -> list[Path]:
    """Return the folders of a run that hold checkpoints: those of its stages in order, or else the run itself."""
    stages = sorted((run / "stages").glob("*/log.jsonl"), key=lambda path: path.stat().st_mtime)
    return [path.parent for path in stages] or [run]


def minutes_spent(run: Path) -> float:
    """Return the minutes of training that the newest checkpoints of a run record; 0.0 if there are none."""
    newest = [max(part.glob("checkpoints/step-*/state.json"), default=None) for part in parts_of(run)]
    states = [json.loads(path.read_text(encoding="utf-8")) for path in newest if path is not None]
    return sum(float(state["run"]["seconds"]) for state in states) / 60.0


def last_dev_scores(run: Path) -> dict[str, Any]:
    """Return the last validation of each stage, by the name of its folder."""
    found: dict[str, Any] = {}
    for part in parts_of(run):
        if validations := [row for row in rows_of(part) if "dev_nll" in row]:
            found[part.name] = validations[-1]
    return found


def pack(run: Path, results: Path, part_bytes: int, first: int, count: int) -> None:
    """Write the records and the model of `run` into `results`, in files that are small enough to transfer.

    `records.tar.xz` holds the log, the resolved recipe and the scores. `model.tar.NN`, joined in order, are a tar file
    of the model folder with weights in bfloat16, half the size; `model.json` lists the SHA-256 sums of all parts.

    Args:
        run: run folder of `train`.
        results: folder for the files.
        part_bytes: size of a part in bytes.
        first: number of the first part to write, from 0.
        count: largest number of parts to write.
    """
    records = [path for path in sorted(run.rglob("*")) if path.suffix in {".jsonl", ".json", ".toml"}]
    small = [path for path in records if "checkpoints" not in path.parts and "model" not in path.parts]
    with atomic_write(results / "records.tar.xz", "wb") as file, tarfile.open(fileobj=file, mode="w") as tar:
        for path in small:
            tar.add(path, path.relative_to(run))
    model = next((part / "model" for part in [run, *reversed(parts_of(run))] if (part / "model").exists()), None)
    if model is None:
        print("no model yet: there was no validation so far; the next slices write one")
        return
    packed = _pack_model(model)
    parts = [packed[start : start + part_bytes] for start in range(0, len(packed), part_bytes)]
    for number, part in enumerate(parts):
        if first <= number < first + count:
            with atomic_write(results / f"model.tar.{number:02d}", "wb") as file:
                file.write(part)
    sums = [hashlib.sha256(part).hexdigest() for part in parts]
    write(results / "model.json", {"bytes": len(packed), "sha256": sums, "join": "cat model.tar.?? | tar x"})
    left = [str(number) for number in range(len(parts)) if not first <= number < first + count]
    if left:
        print(f"the model has {len(parts)} parts; still to be packed: {', '.join(left)} (GPU_STAGES=pack GPU_PARTS)")


def _pack_model(folder: Path) -> bytes:
    """Return a tar file of a model folder with its weights rounded to bfloat16."""
    with tempfile.TemporaryDirectory() as temporary:
        rounded = Path(temporary) / "model"
        ModelFolder.load(folder).save(rounded, torch.bfloat16)
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w") as tar:
            tar.add(rounded, "model")
        return content.getvalue()


def main(arguments: list[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--results", type=Path, required=True)
    verbs = parser.add_subparsers(dest="verb", required=True)
    check_verb = verbs.add_parser("check")
    check_verb.add_argument("--recipes", nargs="*", default=[], help="names of recipes; all small ones by default")
    speed_verb = verbs.add_parser("speed")
    speed_verb.add_argument("--seconds", type=float, default=8.0)
    speed_verb.add_argument("--recipes", nargs="*", default=[], help="names of recipes; a selection if none is given")
    unpack_verb = verbs.add_parser("unpack")
    unpack_verb.add_argument("bundle", type=Path)
    unpack_verb.add_argument("target", type=Path)
    unpack_verb.add_argument("--name")
    train_verb = verbs.add_parser("train")
    train_verb.add_argument("recipe", type=Path)
    train_verb.add_argument("run", type=Path)
    train_verb.add_argument("--minutes", type=float, default=9.0)
    train_verb.add_argument("--finish", type=float, default=1.5)
    train_verb.add_argument("--used-seconds", type=float, default=0.0)
    train_verb.add_argument("--last", action="store_true", help="let a linear schedule end with this slice")
    train_verb.add_argument("--prepared", type=Path, default=Path(PREPARED), help="vocabularies and corpora")
    train_verb.add_argument("--set", action="append", default=[], dest="overrides")
    pack_verb = verbs.add_parser("pack")
    pack_verb.add_argument("run", type=Path)
    pack_verb.add_argument("--part-mib", type=float, default=15.0)
    pack_verb.add_argument("--first", type=int, default=0)
    pack_verb.add_argument("--count", type=int, default=4)
    options = parser.parse_args(arguments)
    try:
        return _run(options)
    except PosteditError as error:
        print(f"gpu.py {options.verb}: {error}", file=sys.stderr)
        return 1


def _run(options: argparse.Namespace) -> int:
    device = torch.device(options.device)
    results: Path = options.results
    with explain_os_errors(results):
        results.mkdir(parents=True, exist_ok=True)
    match options.verb:
        case "check":
            return 0 if check(device, results, options.recipes) else 1
        case "speed":
            real = device.type == "cuda"
            recipes = options.recipes or (SPEED_RECIPES if real else TINY_RECIPES)
            return 0 if speed(device, results, recipes, ROWS if real else CHECKED_ROWS, options.seconds) else 1
        case "unpack":
            print(unpack(options.bundle, options.target, options.name).resolve())
        case "train":
            minutes = options.minutes - options.finish - options.used_seconds / 60.0
            if minutes <= 0.0:
                print("no time is left for training in this slice; the next one goes on")
                return 0
            how = {"last": options.last, "prepared": options.prepared}
            train(options.recipe, options.run, results, minutes, options.overrides, **how)
        case "pack":
            pack(options.run, results, int(options.part_mib * 2**20), options.first, options.count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
