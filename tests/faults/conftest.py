"""A database server that a test may stop; a folder with small inputs, and processes that work on them."""

from collections.abc import Iterator

import pytest
from commands_to_break import Workplace
from nursery import Nursery
from postgresql_server import own_server  # noqa: F401 (a fixture)


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workplace]:
    """Return a folder with the inputs of all commands, where they are run."""
    folder, printed = tmp_path_factory.mktemp("place"), tmp_path_factory.mktemp("printed")
    with Nursery(printed) as nursery:
        yield Workplace(folder, nursery)
