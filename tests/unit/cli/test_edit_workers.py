"""`postedit edit` on a real, tiny model in several processes: the same lines, and nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tiny_models
from tests.unit.cli.commands import refused

LINES = 60


@pytest.fixture(autouse=True)
def nonsense_is_text() -> None:
    """Keep the check for sound text here, as it is in worker processes."""


@pytest.fixture
def model(tiny_folders: Path) -> Path:
    return tiny_folders / "transference"


@pytest.fixture
def files(tmp_path: Path) -> list[object]:
    texts = {"src": [f"the house {n}" for n in range(LINES)], "mt": [f"das Haus {n}" for n in range(LINES)]}
    texts["mt"][6], texts["src"][8], texts["mt"][9] = "", " ", "Haus " * 50
    for side, lines in texts.items():
        (tmp_path / f"x.{side}").write_text("".join(f"{line}\n" for line in lines))
    return ["--src", tmp_path / "x.src", "--mt", tmp_path / "x.mt"]


@pytest.mark.slow
def test_output_does_not_depend_on_the_processes(run: Any, model: Path, files: list[object], tmp_path: Path) -> None:
    outputs = []
    for name, more in {"one": [], "two": ["--devices", "cpu,cpu"]}.items():
        result = run(
            "edit", model, *files, "--format", "jsonl", "--set", "chunk_lines=7", "--out", tmp_path / name, *more
        )
        assert result.exit_code == 0, result.output
        outputs.append((tmp_path / name).read_text())
        for warning in (
            "line 10: not edited, because a text is too long (for search.max_input, or the model)",
            "line 7: no mt, so that the output is empty (a model with a first stage translates src without --mt)",
            "line 9: not edited, because there is no src",
        ):
            assert f"warning: {warning}\n" in result.stderr
    assert outputs[0].count("\n") == LINES
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("search", [[], ["--beam", 3, "--n-best", 2]])
def test_skipped_lines_are_written_unchanged_and_reported(
    run: Any, model: Path, files: list[object], tmp_path: Path, search: list[object]
) -> None:
    result = run("edit", model, *files, "--format", "jsonl", *search, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    left = {number: (one["text"], one["skipped"]) for number, one in enumerate(lines) if one["skipped"]}
    assert left == {6: ("", "empty"), 8: ("das Haus 8", "empty"), 9: ("Haus " * 50, "too long")}
    assert "line 10: not edited, because a text is too long" in result.stderr


@pytest.mark.parametrize("option", ["banned", "required"])
def test_unwritable_words_are_refused_before_work(run: Any, files: list[object], tmp_path: Path, option: str) -> None:
    text = tiny_models.processor(tokenizer="moses", src_lang="en", tgt_lang="de")  # which drops control characters
    tiny_models.folder(text=text).save(tmp_path / "model")
    (tmp_path / "words").write_text("Haus\n\x01\n")
    result = run(
        "edit", tmp_path / "model", *files, "--set", f"search.{option}={tmp_path / 'words'}", "--out", tmp_path / "out"
    )
    assert "'\\x01' cannot be written with the tokens of this model" in refused(result)
    assert not list(tmp_path.glob("out*"))


@pytest.mark.slow
def test_lines_before_a_bad_line_are_written_with_any_number_of_workers(run: Any, model: Path) -> None:
    stdin = "".join(f"the house {n}\tdas Haus {n}\n" for n in range(6)) + "no tab\n"
    results = [
        run("edit", model, "--set", "chunk_lines=1", *more, stdin=stdin.encode()) for more in ([], ["--workers", 2])
    ]
    for result in results:
        assert "stdin, line 7" in refused(result)
        assert result.stdout.count("\n") == 6
    assert results[0].stdout == results[1].stdout


COMMAND = [sys.executable, "-c", "from postedit.cli.main import main; main()", "edit"]


def children(pid: int) -> list[int]:
    """Return the processes below `pid` that run Python's spawn."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            parent = int(path.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            spawned = b"spawn_main" in path.joinpath("cmdline").read_bytes()
        except (OSError, ValueError, IndexError):
            continue
        if parent == pid and spawned:
            found.append(int(path.name))
    return found


def started(model: Path, files: list[object], out: Path) -> "subprocess.Popen[str]":
    """Start two workers on endless work, and return the command once some of it is done."""
    for side, text in (("src", "the house"), ("mt", "das Haus")):
        out.with_name(f"x.{side}").write_text(f"{text}\n" * 100_000)
    options = [*files, "--workers", 2, "--set", "chunk_lines=5", "--set", "search.batch_tokens=20", "--out", out]
    process = subprocess.Popen([*COMMAND, str(model), *map(str, options)], text=True, stderr=subprocess.PIPE)
    partial = out.with_name(f"{out.name}.partial")
    deadline = time.monotonic() + 1800  # three processes start
    while not (partial.exists() and partial.stat().st_size):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process


@pytest.mark.slow
def test_control_c_ends_all_processes_and_keeps_work(
    run: Any, model: Path, files: list[object], tmp_path: Path
) -> None:
    process = started(model, files, tmp_path / "out")
    workers = children(process.pid)
    assert len(workers) == 2
    for pid in (*workers, process.pid):  # as a terminal does
        os.kill(pid, signal.SIGINT)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 130
    done = (tmp_path / "out.partial").read_text().count("\n")
    assert f"stopped after {done:,} of 100,000 lines, kept in {tmp_path / 'out.partial'}" in err
    assert "Traceback" not in err
    assert not any(Path("/proc", str(pid)).exists() for pid in workers)
    result = run("edit", model, *files, "--out", tmp_path / "out", "--resume", "--dtype", "int8")
    assert "made with another dtype" in refused(result)


@pytest.mark.slow
def test_a_dead_worker_is_reported_and_finished_work_kept(model: Path, files: list[object], tmp_path: Path) -> None:
    process = started(model, files, tmp_path / "out")
    os.kill(children(process.pid)[0], signal.SIGKILL)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 1
    done = (tmp_path / "out.partial").read_text().count("\n")
    assert "one of 2 worker processes was killed" in err
    assert f"{done:,} lines are done, kept in {tmp_path / 'out.partial'}; the same command with --resume" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--devices", "cpu,nowhere"], '"nowhere" is not a device'),
        (["--devices", "cuda:99"], 'there is no "cuda:99"'),
        (["--devices", "cpu", "--workers", 2], "but not both"),
        (["--devices", "meta", "--dtype", "int8"], 'there is no "meta" here'),
    ],
)
def test_places_that_are_not_there(run: Any, model: Path, options: list[object], message: str) -> None:
    assert message in refused(run("edit", model, *options, stdin=b"a\tb\n"))
