"""Soak-test `postedit serve` with an hour's traffic in ten minutes: do memory, files or latencies grow?

    python benchmarks/serve_soak.py [MODEL] [--minutes 10] [--people 10] [--database URL]

Each person confirms a segment every 10 seconds: the next one of a file or, one time in ten and once all are confirmed,
one that was confirmed before. So the data to keep stops growing after about a third of the time. For each segment, the
page opens it and its matches, reports presence, saves two drafts and the confirmed text, and asks for proposals for the
rows on the screen. Meanwhile a program asks for 5 edits per second, corrections are learnt and undone, files are added
and deleted, pages listen to events, and the progress is read once a minute. All of this runs six times as fast, so that
10 minutes hold an hour. A line per minute gives the memory of all processes and of the web process, files and data.
"""

import argparse
import asyncio
import itertools
import random
import statistics
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from xml.sax.saxutils import escape

import httpx
from serve_load import memory_of, service

from postedit.shipped import EXAMPLES

COMPRESSION = 6.0
CONFIRMED_EVERY = 10.0  # seconds between confirmations of one person
EDITS_A_SECOND = 5.0
SEGMENTS = 1000
REVISITED = 0.1  # share of confirmations that are of a segment confirmed before
XLIFF = (
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" source-language="en" '
    'target-language="zh" datatype="plaintext"><body>{}</body></file></xliff>'
)
UNIT = '<trans-unit id="{}"><source>{}</source><target>{}</target></trans-unit>'


class Traffic:
    """The requests of people and programs to a service.

    Args:
        address: URL of the service.
        pairs: sources and translations to draw from.
        end: when the traffic ends, on the clock of `time.monotonic`.
    """

    def __init__(self, address: str, pairs: list[tuple[str, str]], end: float) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        self.http = httpx.AsyncClient(base_url=address, timeout=60, limits=limits)
        self.pairs, self.end = pairs, end
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.answers: Counter[str] = Counter()
        self.rng = random.Random(1)
        self.confirmed = 0  # segments

    async def ask(self, kind: str, method: str, path: str, **given: object) -> httpx.Response:
        """Send a request; record its time and status, and the text of an unexpected error."""
        started = time.perf_counter()
        answer = await self.http.request(method, path, **given)  # type: ignore[arg-type]
        self.seconds[kind].append(time.perf_counter() - started)
        self.answers[str(answer.status_code)] += 1
        if answer.is_error and not (answer.status_code == 409 and kind == "save"):
            self.answers[f"{kind}: {answer.text}"] += 1
        return answer

    async def upload(self, count: int) -> str:
        """Add a file of `count` segments, wait until its job has ended, and return its id."""
        chosen = self.rng.choices(self.pairs, k=count)
        units = "".join(UNIT.format(number, *map(escape, pair)) for number, pair in enumerate(chosen))
        files = {"file": ("a.xlf", XLIFF.format(units).encode())}
        made = (await self.ask("upload", "POST", "/v1/projects/default/files", files=files)).json()
        while (await self.ask("job", "GET", f"/v1/jobs/{made['job']['id']}")).json()["state"] in ("waiting", "running"):
            await asyncio.sleep(0.5)
        return str(made["file"]["id"])

    async def every(self, seconds: float, work: Callable[[], Awaitable[object]]) -> None:
        """Repeat `work` until the end, after random pauses with a mean of `seconds`."""
        while time.monotonic() < self.end:
            await asyncio.sleep(self.rng.expovariate(1 / seconds))
            await work()

    async def confirm(self, file: str) -> None:
        """Open a segment, save drafts of it, and confirm it, as the page does."""
        if self.confirmed and (self.confirmed == SEGMENTS or self.rng.random() < REVISITED):
            number = self.rng.randint(1, self.confirmed)
        else:
            self.confirmed = number = self.confirmed + 1
        path = f"/v1/files/{file}/segments/{number}"
        segment = (await self.ask("open", "GET", path)).json()
        await self.ask("matches", "GET", f"{path}/matches")
        await self.ask("presence", "POST", f"/v1/files/{file}/presence", json={"number": number})
        target, version = segment["mt"], segment["version"]
        for state in ("draft", "draft", "confirmed"):
            target += self.rng.choice("abc")
            body = {"target": target, "codes": [], "state": state, "version": version, "edit_id": uuid.uuid4().hex}
            answer = await self.ask("save", "PUT", path, json={**body, "seconds": 1.0})
            if answer.status_code == 409:  # somebody else was faster
                return
            version = answer.json()["segment"]["version"]
        shown = list(range(number, min(number + 20, SEGMENTS + 1)))
        await self.ask("proposals", "POST", f"/v1/files/{file}/proposals", json={"numbers": shown})

    async def edit(self) -> None:
        """Ask for a correction."""
        src, mt = self.rng.choice(self.pairs)
        await self.ask("edit", "POST", "/v1/edit", json={"segments": [{"src": src, "mt": mt}], "project": "default"})

    async def learn_and_undo(self) -> None:
        """Let the service learn a correction, and undo it."""
        src, mt = self.rng.choice(self.pairs)
        number = (await self.ask("learn", "POST", "/v1/learn", json={"src": src, "mt": mt, "pe": f"{mt}!"})).json()
        await self.ask("undo", "POST", "/v1/undo", json=number)

    async def file(self) -> None:
        """Add a file, download its translation, and delete it."""
        file = await self.upload(20)
        await self.ask("download", "GET", f"/v1/files/{file}/download?all=true")
        await self.ask("delete", "DELETE", f"/v1/files/{file}")

    async def listen(self) -> None:
        """Listen to events for five seconds, and disconnect."""
        with suppress(TimeoutError):
            async with asyncio.timeout(5), self.http.stream("GET", "/v1/projects/default/events") as answer:
                async for _ in answer.aiter_bytes():
                    pass

    async def run(self, people: int) -> None:
        """Run all kinds of traffic until the end."""
        file = await self.upload(SEGMENTS)
        work: list[tuple[float, Callable[[], Awaitable[object]]]] = [
            (60.0, lambda: self.ask("progress", "GET", "/v1/projects/default/progress"))
        ]
        work += [(CONFIRMED_EVERY, lambda: self.confirm(file))] * people
        work += [(5.0, self.listen)] * people
        work += [(4 / EDITS_A_SECOND, self.edit)] * 4 + [(20.0, self.learn_and_undo), (60.0, self.file)]
        await asyncio.gather(*(self.every(seconds / COMPRESSION, what) for seconds, what in work))


def held(pid: int, data: Path) -> str:
    """Return cells with the memory of the service and of its web process in MB, its open files, and its data in MB."""
    size = sum(path.stat().st_size for path in data.rglob("*") if path.is_file())
    files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return f"{memory_of(pid):.0f} | {memory_of(pid, alone=True):.0f} | {files} | {size / 2**20:.1f}"


async def watch(traffic: Traffic, pid: int, data: Path) -> list[float]:
    """Print a row per minute until the end; return the memory in MB, measured every two seconds."""
    memory: list[float] = []
    columns = "requests | p50, p99 of edits, ms | of saves, ms | confirmed | memory MB | of them service alone"
    print(f"| minute | {columns} | open files | data MB |\n|---|{'---:|' * 8}")
    for minute in itertools.count(1):
        began = time.monotonic()
        while time.monotonic() < min(began + 60, traffic.end):
            memory.append(memory_of(pid))
            await asyncio.sleep(2)
        edits, saves = (quantiles(traffic.seconds[kind]) for kind in ("edit", "save"))
        requests = sum(map(len, traffic.seconds.values()))
        traffic.seconds.clear()
        print(f"| {minute} | {requests} | {edits} | {saves} | {traffic.confirmed} | {held(pid, data)} |", flush=True)
        if time.monotonic() >= traffic.end:
            return memory
    raise AssertionError


def quantiles(seconds: list[float]) -> str:
    """Return the median and the 99th percentile, in milliseconds, as text."""
    cuts = statistics.quantiles(seconds, n=100) if len(seconds) > 1 else [float("nan")] * 99
    return f"{1000 * cuts[49]:.0f}, {1000 * cuts[98]:.0f}"


async def soak(port: int, pid: int, data: Path, given: argparse.Namespace) -> None:
    """Run the traffic, and print the growth of memory and the statuses of all answers."""
    texts = [(EXAMPLES / f"mlqe-pe.en-zh/test.{side}").read_text("utf-8").splitlines() for side in ("src", "mt")]
    traffic = Traffic(f"http://127.0.0.1:{port}", list(zip(*texts, strict=True)), time.monotonic() + 60 * given.minutes)
    _, memory = await asyncio.gather(traffic.run(given.people), watch(traffic, pid, data))
    third = len(memory) // 3
    middle, last = statistics.median(memory[third : 2 * third]), statistics.median(memory[2 * third :])
    growth = 100 * (last / middle - 1)
    print(f"memory: median of the second third {middle:.0f} MB, of the last {last:.0f} MB ({growth:+.1f} %)")
    print(f"answers by status: {dict(sorted(traffic.answers.items()))}")


def main() -> None:
    """Run the service under the traffic."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="none")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--database", help="URL of PostgreSQL; SQLite if not given")
    given = parser.parse_args()
    with service(given, learns=True) as (port, pid, data):
        asyncio.run(soak(port, pid, data, given))


if __name__ == "__main__":
    main()
