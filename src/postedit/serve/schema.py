"""Tables of the service; those of the memory of corrections are in the same database.

Rows are ordered by numbers, never by times, since the clocks of machines differ, and jump. JSON columns are text
written by `json.dumps`. A change here needs a migration in `serve/migrations/versions`; a test compares both.
"""

from typing import Any, Final

import sqlalchemy as sql

metadata: Final = sql.MetaData()

OPEN_STATES: Final = ("new", "seen")
"""States of segments that nobody has decided on; they show their proposal, which is renewed as the model learns."""


def _text(name: str, default: str | None = "") -> sql.Column[Any]:
    return sql.Column(name, sql.Text, nullable=False, server_default=default)


def _number(name: str, default: str = "0") -> sql.Column[Any]:
    return sql.Column(name, sql.Integer, nullable=False, server_default=default)


def _id(name: str, table: str, **options: Any) -> sql.Column[Any]:
    """Return a column with the id of a row of another table; when that row is deleted, so is this one."""
    return sql.Column(name, sql.ForeignKey(f"{table}.id", ondelete="CASCADE"), nullable=False, **options)


projects: Final = sql.Table(
    "serve_projects",
    metadata,
    sql.Column("id", sql.String(32), primary_key=True),
    _text("name"),
    _text("source_language"),
    _text("target_language"),
    _text("model"),  # empty: the default model
    _text("protect", "[]"),  # JSON: kinds of protected spans
    sql.Column("min_confidence", sql.Float, nullable=False, server_default="0"),
    _text("glossary"),  # as a table of `text.glossary_files`
    _text("created"),
    sql.Column("last_event", sql.BigInteger, nullable=False, server_default="0"),
)

users: Final = sql.Table(
    "serve_users",
    metadata,
    sql.Column("id", sql.String(32), primary_key=True),
    sql.Column("name", sql.String(200), nullable=False, unique=True),
    _text("password"),  # Argon2 hash; empty: no password fits
    sql.Column("admin", sql.Boolean, nullable=False),
    sql.Column("active", sql.Boolean, nullable=False),
    _text("created"),
)

members: Final = sql.Table(
    "serve_members",
    metadata,
    _id("project", "serve_projects", primary_key=True),
    _id("user", "serve_users", primary_key=True),
    _text("role"),
)

keys: Final = sql.Table(
    "serve_keys",
    metadata,
    sql.Column("id", sql.String(32), primary_key=True),
    _id("user", "serve_users"),  # whose rights bound those of the key
    _text("name"),
    sql.Column("hash", sql.String(64), nullable=False, unique=True),  # SHA-256 of the key
    _text("scopes"),  # JSON
    _text("projects"),  # JSON: a list of ids, or null
    sql.Column("rate", sql.Float, nullable=False, server_default="0"),  # requests a second; 0: any number
    _text("created"),
)

sessions: Final = sql.Table(
    "serve_sessions",
    metadata,
    sql.Column("hash", sql.String(64), primary_key=True),  # SHA-256 of the value of the cookie
    _id("user", "serve_users", index=True),
    _text("csrf"),
    sql.Column("expires", sql.BigInteger, nullable=False),  # seconds since 1970
)

files: Final = sql.Table(
    "serve_files",
    metadata,
    sql.Column("id", sql.String(32), primary_key=True),
    _id("project", "serve_projects", index=True),
    sql.Column("sequence", sql.BigInteger, nullable=False),  # number of the event that added the file
    _text("name"),
    _text("format"),
    _text("source_language"),
    _text("target_language"),
    # Languages of the project when the file was added or, for TMX if it had none, of its model; empty: any. They decide
    # which units of a TMX are segments.
    _text("wanted_source"),
    _text("wanted_target"),
    _text("state"),
    _text("error"),
    sql.Column("size", sql.BigInteger, nullable=False),
    _number("words"),  # in the sources of its segments
    _text("created"),
)

file_parts: Final = sql.Table(
    "serve_file_parts",
    metadata,
    _id("file", "serve_files", primary_key=True),
    sql.Column("number", sql.Integer, primary_key=True),
    sql.Column("bytes", sql.LargeBinary, nullable=False),
)

segments: Final = sql.Table(
    "serve_segments",
    metadata,
    _id("file", "serve_files", primary_key=True),
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=False),  # of the unit in the file, from 1
    _text("unit"),
    _text("src"),
    _text("src_marks"),  # JSON: inline codes, and how the file writes characters; see `marks_of`
    _text("mt"),  # empty: no machine translation
    _text("mt_marks"),
    sql.Column("same", sql.String(32), nullable=False),  # hash of texts, codes and length limit; repetitions share it
    sql.Column("max_length", sql.Integer),
    _text("notes"),  # JSON
    _text("matches"),  # JSON
    sql.Column("tagged", sql.Boolean, nullable=False),  # it has inline codes
    sql.Column("rejected", sql.Boolean, nullable=False, server_default=sql.false()),  # by a reviewer, in the file
    _number("repeats", "1"),  # number of segments of the file with the same texts
    # The proposal of the model, renewed as it learns.
    _text("proposal"),  # JSON; empty: none yet
    _text("proposal_codes"),  # JSON
    _text("proposal_content"),  # in the syntax of the file
    _text("first_proposal"),  # text of the first proposal
    sql.Column("explained", sql.Boolean, nullable=False, server_default=sql.false()),  # its edits have reasons
    sql.Column("proposed_at", sql.BigInteger, nullable=False, server_default="-1"),  # memory position; see STALE
    sql.Column("changed", sql.Boolean, nullable=False, server_default=sql.false()),
    sql.Column("confidence", sql.Float),
    _number("proposal_edits"),  # by TER, between mt and the proposal
    _number("proposal_words"),
    sql.Column("learnt", sql.Boolean, nullable=False, server_default=sql.false()),
    # The last decision.
    _number("version"),
    sql.Column("state", sql.String(10), nullable=False),
    _text("target"),
    _text("target_codes"),  # JSON
    _text("content"),  # the target in the syntax of the file
    _text("decisions"),  # JSON
    sql.Column("too_long", sql.Boolean, nullable=False, server_default=sql.false()),
    sql.Column("filled_from", sql.Integer),  # number of the repetition that was confirmed
    sql.Column("correction", sql.BigInteger),  # its number in the memory
    _text("updated_by"),
    _text("updated"),
    sql.Index("serve_segments_same", "file", "same"),
    # All columns that filters use, so that they read no texts.
    sql.Index(
        "serve_segments_filters",
        *("file", "number", "state", "changed", "confidence", "learnt", "tagged", "too_long", "proposed_at"),
        *("proposal_edits", "proposal_words", "rejected"),
    ),
)

decisions: Final = sql.Table(
    "serve_decisions",
    metadata,
    _id("project", "serve_projects", primary_key=True),
    sql.Column("number", sql.BigInteger, primary_key=True, autoincrement=False),  # numbered like events
    _id("file", "serve_files"),
    sql.Column("segment", sql.Integer, nullable=False),
    sql.Column("version", sql.Integer, nullable=False),  # version of the segment that it made
    sql.Column("edit_id", sql.String(64), nullable=False),
    _text("state"),
    _text("target"),
    _text("target_codes"),
    _text("decisions"),
    sql.Column("filled_from", sql.Integer),
    sql.Column("correction", sql.BigInteger),
    sql.Column("seconds", sql.Float),
    # Of a confirmed target, for figures of progress: words, and edits by TER.
    _number("words"),
    _number("edits_of_mt"),
    _number("edits_of_proposal"),
    _text("kinds"),  # JSON: by kind of edit, the numbers accepted and rejected
    _text("who"),
    _text("made"),
    sql.Index("serve_decisions_of_segment", "file", "segment", "version", unique=True),
    sql.Index("serve_decisions_of_file", "file", "number"),
    sql.Index("serve_decisions_edit", "file", "segment", "edit_id"),
)

events: Final = sql.Table(
    "serve_events",
    metadata,
    _id("project", "serve_projects", primary_key=True),
    sql.Column("number", sql.BigInteger, primary_key=True, autoincrement=False),
    sql.Column("kind", sql.String(20), nullable=False),
    _text("who"),
    _text("made"),
    _text("data"),  # JSON
    sql.Index("serve_events_of_kind", "project", "kind", "who"),
)

jobs: Final = sql.Table(
    "serve_jobs",
    metadata,
    sql.Column("id", sql.String(32), primary_key=True),
    sql.Column("sequence", sql.BigInteger, nullable=False),  # order of waiting jobs across projects
    _id("project", "serve_projects", index=True),
    sql.Column("file", sql.ForeignKey("serve_files.id", ondelete="CASCADE")),
    sql.Column("kind", sql.String(20), nullable=False),
    sql.Column("state", sql.String(10), nullable=False, index=True),
    _number("done"),
    _number("total"),
    _text("error"),
    _text("options"),  # JSON
    _text("who"),
    _text("created"),
    _number("claims"),  # how often a process has claimed it
    sql.Column("beats", sql.BigInteger, nullable=False, server_default="0"),  # signs of life of its process
)
