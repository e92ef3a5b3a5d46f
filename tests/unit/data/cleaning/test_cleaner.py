import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postedit.core.config import load_config
from postedit.core.errors import DataError, OutputError
from postedit.core.processes import LocalExecutor
from postedit.data.cleaning import cleaner
from postedit.data.cleaning.cleaner import CleanReport, clean
from postedit.data.cleaning.config import CleanConfig
from postedit.data.cleaning.records import CleanedTriplet
from postedit.data.lines import read_lines
from postedit.data.triplets import Triplet, TripletFiles, to_json

PLAIN = {"language": {"on": False}}


def config(**values: Any) -> CleanConfig:
    return load_config(CleanConfig, {**PLAIN, **values}, "test")


def write(path: Path, triplets: list[tuple[str, str, str]]) -> TripletFiles:
    path.with_suffix(".jsonl").write_text("".join(to_json(Triplet(*one)) + "\n" for one in triplets), encoding="utf-8")
    return TripletFiles.of(path.with_suffix(".jsonl"))


def removed(out: Path) -> list[dict[str, Any]]:
    return (
        [json.loads(line) for line in read_lines(out.with_name(f"{out.name}.removed.jsonl"))]
        if (out.with_name(f"{out.name}.removed.jsonl").stat().st_size)
        else []
    )


def kept(out: Path) -> list[tuple[str, ...]]:
    return list(zip(*(list(read_lines(out.with_name(f"{out.name}.{side}"))) for side in ("src", "mt", "pe"))))


@pytest.fixture(autouse=True)
def small_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cleaner, "BLOCK", 3)
        yield


TRIPLETS = [
    ("one file", "eine Datei", "eine Datei"),
    ("", "x", "x"),
    ("one file", "eine Datei", "eine Datei"),
    ("a " * 101, "b", "b"),
    ("step 1", "Schritt 1", "Schritt 1"),
    ("Step 2", "Schritt 2", "Schritt 2!"),
    ("in 1999", "1998", "1998"),
    ("last", "letzte", "letzter"),
]


def test_every_filter_reports_what_it_removed_and_why(tmp_path: Path) -> None:
    report = clean([write(tmp_path / "x", TRIPLETS)], tmp_path / "out", config())
    assert kept(tmp_path / "out") == [TRIPLETS[0], TRIPLETS[4], TRIPLETS[7]]
    name = str(tmp_path / "x.jsonl")
    assert [(one["line"], one["filter"], one["detail"]) for one in removed(tmp_path / "out")] == [
        (2, "unusable", "src is empty"),
        (3, "duplicates", f"same as {name}, line 1"),
        (4, "length", "src has 101 words"),
        (6, "near_duplicates", f"same as {name}, line 5"),
        (7, "numbers", "only src has 1999; only pe has 1998"),
    ]
    assert removed(tmp_path / "out")[4] == {
        "source": name,
        "line": 7,
        "filter": "numbers",
        "detail": "only src has 1999; only pe has 1998",
        "src": "in 1999",
        "mt": "1998",
        "pe": "1998",
    }
    assert (report.read, report.kept, report.changed) == (8, 3, 0)
    assert {name: taken.count for name, taken in report.filters.items() if taken.count} == {
        "unusable": 1,
        "length": 1,
        "numbers": 1,
        "duplicates": 1,
        "near_duplicates": 1,
    }
    saved = json.loads((tmp_path / "out.report.json").read_text())
    assert saved["filters"]["numbers"]["examples"][0]["line"] == 7
    assert saved["recipe"]["length"] == {"on": True, "min": 1, "max": 100}
    assert not (tmp_path / "out.work").exists()


words = st.lists(st.sampled_from(["a", "B", "1999", "12", "<b>", "", "é", "x.", "line\nfeed"]), max_size=6).map(
    " ".join
)


@settings(max_examples=40)
@given(texts=st.lists(st.tuples(words, words, words), min_size=1, max_size=30))
def test_every_triplet_is_kept_in_order_or_removed_with_a_reason(
    texts: list[tuple[str, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("clean")
    texts = [*texts, ("sure to stay", "a b c", "d e f")]
    report = clean([write(folder / "x", texts)], folder / "out", config())
    gone = {one["line"]: one for one in removed(folder / "out")}
    left = [one for line, one in enumerate(texts, 1) if line not in gone]
    assert kept(folder / "out") == [tuple(text.replace("\n", " ") for text in one) for one in left]
    assert all(one["detail"] and (one["src"], one["mt"], one["pe"]) == texts[line - 1] for line, one in gone.items())
    assert report.read == report.kept + len(gone) == len(texts)
    assert len(set(left)) == len(left)


def results(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("out.*")) if path.is_file()}


@pytest.mark.slow
def test_the_result_does_not_depend_on_processes_or_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path / "x", TRIPLETS * 4)
    clean([source], tmp_path / "out", config())
    first = results(tmp_path)
    for block, workers in ((3, 2), (1000, 1)):
        monkeypatch.setattr(cleaner, "BLOCK", block)
        clean([source], tmp_path / "out", config(), executor=LocalExecutor(workers))
        assert results(tmp_path) == first


class TestInterrupted:
    def interrupt(self, folder: Path, source: TripletFiles) -> None:
        def stop(stage: str, done: int) -> None:
            if done >= 6:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            clean([source], folder / "out", config(), progress=stop)

    def test_goes_on_without_doing_anything_twice(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        source = write(tmp_path / "x", TRIPLETS)
        clean([source], tmp_path / "whole", config())
        self.interrupt(tmp_path, source)
        assert not list(tmp_path.glob("out.src"))
        assert len(list((tmp_path / "out.work").glob("*.jsonl"))) == 2
        rows: list[CleanedTriplet] = []
        original = cleaner._Job._record

        def count(job: Any, *arguments: Any) -> CleanedTriplet:
            rows.append(original(job, *arguments))
            return rows[-1]

        monkeypatch.setattr(cleaner._Job, "_record", count)
        shown: list[tuple[str, int]] = []
        clean([source], tmp_path / "out", config(), resume=True, progress=lambda *done: shown.append(done))
        assert shown[:2] == [("filtering", 6), ("filtering", 8)]
        assert [row.line for row in rows] == [7, 8]
        assert kept(tmp_path / "out") == kept(tmp_path / "whole")
        assert removed(tmp_path / "out") == removed(tmp_path / "whole")

    def test_goes_on_with_the_same_job_only(self, tmp_path: Path) -> None:
        source = write(tmp_path / "x", TRIPLETS)
        self.interrupt(tmp_path, source)
        with pytest.raises(OutputError, match="made with another recipe"):
            clean([source], tmp_path / "out", config(length={"max": 80}), resume=True)
        write(tmp_path / "x", TRIPLETS[1:])
        with pytest.raises(OutputError, match="made with another files"):
            clean([source], tmp_path / "out", config(), resume=True)


def test_steps_of_the_paper(tmp_path: Path) -> None:
    triplets = [
        ("Press “OK” now.", "Jetzt „OK“ drücken.", "Drücken Sie „OK“ jetzt."),
        ("All files you press.", "a.", "b."),
    ]
    values = {"src_lang": "en", "tgt_lang": "de", "punctuation": True, "tokenizer": "moses", "truecase": True}
    report = clean([write(tmp_path / "x", triplets)], tmp_path / "out", config(**values))
    assert kept(tmp_path / "out")[0] == ('press " OK " now .', 'jetzt " OK " drücken .', 'Drücken Sie " OK " jetzt .')
    assert report.changed == 2
    assert json.loads((tmp_path / "out.truecase.src.json").read_text())["lower"]


def test_parallel_text(tmp_path: Path) -> None:
    (tmp_path / "x.en").write_text("one\ntwo\none\n")
    (tmp_path / "x.de.gz").write_bytes(gzip.compress(b"eins\n\neins\n"))
    files = TripletFiles(src=str(tmp_path / "x.en"), pe=str(tmp_path / "x.de"))
    report = clean([files], tmp_path / "out", config())
    assert list(read_lines(tmp_path / "out.src")) == ["one"]
    assert list(read_lines(tmp_path / "out.pe")) == ["eins"]
    assert not (tmp_path / "out.mt").exists()
    assert [(one["line"], one["filter"], set(one)) for one in removed(tmp_path / "out")] == [
        (2, "unusable", {"source", "line", "filter", "detail", "src", "pe"}),
        (3, "duplicates", {"source", "line", "filter", "detail", "src", "pe"}),
    ]
    assert report.files == TripletFiles(src=f"{tmp_path}/out.src", pe=f"{tmp_path}/out.pe")


def test_duplicates_of_several_sources_and_of_chosen_sides(tmp_path: Path) -> None:
    one = write(tmp_path / "one", [("a b", "x y", "x z")])
    two = write(tmp_path / "two", [("a b", "x y", "x z"), ("a b", "other", "words here"), ("c d", "e f", "g h")])
    clean([one, two], tmp_path / "out", config())
    assert [(one["source"], one["line"]) for one in removed(tmp_path / "out")] == [(two.name, 1)]
    clean([one, two], tmp_path / "out", config(duplicates={"sides": ["src"]}))
    assert [one["line"] for one in removed(tmp_path / "out")] == [1, 2]
    assert removed(tmp_path / "out")[0]["detail"] == f"same as {one.name}, line 1"


def test_a_first_of_duplicates_that_another_filter_took_does_not_count(tmp_path: Path) -> None:
    source = write(tmp_path / "x", [("step 12", "Schritt", "Schritt"), ("step 13", "Schritt", "Schritt 13")])
    clean([source], tmp_path / "out", config())
    assert [(one["line"], one["filter"]) for one in removed(tmp_path / "out")] == [(1, "numbers")]


def test_inputs_are_never_overwritten(tmp_path: Path) -> None:
    for side in ("src", "mt", "pe"):
        (tmp_path / f"x.{side}").write_text("a\n")
    with pytest.raises(OutputError, match=r"x\.src: is one of the files to clean; choose another prefix"):
        clean([TripletFiles.of(tmp_path / "x")], tmp_path / "x", config())
    (tmp_path / "y.src").hardlink_to(tmp_path / "x.src")
    with pytest.raises(OutputError, match=r"y\.src: is one of the files to clean; choose another prefix"):
        clean([TripletFiles.of(tmp_path / "x")], tmp_path / "y", config())


def test_nothing_left_is_an_error_and_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the filters removed every triplet"):
        clean([write(tmp_path / "x", [("", "a", "b")])], tmp_path / "out", config())
    assert not list(tmp_path.glob("out.[smpr]*[!k]"))


def test_a_report_needs_no_examples() -> None:
    assert CleanReport(TripletFiles.of("x")).to_dict()["filters"] == {}


def test_a_first_of_duplicates_that_is_removed_does_not_count(tmp_path: Path) -> None:
    triplets = [
        ("Open the file", "m n", "Datei öffnen"),
        ("open the file", "m n", "Datei öffnen"),
        ("open the file", "x y", "öffne die Datei"),
        ("open the file", "x z", "Datei auf"),
    ]
    clean([write(tmp_path / "in", triplets)], tmp_path / "out", config(duplicates={"sides": ["src"]}))
    assert kept(tmp_path / "out") == [triplets[0], triplets[2]]
    assert [(one["line"], one["filter"], one["detail"].rpartition(" ")[2]) for one in removed(tmp_path / "out")] == [
        (2, "near_duplicates", "1"),
        (4, "duplicates", "3"),
    ]


def test_texts_that_normalisation_empties_are_unusable(tmp_path: Path) -> None:
    triplets = [("\x01\x02", "a b", "a c"), ("one two", "x y", "x z")]
    clean([write(tmp_path / "in", triplets)], tmp_path / "out", config(tokenizer="moses", src_lang="en", tgt_lang="de"))
    assert kept(tmp_path / "out") == [triplets[1]]
    (only,) = removed(tmp_path / "out")
    assert (only["filter"], only["detail"]) == ("unusable", "src is blank once normalised")


def test_truecasing_is_learnt_from_kept_triplets_and_counts_as_change(tmp_path: Path) -> None:
    triplets = [("The file", "a", "b"), ("open the file", "c", "d"), ("", "x", "y")]
    report = clean([write(tmp_path / "in", triplets)], tmp_path / "out", config(truecase=True))
    assert kept(tmp_path / "out") == [("the file", "a", "b"), triplets[1]]
    assert report.changed == 1


def test_sides_are_compared_one_by_one_for_duplicates(tmp_path: Path) -> None:
    triplets = [("ab", "c", "x"), ("a", "bc", "x")]
    clean([write(tmp_path / "in", triplets)], tmp_path / "out", config())
    assert kept(tmp_path / "out") == triplets


def test_repeated_triplets_are_kept_with_both_filters_off(tmp_path: Path) -> None:
    off = {"on": False}
    report = clean(
        [write(tmp_path / "in", [("a", "b", "c")] * 2)], tmp_path / "out", config(duplicates=off, near_duplicates=off)
    )
    assert kept(tmp_path / "out") == [("a", "b", "c")] * 2
    assert not {"duplicates", "near_duplicates"} & report.filters.keys()
