"""Jobs with a stage that numbers lines: order, resumption, failures, and the files that chunks are read from."""

import errno
import gzip
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from postedit.core.checksums import damaged_files, read_checksums
from postedit.core.errors import DataError, OutputError, PosteditError
from postedit.core.processes import Executor, LocalExecutor, same_in_all
from postedit.distributed.chunks import Chunk, Stage, open_aligned
from postedit.distributed.pipeline import Job, Phase, run_job
from postedit.distributed.resumable_outputs import OutputFiles, ResumableOutputs

SIDES = ("src", "mt", "pe")


@dataclass(frozen=True)
class Numbering:
    """mt is pe with the number of its line in the input; lines that are empty are left out."""

    kill_at: int | None = None

    def __call__(self, chunk: Chunk) -> Chunk:
        if chunk.number == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        pairs = list(enumerate(zip(chunk.lines("src"), chunk.lines("pe")), chunk.first_line))
        kept = [(number, src, pe) for number, (src, pe) in pairs if pe]
        lines = {"src": [src for _, src, _ in kept], "pe": [pe for *_, pe in kept]}
        lines["mt"] = [f"{pe} {number}" for number, _, pe in kept]
        return chunk.with_lines(lines, {"kept": len(kept), "lost": len(pairs) - len(kept)})


@dataclass(frozen=True)
class StopsAt:
    """Runs the stage until so many chunks are done, and then fails as it is told."""

    chunks: int
    error: type[BaseException] | BaseException

    def map(self, build: Any, chunks: Iterable[Chunk]) -> Generator[Chunk, None, None]:
        yield from LocalExecutor().map(build, islice(chunks, self.chunks))
        raise self.error


class Stopped(BaseException):
    """As sudden as the end of a process."""


def job(folder: Path, lines: list[str], chunk_lines: int, stage: Stage | None = None) -> Job:
    for side in ("src", "pe"):
        (folder / f"in.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    source = open_aligned({side: folder / f"in.{side}" for side in ("src", "pe")}, chunk_lines)
    return Job(source, stage or Numbering(), {"chunk": chunk_lines}, dict)


def run(todo: Job, prefix: Path, executor: Executor, **options: Any) -> dict[str, Any]:
    return run_job(todo, OutputFiles(prefix, SIDES), executor, **options)


def files(prefix: Path) -> dict[str, bytes]:
    found = {path.name.removeprefix(prefix.name): path.read_bytes() for path in prefix.parent.glob(f"{prefix.name}.*")}
    if found.pop(".sha256", None):  # which has the name of the prefix in it
        assert damaged_files(read_checksums(prefix.with_name(f"{prefix.name}.sha256"))) == {}
    return found


def assert_resumed_equals_whole(todo: Job, folder: Path) -> None:
    run(todo, folder / "out", LocalExecutor(), resume=True)
    run(todo, folder / "whole", LocalExecutor())
    assert files(folder / "out") == files(folder / "whole")


LINES = st.lists(st.text("ab ä\u2028\r", max_size=4), min_size=1, max_size=20)


@given(LINES, st.integers(1, 7), st.data())
@settings(max_examples=15)
def test_stopped_at_any_chunk_it_ends_as_if_unbroken(lines: list[str], size: int, data: st.DataObject) -> None:
    assume(any(line.removesuffix("\r") for line in lines))  # the CR of a Windows line end is no text
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        todo = job(folder, lines, size)
        run(todo, folder / "whole", LocalExecutor())
        whole = files(folder / "whole")
        assert set(whole) == {".src", ".mt", ".pe", ".json"}
        for resume in (False, True):
            stop = data.draw(st.integers(0, len(lines) // size))
            error = data.draw(st.sampled_from([Stopped, KeyboardInterrupt]))
            saving = data.draw(st.sampled_from([0.0, 1e9]))
            # Resumed after the last chunk, there is nothing left that could be stopped.
            with suppress(error) if resume else pytest.raises(error):
                run(todo, folder / "broken", StopsAt(stop, error), resume=resume, save_seconds=saving)
            torn = data.draw(st.binary(max_size=5))
            for path in folder.glob("broken.*.partial"):
                with path.open("ab") as file:
                    file.write(torn)
        run(todo, folder / "broken", LocalExecutor(), resume=True)
        assert files(folder / "broken") == whole


def test_lines_are_those_of_the_input_in_order(tmp_path: Path) -> None:
    manifest = run(job(tmp_path, ["a", "", "ä\u2028b", "c"], 3), tmp_path / "out", LocalExecutor())
    assert (tmp_path / "out.mt").read_text(encoding="utf-8") == "a 0\nä\u2028b 2\nc 3\n"
    assert (tmp_path / "out.src").read_bytes() == (tmp_path / "out.pe").read_bytes()
    assert {"kept": manifest["kept"], "lost": manifest["lost"]} == {"kept": 3, "lost": 1}
    assert json.loads((tmp_path / "out.json").read_text()) == manifest
    assert set(manifest["input"]) == {"src", "pe"}


def test_no_more_is_read_than_workers_need(tmp_path: Path) -> None:
    source = job(tmp_path, [f"line {number}" for number in range(50)], 1).source
    read = []
    chunks = (read.append(chunk.number) or chunk for chunk in source.chunks())  # type: ignore[func-returns-value]
    with closing(LocalExecutor(2).map(same_in_all(Numbering()), chunks)) as made:
        for done, _ in enumerate(made, 1):
            assert len(read) <= done + 4


@pytest.mark.slow
def test_a_worker_that_is_killed_is_an_error_and_nothing_is_lost(tmp_path: Path) -> None:
    lines, others = [f"line {number}" for number in range(30)], {*multiprocessing.active_children()}
    with pytest.raises(PosteditError, match=r"one of 2 worker processes was killed.* --resume"):
        run(job(tmp_path, lines, 3, Numbering(kill_at=6)), tmp_path / "out", LocalExecutor(2))
    todo, shown = job(tmp_path, lines, 3), list[int]()
    before = json.loads((tmp_path / "out.partial.json").read_text())["lines"]
    run(todo, tmp_path / "out", LocalExecutor(2), resume=True, report=shown.append)
    run(todo, tmp_path / "whole", LocalExecutor())
    assert shown == [*range(before, 31, 3)], "first what is done already"
    assert files(tmp_path / "out") == files(tmp_path / "whole")
    assert {*multiprocessing.active_children()} <= others


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
from test_pipeline import LocalExecutor, Numbering, job, run
run(job(Path({work!r}), [str(n) for n in range(40)], 3, Numbering({kill_at})), Path({work!r}, "out"), LocalExecutor(),
    resume={resume}, save_seconds=0)
"""


@pytest.mark.slow
def test_killed_runs_go_on(tmp_path: Path) -> None:
    def process(kill_at: int | None, resume: bool) -> int:
        code = KILLED.format(folder=str(Path(__file__).parent), work=str(tmp_path), kill_at=kill_at, resume=resume)
        return subprocess.run([sys.executable, "-c", code], check=False).returncode

    assert process(4, False) == -signal.SIGKILL
    assert json.loads((tmp_path / "out.partial.json").read_text())["chunks"] == 4
    assert process(9, True) == -signal.SIGKILL
    assert process(None, True) == 0
    run(job(tmp_path, [str(n) for n in range(40)], 3), tmp_path / "whole", LocalExecutor())
    assert files(tmp_path / "out") == files(tmp_path / "whole")


ORPHANS = """
import os, signal, sys
from contextlib import closing
sys.path.insert(0, {folder!r})
from test_pipeline import Chunk, LocalExecutor, Numbering, same_in_all
if __name__ == "__main__":
    chunks = (Chunk(n, n, 1, {{"src": b"a\\n", "pe": b"a\\n"}}) for n in range(99))
    with closing(LocalExecutor(2).map(same_in_all(Numbering()), chunks)) as made:
        next(made)
        import multiprocessing
        print(*(child.pid for child in multiprocessing.active_children()), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_workers_end_with_a_first_process_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "orphans.py"
    script.write_text(ORPHANS.format(folder=str(Path(__file__).parent)))
    with (tmp_path / "pids").open("w") as pids:  # a pipe would not end before the workers do
        assert subprocess.run([sys.executable, script], stdout=pids, check=False).returncode == -signal.SIGKILL
    workers = [Path("/proc", pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(workers) == 2
    deadline = time.monotonic() + 300
    while any(worker.exists() for worker in workers):
        assert time.monotonic() < deadline, "workers are left behind"
        time.sleep(0.05)


def test_links_stay_links_and_their_targets_are_written(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    for side in SIDES:
        (tmp_path / f"out.{side}").symlink_to(tmp_path / "disk" / side)
    todo = job(tmp_path, list("abc"), 1)
    with pytest.raises(Stopped):
        run(todo, tmp_path / "out", StopsAt(1, Stopped), save_seconds=0.0)
    assert {path.name for path in (tmp_path / "disk").iterdir()} == {f"{side}.partial" for side in SIDES}
    assert_resumed_equals_whole(todo, tmp_path)
    assert all((tmp_path / f"out.{side}").is_symlink() for side in SIDES)
    assert {path.name for path in (tmp_path / "disk").iterdir()} == set(SIDES)


def test_links_of_two_sides_to_one_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "out.mt").symlink_to("out.src")
    with pytest.raises(OutputError, match=r"out\.mt, .*out\.pe: two of them are links to one file"):
        run(job(tmp_path, list("abc"), 1), tmp_path / "out", LocalExecutor())


def test_links_to_devices_are_refused(tmp_path: Path) -> None:
    (tmp_path / "out.mt").symlink_to(os.devnull)
    with pytest.raises(OutputError, match=r"out\.mt: is a device or a pipe"):
        run(job(tmp_path, list("abc"), 1), tmp_path / "out", LocalExecutor())
    assert (tmp_path / "out.mt").is_symlink()


def test_interruption_says_how_to_go_on(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt, match=r"stopped after 6 of 9 lines, kept in .*out.*--resume to continue"):
        run(job(tmp_path, list("abcdefghi"), 3), tmp_path / "out", StopsAt(2, KeyboardInterrupt))
    assert not (tmp_path / "out.src").exists()


def test_another_process_that_writes_is_named(tmp_path: Path, locked: Callable[[Path], int]) -> None:
    number = locked(tmp_path / "out")
    with pytest.raises(OutputError, match=rf"out: another process \({number}\) is writing to it"):
        run(job(tmp_path, list("abc"), 1), tmp_path / "out", LocalExecutor(), resume=True)


def test_work_of_another_process_is_not_called_unfinished(tmp_path: Path, locked: Callable[[Path], int]) -> None:
    (tmp_path / "out.partial.json").write_text("{}")
    number = locked(tmp_path / "out")
    with pytest.raises(OutputError, match=rf"out: another process \({number}\) is writing to it"):
        OutputFiles(tmp_path / "out", SIDES).check(resume=False)


def test_unfinished_work_is_not_overwritten_nor_mixed(tmp_path: Path) -> None:
    prefix = tmp_path / "out"
    with pytest.raises(Stopped):
        run(job(tmp_path, list("abc"), 1), prefix, StopsAt(2, Stopped), save_seconds=0)
    before = files(prefix)
    with pytest.raises(OutputError, match="add --resume to continue it"):
        run(job(tmp_path, list("abc"), 1), prefix, LocalExecutor())
    with pytest.raises(OutputError, match="another chunk, another input"):
        run(job(tmp_path, list("abd"), 2), prefix, LocalExecutor(), resume=True)
    assert files(prefix) == before
    (tmp_path / "out.mt.partial").write_bytes(b"")
    with pytest.raises(OutputError, match="shorter than"):
        run(job(tmp_path, list("abc"), 1), prefix, LocalExecutor(), resume=True)
    (tmp_path / "out.partial.json").write_text("{")
    with pytest.raises(OutputError, match="damaged"):
        run(job(tmp_path, list("abc"), 1), prefix, LocalExecutor(), resume=True)


def test_names_are_given_even_if_that_was_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    todo = job(tmp_path, list("abc"), 1)
    replace_file, calls = Path.replace, []

    def once(self: Path, target: Path) -> Path:
        if self.suffix == ".partial":
            calls.append(self)
            if len(calls) == 2:
                raise Stopped
        return replace_file(self, target)

    monkeypatch.setattr(Path, "replace", once)
    with pytest.raises(Stopped):
        run(todo, tmp_path / "out", LocalExecutor())
    assert (tmp_path / "out.src").exists()
    assert not (tmp_path / "out.json").exists()
    assert_resumed_equals_whole(todo, tmp_path)


def test_a_full_disk_is_an_error_and_work_goes_on_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    todo, real = job(tmp_path, list("abcdef"), 1), ResumableOutputs._open

    class Full:
        def __init__(self, file: Any) -> None:
            self.file, self.left = file, 3

        def write(self, data: Any) -> int:
            self.left -= 1
            if not self.left:
                raise OSError(errno.ENOSPC, "No space left on device")
            return int(self.file.write(data[:2]))

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    with monkeypatch.context() as patch:
        patch.setattr(ResumableOutputs, "_open", lambda self, side: Full(real(self, side)))
        with pytest.raises(OutputError, match=r"out\.mt\.partial: .*disk is full.*--resume"):
            run(todo, tmp_path / "out", LocalExecutor())
    assert_resumed_equals_whole(todo, tmp_path)


@pytest.mark.parametrize("kind", [PosteditError, DataError, OutputError])
def test_any_failure_keeps_what_is_done_and_says_so(tmp_path: Path, kind: type[PosteditError]) -> None:
    todo, prefix = job(tmp_path, list("abcdefghi"), 2), tmp_path / "out"
    with pytest.raises(kind, match=r"^it broke; 6 of 9 lines are done, kept in .*out.*--resume to continue$"):
        run(todo, prefix, StopsAt(3, kind("it broke")))
    assert json.loads((tmp_path / "out.partial.json").read_text())["chunks"] == 3


def test_an_unwritable_journal_promises_only_what_it_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(outputs: ResumableOutputs) -> None:
        raise OutputError("the disk is full")

    class Fails(StopsAt):
        def map(self, build: Any, chunks: Iterable[Chunk]) -> Generator[Chunk, None, None]:
            monkeypatch.setattr(ResumableOutputs, "save", full)
            yield from super().map(build, chunks)

    todo = job(tmp_path, list("abcdefghi"), 2)
    with pytest.raises(DataError, match=r"^it broke; 0 of 9 lines are done"):
        run(todo, tmp_path / "out", Fails(3, DataError("it broke")))
    monkeypatch.undo()
    assert_resumed_equals_whole(todo, tmp_path)


def test_a_full_disk_is_reported_and_finished_chunks_are_kept(tmp_path: Path) -> None:
    todo, full = job(tmp_path, list("abcdefghi"), 2), OSError(errno.ENOSPC, "No space left on device", "/tmp/x")
    with pytest.raises(PosteditError, match=r"^/tmp/x: the disk is full; free some space .* 4 of 9 lines .*--resume"):
        run(todo, tmp_path / "out", StopsAt(2, full))
    assert_resumed_equals_whole(todo, tmp_path)


def test_nothing_is_written_if_no_line_can_be_used(tmp_path: Path) -> None:
    todo = job(tmp_path, ["", "", ""], 2)
    todo = replace(todo, manifest=lambda counts: {"left_out": {"empty": counts["lost"], "odd": 0}})
    with pytest.raises(DataError, match=r"out: would be empty: none of 3 lines can be used \(3 empty\)$"):
        run(todo, tmp_path / "out", LocalExecutor())
    assert not files(tmp_path / "out")


@pytest.mark.parametrize("replaced", [0, 1], ids=["no file is replaced", "a file is replaced"])
def test_an_earlier_run_stays_until_it_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaced: int
) -> None:
    first, files_of = job(tmp_path, list("abc"), 1), OutputFiles(tmp_path / "out", SIDES)
    run(first, tmp_path / "out", LocalExecutor())
    before = files(tmp_path / "out")
    todo, replace_file, left = job(tmp_path, list("abd"), 1), Path.replace, [replaced]

    def never(self: Path, target: Path) -> Path:
        if self.suffix == ".partial":
            left[0] -= 1
            if left[0] < 0:
                raise Stopped
        return replace_file(self, target)

    monkeypatch.setattr(Path, "replace", never)
    with pytest.raises(Stopped):
        run(todo, tmp_path / "out", LocalExecutor())
    monkeypatch.undo()
    assert bool(damaged_files(read_checksums(files_of.checksums))) == bool(replaced)
    if not replaced:
        assert before.items() <= files(tmp_path / "out").items()
    assert not Phase("made", files_of, lambda: first).finished(first)
    manifest = run(todo, tmp_path / "out", LocalExecutor(), resume=True)
    assert json.loads((tmp_path / "out.json").read_text()) == manifest
    assert damaged_files(read_checksums(files_of.checksums)) == {}
    assert Phase("made", files_of, lambda: todo).finished(todo)


def test_files_of_two_runs_are_not_finished_though_the_journal_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, files_of = job(tmp_path, list("abc"), 1), OutputFiles(tmp_path / "out", SIDES)
    run(first, tmp_path / "out", LocalExecutor())
    assert Phase("made", files_of, lambda: first).finished(first)
    todo, replace_file, calls = job(tmp_path, list("abd"), 1), Path.replace, list[Path]()

    def once(self: Path, target: Path) -> Path:
        if self.suffix == ".partial":
            calls.append(self)
            if len(calls) == 2:
                raise Stopped
        return replace_file(self, target)

    monkeypatch.setattr(Path, "replace", once)
    with pytest.raises(Stopped):
        run(todo, tmp_path / "out", LocalExecutor())
    monkeypatch.undo()
    files_of.journal.unlink()  # as the message advises, to restart
    assert not Phase("made", files_of, lambda: first).finished(first)
    run(first, tmp_path / "out", LocalExecutor(), resume=True)
    assert Phase("made", files_of, lambda: first).finished(first)


def test_unequal_files_are_an_error_with_both_counts(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n3")
    (tmp_path / "b").write_text("1\n2\n")
    with pytest.raises(DataError, match=r"a has 3, .*b has 2; line n of each"):
        open_aligned({"src": tmp_path / "a", "pe": tmp_path / "b"}, 2)


@pytest.mark.parametrize("name", ["a", "a.gz"])
def test_empty_files_are_an_error_compressed_or_not(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"") if name.endswith(".gz") else b"")
    with pytest.raises(DataError, match=r"a(\.gz)?: is empty"):
        open_aligned({"src": tmp_path / "a"}, 2)


def test_lines_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"good\n" * 20_000 + b"b\xffd\nmore\n")
    with pytest.raises(DataError, match=r"a, line 20,001: byte 2 \(0xFF\)"):
        open_aligned({"src": path}, 2)


def test_a_file_that_shrinks_is_an_error(tmp_path: Path) -> None:
    todo = job(tmp_path, list("abc"), 2)
    (tmp_path / "in.pe").write_text("a\n")
    with pytest.raises(DataError, match="became shorter"):
        run(todo, tmp_path / "out", LocalExecutor())


@given(LINES, st.integers(1, 5), st.integers(0, 4), st.booleans(), st.booleans())
def test_chunks_are_the_lines(lines: list[str], size: int, first: int, feed: bool, mark: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "in")
        text = "\n".join(lines) + ("\n" if feed or not lines[-1] else "")
        path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + text.encode())
        source = open_aligned({"pe": path}, size)
        assert source.total == len(lines)
        chunks = list(source.chunks(first))
    kept = [line.removesuffix("\r") for line in lines]  # the CR of Windows line ends is no text
    assert [line for chunk in chunks for line in chunk.lines("pe")] == kept[first * size :]
    assert bool(source.warnings) == (kept != lines)
    assert [(chunk.number, chunk.first_line) for chunk in chunks] == [
        (number, number * size) for number in range(first, -(-len(lines) // size))
    ]


def test_a_failure_before_the_first_chunk_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^it broke$"):
        run(job(tmp_path, list("abc"), 2), tmp_path / "out", StopsAt(0, DataError("it broke")))
    assert not list(tmp_path.glob("out.*partial*"))
