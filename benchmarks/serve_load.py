"""Measure `postedit serve` under load: throughput and latency by offered load, and its behaviour far beyond capacity.

    python benchmarks/serve_load.py [MODEL] --src TEXT.src --mt TEXT.mt [--seconds 10] [--overload-seconds 60]

It starts the service as a process, and sends requests of one segment each over persistent connections. It measures:

1. the latency of single requests one after the other, beside the library's time for the first of these segments;
2. the throughput of 64 clients, each of which sends the next request as soon as it is answered, beside one client's;
3. open-loop (Poisson) arrivals at several shares of that throughput: p50 and p99, counted from the time when a request
   should have been sent, so that a service that falls behind cannot hide it; the capacity is the highest rate of
   answered requests in 2 or 3;
4. arrivals at 10 times the capacity: the statuses of all answers; the p99 of admitted requests, beside that of arrivals
   at a twentieth of the capacity and that of one client alone; and the memory of all processes of the service.

The service has its default settings, except that it does not learn corrections, that one client may fill the queue (all
requests come from this machine), and that it logs only warnings; --set changes others.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import tomli_w
import torch

from postedit.core.config import override
from postedit.core.editor import Editor, Segment
from postedit.jobs.editor_spec import EditorSpec
from postedit.shipped import EXAMPLES, MODEL

CLIENTS = 64
LOADS = (0.1, 0.25, 0.5, 0.75, 0.9, 1.1, 1.5)
FULL = (1.1, 1.5)
LIGHT = 0.05
BEYOND = 10.0
MOST_CONNECTIONS = 4096


@dataclass
class Outcome:
    """The statuses of all answers, and the seconds of the requests that were admitted (status 200)."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def add(self, status: int, seconds: float) -> None:
        """Record an answer."""
        self.statuses[status] += 1
        if status == 200:
            self.seconds.append(seconds)

    def quantile(self, share: float) -> float:
        """Return the seconds that `share` of the admitted requests did not exceed; NaN if none was admitted."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


class Connection:
    """A persistent connection: an HTTP client so small that its own time does not count."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, body: bytes) -> int:
        """Post a request, and return the status of the answer; 0 if the connection was closed."""
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        head = "POST /v1/edit HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        try:
            answer = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            self.streams = None
            return 0
        length = next(
            int(line.split(b":")[1]) for line in answer.split(b"\r\n") if line.lower().startswith(b"content-length")
        )
        await reader.readexactly(length)
        return int(answer.split()[1])

    def close(self) -> None:
        """Close the connection."""
        if self.streams is not None:
            self.streams[1].close()


def bodies(segments: Sequence[Segment], project: str | None) -> list[bytes]:
    rest = {} if project is None else {"project": project}
    return [json.dumps({"segments": [{"src": one.src, "mt": one.mt}], **rest}).encode() for one in segments]


async def closed_loop(port: int, asked: Sequence[bytes], clients: int, seconds: float) -> tuple[Outcome, float]:
    """Return the outcome of clients that each send the next request once answered, and the answers per second."""
    outcome, queue, end = Outcome(), cycle(asked), time.perf_counter() + seconds

    async def client() -> None:
        connection = Connection(port)
        while time.perf_counter() < end:
            started = time.perf_counter()
            outcome.add(await connection.post(next(queue)), time.perf_counter() - started)
        connection.close()

    started = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return outcome, outcome.statuses[200] / (time.perf_counter() - started)


async def open_loop(port: int, asked: Sequence[bytes], rate: float, seconds: float) -> Outcome:
    """Return the outcome of random arrivals, `rate` per second, whether or not earlier requests were answered."""
    outcome, queue, rng = Outcome(), cycle(asked), random.Random(1)
    free: list[Connection] = []
    running: set[asyncio.Task[None]] = set()

    async def ask(due: float) -> None:
        connection = free.pop() if free else Connection(port)
        outcome.add(await connection.post(next(queue)), time.perf_counter() - due)
        free.append(connection)

    due = started = time.perf_counter()
    while due < started + seconds:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        if len(running) < MOST_CONNECTIONS:
            task = asyncio.create_task(ask(due))
            running.add(task)
            task.add_done_callback(running.discard)
        due += rng.expovariate(rate)
    await asyncio.gather(*running)
    for connection in free:
        connection.close()
    return outcome


def memory_of(pid: int, *, alone: bool = False) -> float:
    """Return the resident memory of a process in MB, by default with its children."""
    threads = [] if alone else Path(f"/proc/{pid}/task").glob("*/children")
    total = sum(memory_of(int(child)) for thread in threads for child in thread.read_text().split())
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return total + pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def library_seconds(editor: Editor, segments: Sequence[Segment]) -> list[float]:
    editor.edit_segments(segments[:4])
    found = []
    for one in segments:
        started = time.perf_counter()
        editor.edit_segments([one])
        found.append(time.perf_counter() - started)
    return found


async def overload(
    port: int, pid: int, asked: Sequence[bytes], rate: float, seconds: float
) -> tuple[Outcome, list[float]]:
    """Return the outcome of an overload, and the memory of the service in MB every half second."""
    memory: list[float] = []

    async def watch() -> None:
        while True:
            memory.append(memory_of(pid))
            await asyncio.sleep(0.5)

    watching = asyncio.create_task(watch())
    outcome = await open_loop(port, asked, rate, seconds)
    watching.cancel()
    return outcome, memory


async def measure_throughput(port: int, segments: Sequence[Segment], given: argparse.Namespace) -> float:
    """Print the latency of one client and the throughput of one and of many; return that of many per second."""
    asked = bodies(segments, given.project)
    single, alone = await closed_loop(port, asked, 1, given.seconds)
    many, throughput = await closed_loop(port, asked, CLIENTS, given.seconds)
    print(f"1 client: {alone:.1f} requests/s, median {1000 * statistics.median(single.seconds):.1f} ms")
    times = throughput / alone
    print(f"{CLIENTS} clients: {throughput:.1f} requests/s, {times:.1f} times one client; {dict(many.statuses)}")
    return throughput


HEAD = "| offered, requests/s | answered 200 | p50 ms | p99 ms | 429 | others |\n|---:|---:|---:|---:|---:|---:|"


async def measure_load(port: int, segments: Sequence[Segment], throughput: float, given: argparse.Namespace) -> float:
    """Print latencies by offered load; return the capacity in requests per second."""
    asked, capacity = bodies(segments, given.project), throughput
    print(HEAD)
    for share in FULL if given.brief else LOADS:
        outcome = await open_loop(port, asked, share * throughput, given.seconds)
        capacity = max(capacity, outcome.statuses[200] / given.seconds)
        print(row(share * throughput, outcome, given.seconds), flush=True)
    return capacity


async def measure_overload(
    port: int, pid: int, segments: Sequence[Segment], capacity: float, given: argparse.Namespace
) -> None:
    """Print what happens far beyond the capacity, beside a light load and beside one client."""
    asked = bodies(segments, given.project)
    alone, _ = await closed_loop(port, asked, 1, 2 * given.seconds)
    light = await open_loop(port, asked, LIGHT * capacity, 4 * given.seconds)
    outcome, memory = await overload(port, pid, asked, BEYOND * capacity, given.overload_seconds)
    print(HEAD)
    print(row(LIGHT * capacity, light, 4 * given.seconds))
    print(row(BEYOND * capacity, outcome, given.overload_seconds))
    p99, quarter = outcome.quantile(0.99), memory[len(memory) // 4 :]
    print(
        f"capacity {capacity:.1f} requests/s; overload: p99 of admitted {1000 * p99:.0f} ms, "
        f"{p99 / light.quantile(0.99):.2f} times that at a twentieth of the capacity, "
        f"{p99 / alone.quantile(0.99):.2f} times that of one client ({1000 * alone.quantile(0.99):.0f} ms); "
        f"memory {memory[0]:.0f} MB, then at most {100 * (max(memory) / memory[0] - 1):+.1f} %, "
        f"from a quarter of the time on {100 * (max(quarter) / quarter[0] - 1):+.1f} %"
    )


def row(rate: float, outcome: Outcome, seconds: float) -> str:
    """Return a row of the table for an offered rate."""
    refused = outcome.statuses[429]
    others = sum(outcome.statuses.values()) - outcome.statuses[200] - refused
    p50, p99 = (1000 * outcome.quantile(share) for share in (0.5, 0.99))
    return f"| {rate:.1f} | {outcome.statuses[200] / seconds:.1f}/s | {p50:.0f} | {p99:.0f} | {refused} | {others} |"


@contextmanager
def service(
    given: argparse.Namespace, settings: Sequence[str] = (), *, learns: bool = False
) -> Iterator[tuple[int, int, Path]]:
    """Run the service, with `settings` as overrides; yield its port, its process id, and its data folder."""
    with tempfile.TemporaryDirectory() as folder:
        model = {"path": given.model, "processes": given.processes, "threads": given.threads, "learns": learns}
        values = {"port": 0, "data": f"{folder}/data", "models": {"m": model}, "log": {"level": "warning"}}
        if given.database:
            values["database"] = given.database
        path = Path(folder) / "serve.toml"
        path.write_text(tomli_w.dumps(override({**values, "limits": {"client_share": 1.0}}, settings)))
        command = [sys.executable, "-m", "postedit", "serve", "--config", str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
            assert process.stdout is not None
            address = next(line for line in process.stdout if line.startswith("Serving"))
            try:
                yield int(address.split(":")[2].split("/")[0]), process.pid, Path(folder) / "data"
            finally:
                process.send_signal(signal.SIGTERM)


def main() -> None:
    """Run all measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default=str(MODEL))
    parser.add_argument("--src", type=Path, default=EXAMPLES / "mlqe-pe.en-zh/test.src")
    parser.add_argument("--mt", type=Path, default=EXAMPLES / "mlqe-pe.en-zh/test.mt")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--overload-seconds", type=float, default=60.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--project", help="ask for a project, whose settings and memory are read from the database")
    parser.add_argument("--database", help="URL of PostgreSQL; SQLite if not given")
    parser.add_argument("--brief", action="store_true", help="in step 3, measure only loads above the throughput")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.NAME=VALUE")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    pairs = zip(given.src.read_text("utf-8").splitlines(), given.mt.read_text("utf-8").splitlines())
    segments = [Segment(src, mt) for src, mt in pairs]
    library = library_seconds(EditorSpec([given.model]).load("cpu"), segments[:100])
    print(f"library, one segment at a time, {given.threads} threads: median {1000 * statistics.median(library):.1f} ms")
    with service(given, given.set) as (port, _, _):
        throughput = asyncio.run(measure_throughput(port, segments, given))
        capacity = asyncio.run(measure_load(port, segments, throughput, given))
    with service(given, given.set) as (port, pid, _):
        asyncio.run(measure_overload(port, pid, segments, capacity, given))


if __name__ == "__main__":
    main()
