"""A column for whether a reviewer rejected the target in the file, which a filter uses."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_INDEX = "serve_segments_filters"
_BEFORE = ("file", "number", "state", "changed", "confidence", "learnt", "tagged", "too_long", "proposed_at")
_FIGURES = ("proposal_edits", "proposal_words")


def upgrade() -> None:
    """Add the column, and make the index of filters again with it."""
    op.add_column("serve_segments", sa.Column("rejected", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.drop_index(_INDEX, "serve_segments")
    op.create_index(_INDEX, "serve_segments", [*_BEFORE, *_FIGURES, "rejected"])
