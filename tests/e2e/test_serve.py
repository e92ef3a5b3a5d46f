"""`postedit serve` as people start it: it answers, is killed, goes on, and stops when told."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from hypothesis import settings
from postgresql_server import program, server  # noqa: F401 (server is a fixture)

from postedit.serve import Client
from postedit.shipped import EXAMPLES

PASSWORD = "correct horse"

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
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def children(pid: int) -> list[int]:
    """Return the ids of the processes that any thread of a process has started."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # it has just ended
            found += map(int, thread.read_text().split())
    return found


@contextmanager
def frozen(processes: list[int]) -> Iterator[None]:
    """Let processes do nothing meanwhile."""
    for one in processes:
        os.kill(one, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in processes:
            os.kill(one, signal.SIGCONT)


def is_ready(address: str) -> bool:
    """Return whether a service answers, and says that requests are welcome."""
    try:
        return httpx.get(f"{address}readyz", timeout=300).status_code == 200
    except httpx.TransportError:
        return False


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_corrections_survive_a_kill_of_everything(tmp_path: Path) -> None:
    with started("none", "--port", "0", folder=tmp_path) as (process, address), Client(address) as client:
        number = client.learn(*PAIR, "der das Haus")
        assert client.edit([PAIR[0]], [PAIR[1]], project="default")[0].text == "der das Haus"
        models = children(process.pid)
        assert len(models) >= 2
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        wait_until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in models))
    with started("none", "--port", "0", folder=tmp_path) as (process, address), Client(address) as client:
        assert client.edit([PAIR[0]], [PAIR[1]], project="default")[0].text == "der das Haus"
        client.undo(number)
        assert not client.edit([PAIR[0]], [PAIR[1]], project="default")[0].changed
        wait_until(lambda: is_ready(address))
        nothing_waits = 'postedit_queue_tokens{priority="interactive"} 0.0'
        with ThreadPoolExecutor(8) as pool, frozen(children(process.pid)):
            asked = [pool.submit(client.edit, [PAIR[0]] * 50, [PAIR[1]] * 50) for _ in range(8)]
            wait_until(lambda: nothing_waits not in httpx.get(f"{address}metrics", timeout=300).text)
            process.send_signal(signal.SIGTERM)
            wait_until(lambda: not is_ready(address))
        assert process.wait(300) == 0
        assert any(one.exception() is None for one in asked), "what was accepted is answered"


@pytest.mark.slow
def test_the_service_reloads_and_turns_unready_before_it_stops(tmp_path: Path) -> None:
    (tmp_path / "serve.toml").write_text('port = 0\ndrain_seconds = 20\n[models.m]\npath = "none"\nprocesses = 1\n')
    with started("--config", "serve.toml", folder=tmp_path) as (process, address):
        with httpx.Client(base_url=address, timeout=300) as client:
            assert client.get("/readyz").json() == {"status": "ready", "models": {"m": "ready"}}
            before = children(process.pid)
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: set(before) - set(children(process.pid)))
            assert len(set(before) - set(children(process.pid))) == 1, "the model was loaded again"
            process.send_signal(signal.SIGTERM)
            wait_until(lambda: client.get("/readyz").status_code != 200)
            assert client.get("/readyz").status_code == 503
            assert client.post("/v1/edit", json={"segments": [{"src": "a", "mt": "b"}]}).status_code == 200
        assert process.wait(300) == 0


@pytest.mark.slow
def test_more_connections_than_files_do_not_fill_the_log(tmp_path: Path) -> None:
    """Anybody can open connections: neither the log nor the answers to others must suffer for long."""
    log = tmp_path / "log"
    command = ["prlimit", "--nofile=300:300", sys.executable, "-m", "postedit", "serve", "none", "--port", "0"]
    with ExitStack() as stack, log.open("w") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=tmp_path)
        stack.callback(process.communicate)
        stack.callback(process.kill)
        assert process.stdout is not None
        address = next(one for one in process.stdout if one.startswith("Serving at ")).split()[2]
        place = ("127.0.0.1", int(address.rstrip("/").rpartition(":")[2]))
        with httpx.Client(base_url=address, timeout=300) as client:  # its connection stays open
            assert client.get("/readyz").status_code == 200
            opened = [stack.enter_context(socket.create_connection(place)) for _ in range(600)]
            wait_until(lambda: "connections are open" in log.read_text())
            assert client.get("/readyz").status_code == 200, "the database can still be opened"
        for one in opened:
            one.close()
        wait_until(lambda: is_ready(address))
    assert len(log.read_text().splitlines()) < 10


@pytest.mark.slow
def test_a_service_that_loads_stops_at_the_first_signal(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}  # so that it compiles for a while
    command = [sys.executable, "-m", "postedit", "serve", "none", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment) as process:
        wait_until(lambda: len(models_of(process.pid)) >= 2)
        loading = models_of(process.pid)
        process.send_signal(signal.SIGTERM)
        told = process.communicate(timeout=600)[1]
    assert process.returncode == 0
    assert "Traceback" not in told
    wait_until(lambda: not set(loading) & set(map(int, running())))


def running() -> list[str]:
    """Return the ids of all processes that have not ended, whether anybody has waited for them or not."""
    return [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if _content(path)]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def models_of(pid: int) -> list[int]:
    """Return the ids of the model processes of a service."""
    lines = {one: Path(f"/proc/{one}/cmdline") for one in children(pid)}
    return [one for one, path in lines.items() if b"spawn_main" in _content(path)]


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["imports", "model process"])
def test_control_c_while_it_starts_prints_no_traceback(moment: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "postedit", "serve", "none", "--port", "0"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True, **streams)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Loading")
        if moment == "model process":
            wait_until(lambda: models_of(process.pid))
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        rest = process.communicate(timeout=300)[0]
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in rest


@pytest.mark.slow
def test_what_cannot_be_served_is_a_sentence(tmp_path: Path) -> None:
    assert "no such" in refusal("missing/model", "--port", "0", folder=tmp_path)
    assert "anybody could read" not in refusal("none", "--config", "x", folder=tmp_path)
    (tmp_path / "serve.toml").write_text(
        'host = "0.0.0.0"\nprt = 1\n[auth]\nrequired = false\n[models.m]\npath = "none"\n'
    )
    (tmp_path / "broken.toml").write_text('port = 0\n[models.m]\npath = "none"\ngate = "serve.toml"\n')
    message = refusal("--config", "broken.toml", folder=tmp_path)
    assert f"model m: {tmp_path / 'serve.toml'}: is not a gate" in message
    assert 'did you mean "port"?' in refusal("--config", "serve.toml", folder=tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert "the service cannot listen there" in refusal("none", "--port", port, folder=tmp_path)


def settings_with_accounts(folder: Path, database: str) -> tuple[str, ...]:
    """Write settings of a service where people sign in, add the administrator `root`, and return its arguments."""
    rest = '[auth]\nrequired = true\n[log]\nlevel = "error"\n[models.m]\npath = "none"\n'  # nobody reads the log
    (folder / "serve.toml").write_text(f'port = 0\ndatabase = "{database}"\n{rest}')
    arguments = ("--config", "serve.toml")
    command = [sys.executable, "-m", "postedit", "serve", *arguments, "--create-admin", "root"]
    subprocess.run(command, check=True, cwd=folder, env={**os.environ, "POSTEDIT_ADMIN_PASSWORD": PASSWORD})
    return arguments


def new_key(address: str) -> str:
    """Return a new key of the administrator, which may do everything."""
    with httpx.Client(base_url=address, timeout=300) as client:
        csrf = client.post("/v1/session", json={"name": "root", "password": PASSWORD}).json()["csrf"]
        asked = {"name": "test", "scopes": ["edit", "learn", "files", "manage", "admin"]}
        made = client.post("/v1/keys", json=asked, headers={"X-CSRF-Token": csrf})
        return str(made.json()["key"])


PATIENT = """
import schemathesis

@schemathesis.hook
def before_call(context, case, kwargs):
    given = case.body.get("timeout_ms") if isinstance(case.body, dict) else None
    if type(given) is int and 100 <= given < 60_000:
        case.body["timeout_ms"] = 60_000
"""
"""Gives edits time: a slow machine rightly answers 504 if a request wants its answer in a tenth of a second."""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["laptop", "accounts"])  # accounts are in PostgreSQL if it is installed
def test_no_route_fails_on_any_request_of_its_description(
    where: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Requests that schemathesis makes of the description of the API have answers as it says, none of 500 and above."""
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    command = [sys.executable, "-m", "schemathesis.cli", "run", "--checks", checks]
    options = ["--max-examples", "20", "--phases", "examples,coverage,fuzzing", "--request-timeout", "60"]
    options += ["--exclude-path-regex", "/events$|/reload$"]  # streams that do not end; models that are loaded again
    if settings.default is not None and settings.default.derandomize:  # in `.ci/run`, as of all property tests
        options.append("--generation-deterministic")
    arguments: tuple[str, ...] = ("none", "--port", "0")
    if where != "laptop":
        url = request.getfixturevalue("server") if program("initdb") else str(tmp_path / "accounts.db")
        arguments = settings_with_accounts(tmp_path, url)
    with started(*arguments, folder=tmp_path) as (_, address):
        if where != "laptop":
            options += ["--header", f"Authorization: Bearer {new_key(address)}"]
        run = [*command, *options, f"{address}openapi.json"]
        (tmp_path / "patient.py").write_text(PATIENT)
        environment = {**os.environ, "SCHEMATHESIS_HOOKS": "patient"}
        done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        wait_until(lambda: is_ready(address))


@pytest.mark.slow
def test_the_example_opens_in_the_workbench(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "postedit", "demo", "--serve", "--port", "0", "--out", str(tmp_path)]
    environment = {**os.environ, "BROWSER": "true"}  # a program that shows nothing
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environment)
    try:
        assert process.stdout is not None
        page = next(line.split()[4] for line in process.stdout if line.startswith("The example is at "))
        address, _, project = page.partition("#/project/")
        with httpx.Client(base_url=address, timeout=300) as client:
            assert "<html" in client.get("/").text
            (file,) = client.get(f"/v1/projects/{project}/files").json()["files"]
            wait_until(lambda: client.get(f"/v1/files/{file['id']}").json()["state"] == "ready")
            listed = client.get(f"/v1/files/{file['id']}/segments", params={"limit": 5}).json()
            assert [one["number"] for one in listed["segments"]] == [1, 2, 3, 4, 5]
            assert all(one["src"] and one["mt"] for one in listed["segments"])
            assert listed["total"] == len((EXAMPLES / "mlqe-pe.en-zh/test.src").read_text("utf-8").splitlines())
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0
    finally:
        process.kill()
        process.communicate()
