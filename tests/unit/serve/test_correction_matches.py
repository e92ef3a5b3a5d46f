import pytest

pytest.importorskip("fastapi")
from fastapi.testclient import TestClient
from serve_tools import decide, upload, xliff

from postedit.adapt.correction import Correction
from postedit.serve.store import Store


def corrections(*texts: tuple[str, str, str]) -> list[Correction]:
    return [Correction(src, mt, pe, author="anna") for src, mt, pe in texts]


def test_nearest_corrections_come_first_and_follow_the_memory(store: Store) -> None:
    add = store.projects.add_corrections
    rows = [("the door is red", "die Tür ist rot", "A"), ("the door is blue", "die Tür ist blau", "B")]
    first, second = add("default", corrections(*rows, ("nothing else", "nichts sonst", "C")), "anna")[:2]
    found = store.matches.find("default", "the door is blue", "die Tür ist blau")
    assert [(one["target"], one["score"]) for one in found] == [("B", 1), ("A", 0.75)]
    assert [one["number"] for one in store.matches.find("default", *rows[0][:2], first)] == [second]
    store.projects.undo_correction("default", second, "anna")
    add("default", corrections(("the door is green", "die Tür ist grün", "D"), rows[0]), "anna")
    found = store.matches.find("default", "the door is blue", "die Tür ist blau")
    assert [one["target"] for one in found] == ["A", "D"]  # of equal ones the latest first


def test_source_alone_finds_matches_of_segments_without_translation(store: Store) -> None:
    store.projects.add_corrections("default", corrections(("the door is red", "die Tür", "A")), "anna")
    (found,) = store.matches.find("default", "the door is blue", "")
    assert found["score"] == 0.75


def test_project_deleted_is_forgotten_by_the_index(store: Store) -> None:
    project = store.projects.create({"name": "P"}, "anna", None)
    store.projects.add_corrections(project, corrections(("a b", "c d", "A")), "anna")
    assert store.matches.find(project, "a b", "c d")
    store.projects.delete(project)
    assert not store.matches.find(project, "a b", "c d")


def test_route_gives_corrections_of_other_files_but_not_of_the_segment(client: TestClient) -> None:
    file = upload(client, xliff(("a big house", "ein grosses Haus"), ("a big tree", "ein grosses Baum")))
    decide(client, file, 1, "ein großes Haus")
    path = f"/v1/files/{file}/segments"
    (match,) = client.get(f"{path}/2/matches").json()["matches"]
    assert (match["target"], match["origin"], match["author"]) == ("ein großes Haus", "correction", "local")
    assert client.get(f"{path}/1/matches").json() == {"matches": []}
    assert client.get(f"{path}/9/matches").status_code == 404
