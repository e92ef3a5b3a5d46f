"""Projects over HTTP: settings, glossary, corrections, events, export, deletion; and requests that make no sense."""

import io
import json
import threading
import time
import zipfile
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from serve_tools import PAIRS, XLIFF, decide, unit, upload, wait_for, xliff

from postedit.serve import store_base
from postedit.serve.store_exports import Exports


def project(client: TestClient, **settings: Any) -> str:
    response = client.post("/v1/projects", json={"name": "Garden", **settings})
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def test_a_project_keeps_its_settings(client: TestClient) -> None:
    one = project(client, source_language="en", protect=["number"])
    changed = client.patch(f"/v1/projects/{one}", json={"target_language": "de", "min_confidence": 0.5}).json()
    expected = {"name": "Garden", "source_language": "en", "target_language": "de", "protect": ["number"]}
    assert {name: changed[name] for name in expected} == expected
    assert changed["min_confidence"] == 0.5
    changed = client.patch(f"/v1/projects/{one}", json={"model": "words", "protect": ["url"]}).json()
    for found in (changed, client.get(f"/v1/projects/{one}").json()):
        assert (found["model"], found["protect"]) == ("words", ["url"])
    listed = client.get("/v1/projects").json()["projects"]
    assert [(found["name"], found["files"]) for found in listed] == [("default", 0), ("Garden", 0)]
    for body in ({"model": "none-such"}, {"min_confidence": 2}, {"name": " "}, {"colour": "red"}, {"protect": ["x"]}):
        assert client.patch(f"/v1/projects/{one}", json=body).status_code == 422


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "  "}, "name: is blank; give one that people can see"),
        ({"name": ""}, "name: is blank; give one that people can see"),
        ({"source_language": "!!"}, "source_language: '!!' is not a language code, such as en, de or zh-TW"),
        ({"target_language": "de\n"}, "target_language: 'de\\n' is not a language code, such as en, de or zh-TW"),
    ],
)
def test_settings_that_nobody_can_use_are_refused(client: TestClient, given: dict[str, str], message: str) -> None:
    for method, url in (("POST", "/v1/projects"), ("PATCH", f"/v1/projects/{project(client)}")):
        refused = client.request(method, url, json={"name": "Garden", **given})
        assert refused.status_code == 422
        assert refused.json()["error"]["message"] == message


@pytest.mark.parametrize("language", ["", "de", "pt-BR", "zh_Hant_TW", "ast"])
def test_codes_of_languages_are_taken(client: TestClient, language: str) -> None:
    assert client.get(f"/v1/projects/{project(client, source_language=language)}").json()["source_language"] == language


def test_terms_of_the_glossary_are_shown_in_segments(client: TestClient) -> None:
    one = project(client)
    answer = client.put(f"/v1/projects/{one}/glossary", content="house\tHaus\ntree\tBaum\n")
    assert answer.json() == {"entries": 2}
    assert client.get(f"/v1/projects/{one}/glossary").text == "house\tHaus\ntree\tBaum\n"
    file = upload(client, xliff(*PAIRS), project=one)
    (term,) = client.get(f"/v1/files/{file}/segments/1").json()["terms"]
    assert term == {"source": "house", "target": "Haus", "span": [4, 9]}
    refused = client.put(f"/v1/projects/{one}/glossary", content="a\tb\tc\td\n")
    assert refused.status_code == 422
    assert "line 1" in refused.json()["error"]["message"]
    assert client.put(f"/v1/projects/{one}/glossary", content=b"\xff").status_code == 422
    alike = "".join(f"a{' ' * count}b\tc\n" for count in range(1, 102))  # each would be found at each place
    refused = client.put(f"/v1/projects/{one}/glossary", content=alike)
    assert (refused.status_code, "101 terms that differ only" in refused.text) == (422, True)
    forms = "".join(f"a\tb{number}\n" for number in range(1001))  # each would be looked for in each segment with "a"
    refused = client.put(f"/v1/projects/{one}/glossary", content=forms)
    assert (refused.status_code, "1,001 translations and forms" in refused.text) == (422, True)


def test_a_glossary_is_replaced_only_as_it_was_read_if_that_is_asked_for(client: TestClient) -> None:
    path = f"/v1/projects/{project(client)}/glossary"
    read = client.get(path).headers["etag"]
    saved = client.put(path, content="house\tHaus\n", headers={"If-Match": read})
    assert saved.headers["etag"] == client.get(path).headers["etag"] != read
    refused = client.put(path, content="tree\tBaum\n", headers={"If-Match": read})
    assert (refused.status_code, refused.json()["error"]["code"]) == (412, "changed")
    assert client.get(path).text == "house\tHaus\n"
    compressed = saved.headers["etag"][:-1] + '-gzip"'
    assert client.put(path, content="tree\tBaum\n", headers={"If-Match": '"x-gzip"'}).status_code == 412
    for known in (f"W/{saved.headers['etag']}", f"{read}, {saved.headers['etag']}", compressed, "*", None):
        given = {} if known is None else {"If-Match": known}
        assert client.put(path, content="house\tHaus\n", headers=given).status_code == 200


def test_corrections_are_listed_searched_undone_and_exchanged(client: TestClient) -> None:
    one, other = project(client), project(client)
    lines = "the house\tdie Haus\tdas Haus\r\nÄpfel\tx\ty\n\n"
    added = client.post(f"/v1/projects/{one}/corrections/import", content=lines.encode())
    assert added.json() == {"added": 2, "known": 0, "first": 1, "last": 2}
    assert client.post(f"/v1/projects/{other}/corrections/1/undo").status_code == 422
    url = f"/v1/projects/{one}/corrections"
    assert [found["number"] for found in client.get(url, params={"q": "äpfel"}).json()["corrections"]] == [2]
    assert client.get(url, params={"q": "%"}).json()["corrections"] == []
    page = client.get(url, params={"limit": 1}).json()
    assert (page["corrections"][0]["number"], page["next"]) == (2, 2)
    assert client.post(f"{url}/1/undo").json() == {"number": 3}
    assert [found["undone"] for found in client.get(url).json()["corrections"]] == [False, True]
    exported = client.get(f"{url}/export").content
    assert [json.loads(line)["src"] for line in exported.splitlines()] == ["Äpfel"]
    assert client.post(f"/v1/projects/{other}/corrections/import", content=exported).json()["added"] == 1
    for bad in (b"one\ttwo", b'{"src": 1}', b"", b"src\tmt\tpe\n", b"a\tb\t ", b"\xff\t\t"):
        assert client.post(f"{url}/import", content=bad).status_code == 422


@pytest.mark.parametrize(
    "lines",
    [
        "src\tmt\tpe\na {x}\tb\tc\n",
        "SRC\tPE\tMT\na {x}\tc\tb\n",
        "\ufeffpe\tid\tsrc\tmt\r\nc\t1\ta {x}\tb\r\n",
        "{x} a\tb\tc",
    ],
    ids=["header", "other case", "other columns", "placeholder"],
)
def test_tables_of_corrections_may_name_their_columns(client: TestClient, lines: str) -> None:
    url = f"/v1/projects/{project(client)}/corrections"
    assert client.post(f"{url}/import", content=lines.encode()).json()["added"] == 1
    (found,) = client.get(url).json()["corrections"]
    assert (sorted(found["src"].split()), found["mt"], found["pe"]) == (["a", "{x}"], "b", "c")
    refused = client.post(f"{url}/import", content=f"{lines}\nsrc\tpe\n".encode())
    assert "tabs between" in refused.json()["error"]["message"]
    blank = client.post(f"{url}/import", content=b"a\tb\tc\na\tb\t \n").json()
    assert blank["error"]["message"] == "line 2: a correction needs pe, which is blank"


@pytest.mark.parametrize("made", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_times_of_corrections_that_utc_does_not_have_are_refused(client: TestClient, made: str) -> None:
    lines = [json.dumps({"src": "a", "mt": "b", "pe": "c", "made": time}) for time in ("2026-01-01T00:00:00Z", made)]
    refused = client.post(f"/v1/projects/{project(client)}/corrections/import", content="\n".join(lines))
    assert refused.status_code == 422
    message = refused.json()["error"]["message"]
    assert message == f"line 2: the time of a correction, {made}, is outside the years 1 to 9999 in UTC"


def test_corrections_that_name_no_author_are_of_who_imports_them(client: TestClient) -> None:
    url = f"/v1/projects/{project(client)}/corrections"
    lines = [
        json.dumps({"src": "a", "mt": "b", "pe": "c", **author}) for author in ({"author": "anna"}, {"author": ""}, {})
    ]
    client.post(f"{url}/import", content="\n".join([*lines, "a\tb\tc"]))
    assert [found["author"] for found in client.get(url).json()["corrections"]] == ["local"] * 3 + ["anna"]


def test_what_is_imported_again_counts_once(client: TestClient) -> None:
    url, other = (f"/v1/projects/{project(client)}/corrections" for _ in range(2))
    table = "a\tb\tc\na\tb\tc\nd\te\tf\n"
    for _ in range(2):
        assert client.post(f"{url}/import", content=table).json()["added"] == 3, "lines without a time are new ones"
    exported = client.get(f"{url}/export").content

    def imported(url: str) -> tuple[int, int]:
        answer = client.post(f"{url}/import", content=exported).json()
        return answer["added"], answer["known"]

    assert [imported(url), imported(other), imported(other)] == [(0, 6), (6, 0), (0, 6)]
    assert client.post(f"{url}/import", content=exported).json()["first"] is None
    client.post(f"{url}/2/undo")
    assert [imported(url), imported(url)] == [(1, 5), (0, 6)], "what was undone is restored"
    assert len(client.get(f"{url}/export").content.splitlines()) == 6


def test_exports_of_many_corrections_can_be_imported(serve: Callable[..., TestClient]) -> None:
    client = serve(limits={"body_bytes": 1024, "file_bytes": 100_000})
    one, other = (f"/v1/projects/{project(client)}/corrections" for _ in range(2))
    for number in range(2):
        client.post(f"{one}/import", content="".join(f"a {number} {line}\tb\tc\n" for line in range(100)))
    exported = client.get(f"{one}/export").content
    assert len(exported) > 20_000
    assert client.post(f"{other}/import", content=exported).json()["added"] == 200
    assert client.post(f"{other}/import", content=exported * 5).status_code == 413


def test_what_is_learnt_shows_in_segments_that_nobody_has_seen(client: TestClient) -> None:
    file = upload(client, xliff(("a", "ein Baum"), ("b", "der Baum dort")))
    decide(client, file, 1, "ein Strauch")
    found = client.post(f"/v1/files/{file}/proposals", json={"numbers": [1, 2, 9]}).json()["proposals"]
    assert set(found) == {"1", "2"}
    assert (found["2"]["proposal"]["text"], found["2"]["learnt"]) == ("der Strauch dort", True)
    index = client.get(f"/v1/files/{file}/segments/index", params={"filter": "learnt"}).json()
    assert index == {"numbers": [2]}
    client.post("/v1/projects/default/corrections/1/undo")
    again = client.post(f"/v1/files/{file}/proposals", json={"numbers": [2]}).json()["proposals"]["2"]
    assert (again["proposal"]["text"], again["learnt"]) == ("der Baum dort", False)


def test_events_tell_others_what_happened(client: TestClient) -> None:
    file = upload(client, xliff(*PAIRS))
    before = client.get("/v1/projects/default/events.json").json()
    kinds = {one["kind"] for one in before["events"]}
    assert {"file", "job"} <= kinds
    decide(client, file, 1, "das Haus")
    for number in (1, 2):
        assert client.post(f"/v1/files/{file}/presence", json={"number": number}).status_code == 204
    later = client.get("/v1/projects/default/events.json", params={"after": before["last"]}).json()["events"]
    kept = [one for one in later if not one.get("proposal")]
    assert [(one["kind"], one.get("segment")) for one in kept] == [("segment", None), ("presence", 2)]
    assert kept[0]["numbers"] == [1, 3]


def test_a_stream_begins_with_what_happens_next_unless_told_otherwise(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def first(project: str, after: int, *_: Any) -> AsyncIterator[str]:
        yield str(after)

    upload(client, xliff(*PAIRS))
    monkeypatch.setattr(client.app.state.service.events, "stream", first)  # type: ignore[attr-defined]
    path = "/v1/projects/default/events"
    last = client.get(f"{path}.json").json()["last"]
    assert last > 0
    assert client.get(path).text == str(last)
    assert client.get(path, params={"after": 1}).text == "1"
    assert client.get(path, params={"after": 1}, headers={"Last-Event-ID": "2"}).text == "2"


def test_an_exported_project_has_all(client: TestClient) -> None:
    one, content = project(client), xliff(*PAIRS)
    file = upload(client, content, project=one)
    decide(client, file, 1, "das Haus")
    archive = zipfile.ZipFile(io.BytesIO(client.get(f"/v1/projects/{one}/export").content))
    assert archive.read(f"originals/{file}/a.xlf") == content
    assert archive.read(f"translated/{file}/a.xlf").count(b"das Haus</target>") == 2
    assert json.loads(archive.read("corrections.jsonl"))["pe"] == "das Haus"
    audit = [json.loads(line) for line in archive.read("audit.jsonl").splitlines()]
    assert [entry["segment"] for entry in audit if entry["kind"] == "decision"] == [3, 1]
    assert client.get(f"/v1/projects/{one}/audit", params={"limit": 1}).json()["entries"] == audit[:1]


def test_a_deleted_project_is_gone_with_its_texts(client: TestClient, place: str) -> None:
    one = project(client)
    file = upload(client, xliff(("secret source", "secret target"), *PAIRS), project=one)
    decide(client, file, 1, "secret decision")
    keep = upload(client, xliff(("kept", "kept")))
    refused = client.delete("/v1/projects/default")
    assert refused.status_code == 422
    assert "DELETE /v1/projects/default/corrections" in refused.json()["error"]["message"]
    assert client.delete(f"/v1/projects/{one}").status_code == 204
    for url in (f"/v1/projects/{one}", f"/v1/files/{file}", f"/v1/projects/{one}/events.json"):
        assert client.get(url).status_code == 404
    assert client.get(f"/v1/files/{keep}").json()["segments"] == 1
    if "://" not in place:
        client.app.state.service.store.database._cleaner.shutdown()  # type: ignore[attr-defined]
        for path in Path(place).parent.glob("postedit.db*"):
            assert b"secret" not in path.read_bytes()


def test_all_that_was_learnt_is_deleted_even_of_the_default_project(client: TestClient) -> None:
    client.post("/v1/learn", json={"src": "a", "mt": "b", "pe": "c"})
    url = "/v1/projects/default/corrections"
    assert client.delete(url).json() == {"deleted": 1}
    assert client.get(url).json()["corrections"] == []
    assert client.delete(url).json() == {"deleted": 0}


@pytest.mark.slow
def test_long_work_leaves_threads_for_what_is_short(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    end = threading.Event()

    def export(*_: Any) -> io.BytesIO:
        end.wait(60)
        return io.BytesIO(b"all")

    monkeypatch.setattr(Exports, "project", export)
    with ThreadPoolExecutor(51) as pool:
        exports = [pool.submit(client.get, "/v1/projects/default/export") for _ in range(50)]
        time.sleep(0.5)
        short = pool.submit(client.get, "/v1/projects/default")
        try:
            assert short.result(50).status_code == 200
        finally:
            end.set()
        assert {one.result().content for one in exports} == {b"all"}


def test_deletions_do_not_wait_until_the_file_is_written_anew(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, end, cleaned = threading.Event(), threading.Event(), []

    def clean(_: Any) -> None:
        cleaned.append(True)
        begun.set()
        end.wait(300)

    monkeypatch.setattr(store_base, "clean", clean)
    try:
        for _ in range(5):
            assert client.delete(f"/v1/projects/{project(client)}").status_code == 204
            assert begun.wait(60)  # else one run could be for all
        assert project(client)
        assert len(cleaned) == 1
    finally:
        end.set()
    client.app.state.service.store.database._cleaner.shutdown()  # type: ignore[attr-defined]
    assert len(cleaned) == 2, "the second one is for all that was deleted meanwhile"


def test_a_deleted_file_leaves_what_was_learnt(client: TestClient) -> None:
    file = upload(client, xliff(*PAIRS))
    decide(client, file, 1, "das Haus")
    assert client.delete(f"/v1/files/{file}").status_code == 204
    assert client.get(f"/v1/files/{file}").status_code == 404
    assert len(client.get("/v1/projects/default/corrections").json()["corrections"]) == 1


def test_a_whole_file_is_post_edited_without_the_workbench(client: TestClient) -> None:
    response = client.post("/v1/jobs", files={"file": ("a.xlf", xliff(*PAIRS))})
    assert response.status_code == 202
    job = response.json()["id"]
    with client.stream("GET", f"/v1/jobs/{job}/events") as stream:
        lines = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
    assert (lines[-1]["state"], lines[-1]["done"], lines[-1]["total"]) == ("done", 5, 5)
    assert client.get(f"/v1/jobs/{job}/result").content.count(b"das") == 3
    assert client.delete(f"/v1/jobs/{job}").status_code == 404


def test_a_file_without_open_segments_says_why_it_gets_no_proposals(client: TestClient) -> None:
    units = (unit(1, "a", "b", ' translate="no"'), unit(2, "c", "d"))
    content = XLIFF.format(units="\n".join(units)).replace("<target>d", '<target state="final">d').encode()
    job = client.post("/v1/jobs", files={"file": ("a.xlf", content)}).json()
    found = wait_for(client, job["id"])
    assert (found["state"], found["total"]) == ("done", 0)
    assert found["note"] == "no segment is open (confirmed: 1, locked: 1)"
    upload(client, xliff(*PAIRS))
    assert client.get("/v1/projects/default/jobs").json()["jobs"][0]["note"] == ""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.xlf", b"no file"),
        ("a.xlf", b""),
        ("a.po", b'msgid "x'),
        ("..", b"x"),
        ("a.xlf", xliff(*PAIRS)[:200]),
        ("../../etc/passwd.xlf", b'<!DOCTYPE x [<!ENTITY a "b">]><xliff version="1.2">&a;</xliff>'),
        ("a.xlf", b"\xff\xfe" + b"<\0" * 100),
        ("a.xlf", b'<xliff version="1.2">' + b"<g>" * 5000),
    ],
)
def test_hostile_uploads_end_in_a_sentence(client: TestClient, name: str, content: bytes) -> None:
    response = client.post("/v1/projects/default/files", files={"file": (name, content)})
    assert response.status_code in (202, 422), response.text
    if response.status_code == 202:
        file = response.json()["file"]["id"]
        for _ in range(12_000):
            found = client.get(f"/v1/files/{file}").json()
            if found["state"] != "importing":
                break
            time.sleep(0.05)
        assert found["state"] == "failed"
        assert len(found["error"]) > 10
        assert "/" not in found["name"]
        assert client.get(f"/v1/files/{file}/download").status_code == 422


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        ("POST", "/v1/projects", {"name": "a\0b"}),
        ("POST", "/v1/projects", '{"name": "\\ud800"}'),
        ("GET", "/v1/projects/default/corrections?q=%00", None),
        ("GET", "/v1/projects/default/corrections?before=99999999999999999999", None),
        ("GET", "/v1/projects/%00", None),
        ("GET", f"/v1/projects/{'x' * 100}", None),
        ("GET", "/v1/files/x/segments?after=3000000000", None),
        ("GET", "/v1/files/x/segments/0", None),
        ("PUT", "/v1/files/x/segments/1", {"target": "", "state": "seen", "version": 1e300, "edit_id": "1"}),
        ("PUT", "/v1/files/x/segments/1", {"target": "", "state": "locked", "version": 1, "edit_id": "1"}),
        ("POST", "/v1/jobs", None),
        ("GET", "/v1/jobs/x/result", None),
    ],
)
def test_requests_that_make_no_sense_are_refused_in_a_sentence(
    client: TestClient, method: str, url: str, body: Any
) -> None:
    content = json.dumps(body) if isinstance(body, dict) else body
    response = client.request(method, url, content=content, headers={"Content-Type": "application/json"})
    assert response.status_code in (404, 422), response.text
    assert len(response.json()["error"]["message"]) > 5
