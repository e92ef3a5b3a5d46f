"""A Ray cluster of two worker processes on this machine; one is started for all the tests of a module."""

from collections.abc import Iterator
from typing import Any

import pytest

from postedit.distributed.executors import set_ray_environment


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    library = pytest.importorskip("ray", reason="Ray is not installed: pip install 'postedit[ray]'")
    set_ray_environment()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OMP_NUM_THREADS", raising=False)  # Ray sets it for its workers, unless it is set
        library.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield library
    library.shutdown()
