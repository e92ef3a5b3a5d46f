"""Model processes: batches, deaths, retries, swaps, time-outs."""

import asyncio
import json
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from scripted import RunningService, serving, settings, specs

from postedit.core.editor import PostEdit, Segment
from postedit.core.errors import ModelFolderError, PosteditError
from postedit.serve import worker_pool
from postedit.serve.backlog import Backlog, EditedSegment, OverloadedError, WaitingSegment
from postedit.serve.batch_speeds import ClientDemands, Demand
from postedit.serve.engine import Engine
from postedit.serve.model_process import ModelProcess, ProcessDiedError
from postedit.serve.model_work import Done, EditKind, ProjectSettings
from postedit.serve.service_metrics import Metrics
from postedit.serve.worker_pool import WorkerPool


def texts(response: httpx.Response) -> list[str]:
    assert response.status_code == 200, response.text
    return [one["text"] for one in response.json()["results"]]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Yield a service with one model process, and room for few texts, of one client too."""
    limits = {"queue_tokens": 1000, "client_share": 1.0, "timeout_seconds": 300.0}
    with serving(settings(tmp_path_factory.mktemp("alone"), limits=limits)) as running:
        yield running


@pytest.mark.slow
def test_requests_that_wait_are_edited_together(alone: RunningService, tmp_path: Path) -> None:
    service = alone
    with ThreadPoolExecutor(20) as pool:
        gate = tmp_path / "gate"
        first = pool.submit(service.edit, f"until {gate}")
        service.wait_until(waiting=0)
        asked = [pool.submit(service.edit, f"m{number}") for number in range(10)]
        service.wait_until(waiting=10)
        gate.touch()
        assert texts(first.result()) == [f"until {gate}".upper()]
        others = [one.result() for one in asked]
        assert [texts(one) for one in others] == [[f"M{number}"] for number in range(10)]
        together = [-one.json()["results"][0]["score"] for one in others]
        assert together == [10] * 10, "score is the size of the batch"


def test_reading_settings_counts_for_the_time_of_a_request(
    service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, gate = service.app.state.service.engine, threading.Event()
    monkeypatch.setattr(engine, "project_settings", lambda _: gate.wait(30) and ProjectSettings())
    late = service.edit("late", project="default", timeout_ms=300)
    assert late.status_code == 504
    assert engine._backlog.empty, "its place is free"
    gate.set()
    assert texts(service.edit("in time", project="default")) == ["IN TIME"]


def test_a_batch_whose_process_dies_is_edited_all_the_same(service: RunningService, tmp_path) -> None:
    assert texts(service.edit("a", f"die once {tmp_path}/died", "b")) == ["A", f"DIE ONCE {tmp_path}/DIED".upper(), "B"]


@pytest.mark.slow
def test_a_deadly_segment_is_refused_and_others_are_not(service: RunningService) -> None:
    with ThreadPoolExecutor(4) as pool:
        deadly = pool.submit(service.edit, "die")
        others = [pool.submit(service.edit, f"sleep 0.{number}") for number in range(1, 4)]
        assert [texts(one.result()) for one in others] == [["SLEEP 0.1"], ["SLEEP 0.2"], ["SLEEP 0.3"]]
        assert deadly.result().status_code == 500
        assert "processes ended while they edited a segment" in deadly.result().json()["error"]["message"]
        assert texts(service.edit("after")) == ["AFTER"]


@pytest.mark.slow
def test_a_segment_at_fault_fails_its_own_request_alone(service: RunningService, tmp_path) -> None:
    with ThreadPoolExecutor(5) as pool:
        gate = tmp_path / "gate"
        block = [pool.submit(service.edit, f"until {gate}") for _ in range(2)]
        service.wait_until(waiting=0)
        failed, refused, good = (pool.submit(service.edit, mt) for mt in ("fail", "refuse", "good"))
        service.wait_until(waiting=3)
        gate.touch()
        assert [one.result().status_code for one in block] == [200, 200]
    assert failed.result().status_code == 500
    assert "secret" not in failed.result().text
    assert refused.result().status_code == 422
    assert refused.result().json()["error"]["message"] == "this is refused"
    assert texts(good.result()) == ["GOOD"]


def test_time_outs_free_the_place(alone: RunningService, tmp_path: Path) -> None:
    service = alone
    with ThreadPoolExecutor(2) as pool:
        gate = tmp_path / "gate"
        busy = pool.submit(service.edit, f"until {gate}")
        service.wait_until(waiting=0)
        late = service.edit(*["x" * 100] * 15, timeout_ms=200)
        assert late.status_code == 504
        assert "took more than 0.2 s" in late.json()["error"]["message"]
        other = pool.submit(service.edit, *["x" * 100] * 15)
        service.wait_until(waiting=15)
        gate.touch()
        assert other.result().status_code == 200, "the place is free again"
        assert busy.result().status_code == 200


@pytest.mark.slow
def test_a_process_that_hangs_is_ended_and_replaced(tmp_path) -> None:
    config = settings(tmp_path, limits={"batch_timeout_seconds": 1.0, "timeout_seconds": 300.0})
    with serving(config) as service:
        before, pool = service.worker, service.app.state.service.engine._pool
        assert service.edit("sleep 60", timeout_ms=1500).status_code == 504, "before its last process has hung"
        pool._limits = config.limits.model_copy(update={"batch_timeout_seconds": 300.0})  # the first answer takes long
        assert texts(service.edit("quick")) == ["QUICK"]
        assert service.worker != before


def test_a_client_that_goes_away_frees_its_place(alone: RunningService, tmp_path: Path) -> None:
    service = alone
    with ThreadPoolExecutor(1) as pool:
        gate = tmp_path / "gate"
        busy = pool.submit(service.edit, f"until {gate}")
        service.wait_until(waiting=0)
        backlog = service.app.state.service.engine._backlog
        before = backlog.held("interactive")
        body = json.dumps({"segments": [{"src": "s", "mt": "x" * 100}] * 5}).encode()
        head = "POST /v1/edit HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", httpx.URL(service.address).port)) as client:
            client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            service.wait_until(waiting=5)
        service.wait_until(waiting=0)
        assert backlog.held("interactive") == before, "before the model had time for it"
        gate.touch()
        assert busy.result().status_code == 200


def test_too_much_is_refused_with_the_time_to_come_back(alone: RunningService, tmp_path: Path) -> None:
    service = alone
    with ThreadPoolExecutor(1) as pool:
        gate = tmp_path / "gate"
        busy = pool.submit(service.edit, f"until {gate} " + "x" * 1500)
        service.wait_until(waiting=0)
        refused = service.edit(*["x" * 600] * 5)
        assert refused.status_code == 429
        assert int(refused.headers["Retry-After"]) >= 1
        assert service.edit(*["x" * 4000] * 5).status_code == 413
        gate.touch()
        assert busy.result().status_code == 200
        metrics = service.client.get("/metrics").text
        assert 'postedit_requests_total{method="POST",route="/v1/edit",status="429"} 1.0' in metrics
        assert 'postedit_queue_tokens{priority="interactive"} 0.0' in metrics


@pytest.mark.slow
def test_an_overload_refuses_what_waits_and_what_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"queue_seconds": 300.0, "timeout_seconds": 300.0}  # a slow machine is no overload
    with serving(settings(tmp_path, limits=limits)) as service, ThreadPoolExecutor(2) as pool:
        engine_pool = service.app.state.service.engine._pool
        assert service.edit("sleep 0.1").status_code == 200
        assert engine_pool.seconds_for("scripted", 10) == 0.0, "the first batch is not taken for the speed"
        assert service.edit("sleep 0.1").status_code == 200
        assert engine_pool.seconds_for("scripted", 10) > 0.0
        gate = tmp_path / "gate"
        busy = pool.submit(service.edit, f"until {gate}")
        service.wait_until(waiting=0)
        waiting = pool.submit(service.edit, "sleep 0.1")
        service.wait_until(waiting=1)
        monkeypatch.setattr(Demand, "is_excessive", lambda *_: True)
        assert waiting.result(timeout=300).status_code == 429, "others would be refused in its place"
        refused = service.edit("sleep 0.1")
        assert refused.status_code == 429
        assert int(refused.headers["Retry-After"]) >= 1
        gate.touch()
        assert busy.result().status_code == 200, "what is in work is answered"
        assert service.edit("a").status_code == 200, "an idle model does what it can"


def engine_that_does_nothing(folder: Path) -> Engine:
    """Return an engine that is not started, and whose clock of demand stands still."""
    config = settings(folder)
    engine = Engine(config, specs=specs(config))
    engine._pool._demands["scripted"] = Demand(lambda: 0.0)
    return engine


def test_many_requests_are_an_overload_and_a_large_one_is_none(tmp_path: Path) -> None:
    pool = engine_that_does_nothing(tmp_path)._pool
    pool._speeds["scripted"].add(10, 0.05)
    pool.ask("scripted", 1_000_000)
    assert not pool.is_overloaded("scripted")
    for _ in range(1000):
        pool.ask("scripted", 1_000)
    assert pool.is_overloaded("scripted")


def test_one_client_that_asks_too_much_does_not_keep_others_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_that_does_nothing(tmp_path)
    pool = engine._pool
    pool._clients["scripted"] = ClientDemands(lambda: 0.0)
    pool._speeds["scripted"].add(10, 0.05)
    for _ in range(1000):
        pool.ask("scripted", 10, "anna")
    pool.ask("scripted", 10, "ben")
    assert pool.is_overloaded("scripted")
    assert [pool.overloads("scripted", client) for client in ("anna", "ben", "eve")] == [True, False, False]
    monkeypatch.setattr(engine._backlog, "held", lambda *_: 50)  # a quarter of a second of work
    assert engine.seconds_until_free("anna") > 0.0
    assert engine.seconds_until_free("ben") == engine.seconds_until_free("eve") == 0.0
    with pytest.raises(OverloadedError):
        engine._check_wait("scripted", "interactive", 10, "anna")
    engine._check_wait("scripted", "interactive", 10, "ben")


@pytest.mark.parametrize("now", ["as before", "another"])
def test_a_process_that_restarts_with_another_model_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, now: str
) -> None:
    pool = engine_that_does_nothing(tmp_path)._pool
    dead, fresh = (SimpleNamespace(facts=SimpleNamespace(fingerprint=one), stop=int) for one in ("as before", now))
    worker = worker_pool._Worker("scripted", pool._specs["scripted"], 0, dead)  # type: ignore[arg-type]

    async def started(_: object) -> Any:
        return fresh

    monkeypatch.setattr(pool, "_started", started)
    asyncio.run(pool._restart(worker))
    assert worker.process is fresh
    assert ("another model (another, before: as before)" in caplog.text) == (now == "another")


@pytest.mark.parametrize("has_learnt", [False, True])
def test_the_time_of_learning_is_not_taken_for_the_speed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, has_learnt: bool
) -> None:
    """Requests would be refused for many minutes afterwards, as if the model were as slow as that."""
    caplog.set_level("INFO")
    pool = engine_that_does_nothing(tmp_path)._pool
    process = SimpleNamespace(
        facts=SimpleNamespace(fingerprint="f"),
        is_new=False,
        has_learnt=has_learnt,
        run=lambda work, _: Done([PostEdit("B", changed=True)] * len(work.segments), None),
    )
    worker = worker_pool._Worker("scripted", pool._specs["scripted"], 0, process)  # type: ignore[arg-type]

    async def edit() -> str:
        done: asyncio.Future[EditedSegment] = asyncio.get_running_loop().create_future()
        await pool._edit(worker, [WaitingSegment(Segment("a", "b"), EditKind("scripted"), "job", 9.0, "", done)])
        return done.result().result.text

    assert asyncio.run(edit()) == "B"
    assert bool(pool._speeds["scripted"]) != has_learnt
    assert ("a process of model scripted learnt and edited for" in caplog.text) == has_learnt


def test_batches_grow_from_one_to_the_next(tmp_path: Path) -> None:
    config = settings(tmp_path, model={"batch_seconds": 0.3, "batch_tokens": 100_000})
    pool = WorkerPool(specs(config), Backlog(10_000, 1.0), config.limits, Metrics())
    pool._demands["scripted"] = Demand(lambda: 0.0)  # of which nothing is done meanwhile
    pool.ask("scripted", 10)
    speeds = pool._speeds["scripted"]
    speeds.add(10, 0.01)  # a request alone
    speeds.add(6_000, 0.3)  # a batch of the usual time

    async def room(last_tokens: int) -> int:
        """Return the tokens of a batch that comes after one of so many."""
        loop = asyncio.get_running_loop()
        kind = EditKind("scripted", None, ProjectSettings(), 1, evidence=False)
        segment = WaitingSegment(Segment("a", "b"), kind, "interactive", loop.time() + 60, "", loop.create_future())
        worker = worker_pool._Worker("scripted", pool._specs["scripted"], 0, None, last_tokens=last_tokens)  # type: ignore[arg-type]
        return pool._batch_size(worker, segment)

    assert asyncio.run(room(0)) == 200, "as long as a request alone, at the speed of the largest batches"
    assert asyncio.run(room(500)) == 1_000, "an overload is known before batches are long"
    assert asyncio.run(room(5_000)) == 6_000
    for _ in range(1_000):
        pool.ask("scripted", 10)
    assert asyncio.run(room(5_000)) == 6_000, "what can be done in time is no overload"
    for _ in range(10_000):
        pool.ask("scripted", 10)
    assert asyncio.run(room(5_000)) == 200


def test_requests_that_are_refused_unread_count_for_an_overload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_that_does_nothing(tmp_path)
    pool = engine._pool
    pool.ask("scripted", 10)
    pool._speeds["scripted"].add(10, 0.01)
    for _ in range(1_000):
        assert engine.seconds_until_free() == 0.0
    assert not pool.is_overloaded("scripted"), "requests that may be accepted are counted when they are read"
    monkeypatch.setattr(Engine, "_excess", lambda *_: 1.0)
    for _ in range(1_000):
        assert engine.seconds_until_free() == 1.0
    assert pool.is_overloaded("scripted")


def kill_at_random(service: RunningService, kills: int, seed: int) -> list[httpx.Response]:
    """Return the answers to requests during which model processes are killed at random moments.

    No request is there during more kills than it may survive: on slow cores, each of them would hit the same segment.
    """
    rng, stop = random.Random(seed), threading.Event()
    pool_of_service = service.app.state.service.engine._pool
    answered = [0] * 4

    def ask(client: int) -> list[httpx.Response]:
        answers = []
        while not stop.is_set() or len(answers) < 5:  # on slow cores, processes start longer than they live
            answers.append(service.edit(f"a{client} {len(answers)}", "sleep 0.005", "b"))
            answered[client] += 1
        return answers

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask, number) for number in range(4)]
        try:
            for number in range(kills):
                if number % (worker_pool._MOST_DEATHS - 1) == 0:
                    before = answered.copy()
                    while any(map(int.__eq__, before, answered)) and not any(one.done() for one in asking):
                        time.sleep(0.01)
                while not any(worker.ready for worker in pool_of_service._workers):
                    time.sleep(0.01)
                time.sleep(rng.random() * 0.3)
                ready = [worker for worker in pool_of_service._workers if worker.ready]
                with suppress(IndexError, ProcessLookupError):  # none is, or it has ended before this
                    os.kill(rng.choice(ready).process.pid, signal.SIGKILL)
        finally:
            stop.set()  # else the clients, for which the pool waits, ask for ever
        return [answer for one in asking for answer in one.result()]


def check_all_answered(answers: list[httpx.Response]) -> None:
    assert len(answers) >= 20
    for answer in answers:
        first, _, last = texts(answer)
        assert first.startswith("A")
        assert last == "B"


@pytest.mark.slow
def test_no_request_is_lost_when_processes_are_killed(service: RunningService) -> None:
    check_all_answered(kill_at_random(service, 6, 1))


@pytest.mark.faults
def test_no_request_is_lost_when_processes_are_killed_50_times(service: RunningService) -> None:
    check_all_answered(kill_at_random(service, 50, 2))


@pytest.mark.slow
def test_no_request_is_lost_when_models_are_swapped(tmp_path, monkeypatch) -> None:
    config = settings(tmp_path, processes=2, limits={"timeout_seconds": 300.0})
    with serving(config) as service, ThreadPoolExecutor(4) as pool:
        stop, prints = threading.Event(), set[str]()

        def ask() -> None:
            while not stop.is_set():
                answer = service.edit("a", "sleep 0.01")
                assert texts(answer) == ["A", "SLEEP 0.01"]
                prints.add(answer.json()["fingerprint"])

        def wait_for(fingerprint: str) -> None:
            deadline = time.monotonic() + 300
            while fingerprint not in prints and not any(one.done() for one in asking) and time.monotonic() < deadline:
                time.sleep(0.01)

        asking = [pool.submit(ask) for _ in range(3)]
        try:
            old = service.client.get("/v1/models").json()["data"][0]["fingerprint"]
            wait_for(old)
            monkeypatch.setenv("SCRIPTED_VERSION", "2")
            answer = service.client.post("/v1/models/scripted/reload")
            assert answer.status_code == 200
            new = answer.json()["fingerprint"]
            assert new != old
            wait_for(new)
        finally:
            stop.set()
        assert [one.result() for one in asking] == [None] * 3
        assert prints == {old, new}
        assert service.edit("z").json()["fingerprint"] == new
        assert service.client.post("/v1/models/unknown/reload").status_code == 404


@pytest.mark.slow
def test_a_process_that_dies_idle_is_replaced_before_it_is_needed(service: RunningService) -> None:
    first = service.app.state.service.engine._pool._workers[0]
    deadline = time.monotonic() + 300
    while not (first.idle and first.process.alive) and time.monotonic() < deadline:
        time.sleep(0.05)  # until the process that an earlier test ended has been replaced
    before = service.worker
    os.kill(before, signal.SIGKILL)
    while service.worker == before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert service.worker != before
    assert texts(service.edit("a")) == ["A"]


def test_a_database_that_is_away_is_no_fault_of_a_segment(service: RunningService, caplog: Any) -> None:
    with caplog.at_level("ERROR", "postedit"):
        answer = service.edit("away", "b")
    assert answer.status_code == 503
    assert "the database cannot be used now" in answer.json()["error"]["message"]
    assert "postedit.db" not in answer.text
    assert "/srv/postedit.db: the disk is full" in caplog.text


@pytest.mark.parametrize(
    ("mt", "seconds", "sentence"),
    [
        ("no server", "30", "the server of the language model"),
        ("no budget", "3600", "the budget of the language model"),
    ],
)
def test_a_language_model_that_cannot_be_asked_says_when_to_come_back(
    service: RunningService, caplog: Any, mt: str, seconds: str, sentence: str
) -> None:
    with caplog.at_level("ERROR", "postedit"):
        answer = service.edit("b", mt)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, seconds)
    error = answer.json()["error"]
    assert (error["code"], error["message"].startswith(sentence)) == ("unavailable", True)
    assert "models.internal" not in answer.text
    assert ("models.internal" in caplog.text) == (mt == "no server")
    assert texts(service.edit("b")) == ["B"]


def test_after_a_refusal_of_a_language_model_nobody_is_told_to_come_back(service: RunningService, caplog: Any) -> None:
    with caplog.at_level("ERROR", "postedit"):
        answer = service.edit("b", "no key")
    assert answer.status_code == 502
    assert "Retry-After" not in answer.headers
    error = answer.json()["error"]
    assert error["code"] == "refused_by_endpoint"
    assert "until the administrator changes the key" in error["message"]
    assert "models.internal" not in answer.text
    assert "http://models.internal:8000: does not accept the key" in caplog.text


@pytest.mark.slow
def test_a_stop_waits_for_the_longest_request_that_was_accepted(tmp_path: Path) -> None:
    config = settings(tmp_path, limits={"timeout_seconds": 0.2})
    engine = Engine(config, specs=specs(config))

    async def stop() -> str:
        await engine.start()
        assert engine.seconds_to_answer() == 0.2
        edit = asyncio.create_task(engine.edit([Segment("a", f"until {gate}")], timeout=300))
        while engine.seconds_to_answer() == 0.2 and not edit.done():
            await asyncio.sleep(0.01)
        assert 200 < engine.seconds_to_answer() < 300
        stopping = asyncio.create_task(engine.stop())
        await asyncio.sleep(0.5)
        gate.touch()
        await stopping
        return (await edit).results[0].text

    gate = tmp_path / "gate"
    assert asyncio.run(stop()) == f"until {gate}".upper()


@pytest.mark.slow
def test_a_reload_that_is_given_up_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, loaded, made = settings(tmp_path), asyncio.Event(), list[ModelProcess]()
    engine = Engine(config, specs=specs(config))
    start = WorkerPool._started

    async def started(self: WorkerPool, spec: Any) -> ModelProcess:
        made.append(await start(self, spec))
        loaded.set()
        return made[-1]

    async def reload() -> None:
        await engine.start()
        (worker,) = engine._pool._workers
        monkeypatch.setattr(WorkerPool, "_started", started)
        async with worker.lock:  # as during a batch
            waiting = asyncio.create_task(engine.reload("scripted"))
            await loaded.wait()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        assert worker.process not in made
        assert worker.process.alive
        async with asyncio.timeout(120):
            while any(one.alive for one in made):
                await asyncio.sleep(0.05)
        await engine.stop()
        assert len(made) == 1

    asyncio.run(reload())


class _Dying(ModelProcess):
    def __init__(self, *_: Any) -> None:
        raise ProcessDiedError("ended with code -9")


def test_a_process_that_dies_while_it_loads_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "ModelProcess", _Dying)
    config = settings(tmp_path)
    engine = Engine(config, specs=specs(config))
    with pytest.raises(PosteditError, match="model scripted has not been started"):
        engine.facts("scripted")
    with pytest.raises(ModelFolderError, match=r"none: its process cannot be started.* ended with code -9"):
        asyncio.run(engine.start())


@pytest.mark.slow
def test_no_defect_costs_a_model_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [ValueError("a secret text"), BlockingIOError("no more processes")]

    def failing(*_: Any) -> None:
        raise failures.pop(0)

    def starting(*given: Any) -> ModelProcess:
        if failures:
            failing()
        monkeypatch.undo()
        return ModelProcess(*given)

    with serving(settings(tmp_path, limits={"timeout_seconds": 300.0})) as service:  # a new process takes a while
        monkeypatch.setattr(ModelProcess, "run", failing)
        monkeypatch.setattr(worker_pool, "ModelProcess", starting)
        failed = service.edit("a", timeout_ms=20_000)
        assert failed.status_code == 500
        assert "the model failed on a segment" in failed.json()["error"]["message"]
        assert texts(service.edit("a")) == ["A"]
        assert not failures
