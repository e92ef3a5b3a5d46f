"""Outputs at URLs: the bytes of local ones, resumable, and sentences where nothing can be written."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from typer.testing import CliRunner, Result

from postedit.cli.main import app
from postedit.core.errors import OutputError
from postedit.data.far_outputs import sent, unsent
from postedit.data.text_paths import located

SAMPLE = Path(__file__).parents[3] / "examples" / "mlqe-pe.en-de" / "train"
UNIT = '<trans-unit id="1"><source>the house</source><target>das house</target></trans-unit>'
XLIFF = (
    '<?xml version="1.0"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" '
    f'source-language="en" target-language="de" datatype="plaintext"><body>{UNIT}</body></file></xliff>\n'
)


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return an empty place that only fsspec reaches, `memory://outputs`; the current folder has small triplets."""
    pytest.importorskip("upath", reason="universal-pathlib is not installed: pip install 'postedit[remote]'")
    monkeypatch.chdir(tmp_path)
    for side in ("src", "mt", "pe"):
        lines = Path(f"{SAMPLE}.{side}").read_text("utf-8").splitlines(keepends=True)[:12]
        Path(f"in.{side}").write_text("".join(lines), "utf-8")
    memory = fsspec.filesystem("memory")
    yield memory
    if memory.exists("/outputs"):
        memory.rm("/outputs", recursive=True)


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def far_files(bucket: Any) -> dict[str, bytes]:
    return {name.removeprefix("/outputs/"): bucket.cat(name) for name in bucket.find("/outputs")}


def near_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def commands(model: Path) -> list[list[object]]:
    Path("files").mkdir()
    Path("files/a.xlf").write_text(XLIFF)
    assert run("memory", "add", "kept.db", "in").exit_code == 0
    texts = ["--src", "in.src", "--mt", "in.mt"]
    return [
        ["edit", model, *texts, "--out", "OUT/hyp.gz"],
        ["edit", model, "files", "--out", "OUT/files"],
        ["data", "clean", "in", "--out", "OUT/clean", "--set", "language.on=false"],
        ["data", "extract", "files", "--parallel", "--out", "OUT/made"],
        ["data", "stats", "in", "--json", "OUT/stats.json"],
        ["memory", "export", "kept.db", "OUT/kept"],
        ["score", "in.mt", "--pe", "in.pe", "--json", "OUT/a", "--csv", "OUT/b", "--html", "OUT/c", "--resamples", 100],
    ]


def test_far_outputs_have_the_bytes_of_near_ones(bucket: Any, tiny_folders: Path) -> None:
    here = Path("here")
    here.mkdir()
    for command in commands(tiny_folders / "transference"):
        for place in ("here", "memory://outputs"):
            result = run(*(str(word).replace("OUT", place) for word in command))
            assert result.exit_code == 0, result.output
    assert far_files(bucket) == near_files(here)
    assert not list(Path().glob("*.unsent"))


def test_artificial_triplets_are_sent(bucket: Any) -> None:
    Path("mix.toml").write_text('[synth]\nkind = "mix"\nout = "none"\n[[synth.corpus]]\nfiles = "in"\ncopies = 2\n')
    for place in ("here", "memory://outputs/here"):
        result = run("synth", "mix.toml", "--set", f"synth.out={place}", "--workers", 1)
        assert result.exit_code == 0, result.output
    for side in ("src", "mt", "pe"):
        assert bucket.cat(f"/outputs/here.{side}") == Path(f"here.{side}").read_bytes()
    assert not list(Path().glob("*.unsent"))


def test_unfinished_work_stays_here_and_goes_on(
    bucket: Any, tiny_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [*commands(tiny_folders / "transference")[0][:-2], "--set", "chunk_lines=2", "--out"]
    assert run(*command, "near").exit_code == 0
    far = "memory://outputs/hyp"
    with monkeypatch.context() as patch:
        patch.setattr("postedit.data.resumable_file.PartialFile.finish", interrupted)
        assert run(*command, far).exit_code == 130
    partial = unsent(located(far)).with_name("hyp.partial")
    partial.write_bytes(b"".join(partial.read_bytes().splitlines(keepends=True)[:4]))
    assert not far_files(bucket)
    assert "add --resume" in run(*command, far).stderr
    assert run(*command, far, "--resume").exit_code == 0
    assert far_files(bucket) == {"hyp": Path("near").read_bytes()}
    assert not partial.parent.exists()


def test_what_cannot_be_sent_is_kept(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ConnectionError("the store is away")

    far = located("memory://outputs/x")
    monkeypatch.setattr(type(bucket), "put_file", broken)
    where = r"memory://outputs/x: .* the store is away; it is complete in x\..*unsent"
    with pytest.raises(OutputError, match=where), sent(far):
        unsent(far).write_text("made")
    assert unsent(far).read_text() == "made"
    assert not far_files(bucket), "no trial is left"


def test_a_place_where_nothing_can_be_written_is_found_before_the_work(
    bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise PermissionError("no right to write")

    monkeypatch.setattr(type(bucket), "pipe_file", broken)
    for command in commands(Path("none"))[2:5]:
        result = run(*(str(word).replace("OUT", "memory://outputs") for word in command))
        assert (result.exit_code, "cannot be written: no right to write" in result.stderr) == (1, True), result.output
    assert not list(Path().glob("*.unsent"))


def test_far_inputs_are_not_overwritten(bucket: Any) -> None:
    for side in ("src", "mt", "pe"):
        bucket.put_file(f"in.{side}", f"/outputs/in.{side}")
    before = far_files(bucket)
    far = "memory://outputs/in"
    Path("mix.toml").write_text(f'[synth]\nkind = "mix"\nout = "{far}"\n[[synth.corpus]]\nfiles = "{far}"\n')
    for command in (
        ["edit", "--src", f"{far}.src", "--mt", f"{far}.mt", "--out", f"{far}.mt"],
        ["data", "clean", far, "--out", far, "--set", "language.on=false"],
        ["score", f"{far}.mt", "--pe", f"{far}.pe", "--json", f"{far}.pe"],
        ["synth", "mix.toml"],
    ):
        result = run(*command)
        assert result.exit_code == 1
        assert "one of the files to read" in result.stderr or "would overwrite" in result.stderr, result.stderr
    assert far_files(bucket) == before
