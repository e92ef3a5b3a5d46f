"""`postedit serve` as people start it: it answers, is killed, goes on, and stops when told."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from postedit.serve import Client

PAIR = ("the house", "der die Haus")


@contextmanager
def started(*arguments: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the service, and yield the process and the address."""
    command = [sys.executable, "-m", "postedit", "serve", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
    try:
        assert process.stdout is not None
        line = next((one for one in process.stdout if one.startswith("Serving at ")), None)
        assert line is not None, process.stderr and process.stderr.read()
        yield process, line.split()[2]
    finally:
        process.kill()
        process.communicate()


def refusal(*arguments: str, folder: Path) -> str:
    """Return what the service says when it does not start."""
    command = [sys.executable, "-m", "postedit", "serve", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def children(pid: int) -> list[int]:
    """Return the ids of the processes that any thread of a process has started."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for thread in threads for child in thread.read_text().split()]


def test_corrections_survive_a_kill_of_everything(tmp_path: Path) -> None:
    with started("none", "--port", "0", folder=tmp_path) as (process, address), Client(address) as client:
        number = client.learn(*PAIR, "der das Haus")
        assert client.edit([PAIR[0]], [PAIR[1]], project="default")[0].text == "der das Haus"
        models = children(process.pid)
        assert len(models) >= 2
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        deadline = time.monotonic() + 20
        while any(Path(f"/proc/{pid}/cmdline").exists() for pid in models) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not any(Path(f"/proc/{pid}/cmdline").exists() for pid in models), "model processes end with the service"
    with started("none", "--port", "0", folder=tmp_path) as (process, address), Client(address) as client:
        assert client.edit([PAIR[0]], [PAIR[1]], project="default")[0].text == "der das Haus"
        client.undo(number)
        assert not client.edit([PAIR[0]], [PAIR[1]], project="default")[0].changed
        assert httpx.get(f"{address}readyz").status_code == 200
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(client.edit, [PAIR[0]] * 50, [PAIR[1]] * 50) for _ in range(8)]
            time.sleep(random.Random(1).random() / 20)
            process.send_signal(signal.SIGTERM)
            answered = [one for one in asked if one.exception() is None]
        assert process.wait(60) == 0
        assert answered


def test_the_service_reloads_and_turns_unready_before_it_stops(tmp_path: Path) -> None:
    (tmp_path / "serve.toml").write_text('port = 0\ndrain_seconds = 1.5\n[models.m]\npath = "none"\nprocesses = 1\n')
    with started("--config", "serve.toml", folder=tmp_path) as (process, address):
        with httpx.Client(base_url=address) as client:
            assert client.get("/readyz").json() == {"status": "ready", "models": {"m": "ready"}}
            before = children(process.pid)
            process.send_signal(signal.SIGHUP)
            deadline = time.monotonic() + 60
            while set(before) <= set(children(process.pid)) and time.monotonic() < deadline:
                time.sleep(0.1)
            assert len(set(before) - set(children(process.pid))) == 1, "the model was loaded again"
            process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            assert client.get("/readyz").status_code == 503
            assert client.post("/v1/edit", json={"segments": [{"src": "a", "mt": "b"}]}).status_code == 200
        assert process.wait(60) == 0


def test_what_cannot_be_served_is_a_sentence(tmp_path: Path) -> None:
    assert "no such" in refusal("missing/model", "--port", "0", folder=tmp_path)
    assert "anybody could read" not in refusal("none", "--config", "x", folder=tmp_path)
    (tmp_path / "serve.toml").write_text(
        'host = "0.0.0.0"\nprt = 1\n[auth]\nrequired = false\n[models.m]\npath = "none"\n'
    )
    assert 'did you mean "port"?' in refusal("--config", "serve.toml", folder=tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert "the service cannot listen there" in refusal("none", "--port", port, folder=tmp_path)


@pytest.mark.slow
def test_no_route_fails_on_any_request_of_its_description(tmp_path: Path) -> None:
    """Requests that schemathesis makes of the description of the API have no answer of 500 and above."""
    command = [sys.executable, "-m", "schemathesis.cli", "run", "--checks", "not_a_server_error"]
    options = ["--max-examples", "20", "--phases", "examples,coverage,fuzzing", "--request-timeout", "60"]
    leave = ["--exclude-path-regex", "/events$|/reload$"]  # streams that do not end; models that are loaded again
    with started("none", "--port", "0", folder=tmp_path) as (_, address):
        run = [*command, *options, *leave, f"{address}openapi.json"]
        done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        assert httpx.get(f"{address}readyz").status_code == 200
