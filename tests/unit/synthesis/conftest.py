"""`postedit synth` as a fixture."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from typer.testing import CliRunner, Result

from postedit.cli.main import app


@pytest.fixture
def synth(tmp_path: Path) -> Callable[..., Result]:
    """Return what runs `postedit synth` on a recipe of these options."""

    def run(options: dict[str, Any], *arguments: str) -> Result:
        path = tmp_path / "recipe.toml"
        path.write_text(tomli_w.dumps({"synth": {"dir": str(tmp_path), "out": str(tmp_path / "out"), **options}}))
        workers = [] if "--workers" in arguments else ["--workers", "1"]
        return CliRunner().invoke(app, ["synth", str(path), *workers, *arguments])

    return run
