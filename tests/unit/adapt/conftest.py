"""Places of memories: a file, and a server of PostgreSQL."""

from postgresql_server import place, server  # noqa: F401 (fixtures)
