"""Several services on one database, behind a proxy that passes connections to those that live."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path

MODEL = '[models.m]\npath = "none"\nprocesses = 1\nthreads = 1\n'


class Replica:
    """A service as a process; its port changes when it is started again."""

    def __init__(self, database: str, folder: Path) -> None:
        self._settings = folder / "serve.toml"
        folder.mkdir()
        self._settings.write_text(f'port = 0\ndatabase = "{database}"\ndata = "{folder}"\n{MODEL}')
        self.port: int | None = None
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens; again, if the database is away just then."""
        command = [sys.executable, "-m", "postedit", "serve", "--config", str(self._settings)]
        while True:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self._process = process
            assert process.stdout is not None
            line = next((one for one in process.stdout if one.startswith("Serving at ")), None)
            if line is not None:
                self.port = int(line.split()[2].split(":")[2].strip("/"))
                return
            process.wait()

    def kill(self) -> None:
        """Kill the process of the service; its model processes notice, and end."""
        self.port = None
        assert self._process is not None
        self._process.kill()
        self._process.communicate()

    def kill_model(self, rng: random.Random) -> None:
        """Kill one of the processes that it started."""
        assert self._process is not None
        found: list[int] = []
        for thread in Path(f"/proc/{self._process.pid}/task").glob("*/children"):
            with suppress(OSError):  # it has just ended
                found += map(int, thread.read_text().split())
        if found:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(found), signal.SIGKILL)


class Proxy:
    """Passes each connection on to the next replica that takes it; closes it if there is none."""

    def __init__(self, replicas: list[Replica]) -> None:
        self._replicas = replicas
        self._turns = count()
        self.port = 0

    async def _serve(self, ready: Future[Callable[[], object]]) -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        ready.set_result(partial(loop.call_soon_threadsafe, stop.set))
        await stop.wait()
        server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = next(self._turns)
        for number in range(len(self._replicas)):
            port = self._replicas[(first + number) % len(self._replicas)].port
            if port is None:
                continue
            with suppress(OSError):
                theirs = await asyncio.open_connection("127.0.0.1", port)
                with suppress(asyncio.CancelledError):  # the proxy ends
                    await asyncio.gather(_pass(reader, theirs[1]), _pass(theirs[0], writer))
                return
        writer.close()

    @contextmanager
    def running(self) -> Iterator[str]:
        """Run it in a thread, and yield its address."""
        ready: Future[Callable[[], object]] = Future()
        thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        thread.start()
        stop = ready.result()
        try:
            yield f"http://127.0.0.1:{self.port}"
        finally:
            stop()
            thread.join()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass bytes on until one of both ends is closed."""
    with suppress(OSError):
        while received := await reader.read(2**16):
            writer.write(received)
            await writer.drain()
    writer.close()


@contextmanager
def replicas(database: str, folder: Path, number: int) -> Iterator[list[Replica]]:
    """Start services on a database, and end them."""
    found = [Replica(database, folder / str(each)) for each in range(number)]
    with ExitStack() as stack:
        for one in found:
            one.start()
            stack.callback(one.kill)
        yield found
