"""Segments in the database: pages, filters and search, and their form in the API."""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, get_args

import sqlalchemy as sql

from postedit.adapt.database import contains
from postedit.serve.schema import OPEN_STATES, decisions, files, projects, segments
from postedit.serve.segment_codes import api_codes, marked_text_of
from postedit.serve.store_base import Database, Row, one_row, rows_of
from postedit.text.glossary import Glossary
from postedit.text.glossary_files import table_entries

Filter = Literal["changed", "low", "unseen", "unconfirmed", "tags", "long", "learnt", "rejected"]
Field = Literal["", "src", "mt", "target"]

_GLOSSARIES: Final = 4_000_000
"""Characters of the glossaries that are kept in memory; a parsed glossary takes ten bytes or more per character."""

LOW_CONFIDENCE: Final = 0.5
"""Confidence below which a proposal is more probably wrong than right; the bound of the filter `low`."""

_CONDITIONS: Final[dict[str, sql.ColumnElement[bool]]] = {
    "changed": segments.c.changed.is_(True),
    "low": segments.c.confidence < LOW_CONFIDENCE,
    "unseen": segments.c.state == "new",
    "unconfirmed": segments.c.state.not_in(("confirmed", "locked")),
    "tags": segments.c.tagged.is_(True),
    "long": segments.c.too_long.is_(True),
    "learnt": segments.c.learnt.is_(True),
    "rejected": segments.c.rejected.is_(True),
}
assert set(_CONDITIONS) == set(get_args(Filter))


class Segments:
    """The segments of a database."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def page(
        self, file: str, *, after: int, limit: int, only: Filter | None = None, text: str = "", field: Field = ""
    ) -> dict[str, Any]:
        """Return a page of segments of a file, in order, and the number after which the next page begins.

        Args:
            file: id of the file.
            after: return only segments with higher numbers.
            limit: maximum number of segments of the page.
            only: filter; None: all segments.
            text: text that segments contain, in any case; empty: any.
            field: where `text` is looked for; empty: in all three. The target of an undecided segment is its proposal.
        """
        wanted = self._where(file, only, text, field)
        numbers = sql.select(segments.c.number).where(wanted, segments.c.number > after)
        numbers = numbers.order_by(segments.c.number).limit(limit + 1)
        with self._db.read() as connection:
            found = list(connection.execute(numbers).scalars())
            rows = rows_of(connection, _query(file, found[:limit]))
            count = sql.select(sql.func.count()).select_from(segments).where(wanted)
            total = connection.execute(count).scalar_one() if after == 0 else None
            glossary = glossary_of(_glossary_text(connection, file))
        return {
            "segments": [segment_json(row, glossary) for row in rows],
            "total": total,
            "next": found[limit - 1] if len(found) > limit else None,
        }

    def numbers(self, file: str, *, only: Filter | None = None, text: str = "", field: Field = "") -> list[int]:
        """Return the numbers of all segments that `page` would return on all its pages."""
        query = sql.select(segments.c.number).where(self._where(file, only, text, field)).order_by(segments.c.number)
        with self._db.read() as connection:
            return list(connection.execute(query).scalars())

    def some(self, file: str, numbers: Sequence[int]) -> list[Row]:
        """Return the rows of segments with the given numbers, in order."""
        with self._db.read() as connection:
            return rows_of(connection, _query(file, numbers))

    def get(self, file: str, number: int) -> dict[str, Any]:
        """Return a segment as the API gives it.

        Raises:
            NotFoundError: if there is no such segment.
        """
        with self._db.read() as connection:
            row = one_row(connection, _query(file, [number]), f"segment {number}")
            return segment_json(row, glossary_of(_glossary_text(connection, file)))

    def history(self, file: str, number: int) -> list[dict[str, Any]]:
        """Return all decisions on a segment, in order, as the API gives them."""
        query = sql.select(decisions).where(decisions.c.file == file, decisions.c.segment == number)
        with self._db.read() as connection:
            return [decision_json(row) for row in rows_of(connection, query.order_by(decisions.c.version))]

    def _where(self, file: str, only: Filter | None, text: str, field: Field) -> sql.ColumnElement[bool]:
        wanted = segments.c.file == file
        if only is not None:
            wanted &= _CONDITIONS[only]
        if text:
            columns = [segments.c[field]] if field else [segments.c.src, segments.c.mt, segments.c.target]
            found = [self._contains(column, text) for column in columns]
            if field in ("", "target"):  # undecided segments show their proposal
                is_open = segments.c.state.in_(OPEN_STATES)
                found.append(is_open & self._contains(self._proposed_text(), text))
            wanted &= sql.or_(*found)
        return wanted

    def _proposed_text(self) -> sql.ColumnElement[str]:
        kept = sql.func.nullif(segments.c.proposal, "")
        is_text = self._db.engine.dialect.name == "sqlite"  # where a cast to JSON would yield a number
        proposal = sql.type_coerce(kept, sql.JSON) if is_text else sql.cast(kept, sql.JSON)
        text: sql.ColumnElement[str] = proposal["text"].as_string()
        return text

    def _contains(self, column: sql.ColumnElement[str], text: str) -> sql.ColumnElement[bool]:
        """Return the SQL condition that a column contains text, in any case; for ASCII, SQLite's LIKE is faster."""
        if text.isascii() and self._db.engine.dialect.name == "sqlite":
            return column.contains(text, autoescape=True)
        return contains(column, text)


def decision_json(row: Row) -> dict[str, Any]:
    """Return a decision as the API gives it."""
    plain = ("file", "segment", "version", "state", "target", "filled_from", "correction", "who", "made")
    return {
        **{name: row[name] for name in plain},
        "codes": json.loads(row["target_codes"] or "[]"),
        "decisions": json.loads(row["decisions"] or "[]"),
    }


def segment_json(row: Row, glossary: Glossary | None = None) -> dict[str, Any]:
    """Return a segment as the API gives it."""
    src = marked_text_of(row["src"], row["src_marks"])
    plain = ("number", "unit", "src", "mt", "learnt", "target", "state", "version", "updated_by", "updated")
    return {
        **{name: row[name] for name in plain},
        "src_codes": api_codes(src),
        "mt_codes": api_codes(marked_text_of(row["mt"], row["mt_marks"]), src),
        "proposal": json.loads(row["proposal"] or "null"),
        "prepared": row["proposed_at"] >= 0,
        "proposal_codes": json.loads(row["proposal_codes"] or "[]"),
        "target_codes": json.loads(row["target_codes"] or "[]"),
        "decisions": json.loads(row["decisions"] or "[]"),
        "rejected": bool(row["rejected"]),
        "max_length": row["max_length"],
        "notes": json.loads(row["notes"] or "[]"),
        "matches": json.loads(row["matches"] or "[]"),
        "terms": [] if glossary is None else _terms(glossary, row["src"]),
        "repeats": row["repeats"],
        "same": row["same"],
        "filled_from": row["filled_from"],
        "correction": row["correction"],
    }


def _terms(glossary: Glossary, src: str) -> list[dict[str, Any]]:
    return [
        {"source": entry.source, "target": target, "span": [start, end]}
        for start, end, entry in glossary.places(src)
        for target in entry.targets[:1]
    ]


def _query(file: str, numbers: Sequence[int]) -> sql.Select[Any]:
    wanted = (segments.c.file == file) & segments.c.number.in_(numbers)
    return sql.select(segments).where(wanted).order_by(segments.c.number)


def _glossary_text(connection: sql.Connection, file: str) -> str:
    query = sql.select(projects.c.glossary).join(files, files.c.project == projects.c.id).where(files.c.id == file)
    return connection.execute(query).scalar_one_or_none() or ""


class GlossaryCache:
    """Keeps the most recently used glossaries in memory.

    Args:
        characters: maximum length of all their texts together; the latest one is kept, however long it is.
    """

    def __init__(self, characters: int) -> None:
        self._most, self._held, self._lock = characters, 0, threading.Lock()
        self._kept: OrderedDict[bytes, tuple[int, Glossary]] = OrderedDict()  # by hash, with its length

    def of(self, text: str) -> Glossary | None:
        """Return the glossary parsed from the text of a table; None if the text is blank."""
        if not text.strip():
            return None
        key = hashlib.sha256(text.encode()).digest()
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][1]
        found = Glossary(table_entries(Path("glossary.tsv"), text.encode()))
        with self._lock:
            self._held += len(text) - self._kept.pop(key, (0, found))[0]
            self._kept[key] = len(text), found
            while self._held > self._most and len(self._kept) > 1:
                self._held -= self._kept.popitem(last=False)[1][0]
        return found

    def clear(self) -> None:
        """Drop all glossaries; those that are still needed are parsed again."""
        with self._lock:
            self._kept.clear()
            self._held = 0


GLOSSARIES: Final = GlossaryCache(_GLOSSARIES)
glossary_of: Final = GLOSSARIES.of
