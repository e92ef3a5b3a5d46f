"""Figures of the progress of a project: what was confirmed, how much was edited, and which edits were accepted."""

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sql

from postedit.serve.schema import decisions, segments
from postedit.serve.store_base import Database, Row, rows_of


class Progress:
    """The figures of progress in a database."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def of(self, project: str) -> dict[str, Any]:
        """Return the figures of a project by day (UTC), by kind of edit, and by person.

        Segments count whose last decision confirms them, for its day and person; repetitions that were filled in do
        not. The seconds of a segment are the sum over all decisions on it, by anybody, whether they confirmed it or
        not. TER, in percent, is that of mt and of the proposals against the confirmed targets.
        """
        rows = self._confirmed(project)
        return {
            "days": [{"day": day, **_sums(some)} for day, some in sorted(_grouped(rows, lambda row: row["made"][:10]))],
            "people": [{"name": who, **_sums(some)} for who, some in sorted(_grouped(rows, lambda row: row["who"]))],
            "kinds": _kinds(rows),
        }

    def _confirmed(self, project: str) -> list[Row]:
        visits = decisions.alias()
        seconds = (
            sql.select(sql.func.sum(visits.c.seconds))
            .where(
                visits.c.file == decisions.c.file,
                visits.c.segment == decisions.c.segment,
                visits.c.filled_from.is_(None),
            )
            .scalar_subquery()
        )
        is_last = (
            (segments.c.file == decisions.c.file)
            & (segments.c.number == decisions.c.segment)
            & (segments.c.version == decisions.c.version)
        )
        names = ("made", "who", "words", "edits_of_mt", "edits_of_proposal", "kinds")
        query = sql.select(*(decisions.c[name] for name in names), seconds.label("seconds")).join(segments, is_last)
        query = query.where(
            decisions.c.project == project, decisions.c.state == "confirmed", decisions.c.filled_from.is_(None)
        )
        with self._db.read() as connection:
            return rows_of(connection, query)


def _grouped(rows: Iterable[Row], key: Any) -> Iterable[tuple[str, list[Row]]]:
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups.items()


def _sums(rows: list[Row]) -> dict[str, Any]:
    words, of_mt, of_proposal = (
        sum(row[name] for row in rows) for name in ("words", "edits_of_mt", "edits_of_proposal")
    )
    timed = [row["seconds"] for row in rows if row["seconds"] is not None]
    return {
        "segments": len(rows),
        "words": words,
        "edits": of_mt,
        "ter_mt": 100 * of_mt / words if words else None,
        "ter_proposal": 100 * of_proposal / words if words else None,
        "seconds": sum(timed),
        "timed": len(timed),
    }


def _kinds(rows: Iterable[Row]) -> list[dict[str, Any]]:
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        for kind, (accepted, rejected) in json.loads(row["kinds"] or "{}").items():
            counts[kind][0] += accepted
            counts[kind][1] += rejected
    return [{"kind": kind, "accepted": yes, "rejected": no} for kind, (yes, no) in sorted(counts.items())]
