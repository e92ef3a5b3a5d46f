"""Answers and the ledger of requests, in one SQLite file: paid answers are kept and never requested again.

A row of the ledger is written before its request is sent, with the highest cost that the request can have. It is
completed when the answer has arrived, in one transaction with the outcome for each segment. So after any interruption,
the answers that arrived are known, and the cost of those that did not is bounded.
"""

import json
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, Self, cast

from postedit.core.errors import OutputError
from postedit.llm.answers import ErrorSpan, Fault, Item

# Triggers keep the total costs, so that programs of earlier versions, which do not know them, keep them too. A file
# without them gets them when it is opened, before anything else is written.
_SCHEMA: Final = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, run TEXT NOT NULL, outcome TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reused (run TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (run, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS requests (
    id INTEGER PRIMARY KEY, run TEXT NOT NULL, model TEXT NOT NULL, sent REAL NOT NULL, state TEXT NOT NULL,
    segments INTEGER NOT NULL, cost REAL NOT NULL, prompt_tokens INTEGER NOT NULL, answer_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS costs (run TEXT PRIMARY KEY, total REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS answers_of_run ON answers (run);
CREATE INDEX IF NOT EXISTS requests_of_run ON requests (run);
CREATE INDEX IF NOT EXISTS requests_of_model ON requests (model, id);
CREATE TRIGGER IF NOT EXISTS cost_added AFTER INSERT ON requests BEGIN
    INSERT INTO costs VALUES (new.run, new.cost) ON CONFLICT (run) DO UPDATE SET total = total + new.cost;
END;
CREATE TRIGGER IF NOT EXISTS cost_changed AFTER UPDATE OF cost ON requests BEGIN
    UPDATE costs SET total = total - old.cost + new.cost WHERE run = new.run;
END;
INSERT INTO costs SELECT run, total(cost) FROM requests WHERE NOT EXISTS (SELECT * FROM costs) GROUP BY run;
COMMIT;
"""
_VERSION: Final = 1
_TABLES: Final = frozenset({"answers", "reused", "requests"})  # of every store; other databases are not touched
_WAIT: Final = 60.0  # seconds to wait while another process writes
_OPENING: Final = 10.0  # seconds to wait while other processes open a new file
_PAUSE: Final = 0.02  # seconds between attempts
_ROUNDING: Final = 1e-9  # relative difference of sums of costs that were added in different orders, at most
_PRIMARY: Final = 0xFF  # bits of an SQLite error code that give the primary code, the kind of error

_SILENT: Final = ("no reply", "rejected")
"""Faults that say nothing about a segment itself: they are counted, and the next run asks about it again."""

RequestState = Literal["sent", "answered", "free", "lost"]
"""sent: not known yet; answered; free: it failed and costs nothing; lost: it failed and may have been charged."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of asking about a segment: an item or, without one, the faults of its answers.

    Args:
        item: the usable answer, if there is one.
        first: fault of the answer in a request about several segments, after which the segment is asked about alone.
        final: fault of the answer about the segment alone, after which mt is kept.
    """

    item: Item | None = None
    first: Fault | None = None
    final: Fault | None = None

    @property
    def is_open(self) -> bool:
        """Whether the segment has yet to be asked about, alone."""
        return self.item is None and self.final is None

    def judged(self, least_kept: float) -> "Outcome":
        """Return this outcome, or one with the fault "unrelated" if its item keeps less of mt than `least_kept`."""
        if self.item is None or self.item.kept >= least_kept:
            return self
        return Outcome(None, self.first, "unrelated") if self.first else Outcome(None, "unrelated")


class _Ended(threading.local):
    """Ended requests of the current thread that are still to be written to the ledger."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []

    def take(self) -> list[tuple[Any, ...]]:
        """Return all rows, and remove them."""
        rows, self.rows = self.rows, []
        return rows


class AnswerStore:
    """Outcomes by key, and the ledger of the requests of a run. Any number of threads may use it.

    Args:
        path: path of the file, which is created if it does not exist.
        run: identifier of the run, whose requests are counted together.
        model: name and address of the model, to estimate the time that its requests take.
        least_kept: share of mt that an answer must keep (see `Outcome.judged`); the file keeps all answers.

    Raises:
        OutputError: if the file cannot be opened or written, or is not a store of answers.
    """

    def __init__(self, path: Path, run: str, model: str, least_kept: float = 0.0) -> None:
        self.path, self.run, self.model, self._least_kept = path, run, model, least_kept
        self._ended = _Ended()
        self._lock = threading.Lock()  # a connection can have only one transaction at a time, whichever thread began it
        with self._explained():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600, exist_ok=True)  # it contains texts of the user
            self._database = sqlite3.connect(path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
            end = time.monotonic() + _OPENING
            while not self._is_open(last=time.monotonic() > end):
                time.sleep(_PAUSE)

    def _is_open(self, *, last: bool) -> bool:
        """Try to open the file; return False while other processes prevent it by opening a new file at the same time.

        SQLite does not wait for them here, as it does elsewhere. If this is the `last` attempt, raise the error.
        """
        try:
            version = self._database.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _VERSION):
                raise OutputError(f"{self.path}: is a store of version {version}, and this postedit reads {_VERSION}")
            tables = {name for (name,) in self._database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables and not tables >= _TABLES:
                raise OutputError(f"{self.path}: is a database of something else; name another file with llm.cache")
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")  # data that a killed process has written survives
            self._database.executescript(_SCHEMA)
            self._database.execute(f"PRAGMA user_version={_VERSION}")
        except sqlite3.OperationalError as error:
            if self._database.in_transaction:
                self._database.rollback()
            if last or getattr(error, "sqlite_errorcode", 0) & _PRIMARY != sqlite3.SQLITE_BUSY:
                raise
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def known(self, keys: Iterable[str]) -> int:
        """Return how many of the keys have an outcome that is not open."""
        with self._explained():
            query = "SELECT outcome FROM answers WHERE key = ?"
            rows = (self._database.execute(query, (key,)).fetchone() for key in keys)
            return sum(row is not None and not self._known(row[0]).is_open for row in rows)

    def usual_seconds(self) -> float | None:
        """Return the median duration of the latest requests to the model, in any run; None if there are none."""
        with self._explained():
            query = "SELECT seconds FROM requests WHERE model = ? AND state = 'answered' ORDER BY id DESC LIMIT 200"
            return _quantile(sorted(row[0] for row in self._database.execute(query, (self.model,))), 0.5)

    def find(self, keys: Iterable[str]) -> dict[str, Outcome]:
        """Return the known outcomes by key, and note those of other runs as reused by this one."""
        found: dict[str, Outcome] = {}
        with self._transaction() as database:
            for key in keys:
                row = database.execute("SELECT run, outcome FROM answers WHERE key = ?", (key,)).fetchone()
                if row is not None:
                    found[key] = self._known(row[1])
                    if row[0] != self.run:
                        database.execute("INSERT OR IGNORE INTO reused VALUES (?, ?)", (self.run, key))
        return found

    def begin(self, segments: int, most: float, limit: float = 0.0) -> int | None:
        """Record a request about to be sent, which can cost at most `most`; return its number in the ledger.

        Return None, and record nothing, if all requests of the run, also of other processes, could then cost more than
        `limit` (0: no limit).
        """
        with self._transaction() as database:
            if limit and self._spent() + most > limit * (1.0 + _ROUNDING):
                return None
            values = (self.run, self.model, time.time(), "sent", segments, most, 0, 0, 0.0)
            row = database.execute(
                "INSERT INTO requests (run, model, sent, state, segments, cost, prompt_tokens, answer_tokens, seconds)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )
            return cast(int, row.lastrowid)

    def end(
        self,
        request: int,
        state: RequestState,
        *,
        cost: float,
        prompt_tokens: int = 0,
        answer_tokens: int = 0,
        seconds: float = 0.0,
    ) -> None:
        """Record how a request ended. If it was answered, `keep` writes that together with the outcomes."""
        self._ended.rows.append((state, cost, prompt_tokens, answer_tokens, seconds, request))
        if state != "answered":
            self.keep({})

    def keep(self, outcomes: Mapping[str, Outcome]) -> None:
        """Write outcomes by key, and how the requests of this thread ended, in one transaction."""
        with self._transaction() as database:
            database.executemany(
                "UPDATE requests SET state = ?, cost = ?, prompt_tokens = ?, answer_tokens = ?, seconds = ?"
                " WHERE id = ?",
                self._ended.take(),
            )
            database.executemany(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?)",
                [(key, self.run, _record(outcome)) for key, outcome in outcomes.items()],
            )

    def spent(self) -> float:
        """Return the cost of all requests of the run; a cost that is not known counts as the most that it can be."""
        with self._explained():
            return self._spent()

    def figures(self) -> dict[str, Any]:
        """Return figures of the run: numbers of requests, tokens, costs, seconds, and faults by kind."""
        with self._explained():
            requests = self._database.execute(
                "SELECT state, count(*), total(cost), total(prompt_tokens), total(answer_tokens) FROM requests"
                " WHERE run = ? GROUP BY state",
                (self.run,),
            ).fetchall()
            query = "SELECT seconds FROM requests WHERE run = ? AND state = 'answered' ORDER BY seconds"
            seconds = [row[0] for row in self._database.execute(query, (self.run,))]
            again, left, answers = Counter[str](), Counter[str](), 0
            for (text,) in self._database.execute("SELECT outcome FROM answers WHERE run = ?", (self.run,)):
                outcome = self._outcome(text)
                answers += outcome.item is not None
                again.update([outcome.first] if outcome.first else [])
                left.update([outcome.final] if outcome.final else [])
            reused = 0
            query = "SELECT outcome FROM reused JOIN answers USING (key) WHERE reused.run = ? AND answers.run != ?"
            for (text,) in self._database.execute(query, (self.run, self.run)):
                outcome = self._outcome(text)
                reused += 1
                left.update([outcome.final] if outcome.final else [])
        by_state = {row[0]: row[1:] for row in requests}
        unknown = [by_state[state] for state in ("sent", "lost") if state in by_state]
        return {
            "requests": by_state.get("answered", (0,))[0],
            "failed requests": by_state.get("free", (0,))[0] + sum(row[0] for row in unknown),
            "prompt tokens": int(sum(row[2] for row in by_state.values())),
            "answer tokens": int(sum(row[3] for row in by_state.values())),
            "cost": sum(row[1] for row in by_state.values()),
            "of which perhaps not charged": sum(row[1] for row in unknown),
            "seconds": {"median": _quantile(seconds, 0.5), "95 %": _quantile(seconds, 0.95), "all": sum(seconds)},
            "answers": answers,
            "answers known before": reused,
            "asked again": dict(again.most_common()),
            "left as mt": dict(left.most_common()),
        }

    def _spent(self) -> float:
        row = self._database.execute("SELECT total FROM costs WHERE run = ?", (self.run,)).fetchone()
        return float(row[0]) if row else 0.0

    def _outcome(self, record: str) -> Outcome:
        return _outcome(record).judged(self._least_kept)

    def _known(self, record: str) -> Outcome:
        outcome = self._outcome(record)
        return replace(outcome, final=None) if outcome.final in _SILENT else outcome

    @contextmanager
    def _transaction(self) -> Any:
        with self._explained():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:  # SQLite itself rolls back on a full disk
                    self._database.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Any:
        try:
            with self._lock:
                yield
        except (sqlite3.Error, OSError) as error:
            raise OutputError(
                f"{self.path}: cannot keep answers there: {error}; name another file with llm.cache"
            ) from None


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def _record(outcome: Outcome) -> str:
    faults = {"first": outcome.first, "final": outcome.final}
    values: dict[str, Any] = {name: value for name, value in faults.items() if value}
    if outcome.item is not None:
        values["text"], values["kept"] = outcome.item.correction, outcome.item.kept
        values["errors"] = [[one.span, one.category, one.severity] for one in outcome.item.errors]
    return json.dumps(values)


def _outcome(record: str) -> Outcome:
    values = json.loads(record)
    errors = tuple(ErrorSpan(*one) for one in values.get("errors", ()))
    item = Item(values["text"], errors, values.get("kept", 1.0)) if "text" in values else None
    return Outcome(item, values.get("first"), values.get("final"))
