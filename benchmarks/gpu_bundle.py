"""Pack triplets for `benchmarks/gpu.sh`, which runs on a machine without a network, and list what else to copy there.

    python benchmarks/gpu_bundle.py DATA_FOLDER... [--out gpu-bundle] [--recipe RECIPE]

Each folder is packed under its own name with all its files `NAME.src`, `NAME.mt` and `NAME.pe`. With `--recipe`, which
takes one folder and a recipe without stages, the vocabularies and corpora are made here and packed instead of the
training triplets, so that no GPU time is spent on that.
"""

import argparse
import hashlib
import re
import sys
import tarfile
import tempfile
from pathlib import Path

from rich.console import Console

from postedit.core.errors import DataError, OutputError, PosteditError, RecipeError
from postedit.core.files import atomic_write, explain_os_errors
from postedit.data.manifest import MANIFEST
from postedit.jobs.run_preparation import learn_text, write_corpora
from postedit.recipe import load_recipe

ROOT = Path(__file__).resolve().parents[1]
MAX_BYTES = 40 * 2**20
SIDES = ("src", "mt", "pe")
PREPARED = "prepared"  # folder in a bundle that holds the vocabularies and corpora of a recipe
# Packages that the machine must have, along with their dependencies.
PRESENT = (
    "torch",
    "accelerate",
    "filelock",
    "huggingface_hub",
    "joblib",
    "numba",
    "numpy",
    "pyarrow",
    "rich",
    "sacrebleu",
    "safetensors",
    "tensorboard",
    "tokenizers",
    "tqdm",
    "typer",
)
# Packages that are also needed and that PyTorch images often lack, dependencies included.
OFTEN_MISSING = (
    "annotated-types",
    "backports.zstd",
    "pydantic",
    "pydantic_core",
    "rapidfuzz",
    "sacremoses",
    "tomli_w",
    "typing-inspection",
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DATA_FOLDER")
    parser.add_argument("--out", type=Path, default=ROOT / "gpu-bundle")
    parser.add_argument("--recipe", type=Path, help="make the corpora of this recipe here")
    options = parser.parse_args(arguments)
    try:
        if options.recipe is None:
            archive = pack(options.folders, options.out)
        else:
            archive = pack_prepared(options.folders, options.recipe, options.out)
    except PosteditError as error:
        print(f"gpu-bundle: {error}", file=sys.stderr)
        return 1
    print(_what_to_carry(archive))
    return 0


def pack(folders: list[Path], out: Path) -> Path:
    """Pack the triplets of `folders` into `out/triplets.tar.xz`; the same files give the same bytes.

    Raises:
        DataError: if a folder has no triplets, a side is missing, or two folders have one name.
        OutputError: if the archive cannot be written or is larger than 40 MB.
    """
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) != len(names):
        raise DataError(f"two of the folders have the same name: {', '.join(names)}; rename one")
    files = [(f"{name}/{file.name}", file) for name, folder in zip(names, folders) for file in triplet_files(folder)]
    return write_archive(files, out)


def pack_prepared(folders: list[Path], recipe_path: Path, out: Path) -> Path:
    """Pack the vocabularies and corpora of a recipe, in `prepared/`, and its dev triplets into `out/triplets.tar.xz`.

    Raises:
        DataError: if there is not exactly one folder, or it is called `prepared`.
        RecipeError: if the recipe has problems, or stages, each of which makes corpora of its own.
        OutputError: if the archive cannot be written or is larger than 40 MB.
    """
    if len(folders) != 1:
        raise DataError("--recipe takes the one folder that the recipe trains on")
    (folder,) = folders
    if folder.resolve().name == PREPARED:
        raise DataError(f"{folder}: the prepared run has this name in the bundle; rename the folder")
    recipe = load_recipe(recipe_path, [f"data.dir={folder}"])
    if recipe.stage or recipe.draft is not None:
        raise RecipeError(f"{recipe_path}: has stages, whose corpora are made where they are trained; omit --recipe")
    console = Console(stderr=True, markup=False)
    with tempfile.TemporaryDirectory() as temporary:
        run = Path(temporary)
        learn_text(recipe, run, None, console)
        write_corpora(recipe.data, recipe.architecture.model.writes, run, console)
        (run / MANIFEST).unlink()  # it lists triplets that are not packed
        recipe.save(run / "recipe.toml")
        prepared = sorted(path for path in run.rglob("*") if path.is_file())
        files = [(f"{PREPARED}/{path.relative_to(run)}", path) for path in prepared]
        files += [(f"{folder.resolve().name}/{path.name}", path) for path in recipe.data.dev.paths]
        return write_archive(files, out)


def write_archive(files: list[tuple[str, Path]], out: Path) -> Path:
    """Write `out/triplets.tar.xz`, with each file under its given name, and `out/triplets.sha256`.

    Raises:
        OutputError: if the archive cannot be written or is larger than 40 MB.
    """
    with explain_os_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    archive = out / "triplets.tar.xz"
    with (
        atomic_write(archive, "wb") as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name, file in files:
            info = tarfile.TarInfo(name)
            info.size = file.stat().st_size
            with file.open("rb") as content:
                tar.addfile(info, content)
    if archive.stat().st_size > MAX_BYTES:
        size = archive.stat().st_size / 2**20
        archive.unlink()
        raise OutputError(f"{archive}: {size:.0f} MB compressed, more than {MAX_BYTES >> 20}; pack fewer triplets")
    with atomic_write(out / "triplets.sha256") as file:
        file.write(f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  triplets.tar.xz\n")
    return archive


def triplet_files(folder: Path) -> list[Path]:
    """Return all triplet files of a folder, sorted by name and side.

    Raises:
        DataError: if there are none, or a `NAME.pe` lacks its `NAME.src` or `NAME.mt`.
    """
    parts = sorted(path.stem for path in folder.glob("*.pe"))
    if not parts:
        raise DataError(f"{folder}: no NAME.pe file here; a folder of triplets has NAME.src, NAME.mt and NAME.pe")
    files = [folder / f"{part}.{side}" for part in parts for side in SIDES]
    missing = [path.name for path in files if not path.is_file()]
    if missing:
        raise DataError(f"{folder}: missing {', '.join(missing)}")
    return files


def _what_to_carry(archive: Path) -> str:
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    versions = {name.lower().replace("_", "-"): version for name, version in pins.items()}
    wanted = " ".join(f"{name}=={versions[name.lower().replace('_', '-')]}" for name in OFTEN_MISSING)
    wheels = archive.parent / "wheels"
    shown = archive.relative_to(ROOT) if archive.is_relative_to(ROOT) else archive
    return (
        f"{shown}: {archive.stat().st_size / 2**20:.1f} MB\n\n"
        f"Carry to the machine: this checkout, and the folder {shown.parent}/.\n"
        f"It needs Python 3.11 or later with {', '.join(PRESENT[:8])},\n"
        f"{', '.join(PRESENT[8:])}. Packages that it lacks go into wheels/ beside the triplets:\n\n"
        f"  python3 -m pip download --no-deps --only-binary=:all: --python-version 3.12 --implementation cp \\\n"
        "    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \\\n"
        "    --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \\\n"
        f"    -d {wheels.relative_to(ROOT) if wheels.is_relative_to(ROOT) else wheels} {wanted}\n\n"
        "There, as often as needed, each time for at most GPU_SLICE_MINUTES (9):\n\n"
        "  bash benchmarks/gpu.sh RESULTS_FOLDER RECIPE"
    )


if __name__ == "__main__":
    sys.exit(main())
