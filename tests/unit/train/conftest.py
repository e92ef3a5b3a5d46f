"""Lets the tests here, and the processes they start, share `tiny_run`."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a tiny train.arrow and dev.arrow."""
    from tiny_run import write_corpora

    return write_corpora(tmp_path_factory.mktemp("corpora"))
