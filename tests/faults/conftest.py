"""A database server that a test may stop."""

from postgresql_server import own_server  # noqa: F401 (a fixture)
