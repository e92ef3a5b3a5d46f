"""Three services on one PostgreSQL behind a proxy, killed in all their parts while people and programs use them."""

import random
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from postgresql_server import PostgresqlServer
from replicas import Proxy, Replica, replicas
from serve_tools import Saved, check_saved, xliff

from postedit.serve.store import Store

PAIRS = [(f"source {number} {number % 7}", f"mt {number % 7} word") for number in range(40)]
SMALL = xliff(("the house", "die Haus"), ("a tree", "ein Baum"))
KILLS, FEW_KILLS = 50, 9
PATIENCE = 900.0  # seconds until something must have been answered, however often parts were killed, on a busy machine


class Asker:
    """A client that asks until it is answered, as a page in a browser does."""

    def __init__(self, address: str) -> None:
        self._http = httpx.Client(base_url=address, timeout=60)

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        """Return the first answer that is no refusal for now."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                answer = self._http.request(method, path, **given)
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            if answer.status_code not in (429, 500, 502, 503, 504):
                return answer
            assert answer.status_code != 500, answer.text
            time.sleep(0.05)
        raise AssertionError(f"{method} {path} was not answered in {PATIENCE:.0f} s")

    def save(self, file: str, number: int, target: str, state: str = "confirmed") -> Saved | None:
        """Save a decision on a segment; None if somebody else was faster."""
        path = f"/v1/files/{file}/segments/{number}"
        segment = self.ask("GET", path).json()
        edit = uuid.uuid4().hex
        body = {"target": target, "codes": [], "state": state, "version": segment["version"], "edit_id": edit}
        answer = self.ask("PUT", path, json=body)
        if answer.status_code == 409:
            return None
        assert answer.status_code == 200, answer.text
        return number, edit, answer.json()["correction"], target

    def upload(self) -> tuple[str, str]:
        """Add a file, and return the ids of the file and of its job."""
        answer = self.ask("POST", "/v1/projects/default/files", files={"file": ("a.xlf", SMALL)}).json()
        return answer["file"]["id"], answer["job"]["id"]

    def wait_for(self, job: str) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found: dict[str, Any] = self.ask("GET", f"/v1/jobs/{job}").json()
            if found["state"] not in ("waiting", "running"):
                return found
            time.sleep(0.2)
        raise AssertionError(found)


def people(asker: Asker, file: str, seed: int, stop: threading.Event, least: int) -> list[Saved]:
    """Decide on random segments until told to stop; return what was acknowledged.

    On a slow machine, parts are killed faster than they are started: at least so many decisions are made all the same.
    """
    rng, saved = random.Random(seed), []
    while not stop.is_set() or len(saved) < least:
        state = rng.choice(["confirmed", "confirmed", "draft"])
        if (one := asker.save(file, rng.randint(1, len(PAIRS)), f"target {rng.random()}", state)) is not None:
            saved.append(one)
    return saved


def programs(asker: Asker, stop: threading.Event, least: int) -> int:
    """Ask for edits, as `people` decide; return how many requests were answered, each with all its segments."""
    body = {"segments": [{"src": src, "mt": mt} for src, mt in PAIRS[:8]], "project": "default"}
    answered = 0
    while not stop.is_set() or answered < least:
        answer = asker.ask("POST", "/v1/edit", json=body)
        assert answer.status_code == 200, answer.text
        assert len(answer.json()["results"]) == 8
        answered += 1
    return answered


def uploads(asker: Asker, stop: threading.Event) -> list[tuple[str, str]]:
    found = []
    while not stop.wait(1.0):
        found.append(asker.upload())
    return found


def kill_parts(services: list[Replica], server: PostgresqlServer, turns: int) -> None:
    """Kill a service, a model process or the database at random moments; what is killed comes back at once."""
    rng = random.Random(turns)

    def service() -> None:
        one = rng.choice(services)
        one.kill()
        one.start()

    def database() -> None:
        server.kill()
        server.start()

    def model() -> None:
        rng.choice(services).kill_model(rng)

    kinds: list[Callable[[], None]] = [service, model, database]
    for turn in range(turns):
        time.sleep(rng.random())
        kinds[turn % 3]()


def break_replicas(server: PostgresqlServer, folder: Path, turns: int) -> None:
    stop = threading.Event()
    with replicas(server.url, folder, 3) as services, Proxy(services).running() as address:
        first = Asker(address)
        content = ("pairs.xlf", xliff(*PAIRS))
        made = first.ask("POST", "/v1/projects/default/files", files={"file": content}).json()
        file = made["file"]["id"]
        assert first.wait_for(made["job"]["id"])["state"] == "done"
        with ThreadPoolExecutor(4) as pool:
            saving = [pool.submit(people, Asker(address), file, seed, stop, turns) for seed in range(2)]
            editing = pool.submit(programs, Asker(address), stop, turns + 1)
            adding = pool.submit(uploads, Asker(address), stop)
            try:
                kill_parts(services, server, turns)
            finally:
                stop.set()
        saved = [one for each in saving for one in each.result()]
        assert len(saved) > turns
        assert editing.result() > turns
        for each, job in adding.result():
            assert first.wait_for(job)["state"] == "done"
            assert first.ask("GET", f"/v1/files/{each}").json()["state"] == "ready"
        for number in range(1, len(PAIRS) + 1):
            one = first.save(file, number, f"end {number}")
            assert one is not None
            saved.append(one)
        store = Store(server.url)
        check_saved(store, file, saved)
        store.close()


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_in_some_kills_of_three_services(
    own_server: PostgresqlServer, tmp_path: Path
) -> None:
    break_replicas(own_server, tmp_path, FEW_KILLS)


@pytest.mark.faults
def test_nothing_acknowledged_is_lost_in_fifty_kills_of_three_services(
    own_server: PostgresqlServer, tmp_path: Path
) -> None:
    break_replicas(own_server, tmp_path, KILLS)
