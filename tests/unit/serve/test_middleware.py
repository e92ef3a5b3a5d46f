"""Ids, headers, and requests that are refused before they reach a route."""

import asyncio
import json
import logging
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from scripted import RunningService, serving, settings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from postedit.core.errors import OutputError
from postedit.serve.accounts import LOCAL, Caller
from postedit.serve.http_errors import HttpError
from postedit.serve.middleware import Gatekeeper, RequestLog
from postedit.serve.service_logs import FIELDS, JsonFormatter
from postedit.serve.service_metrics import Metrics


def behind_checks(
    data: Path, metrics: Metrics | None = None, wait: Callable[[], float] = float, **given: Any
) -> TestClient:
    """Return what asks, through the checks of the service, routes that read their body and answer with its length.

    Keys and cookies are good if "good" is in them; `wait` returns the seconds until a model is free.
    """

    async def identify(request: Request) -> Caller:
        if "good" not in str(request.headers):
            raise HttpError(401, "nobody knows you")
        return LOCAL

    async def read(request: Request) -> PlainTextResponse:
        return PlainTextResponse(str(len(await request.body())))

    app = Starlette(routes=[Route("/{path:path}", read, methods=["GET", "POST", "BREW"])])
    config = settings(data, **given)
    app.add_middleware(Gatekeeper, config=config, seconds_until_free=lambda _: wait(), identify=identify)
    app.add_middleware(RequestLog, metrics=metrics or Metrics(), log_requests=False)
    return TestClient(app, base_url="http://127.0.0.1")


def test_answers_have_ids_and_safe_headers(service: RunningService) -> None:
    headers = service.client.get("/healthz", headers={"X-Request-ID": "abc-1"}).headers
    assert headers["X-Request-ID"] == "abc-1"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["Cache-Control"] == "no-store"
    assert "server" not in headers


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/v1/models"])
def test_whatever_is_read_may_be_asked_for_its_head_alone(service: RunningService, path: str) -> None:
    head, whole = service.client.head(path), service.client.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == whole.headers["Content-Length"]


@pytest.mark.parametrize("coding", ["gzip", "br", "aws-chunked, gzip"])
def test_bodies_that_are_compressed_are_refused_as_such(service: RunningService, coding: str) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": coding}
    answer = service.client.post("/v1/edit", content=b"\x1f\x8b", headers=headers)
    assert answer.status_code == 415
    assert f"the body is encoded as '{coding}' (Content-Encoding)" in answer.json()["error"]["message"]
    plain = {"Content-Type": "application/json", "Content-Encoding": "identity"}
    assert service.client.post("/v1/edit", content=b'{"segments": []}', headers=plain).status_code == 200


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "a\tb", "<script>"])
def test_ids_that_are_not_sane_are_replaced(service: RunningService, given: str) -> None:
    assert len(service.client.get("/healthz", headers={"X-Request-ID": given}).headers["X-Request-ID"]) == 32


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "[", ""])
def test_other_hosts_are_refused_on_a_machine_that_serves_itself(service: RunningService, host: str) -> None:
    answer = service.client.get("/healthz", headers={"Host": host})
    assert answer.status_code in (400, 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1234", "127.0.0.1", "[::1]:80"])
def test_names_of_this_machine_are_welcome(service: RunningService, host: str) -> None:
    assert service.client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["A.Example", "a.example:443", "[fd00::1]:80", "localhost"])
def test_hosts_of_the_settings_are_known_in_capitals_too(tmp_path: Path, host: str) -> None:
    client = behind_checks(tmp_path, hosts=["a.EXAMPLE", "[FD00::1]"])
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://evil.example", "Authorization": "Bearer x"},
    ],
)
def test_pages_of_other_sites_cannot_change_anything(service: RunningService, headers: dict[str, str]) -> None:
    body = {"segments": []}
    assert service.client.post("/v1/edit", json=body, headers=headers).status_code == 403
    assert service.client.get("/v1/models", headers=headers).status_code == 200, "answers cannot be read there"


@pytest.mark.parametrize("header", ["Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "x-forwarded-host"])
def test_requests_through_a_proxy_are_refused_where_nobody_signs_in(tmp_path: Path, header: str) -> None:
    refused = behind_checks(tmp_path).get("/v1/projects", headers={header: "192.0.2.1"})
    assert refused.status_code == 403
    assert "name the proxy under proxies" in refused.json()["error"]["message"]
    proxied = behind_checks(tmp_path, proxies=["127.0.0.1"])
    assert proxied.get("/v1/projects", headers={header: "192.0.2.1"}).status_code == 200, "a route asks who it is"


def test_only_a_key_that_counts_is_not_of_a_page(tmp_path: Path) -> None:
    client = behind_checks(tmp_path, auth={"required": True})
    for key, status in (("Bearer good", 200), ("Basic good", 403)):
        headers = {"Origin": "http://evil.example", "Authorization": key}
        assert client.post("/v1/edit", headers=headers).status_code == status


def test_large_bodies_are_for_uploads_of_files_alone(tmp_path: Path) -> None:
    client = behind_checks(tmp_path, limits={"body_bytes": 1024, "file_bytes": 4096})
    for path, status in (
        ("/v1/projects/default/files", 200),
        ("/v1/jobs", 200),
        ("/v1/edit", 413),
        ("/v1/jobs/x", 413),
        ("/v1/projects/default/corrections/import", 200),
    ):
        assert client.post(path, files={"file": b"x" * 2000}).status_code == status, path


def test_corrections_are_imported_up_to_the_size_of_files(tmp_path: Path) -> None:
    client = behind_checks(tmp_path, limits={"body_bytes": 1024, "file_bytes": 4096})
    for size, status in ((2000, 200), (5000, 413)):
        answer = client.post("/v1/projects/default/corrections/import", content=b"x" * size)
        assert answer.status_code == status, size


def test_bodies_of_those_who_send_neither_key_nor_cookie_are_not_read(tmp_path: Path) -> None:
    client = behind_checks(tmp_path, auth={"required": True}, limits={"body_bytes": 1024})
    refused = client.post("/v1/edit", content=b"x" * 2000)
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"] == "Bearer"
    for name, start in (("Authorization", "Bearer "), ("Cookie", "postedit_session=")):
        for value, status in (("good", 200), ("junk", 401)):
            assert client.post("/v1/edit", headers={name: start + value}).status_code == status, (name, value)
    assert client.post("/v1/session").status_code == 200
    assert client.get("/healthz").status_code == 200


def test_nothing_is_read_of_uploads_of_those_whom_nobody_knows(tmp_path: Path) -> None:
    client = behind_checks(tmp_path, auth={"required": True})
    for name, start in (("Authorization", "Bearer "), ("Cookie", "postedit_session=")):
        for value, status in (("junk", 401), ("good", 200)):
            headers = {name: start + value, "Content-Type": "multipart/form-data; boundary=x"}
            answer = client.post("/v1/projects/default/files", headers=headers, content=b"x" * 1000)
            assert answer.status_code == status, (name, value)


def test_few_uploads_are_received_at_a_time(tmp_path: Path) -> None:
    async def ask() -> list[int]:
        release, begun = asyncio.Event(), asyncio.Event()

        async def slowly(scope: Any, receive: Any, send: Any) -> None:
            begun.set()
            await release.wait()
            await PlainTextResponse("done")(scope, receive, send)

        app = Gatekeeper(slowly, settings(tmp_path, limits={"uploads": 1}), lambda _: 0.0, nobody)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            upload = partial(client.post, "/v1/jobs", files={"file": b"x"})
            first = asyncio.create_task(upload())
            await begun.wait()
            refused = await upload()
            assert int(refused.headers["Retry-After"]) >= 1
            release.set()
            return [refused.status_code, (await first).status_code, (await upload()).status_code]

    async def nobody(request: Request) -> Caller:
        return LOCAL

    assert asyncio.run(ask()) == [429, 200, 200]


def test_one_user_with_many_keys_leaves_room_for_uploads_of_others(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def slowly(scope: Any, receive: Any, send: Any) -> None:
        await release.wait()
        await PlainTextResponse("done")(scope, receive, send)

    async def identify(request: Request) -> Caller:
        user, number = request.headers["authorization"].split()[1].split("-")
        request.state.caller = Caller(user, f"key {number}", user)
        return request.state.caller

    async def ask() -> tuple[list[int], list[int]]:
        config = settings(tmp_path, auth={"required": True}, limits={"uploads": 4})
        app = Gatekeeper(slowly, config, lambda _: 0.0, identify)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:

            def send(key: str) -> asyncio.Task[httpx.Response]:
                headers = {"Authorization": f"Bearer {key}"}
                return asyncio.create_task(client.post("/v1/jobs", files={"file": b"x"}, headers=headers))

            sent = [send(f"anna-{number}") for number in range(4)] + [send("ben-4")]
            while sum(one.done() for one in sent) < 2:
                await asyncio.sleep(0)
            release.set()
            first = [(await one).status_code for one in sent]
            return first, [(await send(f"anna-{number}")).status_code for number in range(3)]

    first, later = asyncio.run(asyncio.wait_for(ask(), 300))
    assert (first, later) == ([200, 200, 429, 429, 200], [200, 200, 200])


def test_only_those_who_are_known_count_as_demand(tmp_path: Path) -> None:
    asked = count()
    client = behind_checks(tmp_path, wait=lambda: next(asked) + 1.0, auth={"required": True})
    for headers in ({}, {"Authorization": "Bearer junk"}, {"Cookie": "postedit_session=junk"}):
        assert client.post("/v1/edit", headers=headers).status_code == 401
    assert client.post("/translate", headers={}).status_code == 200, "its route finds out who asks"
    assert next(asked) == 0
    for _ in range(3):
        assert client.post("/v1/edit", headers={"Authorization": "Bearer good"}).status_code == 429
    assert next(asked) == 4


@pytest.mark.parametrize(("required", "expected"), [(True, ["user anna"] * 3), (False, ["local"] * 3)])
def test_it_is_known_for_whom_a_model_may_be_free(tmp_path: Path, required: bool, expected: list[str]) -> None:
    asked: list[str] = []

    async def identify(request: Request) -> Caller:
        return Caller("anna", "key 1", "anna")

    app = Gatekeeper(
        PlainTextResponse("done"),
        settings(tmp_path, auth={"required": required}),
        lambda client: asked.append(client) or 0.0,  # type: ignore[func-returns-value]
        identify,
    )
    client = TestClient(app, base_url="http://127.0.0.1")
    for _ in expected:
        assert client.post("/v1/edit", headers={"Authorization": "Bearer x"}).status_code == 200
    assert asked == expected


def test_methods_that_clients_invent_are_one_in_metrics(tmp_path: Path) -> None:
    metrics = Metrics()
    behind_checks(tmp_path, metrics).request("BREW", "/")
    assert b'method="other"' in metrics.text()
    assert b"BREW" not in metrics.text()


def of_service(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Return what a service has logged, but for model processes, which other tests may have ended."""
    own = (one for one in caplog.records if one.name.startswith("postedit"))
    return [one for one in own if one.name != "postedit.serve.worker_pool"]


@pytest.mark.parametrize(
    "path",
    ["/v1/edit", "/translate", "/v1/projects/default/files", "/v1/projects/default/corrections/import"],
)
def test_a_client_that_goes_while_it_sends_is_no_failure(
    service: RunningService, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    kind = "multipart/form-data; boundary=x" if path.endswith("files") else "application/json"
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\nContent-Length: 1000\r\n\r\n--x"
    with caplog.at_level(logging.INFO, "postedit"):
        with socket.create_connection(("127.0.0.1", int(service.address.rpartition(":")[2]))) as client:
            client.sendall(head.encode())
            time.sleep(0.2)  # until the body is being read
        until = time.monotonic() + 600
        while not (said := of_service(caplog)) and time.monotonic() < until:
            time.sleep(0.02)
    (found,) = (vars(record).get(FIELDS, {}) for record in said)
    assert (found["path"], found["status"]) == (path, 499)


def test_an_answer_that_is_cut_short_is_noticed(
    service: RunningService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = service.app.state.service.store

    def away(*_: Any) -> Iterator[bytes]:
        yield b"{}\n"
        raise OutputError("the disk is full")

    with caplog.at_level(logging.WARNING):
        monkeypatch.setattr(store.exports, "corrections", away)
        with pytest.raises(httpx.RemoteProtocolError):
            service.client.get("/v1/projects/default/corrections/export")
        monkeypatch.setattr(store.projects, "events", lambda *_: list(away()))
        events = service.client.get("/v1/projects/default/events")
    assert events.text.endswith(": \n\n"), "a stream of events has a proper end; the client asks for more"
    said = [record.getMessage() for record in of_service(caplog)]
    assert said == ["an answer was cut short: the disk is full", "a stream of events ends: the disk is full"]
    assert "Traceback" not in caplog.text
    assert "RuntimeError" not in caplog.text


def test_own_pages_may_change_things(service: RunningService) -> None:
    for headers in ({"Sec-Fetch-Site": "same-origin"}, {"Origin": service.address}, {"Sec-Fetch-Site": "none"}):
        assert service.client.post("/v1/edit", json={"segments": []}, headers=headers).status_code == 200


def test_refused_requests_for_models_count_at_their_routes(tmp_path: Path) -> None:
    """Else nobody could see in the metrics how many requests a busy model turns away; paths of others are any words."""
    metrics = Metrics()
    client = behind_checks(tmp_path, metrics, lambda: 5.0, limits={"body_bytes": 1024})
    for path, size, status in (("/v1/edit", 1, 429), ("/v1/edit", 2000, 413), ("/any/word", 2000, 413)):
        assert client.post(path, content=b"a" * size).status_code == status
    text = metrics.text().decode()
    for route, status in (("/v1/edit", 429), ("/v1/edit", 413), ("none", 413)):
        assert f'postedit_requests_total{{method="POST",route="{route}",status="{status}"}} 1.0' in text


@pytest.mark.slow
def test_many_requests_of_a_client_are_refused_for_a_while(tmp_path) -> None:
    limits = {"requests_per_second": 0.01, "burst": 3}
    with serving(settings(tmp_path, limits=limits)) as service:
        answers = [service.client.get("/healthz") for _ in range(5)]
        assert [one.status_code for one in answers] == [200] * 3 + [429] * 2
        assert int(answers[3].headers["Retry-After"]) >= 1


def test_logs_are_json_with_ids_and_without_texts(service: RunningService, caplog) -> None:
    with caplog.at_level(logging.INFO, "postedit"):
        service.client.post(
            "/v1/edit", json={"segments": [{"src": "a secret", "mt": "fail"}]}, headers={"X-Request-ID": "log-1"}
        )
    lines = [JsonFormatter().format(record) for record in caplog.records if record.name.startswith("postedit")]
    assert "secret" not in "".join(lines)
    request = next(found for line in lines if (found := json.loads(line))["message"] == "request")
    assert request["status"] == 500
    assert request["path"] == "/v1/edit"
    assert any("could not be edited" in line for line in lines), "the log says where it failed"


LOGS = """
import logging, warnings
from postedit.cli.main import show_log
from postedit.serve.service_logs import set_up_logs
from postedit.serve.settings import LogConfig
show_log("postedit.compiled")
set_up_logs(LogConfig(level={level!r}))
logging.getLogger("python_multipart.multipart").warning("of a library")
logging.getLogger("python_multipart.multipart").info("not said")
logging.getLogger("postedit.compiled").info("compiling")
logging.getLogger("postedit.serve.x").info("of the service")
logging.getLogger("uvicorn.error").error("of the server")
warnings.warn("a warning")
"""


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (
            "info",
            ["of a library", "compiling", "of the service", "of the server", "<string>:13: UserWarning: a warning\n"],
        ),
        ("warning", ["of a library", "compiling", "of the server", "<string>:13: UserWarning: a warning\n"]),
        ("error", ["of the server"]),
    ],
)
def test_whatever_is_logged_is_a_line_of_json(level: str, expected: list[str]) -> None:
    command = [sys.executable, "-c", LOGS.format(level=level)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = [json.loads(line)["message"] for line in done.stderr.splitlines()]
    assert [one.split("\n")[0] for one in found] == [one.strip() for one in expected]


@pytest.mark.slow
def test_texts_are_logged_if_asked_for(tmp_path, caplog) -> None:
    with serving(settings(tmp_path, log={"texts": True})) as service, caplog.at_level(logging.INFO, "postedit"):
        service.edit("to be seen")
    assert any("TO BE SEEN" in JsonFormatter().format(record) for record in caplog.records)
