"""Shared by the tests of the service: an engine without a model, files, and requests that take several steps."""

import asyncio
import io
import json
import random
import re
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
import sqlalchemy as sql
from fastapi import FastAPI
from fastapi.testclient import TestClient

from postedit.core.editor import Edit, PostEdit, Segment
from postedit.core.errors import OutputError
from postedit.serve import api_answers, compat_answers, file_jobs
from postedit.serve.engine import EditedSegments, Engine
from postedit.serve.file_jobs import FileJobs
from postedit.serve.schema import decisions, segments
from postedit.serve.segment_codes import ApiCode
from postedit.serve.settings import ServeConfig, parse_settings
from postedit.serve.store import Store
from postedit.serve.store_base import Row, rows_of
from postedit.serve.store_decisions import DecisionIn, StaleVersionError
from postedit.serve.store_jobs import JobKind


class WordEngine(Engine):
    """Replaces words: "die" by "das", and others as corrections with the same number of words have replaced them."""

    store: Store

    async def start(self) -> None:
        pass

    async def stop(self) -> None:
        pass

    def learns(self, model: str | None) -> bool:
        return True

    def languages(self, model: str | None) -> tuple[str, str]:
        self._check_model(model or "words")
        return "en", "de"

    async def edit(self, segments: Sequence[Segment], *, project: str | None = None, **_: Any) -> EditedSegments:
        memory = self.store.memory.of(project or "default")
        position = memory.position
        words = {"die": "das"}
        for entry in memory.corrections():
            mt, pe = entry.correction.mt.split(), entry.correction.pe.split()
            if len(mt) == len(pe):
                words.update((one, other) for one, other in zip(mt, pe, strict=True) if one != other)
        return EditedSegments([replaced(one.mt or "", words) for one in segments], "words", "0", position)


def replaced(mt: str, words: dict[str, str]) -> PostEdit:
    """Return the result of an editor that replaces the words in `words`."""
    text, edits, at = "", [], 0
    for number, word in enumerate(mt.split(" ")):
        text += " " if number else ""
        at += 1 if number else 0
        new = words.get(word, word)
        if new != word:
            edits.append(Edit("replace", (at, at + len(word)), (len(text), len(text) + len(new))))
        text, at = text + new, at + len(word)
    return PostEdit(
        text, bool(edits), edits=tuple(edits), confidences=(0.75,) * len(edits), token_spans=((0, 0),) * len(edits)
    )


def config_of(place: str, tmp_path: Path, **values: Any) -> ServeConfig:
    models = {"words": {"path": "none"}}
    return parse_settings({"models": models, "database": place, "data": str(tmp_path), **values}, "test")


_described: list[tuple[str, re.Pattern[str], dict[str, Any]]] = []
"""Method, path and answers of each route; the same for all services, so they are computed once."""


def answer_check(app: FastAPI) -> Callable[[httpx.Response], None]:
    """Return a function that checks that OpenAPI describes a response: its status, and all of its fields."""
    if not _described:
        for path, methods in app.openapi()["paths"].items():
            pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", path))
            _described.extend((method.upper(), pattern, one["responses"]) for method, one in methods.items())

    def check(response: httpx.Response) -> None:
        asked = response.request
        for method, pattern, answers in _described:
            if method != asked.method or not pattern.fullmatch(asked.url.path):
                continue
            status = str(response.status_code)
            assert status in answers, f"describe status {status} of {method} {pattern.pattern}"
            schema = answers[status].get("content", {}).get("application/json", {})
            name = schema.get("schema", {}).get("$ref", "").rpartition("/")[2]
            model = getattr(api_answers, name, None) or getattr(compat_answers, name, None)
            if model is not None and not response.headers["content-type"].startswith("text/event-stream"):
                given = json.loads(response.read())
                found = model.model_validate(given, strict=True)
                assert found.model_dump(exclude_unset=True) == given, f"describe all fields of {name}"
            return  # the first route that matches answers

    return check


XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
 <file original="a.txt" source-language="en" target-language="de" datatype="plaintext"><body>
{units}
 </body></file>
</xliff>
"""


def unit(number: int, source: str, target: str, attributes: str = "") -> str:
    written = f"<target>{target}</target>" if target else ""
    return f'  <trans-unit id="{number}"{attributes}><source>{source}</source>{written}</trans-unit>'


def xliff(*pairs: tuple[str, str]) -> bytes:
    """Return an XLIFF file with a unit for each pair of source and target; without a target if that is empty."""
    units = "\n".join(unit(number, *pair) for number, pair in enumerate(pairs, 1))
    return XLIFF.format(units=units).encode()


PAIRS = (
    ("the house", "die Haus"),
    ('the <g id="1">red</g> house', 'die <g id="1">rote</g> Haus'),
    ("the house", "die Haus"),
    ("a tree", "ein Baum"),
    ("a new tree &gt; 5", ""),
)


def imported(store: Store, content: bytes, name: str = "a.xlf", project: str = "default") -> str:
    """Add a file to a project, read its segments, and return its id."""
    with store.database.change(project, "anna") as change:
        file = store.files.create(change, name, io.BytesIO(content))
        store.jobs.add(change, "import", file)
    job = store.jobs.claim()
    assert job is not None
    assert job.file == file
    jobs = FileJobs(store, WordEngine(config_of("", Path())))
    jobs._read(job, store.files.row(file))
    jobs._end(job)
    return file


def added_job(store: Store, project: str, content: bytes = b"", kind: JobKind = "edit") -> str:
    """Add a file and a job on it to a project, and return the id of the job."""
    with store.database.change(project, "anna") as change:
        file = store.files.create(change, "a.xlf", io.BytesIO(content or xliff(*PAIRS)))
        return store.jobs.add(change, kind, file)


def decision(store: Store, file: str, number: int, target: str, **values: Any) -> DecisionIn:
    """Return a decision that confirms `target` for a segment as it is now, with the codes of its target or else mt."""
    segment = store.segments.get(file, number)
    codes = [ApiCode(one["at"], one["id"], one["kind"]) for one in segment["target_codes"] or segment["mt_codes"]]
    given = {"codes": codes, "state": "confirmed", "version": segment["version"], "edit_id": uuid.uuid4().hex}
    return DecisionIn(target, **{**given, **values})


def save_for_ever(place: str, file: str, seed: int, count: int, acknowledged: Connection) -> None:
    """Save decisions on random segments among the first `count` until killed, and acknowledge each once saved."""
    store, rng = _opened(place), random.Random(seed)
    while True:
        number, target = rng.randint(1, count), f"target {rng.random()}"
        try:
            given = decision(store, file, number, target, state=rng.choice(["confirmed", "confirmed", "draft"]))
            saved = store.decisions.save(file, number, given, str(seed))
        except (StaleVersionError, OutputError):
            continue
        acknowledged.send((number, given.edit_id, saved.correction, target))


def _opened(place: str) -> Store:
    """Open a database to which others write without pause; on a loaded machine, they may lock it for a long time."""
    for _ in range(3):
        with suppress(OutputError):
            return Store(place)
    return Store(place)


Saved = tuple[int, str, int | None, str]
"""An acknowledged decision: number of the segment, id of the decision, number of the correction or None, target."""


def _wait_for_killed(store: Store) -> None:
    """Wait until PostgreSQL has finished the requests of killed processes, which it may still commit."""
    if store.database.engine.dialect.name != "postgresql":
        return
    others = "pid <> pg_backend_pid() AND datname = current_database() AND state <> 'idle'"
    question = sql.text(f"SELECT count(*) FROM pg_stat_activity WHERE {others}")
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        with store.database.engine.connect() as connection:
            if connection.execute(question).scalar_one() == 0:
                return
        time.sleep(0.01)
    raise AssertionError("a killed process has been at work for five minutes")


def check_saved(store: Store, file: str, acknowledged: list[Saved]) -> None:
    """Check that each acknowledged decision was saved, and that segments, decisions and memory agree."""
    _wait_for_killed(store)
    with store.database.read() as connection:
        rows = rows_of(connection, sql.select(decisions).order_by(decisions.c.number))
        now = {row["number"]: row for row in rows_of(connection, sql.select(segments).where(segments.c.file == file))}
    saved = {row["edit_id"]: row for row in rows if not row["filled_from"]}
    histories: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        histories[row["segment"]].append(row)
    for number, edit_id, correction, target in acknowledged:
        if edit_id not in saved:  # a draft that the same person's next decision has replaced
            assert correction is None
            assert any(one["state"] == "draft" for one in histories[number])
            continue
        row = saved[edit_id]
        assert (row["segment"], row["correction"], row["target"]) == (number, correction, target)
    learnt = {one.number: one.correction for one in store.memory.of("default").corrections()}
    assert set(learnt) == {row["correction"] for row in now.values() if row["correction"] is not None}
    for row in now.values():
        history = histories[row["number"]]
        versions = [0, *(one["version"] for one in history)]
        assert versions[-1] == row["version"]
        for before, one in zip(versions, history, strict=False):
            assert one["version"] == before + 1 or (one["state"] == "draft" and one["version"] > before)
        if history:
            assert (row["target"], row["state"]) == (history[-1]["target"], history[-1]["state"])
        if row["correction"] is not None:
            assert learnt[row["correction"]].pe == row["target"]
            assert row["state"] == "confirmed"
        elif row["state"] == "confirmed":
            assert row["filled_from"] is not None


def work_for_ever(place: str, slowness: float) -> None:
    """Work on jobs with an engine that takes `slowness` seconds per batch; if killed, it soon counts as dead.

    Not too soon: on a loaded machine, signs of life are late, and a job that is taken over too often is given up.
    """
    file_jobs._DEAD_SECONDS, file_jobs._BEAT_SECONDS, file_jobs._POLL_SECONDS = 5.0, 0.5, 0.3

    class SlowEngine(WordEngine):
        async def edit(self, segments: Sequence[Segment], **options: Any) -> EditedSegments:
            await asyncio.sleep(slowness)
            return await super().edit(segments, **options)

    async def work() -> None:
        engine = SlowEngine(config_of(place, Path()))
        engine.store = Store(place)
        FileJobs(engine.store, engine).start()
        await asyncio.Event().wait()

    asyncio.run(work())


def upload(client: TestClient, content: bytes, name: str = "a.xlf", project: str = "default") -> str:
    """Add a file, wait for its proposals, and return its id."""
    response = client.post(f"/v1/projects/{project}/files", files={"file": (name, content)})
    assert response.status_code == 202, response.text
    found = wait_for(client, response.json()["job"]["id"])
    assert found["state"] == "done", found
    return str(response.json()["file"]["id"])


def wait_for(client: TestClient, job: str) -> dict[str, Any]:
    for _ in range(12_000):
        found: dict[str, Any] = client.get(f"/v1/jobs/{job}").json()
        if found["state"] not in ("waiting", "running"):
            return found
        time.sleep(0.05)
    raise AssertionError(found)


def decide(client: TestClient, file: str, number: int, target: str, **values: Any) -> Any:
    """Save a decision on a segment as it is now, and return the response."""
    segment = client.get(f"/v1/files/{file}/segments/{number}").json()
    body = {
        "target": target,
        "codes": segment["target_codes"] or segment["mt_codes"],
        "state": "confirmed",
        "version": segment["version"],
        "edit_id": f"{number} {time.monotonic_ns()}",
        **values,
    }
    return client.put(f"/v1/files/{file}/segments/{number}", json=body)
