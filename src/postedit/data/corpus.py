"""Corpora: triplets as token ids in a memory-mapped Arrow file, so that memory does not grow with their number.

The file consists of record batches of `BLOCK_ROWS` triplets (the last one of each source may have fewer) with a
list<int32> column for each side, and for each hint that the model reads. It ends with an empty record batch, whose
metadata holds the totals and a hash of the content.
"""

import hashlib
import json
import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, get_args

import numpy as np
import pyarrow as pa

from postedit.core.editor import Side
from postedit.core.errors import DataError
from postedit.core.files import atomic_write
from postedit.core.model import Writes
from postedit.data.blocks import blocks_of
from postedit.data.collate import Ragged, first_tokens
from postedit.data.report import DataReport
from postedit.data.triplets import Triplet
from postedit.text.config import SIDES
from postedit.text.edits import target_of
from postedit.text.processor import TextProcessor

BLOCK_ROWS: Final = 2048
"""Triplets in a block, the unit of reading; at about half a megabyte, random reads are nearly as fast as sequential."""

_SIZES_PER_RELEASE: Final = 256  # blocks whose sizes are read before their mapped pages (64 KiB each) are released
_FORMAT: Final = "1"


class CorpusPart(NamedTuple):
    """The blocks of a corpus that come from one source: index of the first, number of blocks, and of triplets."""

    first: int
    blocks: int
    rows: int


class HintsOf(Protocol):
    """Makes the hints of training triplets."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the hints, in order."""

    def __call__(self, triplet: Triplet) -> Mapping[str, Sequence[int]]:
        """Return the ids of each hint of a triplet, EOS included."""


class Corpus:
    """Triplets as token ids on disk; opened with `open`, and read block by block.

    Attributes:
        path: path of the file.
        tokens: number of tokens in each column, EOS included.
        vocabularies: fingerprint of the vocabulary of each side.
        fingerprint: hexadecimal SHA-256 hash of the vocabularies and of all ids in order.
        parts: the blocks of each source.
    """

    def __init__(self, path: Path, mapping: mmap.mmap, reader: "pa.ipc.RecordBatchFileReader") -> None:
        self.path = path
        self._mapping = mapping
        self._reader = reader
        self.blocks: int = reader.num_record_batches - 1
        metadata = reader.get_batch_with_custom_metadata(self.blocks).custom_metadata
        summary = json.loads(metadata[b"summary"])
        self._rows: int = summary["rows"]
        self.tokens: Mapping[str, int] = summary["tokens"]
        self.vocabularies: Mapping[Side, str] = summary["vocabularies"]
        self.fingerprint: str = summary["fingerprint"]
        self.parts: tuple[CorpusPart, ...] = tuple(CorpusPart(**part) for part in summary["parts"])

    @classmethod
    def open(cls, path: Path) -> "Corpus":
        """Return the corpus at `path`.

        Raises:
            DataError: if the file is missing, damaged, or not a corpus.
        """
        try:
            with path.open("rb") as file:
                mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapping)))
            return cls(path, mapping, reader)
        except FileNotFoundError:
            raise DataError(f"{path}: no such corpus; it is written when training starts") from None
        except (OSError, pa.ArrowInvalid, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path}: not a corpus, or damaged ({error}); delete it to have it written again") from None

    def __len__(self) -> int:
        return self._rows

    def block_size(self, block: int) -> int:
        """Return the number of triplets in a block."""
        return self._sizes[block]

    @cached_property
    def _sizes(self) -> list[int]:
        sizes = []
        for block in range(self.blocks):
            sizes.append(self._reader.get_batch(block).num_rows)
            if block % _SIZES_PER_RELEASE == _SIZES_PER_RELEASE - 1:
                self._release_pages()
        self._release_pages()
        return sizes

    def read(self, blocks: Iterable[int], columns: Sequence[str] = SIDES) -> dict[str, Ragged]:
        """Return copies of the triplets of `blocks` in order, by column; a column is a side or a hint.

        Mapped pages are released afterwards, so that the result is all of the corpus that stays in memory.
        """
        batches = [self._reader.get_batch(block) for block in blocks]
        rows = {name: Ragged.concatenate([_ragged(batch.column(name)) for batch in batches]) for name in columns}
        del batches
        self._release_pages()
        return rows

    def check(self) -> None:
        """Read all ids, and check that they are those that were written.

        Raises:
            DataError: if the file is damaged, or its content does not match its fingerprint.
        """
        digests = [_new_digest(self.vocabularies, writes) for writes in get_args(Writes)]
        try:
            for block in range(self.blocks):
                batch = self._reader.get_batch(block)
                batch.validate(full=True)  # else damaged offsets would be read beyond the mapped file
                for name in batch.schema.names:
                    ragged = _ragged(batch.column(name))
                    for digest in digests:
                        digest.update(ragged.offsets.data)
                        digest.update(ragged.values.data)
        except (OSError, pa.ArrowInvalid, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.path}: damaged ({error})") from None
        if self.fingerprint not in [digest.hexdigest() for digest in digests]:
            raise DataError(f"{self.path}: not the content that was written")

    def _release_pages(self) -> None:
        """Release the mapped pages of the file; the system reads them again when they are next accessed."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._mapping.madvise(mmap.MADV_DONTNEED)


class EmptyCorpusError(DataError):
    """The error raised if no triplet is left to train on."""


class EncodedTriplet(NamedTuple):
    """A triplet with the token ids of its texts."""

    triplet: Triplet
    src: list[int]
    mt: list[int]
    pe: list[int]


def encoded(triplets: Iterable[Triplet], processor: TextProcessor) -> Iterator[EncodedTriplet]:
    """Yield triplets with the token ids of their texts.

    Raises:
        DataError: if a text is not valid Unicode.
    """
    for chunk in blocks_of(triplets, BLOCK_ROWS):
        mt = [triplet.mt for triplet in chunk]
        ids = [processor.encode_batch(side, [getattr(triplet, side) for triplet in chunk], mt) for side in SIDES]
        yield from map(EncodedTriplet, chunk, *ids)


def write_corpus(
    path: Path,
    sources: Sequence[Iterable[Triplet]],
    processor: TextProcessor,
    max_length: int,
    report: DataReport | None = None,
    writes: Writes = "tokens",
    *,
    cut: bool = False,
    hints_of: HintsOf | None = None,
) -> Corpus:
    """Encode triplets and write them as a corpus with a part for each source, block by block.

    Args:
        path: path of the file to write.
        sources: the triplets of each source, in order.
        processor: encodes text as ids.
        max_length: largest number of tokens on a side (EOS included); triplets with more are skipped.
        report: counts skipped triplets.
        writes: the target form of the model: pe, or pe with STEPs, which count as tokens.
        cut: whether to cut src and mt to `max_length` tokens, so that triplets are skipped only for a longer pe.
        hints_of: makes the hints of each triplet, whose length is limited separately; None for a model without hints.

    Raises:
        EmptyCorpusError: if no triplet is left.
        DataError: if a text is not valid Unicode.
        OutputError: if the file cannot be written.
    """
    report = report or DataReport()
    vocabularies = _fingerprints(processor)
    digest = _new_digest(vocabularies, writes)
    schema = pa.schema([(name, pa.list_(pa.int32())) for name in (*SIDES, *(hints_of.names if hints_of else ()))])
    tokens = dict.fromkeys(schema.names, 0)
    parts: list[CorpusPart] = []
    with atomic_write(path, "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for triplets in sources:
            part = CorpusPart(sum(before.blocks for before in parts), 0, 0)
            rows = _rows(encoded(triplets, processor), processor, max_length, report, writes, cut, hints_of)
            for block in blocks_of(rows, BLOCK_ROWS):
                columns = [pa.array(list(column), pa.list_(pa.int32())) for column in zip(*block)]
                batch = pa.record_batch(columns, schema=schema)
                writer.write_batch(batch)
                part = CorpusPart(part.first, part.blocks + 1, part.rows + batch.num_rows)
                for name in schema.names:
                    ragged = _ragged(batch.column(name))
                    tokens[name] += len(ragged.values)
                    digest.update(ragged.offsets.data)
                    digest.update(ragged.values.data)
            parts.append(part)
        count = sum(part.rows for part in parts)
        if not count:
            raise EmptyCorpusError(f"no triplet is left\n{report}".rstrip())
        summary = {"rows": count, "tokens": tokens, "vocabularies": vocabularies, "fingerprint": digest.hexdigest()}
        summary["parts"] = [part._asdict() for part in parts]
        empty = pa.record_batch([pa.array([], field.type) for field in schema], schema=schema)
        writer.write_batch(empty, custom_metadata={"summary": json.dumps(summary)})
    return Corpus.open(path)


def fingerprint_of(
    encoded: Iterable[EncodedTriplet], processor: TextProcessor, max_length: int, writes: Writes, *, cut: bool
) -> str:
    """Return the fingerprint that `write_corpus` gives a corpus of these triplets, as one source without hints."""
    digest = _new_digest(_fingerprints(processor), writes)
    for block in blocks_of(_rows(encoded, processor, max_length, DataReport(), writes, cut, None), BLOCK_ROWS):
        for column in map(Ragged.of, zip(*block)):
            digest.update(column.offsets.astype(np.int32).data)
            digest.update(column.values.astype(np.int32).data)
    return digest.hexdigest()


def _fingerprints(processor: TextProcessor) -> dict[Side, str]:
    return {side: processor.vocabulary(side).fingerprint for side in SIDES}


def _new_digest(vocabularies: Mapping[Side, str], writes: Writes) -> "hashlib._Hash":
    """Return a hash that covers format, vocabularies and target form, to be updated with the triplets."""
    return hashlib.sha256(json.dumps([_FORMAT, vocabularies, *([writes] if writes != "tokens" else [])]).encode())


def _rows(
    encoded: Iterable[EncodedTriplet],
    processor: TextProcessor,
    max_length: int,
    report: DataReport,
    writes: Writes,
    cut: bool,
    hints_of: HintsOf | None,
) -> Iterator[tuple[Sequence[int], ...]]:
    """Yield the token ids of each triplet that is not too long, cut and in the form that the model `writes`."""
    for triplet, src, mt, pe in encoded:
        if cut:
            src, mt = first_tokens(src, max_length), first_tokens(mt, max_length)
            pe = processor.without_lost_copies(pe, mt)
        if writes != "tokens":
            pe = target_of(writes, mt, pe)
        if max(len(src), len(mt), len(pe)) > max_length:
            report.skip(triplet.source, triplet.line, f"a side has more than {max_length} tokens")
        elif hints_of is None:
            yield src, mt, pe
        else:
            hints = hints_of(triplet)
            yield src, mt, pe, *(hints[name] for name in hints_of.names)


def _ragged(column: Any) -> Ragged:
    """Return a list<int32> column as a `Ragged` without copying it."""
    return Ragged(np.asarray(column.values), np.asarray(column.offsets))
