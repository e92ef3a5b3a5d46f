import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")
from fastapi.testclient import TestClient
from serve_tools import decide, upload, xliff

from postedit.adapt.correction import Correction
from postedit.adapt.correction_memory import CorrectionMemory, Entry
from postedit.adapt.nearest import NearestTriplets
from postedit.core.errors import OutputError
from postedit.serve import correction_matches
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


def is_held(word: str) -> bool:
    """Return whether any index in this process has a word."""
    held = [one for one in gc.get_objects() if type(one) is NearestTriplets]  # `isinstance` asks dead weak references
    return any(word in str(vars(one)) for one in held)


def indexed_project(store: Store, word: str) -> str:
    project = store.projects.create({"name": "P"}, "anna", None)
    store.projects.add_corrections(project, corrections((f"a {word}", "c d", "A")), "anna")
    assert store.matches.find(project, f"a {word}", "c d")
    assert is_held(word)
    return project


def test_project_deleted_here_is_in_no_index(store: Store) -> None:
    store.projects.delete(indexed_project(store, "zanzibar"), "anna")
    assert not is_held("zanzibar")


def test_project_deleted_by_another_process_is_in_no_index(store: Store, place: str) -> None:
    project = indexed_project(store, "timbuktu")
    other = Store(place)
    other.projects.delete(project, "anna")
    other.close()
    assert store.forget_deleted()
    assert not is_held("timbuktu")
    assert not store.forget_deleted()


def test_index_stays_when_another_project_is_deleted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, added = indexed_project(store, "kept"), []
    store.projects.delete(indexed_project(store, "gone"), "anna")
    monkeypatch.setattr(NearestTriplets, "add", lambda *_: added.append(1))
    assert store.matches.find(kept, "a kept", "c d")
    assert not added


def test_index_is_made_anew_after_a_fault_while_it_was_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    project = indexed_project(store, "word")
    (first,) = (one.number for one in store.memory.of(project).entries())
    store.projects.add_corrections(project, corrections(("a word", "c d", "B")), "anna")
    store.projects.undo_correction(project, first, "anna")
    entries = CorrectionMemory.entries

    def failing(*given: Any) -> Iterator[Entry]:
        yield from entries(*given)
        raise OutputError("away")

    with monkeypatch.context() as patch:
        patch.setattr(CorrectionMemory, "entries", failing)
        with pytest.raises(OutputError):
            store.matches.find(project, "a word", "c d")
    assert [one["target"] for one in store.matches.find(project, "a word", "c d")] == ["B"]


def test_there_are_no_matches_while_a_large_index_is_made(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correction_matches, "_AT_ONCE", 0)
    monkeypatch.setattr(correction_matches, "_PATIENCE", 0.05)
    store.projects.add_corrections("default", corrections(("a b", "c d", "A")), "anna")
    end, add, made = threading.Event(), NearestTriplets.add, []

    def slowly(*given: Any) -> None:
        made.append(1)
        end.wait(30)
        add(*given)

    monkeypatch.setattr(NearestTriplets, "add", slowly)
    assert [store.matches.find("default", "a b", "c d") for _ in range(3)] == [[]] * 3
    end.set()
    monkeypatch.setattr(correction_matches, "_PATIENCE", 30)
    assert store.matches.find("default", "a b", "c d")
    assert len(made) == 1


def test_route_gives_corrections_of_other_files_but_not_of_the_segment(client: TestClient) -> None:
    file = upload(client, xliff(("a big house", "ein grosses Haus"), ("a big tree", "ein grosses Baum")))
    decide(client, file, 1, "ein großes Haus")
    path = f"/v1/files/{file}/segments"
    (match,) = client.get(f"{path}/2/matches").json()["matches"]
    assert (match["target"], match["origin"], match["author"]) == ("ein großes Haus", "correction", "local")
    assert client.get(f"{path}/1/matches").json() == {"matches": []}
    assert client.get(f"{path}/9/matches").status_code == 404
