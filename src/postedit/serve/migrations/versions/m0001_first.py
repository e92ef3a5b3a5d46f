"""The first tables of the service."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "serve_projects",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("source_language", sa.Text(), server_default="", nullable=False),
        sa.Column("target_language", sa.Text(), server_default="", nullable=False),
        sa.Column("model", sa.Text(), server_default="", nullable=False),
        sa.Column("protect", sa.Text(), server_default="[]", nullable=False),
        sa.Column("min_confidence", sa.Float(), server_default="0", nullable=False),
        sa.Column("glossary", sa.Text(), server_default="", nullable=False),
        sa.Column("created", sa.Text(), server_default="", nullable=False),
        sa.Column("last_event", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "serve_users",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("password", sa.Text(), server_default="", nullable=False),
        sa.Column("admin", sa.Boolean(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "serve_events",
        sa.Column("project", sa.String(length=32), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("who", sa.Text(), server_default="", nullable=False),
        sa.Column("made", sa.Text(), server_default="", nullable=False),
        sa.Column("data", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["project"], ["serve_projects.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project", "number"),
    )
    op.create_index("serve_events_of_kind", "serve_events", ["project", "kind", "who"], unique=False)
    op.create_table(
        "serve_files",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project", sa.String(length=32), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("format", sa.Text(), server_default="", nullable=False),
        sa.Column("source_language", sa.Text(), server_default="", nullable=False),
        sa.Column("target_language", sa.Text(), server_default="", nullable=False),
        sa.Column("state", sa.Text(), server_default="", nullable=False),
        sa.Column("error", sa.Text(), server_default="", nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("words", sa.Integer(), server_default="0", nullable=False),
        sa.Column("created", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["project"], ["serve_projects.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_serve_files_project"), "serve_files", ["project"], unique=False)
    op.create_table(
        "serve_keys",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("user", sa.String(length=32), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.Text(), server_default="", nullable=False),
        sa.Column("projects", sa.Text(), server_default="", nullable=False),
        sa.Column("rate", sa.Float(), server_default="0", nullable=False),
        sa.Column("created", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["user"], ["serve_users.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("hash"),
    )
    op.create_table(
        "serve_members",
        sa.Column("project", sa.String(length=32), nullable=False),
        sa.Column("user", sa.String(length=32), nullable=False),
        sa.Column("role", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["project"], ["serve_projects.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user"], ["serve_users.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project", "user"),
    )
    op.create_table(
        "serve_sessions",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("user", sa.String(length=32), nullable=False),
        sa.Column("csrf", sa.Text(), server_default="", nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user"], ["serve_users.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("hash"),
    )
    op.create_index(op.f("ix_serve_sessions_user"), "serve_sessions", ["user"], unique=False)
    op.create_table(
        "serve_decisions",
        sa.Column("project", sa.String(length=32), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("file", sa.String(length=32), nullable=False),
        sa.Column("segment", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("edit_id", sa.String(length=64), nullable=False),
        sa.Column("state", sa.Text(), server_default="", nullable=False),
        sa.Column("target", sa.Text(), server_default="", nullable=False),
        sa.Column("target_codes", sa.Text(), server_default="", nullable=False),
        sa.Column("decisions", sa.Text(), server_default="", nullable=False),
        sa.Column("filled_from", sa.Integer(), nullable=True),
        sa.Column("correction", sa.BigInteger(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("words", sa.Integer(), server_default="0", nullable=False),
        sa.Column("edits_of_mt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("edits_of_proposal", sa.Integer(), server_default="0", nullable=False),
        sa.Column("kinds", sa.Text(), server_default="", nullable=False),
        sa.Column("who", sa.Text(), server_default="", nullable=False),
        sa.Column("made", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["file"], ["serve_files.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["project"], ["serve_projects.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project", "number"),
    )
    op.create_index("serve_decisions_edit", "serve_decisions", ["file", "segment", "edit_id"], unique=False)
    op.create_index("serve_decisions_of_file", "serve_decisions", ["file", "number"], unique=False)
    op.create_index("serve_decisions_of_segment", "serve_decisions", ["file", "segment", "version"], unique=True)
    op.create_table(
        "serve_file_parts",
        sa.Column("file", sa.String(length=32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["file"], ["serve_files.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("file", "number"),
    )
    op.create_table(
        "serve_jobs",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("project", sa.String(length=32), nullable=False),
        sa.Column("file", sa.String(length=32), nullable=True),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("done", sa.Integer(), server_default="0", nullable=False),
        sa.Column("total", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error", sa.Text(), server_default="", nullable=False),
        sa.Column("options", sa.Text(), server_default="", nullable=False),
        sa.Column("who", sa.Text(), server_default="", nullable=False),
        sa.Column("created", sa.Text(), server_default="", nullable=False),
        sa.Column("claims", sa.Integer(), server_default="0", nullable=False),
        sa.Column("beats", sa.BigInteger(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["file"], ["serve_files.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["project"], ["serve_projects.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_serve_jobs_project"), "serve_jobs", ["project"], unique=False)
    op.create_index(op.f("ix_serve_jobs_state"), "serve_jobs", ["state"], unique=False)
    op.create_table(
        "serve_segments",
        sa.Column("file", sa.String(length=32), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("unit", sa.Text(), server_default="", nullable=False),
        sa.Column("src", sa.Text(), server_default="", nullable=False),
        sa.Column("src_marks", sa.Text(), server_default="", nullable=False),
        sa.Column("mt", sa.Text(), server_default="", nullable=False),
        sa.Column("mt_marks", sa.Text(), server_default="", nullable=False),
        sa.Column("same", sa.String(length=32), nullable=False),
        sa.Column("max_length", sa.Integer(), nullable=True),
        sa.Column("notes", sa.Text(), server_default="", nullable=False),
        sa.Column("matches", sa.Text(), server_default="", nullable=False),
        sa.Column("tagged", sa.Boolean(), nullable=False),
        sa.Column("repeats", sa.Integer(), server_default="1", nullable=False),
        sa.Column("proposal", sa.Text(), server_default="", nullable=False),
        sa.Column("proposal_codes", sa.Text(), server_default="", nullable=False),
        sa.Column("proposal_content", sa.Text(), server_default="", nullable=False),
        sa.Column("first_proposal", sa.Text(), server_default="", nullable=False),
        sa.Column("proposed_at", sa.BigInteger(), server_default="-1", nullable=False),
        sa.Column("changed", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.Column("proposal_edits", sa.Integer(), server_default="0", nullable=False),
        sa.Column("proposal_words", sa.Integer(), server_default="0", nullable=False),
        sa.Column("learnt", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("version", sa.Integer(), server_default="0", nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("target", sa.Text(), server_default="", nullable=False),
        sa.Column("target_codes", sa.Text(), server_default="", nullable=False),
        sa.Column("content", sa.Text(), server_default="", nullable=False),
        sa.Column("decisions", sa.Text(), server_default="", nullable=False),
        sa.Column("too_long", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("filled_from", sa.Integer(), nullable=True),
        sa.Column("correction", sa.BigInteger(), nullable=True),
        sa.Column("updated_by", sa.Text(), server_default="", nullable=False),
        sa.Column("updated", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["file"], ["serve_files.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("file", "number"),
    )
    op.create_index(
        "serve_segments_filters",
        "serve_segments",
        [
            "file",
            "number",
            "state",
            "changed",
            "confidence",
            "learnt",
            "tagged",
            "too_long",
            "proposed_at",
            "proposal_edits",
            "proposal_words",
        ],
        unique=False,
    )
    op.create_index("serve_segments_same", "serve_segments", ["file", "same"], unique=False)
