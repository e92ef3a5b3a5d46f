"""Lets the tests of the modules above the packages share `tiny_models`; random weights may write what is no text."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def nonsense_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave bytes that are no text in outputs: models with random weights write little else.

    A module that tests the check for sound text, or compares processes, overrides this fixture.
    """
    monkeypatch.setattr("postedit.editing.results.keeps_text_sound", lambda *arguments: True)
