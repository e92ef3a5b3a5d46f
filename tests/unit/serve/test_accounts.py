"""Who may do what: every route, with keys of others."""

import io
import itertools
import json
import logging
import os
import re
import stat
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from pydantic import TypeAdapter, ValidationError
from serve_tools import PAIRS, xliff
from sqlalchemy import event

from postedit.cli.serve import _create_admin
from postedit.core.errors import DataError, OutputError
from postedit.serve import accounts, event_hub, routes_jobs, routes_workbench
from postedit.serve.account_limits import Throttle
from postedit.serve.accounts import COOKIE, CSRF_HEADER
from postedit.serve.api_types import Name, user_name
from postedit.serve.service_logs import FIELDS
from postedit.serve.store import Store
from postedit.serve.store_jobs import Jobs
from postedit.serve.store_people import People

PASSWORD = "correct horse"

PUBLIC = {
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("POST", "/v1/session"),
    ("GET", "/languages"),
}
"""Routes for everybody; the pages of the workbench, which hold no data, are, too."""

WITHOUT_PROJECT = {
    ("GET", "/v1/projects"),
    ("GET", "/v1/session"),
    ("DELETE", "/v1/session"),
    ("GET", "/v1/models"),
    ("POST", "/detect"),
    ("POST", "/translate"),
    ("GET", "/metrics"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/score"),
    ("GET", "/v1/users"),  # ben manages a project, and may see whom he can add to it
}
"""Routes that anybody with a key, or who is signed in, may use, as they show nothing of any project."""

BODIES: dict[str, Any] = {
    "/v1/edit": {"segments": [{"src": "a", "mt": "b"}], "project": "{project}"},
    "/v1/learn": {"src": "a", "mt": "b", "pe": "c", "project": "{project}"},
    "/v1/undo": {"number": 1, "project": "{project}"},
    "/v1/keys": {"name": "x", "scopes": ["edit"]},
    "/v1/users": {"name": "eve", "password": PASSWORD},
    "/v1/users/{user}": {"admin": True},
    "/v1/projects": {"name": "x"},
    "/v1/projects/{project}": {"name": "x"},
    "/v1/projects/{project}/members/{user}": {"role": "manager"},
    "/v1/files/{file}/segments/{number}": {"target": "x", "state": "draft", "version": 0, "edit_id": "1"},
    "/v1/files/{file}/proposals": {"numbers": [1]},
    "/v1/files/{file}/presence": {"number": 1},
}


class Team:
    """A service with an administrator, a project of anna's with a file, and one of ben's."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.store = client.app.state.service.store  # type: ignore[attr-defined]
        self.ids = {
            name: self.store.people.create_user(name, PASSWORD, admin=name == "root")
            for name in ("root", "anna", "ben")
        }
        self.projects = {
            name: self.store.projects.create({"name": name}, name, self.ids[name]) for name in ("anna", "ben")
        }

    def key(self, user: str, *scopes: str, projects: list[str] | None = None, rate: float = 0.0) -> dict[str, str]:
        _, secret = self.store.people.create_key(self.ids[user], "test", scopes, projects, rate)
        return {"Authorization": f"Bearer {secret}"}

    def sign_in(self, user: str, password: str = PASSWORD) -> Any:
        return self.client.post("/v1/session", json={"name": user, "password": password})


@pytest.fixture
def team(serve: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch) -> Team:
    monkeypatch.setattr("postedit.serve.routes_accounts.THROTTLE", Throttle())
    return Team(serve(auth={"required": True}))


def routes(client: TestClient) -> list[tuple[str, str]]:
    """Return the method and path of every route but those of the pages, which hold no data."""
    found: list[tuple[str, str]] = []
    for one in client.app.routes:  # type: ignore[attr-defined]
        if isinstance(one, APIRoute) and one.endpoint.__module__ != routes_workbench.__name__:
            found += [(method, one.path) for method in one.methods or ()]
    return [one for one in found if one not in PUBLIC]


def request(client: TestClient, method: str, path: str, ids: dict[str, str], headers: dict[str, str]) -> Any:
    body = BODIES.get(path)
    if isinstance(body, dict) and "project" in body:
        body = {**body, "project": ids["project"]}
    url = re.sub(r"\{(\w+)(?::\w+)?\}", lambda match: ids[match[1]], path)
    options: dict[str, Any] = {} if body is None or method in ("GET", "DELETE") else {"json": body}
    if path == "/v1/jobs" or (path.endswith("/files") and method == "POST"):
        options = {"files": {"file": ("a.xlf", xliff(("a", "b")))}, "data": {"project": ids["project"]}}
    if path.endswith(("/import", "/glossary")) and method != "GET":
        options = {"content": b"a\tb\tc" if path.endswith("import") else b"a\tb"}
    return client.request(method, url, headers=headers, **options)


def ids_of(team: Team) -> dict[str, str]:
    """Return ids of what belongs to anna, for the paths of routes."""
    anna = team.projects["anna"]
    headers = team.key("anna", "files")
    response = team.client.post(f"/v1/projects/{anna}/files", files={"file": ("a.xlf", xliff(*PAIRS))}, headers=headers)
    key = team.store.people.keys(team.ids["anna"])[0]["id"]
    found = {"project": anna, "file": response.json()["file"]["id"], "job": response.json()["job"]["id"]}
    return {**found, "number": "1", "user": team.ids["anna"], "key": key, "model": "words", "model_id": "words"}


def test_every_route_of_openapi_is_tried(team: Team) -> None:
    described = {
        (method.upper(), path)
        for path, methods in team.client.app.openapi()["paths"].items()
        for method in methods  # type: ignore[attr-defined]
    }
    assert len(described) > 40
    assert described - PUBLIC <= set(routes(team.client))


def test_every_answer_and_who_may_ask_is_described(team: Team) -> None:
    """Answers of JSON have a schema by name; those of the doors are in the form of other services."""
    doors = {"/v1/chat/completions", "/translate", "/detect", "/languages"}
    described = team.client.app.openapi()  # type: ignore[attr-defined]
    for path, methods in described["paths"].items():
        for method, one in methods.items():
            for status, answer in one["responses"].items():
                schema = answer.get("content", {}).get("application/json", {}).get("schema")
                assert path in doors or schema is None or "$ref" in schema, (method, path, status)
            is_open = (method.upper(), path) in PUBLIC or path in {"/translate", "/detect"}  # which have keys in bodies
            assert one.get("security") == (None if is_open else [{"key": []}, {"session": []}]), (method, path)
    assert {"key", "session"} == set(described["components"]["securitySchemes"])


@pytest.mark.slow
def test_no_route_answers_without_a_key_or_a_session(team: Team) -> None:
    ids = ids_of(team)
    for method, path in routes(team.client):
        for headers in ({}, {"Authorization": "Bearer postedit_wrong"}, {"Cookie": f"{COOKIE}=wrong"}):
            response = request(team.client, method, path, ids, headers)
            assert response.status_code == 401, (method, path, response.text)


@pytest.mark.slow
def test_no_route_shows_or_changes_what_belongs_to_others(team: Team) -> None:
    """Try each route of anna's project with keys of ben's, and with one of hers that is good for another project."""
    ids = ids_of(team)
    other = team.store.projects.create({"name": "other"}, "anna", team.ids["anna"])
    strangers = [
        team.key("ben", "edit", "learn", "files", "manage", "admin"),
        team.key("anna", "edit", "learn", "files", "manage", "admin", projects=[other]),
        team.key("root", "edit", "learn", "files", "manage", projects=[other]),
    ]
    for method, path in set(routes(team.client)) - WITHOUT_PROJECT - {("POST", "/v1/keys")}:
        for headers in strangers:
            response = request(team.client, method, path, ids, headers)
            assert response.status_code in (403, 404), (method, path, response.status_code, response.text)
            assert "die Haus" not in response.text
    for headers, own in zip(strangers, (team.projects["ben"], other, other), strict=True):
        listed = team.client.get("/v1/projects", headers=headers).json()["projects"]
        assert [one["id"] for one in listed] == [own]
    assert team.store.projects.get(ids["project"])["files"] == 1


def test_a_key_is_good_for_its_scopes_alone(team: Team) -> None:
    ids = ids_of(team)
    headers = team.key("anna", "edit")
    allowed = {("POST", "/v1/edit"), ("POST", "/v1/files/{file}/proposals"), ("POST", "/v1/files/{file}/presence")}
    for method, path in set(routes(team.client)) - WITHOUT_PROJECT - allowed:
        if method == "GET":
            continue
        response = request(team.client, method, path, ids, headers)
        assert response.status_code in (403, 404), (method, path, response.status_code, response.text)


def test_who_lacks_a_right_is_told_whether_the_key_or_the_person_does(team: Team) -> None:
    learn = {"src": "a", "mt": "b", "pe": "c", "project": team.projects["anna"]}
    for user, path, body, right in (
        ("anna", "/v1/learn", learn, "'learn' in project"),
        ("root", "/v1/projects", {"name": "x"}, "'manage'"),
    ):
        refused = team.client.post(path, json=body, headers=team.key(user, "edit"))
        message = refused.json()["error"]["message"]
        assert (refused.status_code, "which this key does not have" in message, right in message) == (403, True, True)
    limited = team.key("root", "manage", projects=[team.projects["anna"]])
    refused = team.client.post("/v1/projects", json={"name": "x"}, headers=limited)
    assert "this key is limited to some projects" in refused.json()["error"]["message"]
    refused = team.client.post("/v1/projects", json={"name": "x"}, headers=team.key("anna", "edit", "manage"))
    assert "only administrators may do this, and anna is not one" in refused.json()["error"]["message"]


def test_confirming_and_taking_that_back_need_the_right_to_teach(team: Team) -> None:
    ids = ids_of(team)
    url = f"/v1/files/{ids['file']}/segments/4"
    files, both = team.key("anna", "files"), team.key("anna", "files", "learn")
    for _ in range(12_000):
        if team.client.get(f"/v1/jobs/{ids['job']}", headers=files).json()["state"] == "done":
            break
        time.sleep(0.05)
    for number, (state, headers, status) in enumerate(
        (("draft", files, 200), ("confirmed", files, 403), ("confirmed", both, 200), ("draft", files, 403))
    ):
        version = team.client.get(url, headers=files).json()["version"]
        body = {"target": "der Baum", "state": state, "version": version, "edit_id": str(number)}
        assert team.client.put(url, json=body, headers=headers).status_code == status, number


def test_a_session_needs_its_token_to_change_anything(team: Team) -> None:
    signed_in = team.sign_in("anna")
    assert signed_in.status_code == 200
    cookie = signed_in.headers["set-cookie"]
    assert all(one in cookie for one in ("HttpOnly", "SameSite=strict"))
    anna = team.projects["anna"]
    assert team.client.get(f"/v1/projects/{anna}").status_code == 200
    assert team.client.patch(f"/v1/projects/{anna}", json={"name": "x"}).status_code == 403
    headers = {CSRF_HEADER: signed_in.json()["csrf"]}
    assert team.client.patch(f"/v1/projects/{anna}", json={"name": "x"}, headers=headers).json()["name"] == "x"
    assert team.client.get("/v1/session").json()["user"]["name"] == "anna"
    assert team.client.delete("/v1/session", headers=headers).status_code == 204
    assert team.client.get(f"/v1/projects/{anna}").status_code == 401


def test_cookies_are_secure_unless_only_this_machine_serves(serve: Callable[..., TestClient]) -> None:
    team = Team(serve(host="192.0.2.1", hosts=["127.0.0.1"]))
    assert "Secure" in team.sign_in("anna").headers["set-cookie"]


def test_sessions_last_as_long_as_the_settings_say(serve: Callable[..., TestClient]) -> None:
    team = Team(serve(auth={"required": True, "session_hours": 2}))
    assert "Max-Age=7200" in team.sign_in("anna").headers["set-cookie"]
    people, start = team.store.people, time.time()
    people.clock = lambda: start
    secret, _ = people.begin_session(team.ids["anna"])
    for hours, lasts in ((1.5, True), (1.9, True), (2.1, False)):  # as the cookie, however often it is used
        people.clock = lambda hours=hours: start + hours * 3600
        assert (people.session(secret) is not None) == lasts


@pytest.mark.parametrize("years", [-10, 10])
def test_a_clock_that_is_set_ends_sessions_and_nothing_else(team: Team, years: int) -> None:
    people, key = team.store.people, team.key("anna", "learn")
    learn = {"src": "a", "mt": "b", "pe": "c", "project": team.projects["anna"]}
    team.sign_in("anna")
    for clock in (lambda: time.time() + years * 365 * 24 * 3600, time.time):
        people.clock = clock
        assert team.client.get("/v1/session").status_code == 401, "also if it would have lasted for years now"
        assert team.client.post("/v1/learn", json=learn, headers=key).status_code == 200
        assert team.sign_in("anna").status_code == 200
        assert team.client.get("/v1/session").json()["user"]["name"] == "anna"


def test_a_new_password_and_the_end_of_an_account_end_sessions_and_keys(team: Team) -> None:
    team.sign_in("anna")
    key = team.key("anna", "files")
    team.store.people.change_user(team.ids["anna"], password="another horse")
    assert team.client.get("/v1/session").status_code == 401
    assert team.sign_in("anna").status_code == 401
    assert team.sign_in("anna", "another horse").status_code == 200
    team.store.people.change_user(team.ids["anna"], active=False)
    assert team.client.get("/v1/session").status_code == 401
    assert team.client.get("/v1/projects", headers=key).status_code == 401
    assert team.sign_in("anna", "another horse").status_code == 401


_SLOW: dict[tuple[str, str], tuple[str, bytes]] = {
    ("POST", "/v1/users"): ("application/json", json.dumps(BODIES["/v1/users"]).encode()),
    ("POST", "/v1/projects/{project}/files"): (
        "multipart/form-data; boundary=x",
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.xlf"\r\n\r\n%b\r\n--x--\r\n' % xliff(*PAIRS),
    ),
    ("POST", "/v1/projects/{project}/corrections/import"): ("text/plain", b"a\tb\tc"),
    ("PUT", "/v1/projects/{project}/glossary"): ("text/plain", b"a\tb"),
    ("POST", "/translate"): ("application/json", b'{"q": "a", "translation": "die", "model": "words"}'),
}


@pytest.mark.parametrize("how", ["key", "session"])
@pytest.mark.parametrize(("method", "path"), _SLOW)
def test_rights_that_end_while_a_body_arrives_are_gone(
    team: Team, monkeypatch: pytest.MonkeyPatch, method: str, path: str, how: str
) -> None:
    now = [0.0]
    monkeypatch.setattr(accounts, "time", SimpleNamespace(monotonic=lambda: now[0]))
    kind, body = _SLOW[method, path]
    project = team.projects["anna"]
    headers = {CSRF_HEADER: team.sign_in("root").json()["csrf"]}
    if how == "key":
        team.client.cookies.clear()
        headers = team.key("root", "edit", "files", "manage", "admin")
    before = team.store.projects.last_events([project]), len(team.store.people.users())

    def slowly() -> Iterator[bytes]:
        yield body[:1]
        team.store.people.change_user(team.ids["root"], active=False)
        now[0] = 60.0
        yield body[1:]

    team.store.people.change_user(team.ids["anna"], admin=True)
    url = path.format(project=project)
    answer = team.client.request(method, url, content=slowly(), headers={**headers, "Content-Type": kind})
    assert answer.status_code == 401, answer.text
    assert before == (team.store.projects.last_events([project]), len(team.store.people.users()))


@pytest.mark.parametrize("how", ["key", "session", "role"])
def test_a_stream_of_events_ends_with_the_right_to_read_it(
    team: Team, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    for name, seconds in (("CHECK_SECONDS", 0.1), ("_BEAT_SECONDS", 0.1), ("_STREAM_SECONDS", 3600.0)):
        monkeypatch.setattr(event_hub, name, seconds)
    project, people = team.projects["anna"], team.store.people
    headers = {} if how == "session" else team.key("anna", "files")
    if how == "session":
        team.sign_in("anna")
    revoke = {
        "key": lambda: people.delete_key(people.keys()[0]["id"]),
        "session": lambda: people.end_session(team.client.cookies[COOKIE]),
        "role": lambda: people.set_role(project, team.ids["anna"], None, "root"),
    }[how]
    looks, events = itertools.count(1), team.store.projects.events

    def look(*given: Any) -> Any:
        number = next(looks)
        if number == 3:
            revoke()
        assert number < 50  # ends the stream, but the service only logs it
        return events(*given)

    monkeypatch.setattr(team.store.projects, "events", look)
    stream = team.client.get(f"/v1/projects/{project}/events", headers=headers)
    assert stream.status_code == 200
    assert 3 < next(looks) < 50, "the stream goes on"
    assert team.client.get(f"/v1/projects/{project}", headers=headers).status_code in (401, 404)


def test_the_progress_of_a_job_ends_with_the_right_to_read_it(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    running = {"id": "1", "project": team.projects["anna"], "state": "running"}
    looks = itertools.count(1)

    def get(*_: Any) -> dict[str, Any]:
        if next(looks) == 3:
            team.store.people.change_user(team.ids["anna"], active=False)
        return running

    monkeypatch.setattr(Jobs, "get", get)
    monkeypatch.setattr(routes_jobs, "CHECK_SECONDS", 0.5)
    headers = team.key("anna", "files")
    with ThreadPoolExecutor(1) as pool:
        stream = pool.submit(team.client.get, "/v1/jobs/1/events", headers=headers)
        try:
            assert stream.result(120).text.count("data: ") == 1
        finally:
            running["state"] = "done"


def test_wrong_passwords_make_wait(team: Team) -> None:
    statuses = [team.sign_in("ben", "wrong password").status_code for _ in range(6)]
    assert statuses == [401] * 5 + [429]
    response = team.sign_in("ben")
    assert response.status_code == 429
    assert int(response.headers["Retry-After"]) >= 1


def test_many_guesses_at_a_time_are_no_more_than_in_turn(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(8)

    def guess(_: int) -> int:
        together.wait(300)
        return int(team.sign_in("ben", "wrong password").status_code)

    monkeypatch.setattr(People, "user_with", lambda *_: time.sleep(0.5))
    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(guess, range(8))) == [401] * 5 + [429] * 3


def test_right_passwords_at_a_time_are_no_failures(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    together, check = threading.Barrier(8), People.user_with

    def slowly(people: People, name: str, password: str) -> Any:
        together.wait(300)
        return check(people, name, password)

    for number in range(8):
        team.store.people.create_user(f"user {number}", PASSWORD)
    monkeypatch.setattr(People, "user_with", slowly)
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda number: team.sign_in(f"user {number}").status_code, range(8))
        assert list(found) == [200] * 8


def test_a_try_while_the_database_is_away_is_no_wrong_password(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OutputError("away")

    with monkeypatch.context() as patch:
        patch.setattr(People, "user_with", fail)
        assert [team.sign_in("ben").status_code for _ in range(8)] == [503] * 8
    assert team.sign_in("ben").status_code == 200


def test_a_key_is_shown_once_and_kept_as_a_hash(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    csrf = team.sign_in("anna").json()["csrf"]
    body = {"name": "cat tool", "scopes": ["edit"], "rate": 2}
    made = team.client.post("/v1/keys", json=body, headers={CSRF_HEADER: csrf}).json()
    listed = team.client.get("/v1/keys").json()["keys"]
    assert [(one["name"], "key" in one) for one in listed] == [("cat tool", False)]
    with team.store.database.read() as connection:
        kept = connection.exec_driver_sql("SELECT * FROM serve_keys").all()
    assert made["key"] not in str(kept)
    headers = {"Authorization": f"Bearer {made['key']}"}
    team.client.cookies.clear()
    # Eight requests are too many only if no time passes meanwhile.
    monkeypatch.setattr("postedit.serve.account_limits.time", SimpleNamespace(monotonic=lambda: 0.0))
    statuses = [team.client.get("/v1/projects", headers=headers).status_code for _ in range(8)]
    assert statuses[:4] == [200] * 4
    assert 429 in statuses
    assert team.client.delete(f"/v1/keys/{made['id']}", headers=headers).status_code in (403, 429)


def test_the_log_says_who_changed_accounts_keys_and_projects(team: Team, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "postedit"):
        team.sign_in("root", "wrong password")
        headers = {CSRF_HEADER: team.sign_in("root").json()["csrf"]}
        key = team.client.post("/v1/keys", json={"name": "x", "scopes": ["edit"]}, headers=headers).json()["id"]
        team.client.delete(f"/v1/keys/{key}", headers=headers)
        change = {"active": True, "admin": False, "password": "another long one"}
        team.client.patch(f"/v1/users/{team.ids['anna']}", json=change, headers=headers)
        team.client.delete(f"/v1/projects/{team.projects['ben']}", headers=headers)
        team.client.delete("/v1/session", headers=headers)
        by_key = team.key("anna", "edit")
        team.client.post("/v1/edit", json={"segments": [{"src": "a", "mt": "b"}]}, headers=by_key)
    assert [record.getMessage() for record in caplog.records if record.message != "request"] == [
        "a wrong password for user root from testclient",
        "user root signed in from testclient",
        f"key {key} added by root: edit",
        f"key {key} deleted by root",
        f"user {team.ids['anna']} changed by root: password, admin=False, active=True",
        f"project {team.projects['ben']} deleted by root",
        "user root signed out",
    ]
    requests = [getattr(record, FIELDS) for record in caplog.records if record.message == "request"]
    assert [one.get("user") for one in requests] == [None, None, *["root"] * 5, "anna"]
    ids = [one["id"] for one in team.store.people.keys(team.ids["anna"])]
    assert (requests[2]["by"], requests[-1]["by"]) == (f"user {team.ids['root']}", f"key {ids[0]}")


def test_keys_of_a_user_have_one_share_of_the_queue(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, clients = team.client.app.state.service.engine, []  # type: ignore[attr-defined]
    edit = engine.edit

    async def noting(*given: Any, client: str, **options: Any) -> Any:
        clients.append(client)
        return await edit(*given, client=client, **options)

    monkeypatch.setattr(engine, "edit", noting)
    body = {"segments": [{"src": "a", "mt": "b"}]}
    for headers in (*(team.key(user, "edit") for user in ("anna", "anna", "root", "root")), None):
        given = headers or {CSRF_HEADER: team.sign_in("anna").json()["csrf"]}
        assert team.client.post("/v1/edit", json=body, headers=given).status_code == 200
    assert [len({*clients[:2], clients[4]}), len({*clients})] == [1, 3], "keys of administrators are for others"


def test_long_work_of_a_user_leaves_threads_to_others(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = []

    async def noting(work: Callable[[], Any], client: str) -> Any:
        waited.append(client)
        return work()

    service = team.client.app.state.service  # type: ignore[attr-defined]
    monkeypatch.setattr(service, "text_work", SimpleNamespace(run=noting))
    monkeypatch.setattr(service, "long_work", None)  # they do not wait for exports, which may take minutes
    anna = team.key("anna", "edit")
    for length, expected in ((10, []), (5000, [f"user {team.ids['anna']}"] * 2)):
        score = {"hyp": ["a" * length], "pe": ["a" * length]}
        content = json.dumps({"source": "a" * length, "translation": "a" * length})
        chat = {"model": "words", "messages": [{"role": "user", "content": content}]}
        team.client.post("/v1/score", json=score, headers=anna)
        team.client.post("/v1/chat/completions", json=chat, headers=anna)
        assert waited == expected


def test_the_projects_of_keys_do_not_tell_which_there_are(team: Team) -> None:
    headers = {CSRF_HEADER: team.sign_in("ben").json()["csrf"]}
    for project, status in ((team.projects["anna"], 404), ("0" * 16, 404), (team.projects["ben"], 201)):
        asked = {"name": "x", "scopes": ["edit"], "projects": [project]}
        made = team.client.post("/v1/keys", json=asked, headers=headers)
        assert made.status_code == status
        if status == 404:
            told = f"there is no project {project!r} (GET /v1/projects lists their ids)"
            assert made.json()["error"]["message"] == told


def test_people_may_change_their_own_password_alone(team: Team) -> None:
    headers = {CSRF_HEADER: team.sign_in("ben").json()["csrf"]}
    refused = team.client.patch(f"/v1/users/{team.ids['ben']}", json={"password": "short"}, headers=headers)
    assert refused.json()["error"]["message"] == "password: must have at least 10 characters, not 5"
    for body, status in (({"admin": True}, 403), ({"password": "short"}, 422), ({"password": "long enough"}, 200)):
        assert team.client.patch(f"/v1/users/{team.ids['ben']}", json=body, headers=headers).status_code == status
    assert team.sign_in("ben", "long enough").status_code == 200


def test_managers_of_a_project_choose_its_members(team: Team) -> None:
    carl = team.store.people.create_user("carl", PASSWORD)
    team.store.people.create_user("dora", PASSWORD)
    team.store.people.change_user(carl, active=False)
    anna, ben = team.projects["anna"], team.ids["ben"]
    manager = team.key("anna", "manage")
    assert team.client.put(f"/v1/projects/{anna}/members/{ben}", json={"role": "reader"}, headers=manager).is_success
    listed = team.client.get("/v1/users", headers=manager).json()["users"]
    assert [one["name"] for one in listed] == ["anna", "ben", "dora", "root"]
    assert listed[1] == {"id": ben, "name": "ben", "active": True, "roles": {anna: "reader"}}
    members = team.client.get(f"/v1/projects/{anna}/members", headers=manager).json()["members"]
    assert [(one["name"], one["role"]) for one in members] == [("anna", "manager"), ("ben", "reader")]
    team.store.people.set_role(team.projects["ben"], ben, "translator", "root")
    for headers in (team.key("ben", "manage"), team.key("anna", "edit")):
        answer = team.client.get("/v1/users", headers=headers)
        assert answer.status_code == 403
        assert "administrators and managers of projects" in answer.json()["error"]["message"]
    answer = team.client.post("/v1/projects", json={"name": "x"}, headers=manager)
    assert answer.status_code == 403
    assert answer.json()["error"]["message"] == "only administrators may do this, and anna is not one"


@pytest.mark.parametrize("form", [False, True])
def test_the_door_of_libretranslate_takes_a_key_in_the_body(team: Team, form: bool) -> None:
    key = team.key("anna", "edit")["Authorization"].split()[1]
    for path, body in (
        ("/translate", {"q": "a", "source": "en", "target": "de", "translation": "die", "model": "words"}),
        ("/detect", {"q": "Drücken Sie bitte den roten Knopf."}),
    ):
        for given, status in (({"api_key": key}, 200), ({"api_key": "wrong"}, 401), ({}, 401), ({"api_key": ""}, 401)):
            sent: dict[str, Any] = {"data" if form else "json": {**body, **given}}
            answer = team.client.post(path, **sent)
            assert answer.status_code == status, answer.text
            if path == "/translate" and status == 200:
                assert answer.json() == {"translatedText": "das"}
    other = team.key("anna", "learn")["Authorization"].split()[1]
    assert team.client.post("/detect", json={"q": "a", "api_key": other}).status_code == 403


@pytest.mark.parametrize("cookie", ["", "wrong"])
@pytest.mark.parametrize("path", ["/translate", "/detect", "/v1/session"])
def test_little_is_read_of_those_whom_nobody_knows(team: Team, path: str, cookie: str) -> None:
    headers = {"Content-Type": "application/json"} | ({"Cookie": f"{COOKIE}={cookie}"} if cookie else {})
    assert team.client.post(path, content=iter([b"{" * 2**12] * 100), headers=headers).status_code == 413
    known = team.key("anna", "edit")
    if path != "/v1/session":
        answer = team.client.post(path, json={"q": "a " * 2**16, "translation": "a"}, headers=known)
        assert answer.status_code != 413 or "65,536" not in answer.text


def test_forms_of_those_doors_have_no_files(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr("starlette.formparsers.SpooledTemporaryFile", lambda **_: made.append(1) or io.BytesIO())
    files = {"q": ("a.txt", b"text")}
    assert team.client.post("/detect", files=files).status_code in (400, 401, 422)
    assert team.client.post("/detect", files=files, headers=team.key("anna", "edit")).status_code in (400, 422)
    assert not made


def test_somebody_stays_administrator(team: Team) -> None:
    with pytest.raises(DataError, match="at least one administrator is required"):
        team.store.people.change_user(team.ids["root"], admin=False)
    team.store.people.set_admin("anna", "a new password")
    team.store.people.change_user(team.ids["root"], admin=False)


def test_a_key_for_figures_alone_reads_nothing_else(team: Team) -> None:
    root = team.key("root", "admin", "metrics")
    asked = {"name": "Prometheus", "scopes": ["metrics"], "projects": []}
    made = team.client.post("/v1/keys", json=asked, headers=root)
    assert made.status_code == 201
    key = {"Authorization": f"Bearer {made.json()['key']}"}
    assert "postedit_requests_total" in team.client.get("/metrics", headers=key).text
    assert team.client.get("/metrics", headers=team.key("root", "manage")).status_code == 200
    assert team.client.get("/v1/projects", headers=key).json()["projects"] == []
    anna = f"/v1/projects/{team.projects['anna']}"
    assert team.client.get(anna, headers=key).status_code == 404
    assert team.client.delete(anna, headers=key).status_code == 404
    for other in (team.key("root", "edit", "admin"), team.key("root", "manage", projects=[])):
        refused = team.client.get("/metrics", headers=other)
        assert refused.status_code == 403
        assert "requires the right 'metrics'" in refused.json()["error"]["message"]
    refused = team.client.get("/metrics", headers=team.key("anna", "metrics"))
    assert "only administrators may do this, and anna is not one" in refused.json()["error"]["message"]


def test_a_key_for_figures_reads_no_project_if_none_is_named(team: Team) -> None:
    key, project = team.key("root", "metrics"), team.projects["anna"]
    assert team.client.get("/metrics", headers=key).status_code == 200
    refused = team.client.get(f"/v1/projects/{project}", headers=key)
    assert refused.status_code == 403
    assert "requires the right 'read'" in refused.json()["error"]["message"]
    assert team.client.get(f"/v1/projects/{project}/corrections", headers=key).status_code == 403
    assert team.client.get("/v1/projects", headers=key).json()["projects"] == []
    both = team.key("root", "metrics", "edit")
    assert team.client.get(f"/v1/projects/{project}", headers=both).status_code == 200


@pytest.mark.parametrize("change", [{"admin": False}, {"active": False}])
def test_of_two_administrators_who_remove_each_other_one_stays(team: Team, place: str, change: dict[str, bool]) -> None:
    team.store.people.set_admin("anna", PASSWORD)
    other, began = Store(place), threading.Event()

    def second() -> None:
        began.set()
        other.people.change_user(team.ids["root"], **change)

    def meanwhile(_: object) -> None:  # the first change has been made, and not committed
        if not began.is_set():
            removals.append(pool.submit(second))
            began.wait()
            time.sleep(0.5)

    removals: list[Any] = []
    with ThreadPoolExecutor(1) as pool:
        event.listen(team.store.database.engine, "commit", meanwhile)
        team.store.people.change_user(team.ids["anna"], **change)
        with pytest.raises(DataError, match="at least one administrator is required"):
            removals[0].result(300)
    other.close()


@pytest.mark.parametrize("unseen", ["\n", "\x1b", "\u200b", "\u202e", "\u2028", "\u200d", "\u2066", "\xad", "\ufeff"])
def test_names_of_users_have_no_characters_that_nobody_sees(team: Team, unseen: str) -> None:
    root = team.key("root", "admin")
    asked = {"name": f"an{unseen}na", "password": PASSWORD}
    refused = team.client.post("/v1/users", json=asked, headers=root)
    assert refused.status_code == 422
    assert f"name: has the character U+{ord(unseen):04X}, which nobody sees" in refused.json()["error"]["message"]


def test_blanks_around_a_name_are_left_out(team: Team) -> None:
    root = team.key("root", "admin")
    made = team.client.post("/v1/users", json={"name": "\u3000eve \t", "password": PASSWORD}, headers=root)
    assert made.json()["name"] == "eve"
    again = team.client.post("/v1/users", json={"name": " anna", "password": PASSWORD}, headers=root)
    assert "there is a user 'anna' already" in again.json()["error"]["message"]
    persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"  # with a joiner, as it is spelt
    assert (
        team.client.post("/v1/projects", json={"name": persian}, headers=team.key("root", "manage")).status_code == 201
    )


def test_a_name_is_the_same_however_its_marks_are_written(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    root = team.key("root", "admin")
    forms = [unicodedata.normalize(form, "Jos\u00e9") for form in ("NFC", "NFD")]
    asked = [{"name": one, "password": PASSWORD} for one in reversed(forms)]
    made = [team.client.post("/v1/users", json=one, headers=root) for one in asked]
    assert [one.status_code for one in made] == [201, 422]
    assert made[0].json()["name"] == forms[0]
    assert [team.sign_in(one).status_code for one in forms] == [200, 200]
    monkeypatch.setattr("postedit.serve.routes_accounts.THROTTLE", Throttle())
    tries = [team.sign_in(one, "wrong").status_code for one in forms * 3]
    assert tries == [401] * 5 + [429], "no form of a name gives more guesses"


def test_of_two_users_with_one_name_at_the_same_moment_one_is_refused(store: Store, place: str) -> None:
    other, made = Store(place), list[str]()

    def meanwhile(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("INSERT INTO serve_users") and not made:
            made.append(other.people.create_user("anna", PASSWORD))

    event.listen(store.database.engine, "before_cursor_execute", meanwhile)
    with pytest.raises(DataError, match="there is a user 'anna' already"):
        store.people.create_user("anna", PASSWORD)
    assert [one["id"] for one in other.people.users()] == made
    other.close()


@pytest.mark.parametrize("blank", ["", " ", "\u200d\u200c", "\u2800", "\u3164 \u115f", "\ufe0f"])
def test_a_name_has_something_that_people_see(tmp_path: Path, blank: str) -> None:
    with pytest.raises(ValidationError, match="is blank"):
        TypeAdapter(Name).validate_python(blank)
    with pytest.raises(DataError, match="is blank"):
        _create_admin(str(tmp_path / "postedit.db"), blank)


def test_joiners_are_in_names_of_users_where_they_are_seen() -> None:
    persian, hindi = "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627", "\u0930\u0915\u094d\u200d\u0937\u093e"
    assert [user_name(f" {name} ") for name in (persian, hindi)] == [persian, hindi]
    for name in ("an\u200cna", "\u200c" + persian, persian + "\u200c", "\u0631\u200c\u0636", "\u0639\u200d\u0644"):
        with pytest.raises(DataError, match="which nobody sees"):
            user_name(name)


def test_the_folder_of_the_first_administrator_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTEDIT_ADMIN_PASSWORD", PASSWORD)
    folder, before = tmp_path / "data", os.umask(0o022)
    try:
        _create_admin(str(folder / "postedit.db"), "anna")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "postedit.db")] == [0o700, 0o600]


def test_roles_say_what_members_may_do(team: Team) -> None:
    anna = team.projects["anna"]
    manage, key = team.key("anna", "manage"), team.key("ben", "edit", "learn", "files", "manage")
    member = f"/v1/projects/{anna}/members/{team.ids['ben']}"
    learn = {"src": "a", "mt": "b", "pe": "c", "project": anna}
    for role, expected in (
        ("reader", (200, 403, 403)),
        ("translator", (200, 200, 403)),
        ("manager", (200, 200, 200)),
        (None, (404, 404, 404)),
    ):
        assert team.client.put(member, json={"role": role}, headers=manage).status_code == 204
        shown = team.client.get(f"/v1/projects/{anna}", headers=key)
        assert shown.json().get("role") == role
        found = (
            shown.status_code,
            team.client.post("/v1/learn", json=learn, headers=key).status_code,
            team.client.patch(f"/v1/projects/{anna}", json={"name": "y"}, headers=key).status_code,
        )
        assert found == expected, role


def test_a_request_with_its_key_in_the_body_or_the_header_counts_once(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first request loads what detects languages, in which time the key could get another one.
    monkeypatch.setattr("postedit.serve.account_limits.time", SimpleNamespace(monotonic=lambda: 0.0))
    for place in ("header", "body"):
        key = team.key("anna", "edit", rate=1.0)  # two at once
        body = {"q": "a"} | ({"api_key": key["Authorization"].split()[1]} if place == "body" else {})
        headers = key if place == "header" else {}
        found = [team.client.post("/detect", json=body, headers=headers).status_code for _ in range(3)]
        assert found == [200, 200, 429], place


def test_events_name_members_to_managers_alone(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    async def end(*_: object) -> bool:  # of a stream that has sent all that there is
        raise OutputError("the database is away")

    monkeypatch.setattr(event_hub.EventHub, "_wait", end)
    anna = team.projects["anna"]
    team.store.people.set_role(anna, team.ids["ben"], "reader", "anna")
    for headers, expected in (
        (team.key("anna", "manage"), ("ben", "reader")),
        (team.key("anna", "edit"), (None, None)),
        (team.key("ben", "manage"), (None, None)),
    ):
        polled = team.client.get(f"/v1/projects/{anna}/events.json", headers=headers).json()["events"]
        stream = team.client.get(f"/v1/projects/{anna}/events?after=0", headers=headers).text
        sent = [json.loads(line.removeprefix("data: ")) for line in stream.splitlines() if line.startswith("data: ")]
        for found in (polled, sent):
            assert [one["kind"] for one in found] == ["project", "member"]
            assert (found[1].get("user"), found[1].get("role")) == expected
