"""Columns for the languages that the project of a file had when the file was added."""

import sqlalchemy as sa
from alembic import op

from postedit.text.language_tags import same_language

revision = "0003"
down_revision = "0002"

_PROJECTS = sa.table("serve_projects", *map(sa.column, ("id", "source_language", "target_language")))
_FILES = sa.table(
    "serve_files",
    *map(sa.column, ("id", "project", "source_language", "target_language", "wanted_source", "wanted_target")),
)


def upgrade() -> None:
    """Add the columns, and fill them for existing files."""
    for name in ("wanted_source", "wanted_target"):
        op.add_column("serve_files", sa.Column(name, sa.Text(), server_default="", nullable=False))
    connection = op.get_bind()
    projects = {one.id: one for one in connection.execute(sa.select(_PROJECTS))}
    for file in connection.execute(sa.select(_FILES)).all():
        project = projects[file.project]
        # Without a wanted source, the units of a TMX may differ in theirs: that of the first need not fit the others.
        source = project.source_language and _at_import(project.source_language, file.source_language)
        target = _at_import(project.target_language, file.target_language)
        values = {"wanted_source": source, "wanted_target": target}
        connection.execute(sa.update(_FILES).where(_FILES.c.id == file.id).values(values))


def _at_import(project: str, found: str) -> str:
    """Return the language of a project when a file was imported: the present one, unless the file has another."""
    return project if not found or same_language(project, found) else found
