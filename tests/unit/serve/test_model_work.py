"""The editor that a model process loads for work of a kind."""

from pathlib import Path

import pytest

from postedit.serve.model_work import EditKind, ProcessSpec, ProjectSettings
from postedit.serve.settings import ServedModel
from postedit.text.span_patterns import Kind


@pytest.mark.parametrize(
    ("protect", "is_gated"), [(("url", "number"), True), (("number", "url"), True), (("number",), False), ((), False)]
)
def test_the_gate_holds_for_the_same_protection_in_any_order(protect: tuple[Kind, ...], is_gated: bool) -> None:
    """Clients and configurations list the kinds in an order of their own."""
    spec = ProcessSpec(ServedModel(path="none", gate="gate.json", protect=("number", "url")), 1, None)
    found = spec.editor_spec(EditKind("words", settings=ProjectSettings(protect)))
    assert found.gate == (Path("gate.json") if is_gated else None)
