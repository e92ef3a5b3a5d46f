"""A wheel that is installed outside a checkout has all that the commands need."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMALL = [
    *("text.vocabulary.size=300", "train.max_steps=2", "train.batch_tokens=300", "train.precision=fp32"),
    *("model.dim=16", "model.feed_forward=32", "model.heads=2"),
    *(f"model.layers_{side}=1" for side in ("src", "mt", "pe")),
]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that a freshly built wheel is installed into."""
    pytest.importorskip("hatchling", reason="needs the build backend, which `make setup` installs")
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", folder / "site", wheel], check=True)
    return folder / "site"


def run(installed: Path, cwd: Path, *arguments: object) -> str:
    environment = {**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "postedit", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_what_the_checkout_has(installed: Path) -> None:
    shipped = installed / "postedit" / "shipped"
    for name in ("recipes", "examples"):
        there = {path.relative_to(ROOT / name): path for path in (ROOT / name).rglob("*") if path.is_file()}
        assert there
        for relative, path in there.items():
            assert (shipped / name / relative).read_bytes() == path.read_bytes()
    assert not (shipped / "recipes").is_symlink()


def test_the_source_archive_holds_the_files_behind_links(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="needs the build backend, which `make setup` installs")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as found:
        held = {member.name.split("/", 1)[1] for member in found if member.isfile()}
    for name in ("recipes", "examples"):
        there = {path.relative_to(ROOT).as_posix() for path in (ROOT / name).rglob("*") if path.is_file()}
        assert there | {f"src/postedit/shipped/{path}" for path in there} <= held


def test_demo_runs_without_a_checkout(installed: Path, tmp_path: Path) -> None:
    assert "unedited MT" in run(installed, tmp_path, "demo", "--out", "demo")
    assert (tmp_path / "demo" / "report.html").is_file()


def test_a_recipe_is_trained_by_its_name(installed: Path, tmp_path: Path) -> None:
    data = installed / "postedit" / "shipped" / "examples" / "mlqe-pe.en-de"
    changes = [part for value in (f"data.dir={data}", *SMALL) for part in ("--set", value)]
    run(installed, tmp_path, "train", "transference-small", *changes)
    assert (tmp_path / "runs" / "transference-small" / "model" / "model.safetensors").is_file()
