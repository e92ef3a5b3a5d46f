"""A column for whether proposals have reasons; and in older memories, an index of corrections by project."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add a column and an index."""
    op.add_column("serve_segments", sa.Column("explained", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_index("postedit_of_project", "postedit_entries", ["project", "number"], if_not_exists=True)
