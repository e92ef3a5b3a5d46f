"""Files and segments over HTTP, on SQLite and PostgreSQL."""

from fastapi.testclient import TestClient
from serve_tools import PAIRS, decide, upload, xliff


def test_a_file_becomes_segments_with_proposals(client: TestClient) -> None:
    file = upload(client, xliff(*PAIRS))
    found = client.get(f"/v1/files/{file}").json()
    assert (found["state"], found["segments"], found["changed"], found["confirmed"]) == ("ready", 5, 3, 0)
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
