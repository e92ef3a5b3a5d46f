"""Commands for corpora: the same bytes from one process, from two, and from a Ray cluster of two workers."""

import gzip
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import fsspec
import pytest
from typer.testing import CliRunner

from postedit.cli.main import app

SAMPLE = Path(__file__).parents[3] / "examples" / "mlqe-pe.en-de" / "train"
TMX_UNIT = '<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="de"><seg>{}</seg></tuv></tu>'
ENGINES = {"one": ["--workers", 1], "two": ["--workers", 2], "ray": ["--engine", "ray", "--workers", 2]}


def run(*arguments: object) -> str:
    """Run a command that succeeds, and return what it prints to standard output."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def outputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def assert_same_from_all_engines(tmp_path: Path, *command: object) -> dict[str, bytes]:
    """Run a command, in which OUT is a path in an empty folder, by all engines, and return what it writes."""
    found = {}
    for engine, options in ENGINES.items():
        folder = tmp_path / engine
        folder.mkdir()
        printed = run(*(folder / "out" if word == "OUT" else word for word in command), *options)
        found[engine] = {**outputs(folder), "printed": printed.replace(str(folder), "").encode()}
    assert found["one"] == found["two"]
    assert found["one"] == found["ray"]
    return found["one"]


@pytest.fixture
def triplets(tmp_path: Path) -> Path:
    """Return the prefix of triplets, some of them repeated or longer than the rest."""
    for side in ("src", "mt", "pe"):
        lines = Path(f"{SAMPLE}.{side}").read_text("utf-8").splitlines()[:90]
        Path(f"{tmp_path}/in.{side}").write_text("".join(f"{line}\n" for line in [*lines, *lines[:9]]), "utf-8")
    return tmp_path / "in"


def edit_options(model: Path, triplets: Path | str) -> list[object]:
    files = ["--src", f"{triplets}.src", "--mt", f"{triplets}.mt"]
    return ["edit", model, *files, "--format", "jsonl", "--set", "chunk_lines=7", "--set", "search.max_extra=2"]


@pytest.mark.slow
def test_edit(ray: Any, tmp_path: Path, triplets: Path, tiny_folders: Path) -> None:
    command = edit_options(tiny_folders / "transference", triplets)
    made = assert_same_from_all_engines(tmp_path, *command, "--out", "OUT")
    assert made["out"].count(b"\n") == 99


@pytest.mark.slow
def test_edit_goes_on_after_lines_of_another_engine(
    ray: Any, tmp_path: Path, triplets: Path, tiny_folders: Path
) -> None:
    command = edit_options(tiny_folders / "transference", triplets)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(*command, "--out", whole)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("postedit.data.resumable_file.PartialFile.finish", lambda _: None)
        run(*command, "--out", broken, "--workers", 2)
    partial = tmp_path / "broken.partial"
    partial.write_bytes(whole.read_bytes()[:9000])
    run(*command, "--out", broken, "--engine", "ray", "--workers", 2, "--resume")
    assert broken.read_bytes() == whole.read_bytes()


def test_devices_of_a_cluster_cannot_be_named(tmp_path: Path, triplets: Path, tiny_folders: Path) -> None:
    command = [*edit_options(tiny_folders / "transference", triplets), "--out", tmp_path / "out"]
    result = CliRunner().invoke(app, [*map(str, command), "--engine", "ray", "--devices", "cpu,cpu"])
    assert result.exit_code == 1
    assert "--devices is for this machine; Ray assigns GPUs to its workers: leave out --devices" in result.stderr


@pytest.mark.slow
def test_data_clean(ray: Any, tmp_path: Path, triplets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.data.cleaning.cleaner.BLOCK", 20)
    options = [word for value in ("truecase=true", "language.on=false") for word in ("--set", value)]
    made = assert_same_from_all_engines(tmp_path, "data", "clean", triplets, "--out", "OUT", *options)
    assert made["out.removed.jsonl"].count(b'"duplicates"') == 9


@pytest.mark.slow
def test_data_stats(ray: Any, tmp_path: Path, triplets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.jobs.corpus_statistics.BLOCK", 20)
    made = assert_same_from_all_engines(tmp_path, "data", "stats", triplets, "--dev", triplets, "--json", "OUT")
    assert b'"triplets": 99' in made["out"]


@pytest.mark.slow
@pytest.mark.parametrize("given", [[], ["--languages", "en:de"]], ids=["first", "given"])
def test_data_extract(ray: Any, tmp_path: Path, triplets: Path, given: list[object]) -> None:
    sides = {side: Path(f"{triplets}.{side}").read_text("utf-8").splitlines() for side in ("src", "mt", "pe")}
    for name, side in (("before", "mt"), ("after", "pe")):
        (tmp_path / name).mkdir()
        for number in range(4):
            lines = zip(sides["src"][number::4], sides[side][number::4])
            units = "".join(TMX_UNIT.format(*map(escape, pair)) for pair in lines)
            path = tmp_path / name / f"{number}.tmx"
            path.write_text(f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>', encoding="utf-8")
    files = [tmp_path / "after", "--before", tmp_path / "before"]
    made = assert_same_from_all_engines(tmp_path, "data", "extract", *files, "--out", "OUT", *given)
    assert made["out.src"].count(b"\n") == 99


@pytest.mark.slow
def test_score(ray: Any, tmp_path: Path, triplets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postedit.evaluate.test_set.PART", 20)
    lines = Path(f"{triplets}.mt").read_text("utf-8").splitlines()
    hyp = tmp_path / "hyp"
    hyp.write_text("".join(f"{line[number % 9 :]}\n" for number, line in enumerate(lines)), "utf-8")
    files = ["--pe", f"{triplets}.pe", "--mt", f"{triplets}.mt", "--resamples", 100]
    made = assert_same_from_all_engines(tmp_path, "score", hyp, *files, "--json", "OUT")
    monkeypatch.undo()
    run("score", hyp, *files, "--json", tmp_path / "whole")
    assert (tmp_path / "whole").read_bytes() == made["out"], "the parts do not matter"


@pytest.fixture
def far(triplets: Path) -> Iterator[str]:
    """Return the prefix of the triplets where only this process finds them, by fsspec."""
    pytest.importorskip("upath", reason="universal-pathlib is not installed: pip install 'postedit[remote]'")
    memory = fsspec.filesystem("memory")
    for side in ("src", "mt", "pe"):
        with memory.open(f"/far/in.{side}.gz", "wb") as file:
            file.write(gzip.compress(Path(f"{triplets}.{side}").read_bytes()))
    yield "memory://far/in"
    memory.rm("/far", recursive=True)


@pytest.mark.parametrize(
    ("address", "message"), [("localhost:1", "no Ray cluster can be reached there"), ("head", "must be HOST:PORT")]
)
def test_nothing_is_begun_without_a_cluster(tmp_path: Path, triplets: Path, address: str, message: str) -> None:
    command = ["data", "clean", str(triplets), "--out", str(tmp_path / "out"), "--set", "language.on=false"]
    result = CliRunner().invoke(app, [*command, "--engine", "ray", "--address", address])
    assert result.exit_code == 1
    assert f"--address {address}: {message}" in result.stderr
    assert "--resume" not in result.stderr
    assert not list(tmp_path.glob("out*"))


def test_an_address_in_the_environment_is_of_other_engines(
    tmp_path: Path, triplets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "localhost:1")
    run("data", "stats", triplets, "--json", tmp_path / "out.json")
    assert (tmp_path / "out.json").exists()


@pytest.mark.slow
def test_far_files_are_read_by_the_command_alone(
    ray: Any, tmp_path: Path, triplets: Path, tiny_folders: Path, far: str
) -> None:
    engine, model = ENGINES["ray"], tiny_folders / "transference"
    for name, prefix in (("here", triplets), ("file", f"file://{triplets}"), ("far", far)):
        run(*edit_options(model, prefix), "--out", tmp_path / f"{name}.hyp", *engine)
        texts = [f"{prefix}.mt", "--pe", f"{prefix}.pe", "--mt", f"{prefix}.mt"]
        run("score", *texts, "--resamples", 100, "--csv", tmp_path / f"{name}.csv", *engine)
        scores = tmp_path / f"{name}.csv"
        scores.write_text(scores.read_text("utf-8").replace(f"{prefix}.mt", "NAME").replace(f"{triplets}.mt", "NAME"))
    for ending in ("hyp", "csv"):
        here = (tmp_path / f"here.{ending}").read_bytes()
        assert (tmp_path / f"file.{ending}").read_bytes() == here
        assert (tmp_path / f"far.{ending}").read_bytes() == here


@pytest.mark.parametrize(
    ("name", "message"),
    [("memory://far/none", "memory://far/none: no such file"), ("nowhere://x", "nowhere://x")],
)
def test_far_files_that_cannot_be_read_are_named(far: str, name: str, message: str) -> None:
    for command in (["edit", "none", "--src", f"{far}.src", "--mt", name], ["score", f"{far}.mt", "--pe", name]):
        result = CliRunner().invoke(app, command)
        assert result.exit_code in (1, 2)
        assert message in result.stderr
        assert "Traceback" not in result.stderr
