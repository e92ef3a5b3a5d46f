import mmap
from pathlib import Path
from types import SimpleNamespace

import pytest

from postedit.core.errors import DataError, OutputError
from postedit.core.model import Writes
from postedit.core.special_tokens import EOS
from postedit.data import corpus as corpus_module
from postedit.data.corpus import SIDES, Corpus, encoded, fingerprint_of, write_corpus
from postedit.data.report import DataReport
from postedit.data.triplets import Triplet
from postedit.text.processor import TextProcessor


def contents(corpus: Corpus) -> dict[str, list[list[int]]]:
    rows = corpus.read(range(corpus.blocks))
    return {side: [ragged[i].tolist() for i in range(len(ragged))] for side, ragged in rows.items()}


def test_ids_come_back_in_order(small: Corpus, triplets: list[Triplet], processor: TextProcessor) -> None:
    expected = {side: processor.encode_batch(side, [getattr(triplet, side) for triplet in triplets]) for side in SIDES}
    assert contents(small) == expected
    assert len(small) == 100
    assert small.blocks == 13
    assert small.tokens == {side: sum(map(len, rows)) for side, rows in expected.items()}
    assert small.vocabularies == {side: processor.vocabulary(side).fingerprint for side in SIDES}


def test_blocks_are_read_in_the_order_asked_for_and_outlive_their_pages(small: Corpus) -> None:
    whole = contents(small)["pe"]
    first = small.read([12, 0], ["pe"])
    small.read(range(13))
    assert list(first) == ["pe"]
    assert [first["pe"][i].tolist() for i in range(12)] == whole[96:] + whole[:8]


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="this system takes no pages back")
def test_pages_are_released_while_block_sizes_are_read(small: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []
    given_back: list[int] = []
    reader = small._reader

    class Reader:
        def get_batch(self, block: int) -> object:
            looked_at.append(block)
            return reader.get_batch(block)

    monkeypatch.setattr(corpus_module, "_SIZES_PER_RELEASE", 5)
    monkeypatch.setattr(small, "_reader", Reader())
    monkeypatch.setattr(small, "_mapping", SimpleNamespace(madvise=lambda _: given_back.append(len(looked_at))))
    small.__dict__.pop("_sizes", None)
    assert [small.block_size(block) for block in range(13)] == [8] * 12 + [4]
    assert given_back == [5, 10, 13]


def test_inputs_that_are_too_long_can_be_cut(tmp_path: Path, processor: TextProcessor) -> None:
    long, short = "die Maus ist rot und das Haus auch", "die Maus"
    rows = [Triplet(long, long, short, "made", 1), Triplet(short, short, long, "made", 2)]
    report = DataReport()
    cut = write_corpus(tmp_path / "cut.arrow", [rows], processor, 6, report, cut=True)
    whole = processor.encode_batch("mt", [long])[0]
    assert contents(cut)["src"] == contents(cut)["mt"] == [[*whole[:5], EOS]]
    assert contents(cut)["pe"] == processor.encode_batch("pe", [short])
    assert report.sources["made"].skipped.keys() == {"a side has more than 6 tokens"}, "a post-edit is not cut"


def test_opened_again_is_the_same(small: Corpus) -> None:
    again = Corpus.open(small.path)
    assert contents(again) == contents(small)
    assert again.fingerprint == small.fingerprint


def test_fingerprint_tells_content_apart(
    small: Corpus, tmp_path: Path, triplets: list[Triplet], processor: TextProcessor
) -> None:
    def fingerprint(texts: list[Triplet]) -> str:
        return write_corpus(tmp_path / "other.arrow", [texts], processor, 100).fingerprint

    assert fingerprint(triplets) == small.fingerprint
    assert fingerprint(triplets[:-1]) != small.fingerprint
    assert fingerprint([triplets[1], triplets[0], *triplets[2:]]) != small.fingerprint
    swapped = triplets[0]._replace(mt=triplets[0].pe, pe=triplets[0].mt)
    assert fingerprint([swapped, *triplets[1:]]) != small.fingerprint


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("writes", "cut"), [("tokens", False), ("tokens", True), ("steps", True)])
def test_a_fingerprint_needs_no_corpus(
    tmp_path: Path, triplets: list[Triplet], processor: TextProcessor, writes: Writes, cut: bool
) -> None:
    corpus = write_corpus(tmp_path / "c.arrow", [triplets], processor, 9, writes=writes, cut=cut)
    assert fingerprint_of(encoded(triplets, processor), processor, 9, writes, cut=cut) == corpus.fingerprint


@pytest.mark.usefixtures("small_blocks")
def test_long_triplets_are_left_out_and_told(tmp_path: Path, triplets: list[Triplet], processor: TextProcessor) -> None:
    report = DataReport()
    for triplet in triplets:
        report.read(triplet.source)
    corpus = write_corpus(tmp_path / "c.arrow", [triplets], processor, 9, report)
    lengths = [max(len(processor.encode_batch(side, [getattr(t, side)])[0]) for side in SIDES) for t in triplets]
    assert 0 < len(corpus) == sum(length <= 9 for length in lengths) == report.kept < 100
    skipped = report.sources["made"].skipped["a side has more than 9 tokens"]
    assert skipped.first_lines == [t.line for t, length in zip(triplets, lengths) if length > 9][:5]
    assert max(len(row) for rows in contents(corpus).values() for row in rows) == 9


def test_nothing_left_is_explained(tmp_path: Path, triplets: list[Triplet], processor: TextProcessor) -> None:
    report = DataReport()
    with pytest.raises(DataError, match=r"(?s)no triplet is left.*a side has more than 2 tokens"):
        write_corpus(tmp_path / "c.arrow", [triplets], processor, 2, report)
    assert list(tmp_path.iterdir()) == []


def test_a_corpus_stays_when_writing_fails(small: Corpus, processor: TextProcessor, triplets: list[Triplet]) -> None:
    before = small.path.read_bytes()
    bad = [*triplets, Triplet("a", "b", "\ud83d")]
    with pytest.raises(DataError, match="not valid Unicode"):
        write_corpus(small.path, [bad], processor, 100)
    assert small.path.read_bytes() == before
    assert [path.name for path in small.path.parent.iterdir()] == ["small.arrow"]


def test_an_unwritable_place_is_explained(tmp_path: Path, processor: TextProcessor, triplets: list[Triplet]) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write_corpus(tmp_path / "none" / "c.arrow", [triplets], processor, 100)


def test_missing_and_damaged_files_are_explained(small: Corpus, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"x\.arrow: no such corpus"):
        Corpus.open(tmp_path / "x.arrow")
    whole = small.path.read_bytes()
    for damaged in (b"", b"text", whole[: len(whole) // 2], whole[:-20]):
        (tmp_path / "x.arrow").write_bytes(damaged)
        with pytest.raises(DataError, match=r"x\.arrow: not a corpus, or damaged"):
            Corpus.open(tmp_path / "x.arrow")
