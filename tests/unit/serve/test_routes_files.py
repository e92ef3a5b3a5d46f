"""Files and segments over HTTP, on SQLite and PostgreSQL."""

import asyncio
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from fastapi import Request
from fastapi.testclient import TestClient
from serve_tools import PAIRS, decide, upload, xliff

from postedit.serve.accounts import LOCAL, Access
from postedit.serve.http_errors import HttpError
from postedit.serve.routes_files import Numbers, propose
from postedit.serve.schema import files, jobs


def _tmx(*variants: dict[str, str]) -> bytes:
    units = (
        "".join(f'<tuv xml:lang="{language}"><seg>{text}</seg></tuv>' for language, text in unit.items())
        for unit in variants
    )
    body = "\n".join(f"<tu>{unit}</tu>" for unit in units)
    return f'<tmx version="1.4"><header srclang="en"/><body>\n{body}\n</body></tmx>'.encode()


MEMORY = _tmx(
    {"en": "One", "de": "Eins"},
    {"en": "Two", "fr": "Deux", "de": "Zwei"},
    {"en": "Three", "fr": "Trois", "de": "Drei"},
)


def test_a_file_becomes_segments_with_proposals(client: TestClient) -> None:
    file = upload(client, xliff(*PAIRS))
    found = client.get(f"/v1/files/{file}").json()
    assert (found["state"], found["segments"], found["changed"], found["confirmed"]) == ("ready", 5, 3, 0)
    assert found["locked"] == client.get("/v1/projects").json()["projects"][0]["locked"] == 0
    assert (found["format"], found["source_language"], found["target_language"]) == ("XLIFF 1.2", "en", "de")
    page = client.get(f"/v1/files/{file}/segments", params={"limit": 4}).json()
    assert (page["total"], page["next"], [one["number"] for one in page["segments"]]) == (5, 4, [1, 2, 3, 4])
    first, second = page["segments"][:2]
    assert (first["src"], first["mt"], first["proposal"]["text"]) == ("the house", "die Haus", "das Haus")
    assert (first["repeats"], first["state"], first["version"], first["target"]) == (2, "new", 0, "")
    assert second["mt_codes"] == [
        {"at": 4, "id": "1", "kind": "open", "label": '<g id="1">'},
        {"at": 8, "id": "1", "kind": "close", "label": "</g>"},
    ]
    assert [one["at"] for one in second["proposal_codes"]] == [4, 8]
    rest = client.get(f"/v1/files/{file}/segments", params={"after": 4}).json()
    assert [one["number"] for one in rest["segments"]] == [5]
    assert rest["next"] is None


def test_a_missing_folder_of_temporary_files_is_no_fault_of_the_client(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = upload(client, xliff(*PAIRS))
    missing = tmp_path / "missing"
    monkeypatch.setattr(tempfile, "tempdir", str(missing))
    large = {"file": ("a.xlf", b" " * (2 * 2**20))}  # not kept in memory
    added = client.post("/v1/projects/default/files", files=large)
    assert added.status_code == 500, added.text
    assert [str(missing) in one.message for one in caplog.records if one.levelname == "ERROR"] == [True]
    assert [one["id"] for one in client.get("/v1/projects/default/files").json()["files"]] == [file]


def test_a_file_being_read_and_a_job_without_result_are_conflicts(client: TestClient) -> None:
    file = upload(client, xliff(*PAIRS))
    job = client.get("/v1/projects/default/jobs").json()["jobs"][0]["id"]
    store = client.app.state.service.store  # type: ignore[attr-defined]
    with store.database.change("default", "anna") as change:
        change.execute(sql.update(files).values(state="importing"))
        change.execute(sql.update(jobs).where(jobs.c.id == job).values(state="cancelled"))
    download = client.get(f"/v1/files/{file}/download")
    proposals = client.post(f"/v1/files/{file}/proposals", json={"numbers": [1]})
    result = client.get(f"/v1/jobs/{job}/result")
    assert [one.status_code for one in (download, proposals, result)] == [409, 409, 409]
    described = client.app.openapi()["paths"]  # type: ignore[attr-defined]
    for path, method in (("files/{file}/download", "get"), ("files/{file}/proposals", "post")):
        assert "still being read" in described[f"/v1/{path}"][method]["responses"]["409"]["description"]
    assert "no result" in described["/v1/jobs/{job}/result"]["get"]["responses"]["409"]["description"]


@pytest.mark.parametrize("path", ["/v1/projects/default/files", "/v1/jobs"])
def test_a_form_with_two_files_is_refused(client: TestClient, path: str) -> None:
    parts = [("file", (name, xliff(*PAIRS))) for name in ("a.xlf", "b.xlf")]
    refused = client.post(path, files=parts)
    assert refused.status_code == 422
    assert "the form has 2 parts named file, and one is allowed" in refused.json()["error"]["message"]
    assert client.get("/v1/projects/default/files").json()["files"] == []
    assert client.post(path, files=parts[:1]).status_code == 202


@pytest.mark.parametrize("path", ["/v1/projects/default/files", "/v1/jobs"])
def test_who_sends_text_in_place_of_a_file_is_told_so(client: TestClient, path: str) -> None:
    """As with `curl -F file=a.xlf`, which lacks the @."""
    for form in ({"data": {"file": "a.xlf"}}, {"files": {"file": ("", b"a")}}):
        refused = client.post(path, **form)
        assert refused.status_code == 422
        message = "file: must be a file with a name, not text (with curl: -F file=@PATH)"
        assert refused.json()["error"]["message"] == message


def test_a_form_in_an_encoding_that_nobody_can_read_is_a_sentence(client: TestClient) -> None:
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.po"\r\n\r\n\r\n--x--\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=x; charset=undefined"}
    answer = client.post("/v1/projects/default/files", content=form, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["error"]["message"] == "the body is not in the encoding that it names; send it as UTF-8"


def test_nothing_confirmed_leaves_every_byte(client: TestClient) -> None:
    content = xliff(*PAIRS)
    file = upload(client, content)
    assert decide(client, file, 1, "das Heim", state="draft").status_code == 200
    assert client.get(f"/v1/files/{file}/download").content == content


def test_confirming_learns_fills_repetitions_and_is_downloaded(client: TestClient) -> None:
    file = upload(client, xliff(*PAIRS))
    saved = decide(client, file, 1, "das Haus").json()
    assert (saved["segment"]["state"], saved["filled"], saved["correction"]) == ("confirmed", [3], 1)
    assert client.get(f"/v1/files/{file}/segments/3").json()["filled_from"] == 1
    (learnt,) = client.get("/v1/projects/default/corrections").json()["corrections"]
    assert (learnt["mt"], learnt["pe"], learnt["author"], learnt["undone"]) == ("die Haus", "das Haus", "local", False)
    assert learnt["decisions"] == [{"start": 0, "end": 3, "text": "das", "accepted": True}]
    text = client.get(f"/v1/files/{file}/download").content.decode()
    assert text.count("das Haus</target>") == 2
    assert "ein Baum" in text


def test_white_space_at_the_ends_of_segments_stays(client: TestClient) -> None:
    file = upload(client, xliff(("  the house ", "\n die Haus  ")))
    segment = client.get(f"/v1/files/{file}/segments/1").json()
    proposal = segment["proposal"]
    assert (segment["mt"], proposal["text"]) == ("\n die Haus  ", "\n das Haus  ")
    (edit,) = proposal["edits"]
    assert (edit["mt_span"], edit["pe_span"], edit["before"], edit["after"]) == ([2, 5], [2, 5], "die", "das")
    decided = [{"edit": 0, "accepted": True}]
    assert decide(client, file, 1, proposal["text"], decisions=decided).status_code == 200
    (learnt,) = client.get("/v1/projects/default/corrections").json()["corrections"]
    assert (learnt["src"], learnt["mt"], learnt["pe"]) == ("the house", "die Haus", "das Haus")
    assert learnt["decisions"] == [{"start": 0, "end": 3, "text": "das", "accepted": True}]
    assert b">\n das Haus  </target>" in client.get(f"/v1/files/{file}/download").content


@pytest.mark.parametrize("language", ["fr", "es", "de-AT", ""])
def test_other_languages_of_a_project_are_for_files_that_follow(client: TestClient, language: str) -> None:
    project = client.post("/v1/projects", json={"name": "a", "source_language": "en", "target_language": "de"}).json()
    file = upload(client, MEMORY, "m.tmx", project["id"])
    for number in (1, 2, 3):
        assert decide(client, file, number, f"Satz {number}").status_code == 200
    before = client.get(f"/v1/files/{file}").json()
    assert client.patch(f"/v1/projects/{project['id']}", json={"target_language": language}).status_code == 200
    text = client.get(f"/v1/files/{file}/download").content.decode()
    assert re.findall(r'lang="(\w+)"[^>]*><seg>(Satz \d)</seg>', text) == [("de", f"Satz {one}") for one in (1, 2, 3)]
    assert re.findall(r"<seg>([DT]\w+)</seg>", text) == ["Two", "Deux", "Three", "Trois"]
    archive = client.get(f"/v1/projects/{project['id']}/export")
    assert archive.status_code == 200
    assert client.get(f"/v1/files/{file}").json() == before


def test_a_memory_of_several_languages_is_read_in_those_of_the_model(client: TestClient) -> None:
    units = [{"en": f"Text {one}", "fr": f"Texte {one}", "de": f"Wort {one}"} for one in (1, 2)]
    file = upload(client, _tmx({"en": "Zero", "fr": "Rien"}, *units), "m.tmx")
    found = client.get(f"/v1/files/{file}").json()
    assert (found["source_language"], found["target_language"], found["segments"]) == ("en", "de", 2)
    assert client.patch("/v1/projects/default", json={"target_language": "fr"}).status_code == 200
    assert decide(client, file, 2, "Satz 2").status_code == 200
    text = client.get(f"/v1/files/{file}/download").content.decode()
    assert re.findall(r"<seg>(\w+)", text) == ["Zero", "Rien", *["Text", "Texte", "Wort"], *["Text", "Texte", "Satz"]]


def test_segments_are_found_by_filter_and_text(client: TestClient) -> None:
    file = upload(client, xliff(*PAIRS, ("100 % Äpfel", "100 % Mu\u0308ll")))
    decide(client, file, 4, "ein Strauch")

    def numbers(**given: str) -> list[int]:
        page = client.get(f"/v1/files/{file}/segments", params=given).json()
        index = client.get(f"/v1/files/{file}/segments/index", params=given).json()
        assert [one["number"] for one in page["segments"]] == index["numbers"]
        assert page["total"] == len(index["numbers"])
        found: list[int] = index["numbers"]
        return found

    assert numbers(filter="changed") == [1, 2, 3]
    assert numbers(filter="tags") == [2]
    assert numbers(filter="unseen") == [1, 2, 3, 5, 6]
    assert numbers(filter="unconfirmed") == [1, 2, 3, 5, 6]
    assert numbers(filter="low") == []
    assert numbers(q="HOUSE") == [1, 2, 3]
    assert numbers(q="äPFEL") == [6]
    assert numbers(q="A\u0308pfel") == [6]
    assert numbers(q="müLL") == [6]
    assert numbers(q="%") == [6]
    assert numbers(q="_") == []
    assert numbers(q="strauch") == numbers(q="strauch", **{"from": "target"}) == [4]
    assert numbers(q="strauch", **{"from": "mt"}) == []
    assert numbers(q="house", filter="tags") == [2]
    assert numbers(q="DAS haus") == numbers(q="das haus", **{"from": "target"}) == [1, 3], "their proposals are shown"
    assert numbers(q="confidence") == [], "which is no text of a proposal"
    decide(client, file, 1, "ein Heim")
    assert numbers(q="das Haus") == []


def test_the_same_request_after_a_lost_answer_is_harmless(client: TestClient) -> None:
    file = upload(client, xliff(*PAIRS))
    first = decide(client, file, 1, "das Haus", version=0, edit_id="same")
    again = decide(client, file, 1, "das Haus", version=0, edit_id="same")
    assert first.json() == again.json()
    late = decide(client, file, 1, "ein Haus", version=0, edit_id="other")
    assert late.status_code == 409
    assert late.json()["segment"]["target"] == "das Haus"
    assert late.json()["error"]["request_id"] == late.headers["X-Request-ID"]


def test_proposals_are_given_up_when_the_client_goes_away(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    file, service, given_up = upload(client, xliff(*PAIRS)), client.app.state.service, []  # type: ignore[attr-defined]

    async def slow(*_: Any, **__: Any) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            given_up.append(True)
            raise

    async def gone() -> dict[str, str]:
        return {"type": "http.disconnect"}

    monkeypatch.setattr(service.jobs.proposer, "renewed", slow)
    request = Request({"type": "http", "app": client.app}, gone)
    with pytest.raises(HttpError, match="the client has gone"):
        asyncio.run(propose(file, Numbers(numbers=[1]), request, Access(service, LOCAL)))
    assert given_up


def test_files_over_the_limit_are_refused(serve: Callable[..., TestClient]) -> None:
    client = serve(limits={"file_bytes": 2000})
    response = client.post("/v1/projects/default/files", files={"file": ("a.xlf", xliff(*PAIRS * 20))})
    assert response.status_code == 413
    assert "bytes" in response.json()["error"]["message"]


def test_decisions_on_edits_that_there_are_not_are_refused(client: TestClient) -> None:
    file = upload(client, xliff(*PAIRS))
    text = client.get(f"/v1/files/{file}/segments/1").json()["proposal"]["text"]
    for proposal in ({}, {"proposal": text}):
        refused = decide(client, file, 1, "x", decisions=[{"edit": 999, "accepted": True}], **proposal)
        assert refused.status_code == 422
        assert "there is no edit 999, as the proposal has 1" in refused.json()["error"]["message"]
    assert client.get(f"/v1/files/{file}/segments/1/history").json()["history"] == []
    for start, end in ((5, 2), (0, 99)):
        wrong = [{"start": start, "end": end, "text": "x", "accepted": True}]
        learnt = client.post("/v1/learn", json={"src": "a", "mt": "die Haus", "pe": "c", "decisions": wrong})
        assert "are not a span of mt, which has 8" in learnt.json()["error"]["message"]
        line = json.dumps({"src": "a", "mt": "die Haus", "pe": "c", "decisions": wrong})
        assert client.post("/v1/projects/default/corrections/import", content=line).status_code == 422
    assert client.get("/v1/projects/default/corrections").json()["corrections"] == []
