"""Stages in a Ray cluster of two worker processes on this machine."""

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.core.checksums import damaged_files, read_checksums
from postedit.core.errors import DataError, PosteditError, RecipeError
from postedit.core.processes import Executor, LocalExecutor, same_in_all
from postedit.distributed.chunks import Chunk, open_aligned
from postedit.distributed.executors import Placement, RayExecutor, _ActorPool, cores_per_worker, placement
from postedit.distributed.pipeline import Job, run_job
from postedit.distributed.resumable_outputs import OutputFiles
from postedit.distributed.schedule import WINDOW, Schedule


@dataclass(frozen=True)
class Doubling:
    """mt is pe twice. At one chunk something happens first.

    Args:
        at: number of that chunk.
        mark: file to which each attempt at it adds a letter.
        kills: how many attempts end the process.
        error: what the others raise.
    """

    at: int = -1
    mark: str = ""
    kills: int = 0
    error: str = ""

    def __call__(self, chunk: Chunk) -> Chunk:
        if chunk.number == self.at:
            with Path(self.mark).open("a") as file:
                file.write("x")
            if len(Path(self.mark).read_text()) <= self.kills:
                os.kill(os.getpid(), signal.SIGKILL)
            if self.error:
                raise DataError(self.error)
        return chunk.with_lines({"mt": [f"{line}{line}" for line in chunk.lines("pe")]}, {"lines": chunk.size})


def job(folder: Path, lines: int, stage: Doubling) -> Job:
    path = folder / "in.pe"
    path.write_text("".join(f"line {number} ä\n" for number in range(lines)), encoding="utf-8")
    return Job(open_aligned({"pe": path}, 3), stage, {}, dict)


def run(todo: Job, prefix: Path, executor: Executor, **options: Any) -> None:
    run_job(todo, OutputFiles(prefix, ("mt", "pe")), executor, **options)


PATIENT = RayExecutor(2, patience=3600.0)
"""Sends no item to a second worker, however long the first one takes to start again."""


def files(prefix: Path) -> dict[str, bytes]:
    found = {path.suffix: path.read_bytes() for path in prefix.parent.glob(f"{prefix.name}.*")}
    if found.pop(".sha256", None):  # which has the name of the prefix in it
        assert damaged_files(read_checksums(prefix.with_name(f"{prefix.name}.sha256"))) == {}
    return found


def whole(folder: Path, lines: int) -> dict[str, bytes]:
    run(job(folder, lines, Doubling()), folder / "whole", LocalExecutor())
    return files(folder / "whole")


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 60), st.integers(1, 9))
def test_there_is_room_for_all_workers(cores: list[int], workers: int, most: int) -> None:
    share = cores_per_worker(cores, workers, most)
    assert 0 < share <= most
    assert sum(count * 10_000 // round(share * 10_000) for count in cores) >= workers
    assert share == most or sum(int(count / (share + 1)) for count in cores) < workers


def test_workers_share_gpus_if_they_want_any() -> None:
    machines = [{"CPU": 16.0, "GPU": 4.0}, {"CPU": 8.0}, {"CPU": 8.0, "GPU": 2.0}]
    assert placement(machines, None, multithreaded=True, on_gpus=True) == Placement(6, 4, 1)
    assert placement(machines, 12, multithreaded=True, on_gpus=True) == Placement(12, 2, 0.5)
    assert placement(machines, None, multithreaded=True, on_gpus=False) == Placement(3, 8)
    assert placement(machines, None, multithreaded=False, on_gpus=False) == Placement(32, 1)
    assert placement(machines[1:2], None, multithreaded=True, on_gpus=True) == Placement(1, 8)


ADDRESSES = [
    ("ray://head:10001", "must be HOST:PORT"),
    ("head", "must be HOST:PORT"),
    ("localhost:1", "no Ray cluster can be reached there"),
    ("localhost:99999", "no Ray cluster can be reached there"),
]


@pytest.mark.parametrize(("address", "message"), ADDRESSES)
def test_addresses_where_nobody_is_are_errors(tmp_path: Path, address: str, message: str) -> None:
    with pytest.raises(PosteditError, match=f"--address {address}: {message}"):
        run(job(tmp_path, 5, Doubling()), tmp_path / "out", RayExecutor(2, address))


def test_missing_ray_is_reported_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RecipeError, match=r"--engine ray needs ray; install it by: pip install 'postedit\[ray\]'"):
        run(job(tmp_path, 5, Doubling()), tmp_path / "out", RayExecutor(2))


@pytest.mark.slow
def test_two_workers_give_the_bytes_of_one_process(ray: Any, tmp_path: Path) -> None:
    run(job(tmp_path, 50, Doubling()), tmp_path / "out", RayExecutor(2))
    assert files(tmp_path / "out") == whole(tmp_path, 50)


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_nothing(ray: Any, tmp_path: Path) -> None:
    run(job(tmp_path, 50, Doubling(6, str(tmp_path / "mark"), kills=2)), tmp_path / "out", PATIENT)
    assert (tmp_path / "mark").read_text() == "xxx"
    assert files(tmp_path / "out") == whole(tmp_path, 50)


@pytest.mark.slow
def test_a_chunk_that_ends_every_process_is_an_error_and_the_rest_is_kept(ray: Any, tmp_path: Path) -> None:
    with pytest.raises(PosteditError, match=r"a worker died 4 times at .*lines 19 to 21.*, .*--resume to continue"):
        run(job(tmp_path, 50, Doubling(6, str(tmp_path / "mark"), kills=9)), tmp_path / "out", PATIENT)
    run(job(tmp_path, 50, Doubling()), tmp_path / "out", RayExecutor(2), resume=True)
    assert files(tmp_path / "out") == whole(tmp_path, 50)


class UnavailableError(Exception):
    """A worker died too often."""


class LostRay:
    """A cluster whose only worker dies at the last of its items, of which one hears first."""

    exceptions = SimpleNamespace(
        RayTaskError=KeyError, ActorUnavailableError=UnavailableError, RayActorError=OSError, RayError=RuntimeError
    )

    def put(self, value: object) -> object:
        return value

    def wait(self, references: list[int], **_: object) -> tuple[list[int], list[int]]:
        return references[-1:], references[:-1]

    def get(self, reference: int) -> object:
        raise UnavailableError

    def cancel(self, reference: int) -> None:
        raise AssertionError("there are no copies")


def test_all_items_at_which_a_worker_may_have_died_are_named() -> None:
    references = itertools.count()
    actor = SimpleNamespace(run=SimpleNamespace(remote=lambda build, value: next(references)))
    pool = _ActorPool(LostRay(), [None], [actor], Schedule(1, 60.0))
    assert pool.submit("lines 16 to 18")
    assert pool.submit("lines 19 to 21")
    for _ in range(2):
        pool.wait()
    with pytest.raises(PosteditError, match="a worker died 4 times at lines 16 to 18 or lines 19 to 21, perhaps"):
        list(pool.results())


@pytest.mark.slow
def test_an_error_of_a_stage_is_that_error(ray: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^no such word; .* lines are done, kept in .*--resume to continue$"):
        run(
            job(tmp_path, 50, Doubling(6, str(tmp_path / "mark"), error="no such word")),
            tmp_path / "out",
            RayExecutor(2),
        )


@pytest.mark.slow
def test_an_error_of_the_input_comes_after_the_results_before_it(ray: Any) -> None:
    def items() -> Iterator[int]:
        yield from range(5)
        raise DataError("line 6 is none")

    made = RayExecutor(2).map(same_in_all(str), items())
    assert [next(made) for _ in range(5)] == ["0", "1", "2", "3", "4"]
    with pytest.raises(DataError, match="line 6 is none"):
        next(made)


@pytest.mark.slow
def test_no_more_is_read_than_workers_need(ray: Any, tmp_path: Path) -> None:
    todo, read = job(tmp_path, 90, Doubling()), []
    chunks = (read.append(chunk.number) or chunk for chunk in todo.source.chunks())  # type: ignore[func-returns-value]
    with closing(RayExecutor(2).map(same_in_all(todo.stage), chunks)) as made:
        for done, chunk in enumerate(made, 1):
            assert chunk.number == done - 1
            assert len(read) <= done + 2 * WINDOW
    assert len(read) == 30


@pytest.mark.slow
def test_a_cluster_is_joined_by_its_address(ray: Any, tmp_path: Path) -> None:
    (tmp_path / "in.src").write_text("a\nb\nc\nd\n")
    (tmp_path / "r.toml").write_text(
        f"""[synth]
kind = "forward"
src = "in.src"
pe = "in.src"
out = "{tmp_path}/out"
chunk_lines = 1
[synth.translator]
kind = "command"
command = ["sh", "-c", "sed s/^/$OMP_NUM_THREADS/"]
"""
    )
    command = [sys.executable, "-c", "from postedit.cli.main import main; main()", "synth", str(tmp_path / "r.toml")]
    command += ["--engine", "ray", "--address", ray.get_runtime_context().gcs_address]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not [line for line in done.stderr.splitlines() if "lines/s" not in line], "Ray is quiet"
    assert (tmp_path / "out.mt").read_text() == "2a\n2b\n2c\n2d\n", "a translator has all cores of a machine"


@dataclass(frozen=True)
class Lingering:
    """Returns numbers; the first process that meets `at` lingers there, and then says so in the file `mark`."""

    at: int
    mark: str

    def __call__(self, item: int) -> int:
        if item == self.at:
            with Path(self.mark).open("a") as file:
                file.write("x")
            if len(Path(self.mark).read_text()) == 1:
                time.sleep(60)
                Path(self.mark).write_text("ended")
        return item


@pytest.mark.slow
def test_an_item_that_takes_long_is_sent_to_a_second_worker(ray: Any, tmp_path: Path) -> None:
    executor = RayExecutor(2, patience=2.0)
    assert list(executor.map(same_in_all(Lingering(9, str(tmp_path / "mark"))), range(20))) == list(range(20))
    assert (tmp_path / "mark").read_text() == "xx"
