"""What holds for all tests."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def loud() -> Iterator[None]:
    """Let the library warn again after a command that kept warnings off the screen."""
    logger = logging.getLogger("postedit")
    level = logger.level
    yield
    logger.setLevel(level)
