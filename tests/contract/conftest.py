"""The models that every law is tried on."""

import pytest
from tiny import DTYPES, SUBJECTS_BY_DTYPE, build

from postedit.core.model import Seq2Seq


@pytest.fixture(scope="session", params=SUBJECTS_BY_DTYPE)
def model(request: pytest.FixtureRequest) -> Seq2Seq:
    """Return the tiny models in the precisions that they are tried in, without gradients."""
    name, _, dtype = request.param.rpartition("-")
    return build(name, DTYPES[dtype]).requires_grad_(False)
