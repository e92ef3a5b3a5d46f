"""A service, a browser and a page for tests of the workbench, and programs that start fast."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from forked_python import ForkedPython
from workbench_service import chromium, page, project, service  # noqa: F401 (fixtures)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder of a `python` and a `postedit` that start in milliseconds."""
    with ForkedPython(tmp_path_factory.mktemp("forked")) as forked:
        yield forked.folder
