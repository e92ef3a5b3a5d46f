"""Imports of corrections, line by line."""

import io
import json

import pytest
from pydantic import ValidationError

from postedit.core.errors import DataError
from postedit.serve.correction_imports import read_corrections


def test_of_a_million_faults_of_a_line_a_few_are_gathered() -> None:
    line = json.dumps({"src": "a", "mt": "b", "pe": "c", "decisions": [{}] * 20})
    with pytest.raises(DataError, match="line 1: is neither") as refused:
        read_corrections(io.BytesIO(line.encode()), "anna")
    faults = refused.value.__context__
    assert isinstance(faults, ValidationError)
    assert faults.error_count() == 4
