import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postedit.cli.statistics import draw
from postedit.core.errors import OutputError
from postedit.core.processes import LocalExecutor
from postedit.core.saved_arrays import SavedArrays
from postedit.data.blocks import TripletBlock, triplet_blocks
from postedit.data.triplets import TripletFiles, read_triplets
from postedit.evaluate.scores import score_systems
from postedit.evaluate.ter import TER, EditCount
from postedit.jobs import corpus_statistics
from postedit.jobs.corpus_statistics import Lengths, gather_statistics
from postedit.jobs.edit_statistics import (
    TER_BINS,
    EditInContext,
    FrequentItems,
    WordEdit,
    bin_names,
    edits_in_context,
    ter_bin,
)

FEW = 120
SAMPLE = TripletFiles.of(Path(__file__).parents[3] / "examples/mlqe-pe.en-de/test")


def tsv(path: Path, *triplets: tuple[str, str, str]) -> TripletFiles:
    path.write_text("".join("\t".join(one) + "\n" for one in triplets), encoding="utf-8")
    return TripletFiles.of(path)


class TestFrequent:
    @given(things=st.lists(st.sampled_from("aaaabbbccdefghij"), max_size=200), capacity=st.integers(2, 12))
    def test_counts_are_low_by_at_most_the_stated_error(self, things: list[str], capacity: int) -> None:
        frequent: FrequentItems[str] = FrequentItems(capacity)
        for start in range(0, len(things), 5):
            frequent.add(things[start : start + 5])
        for thing, count in Counter(things).items():
            assert count - frequent.missing <= frequent.counts[thing] <= count
        assert len(frequent.counts) <= capacity
        assert frequent.missing <= len(things)

    def test_counts_are_exact_while_there_is_room(self) -> None:
        frequent: FrequentItems[str] = FrequentItems(3)
        frequent.add("abcabca")
        frequent.add({"a": 2})
        assert (frequent.counts["a"], frequent.missing) == (5, 0)


class TestEdits:
    def edits(self, mt: str, pe: str) -> list[EditInContext]:
        return list(edits_in_context(TER(case_sensitive=True), [mt], [pe]))

    def test_kinds_and_contexts(self) -> None:
        assert self.edits("in die Datei", "in der Datei") == [EditInContext("in", "die", "der", "Datei")]
        assert self.edits("in Datei", "in der Datei") == [EditInContext("in", "", "der", "Datei")]
        assert self.edits("in der Datei", "in Datei") == [EditInContext("in", "der", "", "Datei")]

    def test_there_are_no_words_beyond_the_ends(self) -> None:
        assert self.edits("a", "b") == [EditInContext("", "a", "b", "")]
        assert self.edits("a b", "a") == [EditInContext("a", "b", "", "")]

    def test_a_moved_word_is_no_word_edit(self) -> None:
        assert self.edits("c d a b", "a b c d") == []

    @given(mt=st.lists(st.sampled_from("abcd"), max_size=8), pe=st.lists(st.sampled_from("abcd"), max_size=8))
    def test_there_are_as_many_as_ter_counts(self, mt: list[str], pe: list[str]) -> None:
        metric = TER(case_sensitive=True)
        texts = [" ".join(mt)], [" ".join(pe)]
        (count,) = metric.counts(*texts)
        found = list(edits_in_context(metric, *texts))
        assert sum(one.old == "" for one in found) == count.insertions
        assert sum(one.new == "" for one in found) == count.deletions
        assert len(found) == count.edits - count.shifts


class TestLengths:
    @given(st.lists(st.integers(0, 30), min_size=1))
    def test_quantiles(self, values: list[int]) -> None:
        lengths = Lengths(Counter(values))
        for percent in (1, 5, 50, 95, 100):
            value = lengths.quantile(percent)
            assert sum(one <= value for one in values) * 100 >= percent * len(values)
            assert sum(one < value for one in values) * 100 < percent * len(values)

    def test_of_nothing(self) -> None:
        assert Lengths().to_dict()["mean"] == 0


@pytest.mark.parametrize(
    ("edits", "length", "name"),
    [
        (0, 10, "0"),
        (1, 100, "0-5"),
        (1, 20, "0-5"),
        (51, 1000, "5-10"),
        (1, 10, "5-10"),
        (10, 10, "95-100"),
        (11, 10, "> 100"),
        (1, 0, "> 100"),
        (0, 0, "0"),
    ],
)
def test_columns_of_the_histogram(edits: int, length: int, name: str) -> None:
    assert bin_names()[ter_bin(EditCount(edits, 0, 0, 0, length))] == name
    assert len(bin_names()) == TER_BINS


def test_statistics_of_a_sample_agree_with_its_scores() -> None:
    statistics = gather_statistics([SAMPLE], {})
    triplets = list(read_triplets(SAMPLE))
    (row,) = score_systems({"mt": [one.mt for one in triplets]}, [one.pe for one in triplets], None)
    edits = statistics.edits
    assert edits is not None
    assert edits.ter == pytest.approx(row.ter)
    assert edits.unchanged == sum(one.mt == one.pe for one in triplets)
    assert sum(edits.bins) == statistics.triplets == len(triplets)
    assert statistics.lengths["src"].words == sum(len(one.src.split()) for one in triplets)
    assert edits.words.counts.total() == edits.kinds.total() - edits.kinds["shifts"]


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> TripletFiles:
    """Return the first triplets of the sample."""
    path = tmp_path_factory.mktemp("few") / "few.tsv"
    return tsv(path, *((one.src, one.mt, one.pe) for one in islice(read_triplets(SAMPLE), FEW)))


@pytest.mark.slow
def test_the_result_does_not_depend_on_processes_or_blocks(few: TripletFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    first = gather_statistics([few], {"dev": [few]}).to_dict(50)
    assert first["triplets"] == FEW
    monkeypatch.setattr(corpus_statistics, "BLOCK", 17)
    assert gather_statistics([few], {"dev": [few]}).to_dict(50) == first
    assert gather_statistics([few], {"dev": [few]}, executor=LocalExecutor(2)).to_dict(50) == first
    assert json.loads(json.dumps(first)) == first


def noted(blocks: Iterator[TripletBlock], read: list[int]) -> Iterator[TripletBlock]:
    for block in blocks:
        read.append(block.number)
        yield block


def test_what_was_counted_before_an_interruption_is_not_counted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = gather_statistics([SAMPLE], {"dev": [SAMPLE]}).to_dict(50)
    monkeypatch.setattr(corpus_statistics, "BLOCK", 40)
    count, path, counted = corpus_statistics._block_statistics, tmp_path / "counts.npz", list[int]()

    def interrupted(block: TripletBlock, **options: Any) -> Any:
        if len(counted) in (3, 6):
            counted.append(-1)
            raise KeyboardInterrupt
        counted.append(block.number)
        return count(block, **options)

    monkeypatch.setattr(corpus_statistics, "_block_statistics", interrupted)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            gather_statistics([SAMPLE], {"dev": [SAMPLE]}, saved=SavedArrays(path, {}, resume=True, seconds=0))
    shown, read = list[int](), list[int]()
    monkeypatch.setattr(corpus_statistics, "triplet_blocks", lambda *given: noted(triplet_blocks(*given), read))

    def show(done: int) -> None:
        assert len(read) >= 5, "the clock starts after blocks that were counted before"
        shown.append(done)

    saved = SavedArrays(path, {}, resume=True)
    found = gather_statistics([SAMPLE], {"dev": [SAMPLE]}, saved=saved, progress=show)
    assert found.to_dict(50) == expected
    assert shown == [*range(5 * 40, expected["triplets"], 40), expected["triplets"]]
    assert [number for number in counted if number >= 0] == list(range(-(-expected["triplets"] // 40)))
    path.with_name("0-0000.npy").unlink()
    with pytest.raises(OutputError, match="is missing"):
        gather_statistics([SAMPLE], {"dev": [SAMPLE]}, saved=SavedArrays(path, {}, resume=True))


def test_repetitions_and_overlaps(tmp_path: Path) -> None:
    train = tsv(
        tmp_path / "train.tsv",
        ("one 1", "eins", "eins"),
        ("one 1", "eins", "eins"),
        ("One 2", "eins", "eins!"),
        ("two", "zwei", "zwei"),
    )
    dev = tsv(tmp_path / "dev.tsv", ("one 1", "x", "ein"), ("ONE", "x", "eins"), ("three", "drei", "drei"))
    found = gather_statistics([train], {"dev": [dev]})
    assert found.repeated == {"triplet": 1, "triplet, nearly": 2, "src": 1, "src, nearly": 2, "pe": 1, "pe, nearly": 2}
    overlap = found.overlaps["dev"]
    assert overlap.triplets == 3
    assert (overlap.here["src"], overlap.there["src"]) == (2, 1)
    assert (overlap.here["src, nearly"], overlap.there["src, nearly"]) == (3, 2)
    assert (overlap.here["pe"], overlap.there["pe"]) == (2, 1)
    assert overlap.here["triplet"] == 0


def test_the_most_frequent_edits_with_contexts(tmp_path: Path) -> None:
    made = [("x", "in die Datei", "in der Datei")] * 3 + [("x", "auf die Datei", "auf der Datei"), ("x", "a", "b")]
    edits = gather_statistics([tsv(tmp_path / "x.tsv", *made)], {}).edits
    assert edits is not None
    first, second = edits.most_frequent(5)
    assert (first.edit, first.count) == (WordEdit("die", "der"), 4)
    assert [place.left for place in first.contexts] == ["in", "auf"]
    assert second.edit == WordEdit("a", "b")


def test_text_without_spaces_is_counted_by_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [("save the file", "設定を保存する。", "設定は保存する。"), ("close it", "閉じる。", "閉じる。")]
    files = [tsv(tmp_path / "x.tsv", *made)]
    found = gather_statistics(files, {}, tokenize="characters")
    assert {side: lengths.words for side, lengths in found.lengths.items()} == {"src": 5, "mt": 12, "pe": 12}
    assert found.edits is not None
    (edit,) = found.edits.most_frequent(5)
    assert (edit.edit, found.edits.ter) == (WordEdit("を", "は"), pytest.approx(100 / 12))
    assert found.edits.signature.endswith("of characters")
    words = gather_statistics(files, {}).edits
    assert words is not None
    assert words.ter == 50.0
    monkeypatch.setattr(corpus_statistics, "BLOCK", 1)
    saved = SavedArrays(tmp_path / "counts.npz", {}, resume=True, seconds=0)

    def stop_at_the_last(done: int) -> None:
        if done == len(made):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gather_statistics(files, {}, tokenize="characters", saved=saved, progress=stop_at_the_last)
    resumed = gather_statistics(files, {}, tokenize="characters", saved=SavedArrays(saved.path, {}, resume=True))
    assert resumed.to_dict(5) == found.to_dict(5)


def test_raw_text_is_counted_by_its_words_and_punctuation(tmp_path: Path) -> None:
    found = gather_statistics([tsv(tmp_path / "x.tsv", ("Save it.", "Sichern.", "Speichern!"))], {}, tokenize="13a")
    assert {side: lengths.words for side, lengths in found.lengths.items()} == {"src": 3, "mt": 2, "pe": 2}
    assert found.edits is not None
    assert found.edits.ter == 100.0
    assert {one.edit for one in found.edits.most_frequent(5)} == {WordEdit("Sichern", "Speichern"), WordEdit(".", "!")}


def test_parallel_text_has_no_edits(tmp_path: Path) -> None:
    (tmp_path / "x.en").write_text("a b\n")
    (tmp_path / "x.de").write_text("c\n")
    found = gather_statistics([TripletFiles(src=str(tmp_path / "x.en"), pe=str(tmp_path / "x.de"))], {})
    assert found.edits is None
    assert list(found.lengths) == ["src", "pe"]
    draw(found, tmp_path / "x.png", "parallel")
    assert (tmp_path / "x.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("suffix", [".svg", *(pytest.param(one, marks=pytest.mark.slow) for one in (".png", ".pdf"))])
def test_pictures_are_the_same_each_time(suffix: str, few: TripletFiles, tmp_path: Path) -> None:
    found = gather_statistics([few], {})
    first, second = tmp_path / f"1{suffix}", tmp_path / f"2{suffix}"
    draw(found, first, "$a$ sample")
    if suffix != ".pdf":  # which has its date
        draw(found, second, "$a$ sample")
        assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 5000


def test_what_parts_dropped_is_known_of_the_whole() -> None:
    whole, part = FrequentItems[str](4), FrequentItems[str](4)
    part.add(["a", "a", "b", "c", "d", "e"])
    assert part.missing
    whole.add_all(part)
    assert whole.missing == part.missing
