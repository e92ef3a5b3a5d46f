import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import fsspec
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.cli.commands import refused

from postedit.core.errors import DataError, OutputError
from postedit.distributed import resumable_outputs
from postedit.synthesis.noise.noise_kernel import NoiseStage

SAMPLE = Path(__file__).parents[3] / "examples/mlqe-pe.en-de"
UNHURRIED = """
import time
from postedit.cli.main import main
from postedit.distributed.resumable_outputs import ResumableOutputs
write = ResumableOutputs.write
def write_and_wait(outputs, chunk):
    write(outputs, chunk)
    if chunk.number > 30:
        time.sleep(1)
ResumableOutputs.write = write_and_wait
main()
"""
"""The command, which after the first chunks works so slowly that no test comes too late to stop it."""
COMMAND = [sys.executable, "-c", UNHURRIED, "synth"]


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "noise.toml"
    path.write_text(
        f'[synth]\nkind = "noise"\nsrc = "{SAMPLE}/dev.src"\npe = "{SAMPLE}/dev.pe"\nreal = "{SAMPLE}/test"\n'
        f'out = "{tmp_path}/out"\nchunk_lines = 50\n'
    )
    return path


def test_triplets_are_written_with_statistics(run: Any, recipe: Path, tmp_path: Path) -> None:
    result = run("synth", recipe, "--workers", 1)
    assert result.exit_code == 0, result.output
    lines = {side: (tmp_path / f"out.{side}").read_text(encoding="utf-8").split("\n") for side in ("src", "mt", "pe")}
    assert lines["pe"] == (SAMPLE / "dev.pe").read_text(encoding="utf-8").split("\n")
    assert lines["src"] == (SAMPLE / "dev.src").read_text(encoding="utf-8").split("\n")
    assert 200 < sum(mt != pe for mt, pe in zip(lines["mt"], lines["pe"])) < 500
    manifest = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert manifest["recipe"]["seed"] == 1
    assert manifest["made"]["triplets"] == 500
    assert sum(manifest["made"]["histogram"].values()) == 500
    assert {"versions", "input", "profile", "real", "ks_ter"} <= set(manifest)
    assert "500 triplets: " in result.stdout
    assert f"TER {manifest['made']['ter']:.2f}" in result.stdout
    assert "TER: nrefs:1|case:mixed|tok:tercom|norm:no|" in result.stdout
    assert {path.name for path in tmp_path.glob("out*")} == {
        "out.src", "out.mt", "out.pe", "out.json", "out.profile.json", "out.sha256"
    }  # fmt: skip


def test_windows_line_ends_are_dropped_with_a_warning(run: Any, recipe: Path, tmp_path: Path) -> None:
    assert run("synth", recipe, "--workers", 1).exit_code == 0
    for side in ("src", "pe"):
        text = (SAMPLE / f"dev.{side}").read_bytes().replace(b"\n", b"\r\n").removesuffix(b"\n")
        (tmp_path / f"windows.{side}").write_bytes(b"\xef\xbb\xbf" + text)
    files = (f"synth.{side}={tmp_path}/windows.{side}" for side in ("src", "pe"))
    values = ("--set", next(files), "--set", next(files), "--set", f"synth.out={tmp_path}/same")
    result = run("synth", recipe, "--workers", 1, *values)
    assert f"{tmp_path}/windows.pe: 500 lines end in CR LF (Windows line ends); the CR is dropped" in result.stderr
    for side in ("src", "mt", "pe"):
        assert (tmp_path / f"same.{side}").read_bytes() == (tmp_path / f"out.{side}").read_bytes()


def test_all_problems_are_reported_together(run: Any, tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text('[synth]\nkind = "noise"\nsrc = "a"\nout = "o"\nmods = 1\nseed = "x"\n[train]\n')
    result = run("synth", recipe)
    assert result.exit_code == 1
    for problem in ("train: no such section", "synth.pe: missing", 'did you mean "mode"?', "synth.seed: "):
        assert problem in result.stderr, problem
    recipe.write_text('[synth]\nkind = "noise"\nsrc = "a"\npe = "b"\nout = "o"\nreal = "c"\n')
    result = run("synth", recipe)
    for problem in ("synth.src: ", "synth.pe: ", "c.mt: no such file"):
        assert problem in result.stderr, problem


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("synth.kind=nois", 'did you mean "noise"?'),
        ("synth.mode=plain", "uses no real triplets"),
        ("synth.profile=p.json", "needs either real or profile"),
        ("synth.ter=0", "synth.ter: must be above 0"),
        pytest.param("synth.ter=5000", "cannot be reached: edits cancel each other, ", marks=pytest.mark.slow),
        ("synth.ter=inf", "synth.ter: must be a finite number"),
        ("synth.out=nowhere/x", "does not exist"),
        ("synth.out=.", "synth.out: must be what the names of files begin with"),
        ("synth.out=made/", "synth.out: must be what the names of files begin with"),
        ("synth.out=~nobody-of-that-name/x", "the home folder of somebody who is not known"),
        (f"synth.src={SAMPLE}/train.src", "train.src has 7,000, "),
        (f"synth.pe={SAMPLE}/LICENSE", "dev.src has 500, "),
    ],
)
def test_impossible_options_end_with_an_explanation(
    run: Any, recipe: Path, tmp_path: Path, change: str, message: str
) -> None:
    assert message in refused(run("synth", recipe, "--set", change))
    assert not list(tmp_path.glob("out.[smp]*[cte]"))


@pytest.mark.parametrize("others", [(), ("synth.real=[]", "synth.mode=plain", "synth.ter=10"), ("synth.lengths=real",)])
def test_a_text_without_words_is_an_error(run: Any, recipe: Path, tmp_path: Path, others: tuple[str, ...]) -> None:
    for side in ("src", "pe"):
        (tmp_path / f"text.{side}").write_text(" \n\n\t\n")
    values = [f"synth.{side}={tmp_path}/text.{side}" for side in ("src", "pe")]
    result = run("synth", recipe, "--workers", 1, *(word for value in (*values, *others) for word in ("--set", value)))
    assert "text.pe: has no words" in refused(result)
    assert not list(tmp_path.glob("out*"))


def test_a_text_of_lines_that_are_all_too_long_is_an_error(run: Any, recipe: Path, tmp_path: Path) -> None:
    for side in ("src", "pe"):
        (tmp_path / f"text.{side}").write_text("a b c\n" * 120)
    values = [f"synth.{side}={tmp_path}/text.{side}" for side in ("src", "pe")] + ["synth.max_words=2"]
    arguments = [word for value in values for word in ("--set", value)]
    result = run("synth", recipe, "--workers", 1, *arguments)
    assert "out: would be empty: none of 120 lines can be used (120 too long)" in refused(result)
    assert not list(tmp_path.glob("out*"))
    result = run("synth", recipe, "--workers", 1, *arguments, "--set", "synth.ter=20")
    assert "synth.max_words = 2 leaves out every line of the text" in refused(result)


@pytest.mark.parametrize("ter", [1e-9, 1.0])
@pytest.mark.parametrize("mode", [(), ("synth.real=[]", "synth.mode=plain")])
def test_every_mode_reaches_its_ter(run: Any, recipe: Path, tmp_path: Path, ter: float, mode: tuple[str, ...]) -> None:
    values = (f"synth.ter={ter}", *mode)
    result = run("synth", recipe, "--workers", 1, *(word for value in values for word in ("--set", value)))
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "out.json").read_text())["made"]["ter"] == pytest.approx(ter, abs=0.1 + ter / 3)


def test_a_full_disk_where_the_profile_is_kept_is_an_error(
    run: Any, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = resumable_outputs.atomic_write

    def full(path: Path, *rest: Any) -> Any:
        if path.name == "out.profile.json":
            raise OutputError(f"{path}: cannot be written: the disk is full")
        return write(path, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(resumable_outputs, "atomic_write", full)
        assert "out.profile.json: cannot be written: the disk is full" in refused(run("synth", recipe, "--workers", 1))
    assert not (tmp_path / "out.json").exists()
    assert run("synth", recipe, "--workers", 1, "--resume").exit_code == 0
    assert (tmp_path / "out.profile.json").exists()
    assert not (tmp_path / "out.partial.json").exists()


def test_a_run_that_is_refused_or_fails_leaves_the_profile_of_the_first(
    run: Any, recipe: Path, tmp_path: Path, locked: Callable[[Path], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("synth", recipe, "--workers", 1).exit_code == 0
    before = {path.name: path.read_bytes() for path in tmp_path.glob("out*")}
    other = ("--workers", 1, "--set", f"synth.real={SAMPLE}/dev")
    with monkeypatch.context() as patch:
        patch.setattr(NoiseStage, "__call__", fail)
        assert "--resume" not in refused(run("synth", recipe, *other)), "nothing is done that could be continued"
    assert before == {path.name: path.read_bytes() for path in tmp_path.glob("out*")}
    assert run("synth", recipe, *other).exit_code == 0
    profile = (tmp_path / "out.profile.json").read_bytes()
    assert profile != before["out.profile.json"]
    number = locked(tmp_path / "out")
    assert f"another process ({number}) is writing to it" in refused(run("synth", recipe, "--workers", 1))
    assert (tmp_path / "out.profile.json").read_bytes() == profile


def fail(*_: object) -> None:
    raise DataError("it fails")


@pytest.mark.parametrize("name", ["pe", "profile.json", "partial.json"])
def test_inputs_are_not_overwritten(run: Any, recipe: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / f"text.{name}").write_text("a b\n")
    values = [f"synth.pe={tmp_path}/text.{name}", f"synth.out={tmp_path}/text"]
    assert "would overwrite" in refused(run("synth", recipe, *(word for value in values for word in ("--set", value))))
    assert (tmp_path / f"text.{name}").read_text() == "a b\n"


def start(recipe: Path, *options: str, **more: Any) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*COMMAND, str(recipe), *options], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more
    )


def long_text(recipe: Path, tmp_path: Path, times: int = 30) -> Path:
    """Make the text so long that a run can be stopped in the middle."""
    for side in ("src", "pe"):
        (tmp_path / f"long.{side}").write_text((SAMPLE / f"train.{side}").read_text(encoding="utf-8") * times)
    text = recipe.read_text().replace(f"{SAMPLE}/dev.", f"{tmp_path}/long.").replace("= 50", "= 500")
    recipe.write_text(text)
    return recipe


def wait_for_work(process: "subprocess.Popen[str]", tmp_path: Path) -> None:
    path = tmp_path / "out.mt.partial"
    for _ in range(90_000):  # half an hour: three processes start, and compile, perhaps on a machine that has no time
        if path.exists() and path.stat().st_size > 1_000_000:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    raise AssertionError("it never began")


@pytest.mark.slow
def test_stopped_in_the_middle_it_ends_as_if_unbroken(run: Any, recipe: Path, tmp_path: Path) -> None:
    process = start(long_text(recipe, tmp_path, 10), "--workers", "2", start_new_session=True)
    wait_for_work(process, tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    stderr = process.communicate()[1]
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert "of 70,000 lines, kept in" in stderr
    assert "run the same command with --resume to continue" in stderr
    assert not (tmp_path / "out.mt").exists()
    assert run("synth", recipe, "--resume", "--workers", 1).exit_code == 0
    assert run("synth", recipe, "--workers", 1, "--set", f"synth.out={tmp_path}/whole").exit_code == 0
    for side in ("src", "mt", "pe"):
        assert (tmp_path / f"out.{side}").read_bytes() == (tmp_path / f"whole.{side}").read_bytes()


@pytest.mark.slow
def test_text_elsewhere_and_in_parquet_gives_the_same_triplets(run: Any, recipe: Path, tmp_path: Path) -> None:
    pytest.importorskip("upath", reason="universal-pathlib is not installed: pip install 'postedit[remote]'")
    assert run("synth", recipe, "--workers", 1, "--set", f"synth.out={tmp_path}/near").exit_code == 0
    texts = {side: (SAMPLE / f"dev.{side}").read_text(encoding="utf-8").split("\n")[:-1] for side in ("src", "pe")}
    real = {
        side: (SAMPLE / f"test.{side}").read_text(encoding="utf-8").split("\n")[:-1] for side in ("src", "mt", "pe")
    }
    pq.write_table(pa.table({"src": texts["src"], "german": texts["pe"]}), tmp_path / "dev.parquet", row_group_size=77)
    pq.write_table(pa.table(real), tmp_path / "test.parquet")
    with fsspec.open("memory://bucket/dev.parquet", "wb") as far:
        far.write((tmp_path / "dev.parquet").read_bytes())
    values = ["src=memory://bucket/dev.parquet", f"pe=file://{tmp_path}/dev.parquet#german"]
    values += [f"real={tmp_path}/test.parquet"]
    result = run("synth", recipe, "--workers", 2, *(word for value in values for word in ("--set", f"synth.{value}")))
    assert result.exit_code == 0, result.output
    for side in ("src", "mt", "pe"):
        assert (tmp_path / f"out.{side}").read_bytes() == (tmp_path / f"near.{side}").read_bytes()
    near, out = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("near", "out"))
    assert near["input"] == out["input"]
    result = run("synth", recipe, "--set", "synth.src=memory://bucket/no.src", "--set", "synth.pe=s3x://bucket/pe")
    assert "s3x://bucket/pe: cannot be read: " in refused(result)


def ray_workers(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    """Return the processes that work for `process` in a cluster of its own."""
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # Ray ends processes that it needs no more
            if "ray::_Actor" in " ".join(child.cmdline()):
                found.append(child)
    return found


@pytest.mark.slow
def test_interrupted_in_a_ray_cluster_it_goes_on_without_one(run: Any, recipe: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'postedit[ray]'")
    process = start(long_text(recipe, tmp_path), "--engine", "ray", "--workers", "2", start_new_session=True)
    wait_for_work(process, tmp_path)
    while len(working := ray_workers(process)) < 2:  # one may have done all work so far, before the other was there
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    assert len(working) == 2
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate()
    assert process.returncode == 130
    assert not stdout
    assert "of 210,000 lines, kept in" in stderr
    assert "Traceback" not in stderr
    assert not psutil.wait_procs(working, timeout=300)[1], "workers are left behind"
    assert run("synth", recipe, "--resume", "--workers", 1).exit_code == 0
    assert run("synth", recipe, "--workers", 1, "--set", f"synth.out={tmp_path}/whole").exit_code == 0
    for side in ("src", "mt", "pe"):
        assert (tmp_path / f"out.{side}").read_bytes() == (tmp_path / f"whole.{side}").read_bytes()
