"""Proposals with and without reasons; corrections of one project are found by an index in older memories, too."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add a column and an index."""
    op.add_column("serve_segments", sa.Column("explained", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_index("postedit_of_project", "postedit_entries", ["project", "number"], if_not_exists=True)
