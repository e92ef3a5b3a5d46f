"""Corpora: triplets as ids in a memory-mapped Arrow file, so that memory does not grow with their number.

The file has record batches of `BLOCK_ROWS` triplets (the last may have fewer) with a list<int32> column a side. An
empty record batch ends it, whose metadata holds what is only known at the end: totals and a hash of the content.
"""

import hashlib
import json
import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from postedit.core.errors import DataError
from postedit.core.files import atomic_write
from postedit.core.model import Writes
from postedit.data.ragged import Ragged
from postedit.data.report import DataReport
from postedit.data.triplets import Triplet
from postedit.text.config import SIDES, Side
from postedit.text.processor import TextProcessor
from postedit.text.steps import with_steps

BLOCK_ROWS: Final = 2048
"""Triplets in a block, the unit of reading: about half a megabyte, so that random blocks read nearly at full speed."""

_BLOCKS_LOOKED_AT: Final = 256
"""Blocks whose sizes are looked at before pages are given back: for each the system maps some 64 KiB around it."""

_FORMAT: Final = "1"
_Rows = dict[Side, list[list[int]]]


class Part(NamedTuple):
    """The blocks of a corpus that come from one source: the first, how many, and their triplets."""

    first: int
    blocks: int
    rows: int


class Corpus:
    """Triplets as ids, on disk. `open` makes one; nothing is read before it is asked for.

    Attributes:
        path: of the file.
        tokens: pieces on each side, EOS included.
        vocabularies: fingerprint of the vocabulary that each side is written in.
        fingerprint: SHA-256, in hexadecimal, of the ids in order and the vocabularies.
        parts: where the triplets of each source are.
    """

    def __init__(self, path: Path, mapping: mmap.mmap, reader: "pa.ipc.RecordBatchFileReader") -> None:
        self.path = path
        self._mapping = mapping
        self._reader = reader
        self.blocks: int = reader.num_record_batches - 1
        metadata = reader.get_batch_with_custom_metadata(self.blocks).custom_metadata
        summary = json.loads(metadata[b"summary"])
        self._rows: int = summary["rows"]
        self.tokens: Mapping[Side, int] = summary["tokens"]
        self.vocabularies: Mapping[Side, str] = summary["vocabularies"]
        self.fingerprint: str = summary["fingerprint"]
        # Corpora written before there were parts have one.
        whole = [{"first": 0, "blocks": self.blocks, "rows": self._rows}]
        self.parts: tuple[Part, ...] = tuple(Part(**part) for part in summary.get("parts", whole))

    @classmethod
    def open(cls, path: Path) -> "Corpus":
        """Return the corpus at `path`.

        Raises:
            DataError: if the file is missing, damaged, or no corpus.
        """
        try:
            with path.open("rb") as file:
                mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapping)))
            return cls(path, mapping, reader)
        except FileNotFoundError:
            raise DataError(f"{path}: no such corpus; it is written when training starts") from None
        except (OSError, pa.ArrowInvalid, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path}: is no corpus, or damaged ({error}); delete it to have it written anew") from None

    def __len__(self) -> int:
        return self._rows

    def block_size(self, block: int) -> int:
        """Return how many triplets a block has."""
        return self._sizes[block]

    @cached_property
    def _sizes(self) -> list[int]:
        sizes = []
        for block in range(self.blocks):
            sizes.append(self._reader.get_batch(block).num_rows)
            if block % _BLOCKS_LOOKED_AT == _BLOCKS_LOOKED_AT - 1:
                self._give_back_pages()
        self._give_back_pages()
        return sizes

    def read(self, blocks: Iterable[int], sides: Sequence[Side] = SIDES) -> dict[Side, Ragged]:
        """Return the triplets of some blocks, in that order, in memory of their own.

        The pages they were copied from are given back, so that a process that reads all of a corpus never holds
        more of it than this.
        """
        batches = [self._reader.get_batch(block) for block in blocks]
        rows = {side: Ragged.concatenate([_ragged(batch.column(side)) for batch in batches]) for side in sides}
        del batches
        self._give_back_pages()
        return rows

    def _give_back_pages(self) -> None:
        """Let the system have the pages of the file that were looked at, which it could read again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._mapping.madvise(mmap.MADV_DONTNEED)


def write_corpus(
    path: Path,
    triplets: Iterable[Triplet],
    processor: TextProcessor,
    max_length: int,
    report: DataReport | None = None,
    writes: Writes = "tokens",
) -> Corpus:
    """Encode triplets and write them as a corpus of one part, as `write_parts` does."""
    return write_parts(path, [triplets], processor, max_length, report, writes)


def write_parts(
    path: Path,
    sources: Sequence[Iterable[Triplet]],
    processor: TextProcessor,
    max_length: int,
    report: DataReport | None = None,
    writes: Writes = "tokens",
) -> Corpus:
    """Encode the triplets of some sources and write them as the parts of a corpus, a block at a time.

    Args:
        path: of the file to write.
        sources: what to write, in order.
        processor: turns text into ids.
        max_length: triplets with a side of more pieces (EOS included) are left out.
        report: told what was left out.
        writes: what a model is to write: pe, or pe with the STEPs that lead along mt, which count as pieces.

    Raises:
        DataError: if no triplet is left, or a text is not valid Unicode.
        OutputError: if the file cannot be written.
    """
    report = DataReport() if report is None else report
    vocabularies = {side: processor.vocabulary(side).fingerprint for side in SIDES}
    digest = hashlib.sha256(json.dumps([_FORMAT, vocabularies, *([writes] if writes != "tokens" else [])]).encode())
    schema = pa.schema([(side, pa.list_(pa.int32())) for side in SIDES])
    tokens = dict.fromkeys(SIDES, 0)
    parts: list[Part] = []
    with atomic_write(path, "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for triplets in sources:
            part = Part(sum(before.blocks for before in parts), 0, 0)
            for block in _blocks(_encoded(triplets, processor, max_length, report, writes)):
                batch = pa.record_batch([pa.array(block[side], pa.list_(pa.int32())) for side in SIDES], schema=schema)
                writer.write_batch(batch)
                part = Part(part.first, part.blocks + 1, part.rows + batch.num_rows)
                for side in SIDES:
                    ragged = _ragged(batch.column(side))
                    tokens[side] += len(ragged.values)
                    digest.update(ragged.offsets.data)
                    digest.update(ragged.values.data)
            parts.append(part)
        rows = sum(part.rows for part in parts)
        if not rows:
            raise DataError(f"no triplet is left to write into {path}\n{report}".rstrip())
        summary = {"rows": rows, "tokens": tokens, "vocabularies": vocabularies, "fingerprint": digest.hexdigest()}
        summary["parts"] = [part._asdict() for part in parts]
        empty = pa.record_batch([pa.array([], field.type) for field in schema], schema=schema)
        writer.write_batch(empty, custom_metadata={"summary": json.dumps(summary)})
    return Corpus.open(path)


def _encoded(
    triplets: Iterable[Triplet], processor: TextProcessor, max_length: int, report: DataReport, writes: Writes
) -> Iterator[_Rows]:
    """Yield the ids of the triplets that are short enough, some thousands at a time."""
    remaining = iter(triplets)
    while chunk := list(islice(remaining, BLOCK_ROWS)):
        ids = [
            processor.encode_batch("src", [triplet.src for triplet in chunk]),
            processor.encode_batch("mt", [triplet.mt for triplet in chunk]),
            processor.encode_batch("pe", [triplet.pe for triplet in chunk]),
        ]
        if writes == "steps":
            ids[2] = [with_steps(mt, pe) for mt, pe in zip(ids[1], ids[2])]
        rows: _Rows = {side: [] for side in SIDES}
        for triplet, *texts in zip(chunk, *ids):
            longest = max(map(len, texts))
            if longest > max_length:
                report.skip(triplet.source, triplet.line, f"a side has more than {max_length} pieces")
                continue
            for side, text in zip(SIDES, texts):
                rows[side].append(text)
        yield rows


def _blocks(chunks: Iterable[_Rows]) -> Iterator[_Rows]:
    """Yield the same rows in blocks of `BLOCK_ROWS`, the last one with what is left."""
    waiting: _Rows = {side: [] for side in SIDES}
    for chunk in chunks:
        for side in SIDES:
            waiting[side] += chunk[side]
        if len(waiting["src"]) >= BLOCK_ROWS:
            yield {side: waiting[side][:BLOCK_ROWS] for side in SIDES}
            waiting = {side: waiting[side][BLOCK_ROWS:] for side in SIDES}
    if waiting["src"]:
        yield waiting


def _ragged(column: Any) -> Ragged:
    """Return a list<int32> column without copying it."""
    return Ragged(np.asarray(column.values), np.asarray(column.offsets))
